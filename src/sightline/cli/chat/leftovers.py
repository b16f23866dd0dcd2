"""A question of a script that no model answered: its session is kept, but is not what `--continue` goes on with."""

from contextlib import suppress
from pathlib import Path

from sightline.cli.options import Place
from sightline.errors import StoreError
from sightline.log import entries
from sightline.session.session import Session
from sightline.values.items import Kind

MARK = "unanswered"
"""The annotation with which the log of such a session ends. Whatever is said in it later stands after it, and the
session is one like all others again."""

_TAIL = 4_096  # bytes: the mark has some 300


def newest(here: Place) -> str | None:
    """The session that `--continue` goes on with; None: there is none."""
    folder = here.folder
    return next((each for each in folder.sessions() if not _marked(folder.file(each))), None)


def mark(here: Place, session: Session) -> None:
    """Have `--continue` pass over this session, if no model has said anything in it yet."""
    answered = any(item.kind in (Kind.ASSISTANT, Kind.CALL) for item in session.items)
    if answered or session.id not in here.folder.sessions():
        return
    with suppress(StoreError):  # it could not be written to before either, which the user has been told
        session.annotate(MARK, True)


def _marked(file: Path) -> bool:
    try:
        with file.open("rb") as lines:
            lines.seek(max(0, file.stat().st_size - _TAIL))
            last = lines.read().rstrip(b"\n").rpartition(b"\n")[2]
        return entries.decode_tip(last).subtype == MARK
    except (OSError, *entries.UNREADABLE):  # deleted since, or cut off: whoever opens it says so
        return False
