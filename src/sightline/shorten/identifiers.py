"""Specific values in a text: the paths, names, ids and numbers that a later step may have to write down again."""

import re
from collections.abc import Sequence
from itertools import chain

from sightline.shorten.common_names import ending, everyday
from sightline.shorten.signals import TELLING

EVERYDAY = 0.8  # weight of a library's own name: it tells what a text uses, and agents write it again, but all know it
SCAN = 128 * 1024  # characters looked at from each end
LONGEST = 160  # a longer run without a blank is data (base64, minified), not a name
BLOCK = 50  # lines read at a time where a few values are enough
REMEMBERED = 16384  # tokens: the same names come again in every result of a session

# No colon: `app.py:12` is a path and a line. Backslashes count only in paths with a drive: elsewhere they are escapes.
_CHARACTERS = r"A-Za-z0-9_\-./#@$"
_LINE_END, _APART = "\x01", "\x02"  # tokens of their own: between lines, and for a value that is read by itself
_MARKS = {_LINE_END: _LINE_END, _APART: _APART}  # nothing that is shown holds them
_BETWEEN = f" {_LINE_END} "
_BYTES = bytes(b if re.match(f"[{_CHARACTERS}{_LINE_END}{_APART}]", chr(b)) else 32 for b in range(256))
# An address or a path with a drive has a colon in it; only lines that hold one are searched by pattern.
_WITH_COLON = re.compile(rf"[A-Za-z]:\\[A-Za-z0-9_\-.\\]+|[{_CHARACTERS}]{{3,}}://[A-Za-z0-9_\-./#@$%?=&~:+]+")

_NUMBER = re.compile(r"[\d.,+/-]+")
# Parts of a time, a length of time or of anything else, an address in memory, a colour.
_NOISE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d.Z+-]*|\d[\d.]*Z|\d[\d.,]*(?:n|u|m|k|K|M|G|T|Ki|Mi|Gi)?(?:[sbBhdpx]|min|sec|px|em|rem|pt|vh|vw|fr|deg|"
    r"st|nd|rd|th|k|K|M|G)|0x[0-9a-fA-F]{6,}|#(?=\d*[a-fA-F])(?:[0-9a-fA-F]{3}){1,2}"
)
_HUMP = re.compile(r"[a-z][A-Z]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[A-Za-z]{3}")
_LETTER = re.compile(r"[A-Za-z]")
_RECORD = re.compile(r"[a-z]_\d{4,}$")  # `gift_card_3491931`: the id of a record, which nobody can guess
_HEX = re.compile(r"[0-9a-f]{6,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def trim(token: str) -> str:
    """Without the punctuation that belongs to the sentence around it."""
    token = token.lstrip("-").rstrip(".-/\\#@$")
    if token.startswith("//"):  # begins a comment
        token = token.lstrip("/")
    return token if "/" in token else token.lstrip(".")


class _Weights(dict[str, float]):
    """The weight of every value met so far."""

    def __missing__(self, value: str) -> float:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[value] = _weight(value)
        return found


WEIGHTS = _Weights()


def weight(value: str) -> float:
    """How likely a later step needs this value, 0 for a plain word and for what is noise anywhere."""
    return WEIGHTS[value]


class _Known(dict[str, str]):
    """The value in every token met so far, or the word if it is a telling one, "" in any other.

    A lookup is all that most tokens ever cost.
    """

    def __missing__(self, token: str) -> str:
        if len(token) > 2 * LONGEST:
            return ""
        if len(self) >= REMEMBERED:
            self.clear()
            self.update(_MARKS)
        if token.isalpha() and (len(token) < 3 or token[1:].islower()):  # most are plain words
            found = token if TELLING[token] else ""
        else:
            value = trim(token)
            found = value if WEIGHTS[value] > 0 or TELLING[value] else ""
        self[token] = found
        return found


_value_of = _Known(_MARKS).__getitem__


def _spaced(text: str) -> str:
    """The text with a blank for everything that is in no token, by the quickest means there are."""
    if "</" in text:
        text = text.replace("</", "< ")  # closes a tag, opens no path
    if "%" in text:
        text = " ".join([part.rstrip("0123456789.,") for part in text.split("%")])
    return text.encode("ascii", "replace").translate(_BYTES).decode("ascii")


def shown(text: str) -> str:
    """The text without the two characters that nothing shown holds."""
    return text if text.isprintable() else text.replace(_LINE_END, " ").replace(_APART, " ")


def values_in(text: str) -> tuple[str, ...]:
    """The values of a short text, in order, repeated as they are."""
    return tuple([value for value in values_of_lines((shown(text),))[0] if WEIGHTS[value]])


def values_of_lines(lines: Sequence[str]) -> list[list[str]]:
    """The values of each line, telling words among them, in a few passes over all.

    No line may hold a line end or a control character.
    """
    text = _BETWEEN.join(lines)
    apart: list[str] = []
    if "://" in text or ":\\" in text:
        text = _BETWEEN.join([_set_apart(line, apart) if "://" in line or ":\\" in line else line for line in lines])
    met = list(filter(None, map(_value_of, _spaced(text).split())))
    if apart:
        others = map(_value_of, apart)
        met = [*filter(None, (next(others, "") if value == _APART else value for value in met))]
    out: list[list[str]] = []
    start = 0
    for _ in lines[1:]:
        end = met.index(_LINE_END, start)
        out.append(met[start:end])
        start = end + 1
    return [*out, met[start:]] if lines else []


def _set_apart(line: str, apart: list[str]) -> str:
    """The line with a mark for each address and each path with a drive: these have characters no other value has."""
    apart += _WITH_COLON.findall(line)
    return _WITH_COLON.sub(f" {_APART} ", line)


def _weight(token: str) -> float:
    """The figures are the shares of such values that recorded agents used again in later tool calls, in tenths."""
    if len(token) < 3 or len(token) > LONGEST:
        return 0.0
    if not _LETTER.search(token):
        return _number(token) if _NUMBER.fullmatch(token) else 0.0
    if "://" in token:
        return 0.8
    if not token[0].isalpha() and _NOISE.fullmatch(token):
        return 0.0
    if everyday(token):
        return EVERYDAY
    if "/" in token or "\\" in token:
        return _path(token)
    return _mixed(token) if _DIGIT.search(token) else _name(token)


def _path(token: str) -> float:
    if ending(token):
        return 2.8
    if not _WORD.search(token):
        return 0.0
    words = token.split("/")
    # `Status/Reason` is two words, `src/app` is a place
    return 0.5 if len(words) == 2 and words[1][:1].isupper() and "".join(words).isalpha() else 1.5


def _mixed(token: str) -> float:
    """Letters and digits: ids, versions, names with a number."""
    if len(token) < 4:
        return 0.0 if token[0].isdigit() else 0.3
    if _RECORD.search(token):
        return 3.0
    if _HEX.fullmatch(token):
        return 0.6 if len(token) > 6 else 0.3
    if "_" in token or "#" in token:
        return 1.5
    if "." in token:
        return 1.7 if ending(token) else 0.6
    return 0.9


def _number(token: str) -> float:
    digits = sum(map(str.isdigit, token))
    if not token.isdigit():
        return 0.3 if digits >= 3 and token.count(".") != 1 else 0.1 if digits >= 3 else 0.0
    return 0.0 if digits < 3 else 0.15 if digits < 5 else 0.5 if digits < 9 else 1.1


def _name(token: str) -> float:
    if "." in token:
        return 0.0 if len(token) < 5 or ".." in token else 1.1 if token.startswith(("self.", "this.")) else 1.7
    if "_" in token.strip("_"):
        return 2.2 if token.isupper() else 1.3
    if _HUMP.search(token):
        return 2.3 if token[0].isupper() else 1.9
    return 1.0 if token.startswith("__") or "@" in token or "#" in token else 0.0


def identifiers(text: str, limit: int = 64) -> list[str]:
    """Distinct specific values in order of first appearance: paths, names in code, ids, versions, urls, numbers; no
    names that everybody knows.

    Of a text beyond 256 KB the first and last 128 KB are read.
    """
    found: dict[str, None] = {}
    for part in (text,) if len(text) <= 2 * SCAN else (text[:SCAN], text[-SCAN:]):
        lines = shown(part).split("\n")
        for start in range(0, len(lines), BLOCK):
            met = chain.from_iterable(values_of_lines(lines[start : start + BLOCK]))
            found.update(dict.fromkeys(value for value in met if WEIGHTS[value] and not everyday(value)))
            if len(found) >= limit:
                return list(found)[:limit]
    return list(found)
