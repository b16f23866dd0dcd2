"""What holds when the documents' parts work together: the final messages, one counter, the same prompt again."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline import samples
from sightline.agent import Agent
from sightline.documents.json_protocol import JsonProtocol
from sightline.errors import PinnedOverflow
from sightline.log.journal import Journal
from sightline.origins import clawdcode, contextui, openstarry
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking, WordCounter, calling, numbered_ids
from sightline.values.items import Call, Kind, Message, Result, Role, plain_text
from sightline.values.profiles import profile
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter
from sightline.wire.payload import Payload

# ------------------------------------------------------------------ the final message list


class Step(NamedTuple):
    """One thing that happens: who speaks, how many words, with how many tool calls."""

    what: str
    words: int
    calls: int = 0


SAYING = st.tuples(st.sampled_from(["user", "assistant", "system", "window"]), st.integers(1, 120), st.just(0))
CALLING = st.tuples(st.just("assistant"), st.integers(0, 300), st.integers(1, 4))
STEPS = st.lists(st.one_of(SAYING, CALLING).map(lambda step: Step(*step)), min_size=1, max_size=15)


def words(number: int, count: int) -> str:
    """So many words, none of which another step says."""
    return " ".join(f"w{number}.{index}" + ("\n" if index % 9 == 8 else "") for index in range(count))


class Talk:
    """A session that steps are played into."""

    def __init__(self, strategy: str) -> None:
        self.panes: dict[str, contextui.Window] = {}
        self.systems: list[str] = []
        self.session = Session(
            MemoryStore("talk"),
            settings=Settings(strategy=strategy),
            windows=self.panes,
            token_counter=WordCounter(),
            clock=Ticking(),
            ids=numbered_ids(),
        )

    def play(self, number: int, step: Step) -> None:
        text = words(number, step.words)
        match step.what:
            case "system":
                self.session.system(text)
                self.systems.append(text)
            case "user":
                self.session.user(text)
            case "window":
                self.panes[f"pane{number % 2}"] = _Pane(text)
                self.session.windows.show(f"pane{number % 2}")
            case _:
                self._answer(number, step)

    def payload(self, window: int) -> Payload | PinnedOverflow:
        try:
            return self.session.compose(Budget(window=window))
        except PinnedOverflow as error:
            return error

    def _answer(self, number: int, step: Step) -> None:
        calls = [
            {"id": f"call{number}_{index}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
            for index in range(step.calls)
        ]
        self.session.reply({"role": "assistant", "content": f"answer {number}", "tool_calls": calls or None})
        for call in reversed(calls):
            self.session.tool_result(call["id"], words(number, step.words))


class _Pane:
    def __init__(self, text: str) -> None:
        self._text = text

    def render(self) -> str:
        return self._text


def check_pairs(messages: Sequence[Message]) -> None:
    """Every result follows the message that made its call, and every call has one."""
    waiting: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result):
                assert part.id in waiting, "a result without its call"
                waiting.remove(part.id)
        if message.role is not Role.TOOL:
            assert not waiting, "a call without its result"
            waiting = [part.id for part in message.parts if type(part).__name__ == "Call"]
    assert not waiting


def check_order(payload: Payload) -> None:
    """Dialogue stands in the order it was said. What was recalled for a message was not said: it stands before it."""
    recalled = {line.id for line in payload.plan.lines() if line.kind is Kind.RECALL}
    said = [int(m.id) for m in payload.body if m.id not in ("", *recalled) and m.role in (Role.USER, Role.ASSISTANT)]
    assert said == sorted(said)
    assert len(said) == len(set(said))


def check_systems(payload: Payload, systems: list[str]) -> None:
    """Every system block is there, in full."""
    shown = [plain_text(m.parts) for m in (*payload.system, *payload.body) if m.role is Role.SYSTEM]
    assert shown == systems


def check_size(payload: Payload, limit: int) -> None:
    """Within the limit, by the engine's count and by a count of what is really sent."""
    sent = [*payload.system, *payload.body, *payload.tail]
    assert sum(len(plain_text(m.parts).split()) for m in sent) <= payload.tokens <= limit


@pytest.mark.slow
@pytest.mark.accepts(363)
@pytest.mark.parametrize("strategy", ["focus", "sliding"])
@given(steps=STEPS, window=st.integers(60, 900), pause=st.integers(1, 3))
@example(steps=[Step("system", 5), Step("system", 5), Step("user", 5)], window=900, pause=3)  # a prompt of two blocks
def test_the_final_message_list(strategy: str, steps: list[Step], window: int, pause: int) -> None:
    """At every call: whole pairs, every system block, dialogue in order, within the limit; or an error says why.

    The model is called after every `pause` steps.
    """
    talk = Talk(strategy)
    for number, step in enumerate(steps):
        talk.play(number, step)
        if (number + 1) % pause:
            continue
        payload = talk.payload(window)
        if isinstance(payload, PinnedOverflow):
            assert payload.short_by > 0
            assert "system, tools and windows" in payload.pinned[0]
            continue
        check_pairs(payload.body)
        check_systems(payload, talk.systems)
        check_order(payload)
        check_size(payload, window)


@pytest.mark.slow("0.2-login_bug", "0.2-long_chat", "0.5-login_bug", "0.5-long_chat")
@pytest.mark.accepts(363)
@pytest.mark.parametrize("name", samples.names())
@pytest.mark.parametrize("share", [1.1, 0.5, 0.2])
def test_the_final_message_list_of_recorded_sessions(name: str, share: float) -> None:
    """The same for the shipped sessions, squeezed to a half and to a fifth, as the provider's own messages show it."""
    sample = samples.load(name)
    session = Session(MemoryStore(name), clock=Ticking(), ids=numbered_ids())
    session.system(sample.system)
    session.tools(sample.tools)
    session.extend(sample.messages)
    whole = session.preview(Budget(window=10_000_000)).tokens
    budget = Budget(window=max(int(whole * share), 2500))
    payload = session.compose(budget)
    check_pairs(payload.body)
    check_systems(payload, [sample.system])
    check_order(payload)
    assert payload.tokens <= budget.window
    check_openai_pairs(payload.openai()["messages"])


def check_openai_pairs(messages: list[dict[str, Any]]) -> None:
    """On the wire: tool messages directly follow the assistant message whose calls they answer, all of them."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
    assert not waiting


@pytest.mark.accepts(363)
def test_what_cannot_fit_is_named() -> None:
    """A system prompt larger than the window is an error with its size and the shortfall, not a shorter prompt."""
    talk = Talk("focus")
    talk.play(1, Step("system", 100))
    talk.play(2, Step("user", 1))
    with pytest.raises(PinnedOverflow, match="system") as caught:
        talk.session.compose(Budget(window=60))
    assert caught.value.short_by >= 40


# ------------------------------------------------------------------ one counter


class Letters:
    """Another way to count: every letter."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.accepts(366)
@pytest.mark.parametrize("counter", [WordCounter(), Letters()], ids=lambda counter: counter.name)
def test_one_replaceable_counter_serves_all_parts(counter: TokenCounter, tmp_path: Path) -> None:
    """Session, ContextUI and ClawdCode count with the counter they are given: change it, and all figures change."""
    text, count = "three short words", counter.count

    session = Session(MemoryStore(), token_counter=counter, clock=Ticking(), ids=numbered_ids())
    session.user(text)
    plan = session.compose(Budget(window=10_000)).plan
    assert [line.tokens for line in plan.lines()] == [count(text)]

    journal = Journal(MemoryStore(), token_counter=counter, clock=Ticking(), ids=numbered_ids())
    manager = contextui.ContextManager(journal, windows={"w": _Pane("seen live")})
    manager.add(contextui.ContextItem("", contextui.ContextItemType.USER, text))
    manager.add(contextui.ContextItem("", contextui.ContextItemType.WINDOW, "w"))
    assert manager.get_stats().estimated_tokens == count(text) + count("seen live")
    renderer = contextui.ContextRenderer(counter)
    for limit, shown in ((count(text) + count("seen live"), 2), (count(text) + count("seen live") - 1, 1)):
        options = contextui.RenderOptions(max_tokens=limit)
        assert len(renderer.render(manager.get_active(), {"w": _Pane("seen live")}, options)) == shown

    options = {"storage": {"persistentPath": str(tmp_path)}}
    chat = clawdcode.ContextManager(options, project_path=tmp_path, token_counter=counter)
    chat.create_session()
    chat.add_message("user", text)
    chat.close()
    held = chat.get_context()
    assert held is not None
    assert held.metadata.total_tokens == 4 + count("user") + count(text)
    [file] = tmp_path.rglob("*.jsonl")
    [entry] = [each for each in clawdcode.JSONLStore(file).read_all() if each.type == "user"]
    assert entry.tokens == (count(text),)


class Doubled(WordCounter):
    """Counts every word twice."""

    name = "doubled"

    def count(self, text: str) -> int:
        return 2 * super().count(text)


@pytest.mark.accepts(366)
def test_every_part_of_a_payload_is_counted_by_the_one_counter() -> None:
    """With a counter that counts twice, all but the provider's framing of messages doubles: no part has its own.

    In the payload are a system prompt, tools, a summary, a note, calls and results, an open window and a question; also
    as the text that the JSON protocol makes of it, and as the payload of OpenStarry's manager.
    """

    def figures(counter: TokenCounter) -> list[int]:
        session = Session(
            MemoryStore("s"), windows={"pane": _Pane("seen live")}, token_counter=counter, clock=Ticking(),
            ids=numbered_ids(),
        )  # fmt: skip
        model = ScriptedModel([calling(("look", {"at": "the login page"})), "It is the cookie."])
        first, last = session.user("an early question " * 40), session.assistant("an early answer " * 40)
        session.windows.show("pane")
        budget = Budget(20_000, recall=0)
        session.summaries.cover(first, last, "they spoke of the login", budget=budget)
        agent = Agent(session, model, tools=[look], instructions="be brief", budget=budget)
        asyncio.run(agent.query("why does it fail?", note="the user has uploaded a file"))
        native = without_framing(session.compose(budget))
        written = JsonProtocol(session, numbered_ids()).compose(budget).written
        manager = openstarry.SlidingWindowContextManager(budget=budget, token_counter=counter)
        tools = [{"name": "look", "description": "look at a page", "parameters": {}}]
        asyncio.run(manager.compose_payload("be brief", [{"role": "user", "content": "why?"}], tools, "a known fact"))
        theirs = manager.session._composer.payload
        assert theirs is not None
        return [native, without_framing(written), without_framing(theirs)]

    assert figures(Doubled()) == [2 * tokens for tokens in figures(WordCounter())]


def look(at: str) -> str:
    """Look at a page."""
    return f"{at} is blank"


def without_framing(payload: Payload) -> int:
    """The tokens of a payload's texts: without those that its provider adds for the request, messages and calls."""
    rules, messages = profile("openai"), (*payload.system, *payload.body, *payload.tail)
    calls = sum(isinstance(part, Call) for message in messages for part in message.parts)
    return payload.tokens - rules.request_tokens - rules.message_tokens * len(messages) - rules.call_tokens * calls


# ------------------------------------------------------------------ determinism

ANSWERS = ("Let me look.", "It is the cookie.", "Fixed.")


def run_agent(folder: Path) -> list[bytes]:
    """A small agent on injected clock, ids and model; every prompt it sent, and the log it left."""
    model = ScriptedModel({"role": "assistant", "content": answer} for answer in ANSWERS)
    pane = {"todo": _Pane("1. fix the login")}
    prompts = []
    options = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter(), "windows": pane}
    with Session.new("/project", root=folder, **options) as session:
        session.system("be brief")
        session.windows.show("todo")
        for number in range(len(ANSWERS)):
            session.user(f"question {number} " + words(number, 200))
            payload = session.compose(Budget(window=500))
            prompts.append(msgspec.json.encode(payload.openai()))
            session.reply(model(**payload.openai()))
    [file] = folder.rglob("*.jsonl")
    return [*prompts, file.read_bytes()]


@pytest.mark.accepts(367)
def test_the_same_inputs_give_the_same_prompts(tmp_path: Path) -> None:
    """Run twice with the same clock, ids and model, an agent sends the same bytes each time and leaves the same log."""
    first, second = run_agent(tmp_path / "first"), run_agent(tmp_path / "second")
    assert len(first) == len(ANSWERS) + 1
    assert first == second
    assert len(set(first)) == len(first)


@pytest.mark.accepts(367)
def test_the_same_state_gives_the_same_prompt() -> None:
    """Asked twice without anything happening in between, a session shows the same prompt."""
    talk = Talk("focus")
    for number, step in enumerate([Step("system", 5), Step("user", 50), Step("assistant", 90, 2), Step("user", 20)]):
        talk.play(number, step)
    prompts = [msgspec.json.encode(talk.session.preview(Budget(window=150)).openai()) for _ in range(2)]
    assert prompts[0] == prompts[1]
    assert msgspec.json.encode(talk.session.compose(Budget(window=150, recall=0)).openai()) == prompts[0]


@pytest.mark.accepts(367)
def test_the_documents_managers_repeat_themselves(tmp_path: Path) -> None:
    """With clock and ids injected, two ClawdCode sessions saved in the background leave the same bytes."""
    files = []
    for name in ("first", "second"):
        options = {"storage": {"persistentPath": str(tmp_path / name)}}
        manager = clawdcode.ContextManager(options, project_path="/project", clock=Ticking(), ids=numbered_ids())
        manager.create_session("user-1")
        for number in range(50):
            manager.add_message("user", f"message {number}")
        manager.close()
        [file] = (tmp_path / name).rglob("*.jsonl")
        files.append(file.read_bytes())
    assert files[0] == files[1]
    assert json.loads(files[0].splitlines()[-1])["message"]["content"] == "message 49"
