"""Whether a text is shown: word for word, or how much of it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from benchmarks.quality.records import Question

T = TypeVar("T")

_SPACE = re.compile(r"\s+")
_TOKEN = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")
_PUNCTUATION = re.compile(r"[^\w\u3400-\u9fff]+")
_LONGEST, _WINDOW, _STEP = 80, 60, 30  # words: a line up to the first is one piece, a longer one is cut in windows
_STOP = re.compile(  # words that say nothing alone
    "the|a|an|and|or|but|if|then|of|to|in|on|at|for|with|from|by|is|are|was|were|be|been|it|its|this|that|i|you|he|she|"
    "we|they|my|your|me|so|do|did|does|have|has|had|not|no|yes|as|just|what|who|when|where|how|will|would|can|could|"
    "should|about|there|their|them|our"
).fullmatch


def remembered(work: Callable[[str], T], most: int) -> Callable[[str], T]:
    """Return a cached version of a function. The cache is emptied when it has `most` texts."""
    known: dict[str, T] = {}

    def found(text: str) -> T:
        if text not in known:
            if len(known) > most:
                known.clear()
            known[text] = work(text)
        return known[text]

    return found


def _normal(text: str) -> str:
    return _SPACE.sub(" ", text).strip().lower()


normal = remembered(_normal, 300_000)
"""A text without differences of case and space."""


def words(text: str) -> list[str]:
    """Return the content words of a text; for Chinese every two neighbouring characters."""
    out: list[str] = []
    for token in _TOKEN.findall(text.lower()):
        if "\u3400" <= token[0] <= "\u9fff":
            out += [token[at : at + 2] for at in range(len(token) - 1)] or [token]
        elif len(token) > 1 and not _STOP(token):
            out.append(token)
    return out


def _pieces(text: str) -> list[frozenset[str]]:
    out = []
    for line in text.split("\n"):
        found = words(line)
        if len(found) > _LONGEST:
            out += [frozenset(found[at : at + _WINDOW]) for at in range(0, len(found), _STEP)]
        elif found:
            out.append(frozenset(found))
    return out


pieces = remembered(_pieces, 100_000)
"""The words of each line of a text."""


class Matcher:
    """How much of one text a context shows. Messages are cached, because a question's contexts share most of them."""

    def __init__(self, gold: str) -> None:
        self._gold, self._words = normal(gold), set(words(gold))
        self._known: dict[str, float] = {}

    def __call__(self, texts: Iterable[str]) -> tuple[float, bool]:
        """(coverage, verbatim): 1 when it is there word for word, else the best share of its words in one line."""
        best = 0.0
        for text in texts:
            best = max(best, self._in(text))
            if best == 2.0:
                return 1.0, True
        return best, False

    def _in(self, text: str) -> float:
        if text not in self._known:
            self._known[text] = self._share(text)
        return self._known[text]

    def _share(self, text: str) -> float:
        if self._gold in normal(text):
            return 2.0
        if not self._words:
            return 0.0
        most = max((len(self._words & piece) for piece in pieces(text)), default=0)
        return most / len(self._words) * 0.999  # never taken for verbatim


def bare(text: str) -> str:
    """A text without punctuation."""
    return _PUNCTUATION.sub(" ", text.lower()).strip()


def answered(question: Question, shown: str) -> bool:
    """Return whether a text without punctuation contains one of the short answers."""
    return any(parts and all(_stands(part, shown) for part in parts) for parts in _answer_parts(question))


def _answer_parts(question: Question) -> list[list[str]]:
    if question.any_answer:
        return [[bare(answer)] for answer in question.answers]
    split = [re.split(r",| and |;", answer) for answer in question.answers]
    return [[bared for part in parts if (bared := bare(part))] for parts in split]


def _stands(part: str, shown: str) -> bool:
    if not part.isascii():
        return part in shown
    return re.search(r"(?<!\w)" + re.escape(part) + r"(?!\w)", shown) is not None


def bared(texts: Sequence[str]) -> str:
    """Texts joined without punctuation."""
    return " ".join(map(bare, texts))
