"""Replaying recordings: what each call shares with the one before, what it costs, and how levels change."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import Budget, MemoryStore, Session, samples
from sightline.compose.receipts import block_tokens, reused_tokens
from sightline.testing import Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod, Message, Result, Role, Text
from sightline.values.profiles import PROFILES, call_cost
from sightline.values.settings import Settings
from sightline.view.replay.formats import Recording, recorded
from sightline.view.replay.replay import (
    Changes,
    Levels,
    Step,
    Totals,
    call_count,
    flaws,
    replay,
)
from sightline.wire.payload import Payload

PROFILE = PROFILES["openai"]
SMALL = {"login_bug": 16_000, "long_chat": 6_000, "travel_zh": 9_000, "ops_incident": 5_000, "data_report": 8_000}


def sample(name: str) -> Recording:
    found = samples.load(name)
    return recorded({"system": found.system, "tools": found.tools, "messages": found.messages})


def session(**options: Any) -> Session:
    return Session(MemoryStore("replay"), clock=Ticking(step=1), ids=numbered_ids(), **options)


def steps_of(name: str, **settings: Any) -> list[Step]:
    return list(replay(session(settings=Settings(**settings)), sample(name), Budget(SMALL[name], 1000)))


def user(text: str) -> Message:
    return Message(Role.USER, (Text(text),))


def said(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text),))


def called(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(Call(id_, "read", {"path": f"{id_}.py"}) for id_ in ids))


def result(id_: str, text: str) -> Message:
    return Message(Role.TOOL, (Result(id_, (Text(text),)),))


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Conversations of a few turns, some of whose calls are never answered."""
    messages: list[Message] = [Message(Role.SYSTEM, (Text("You help."),))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 8))):
        messages.append(user(" ".join(["ask", str(turn), *["word"] * draw(st.integers(0, 40))])))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}_{step}_{number}" for number in range(draw(st.integers(1, 3)))]
            messages.append(called(*ids))
            lines = draw(st.integers(1, 60))
            answers = [result(id_, "\n".join(f"line {n} of {id_}" for n in range(lines))) for id_ in ids]
            messages += answers[: draw(st.integers(0, len(answers)))] if draw(st.booleans()) else answers
        messages.append(said(" ".join(["done"] * draw(st.integers(1, 30)))))
    return Recording(tuple(messages[: draw(st.integers(1, len(messages)))]))


def shown(payload: Payload) -> dict[str, Lod]:
    return {line.id: line.lod for line in payload.plan.lines()}


def neighbours(steps: list[Step]) -> Iterator[tuple[Payload | None, Step]]:
    before = None
    for step in steps:
        yield before, step
        before = step.payload


def shared_by_hand(before: Payload | None, after: Payload) -> int:
    """The tokens of equal leading messages, compared one by one."""
    if before is None or (before.system, before.tools) != (after.system, after.tools):
        return 0
    tokens = after.plan.fixed
    for old, new, size in zip(before.body, after.body, block_tokens(after, PROFILE), strict=False):
        if (old.role, old.parts, old.merge_into_previous) != (new.role, new.parts, new.merge_into_previous):
            break
        tokens += size
    return tokens


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_the_reused_tokens_of_the_samples_are_those_of_equal_leading_blocks(name: str) -> None:
    """What is reused is what two payloads have in common from the start, counted message by message."""
    steps = steps_of(name)
    assert any(step.reason for step in steps)
    for before, step in neighbours(steps):
        assert step.reused == shared_by_hand(before, step.payload)


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_a_call_that_breaks_no_prefix_reuses_everything_sent_before(name: str) -> None:
    """Without a reason, all of the call before is reused; with one, less, and the first changed block is named."""
    for before, step in neighbours(steps_of(name)):
        if before is None:
            assert (step.reused, step.reason) == (0, "")
        elif step.reason:
            assert step.reused < before.tokens
            assert step.changed is not None
        else:
            assert step.reused == before.tokens


@pytest.mark.slow
@given(recordings(), st.integers(250, 900))
def test_blocks_add_up_and_levels_are_what_the_plans_say(recording: Recording, window: int) -> None:
    """For any conversation: sizes of blocks sum to the payload; levels and changes are those of the plans' lines."""
    total: Counter[str] = Counter()
    steps = list(replay(session(token_counter=WordCounter()), recording, Budget(window, 10)))
    for before, step in neighbours(steps):
        plan, now = step.payload.plan, shown(step.payload)
        assert plan.fixed + sum(block_tokens(step.payload, PROFILE)) == step.tokens <= step.limit
        assert step.reused == shared_by_hand(before, step.payload)
        total = Counter(level.name for level in now.values())
        assert step.levels[:3] == (total["FULL"], total["SUMMARY"], total["GIST"])
        assert step.changes == changes_by_hand(before, step)
        assert not step.flaws
    assert len(steps) == call_count(recording)


def changes_by_hand(before: Payload | None, step: Step) -> Changes:
    old, now, plan = shown(before) if before else {}, shown(step.payload), step.payload.plan
    first_new = before.plan.rows if before else 0
    timeline = plan.timeline
    known = {timeline.id(row) for row in range(first_new)}
    fresh = [id_ for id_ in now if id_ not in known]
    kept = [id_ for id_ in now if id_ in old]
    body = [row for row in range(plan.rows) if not timeline.state[row] & 1 and timeline.kind[row] != Kind.CALL]
    gone = [timeline.id(row) for row in body if row >= first_new or timeline.id(row) in old]
    return Changes(
        summary=sum(now[id_] < old[id_] and now[id_] is Lod.SUMMARY for id_ in kept),
        gist=sum(now[id_] < old[id_] and now[id_] is Lod.GIST for id_ in kept),
        out=sum(id_ not in now for id_ in gone),
        raised=sum(now[id_] > old[id_] for id_ in kept) + sum(id_ in known and id_ not in old for id_ in now),
        entered=sum(now[id_] is not Lod.FULL for id_ in fresh),
    )


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_the_full_history_is_what_an_unlimited_session_without_us_would_send(name: str) -> None:
    """Its tokens are those of the same conversation in a session that never shortens and has no tools of ours."""
    recording = sample(name)
    whole = session(settings=Settings(config={"economy": "off"}))
    if recording.tools:
        whole.tools(recording.tools, recall=False)
    answered = recording.messages[-1].role is Role.ASSISTANT
    for message in recording.messages[: -1 if answered else None]:
        whole.add(message)
    assert steps_of(name)[-1].full_tokens == whole.compose(Budget(10_000_000)).tokens


def test_costs_counted_on_fingers() -> None:
    """One long prompt, then a short addition: the addition is written to the cache, the rest is read from it."""
    words = "word " * 2000
    recording = Recording((user(words), said("ok"), user("and now"), said("done")))
    first, second = replay(session(token_counter=WordCounter()), recording, Budget(100_000))
    assert (first.tokens, first.reused, first.cost) == (3 + 2004, 0, 2007 * 1.25)
    assert (second.tokens, second.reused) == (2007 + 5 + 6, 2007)
    assert second.cost == pytest.approx(2007 * 0.1 + 11 * 1.25)
    assert (second.full_tokens, second.full_cost) == (second.tokens, second.cost)


def test_a_prefix_too_short_for_the_cache_is_paid_in_full() -> None:
    """Providers do not cache a short prefix: reused tokens are then no saving."""
    _, second = replay(
        session(token_counter=WordCounter()),
        Recording((user("hello"), said("hi"), user("again"), said("hi"))),
        Budget(100_000),
    )
    assert second.reused > 0
    assert second.cost == call_cost(second.tokens, 0, PROFILE)


def test_totals_are_the_sums_of_the_steps() -> None:
    """Calls, sweeps, tokens, costs, the largest prompt and the breaks, as a reader would add them up."""
    steps = steps_of("login_bug")
    totals = Totals()
    for step in steps:
        totals = totals.plus(step)
    assert totals.calls == len(steps)
    assert totals.sweeps == sum(bool(step.payload.plan.reason) for step in steps) >= 1
    assert totals.tokens == sum(step.tokens for step in steps)
    assert totals.cost == pytest.approx(sum(step.cost for step in steps))
    assert totals.largest == max(step.tokens for step in steps)
    assert dict(totals.breaks) == Counter(step.reason for step in steps if step.reason)
    assert totals.outgrown == next(step.number for step in steps if step.full_tokens > step.allowed)
    assert totals.invalid == 0


def test_what_came_names_the_user_s_words_and_the_tools_that_answered() -> None:
    """Results without a tool's name get it from their call."""
    recording = Recording((user("look"), called("a", "b"), result("a", "one"), result("b", "two"), said("done")))
    first, second = replay(session(), recording, Budget(10_000))
    assert [(new.role, new.text) for new in first.new_inputs] == [(Role.USER, "look")]
    assert [(new.role, new.text) for new in second.new_inputs] == [(Role.TOOL, "read"), (Role.TOOL, "read")]


def test_assistant_messages_in_a_row_are_one_answer() -> None:
    """Nothing came between them that could have been sent."""
    recording = Recording((user("look"), said("I will"), called("a"), result("a", "one"), said("done")))
    assert len(list(replay(session(), recording, Budget(10_000)))) == call_count(recording) == 2


def test_a_recording_that_ends_before_an_answer_has_one_call_more() -> None:
    """A request as it was sent ends with what is asked: that call is replayed too."""
    recording = Recording((user("look"), said("ok"), user("and?")))
    assert len(list(replay(session(), recording, Budget(10_000)))) == call_count(recording) == 2
    assert call_count(Recording(())) == 0
    assert list(replay(session(), Recording(()), Budget(10_000))) == []


def test_calls_without_results_are_given_up_on() -> None:
    """No request holds a call alone."""
    recording = Recording((user("look"), called("a", "b"), result("a", "one"), user("well?"), said("done")))
    *_, last = replay(session(), recording, Budget(10_000))
    assert not last.flaws
    assert [message["role"] for message in last.payload.openai()["messages"]].count("tool") == 2


def test_replaying_twice_sends_the_same_bytes() -> None:
    """The hashes of all payloads are equal."""
    assert [step.payload.hash for step in steps_of("ops_incident")] == [
        step.payload.hash for step in steps_of("ops_incident")
    ]


def test_sliding_breaks_the_prefix_and_says_so() -> None:
    """A strategy that moves its window at every call is measured, not hidden."""
    steps = steps_of("login_bug", strategy="sliding")
    assert {step.reason for step in steps} == {"", "sweep: window"}
    assert steps[-1].levels.out > 0


def test_changed_tools_reuse_nothing() -> None:
    """The head is the first block: when it changes, nothing after it is a common prefix."""
    spoken = session()
    spoken.user("hello")
    before = spoken.compose(Budget(10_000))
    spoken.tools([{"name": "read", "input_schema": {"type": "object"}}])
    assert reused_tokens(before, spoken.compose(Budget(10_000)), PROFILE) == 0
    assert reused_tokens(None, before, PROFILE) == 0


ASKED = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([{"role": "user", "content": "x"}], []),
        ([ASKED, {"role": "tool", "tool_call_id": "a", "content": "x"}], []),
        ([{"role": "tool", "tool_call_id": "a", "content": "x"}], ["answers no call"]),
        ([ASKED, {"role": "user", "content": "x"}], ["before the results of a"]),
        ([ASKED], ["no results for a"]),
        ([ASKED, {"role": "tool", "tool_call_id": "a", "content": "x"}, ASKED], ["uses a call id again", "no results"]),
        ([{"role": "user", "content": []}], ["says nothing"]),
    ],
)
def test_flaws_of_requests_are_told(messages: list[dict[str, Any]], told: list[str]) -> None:
    """Everything a provider would refuse in the structure is found, and nothing else."""
    found = list(flaws({"messages": messages}))
    assert len(found) == len(told)
    assert all(words in flaw for words, flaw in zip(told, found, strict=True))


def test_levels_start_empty() -> None:
    """Before the first call nothing is shown and nothing is left out."""
    assert Levels() == (0, 0, 0, 0)
