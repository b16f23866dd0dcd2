"""Asking again: how often, how long to wait, and whom to ask then. Nothing here really waits."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from model_talk import KINDS, opened, pieces, reply, request, said, session
from stub import Stub, answer, cut, error

from sightline import Budget, Session
from sightline.agent.agent import Agent
from sightline.agent.models import ModelInfo, Price, Reply, Request, RetryScheduled, TextDelta
from sightline.agent.models.errors import retry_after
from sightline.agent.models.retry import LONGEST_ASKED, LONGEST_WAIT, RetryingModel
from sightline.errors import ContextOverflow, ModelBusy, ModelError, ModelRefused
from sightline.testing import reply_of


class Scripted:
    """A model that says its lines: an error is raised, text is said, and a pair is text and then an error."""

    def __init__(self, name: str, *lines: Any, **facts: Any) -> None:
        self.info = ModelInfo(name, "openai", **{"window": 1000, **facts})
        self._lines = iter(lines)
        self.asked: list[Request] = []
        self.closed = False
        self.left = 0

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        self.asked.append(request)
        line = next(self._lines)
        text, problem = line if isinstance(line, tuple) else (line, None)
        try:
            if isinstance(text, Exception):
                raise text
            yield TextDelta(text)
            if problem is not None:
                raise problem
            yield Reply(self.info.name, reply_of(text), self.info.price)
        finally:
            self.left += 1

    async def close(self) -> None:
        self.closed = True


def talk(models: Sequence[Any], **options: Any) -> tuple[list[Any], list[float]]:
    """All that comes of a question, and the waits."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    patient = RetryingModel(models, sleep=sleep, jitter=lambda: 1.0, **options)
    return asyncio.run(pieces(patient, request())), waits


def refused(models: Sequence[Any], kind: type[ModelError], **options: Any) -> ModelError:
    """The error that remains."""
    with pytest.raises(kind) as caught:
        talk(models, **options)
    return caught.value


def test_the_waits_double() -> None:
    """One second, two, four; then it gives up with the model's own error."""
    found, waits = talk([Scripted("a", ModelBusy("1"), ModelBusy("2"), ModelBusy("3"), "hello")])
    assert waits == [1, 2, 4]
    assert [piece.again for piece in found if isinstance(piece, RetryScheduled)] == [2, 3, 4]
    assert isinstance(found[-1], Reply)
    last = refused([Scripted("a", *(ModelBusy(str(number)) for number in range(9)))], ModelBusy)
    assert str(last) == "3"


def test_waits_have_a_limit_and_differ() -> None:
    """Never more than half a minute of our own choosing, and at least half of that when the dice say so."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = Scripted("a", *(ModelBusy("x") for _ in range(12)), "done")
    patient = RetryingModel([model], attempts=13, sleep=sleep, jitter=lambda: 0.0)
    asyncio.run(pieces(patient, request()))
    assert waits[0] == 0.5
    assert max(waits) == LONGEST_WAIT / 2


def test_what_the_provider_asks_for_is_kept_to() -> None:
    """Its seconds, exactly; more than a person would wait for is left for the next model, or given up at once."""
    _, waits = talk([Scripted("a", ModelBusy("x", 7.5), "hello")])
    assert waits == [7.5]
    found, waits = talk([Scripted("a", ModelBusy("x", LONGEST_ASKED + 1)), Scripted("b", "hi")])
    assert waits == [0]
    assert found[0] == RetryScheduled("a", "x", 0, 1, "b")
    assert refused([Scripted("a", ModelBusy("x", 3600))], ModelBusy).retry_after == 3600  # type: ignore[attr-defined]


def test_after_the_attempts_the_next_model_is_asked() -> None:
    """Each has its own number of attempts; whoever answers signs the reply."""
    found, waits = talk(
        [Scripted("a", ModelBusy("1"), ModelBusy("2")), Scripted("b", ModelBusy("3"), "hi")], attempts=2
    )
    assert waits == [1, 0, 1]
    again = [(piece.again, piece.fallback) for piece in found if isinstance(piece, RetryScheduled)]
    assert again == [(2, ""), (1, "b"), (2, "")]
    assert found[-1].model == "b"


def test_a_refusal_goes_to_the_next_model_and_is_told() -> None:
    """No second attempt where none can help, and the reason is said."""
    found, waits = talk([Scripted("a", ModelRefused("no key")), Scripted("b", "hi")])
    assert found[0] == RetryScheduled("a", "no key", 0, 1, "b")
    assert waits == [0]
    assert str(refused([Scripted("a", ModelRefused("no key"))], ModelRefused)) == "no key"


def test_when_all_fail_all_are_told() -> None:
    """One error, with what each of them said last: busy if one was."""
    told = str(
        refused([Scripted("a", ModelRefused("no key")), Scripted("b", ModelBusy("full"))], ModelBusy, attempts=1)
    )
    assert "no key" in told
    assert "full" in told
    refused([Scripted("a", ModelRefused("no")), Scripted("b", ModelRefused("no"))], ModelRefused)


def test_too_long_is_not_asked_again() -> None:
    """It has to be composed anew, by whoever composed it for that model."""
    assert refused([Scripted("a", ContextOverflow("long", 9)), Scripted("b", "hi")], ContextOverflow)
    busy_then_long = Scripted("a", ModelBusy("wait"), ContextOverflow("long", 9))
    assert refused([busy_then_long, Scripted("b", "hi")], ContextOverflow)


# ------------------------------------------------------------------ fallbacks that hold less


def test_too_long_for_a_fallback_is_a_fallback_less() -> None:
    """The next one is asked, and the reason is told."""
    found, waits = talk(
        [Scripted("a", ModelRefused("no")), Scripted("b", ContextOverflow("long", 9)), Scripted("c", "hi")]
    )
    assert [(piece.model, piece.why, piece.fallback) for piece in found if isinstance(piece, RetryScheduled)] == [
        ("a", "no", "b"),
        ("b", "long", "c"),
    ]
    assert waits == [0, 0]
    assert found[-1].model == "c"


@pytest.mark.parametrize("first", [ModelBusy("no luck", 3600), ModelRefused("no luck")])
def test_too_long_for_the_last_fallback_is_the_first_models_failure(first: ModelError) -> None:
    """Never an overflow: whoever composes for the first model would compose less for it. Also of the same name."""
    for fallback in (Scripted("a", ContextOverflow("long", 9)), Scripted("b", "hi", window=310)):
        last = refused([Scripted("a", first), fallback], type(first), attempts=1)
        assert "no luck" in str(last)
        assert getattr(last, "retry_after", None) == getattr(first, "retry_after", None)


def test_a_fallback_that_cannot_hold_the_payload_is_not_asked() -> None:
    """It is passed over, and the word about the next attempt says so; payload and answer count together."""
    tokens = request().payload.tokens
    small, fitting = Scripted("small", window=tokens + 299), Scripted("fitting", "hi", window=tokens + 300)
    found, _ = talk([Scripted("a", ModelRefused("no")), small, fitting])
    assert isinstance(found[0], RetryScheduled)
    assert found[0].fallback == "fitting"
    assert found[0].why == f"no; small is not asked: {tokens + 300} tokens do not fit into its {tokens + 299}"
    assert not small.asked
    assert "small is not asked" in str(refused([Scripted("a", ModelRefused("no")), small], ModelRefused))


def test_a_fallback_is_asked_for_no_more_than_it_can_say() -> None:
    """The first model is asked as it was meant; one with less room for an answer for that much."""
    first, second = Scripted("a", ModelRefused("no"), output=100), Scripted("b", "hi", output=200)
    talk([first, second])
    assert [asked.output for asked in first.asked + second.asked] == [300, 200]


def limit_of(conversation: Session) -> int:
    """The tokens that the last payload could have."""
    assert conversation.receipt is not None
    return conversation.receipt.limit


def test_a_fallback_never_makes_the_budget_smaller() -> None:
    """A long question, the first model away, the fallback too small or taking less than it says: nothing is reduced."""
    for window in (4_000, 100_000):
        room = Budget(100_000, 500)
        conversation = session()
        lines = ["hi", ModelBusy("away"), "hello"]
        models = [
            Scripted("a", *lines, window=100_000),
            Scripted("b", *[ContextOverflow("long", 50_000)] * 3, window=window),
        ]
        agent = Agent(conversation, RetryingModel(models, attempts=1), budget=room)
        asyncio.run(agent.query("hello"))
        limit = limit_of(conversation)
        assert "away" in asyncio.run(agent.query("word " * 8_000)).error
        assert asyncio.run(agent.query("and now?")).success
        assert limit_of(conversation) == limit


def test_a_reply_has_the_price_of_who_answered() -> None:
    """A fallback's answer costs what the fallback costs."""
    found, _ = talk([Scripted("a", ModelRefused("no"), price=Price(9)), Scripted("b", "hi", price=Price(1))])
    assert (found[-1].model, found[-1].price) == ("b", Price(1))


def test_what_was_said_before_a_cut_is_said_anew() -> None:
    """The pieces, then word that it begins again, then all of it from the start: one reply."""
    found, _ = talk([Scripted("a", ("one tw", ModelBusy("cut")), "one two")])
    assert [type(piece).__name__ for piece in found] == ["TextDelta", "RetryScheduled", "TextDelta", "Reply"]
    assert found[-1].raw == reply_of("one two")


def test_stopping_early_stops_the_model_and_closing_closes_all() -> None:
    """The generator of the model that is speaking is closed; every model is."""
    models = [Scripted("a", "hello"), Scripted("b")]

    async def main() -> None:
        patient = RetryingModel(models)
        stream = patient.stream(request())
        await anext(stream)
        await stream.aclose()
        assert models[0].left == 1
        await patient.close()

    asyncio.run(main())
    assert all(model.closed for model in models)


def test_its_facts_are_the_first_models() -> None:
    """Payloads are composed for that one."""
    assert RetryingModel([Scripted("a"), Scripted("b")]).info.name == "a"


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_real_server(kind: str) -> None:
    """429, 500 and a cut in the middle, and then the answer: the caller sees one answer, and why it took so long."""
    script = [
        error(429, {"retry-after-ms": "1500"}, {"error": {"message": "slow down", "type": "rate_limit_error"}}),
        error(500),
        cut(answer("one two three"), 4),
        answer("one two three"),
    ]
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def main(stub: Stub) -> list[Any]:
        async with opened(kind, stub) as model:
            return await pieces(RetryingModel([model], sleep=sleep, jitter=lambda: 1.0), request())

    with Stub(script) as stub:
        found = asyncio.run(main(stub))
    assert waits == [1.5, 2, 4]
    after = max(at for at, piece in enumerate(found) if isinstance(piece, RetryScheduled))
    assert said(found[after + 1 :]) == "one two three"
    assert reply(found[after + 1 :])


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_how_long_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds, seconds, a date; a date that has passed is now; nonsense is nothing."""
    now = 1_792_567_680_000  # 2026-10-21 07:28:00
    assert retry_after(headers, lambda: now) == seconds
