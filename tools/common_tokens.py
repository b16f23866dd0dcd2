"""Writes src/sightline/values/common_tokens.txt: what is one token in every vocabulary that splintr has.

Four groups of lines, an empty line between them: pairs of ASCII characters that always merge, as a character and those
that may follow it; characters beyond ASCII that are one token everywhere, and those that are so everywhere but in
cl100k_base; words that are one token after a blank, by the tokens they have otherwise (one, two, more).
"""

import re
import string
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from splintr import Tokenizer

from sightline.values.tokens import ENCODINGS

OUT = Path(__file__).parents[1] / "src/sightline/values/common_tokens.txt"
CONTRACTIONS = ("'s", "'t", "'m", "'d")
_FOUND = "高"  # merges with a neighbour that is not among those tried here, as random text has shown
_WORD = re.compile(r" ?([A-Za-z]{2,})")

Count = Callable[[str], int]


def counts() -> dict[str, Count]:
    """How each vocabulary counts."""

    def counted(name: str) -> Count:
        encode = Tokenizer.from_pretrained(name).encode_ordinary
        return lambda text: len(encode(text))

    return {name: counted(name) for name in ENCODINGS}


def pairs(most: Callable[[str], int]) -> list[str]:
    """Each ASCII character, then those that it merges with when they follow it in a word or in punctuation."""
    lower, upper, marks = string.ascii_lowercase, string.ascii_uppercase, string.punctuation
    after = {" ": lower + upper + marks} | dict.fromkeys(lower, lower) | dict.fromkeys(upper, upper + lower)
    after |= dict.fromkeys(marks, marks)
    found = {first: "".join(each for each in seconds if most(first + each) == 1) for first, seconds in after.items()}
    return [first + seconds for first, seconds in found.items() if seconds]


def words(most: Callable[[str], int]) -> list[list[str]]:
    """The words that are one token after a blank, by how many tokens they have without it: one, two, more."""
    named = Tokenizer.from_pretrained("cl100k_base")
    match = [_WORD.fullmatch(_decoded(named, token)) for token in range(100_256)]
    candidates = sorted({each[1] for each in match if each})
    groups: list[list[str]] = [[], [], []]
    for word in candidates:
        if most(f" {word}") > 1 or any(most(f" {word}{end}") > 2 for end in CONTRACTIONS):
            continue
        alone = max(most(word), *(most(mark + word) - 1 for mark in string.punctuation + "\t" if mark != "'"))
        alone = max(alone, *(most(word + end) - 1 for end in CONTRACTIONS))
        groups[min(alone, 3) - 1].append(word)
    return groups


def characters(by_name: dict[str, Count]) -> str:
    """The characters beyond ASCII that are one token in each of these vocabularies, whatever stands beside them.

    The last byte of one may merge with the first of the next, which leaves more tokens than characters. Of such two,
    the one that does so with more others is left out.
    """
    codes = (code for code in range(0x80, 0x10000) if not 0xD800 <= code < 0xE000 and chr(code).isprintable())
    known = [each for each in map(chr, codes) if all(count(each) == 1 for count in by_name.values())]
    classes: dict[bytes, list[str]] = {}
    for each in known:
        classes.setdefault(each.encode()[:-1], []).append(each)
    second = [each for members in classes.values() for each in {members[0], members[-1], members[len(members) // 2]}]
    bad = [(a, b) for a in known for b in second if any(count(a + b) > 2 for count in by_name.values())]
    left_out = set(_FOUND)
    while bad:
        worst = Counter(each for pair in bad for each in set(pair)).most_common(1)[0][0]
        is_second = sum(pair[1] == worst for pair in bad) > sum(pair[0] == worst for pair in bad)
        gone = set(classes[worst.encode()[:-1]]) if is_second else {worst}  # what begins alike merges alike
        left_out |= gone
        bad = [pair for pair in bad if gone.isdisjoint(pair)]
    return "".join(each for each in known if each not in left_out)


def _decoded(vocabulary: Tokenizer, token: int) -> str:
    try:
        return vocabulary.decode([token])
    except ValueError:  # a part of a character
        return ""


def main() -> int:
    """Write the file."""
    by_name = counts()

    def most(text: str) -> int:
        return max(count(text) for count in by_name.values())

    everywhere = characters(by_name)
    elsewhere = characters({name: count for name, count in by_name.items() if name != "cl100k_base"})
    more = "".join(sorted(set(elsewhere) - set(everywhere)))
    lines = [*pairs(most), "", *textwrap.wrap(everywhere, 100), "", *textwrap.wrap(more, 100)]
    for group in words(most):
        lines += ["", *textwrap.wrap(" ".join(group), 118, break_long_words=False)]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
