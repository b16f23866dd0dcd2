"""Sentences that no pattern was made for: how many constraints are recognised, and what is taken for one.

    python -m benchmarks.quality.unseen_sentences [--missed]

There are three sets in `unseen_sentences.txt`. The first was written when the patterns were thought finished; what it
missed was known to those who widened them, so its figure flatters. The second was written before they were widened, the
third when that was nearly done; both hold every kind of constraint and of what is none, and nobody looked at what they
miss. Their figures are the ones to trust. `--missed` prints what is wrong. Who changes a pattern
because of a sentence moves it to `tests/shorten/rules/work_sentences.txt`.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from sightline.shorten.rules import constraints

SENTENCES = Path(__file__).with_suffix(".txt")
SETS = ("first", "second", "third")


class Scored(NamedTuple):
    """What is wrong in a set, and how many sentences of both kinds it has."""

    missed: list[str]
    false: list[str]
    binding: int
    near: int

    @property
    def found(self) -> float:
        return 1 - len(self.missed) / self.binding

    @property
    def precision(self) -> float:
        right = self.binding - len(self.missed)
        return right / max(1, right + len(self.false))


def score(name: str) -> Scored:
    """Judge each sentence of a set."""
    binding, near = sentences(name)
    missed = [sentence for sentence in binding if not constraints(sentence)]
    false = [sentence for sentence in near if constraints(sentence)]
    return Scored(missed, false, len(binding), len(near))


def sentences(name: str) -> tuple[list[str], list[str]]:
    """Return the sentences of a set: those that lay something down, and those that only sound alike."""
    _, _, after = SENTENCES.read_text(encoding="utf-8").partition(f"# {name}\n")
    lines = after.partition("\n# ")[0].splitlines()
    return [line[2:] for line in lines if line[:2] == "+ "], [line[2:] for line in lines if line[:2] == "- "]


def main() -> None:
    for name in SETS:
        it = score(name)
        print(
            f"{name}: {it.binding - len(it.missed)} of {it.binding} recognised ({it.found:.0%}), "
            f"{len(it.false)} of {it.near} others taken for one (precision {it.precision:.0%})"
        )
        if "--missed" in sys.argv:
            print(
                *(f"  {mark} {text}" for mark, texts in (("+", it.missed), ("-", it.false)) for text in texts), sep="\n"
            )


if __name__ == "__main__":
    main()
