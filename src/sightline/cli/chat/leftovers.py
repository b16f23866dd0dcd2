"""What `--continue` does not go on with: a script's question that no model answered, and windows of MCP clients."""

from contextlib import closing, suppress

from sightline.adapters.mcp_windows import SESSION as WINDOWS
from sightline.cli.options import Place
from sightline.errors import StoreError
from sightline.log import entries
from sightline.log.stores import Span
from sightline.session.session import Session
from sightline.values.items import Kind

MARK = "unanswered"
"""The annotation at the end of such a session's log. If anything is said later, it follows the annotation, and the
session is no longer left over."""

_TAIL = 4_096  # bytes read at the end of a log: the annotation has some 300


def newest_session(here: Place) -> str | None:
    """Return the session that `--continue` goes on with; None if there is none."""
    talks = (session_id for session_id in here.stores.sessions() if not session_id.startswith(WINDOWS))
    return next((session_id for session_id in talks if not _is_marked(here, session_id)), None)


def mark(here: Place, session: Session) -> None:
    """Have `--continue` ignore this session, if no model has said anything in it yet."""
    answered = any(item.kind in (Kind.ASSISTANT, Kind.CALL) for item in session.items.table())
    if answered or not here.stores.has(session.id):
        return
    with suppress(StoreError):  # it could not be written to before either, which the user has been told
        session.annotate(MARK, True)


def _is_marked(here: Place, session_id: str) -> bool:
    try:
        last = _last_line(here, session_id)
        return entries.decode_tip(last).subtype == MARK
    except (OSError, StoreError, *entries.UNREADABLE):  # deleted since, or cut off: whoever opens the session says so
        return False


def _last_line(here: Place, session_id: str) -> bytes:
    if here.store:
        with closing(here.stores.open(session_id)) as store:
            store.refresh()
            return store.read_many([Span(store.tips.size - 1, 0)])[0]
    file = here.folder.file(session_id)  # its end only: a log that is opened is read
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - _TAIL))
        return lines.read().rstrip(b"\n").rpartition(b"\n")[2]
