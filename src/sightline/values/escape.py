"""Escapes text of users and tools, so that no line of it can be taken for one that the engine wrote.

A line that begins like one of the engine's gets a backslash before it. Nothing else changes, and the log keeps the text
as it came, so whoever asks for it by its handle gets its own bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from unicodedata import category, normalize

from sightline.values.items import Blob, Part, Text, blob_text
from sightline.values.pattern import pattern
from sightline.values.phrases import ENGINE_BEGINNINGS

Escape = Callable[[str], str]

_BREAKS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"  # what ends a line, to any reader
# Characters that nobody sees: controls, those that Unicode lets a reader ignore, and a blank letter of Braille.
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_BLANKS = r"\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
MARGIN = rf"[\\{_BLANKS}{_UNSEEN}]*"  # what may stand before a line of the engine without changing how it reads
# Further characters that show nothing of their own, by category: marks on letters, formats, private, unassigned.
_UNSEEN_KINDS = ("Mn", "Me", "Cf", "Co", "Cn")
_HIDDEN = pattern(rf"[{_UNSEEN}\x1c-\x1e\x85]+")
_SPACE = pattern(rf"[{_BLANKS}]+")
_END = pattern(rf"[{_BREAKS}]")
_BRACKET = pattern(r"[\[<\uff3b\ufe47\uff1c\ufe64]")  # of any width
_FIRST_BRACKET = pattern(rf"(?:\A|(?<=[{_BREAKS}])){MARGIN}(?={_BRACKET.pattern})")  # where a line begins with one
_LONGEST = 24  # characters by which a line is known
_TAG_LINES = 4  # between the words of a tag may be line ends
_LOOK = 100  # characters that are enough to know a line by, if nothing is hidden among them


def _blanked(text: str) -> str:
    """Return a text of the same length in which `_UNSEEN` matches every character that nobody sees."""
    if text.isascii():
        return text
    return text.translate({ord(character): "\u200b" for character in set(text) if category(character) in _UNSEEN_KINDS})


def without_hidden(text: str) -> str:
    """Return a text as it looks to a reader: without the characters that nobody sees, and marks on letters."""
    return _HIDDEN.sub("", _blanked(text))


def _plain(text: str) -> str:
    """Return a line as it reads: nothing hidden, one blank for several, each letter in its plain width and case."""
    return _SPACE.sub(" ", without_hidden(normalize("NFKD", text))).casefold()


def _rule(beginning: str) -> str:
    """Return what matches a plain line that begins so: blanks may be missing, but for the one before a field."""
    start = _plain(beginning)[:_LONGEST]
    field = " " if start.endswith(" ") else ""
    rules = {" ": " ?", "]": r" ?\]"}
    return "".join(rules.get(character, re.escape(character)) for character in start.strip()) + field


_OPENED = pattern(r"(?:\[ ?)++")


@cache
def _ours() -> re.Pattern[str]:
    """Return what matches a line of ours. A tag that goes on in the next line is known where it ends with its name,
    because lines are also escaped one by one.
    """
    rules = sorted({*map(_rule, ENGINE_BEGINNINGS)})
    return re.compile("|".join([r"\[# ?\d", r"< ?window(?: id ?=| ?>| ?\Z)", *rules]))


def escape(text: str) -> str:
    """Put a backslash before each line that reads like the beginning of one of the engine's.

    Blanks, characters that nobody sees, wide letters and capitals do not make it another line. Nor do backslashes: one
    more is added, so that they can be told from those that were there.
    """
    pieces, done = [], 0
    for margin in _lines_like_ours(text):
        pieces += [text[done : margin.start()], "\\"]
        done = margin.start()
    return "".join([*pieces, text[done:]]) if pieces else text


def forged_brackets(text: str) -> list[int]:
    """Return where the brackets are with which lines begin that `escape` would change."""
    return [margin.end() for margin in _lines_like_ours(text)]


def _lines_like_ours(text: str) -> Iterator[re.Match[str]]:
    """Yield what stands before the bracket of each line that reads like the beginning of one of the engine's."""
    if _BRACKET.search(text):
        seen = _blanked(text)
        yield from (margin for margin in _FIRST_BRACKET.finditer(seen) if _is_ours(seen, margin.end()))


def _is_ours(text: str, at: int) -> bool:
    lines = 1 if normalize("NFKD", text[at]) == "[" else _TAG_LINES
    line = _unbracketed(_plain(" ".join(_END.split(text[at : at + _LOOK], maxsplit=lines)[:lines])))
    if len(line) <= _LONGEST and len(text) > at + _LOOK:  # it is short, or much of it is hidden
        end = at
        for _ in range(lines):
            line_end = _END.search(text, end)
            end = line_end.end() if line_end else len(text)
        line = _unbracketed(_plain(_END.sub(" ", text[at:end])))
    return _ours().match(line) is not None


def _unbracketed(line: str) -> str:
    """Return a line that begins with one bracket in the place of several."""
    return "[" + line[opened.end() :] if (opened := _OPENED.match(line)) else line


def escape_parts(parts: Iterable[Part], escape: Escape = escape) -> tuple[Part, ...]:
    """Return parts whose texts are escaped, those included that are no valid Unicode."""
    return tuple(_escape_part(part, escape) for part in parts)


def _escape_part(part: Part, escape: Escape) -> Part:
    match part:
        case Text():
            return Text(escape(part.text))
        case Blob():
            text = blob_text(part)
            return part if (escaped := escape(text)) == text else Text(escaped)
        case _:
            return part


# ---------------------------------------------------------------------- inside a line of the engine

_HANDLE = pattern(r"#(?=\d)")
_LONGEST_NAME = 100  # characters


def plain_label(text: str) -> str:
    """A text for use inside a line of the engine: no bracket and no handle can begin in it."""
    return _HANDLE.sub("# ", text.replace("[", "(").replace("]", ")"))


def plain_name(text: str) -> str:
    """A name for use inside a line of the engine: on one line, not too long, and like `plain_label`."""
    return plain_label(" ".join(text.split())[:_LONGEST_NAME])


# ---------------------------------------------------------------------- payloads of before

_OURS_BEFORE = pattern(
    r"\\*(?:<Window |\[(?:" + "|".join(re.escape(beginning[1:]) for beginning in ENGINE_BEGINNINGS) + r"|#\d|system\]))"
)


def escape_beginning(text: str) -> str:
    """Escape as payloads of format 1 did, so that they can be verified: only where the text itself begins."""
    return "\\" + text if _OURS_BEFORE.match(text) else text
