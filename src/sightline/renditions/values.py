"""Specific values in a text: the paths, names, ids and numbers that a later step may have to write down again."""

import re
from functools import lru_cache

# No colon: `app.py:12` is a path and a line. One run and no alternatives, so that no text makes the search slow.
# A slash after "<" closes a tag. Backslashes count only in paths with a drive: elsewhere they are escapes.
TOKEN = re.compile(r"(?<!<)[A-Za-z0-9_\-./#@$]{3,}(?:://[^\s\"'<>()\[\]{},;\\]+)?")
_DRIVE = re.compile(r"[A-Za-z]:\\[^\s\"'<>|*?]+|" + TOKEN.pattern)

SCAN = 128 * 1024  # characters looked at from each end
LONGEST = 160  # a longer run without a blank is data (base64, minified), not a name

_NUMBER = re.compile(r"[\d.,+/-]+")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,4}$")
_HUMP = re.compile(r"[a-z][A-Z]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[A-Za-z]{3}")
_LETTER = re.compile(r"[A-Za-z]")
_RECORD = re.compile(r"[a-z]_\d{4,}$")  # `gift_card_3491931`: the id of a record, which nobody can guess
_HEX = re.compile(r"[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def trim(token: str) -> str:
    """Without the punctuation that belongs to the sentence around it."""
    token = token.lstrip("-").rstrip(".-/\\#@$")
    return token if "/" in token else token.lstrip(".")


@lru_cache(maxsize=16384)  # the same names come again in every result of a session
def value_of(token: str) -> str:
    """The value in a token as found, "" if it is a plain word."""
    value = trim(token)
    return value if weight(value) > 0 else ""


def values_in(text: str) -> list[str]:
    """The values of a short text, in order, repeated as they are."""
    found = _DRIVE.findall(text) if ":\\" in text else TOKEN.findall(text)
    return [value for token in found if (value := value_of(token))]


@lru_cache(maxsize=16384)
def weight(token: str) -> float:
    """How likely a later step needs this value, 0 for a plain word.

    The figures are the shares of such values that recorded agents used again in later tool calls, in tenths.
    """
    if len(token) < 3 or len(token) > LONGEST:
        return 0.0
    if _NUMBER.fullmatch(token):
        return _number(token)
    if "://" in token:
        return 0.8
    if "/" in token or "\\" in token:
        return 2.8 if _EXTENSION.search(token) else 1.5 if _WORD.search(token) else 0.0
    return _mixed(token) if _DIGIT.search(token) else _name(token)


def _mixed(token: str) -> float:
    """Letters and digits: ids, versions, names with a number."""
    if len(token) < 4:
        return 0.0 if token[0].isdigit() else 0.3
    if _RECORD.search(token):
        return 3.0
    if _HEX.fullmatch(token):
        return 0.6
    if "_" in token or "#" in token or "." in token or _HUMP.search(token):
        return 1.5
    return 0.4 if "-" in token else 0.9


def _number(token: str) -> float:
    digits = sum(map(str.isdigit, token))
    if not token.isdigit():
        return 0.3 if digits >= 3 and token.count(".") != 1 else 0.1 if digits >= 3 else 0.0
    return 0.0 if digits < 3 else 0.15 if digits < 5 else 0.5 if digits < 9 else 1.1


def _name(token: str) -> float:
    if not _LETTER.search(token):
        return 0.0
    if "." in token:
        return 1.7 if len(token) > 4 and ".." not in token else 0.0
    if "_" in token.strip("_"):
        return 2.2 if token.isupper() else 1.3
    if _HUMP.search(token):
        return 2.3 if token[0].isupper() else 1.9
    return 1.0 if token.startswith("__") or "@" in token or "#" in token else 0.0


def identifiers(text: str, limit: int = 64) -> list[str]:
    """Distinct specific values in order of first appearance: paths, names in code, ids, versions, urls, numbers.

    Of a text beyond 256 KB the first and last 128 KB are read.
    """
    parts = (text,) if len(text) <= 2 * SCAN else (text[:SCAN], text[-SCAN:])
    found: dict[str, None] = {}
    for part in parts:
        for match in _DRIVE.finditer(part):
            if len(found) >= limit:
                return list(found)
            if value := value_of(match.group()):
                found[value] = None
    return list(found)
