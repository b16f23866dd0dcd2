"""BM25, and the gists the baselines make: pieces of a text chosen by what they say."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log

from benchmarks.quality.messages import count_text
from benchmarks.quality.text_match import remembered

Gist = Callable[[str, int], str]

_WORD = re.compile(r"[A-Za-z0-9_]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]+")
_K1, _B = 1.2, 0.75  # the usual ones


def _terms(text: str) -> Counter[str]:
    found = [word.lower() for word in _WORD.findall(text)]
    for run in _CHINESE.findall(text):
        found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return Counter(found)


terms = remembered(_terms, 200_000)
"""Words and how often they stand in a text; of Chinese every two neighbouring characters."""


def bm25_scores(texts: Sequence[str], query: str) -> list[float]:
    """How well each text matches."""
    found = [terms(text) for text in texts]
    lengths = [sum(each.values()) for each in found]
    mean = (sum(lengths) / len(lengths) if lengths else 1.0) or 1
    scores = [0.0] * len(texts)
    for term in terms(query):
        having = sum(1 for each in found if term in each)
        rarity = log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for at, each in enumerate(found):
            if times := each.get(term):
                scores[at] += rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths[at] / mean))
    return scores


# ------------------------------------------------------------------ gists


def lead(text: str, tokens: int) -> str:
    """The first lines."""
    out: list[str] = []
    used = 0
    for line in text.split("\n"):
        used += count_text(line) + 1
        if used > tokens:
            break
        out.append(line)
    return "\n".join(out) if out else _cut_words(text.partition("\n")[0], tokens)


def centroid(text: str, tokens: int) -> str:
    """Return the lines with the most frequent words, in order."""
    lines = [line for line in text.split("\n") if line.strip()]
    often = Counter(word for line in lines for word in terms(line) if len(word) > 3)
    scores = []
    for at, line in enumerate(lines):
        long = [word for word in terms(line) if len(word) > 3]
        scores.append((-sum(log(1 + often[word]) for word in long) / (len(long) + 3) if long else 0.0, at))
    return _chosen(lines, [lines[at] for _, at in sorted(scores)], tokens)


def longest(text: str, tokens: int) -> str:
    """The longest lines, in order."""
    lines = [line for line in text.split("\n") if line.strip()]
    return _chosen(lines, sorted(lines, key=lambda line: -len(line)), tokens)


def _chosen(lines: Sequence[str], best: Sequence[str], tokens: int) -> str:
    kept = _fitting(best, tokens)
    return "\n".join(line for line in lines if line in kept) if kept else _cut_words(best[0], tokens)


def _fitting(pieces: Iterable[str], tokens: int) -> set[str]:
    kept, used = set(), 0
    for piece in pieces:
        size = count_text(piece) + 1
        if used + size <= tokens:
            kept.add(piece)
            used += size
    return kept


def _cut_words(text: str, tokens: int) -> str:
    words = text.split(" ")
    while words and count_text(" ".join(words)) > tokens:
        words.pop()
    return " ".join(words)


GISTS: dict[str, Gist] = {"lead": lead, "centroid": centroid, "longest": longest}
