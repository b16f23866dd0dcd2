"""The edits of a recorded run: the text each one replaces, and whether it can be read in a request.

An edit tool wants the old text exactly. A model that is shown only part of a file has to read it again first. Needed
values do not tell: a path is short, and stays readable when the file is not.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.quality.messages import Message

_OLD_TEXT = ("old_string", "old_str", "old_text")  # what edit tools call the text to be replaced
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
        shown = {line: _last([line], before, first) for line in replaced_lines(call)}
        if lines := [line for line, at in shown.items() if at is not None]:
            one = _last(lines, before, first)
            sources = sorted({at for at in shown.values() if at is not None}) if one is None else [one]
            found.append(Edit(lines, sources, one is not None))
    return found


def replaced_lines(call: Message) -> list[str]:
    """Return the lines that a call replaces, each once, without the space around them."""
    arguments = _arguments(call)
    several = arguments.get("edits")
    each = [arguments, *(edit for edit in (several if isinstance(several, list) else ()) if isinstance(edit, dict))]
    olds = [next((edit[key] for key in _OLD_TEXT if isinstance(edit.get(key), str)), "") for edit in each]
    lines = [line.strip() for old in olds for line in old.splitlines()]
    return list(dict.fromkeys(line for line in lines if len(line) > _LONGER_THAN))


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
