"""Law 8: nothing inside an item's content can forge a window, a call, a summary or a message of another role."""

from itertools import pairwise
from typing import Any

import pytest
from histories import HOSTILE, Answer, Ask, Compose, Operation, Orphan, Say, Show, histories, plain_histories
from hypothesis import given
from hypothesis import strategies as st
from recorded import play, sample
from world import Sent, World

from sightline import samples
from sightline.log.columns import LEADING
from sightline.plan.view import Budget
from sightline.values.items import Call, Kind, Message, Result, Role, Text
from sightline.wire.payload import Payload

ROLES = {
    Kind.SYSTEM: Role.SYSTEM, Kind.USER: Role.USER, Kind.ASSISTANT: Role.ASSISTANT, Kind.RESULT: Role.TOOL,
    Kind.WINDOW: Role.USER, Kind.SUMMARY: Role.USER, Kind.RECALL: Role.USER,
}  # fmt: skip

hostile = st.one_of(st.sampled_from(HOSTILE), st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map("\n".join))


def plain(text: str) -> str:
    """As many words, none of which means anything."""
    return " ".join("word" for _ in text.split())


def shape(value: Any) -> Any:
    """A written payload with every text taken out: roles, types, names and order remain."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key not in ("input", "arguments")}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return value if value in _STRUCTURE else "text"


_STRUCTURE = (
    "system", "user", "assistant", "tool", "text", "tool_use", "tool_result", "function", "message", "image",
    "function_call", "function_call_output", "input_text", "output_text", "image_url", "input_image", True, None,
)  # fmt: skip


def run(texts: list[str], failed: bool) -> World:
    """A conversation in which everybody says these texts, everywhere text can stand."""
    world = World("words")
    first, *others = texts
    world.run([Say(Role.SYSTEM, first), Compose(1_000_000)])
    for number, text in enumerate(others):
        call = Call(f"c{number}", "bash", {"command": text})
        spoken = [
            Say(Role.USER, text),
            Show(text, 100),
            Ask(text, (call, call)),
            Answer(0, text, failed),
            Answer(0, text),
        ]
        world.run([*spoken, Orphan("lost", text), Say(Role.ASSISTANT, text), Say(Role.SYSTEM, f"{text} {number}")])
        world.session.items.expand(world.pick(-1) or "")
        world.apply(Compose(1_000_000))
    return world


@pytest.mark.slow
@given(texts=st.lists(hostile, min_size=2, max_size=5), failed=st.booleans())
def test_hostile_texts_have_the_shape_of_plain_ones(texts: list[str], failed: bool) -> None:
    """Messages, roles, blocks, calls, recalls and items are those of the same conversation in plain words."""
    bad, good = run(texts, failed), run([f"{plain(text)} {n}" for n, text in enumerate(texts)], failed)
    assert [item.kind for item in bad.session.items] == [item.kind for item in good.session.items]
    assert bad.session.open_calls == good.session.open_calls == []
    for one, other in zip(bad.sent, good.sent, strict=True):
        assert [_outline(m) for m in one.payload.body] == [_outline(m) for m in other.payload.body]
        for name in ("openai", "responses", "anthropic"):
            assert shape(getattr(one.payload, name)()) == shape(getattr(other.payload, name)())


def _outline(message: Message) -> tuple[Role, bool, list[str]]:
    return message.role, message.merge_into_previous, [type(part).__name__ for part in message.parts]


def check(world: World, sent: Sent, foreseen: Payload | None = None) -> None:
    """Every message is of the role its item has; only the engine's own words have no item; texts are parts, no more."""
    timeline = world.session.log.timeline
    led = {after.id for before, after in pairwise(sent.payload.body) if _leads(world, before.id, after.id)}
    unnamed = 0
    for message in (*sent.payload.system, *sent.payload.body, *sent.payload.tail):
        row = timeline.row(message.id) if message.id else None
        unnamed += row is None
        if row is not None:
            kind = Kind(timeline.kind[row])
            assert message.role is ROLES[kind]
            follows = kind is Kind.RECALL and not timeline.state[row] & LEADING  # or is led by what was recalled for it
            assert message.merge_into_previous == (follows or message.id in led)
            calls = [part for part in message.parts if isinstance(part, Call)]
            assert len(calls) == sum(r for r in _calls_of(world, row))
            assert (kind is Kind.RESULT) == any(isinstance(part, Result) for part in message.parts)
    assert unnamed == bool(sent.payload.plan.marker) + bool(sent.payload.plan.preface)


def _leads(world: World, item: str, next_item: str) -> bool:
    """Whether an item is a recall that stands before the words of a user's message, or before another such recall."""
    timeline, path = world.session.log.timeline, world.session.log.path
    row, after = (timeline.row(each) if each else None for each in (item, next_item))
    if row is None or after is None or not timeline.state[row] & LEADING:
        return False
    message = timeline.led_message(path, row)
    same = timeline.state[after] & LEADING and timeline.led_message(path, after) == message
    return bool(same) or timeline.unit[after] == message


def _calls_of(world: World, row: int) -> list[bool]:
    timeline = world.session.log.timeline
    if timeline.kind[row] != Kind.ASSISTANT:
        return []
    return [timeline.kind[other] == Kind.CALL for other in timeline.rows_of(timeline.unit[row])]


@pytest.mark.slow
@given(history=st.one_of(histories, plain_histories))
def test_structure_follows_from_what_was_done_never_from_what_was_said(history: list[Operation]) -> None:
    """At every budget each message has its item's role, each call was made, each window was opened."""
    world = World("words")
    world.on_compose = check
    world.run(history)
    opened = set(world.session.log.timeline.windows)
    assert all(set(sent.payload.shown_windows) <= opened for sent in world.sent)
    assert opened <= {*world.windows, *(f"board_{number}" for number in range(1, len(history) + 1))}


@pytest.mark.slow
@given(text=hostile)
def test_the_engine_acts_on_no_text(text: str) -> None:
    """A reply that talks of calls makes none; a result that talks of handles recalls nothing; settling does nothing."""
    world = World("words")
    world.run([Say(Role.USER, text), Compose(5_000)])
    world.session.reply({"choices": [{"message": {"role": "assistant", "content": text}}]})
    assert world.session.answer_own_calls() == []
    before = len(world.session.items)
    world.run([Say(Role.USER, "go on"), Compose(5_000)])
    assert len(world.session.items) == before + 1
    assert world.session.items.text(world.item_ids()[1]) == text


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_samples_with_a_hostile_user_keep_their_structure(name: str) -> None:
    """A sample in which every user message is followed by forged markup has the same calls and roles."""
    conversation = sample(name)
    forged = [
        Message(m.role, (*m.parts, Text("\n".join(HOSTILE)))) if m.role is Role.USER else m
        for m in conversation.messages
    ]
    world, bad = World("estimate"), World("estimate")
    bad.on_compose = check
    play(world, conversation, Budget(200_000))
    play(bad, conversation._replace(messages=forged), Budget(200_000))
    outlines = [
        [
            (m.role, sum(isinstance(p, Call) for p in m.parts))
            for m in one.sent[-1].payload.body
            if not m.id or one.session.items.info(m.id).kind is not Kind.RECALL
        ]
        for one in (world, bad)
    ]  # what is recalled stands with the words of a message, and may
    assert outlines[0] == outlines[1]
