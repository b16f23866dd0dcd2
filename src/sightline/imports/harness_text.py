"""Tells what the user wrote from what a harness put in the place of the user's words."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sightline.providers.agents import ELEMENTS, OPENINGS

_OPENING = re.compile(f"<({'|'.join(ELEMENTS)})>")
_LOOKED_AT = 4_000  # characters in which a command is looked for
_WRITTEN = re.compile(r"\s*(?:" + "|".join([*(f"<{name}" for name in ELEMENTS), *map(re.escape, OPENINGS)]) + ")")
"""How texts begin that coding agents write themselves: reminders, command output, the environment, project rules."""


def is_harness_text(text: str) -> bool:
    """Whether a text begins as only a harness writes."""
    return _WRITTEN.match(text) is not None


def command_words(text: str) -> str:
    """Return the command that a person typed, with its arguments, of a text by which a harness tells of it; else ""."""
    return " ".join(filter(None, (_tagged(text[:_LOOKED_AT], name) for name in ("command-name", "command-args"))))


def _tagged(text: str, name: str) -> str:
    """What stands in the first element of this name; "" if it is not closed."""
    inside, closing, _ = text.partition(f"<{name}>")[2].partition(f"</{name}>")
    return inside.strip() if closing else ""


def divided(content: Any) -> Iterator[tuple[bool, list[Any]]]:
    """Yield the content blocks of a message in runs: whether a harness wrote them, and the blocks.

    A text is divided where a reminder begins and ends. A content that is text is one block.
    """
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    pieces = [(_is_by_harness(piece), piece) for block in blocks for piece in _pieces(block)]
    for by_harness, run in groupby(pieces, key=lambda piece: piece[0]):
        yield by_harness, [block for _, block in run]


def _pieces(block: Any) -> list[Any]:
    text = _text(block)
    pieces = _split_at_reminders(text)
    if len(pieces) == 1 or (is_harness_text(text) and not "".join(pieces[::2]).strip()):
        return [block]
    return [{**block, "text": piece} for piece in pieces if piece.strip()]


def _split_at_reminders(text: str) -> list[str]:
    """The text before the first reminder, that reminder, the text after it, the next reminder, and so on."""
    last = {name: text.rfind(f"</{name}>") for name in ELEMENTS}  # so that one that is not closed is not looked for
    pieces, at = list[str](), 0
    for opening in _OPENING.finditer(text):
        name, start = opening[1], opening.start()
        if at <= start < last[name]:
            end = text.index(f"</{name}>", start) + len(f"</{name}>")
            pieces += (text[at:start], text[start:end])
            at = end
    return [*pieces, text[at:]]


def _is_by_harness(block: Any) -> bool:
    return is_harness_text(_text(block))


def _text(block: Any) -> str:
    match block:
        case {"text": str(text)}:
            return text
        case _:
            return ""
