"""(c) Booking dialogues in sequence: are the values that were settled shown when somebody asks for them?"""

from collections.abc import Sequence
from random import Random

from benchmarks.quality.composer_calls import NO_LIMIT, Composed, Composers, Opened, Row, Tally, Tick, silent
from benchmarks.quality.messages import Message, count_messages, texts_beside
from benchmarks.quality.paraphrases import wordings
from benchmarks.quality.records import SlotSession, Topic
from benchmarks.quality.splits import HALVES, divided, shuffled
from benchmarks.quality.text_match import normal
from benchmarks.quality.validity import problems

_TOPICS = 4  # asked for in one session
_WORDINGS = 5  # of the question about everything, in one session; four sessions have them all


def measure_slots(
    dataset: str,
    sessions: Sequence[SlotSession],
    composers: Composers,
    budgets: Sequence[int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
) -> list[Row]:
    """Measure `n` sessions of each half."""
    tallies: dict[tuple[str, str, int | None], Tally] = {}
    for half, some in divided(dataset, sessions, lambda session: session.id, halves):
        pool, random = shuffled(some, lambda session: session.id, half)
        for done, session in enumerate(pool[:n]):
            tick(done, len(pool[:n]))
            size = count_messages(session.messages)
            worst: dict[tuple[str, int | None], float] = {}
            for at, topic in enumerate(_asked(dataset, session, random, done)):
                is_whole = at < _WORDINGS
                history = [*session.messages, {"role": "user", "content": topic.query}]
                for name, composer in composers.items():
                    for budget in [None] if name == "full" else budgets:
                        tally = tallies.setdefault((half, name, budget), Tally())
                        opened = Opened(composer, f"{dataset}/{session.id}.{at}/{budget}", name)
                        shown = opened(list(history), topic.query, budget or NO_LIMIT)
                        opened.close()
                        share = _look(shown, history, topic, budget or NO_LIMIT, size, tally, whole=is_whole)
                        if is_whole:
                            worst[name, budget] = min(share, worst.get((name, budget), 1.0))
            for (name, budget), share in worst.items():
                tallies[half, name, budget].add(worst=share, sessions=1)
    return [_row(dataset, *key, tally) for key, tally in tallies.items()]


def _asked(dataset: str, session: SlotSession, random: Random, number: int) -> list[Topic]:
    """Return the questions of a session: one for everything in _WORDINGS wordings, then a few topics."""
    values = [value for topic in session.topics for value in topic.values]
    known = wordings(dataset)
    apart = len(known) // _WORDINGS
    whole = [Topic(query, values) for query in known[number % apart :: apart]]
    return [*whole, *random.sample(session.topics, min(_TOPICS, len(session.topics)))]


def _look(
    shown: Composed, history: list[Message], topic: Topic, budget: int, size: int, tally: Tally, *, whole: bool
) -> float:
    """Add one answer to the tally. Return the share of the values that it shows."""
    tokens = count_messages(shown.messages)
    tally.called(tokens, size, shown.seconds, problems(shown.messages, history, budget, tokens))
    text = normal("\n".join(texts_beside(shown.messages, topic.query)))
    share = sum(any(normal(each) in text for each in value) for value in topic.values) / len(topic.values)
    if whole:
        tally.add(whole=share, whole_n=1)
    else:
        tally.add(topic=share, topic_n=1, complete=share == 1)
    return share


def _row(dataset: str, half: str, name: str, budget: int | None, tally: Tally) -> Row:
    return {
        "part": "c",
        "dataset": dataset,
        "half": half,
        "composer": name,
        "budget": budget,
        "n": int(tally["sessions"]),
        "session_slots": tally.per("whole", "whole_n"),
        "session_worst": tally.per("worst", "sessions"),
        "topic_slots": tally.per("topic", "topic_n"),
        "topic_complete": tally.per("complete", "topic_n"),
        **tally.usual(),
    }
