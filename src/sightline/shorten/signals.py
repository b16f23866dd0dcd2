"""Words that tell of trouble or bind the reader, met in the same pass as values. Phrases are looked for only then."""

import re
from collections.abc import Iterable, Sequence

ERROR, WARNING, BINDS = 3.0, 1.5, -1.0
REMEMBERED = 16384  # words
MOST_TROUBLES = 60  # different lines of trouble that are marked; a text with more is about them anyway

_ERROR, _WARNING = re.compile("error|exception|fail|fatal|panic|denied"), re.compile("warn|deprecat")
_PHRASES = {"found": "not found", "such": "no such"}  # words that tell of trouble only so
_ZH = {"错误": ERROR, "失败": ERROR, "异常": ERROR, "警告": WARNING}
# Words in which a phrase that binds may end (`t` ends "don't"), and the phrases, in lower case.
_BINDING = frozenset(("never", "always", "must", "not", "t", "cannot", "only", "sure", "least", "most"))
_BINDING_STEMS = ("requir", "forbid", "ensur")
_MUST = (
    "never|always|must|do not|don't|don’t|cannot|can't| only |require|forbid|ensure|make sure|should not|shouldn't|"
    "at least|at most"
)
_MUST_ZH = "不要|必须|禁止|务必|不能|不得|不可|一定|只能|至少|至多|确保|切勿|千万"
_EN, _OTHERS = tuple(_MUST.split("|")), tuple(_MUST_ZH.split("|"))
MUST = _EN + _OTHERS  # what binds the reader, in lower case


class _Telling(dict[str, float]):
    """What every word met so far tells: ERROR, WARNING, BINDS, or 0 for nothing."""

    def __missing__(self, word: str) -> float:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[word] = _told(word.lower())
        return found


TELLING = _Telling()


def _told(word: str) -> float:
    if word in _BINDING or word.startswith(_BINDING_STEMS):
        return BINDS
    if word in _PHRASES or _ERROR.search(word):
        return ERROR
    return WARNING if _WARNING.search(word) else 0.0


def binding(lines: Sequence[str], values: list[list[str]], met: Iterable[str]) -> list[int]:
    """The lines that say what must or must not be; `met` are the different words and values of all lines."""
    words = {word for word in met if TELLING[word] == BINDS}
    some = [i for i, found in enumerate(values) if not words.isdisjoint(found)] if words else []
    said = [i for i in some if any(map(lines[i].lower().__contains__, _EN))]
    return said + [i for stem in _present(_OTHERS, lines) for i, line in enumerate(lines) if stem in line]


def marks_of_trouble(lines: Sequence[str], values: list[list[str]], met: Iterable[str]) -> dict[int, float]:
    """Marks for lines that tell of an error or a warning, whatever the text is. Of equal lines only the first."""
    words = {word: mark for word in met if (mark := TELLING[word]) > 0}
    marks: dict[int, float] = {}
    for i, found in enumerate(values if words else ()):
        if not words.keys().isdisjoint(found):
            marks[i] = max(
                [words[word] for word in found if word in words and _really(word.lower(), lines[i])] or [0.0]
            )
    for stem in _present(_ZH, lines):
        marks.update({i: _ZH[stem] for i, line in enumerate(lines) if stem in line and marks.get(i, 0.0) < _ZH[stem]})
    first: dict[str, int] = {}
    for i in sorted(i for i, mark in marks.items() if mark):
        if len(first) < MOST_TROUBLES:
            first.setdefault(lines[i], i)
    return {i: marks[i] for i in first.values()}


def _really(word: str, line: str) -> bool:
    return word not in _PHRASES or _PHRASES[word] in line.lower()


def _present(stems: Iterable[str], lines: Sequence[str]) -> list[str]:
    """The Chinese stems that occur at all: they are no words of their own."""
    text = "" if all(map(str.isascii, lines)) else "\n".join(lines)
    return [stem for stem in stems if stem in text] if text else []
