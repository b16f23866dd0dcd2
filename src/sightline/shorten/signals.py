"""Words that signal an error, a warning or a rule, recognised in the same pass as values.

Phrases are searched only in lines that have such a word.
"""

from collections.abc import Iterable, Sequence

from sightline.shorten.memo import Memo
from sightline.values.pattern import pattern

ERROR, WARNING, RULE = 3.0, 1.5, -1.0
MOST_TROUBLES = 60  # different lines with an error or a warning that are marked; a text with more is about them anyway

_ERROR, _WARNING = pattern("error|exception|fail|fatal|panic|denied"), pattern("warn|deprecat")
# Words that signal an error only in this phrase.
_PHRASES = {"found": "not found", "such": "no such", "undefined": "undefined: ", "timed": "timed out"}
_ZH = dict.fromkeys(("错误", "失败", "异常", "未找到", "找不到", "超时", "崩溃"), ERROR) | {"警告": WARNING}
# The same as they are written, to be found in a text that is too long to be read word by word.
ERROR_WORDS = (
    "FATAL", "Fatal", "fatal", "panic", "Traceback", "ERROR", "Error", "error", "FAIL", "Fail", "fail", "Exception",
    "exception", "denied", "timed out", "not found", *(word for word, mark in _ZH.items() if mark == ERROR),
)  # fmt: skip
# Words that may end a phrase of a rule (`t` ends "don't"), and these phrases, in lower case.
_RULE_WORDS = frozenset(("never", "always", "must", "not", "t", "cannot", "only", "sure", "least", "most"))
_RULE_STEMS = ("requir", "forbid", "ensur")
_RULE_PHRASES = (
    "never", "always", "must", "do not", "don't", "don’t", "cannot", "can't", " only ", "require", "forbid", "ensure",
    "make sure", "should not", "shouldn't", "at least", "at most",
)  # fmt: skip
_RULE_PHRASES_ZH = (
    "不要", "必须", "禁止", "务必", "不能", "不得", "不可", "一定", "只能", "至少", "至多", "确保", "切勿", "千万",
)  # fmt: skip


def _signal(word: str) -> float:
    word = word.lower()
    if word in _RULE_WORDS or word.startswith(_RULE_STEMS):
        return RULE
    if word in _PHRASES or _ERROR.search(word):
        return ERROR
    return WARNING if _WARNING.search(word) else 0.0


SIGNALS = Memo(_signal)  # of each word: ERROR, WARNING, RULE, or 0 for none


def states_rule(text: str) -> bool:
    """Whether a text says that something must or must not be, by its phrases."""
    return any(map(text.lower().__contains__, _RULE_PHRASES + _RULE_PHRASES_ZH))


def rule_lines(lines: Sequence[str], values: list[list[str]], words: Iterable[str]) -> list[int]:
    """Return the lines that say what must or must not be. `words` are the different words and values of all lines."""
    signals = {word for word in words if SIGNALS[word] == RULE}
    some = [i for i, line_values in enumerate(values) if not signals.isdisjoint(line_values)] if signals else []
    english = [i for i in some if any(map(lines[i].lower().__contains__, _RULE_PHRASES))]
    return english + [i for stem in _present(_RULE_PHRASES_ZH, lines) for i, line in enumerate(lines) if stem in line]


def trouble_marks(lines: Sequence[str], values: list[list[str]], words: Iterable[str]) -> dict[int, float]:
    """Return a mark for each line with an error or a warning, in any kind of text. Of equal lines only the first."""
    signals = {word: mark for word in words if (mark := SIGNALS[word]) > 0}
    marks: dict[int, float] = {}
    for i, line_values in enumerate(values if signals else ()):
        if not signals.keys().isdisjoint(line_values):
            lowered = lines[i].lower()
            real = [word for word in line_values if word in signals and _PHRASES.get(word.lower(), "") in lowered]
            marks[i] = max([signals[word] for word in real] or [0.0])
    for stem in _present(_ZH, lines):
        marks.update({i: _ZH[stem] for i, line in enumerate(lines) if stem in line and marks.get(i, 0.0) < _ZH[stem]})
    first: dict[str, int] = {}
    for i in sorted(i for i, mark in marks.items() if mark):
        first.setdefault(lines[i], i)
    return {i: marks[i] for i in [*first.values()][:MOST_TROUBLES]}


def _present(stems: Iterable[str], lines: Sequence[str]) -> list[str]:
    """Return the Chinese stems that occur at all. They are searched in the text because they are no separate words."""
    text = "" if all(map(str.isascii, lines)) else "\n".join(lines)
    return [stem for stem in stems if stem in text]
