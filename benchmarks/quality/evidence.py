"""(a) Questions about long chats: are the turns that answer them shown?"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.quality.composer_calls import NO_LIMIT, Composed, Composer, Composers, Opened, Row, Tally, Tick, silent
from benchmarks.quality.messages import (
    REQUEST,
    Message,
    count_message,
    count_messages,
    count_text,
    texts_beside,
)
from benchmarks.quality.records import Conversation, Question
from benchmarks.quality.splits import HALVES, divided, shuffled
from benchmarks.quality.text_match import Matcher, answered, bared
from benchmarks.quality.validity import problems

ORACLE = "(oracle)"


def measure_evidence(
    dataset: str,
    chats: Sequence[Conversation],
    composers: Composers,
    budgets: Sequence[int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
) -> list[Row]:
    """Measure `n` questions of each half. The last composer, `(oracle)`, shows only the gold turns."""
    todo = chosen_questions(dataset, chats, n, halves)
    sizes = {chat.id: count_messages(chat.messages) for chat in chats}
    tallies: dict[tuple[str, str, int | None], Tally] = {}
    for done, (half, chat, question) in enumerate(todo):
        tick(done, len(todo))
        asked = _Asked(dataset, chat, question, sizes[chat.id])
        for name, composer in [*composers.items(), (ORACLE, None)]:
            for budget in [None] if name == "full" else budgets:
                tally = tallies.setdefault((half, name, budget), Tally())
                asked.measure(name, composer, budget, tally)
    return [_row(dataset, *key, tally) for key, tally in tallies.items()]


def chosen_questions(
    dataset: str, chats: Sequence[Conversation], n: int, halves: Sequence[str]
) -> list[tuple[str, Conversation, Question]]:
    """Return `n` questions of each wanted half, with their chats, in a fixed random order."""
    todo = []
    for half, some in divided(dataset, chats, lambda chat: chat.id, halves):
        ordered = sorted(some, key=lambda chat: chat.id)
        pool, _ = shuffled([(chat, question) for chat in ordered for question in chat.questions], lambda _: 0, half)
        todo += [(half, chat, question) for chat, question in pool[:n]]
    return todo


class _Asked:
    """One question, and what is known about its answer."""

    def __init__(self, dataset: str, chat: Conversation, question: Question, size: int) -> None:
        self._dataset, self._question, self._size = dataset, question, size
        self._query: Message = {"role": "user", "content": question.query}
        self._history = [*chat.messages, self._query]
        self._weights = [count_text(gold) for gold in question.gold]
        self._matchers = [Matcher(gold) for gold in question.gold]
        # the short answer counts only where the gold turns hold it word for word
        self._can_answer = bool(question.answers) and answered(question, bared(question.gold))

    def measure(self, name: str, composer: Composer | None, budget: int | None, tally: Tally) -> None:
        """Measure the request of one composer for one token budget."""
        limit = budget or NO_LIMIT
        if composer is None:
            shown, wrong = Composed(self._oracle(limit), {}, 0.0), []
        else:
            opened = Opened(composer, f"{self._dataset}/{self._question.id}/{budget}", name)
            shown = opened(list(self._history), self._question.query, limit)
            opened.close()
            wrong = problems(shown.messages, self._history, limit, count_messages(shown.messages))
        tally.called(count_messages(shown.messages), self._size, shown.seconds, wrong)
        self._look(shown.messages, tally)

    def _look(self, messages: Sequence[Message], tally: Tally) -> None:
        texts = texts_beside(messages, self._question.query)
        seen = _Seen.of([matcher(texts) for matcher in self._matchers], self._weights)
        category = self._question.category
        tally.add(all=seen.every, share=seen.share, soft=seen.soft, all_soft60=seen.mostly)
        tally.add(**{f"#{category}": 1, f"@{category}": seen.every})
        if self._question.dates:
            dated = all(any(date in text for text in texts) for date in self._question.dates)
            tally.add(dates_n=1, dated=seen.every and dated)
        if self._can_answer:
            tally.add(answers_n=1, answer=answered(self._question, bared(texts)))

    def _oracle(self, budget: int) -> list[Message]:
        """Upper bound: the gold turns, smallest first, as far as they fit."""
        shown = [self._history[0]]
        used = REQUEST + count_message(shown[0]) + count_message(self._query)
        for gold in sorted(self._question.gold, key=count_text):
            message = {"role": "user", "content": gold}
            used += count_message(message)
            if used > budget:
                break
            shown.append(message)
        return [*shown, self._query]


@dataclass(frozen=True, slots=True)
class _Seen:
    """How much of the gold turns is shown."""

    every: bool
    mostly: bool
    share: float
    soft: float

    @classmethod
    def of(cls, found: Sequence[tuple[float, bool]], weights: Sequence[int]) -> "_Seen":
        total = max(1, sum(weights))
        pairs = list(zip(weights, found, strict=True))
        return cls(
            all(verbatim for _, verbatim in found),
            all(coverage >= 0.6 for coverage, _ in found),
            sum(weight * verbatim for weight, (_, verbatim) in pairs) / total,
            sum(weight * coverage for weight, (coverage, _) in pairs) / total,
        )


def _row(dataset: str, half: str, name: str, budget: int | None, tally: Tally) -> Row:
    categories = [key[1:] for key in tally.sums if key.startswith("#")]
    return {
        "part": "a",
        "dataset": dataset,
        "half": half,
        "composer": name,
        "budget": budget,
        "n": int(tally["n"]),
        "all_evidence": tally.per("all"),
        "evidence_frac": tally.per("share"),
        "soft_frac": tally.per("soft"),
        "all_soft60": tally.per("all_soft60"),
        "answer": tally.per("answer", "answers_n"),
        "answer_n": int(tally["answers_n"]),
        "by_category": {each: tally.per(f"@{each}", f"#{each}") for each in categories},
        "dated": tally.per("dated", "dates_n"),
        **tally.usual(),
    }
