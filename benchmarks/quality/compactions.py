"""(e) Real compactions: what the agent used afterwards, and had seen only before."""

from collections.abc import Sequence

from benchmarks.quality.composer_calls import NO_LIMIT, Composer, Composers, Opened, Row, Tally, Tick, silent
from benchmarks.quality.messages import (
    MESSAGE,
    REQUEST,
    Message,
    count_message,
    count_messages,
    count_text,
    full_text,
    text_of,
)
from benchmarks.quality.needed_values import needed_values
from benchmarks.quality.records import Compaction
from benchmarks.quality.splits import HALVES, divided
from benchmarks.quality.text_match import Matcher
from benchmarks.quality.validity import problems

SUMMARY = "claude's summary"
SAME = "same"  # as large as the summary was
_CONTINUE = "Please continue from where we left off."
_NOT_SAID = ("<", "[Request", "Caveat", "This session is being continued")  # how the program's own messages begin
_FEWEST = 3  # values that make a compaction worth measuring


def measure_compactions(
    dataset: str,
    events: Sequence[Compaction],
    composers: Composers,
    budgets: Sequence[int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
) -> list[Row]:
    """Measure `n` compactions of each half. The rows of the summary that was really made come first."""
    tallies: dict[tuple[str, str, str | int | None], Tally] = {}
    for half, some in divided(dataset, events, lambda event: event.session, halves):
        for done, event in enumerate(some[:n]):
            tick(done, len(some[:n]))
            happened = _Event(dataset, event)
            if len(happened.carried) < _FEWEST:
                continue
            happened.measure(SUMMARY, happened.summarised, SAME, tallies.setdefault((half, SUMMARY, SAME), Tally()))
            for name, composer in composers.items():
                sizes: list[str | int | None] = [None] if name == "full" else [SAME, *budgets]
                for budget in sizes:
                    tally = tallies.setdefault((half, name, budget), Tally())
                    happened.measure(name, composer, budget, tally)
    return [_row(dataset, *key, tally) for key, tally in tallies.items()]


def carried(event: Compaction) -> list[str]:
    """Return the values of calls after a compaction that had been seen only before it. A call does not show its own."""
    before = "\n".join(map(full_text, event.before))
    seen, found = "", []
    for message in event.after:
        for call in message.get("tool_calls") or ():
            values = needed_values(call)
            found += [each for each in values if each in before and each not in seen and each not in found]
        seen += "\n" + full_text(message)
    return found


class _Event:
    """One compaction, and what every composer's request is compared with."""

    def __init__(self, dataset: str, event: Compaction) -> None:
        self._name, self._event = f"{dataset}/{event.id}", event
        follows = event.after and event.after[0]["role"] == "user"
        self._asked: Message = event.after[0] if follows else {"role": "user", "content": _CONTINUE}
        self._history = [*event.before, self._asked]
        self._size = count_messages(self._history)
        self._same = count_text(event.summary) + MESSAGE + REQUEST + count_message(self._asked)
        self.carried = carried(event)
        users = [text_of(message["content"]) for message in event.before if message["role"] == "user"]
        said = [text for text in users if 15 < len(text) < 1500 and not text.lstrip().startswith(_NOT_SAID)]
        self._said = [Matcher(text) for text in said]

    def summarised(self, *_: object) -> list[Message]:
        """Return what was really sent after the compaction: the summary and the next message."""
        return [{"role": "user", "content": self._event.summary}, self._asked]

    def measure(self, name: str, composer: Composer, budget: str | int | None, tally: Tally) -> None:
        """Measure a request that one composer makes in place of the summary."""
        limit = self._same if isinstance(budget, str) else budget or NO_LIMIT
        opened = Opened(composer, f"{self._name}/{budget}", name)
        shown = opened(list(self._history), text_of(self._asked["content"]), limit)
        opened.close()
        wrong = problems(shown.messages, self._history, limit) if name != SUMMARY else []
        tally.called(count_messages(shown.messages), self._size, shown.seconds, wrong)
        texts = [full_text(message) for message in shown.messages[:-1]]
        whole = "\n".join(texts)
        share = sum(value in whole for value in self.carried) / len(self.carried)
        tally.add(carried=share, values=len(self.carried))
        if self._said:
            tally.add(said_n=1, said=sum(matcher(texts)[0] for matcher in self._said) / len(self._said))


def _row(dataset: str, half: str, name: str, budget: str | int | None, tally: Tally) -> Row:
    return {
        "part": "e",
        "dataset": dataset,
        "half": half,
        "composer": name,
        "budget": budget,
        "n": int(tally["n"]),
        "carried": tally.per("carried"),
        "values": int(tally["values"]),
        "user_soft": tally.per("said", "said_n") or 0.0,
        **tally.usual(),
    }
