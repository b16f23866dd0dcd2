"""An upper bound of the tokens of a text, for a vocabulary that is not installed."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

from sightline.values.pattern import pattern

_MARKS = "!-/:-@\\[-`{-~"  # ASCII punctuation
_BLANK = "\t\n\v\f\r "
_PIECES = pattern(
    f"(?<=[^\x00-\x7f])[0-9]|[0-9]{{1,3}}"  # three digits are at most one piece, counted from any character before
    f"|[ ']?[A-Za-z\x80-\U0010ffff]+"  # a word. An apostrophe may take its first letters along, as in `don't`
    f"|[{_BLANK}]*[\r\n]+|[{_BLANK}]+(?![^{_BLANK}])"  # blanks, but for the one that belongs to what follows
    f"| ?[{_MARKS}]+|[\x00-\x7f]",
)
_ALIKE = pattern(f"([{_BLANK}])\\1*")
_LONGEST = {" ": 52, "\n": 5, "\t": 11}  # blanks up to this many are one token in every vocabulary
_ENDINGS = frozenset({"'s", "'t", "'m", "'d"})
_THREE_DIGITS = {"qwen3": 3, "mistral_v3": 3, "glm4": 2}  # tokens of three digits; elsewhere one
_TWO_DIGITS = {"qwen3": 2, "mistral_v3": 2}
_KEPT = 20_000  # pieces whose cost is remembered


class _Common(NamedTuple):
    """What is one token in every vocabulary."""

    run_end: re.Pattern[str]  # a character after which no pair of `pairs` goes on
    everywhere: frozenset[str]  # characters beyond ASCII
    elsewhere: frozenset[str]  # the same, but for cl100k_base
    words: dict[str, int]  # a word, with the blank before it or without → thirds of a token


class Cautious:
    """Counts for a vocabulary that is not installed: never fewer tokens than it has, for any of those in `ENCODINGS`.

    Words and characters that are one token in every vocabulary count as one. In other runs of ASCII, merging never
    leaves two characters side by side that are a token together, so n characters with such pairs only are at most
    (2 n + 1) / 3 tokens. Everything else counts as its UTF-8 bytes, of which a token has at least one.
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        self.name = f"{encoding} (estimated)"
        self._digits = (1, _TWO_DIGITS.get(encoding, 1), _THREE_DIGITS.get(encoding, 1))
        self._wide = encoding != "cl100k_base"
        self._costs: dict[str, int] = {}

    def count(self, text: str) -> int:
        """An upper bound of the tokens of a text."""
        return ceil(sum(number * self._cost(piece) for piece, number in Counter(_PIECES.findall(text)).items()) / 3)

    def _cost(self, piece: str) -> int:
        """Thirds of a token."""
        if (cost := self._costs.get(piece)) is None:
            cost = self._measure(piece)
            if len(piece) < 40 and len(self._costs) < _KEPT:
                self._costs[piece] = cost
        return cost

    def _measure(self, piece: str) -> int:
        common = _common()
        if (cost_of_word := common.words.get(piece)) is not None:
            return cost_of_word
        if piece[0] in "0123456789":
            return 3 * self._digits[len(piece) - 1]
        if piece.strip(_BLANK) == "":
            return 3 * _blank_tokens(piece) + (len(piece) > 1)  # a token of marks and lines may split both runs
        if piece in _ENDINGS:
            return 5
        ascii_only = piece if piece.isascii() else re.sub("[^\x00-\x7f]+", "\x00", piece)
        parted = piece[0] == "'" and piece[1:2].isalpha()  # what an apostrophe takes along ends a run
        cost = 2 * len(ascii_only) + len(common.run_end.findall(ascii_only)) + parted
        if ascii_only is not piece:
            cost += 3 * self._beyond_ascii(piece, common) - 3 * ascii_only.count("\x00")
            cost += 3 * ascii_only.startswith(" \x00")  # a blank may merge with the first byte of a character
        return cost

    def _beyond_ascii(self, piece: str, common: _Common) -> int:
        """Tokens of the characters that are not ASCII."""
        single_tokens = common.everywhere | common.elsewhere if self._wide else common.everywhere
        return sum(
            1 if character in single_tokens else _utf8_bytes(character) for character in piece if character > "\x7f"
        )


def _utf8_bytes(character: str) -> int:
    return 2 if character < "\u0800" else 3 if character <= "\uffff" else 4


def _blank_tokens(piece: str) -> int:
    """Tokens of blanks, at most. Two neighbours of one kind would be one token if that is not too long."""
    runs = [match[0] for match in _ALIKE.finditer(piece)]
    tokens = sum(1 + 2 * (len(run) // (_LONGEST.get(run[0], 1) + 1)) for run in runs)
    return min(len(piece), tokens + len(runs) - 1)  # a token may have blanks of both kinds and split their runs


@cache
def _common() -> _Common:
    text = Path(__file__).with_name("common_tokens.txt").read_text(encoding="utf-8")
    pairs, everywhere, elsewhere, *words = text.removesuffix("\n").split("\n\n")
    costs: dict[str, int] = {}
    for tokens, group in enumerate(words, start=1):
        for word in group.split():
            costs[f" {word}"] = 3
            if tokens < len(words):
                costs[word] = 3 * tokens
    return _Common(_run_end(pairs.split("\n")), _characters(everywhere), _characters(elsewhere), costs)


def _characters(lines: str) -> frozenset[str]:
    return frozenset(lines) - {"\n"}


def _run_end(pairs: Iterable[str]) -> re.Pattern[str]:
    """What matches each character that does not merge with the one after it."""
    after = [f"{re.escape(line[0])}(?![{re.escape(line[1:])}])" for line in pairs]
    firsts = "".join(re.escape(line[0]) for line in pairs)
    return re.compile(f"[^{firsts}]|{'|'.join(after)}")
