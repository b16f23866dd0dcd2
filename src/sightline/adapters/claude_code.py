"""Keeps what a compaction of Claude Code must not lose, and gives it back to the model afterwards.

Claude Code calls `SessionStart` before it writes its summary to the log. So after a compaction all that was kept is
given back, and when a session is resumed only what its log does not show since. The catalog of sessions is imported
only where our MCP server is configured: it is as much as all the rest, and Claude Code waits for its hooks.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from msgspec import Struct, field

from sightline.adapters.claude_entries import program
from sightline.adapters.claude_hooks import METERS, SESSIONS, make_folder
from sightline.compaction.reminder import Reminder
from sightline.files.replacement import OWNER_ONLY, replace_file
from sightline.imports.claude_code import ClaudeLog
from sightline.imports.conversation import Step
from sightline.imports.log_part import LogPart, mark_of
from sightline.imports.source import value_of
from sightline.values.cautious import Cautious
from sightline.values.decoders import decode_json
from sightline.values.items import Role, plain_text
from sightline.values.phrases import LOCALES, Phrases, texts

MOST_TOKENS = 2_000  # of what is given back
_MOST_CHARS = 9_500  # Claude Code puts more than 10,000 into a file of its own, and shows the beginning
_MOST_BYTES = 128 << 20  # of a log that are read at once, from its end; a longer one was compacted many times
_FORGOTTEN = 90 * 86_400  # seconds after which what was kept of a session is deleted
_NAME = re.compile(r"[\w-]{1,100}", re.ASCII)
_NO_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64  # characters of a tool's name

_say = Phrases(texts("claude_code"))


class Kept(Struct):
    """What was kept of a session, and how far its log was read."""

    log: str
    place: int = 0
    mark: str = ""
    ends: list[str] = field(default_factory=list)
    reminder: Reminder = field(default_factory=Reminder)


def keep(facts: dict[str, Any], folder: Path) -> Kept:
    """Keep what the log says until now. Only what is new in it is read, unless something was taken back since.

    Raises OSError, and whatever the log makes us raise.
    """
    file = _file(facts, folder)
    kept = _read_on(Path(facts["transcript_path"]), load(file))
    make_folder(str(folder), SESSIONS)
    replace_file(file, msgspec.json.encode(kept), mode=OWNER_ONLY)
    for directory in (file.parent, folder / METERS):
        _forget_old(directory)
    return kept


def give_back(facts: dict[str, Any], folder: Path, locale: str = "") -> str:
    """Return what the model must be told at the start of a session; "" if it was not compacted, or knows all."""
    source, log = facts.get("source"), Path(facts["transcript_path"])
    if source not in ("compact", "resume"):
        return ""
    kept = load(_file(facts, folder)) or (keep(facts, folder) if source == "compact" else None)
    if kept is None:
        return ""
    seen = shown_since(kept)
    if seen is None:
        if source == "resume":
            return ""  # it was not compacted after all: the model sees everything
        seen = ""
    locale = locale if locale in LOCALES else kept.reminder.locale
    count = Cautious().count
    head, how = _say("head", locale), _how_to_find(facts, log, locale)
    tokens = MOST_TOKENS - count(f"{head}\n\n\n\n{how}")
    while text := kept.reminder.text(tokens=tokens, count=count, visible=seen, locale=locale):
        whole = f"{head}\n\n{text}\n\n{how}"
        if len(whole) <= _MOST_CHARS:
            return whole
        tokens = tokens * 3 // 4
    return ""


def load(file: Path) -> Kept | None:
    """Return what was kept; None if nothing was, or if it cannot be read."""
    try:
        return decode_json(file.read_bytes(), Kept)
    except (OSError, msgspec.DecodeError):
        return None


def shown_since(kept: Kept) -> str | None:
    """Return what the model sees since the last compaction of a log, as far as we look at it; None if it has none.

    That is the summary, the user's own words, and what hooks added, which are ours. Files are not the user's word.
    """
    texts: list[str] | None = None
    for step in _log_from(Path(kept.log), kept.place).steps():
        if step.compaction is not None:
            texts = [step.compaction.summary]
        elif texts is not None:
            own = (turn.message.parts for turn in step.turns if turn.message.role is Role.USER and not turn.by_program)
            texts += [*map(plain_text, own), *_added(step)]
    return None if texts is None else "\n".join(texts)


def _added(step: Step) -> Iterator[str]:
    """Yield what hooks added, also after the last message, where nothing is linked to it yet."""
    for line in step.lines:
        if line.type == "attachment/hook_additional_context":
            match value_of(line)["attachment"].get("content"):
                case str(text):
                    yield text
                case [*texts]:
                    yield from map(str, texts)


def _read_on(log: Path, kept: Kept | None) -> Kept:
    if kept is not None and kept.log == str(log) and kept.place and mark_of(log, kept.place) == kept.mark:
        part = LogPart(log, kept.place)
        claude_log = ClaudeLog(part)
        if claude_log.continues(kept.ends):
            kept.reminder.add(_messages(claude_log.steps()))
            kept.place, kept.mark, kept.ends = part.end, mark_of(log, part.end), claude_log.ends or kept.ends
            return kept
    part = LogPart(log, max(0, log.stat().st_size - _MOST_BYTES))
    claude_log, reminder = ClaudeLog(part), Reminder()
    reminder.add(_messages(claude_log.steps()))
    return Kept(str(log), part.end, mark_of(log, part.end), claude_log.ends, reminder)


def _log_from(log: Path, place: int) -> ClaudeLog:
    return ClaudeLog(LogPart(log, min(place, log.stat().st_size)))


def _messages(steps: Iterable[Step]) -> Iterable[tuple[Any, bool]]:
    return ((turn.message, turn.by_program) for step in steps for turn in step.turns)


def _file(facts: dict[str, Any], folder: Path) -> Path:
    session = str(facts["session_id"])
    name = session if _NAME.fullmatch(session) else blake2b(session.encode(), digest_size=16).hexdigest()
    return folder / SESSIONS / f"{name}.json"


def _forget_old(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if file.stat().st_mtime < time.time() - _FORGOTTEN:
                os.unlink(file.path)  # noqa: PTH108


# ---------------------------------------------------------------------- how the model finds the rest


class _Servers(Struct):
    mcpServers: dict[str, Any] | None = None  # noqa: N815 - Claude Code's own name


class _Configuration(_Servers):
    projects: dict[str, _Servers] | None = None


def _how_to_find(facts: dict[str, Any], log: Path, locale: str) -> str:
    project = os.environ.get("CLAUDE_PROJECT_DIR") or str(facts.get("cwd") or ".")
    if server := mcp_server(project):
        from sightline.view.catalog.offered_files import file_id

        return _say("tools", locale, prefix=f"mcp__{server}__", session=file_id(log))
    session = f"claude-{facts['session_id']}"
    return _say("commands", locale, log=quote(str(log)), program=program(), session=quote(session))


def mcp_server(project: str) -> str:
    """Return the name under which Claude Code knows our MCP server in a project; "" if it does not."""
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    own = (Path(configured) if configured else Path.home()) / ".claude.json"
    for file in (own, Path(project) / ".mcp.json"):
        with suppress(OSError, msgspec.DecodeError):
            configuration = decode_json(file.read_bytes(), _Configuration)
            here = (configuration.projects or {}).get(project, _Servers())
            for name, server in {**(configuration.mcpServers or {}), **(here.mcpServers or {})}.items():
                if _is_ours(server):
                    return _tool_name(name)
    return ""


def _tool_name(name: str) -> str:
    """Return the name of a server as Claude Code writes it in names of tools: a repository's file cannot say more."""
    return _NO_TOOL_NAME.sub("_", name)[:_LONGEST_NAME]


def _is_ours(server: Any) -> bool:
    match server:
        case {"command": str(command), "args": [*words]}:
            line = [Path(command).name, *map(str, words)]
            return "mcp" in line and any(Path(word).name == "sightline" for word in line)
        case {"url": str(url)}:
            return url.rstrip("/").endswith("/api/mcp")
        case _:
            return False
