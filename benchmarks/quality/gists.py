"""(d) Short texts made of dialogues, against summaries that people wrote."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.quality.baseline_gists import Gist
from benchmarks.quality.composer_calls import Row, Tally, Tick, silent
from benchmarks.quality.messages import count_text
from benchmarks.quality.records import Dialogue
from benchmarks.quality.splits import HALVES, divided, shuffled

_WORD = re.compile(r"[a-z0-9]+")


def measure_gists(
    dataset: str,
    dialogues: Sequence[Dialogue],
    makers: Mapping[str, Gist],
    sizes: Sequence[int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
) -> list[Row]:
    """Measure gists of `n` dialogues of each half."""
    rows = []
    for half, some in divided(dataset, dialogues, lambda dialogue: dialogue.id, halves):
        pool, _ = shuffled(some, lambda dialogue: dialogue.id, half)
        for done, (name, make) in enumerate(makers.items()):
            tick(done, len(makers))
            rows += [_row(dataset, half, name, size, _made(make, size, pool[:n])) for size in sizes]
    return rows


def _made(make: Gist, size: int, dialogues: Sequence[Dialogue]) -> Tally:
    tally = Tally()
    for dialogue in dialogues:
        gist = make(dialogue.text, size)
        tokens = count_text(gist)
        scored = [(rouge(gist, summary, 1), rouge(gist, summary, 2)) for summary in dialogue.summaries]
        (recall, precision), (pairs, _) = max(scored, key=lambda each: each[0][0])
        balanced = 2 * recall * precision / max(1e-9, recall + precision)
        tally.add(n=1, tokens=tokens, over=tokens > size, recall=recall, balanced=balanced, pairs=pairs)
    return tally


def rouge(gist: str, summary: str, n: int) -> tuple[float, float]:
    """Recall and precision of the runs of `n` words."""
    made, wanted = _runs(gist, n), _runs(summary, n)
    common = (made & wanted).total()
    return common / max(1, wanted.total()), common / max(1, made.total())


def _runs(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return Counter(zip(*(words[at:] for at in range(n)), strict=False))


def _row(dataset: str, half: str, name: str, size: int, tally: Tally) -> Row:
    return {
        "part": "d",
        "dataset": dataset,
        "half": half,
        "composer": name,
        "budget": size,
        "n": int(tally["n"]),
        "rouge1_recall": tally.per("recall"),
        "rouge1_f": tally.per("balanced"),
        "rouge2_recall": tally.per("pairs"),
        "tokens": tally.per("tokens"),
        "over": tally.per("over"),
    }
