"""`python -m benchmarks.quality.fitting`: how the weights of `sightline.recall.search.neighbours` were found.

A regression over the turns of each question of the development half: a softmax over all turns of its conversation, the
turns that answer it as targets, a light ridge, Adam, five folds with no conversation in both parts. The three reaches
say much the same about a turn: only the sum of their weights is certain, and stopping before the optimum shares it out.
What was fitted was then rounded by hand. The figures come from packing the best turns into a budget, which is a model
of the composer: the composer itself is measured by part (a).
"""

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import exp, log, sqrt
from operator import mul, truediv
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks.quality import datasets
from benchmarks.quality.__main__ import HERE, MISSING
from benchmarks.quality.jobs import JOBS
from benchmarks.quality.messages import count_messages, count_text, is_system, text_of
from benchmarks.quality.records import Conversation, Question
from benchmarks.quality.splits import divided, shuffled
from benchmarks.quality.tables import Lines, show
from benchmarks.quality.text_match import normal
from sightline.recall.search.bm25 import K1, B, rarity
from sightline.recall.search.neighbours import (
    AROUND,
    AROUND_TOKENS,
    NAMES_TIME,
    OWN,
    SHORT,
    SHORT_TOKENS,
    SPEAKS,
    SPEAKS_AND_MATCHES,
    WEIGHTS,
)
from sightline.recall.search.terms import DATED, SPEAKER, cues, query_cues, query_terms, terms

DATASETS = {"locomo": 2, "qmsum": 1}  # every how many-th question is fitted to: else the chats outweigh the meetings
HALF, FOLDS = "dev", 5  # the other half is never fitted to
STEPS, RATE, RIDGE = 150, 0.05, 1e-3  # of Adam, on features that vary by 1
SLOW, SLOWER = 0.9, 0.999  # how much of the slope and of its square the next step remembers; the usual ones
TURN, REQUEST = 3, 38  # tokens that the packing adds to a turn, and to the question

FEATURES = {f"near, {reach}": weight for reach, weight in WEIGHTS.items()}
FEATURES |= {"own": OWN, "around": AROUND, "short": SHORT}
FEATURES |= {"speaker": SPEAKS, "both": SPEAKS_AND_MATCHES, "time": NAMES_TIME}
"""What a turn is judged by, and its weight in neighbours.py. The context of one that matches well counts less."""

Weights = Sequence[float]
Columns = list[list[float]]


class Chat:
    """The turns of a conversation: their sizes, and how often each term and cue occurs in which of them."""

    def __init__(self, conversation: Conversation) -> None:
        turns = [message for message in conversation.messages if not is_system(message)]
        texts = [text_of(turn["content"]) for turn in turns]
        self.size = len(turns)
        self.head = count_messages(message for message in conversation.messages if is_system(message))
        self.normal = [normal(text) for text in texts]
        self.tokens = [count_text(text) + TURN for text in texts]
        self.dates = [str(turn.get("ts") or "") for turn in turns]
        self.centres = [end - size / 2 for end, size in zip(accumulate(self.tokens), self.tokens, strict=True)]
        said = [terms(text) for text in texts]
        mean = sum(map(len, said)) / max(1, len(said))
        self.floors = [K1 * (1 - B + B * len(each) / mean) for each in said]
        self.standing: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for at, (text, each) in enumerate(zip(texts, said, strict=True)):
            for term, times in Counter([*each, *cues(text)]).items():
                self.standing[term][at] = times


def columns(chat: Chat, query: str) -> Columns:
    """The features of every turn, one list for each of FEATURES, with the search's own terms, rarities and cues."""
    wanted = [term for term in query_terms(query) if term in chat.standing]
    rare = {term: rarity(len(chat.standing[term]), chat.size) for term in wanted}
    everything = sum(rare.values()) or 1.0
    near, own = [[0.0] * chat.size for _ in WEIGHTS], [0.0] * chat.size
    for term in wanted:
        for at, times in chat.standing[term].items():
            own[at] += rare[term] * times * (K1 + 1) / (times + chat.floors[at])
        far = distances(chat.centres, [chat.centres[at] for at in chat.standing[term]])
        share = rare[term] / everything
        for which, reach in enumerate(WEIGHTS):
            near[which] = [so_far + share * exp(-each / reach) for so_far, each in zip(near[which], far, strict=True)]
    best = max(own, default=0.0) or 1.0
    own = [score / best for score in own]
    beside = _around(chat.centres, own)
    most = max(beside, default=0.0) or 1.0
    around = [score + (1 - score) * each / most for score, each in zip(own, beside, strict=True)]
    lacks = [log(min(max(size - TURN, 1), SHORT_TOKENS) / SHORT_TOKENS) for size in chat.tokens]
    by, dated = _cued(chat, query, SPEAKER), _cued(chat, query, DATED)
    said = {at for term in wanted if SPEAKER + term not in chat.standing for at in chat.standing[term]}
    named = [spoken > 0 and at not in said for at, spoken in enumerate(by)]
    short = [each * (1.0 if only else 1 - score) for score, each, only in zip(own, lacks, named, strict=True)]
    return [*near, own, around, short, by, list(map(mul, own, by)), dated]


def _around(centres: Sequence[float], own: Sequence[float]) -> list[float]:
    """How well all turns around each match, and it itself: a near one counts more than one further away."""
    fades = [exp((before - after) / AROUND_TOKENS) for before, after in pairwise(centres)]
    upto, since = list(own), list(own)
    for at, fade in enumerate(fades, 1):
        upto[at] += upto[at - 1] * fade
    for at, fade in reversed([*enumerate(fades)]):
        since[at] += since[at + 1] * fade
    return [before + after - score for before, after, score in zip(upto, since, own, strict=True)]


def _cued(chat: Chat, query: str, cue: str) -> list[float]:
    """1 for each turn that has a cue of this kind for which the question asks."""
    asked = [each for each in query_cues(query, query_terms(query)) if each.startswith(cue) and each in chat.standing]
    rows = {at for each in asked for at in chat.standing[each]}
    return [1.0 if at in rows else 0.0 for at in range(chat.size)]


def distances(centres: Sequence[float], held: Sequence[float]) -> list[float]:
    """Return the distance of each of these places to the nearest of the others. Both ascend."""
    found, at, last = [], 0, len(held) - 1
    for centre in centres:
        while at < last and held[at + 1] - centre <= centre - held[at]:
            at += 1
        found.append(abs(held[at] - centre))
    return found


# ------------------------------------------------------------------ the regression


class Case(NamedTuple):
    """A question's turns by feature, and those that answer it."""

    columns: Columns
    gold: frozenset[int]


def fitted(cases: Sequence[Case]) -> list[float]:
    """Fit weights under which the gold turns are likely among all turns of their conversation."""
    every = range(len(cases[0].columns))
    spreads = [_spread([case.columns[at] for case in cases]) for at in every]
    weights, slopes, squares = ([0.0] * len(spreads) for _ in range(3))
    for step in range(1, STEPS + 1):
        found = _slope(cases, list(map(truediv, weights, spreads)))
        for at in every:
            slope = found[at] / spreads[at] + RIDGE * weights[at]
            slopes[at] = SLOW * slopes[at] + (1 - SLOW) * slope
            squares[at] = SLOWER * squares[at] + (1 - SLOWER) * slope * slope
            size = sqrt(squares[at] / (1 - SLOWER**step)) + 1e-8
            weights[at] -= RATE * slopes[at] / (1 - SLOW**step) / size
    return list(map(truediv, weights, spreads))


def _spread(columns: Columns) -> float:
    """Return the standard deviation of a feature; nearly 0 for a constant one."""
    count = sum(map(len, columns))
    mean = sum(map(sum, columns)) / count
    return sqrt(max(0.0, sum(sum(map(mul, each, each)) for each in columns) / count - mean * mean)) + 1e-6


def _slope(cases: Sequence[Case], weights: Weights) -> list[float]:
    """Return the gradient of the loss: the expected value of each feature, minus its value in the gold turns."""
    slope = [0.0] * len(weights)
    for found, gold in cases:
        scores = judged(found, weights)
        top = max(scores)
        raised = [exp(score - top) for score in scores]
        total = sum(raised)
        for at, column in enumerate(found):
            expected = sum(map(mul, raised, column)) / total
            slope[at] += (expected - sum(column[turn] for turn in gold) / len(gold)) / len(cases)
    return slope


def judged(found: Columns, weights: Weights) -> list[float]:
    """The score of every turn."""
    scores = [0.0] * len(found[0])
    for column, weight in zip(found, weights, strict=True):
        scores = [score + weight * value for score, value in zip(scores, column, strict=True)]
    return scores


# ------------------------------------------------------------------ questions, folds, figures


class Asked(NamedTuple):
    """A question, its turns, and for each of its gold texts the turns that contain it."""

    chat: Chat
    question: Question
    case: Case
    gold: list[list[int]]
    fold: int


def questions(dataset: str, conversations: Sequence[Conversation]) -> Iterator[Asked]:
    """Return the questions of the development half, in the benchmark's order."""
    for half, some in divided(dataset, conversations, lambda each: each.id, (HALF,)):
        ordered = sorted(some, key=lambda each: each.id)
        chats = {each.id: (Chat(each), at % FOLDS) for at, each in enumerate(ordered)}
        pool, _ = shuffled([(each.id, question) for each in ordered for question in each.questions], lambda _: 0, half)
        for name, question in pool:
            chat, fold = chats[name]
            gold = [[at for at, text in enumerate(chat.normal) if normal(each) in text] for each in question.gold]
            case = Case(columns(chat, question.query), frozenset(at for turns in gold for at in turns))
            yield Asked(chat, question, case, gold, fold)


def without(asked: dict[str, list[Asked]], fold: int | None) -> list[Case]:
    """Return the questions to fit on: some of every dataset, none about the conversations of this fold."""
    found = {name: [each.case for each in some if each.fold != fold and each.case.gold] for name, some in asked.items()}
    return [case for name, cases in found.items() for case in cases[:: DATASETS[name]]]


def packed(asked: Asked, weights: Weights, budget: int) -> set[int]:
    """Return the best turns that fit, with each date counted once."""
    chat, scores = asked.chat, judged(asked.case.columns, weights)
    room = budget - chat.head - count_text(asked.question.query) - REQUEST
    shown, dates = set[int](), {""}
    for at in sorted(range(chat.size), key=lambda at: -scores[at]):
        tokens = chat.tokens[at] + (0 if chat.dates[at] in dates else count_text(f"[{chat.dates[at]}]") + 2)
        if tokens <= room:
            room -= tokens
            shown.add(at)
            dates.add(chat.dates[at])
    return shown


def complete(some: Iterable[tuple[Asked, Weights]], budget: int) -> float:
    """Return the share of questions whose gold turns are all shown."""
    found = [(each.gold, packed(each, weights, budget)) for each, weights in some]
    return sum(all(shown.intersection(turns) for turns in gold) for gold, shown in found) / len(found)


def main(given: Sequence[str] | None = None) -> None:
    """Fit and print: some minutes on one core."""
    parser = argparse.ArgumentParser("python -m benchmarks.quality.fitting", description=__doc__.partition(": ")[2])
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data folder; else SIGHTLINE_DATA")
    root = parser.parse_args(given).data or Path(os.environ.get("SIGHTLINE_DATA") or HERE)
    console, there = Console(), [name for name in DATASETS if datasets.folder(root, name).is_dir()]
    asked = {name: list(questions(name, datasets.EVIDENCE[name](root))) for name in there}
    if not any(asked.values()):
        console.print(MISSING.format(folder=root), highlight=False)
        return
    Console(stderr=True).print(f"[dim]fitting {FOLDS + 1} times: some minutes …[/]")
    folds = [fitted(without(asked, fold)) for fold in range(FOLDS)]
    show(_weights(asked, folds), console)
    show(_figures(asked, folds), console)


def _weights(asked: dict[str, list[Asked]], folds: Sequence[Weights]) -> Lines:
    cases = without(asked, None)
    rows = zip(FEATURES.items(), fitted(cases), *folds, strict=True)
    cells = [[name, f"{shipped:g}", *(f"{weight:.2f}" for weight in found)] for (name, shipped), *found in rows]
    title = f"Weights, from {len(cases)} of {sum(map(len, asked.values()))} questions"
    return Lines(title, ["feature", "shipped", "fitted", *(f"fold {at + 1}" for at in range(FOLDS))], cells)


def _figures(asked: dict[str, list[Asked]], folds: Sequence[Weights]) -> Lines:
    cells, shipped = [], list(FEATURES.values())
    for job in (job for job in JOBS if asked.get(job.dataset)):
        some = asked[job.dataset][: job.n]
        for budget in job.budgets:
            ours = complete([(each, shipped) for each in some], budget)
            cross = complete([(each, folds[each.fold]) for each in some], budget)
            cells.append([job.dataset, f"{budget:,}", str(len(some)), f"{100 * ours:.1f}", f"{100 * cross:.1f}"])
    headings = ["dataset", "budget", "questions", "shipped weights %", "cross-validated %"]
    return Lines("All gold turns shown", headings, cells, "The shipped weights have seen all these questions.")


if __name__ == "__main__":
    main()
