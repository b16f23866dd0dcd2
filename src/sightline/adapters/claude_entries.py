"""Our entries in the settings of Claude Code: how they look, where they are, adding them and taking them out."""

import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from sightline.files.json_text import JsonText, Step

BEFORE = "--before"  # the option of our status line that says which one was there
HOOKS = {"PreCompact": "pre-compact", "SessionStart": "session-start"}
_MATCHERS = {"SessionStart": "compact|resume"}
_SECONDS = 30  # that Claude Code waits for a hook
_STATUS = "status-line"


def program() -> str:
    """Return the command line of `sightline`, quoted for a shell: it works without an activated environment."""
    script = Path(sys.executable).with_name("sightline")
    if script.exists():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -P -m sightline"  # -P: a folder of this name in a project is not imported


def places(text: JsonText) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield our entries: the event, and the path of its command."""
    for event in HOOKS:
        for at, group in enumerate(text.get("hooks", event) or ()):
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry_at, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, dict) and _is_ours(entry.get("command")):
                    yield event, ("hooks", event, at, "hooks", entry_at, "command")
    if _is_ours(text.get("statusLine", "command")):
        yield "statusLine", ("statusLine", "command")


def _is_ours(command: Any) -> bool:
    """Whether a command is one that `program` began. A user's own program may have a command `hook run` too."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    at = words.index("hook") if "hook" in words else 0
    if at < 1 or Path(words[at - 1]).name != "sightline" or (at > 1 and words[at - 2] != "-m"):
        return False
    return words[at + 1 : at + 2] == ["run"] and words[at + 2 : at + 3] in [
        [word] for word in (*HOOKS.values(), _STATUS)
    ]


def without_ours(text: JsonText, original: JsonText | None = None) -> JsonText:
    """Return the text without our entries, and without what is empty then; the same object if there are none.

    What is empty in `original`, the text before ours were added, is written as it is there.
    """
    for event, path in reversed([*places(text)]):
        if event == "statusLine":
            before = earlier_status_line(str(text.get(*path)))
            text = text.replace(path, before) if before else _take_out(text, ("statusLine",), original)
            continue
        hook = path[:-1]
        text = text.remove(hook)
        if not text.get(*hook[:-1]):
            text = text.remove(hook[:-2])  # its group
            for outer in (hook[:2], hook[:1]):
                if not text.get(*outer):
                    text = _take_out(text, outer, original)
    return text


def _take_out(text: JsonText, path: tuple[Step, ...], original: JsonText | None) -> JsonText:
    """Remove a value that has nothing but ours, or write it as it was before ours was added."""
    if original is not None and original.has(*path) and not original.get(*path):
        return text.write(path, original.written(*path))
    if text.has_twice(*path):  # else the earlier one would count
        return text if not text.get(*path) else text.replace(path, None)
    return text.remove(path)


def earlier_status_line(command: str) -> str:
    """Return the status line that was there before, and that ours runs; "" if there was none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return next((after for word, after in pairwise(words) if word == BEFORE), "")


def with_ours(text: JsonText, program: str, options: str) -> JsonText:
    """Return the text with our entries at the end of each list."""
    for event, name in HOOKS.items():
        hook = {"type": "command", "command": f"{program} hook run {name}{options}", "timeout": _SECONDS}
        group = {"matcher": _MATCHERS[event], "hooks": [hook]} if event in _MATCHERS else {"hooks": [hook]}
        if text.get("hooks") is None:
            text = _set(text, (), "hooks", {event: [group]})
        elif text.get("hooks", event) is None:
            text = _set(text, ("hooks",), event, [group])
        else:
            text = text.add(("hooks", event), None, group)
    command = f"{program} hook run {_STATUS}{options}"
    if text.get("statusLine") is None:
        return _set(text, (), "statusLine", {"type": "command", "command": command})
    if not isinstance(before := text.get("statusLine", "command"), str):
        return text  # of a kind that is not known here: it stays
    return text.replace(("statusLine", "command"), f"{command} {BEFORE} {shlex.quote(before)}")


def _set(text: JsonText, path: tuple[Step, ...], key: str, value: Any) -> JsonText:
    """Add a member, or replace one whose value is null."""
    there = text.get(*path) if path else text.value
    return text.replace((*path, key), value) if key in there else text.add(path, key, value)
