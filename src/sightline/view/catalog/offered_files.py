"""Recordings that could be imported: those of Claude Code and Codex in the user's home, and files that somebody named.

They are listed by what their first lines say. Nothing is imported for that.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sightline.errors import BadInput
from sightline.imports import claude_code, codex, sightline_log
from sightline.imports.conversation import Line
from sightline.imports.source import Folders, Source, files_in, value_of
from sightline.view.catalog.log_count import own_words, seconds_of, typed_command

CLAUDE_CODE, CODEX, MESSAGES, SIGHTLINE = "claude-code", "codex", "messages", "sightline"
SOURCES = {"Claude Code": CLAUDE_CODE, "Codex": CODEX, "messages": MESSAGES, "Sightline": SIGHTLINE}
"""By the kind of an imported conversation."""
FILE_ID = "file-"  # how the ids of files begin
_LOOKED_AT = 300  # lines
_LONGEST_LOOK = 1 << 19  # bytes of them
_LAST = 1 << 17  # bytes at the end of a file in which its last message is looked for
_RECOGNISE = (
    (codex.recognises, CODEX), (claude_code.recognises, CLAUDE_CODE), (sightline_log.recognises, SIGHTLINE),
)  # fmt: skip
_SUBAGENT = "agent-"  # how Claude Code names the logs of subagents


class Offered(NamedTuple):
    """A file that may be imported."""

    path: Path
    size: int
    changed: int  # when, in nanoseconds since 1970


class FirstLook(NamedTuple):
    """What the first lines of a file say, and when the last one was. `model` only if an answer comes early."""

    source: str = ""  # empty: nobody says anything in it
    title: str = ""
    project: str = ""
    created: int | None = None  # seconds since 1970
    model: str = ""
    ended: int | None = None  # when its last message was said; None: its last lines do not say it


def home_folders(variables: Mapping[str, str], home: Path) -> list[Path]:
    """Return the folders in which Claude Code and Codex keep their sessions."""
    claude = Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    own = Path(variables.get("CODEX_HOME") or home / ".codex")
    return [claude / "projects", own / "sessions", own / "archived_sessions"]


class OfferedFiles:
    """The files that are offered: those that were named and those in named folders, then those in agents' own folders.

    Of the latter, logs of subagents are left out: there are many, and each belongs to a session that is listed.
    """

    def __init__(self, named: Iterable[Path], folders: Callable[[], Iterable[Path]] = tuple) -> None:
        """`folders` are the agents' own, asked for each time."""
        self._named, self._folders = tuple(named), folders
        self._known: Folders = {}  # a folder that has not changed is not read again

    def now(self) -> dict[str, Offered]:
        """Return the files that there are now, by path, the one changed last first. One with two names comes once."""
        by_inode: dict[tuple[int, int], Offered] = {}
        for file in self._paths():
            path = Path(os.path.abspath(file))  # noqa: PTH100 - as the user knows it: links stay
            with suppress(OSError, ValueError):  # deleted since
                status = path.stat()
                if status.st_size:
                    offered = Offered(path, status.st_size, status.st_mtime_ns)
                    by_inode.setdefault((status.st_dev, status.st_ino), offered)
        ordered = sorted(by_inode.values(), key=lambda offered: -offered.changed)
        return {str(offered.path): offered for offered in ordered}

    def _paths(self) -> Iterator[Path]:
        for path in self._named:
            yield from [path] if path.is_file() else files_in(path, self._known)
        for folder in self._folders():
            yield from (file for file in files_in(folder, self._known) if not file.name.startswith(_SUBAGENT))


def file_id(path: Path) -> str:
    """Return an id for a file that was not imported: made from its path, so it stays the same."""
    return f"{FILE_ID}{blake2b(os.fsencode(path), digest_size=6).hexdigest()}"


def look_at(path: Path) -> FirstLook:
    """Return what a file says in its first lines, as many as it takes to know what it is about, and in its last ones.

    Nothing is raised.
    """
    look = _look_at_beginning(path)
    return look._replace(ended=_end_of(path)) if look.source else look


def _look_at_beginning(path: Path) -> FirstLook:
    look, fallback = FirstLook(MESSAGES), FirstLook(MESSAGES)
    speaks = False
    try:
        for value in _first_values(path):
            is_side = isinstance(value, dict) and bool(value.get("isSidechain"))
            look = _with_line(look, value)
            for role, content in _messages_in(value):
                speaks = True
                if role == "user" and (words := own_words(content)):
                    if not is_side:
                        return look._replace(title=words)
                    fallback = fallback if fallback.title else look._replace(title=words)  # of a subagent
                elif role == "user" and not fallback.title and (words := typed_command(content)):
                    fallback = look._replace(title=words)
    except (OSError, BadInput):
        pass  # what was read of it counts
    if not speaks:
        return FirstLook()
    return look._replace(title=fallback.title)


def _end_of(path: Path) -> int | None:
    """Return when the last message of a file was said, in seconds since 1970; None if its last lines do not say it."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _LAST, 0))
            lines = file.read(_LAST).splitlines()
    except OSError:
        return None
    values = (value_of(Line(0, line)) for line in (lines if size <= _LAST else lines[1:]))
    times = (seconds_of(_text(value, "timestamp")) for value in values if _is_said(value))
    return max((time for time in times if time is not None), default=None)


def _is_said(value: Any) -> bool:
    """Whether a line is a part of the conversation, not a note of the program that wrote the log."""
    match value:
        case {"type": "user" | "assistant" | "response_item"} | {"role": str()}:
            return True
    return False


def _with_line(look: FirstLook, value: Any) -> FirstLook:
    """Add what a line says about the file itself."""
    return FirstLook(
        next((name for recognises, name in _RECOGNISE if recognises(value)), look.source),
        look.title,
        look.project or _text(value, "cwd"),
        look.created if look.created is not None else seconds_of(_text(value, "timestamp")),
        look.model or _text(value, "model"),
        look.ended,
    )


def _first_values(path: Path) -> Iterator[Any]:
    length = 0
    for line in islice(Source(path).lines(), _LOOKED_AT):
        yield value_of(line)
        length += len(line.data)
        if length > _LONGEST_LOOK:
            return


def _messages_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield role and content of the messages in a line: of an agent's log, a message, or a list of messages."""
    match value:
        case {"isMeta": True} | {"isCompactSummary": True}:
            return
        case {"payload": {"type": "message", "role": str(role), "content": str() | list() as content}}:
            yield role, content
        case {"message": {"role": str(role), "content": str() | list() as content}}:
            yield role, content
        case {"role": str(role), "content": str() | list() as content}:
            yield role, content
        case {"messages": list(inner)} | {"input": list(inner)} | list(inner):
            for element in inner[:_LOOKED_AT]:
                yield from _messages_in(element) if isinstance(element, dict) else ()


def _text(value: Any, key: str) -> str:
    """Return a text of a line, or of what is inside it."""
    match value:
        case {"payload": dict(inner)} | {"message": dict(inner)}:
            outer = value.get(key)
            return outer if isinstance(outer, str) and outer else _text(inner, key)
        case dict():
            text = value.get(key)
            return text if isinstance(text, str) else ""
        case _:
            return ""
