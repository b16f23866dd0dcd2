"""Specific values in a text: the paths, names, ids and numbers that a later step may have to write again."""

import re
from collections.abc import Sequence

from sightline.shorten.common_names import ending, everyday
from sightline.shorten.memo import Memo
from sightline.shorten.signals import SIGNALS
from sightline.values.pattern import pattern

COMMON_WEIGHT = 0.8  # weight of a library's own name: agents write it again, but every model knows it
SCAN = 128 * 1024  # characters read from each end
LONGEST = 160  # a longer run without a blank is data (base64, minified), not a name
NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
BLOCK = 50  # lines read at a time where a few values are enough

# No colon, because `app.py:12` is a path and a line. Backslashes count only in paths with a drive: elsewhere they are
# escapes.
_CHARACTERS = r"A-Za-z0-9_\-./#@$"
_LINE_END, _APART = "\x01", "\x02"  # marks between lines and for an address; no text that is shown has them
_BETWEEN = f" {_LINE_END} "
_BYTES = bytes(b if re.match(f"[{_CHARACTERS}{_LINE_END}{_APART}]", chr(b)) else 32 for b in range(256))
# A URL or a path with a drive has a colon; only lines with one are searched by this pattern. A long run of characters
# is tried once, from its beginning.
_WITH_COLON = pattern(
    rf"[A-Za-z]:\\[A-Za-z0-9_\-.\\]+|(?<![{_CHARACTERS}])[{_CHARACTERS}]{{3,}}+://[A-Za-z0-9_\-./#@$%?=&~:+]+"
)

_NUMBER = pattern(r"[\d.,+/-]+")
# Parts of a time, a duration or another measure, a memory address, a colour.
_NOISE = pattern(
    r"\d{4}-\d\d-\d\dT[\d.Z+-]*|\d[\d.]*Z|\d[\d.,]*(?:n|u|m|k|K|M|G|T|Ki|Mi|Gi)?(?:[sbBhdpx]|min|sec|px|em|rem|pt|vh|vw|fr|deg|"
    r"st|nd|rd|th|k|K|M|G)|0x[0-9a-fA-F]{6,}|#(?=\d*[a-fA-F])(?:[0-9a-fA-F]{3}){1,2}"
)
_HUMP = pattern(r"[a-z][A-Z]")
_DIGIT = pattern(r"\d")
_WORD = pattern(r"[A-Za-z]{3}")
_LETTER = pattern(r"[A-Za-z]")
_RECORD = pattern(r"[a-z]_\d{4,}$")  # `gift_card_3491931`: the id of a record, which nobody can guess
# What a task speaks of: a name may stand in Chinese without blanks.
_TASK_WORD = pattern(r"[^\W\d\u4e00-\u9fff][^\W\u4e00-\u9fff]{3,60}")
_CHINESE_PAIR = pattern(r"(?=([\u4e00-\u9fff]{2}))")
_HEX = pattern(r"[0-9a-f]{6,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def trim(token: str) -> str:
    """Return a token without the punctuation of the sentence around it."""
    token = token.lstrip("-").rstrip(".-/\\#@$")
    if token.startswith("//"):  # begins a comment
        token = token.lstrip("/")
    return token if "/" in token else token.lstrip(".")


def _value_in(token: str) -> str:
    """Return the value in a token, or the token itself if it is a signal word; "" for any other word."""
    if token in (_LINE_END, _APART):
        return token
    if len(token) > 2 * LONGEST:
        return ""
    if token.isalpha() and (len(token) < 3 or token[1:].islower()):  # most are plain words
        return token if SIGNALS[token] else ""
    value = trim(token)
    return value if WEIGHTS[value] > 0 or SIGNALS[value] else ""


def without_marks(text: str) -> str:
    """Return the text without the two characters that are used as marks here."""
    return text if text.isprintable() else text.replace(_LINE_END, " ").replace(_APART, " ")


def values_in(text: str) -> tuple[str, ...]:
    """Return the values of a short text, in order, with repetitions."""
    return tuple([value for value in values_of_lines((without_marks(text),))[0] if WEIGHTS[value]])


def values_of_lines(lines: Sequence[str]) -> list[list[str]]:
    """Return the values of each line, signal words included, in a few passes over all lines.

    No line may contain a line end or a control character.
    """
    met, out, start = _values_and_ends(lines), list[list[str]](), 0
    for _ in lines[1:]:
        end = met.index(_LINE_END, start)
        out.append(met[start:end])
        start = end + 1
    return [*out, met[start:]] if lines else []


def _values_and_ends(lines: Sequence[str]) -> list[str]:
    """Return the values of all lines in one list, with a mark between two lines."""
    text = _BETWEEN.join(lines)
    apart: list[str] = []
    if "://" in text or ":\\" in text:
        text = _BETWEEN.join(
            [_take_addresses(line, apart) if "://" in line or ":\\" in line else line for line in lines]
        )
    text = text.replace("</", "< ")  # closes a tag, opens no path
    if "%" in text:
        text = " ".join([part.rstrip("0123456789.,") for part in text.split("%")])
    # A blank for every character that belongs to no token, by the quickest way there is.
    text = text.encode("ascii", "replace").translate(_BYTES).decode("ascii")
    met = list(filter(None, map(_value_of_token, text.split())))
    if apart:
        others = map(_value_of_token, apart)
        met = [*filter(None, (next(others, "") if value == _APART else value for value in met))]
    return met


def _take_addresses(line: str, apart: list[str]) -> str:
    """Add the URLs and the paths with a drive to `apart` and return the line with a mark for each.

    They have characters that no other value has.
    """
    apart += _WITH_COLON.findall(line)
    return _WITH_COLON.sub(f" {_APART} ", line)


def _weight(token: str) -> float:
    """Return the share of such values that recorded agents used again in later tool calls, in tenths."""
    if len(token) < 3 or len(token) > LONGEST:
        return 0.0
    if not _LETTER.search(token):
        return _number_weight(token) if _NUMBER.fullmatch(token) else 0.0
    if "://" in token:
        return 0.8
    if not token[0].isalpha() and _NOISE.fullmatch(token):
        return 0.0
    if everyday(token):
        return COMMON_WEIGHT
    if "/" in token or "\\" in token:
        return _path_weight(token)
    return _mixed_weight(token) if _DIGIT.search(token) else _name_weight(token)


def _path_weight(token: str) -> float:
    if ending(token):
        return 2.8
    if not _WORD.search(token):
        return 0.0
    words = token.split("/")
    # `Status/Reason` is two words, `src/app` is a place
    return 0.5 if len(words) == 2 and words[1][:1].isupper() and "".join(words).isalpha() else 1.5


def _mixed_weight(token: str) -> float:
    """Return the weight of letters with digits: ids, versions, names with a number."""
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


def _number_weight(token: str) -> float:
    digits = sum(map(str.isdigit, token))
    if not token.isdigit():
        return 0.3 if digits >= 3 and token.count(".") != 1 else 0.1 if digits >= 3 else 0.0
    return 0.0 if digits < 3 else 0.15 if digits < 5 else 0.5 if digits < 9 else 1.1


def _name_weight(token: str) -> float:
    if "." in token:
        return 0.0 if len(token) < 5 or ".." in token else 1.1 if token.startswith(("self.", "this.")) else 1.7
    if "_" in token.strip("_"):
        return 2.2 if token.isupper() else 1.3
    if _HUMP.search(token):
        return 2.3 if token[0].isupper() else 1.9
    return 1.0 if token.startswith("__") or "@" in token or "#" in token else 0.0


# How likely a later step needs a value: 0 for a plain word and for what is noise anywhere.
WEIGHTS = Memo(_weight)
_value_of_token = Memo(_value_in).__getitem__  # a look-up is all that most tokens cost
_is_own = Memo(lambda value: bool(WEIGHTS[value]) and not everyday(value)).__getitem__  # it belongs to a project


def identifiers(text: str, limit: int = 64) -> list[str]:
    """Return the distinct specific values in order of first appearance: paths, names in code, ids, versions, URLs,
    numbers. Names that everybody knows are left out.

    Of a text beyond 256 KB the first and last 128 KB are read.
    """
    names: dict[str, None] = {}
    for part in (text,) if len(text) <= 2 * SCAN else (text[:SCAN], text[-SCAN:]):
        lines = without_marks(part).split("\n")
        for start in range(0, len(lines), BLOCK):
            names.update(dict.fromkeys(filter(_is_own, _values_and_ends(lines[start : start + BLOCK]))))
            if len(names) >= limit:
                return list(names)[:limit]
    return list(names)


def words_in(text: str) -> set[str]:
    """Return the words and names of a text, short ones excepted. Of Chinese, each two characters side by side."""
    return {*_TASK_WORD.findall(text), *_CHINESE_PAIR.findall(text)}
