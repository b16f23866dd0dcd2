"""(f) Twenty constraints in small windows: how many stay readable? (g) Which sentences are taken for constraints?"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.composer_calls import NO_LIMIT, Composers, Opened, Row, Tally, Tick, silent
from benchmarks.quality.constraint_histories import Talk
from benchmarks.quality.messages import count_messages, full_text
from benchmarks.quality.records import Conversation
from benchmarks.quality.splits import HALVES, divided
from benchmarks.quality.validity import problems
from sightline import MemoryStore, Session

WORK_TALK = Path(__file__).with_name("work_talk.txt")
_CUES = re.compile(r"\b(?:must|never|always|only|should|no|not|please)\b|n['’]t\b|必须|不要|不能|禁止|一律|请|别|只")
_FRIENDS = "locomo"  # whose halves the friends' chats have

Finder = Callable[[Sequence[str]], list[list[str]]]  # of each message, what it is taken to lay down


# ------------------------------------------------------------------ small windows


def measure_windows(
    dataset: str,
    talks: Sequence[Talk],
    composers: Composers,
    budgets: Sequence[int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
) -> list[Row]:
    """Measure `n` talks. They are made up here, so nothing of them is held out: all count as the first half."""
    tallies: dict[tuple[str, int | None], Tally] = {}
    shares: dict[tuple[str, int | None], list[float]] = {}
    for done, talk in enumerate(talks[:n]):
        tick(done, len(talks[:n]))
        history = [*talk.messages, {"role": "user", "content": talk.query}]
        size = count_messages(history)
        for name, composer in composers.items():
            for budget in [None] if name == "full" else budgets:
                limit = budget or NO_LIMIT
                opened = Opened(composer, f"{dataset}/{talk.id}/{budget}", name)
                shown = opened(list(history), talk.query, limit)
                opened.close()
                tokens = count_messages(shown.messages)
                tally = tallies.setdefault((name, budget), Tally())
                tally.called(tokens, size, shown.seconds, problems(shown.messages, history, limit, tokens))
                text = "\n".join(map(full_text, shown.messages))
                share = sum(laid.readable(text) for laid in talk.laid) / len(talk.laid)
                shares.setdefault((name, budget), []).append(share)
    about = {"part": "f", "dataset": dataset, "half": halves[0]}
    return [
        {
            **about,
            "composer": name,
            "budget": budget,
            "n": len(shares[name, budget]),
            "readable": sum(shares[name, budget]) / len(shares[name, budget]),
            "worst": min(shares[name, budget]),
            **tally.usual(),
        }
        for (name, budget), tally in tallies.items()
    ]


# ------------------------------------------------------------------ what is taken for one


class Sentence(NamedTuple):
    """A message of one sentence, and whether it tells the assistant what to hold to."""

    text: str
    lays_down: bool


def work_talk(_root: Path) -> list[Sentence]:
    """Sentences of users at work, half of them constraints, half of them only alike."""
    lines = WORK_TALK.read_text(encoding="utf-8").splitlines()
    return [Sentence(line[2:], line[0] == "+") for line in lines if line[:2] in ("+ ", "- ")]


def measure_finding(
    dataset: str,
    told: Sequence[Sentence] | Sequence[Conversation],
    finders: dict[str, Finder],
    budgets: Sequence[int],  # noqa: ARG001 - nothing is composed
    n: int,  # noqa: ARG001 - all are
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,  # noqa: ARG001 - it takes a second
) -> list[Row]:
    """Measure what finders take for constraints: of sentences that are marked, or of friends' chats, where none is."""
    if told and isinstance(told[0], Conversation):
        some = divided(_FRIENDS, told, lambda chat: chat.id, halves)
        chats = [(half, [full_text(each) for chat in own for each in chat.messages[1:]]) for half, own in some]
        return [_counted(dataset, half, name, find(texts)) for half, texts in chats for name, find in finders.items()]
    sentences = [each for each in told if isinstance(each, Sentence)]
    return [_judged(dataset, halves[0], name, find, sentences) for name, find in finders.items()]


def sightline(texts: Sequence[str]) -> list[list[str]]:
    """Return what a session lists as the user's constraints, for messages that arrive in this order."""
    session = Session(MemoryStore("constraints"))
    items = [session.user(text) for text in texts]
    found: dict[str, list[str]] = {item: [] for item in items}
    for each in session.items.constraints():
        found[each.id].append(each.text)
    return [found[item] for item in items]


def cue_words(texts: Sequence[str]) -> list[list[str]]:
    """Naive: a message with one of the usual words."""
    return [[text] if _CUES.search(text) else [] for text in texts]


FINDERS: dict[str, Finder] = {"cue words": cue_words, "sightline": sightline}


def _counted(dataset: str, half: str, name: str, found: list[list[str]]) -> Row:
    per = 100 * sum(map(len, found)) / len(found)
    return {**_about(dataset, half, name, len(found)), "per_hundred": per, "precision": None, "recall": None}


def _judged(dataset: str, half: str, name: str, find: Finder, told: Sequence[Sentence]) -> Row:
    taken = [bool(find([each.text])[0]) for each in told]
    right = sum(took and each.lays_down for took, each in zip(taken, told, strict=True))
    figures = {"precision": right / max(1, sum(taken)), "recall": right / sum(each.lays_down for each in told)}
    wrong = [each.text for took, each in zip(taken, told, strict=True) if took != each.lays_down]
    return {**_about(dataset, half, name, len(told)), "per_hundred": None, **figures, "wrong": wrong}


def _about(dataset: str, half: str, name: str, n: int) -> Row:
    return {"part": "g", "dataset": dataset, "half": half, "composer": name, "budget": None, "n": n}
