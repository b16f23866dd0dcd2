"""Recordings that could be imported: those of Claude Code and Codex in the user's home, and files that somebody named.

They are listed by what their first lines say. Nothing is imported for that.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sightline.errors import BadInput
from sightline.imports import claude_code, codex, sightline_log
from sightline.imports.source import Source, files_in, value_of
from sightline.replay.log_count import own_words, seconds_of, typed_command

CLAUDE_CODE, CODEX, MESSAGES, SIGHTLINE = "claude-code", "codex", "messages", "sightline"
SOURCES = {"Claude Code": CLAUDE_CODE, "Codex": CODEX, "messages": MESSAGES, "Sightline": SIGHTLINE}
"""By the kind of an imported conversation."""
FILE_ID = "file-"  # how the ids of files begin
_LOOKED_AT = 300  # lines
_LONGEST_LOOK = 1 << 19  # bytes of them
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
    """What the first lines of a file say. `model` only if an answer comes early."""

    source: str = ""  # empty: nobody says anything in it
    title: str = ""
    project: str = ""
    created: int | None = None  # seconds since 1970
    model: str = ""


def home_folders(variables: Mapping[str, str], home: Path) -> list[Path]:
    """Return the folders in which Claude Code and Codex keep their sessions."""
    claude = Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    own = Path(variables.get("CODEX_HOME") or home / ".codex")
    return [claude / "projects", own / "sessions", own / "archived_sessions"]


def find_offered(named: Iterable[Path], folders: Iterable[Path] = ()) -> Iterator[Offered]:
    """Yield the files that were named, and those in folders that were; then those of the agents' own `folders`.

    Of the latter, logs of subagents are left out: there are many, and each belongs to a session that is listed.
    """
    seen: set[Path] = set()
    files = (file for path in named for file in ([path] if path.is_file() else files_in(path)))
    own = (file for path in folders for file in files_in(path) if not file.name.startswith(_SUBAGENT))
    for group in (files, own):
        for file in group:
            path = Path(os.path.abspath(file))  # noqa: PTH100 - as the user knows it: links stay
            try:
                status = path.stat()
            except OSError:  # deleted since
                continue
            if path not in seen and status.st_size:
                seen.add(path)
                yield Offered(path, status.st_size, status.st_mtime_ns)


def file_id(path: Path) -> str:
    """Return an id for a file that was not imported: made from its path, so it stays the same."""
    return f"{FILE_ID}{blake2b(os.fsencode(path), digest_size=6).hexdigest()}"


def look_at(path: Path) -> FirstLook:
    """Return what the first lines of a file say: as many as it takes to know what it is about. Nothing is raised."""
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


def _with_line(look: FirstLook, value: Any) -> FirstLook:
    """Add what a line says about the file itself."""
    return FirstLook(
        next((name for recognises, name in _RECOGNISE if recognises(value)), look.source),
        look.title,
        look.project or _text(value, "cwd"),
        look.created if look.created is not None else seconds_of(_text(value, "timestamp")),
        look.model or _text(value, "model"),
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
            for each in inner[:_LOOKED_AT]:
                yield from _messages_in(each) if isinstance(each, dict) else ()


def _text(value: Any, key: str) -> str:
    """Return a text of a line, or of what is inside it."""
    match value:
        case {"payload": dict(inner)} | {"message": dict(inner)}:
            outer = value.get(key)
            return outer if isinstance(outer, str) and outer else _text(inner, key)
        case dict():
            found = value.get(key)
            return found if isinstance(found, str) else ""
        case _:
            return ""
