"""A shortened text, written as places in the text it was made from: most of it stands there already."""

import re
from collections.abc import Iterable

Piece = str | tuple[int, int]
"""Words of its own, or (first, end) in the original."""

_JOINTS = re.compile(r"(\n| … )")
_LARGEST = 1 << 16  # characters of an original that is searched: beside a larger one its excerpt is small anyway
_LEAST = 16  # characters: a shorter piece takes no more room than its place


def pieces(text: str, original: str) -> tuple[Piece, ...]:
    """`text` in pieces of `original` and words of its own. `joined` is the inverse."""
    if len(original) > _LARGEST:
        return (text,)
    chunks = [chunk for chunk in _JOINTS.split(text) if chunk]
    found: list[Piece] = []
    at = 0
    while at < len(chunks):
        first = original.find(chunks[at]) if len(chunks[at]) >= _LEAST else -1
        if first < 0:
            _add_words(found, chunks[at])
            at += 1
            continue
        end = first
        while at < len(chunks) and original.startswith(chunks[at], end):
            end += len(chunks[at])
            at += 1
        found.append((first, end))
    return tuple(found)


def _add_words(found: list[Piece], words: str) -> None:
    if found and isinstance(found[-1], str):
        found[-1] += words
    else:
        found.append(words)


def stands_alone(value: str, text: str) -> bool:
    """Whether a text has this value not only as a part of a longer name, number or path."""
    at = text.find(value)
    while at >= 0:
        if not _of_a_word(text[at - 1 : at]) and not _of_a_word(text[at + len(value) : at + len(value) + 1]):
            return True
        at = text.find(value, at + 1)
    return False


def _of_a_word(character: str) -> bool:
    """Letters and digits that a longer name would be made of; Chinese is written without blanks."""
    return character.isascii() and (character.isalnum() or character == "_")


def joined(parts: Iterable[Piece], original: str) -> str:
    """The text of these pieces."""
    return "".join(part if isinstance(part, str) else original[part[0] : part[1]] for part in parts)
