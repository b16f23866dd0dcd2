"""The two halves of every dataset: one to tune on, one held back.

Ids (conversations, tasks, sessions; never single questions) are ranked by sha1("<dataset>:<id>"): the first half is
DEV, the second HELD-OUT. `splits.json` keeps of the outcome only what a folder with one half cannot tell: the last
digest of DEV; where published dialogues are put in sequence, the digest each session begins with; and, for datasets of
which some records are in neither half (forks of a session in the other one), the digests of both.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

HALVES = ("dev", "heldout")
SEED = 7
MADE_OF = {"long_runs": "entire_claude"}  # datasets made of the records of another one, which are divided as those are
DIGITS = 12  # of a digest, kept in the file: enough to tell any two records apart


def digest(text: str) -> str:
    """Return the digest by which records are ordered."""
    return sha1(text.encode()).hexdigest()


_KNOWN: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("splits.json").read_text(encoding="utf-8"))


def ranked(dataset: str, ids: Iterable[str]) -> dict[str, str | None]:
    """Split all ids of a dataset by the rule."""
    order = sorted(set(ids), key=lambda each: digest(f"{dataset}:{each}"))
    first = (len(order) + 1) // 2
    return {each: HALVES[at >= first] for at, each in enumerate(order)}


def halves(dataset: str, ids: Iterable[str]) -> dict[str, str | None]:
    """Return the half of each id; None if it is in neither. A dataset that is not in the file is split by the rule."""
    dataset = MADE_OF.get(dataset, dataset)
    known = _KNOWN.get(dataset)
    if known is None:
        return ranked(dataset, ids)
    return {each: _half(known, digest(f"{dataset}:{each}")[:DIGITS]) for each in set(ids)}


def _half(known: dict[str, Any], short: str) -> str | None:
    if "dev_up_to" in known:
        return HALVES[short > known["dev_up_to"]]
    return next((half for half in HALVES if short in known[half]), None)


def divided(
    dataset: str, records: Sequence[T], key: Callable[[T], str], wanted: Sequence[str]
) -> list[tuple[str, list[T]]]:
    """Yield the records of each wanted half, if there are any."""
    half = halves(dataset, map(key, records))
    found = [(name, [each for each in records if half[key(each)] == name]) for name in HALVES if name in wanted]
    return [(name, some) for name, some in found if some]


def shuffled(records: Iterable[T], key: Callable[[T], Any], half: str) -> tuple[list[T], Random]:
    """Return records in a fixed random order, independent of the other half, and the generator to go on with."""
    random = Random(SEED + HALVES.index(half))
    pool = sorted(records, key=key)
    random.shuffle(pool)
    return pool, random


def chained(dataset: str, dialogues: Iterable[tuple[str, T]], size: int) -> Iterator[tuple[int, list[tuple[str, T]]]]:
    """Join `size` dialogues, in the order of their digests, to one session, because published dialogues are short.

    Gives the offset and the dialogues of each session that is completely there.
    """
    order = sorted(dialogues, key=lambda each: digest(each[0]))
    short = [digest(name)[:DIGITS] for name, _ in order]
    starts = _KNOWN.get(dataset, {}).get("starts") or short[::size]
    sessions: dict[int, list[tuple[str, T]]] = defaultdict(list)
    for dialogue, beginning in zip(order, short, strict=True):
        sessions[bisect_right(starts, beginning) - 1].append(dialogue)
    return ((at * size, sessions[at]) for at in sorted(sessions) if len(sessions[at]) == size)
