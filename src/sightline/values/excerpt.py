"""A shortened text, stored as places in the text it was made from, because most of it is there already."""

from collections.abc import Iterable

from sightline.values.pattern import pattern

Piece = str | tuple[int, int]
"""Text of its own, or the characters (first, end) of the original."""

_WORD_END = pattern(r"[^A-Za-z0-9_]|\Z")
_JOINTS = pattern(r"(\n| … )")
_LARGEST = 1 << 16  # characters of an original that is searched: compared to a larger one its excerpt is small anyway
_LEAST = 16  # characters: a shorter piece is no longer than its place


def pieces(text: str, original: str) -> tuple[Piece, ...]:
    """Split `text` into places in `original` and text of its own. `joined` is the inverse."""
    if len(original) > _LARGEST:
        return (text,)
    chunks = [chunk for chunk in _JOINTS.split(text) if chunk]
    split: list[Piece] = []
    at = 0
    while at < len(chunks):
        first = original.find(chunks[at]) if len(chunks[at]) >= _LEAST else -1
        if first < 0:
            if split and isinstance(split[-1], str):
                split[-1] += chunks[at]
            else:
                split.append(chunks[at])
            at += 1
            continue
        end = first
        while at < len(chunks) and original.startswith(chunks[at], end):
            end += len(chunks[at])
            at += 1
        split.append((first, end))
    return tuple(split)


def stands_alone(value: str, text: str) -> bool:
    """Whether a text has this value by itself, not only as a part of a longer name, number or path."""
    at = text.find(value)
    while at >= 0:
        if not _is_word(text[at - 1 : at]) and not _is_word(text[at + len(value) : at + len(value) + 1]):
            return True
        end = _WORD_END.search(text, at + 1) if _is_word(value[:1]) else None  # within a word it never stands alone
        at = text.find(value, end.start() if end else at + 1)
    return False


def _is_word(character: str) -> bool:
    """Whether a longer name could contain this character. Chinese does not count, because it has no spaces."""
    return character.isascii() and (character.isalnum() or character == "_")


def joined(parts: Iterable[Piece], original: str) -> str:
    """Join pieces to the text they were split from."""
    return "".join(part if isinstance(part, str) else original[part[0] : part[1]] for part in parts)
