"""The edits of a recorded run: the text each one replaces, and whether it can be read in a request.

An edit tool wants the old text exactly. A model that is shown only part of a file has to read it again first. Needed
values do not tell: a path is short, and stays readable when the file is not.
"""

import json
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from benchmarks.quality.messages import Message

_OLD_TEXT = ("old_string", "old_str", "old_text")  # what edit tools call the text to be replaced
_PATH = ("file_path", "path")  # what they call the file
_PATCH_TOOL, _COMMAND = "apply_patch", ("command", "cmd")  # a tool's name, and what shell tools call their command
_PATCH = re.compile(r"\*\*\* Begin Patch\s*\n(.*?)^\*\*\* End Patch", re.MULTILINE | re.DOTALL)
_LONGER_THAN = 3  # characters: a closing bracket is in every file


class Edit(NamedTuple):
    """The text that one edit replaces, as far as it had been shown before."""

    lines: list[str]
    sources: list[int]  # messages to read again if it cannot be read
    together: bool  # one message showed all lines, in order

    def readable(self, texts: Sequence[str]) -> bool:
        """Return whether these messages show it: in order in one of them, if one ever did; else line by line."""
        if self.together:
            return any(_in_order(self.lines, text) for text in texts)
        return all(any(line in text for text in texts) for line in self.lines)


def edits_of(message: Message, before: Sequence[str], first: int) -> list[Edit]:
    """Return the edits that a message makes.

    Args:
        message: An answer of the model.
        before: What each message of the run before it says.
        first: The first of them that is no system prompt.
    """
    found = []
    for call in message.get("tool_calls") or ():
        for wanted in replaced_lines(call):
            shown = {line: _last([line], before, first) for line in wanted}
            if lines := [line for line, at in shown.items() if at is not None]:
                one = _last(lines, before, first)
                sources = sorted({at for at in shown.values() if at is not None}) if one is None else [one]
                found.append(Edit(lines, sources, one is not None))
    return found


def replaced_lines(call: Message) -> list[list[str]]:
    """Return the lines that each edit of a call replaces, each line once, without the space around it.

    A call of an edit tool is one edit. In a patch, each hunk is one: its context is as needed as what it removes.
    """
    arguments = _arguments(call)
    texts = [_old_text(arguments), *(hunk for patch in _patches(call, arguments) for hunk in _hunks(patch))]
    found = [[line.strip() for line in text.splitlines()] for text in texts]
    kept = [list(dict.fromkeys(line for line in lines if len(line) > _LONGER_THAN)) for lines in found]
    return [lines for lines in kept if lines]


def path_of(call: Message) -> str:
    """Return the file that a call names; empty if it names none, as a patch does not."""
    arguments = _arguments(call)
    return next((arguments[key] for key in _PATH if isinstance(arguments.get(key), str)), "")


def _old_text(arguments: dict[str, Any]) -> str:
    several = arguments.get("edits")
    each = [arguments, *(edit for edit in (several if isinstance(several, list) else ()) if isinstance(edit, dict))]
    olds = [next((edit[key] for key in _OLD_TEXT if isinstance(edit.get(key), str)), "") for edit in each]
    return "\n".join(olds)


def _patches(call: Message, arguments: dict[str, Any]) -> list[str]:
    """Return the patches that a call applies: given to a tool of that name, or within a shell command."""
    if call["function"]["name"] == _PATCH_TOOL:
        texts = list(arguments.values()) or [call["function"]["arguments"]]
    else:
        given = [arguments.get(key) for key in _COMMAND]
        texts = [text for each in given for text in (each if isinstance(each, list) else [each])]
    return [patch for text in texts if isinstance(text, str) for patch in _PATCH.findall(text)]


def _hunks(patch: str) -> list[str]:
    """Return the text that each hunk of a patch removes or shows as context."""
    lines = patch.split("\n")
    apart = groupby(lines, key=lambda line: line.startswith(("@@", "***")))
    return ["\n".join(line[1:] for line in hunk if line.startswith((" ", "-"))) for heads, hunk in apart if not heads]


def _arguments(call: Message) -> dict[str, Any]:
    given = call["function"]["arguments"]
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _last(lines: Sequence[str], texts: Sequence[str], first: int) -> int | None:
    return next((at for at in range(len(texts) - 1, first - 1, -1) if _in_order(lines, texts[at])), None)


def _in_order(lines: Sequence[str], text: str) -> bool:
    at = 0
    for line in lines:
        at = text.find(line, at)
        if at < 0:
            return False
        at += len(line)
    return True
