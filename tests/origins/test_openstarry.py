"""The OpenStarry document: one interface, three strategies, and what gives way when space is short."""

import asyncio
import copy
import json
import threading
from collections.abc import Coroutine, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import BadInput, Budget, PinnedOverflow, Plan, View
from sightline.origins.openstarry import (
    EntityExtractionContextManager,
    IContextManager,
    LLMPayload,
    SlidingWindowContextManager,
    StrategyContextManager,
    SummarizationContextManager,
    create_context_manager,
    take_turn,
)
from sightline.plan.strategies.project_choice import from_plugin
from sightline.plan.strategies.summary import Summary
from sightline.testing import WordCounter

Json = dict[str, Any]
SYSTEM = "You are a helpful agent."
TOOL: Json = {
    "type": "function",
    "function": {"name": "look", "description": "Look it up.", "parameters": {"type": "object", "properties": {}}},
}
DOCUMENT: Json = {
    "id": "my-complex-agent",
    "contextStrategy": {
        "type": "plugin",
        "pluginId": "std-summarization-strategy",
        "config": {"compressionModel": "gemini-1.5-flash", "threshold": 20},
    },
}


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def assistant(text: str) -> Json:
    return {"role": "assistant", "content": text}


def turns(first: int, last: int, size: int = 12) -> list[Json]:
    """Whole turns of two messages."""
    return [
        message
        for n in range(first, last + 1)
        for message in (user(f"question {n} {words(size)}"), assistant(f"answer {n} {words(size)}"))
    ]


def exchange(call_id: str, size: int) -> list[Json]:
    """A tool call and its result."""
    function = {"name": "look", "arguments": "{}"}
    call = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": words(size)},
    ]


def sliding(window: int = 10_000) -> SlidingWindowContextManager:
    return SlidingWindowContextManager(budget=Budget(window, recall=0), token_counter=WordCounter())


def summarising(model: Any = None, window: int = 10_000, **config: Any) -> SummarizationContextManager:
    return SummarizationContextManager(
        config, model=model, budget=Budget(window, recall=0), token_counter=WordCounter()
    )


def extracting(extractor: Any, **config: Any) -> EntityExtractionContextManager:
    schema = {"schema": {"destination": "string", "date": "string"}}
    return EntityExtractionContextManager(
        schema | config, extractor=extractor, budget=Budget(10_000, recall=0), token_counter=WordCounter()
    )


def compose(manager: IContextManager, history: Sequence[Json], **options: Any) -> LLMPayload:
    system = options.pop("system", SYSTEM)
    return run(manager.compose_payload(system, history, options.pop("tools", []), **options))  # type: ignore[no-any-return]


def ends(payload: LLMPayload) -> list[str]:
    """Two words of each message after the system prompt, labels aside: "question 3", "summary 1"."""
    texts = [message["content"].rpartition("\n\n")[2] for message in payload.messages if message["role"] != "system"]
    return [" ".join(text.split()[:2]) for text in texts]


def spoken(first: int, last: int) -> list[str]:
    return [text for n in range(first, last + 1) for text in (f"question {n}", f"answer {n}")]


# ------------------------------------------------------------------ the interface


class Recorder:
    """A strategy of one's own in the document's sense: sends everything, and writes down how it was called."""

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[str] = []
        self.completed: list[list[Json]] = []
        self.fails = fails

    async def compose_payload(
        self, system_prompt: str, history: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]],
        rag_context: str | None = None,
    ) -> LLMPayload:  # fmt: skip
        self.calls.append("compose")
        return LLMPayload([{"role": "system", "content": system_prompt}, *map(dict, history)], list(map(dict, tools)))

    async def on_turn_complete(self, new_history: Sequence[Mapping[str, Any]]) -> None:
        self.calls.append("complete")
        self.completed.append([dict(message) for message in new_history])
        if self.fails:
            raise RuntimeError("the background is broken")


def scripted(*replies: Json) -> Any:
    """A model that says its lines, and what it was sent."""
    lines, sent = iter(replies), []

    def model(payload: LLMPayload) -> Json:
        sent.append(payload)
        return next(lines)

    model.sent = sent  # type: ignore[attr-defined]
    return model


def managers() -> list[IContextManager]:
    """One of each kind, and a stub."""
    return [sliding(), summarising(), extracting(lambda schema, state, text: {}), Recorder()]


@pytest.mark.accepts(249)
def test_the_model_is_sent_what_the_strategy_composes_and_nothing_else() -> None:
    """The stub says something else than the history, anew for each call: just that reaches the model."""
    composed: list[LLMPayload] = []

    class Stub(Recorder):
        async def compose_payload(self, *_: Any, **__: Any) -> LLMPayload:
            composed.append(LLMPayload([user(f"composed {len(composed)}")], [{"name": f"tool{len(composed)}"}]))
            return composed[-1]

    call, result = exchange("c1", 3)
    model = scripted(call, assistant("done"))
    run(take_turn(Stub(), model, [user("go")], system_prompt=SYSTEM, run_tool=lambda call: result["content"]))
    assert model.sent == composed
    assert [payload.messages for payload in model.sent] == [[user("composed 0")], [user("composed 1")]]


@pytest.mark.accepts(250, 251)
@pytest.mark.parametrize("kind", range(4))
def test_the_loop_knows_only_the_interface(kind: int) -> None:
    """A turn with a tool call runs the same over every strategy, the standard ones and a stub of one's own."""
    manager = managers()[kind]
    call, result = exchange("c1", 3)
    model = scripted(call, assistant("it is noon"))
    history = [user("what time is it?")]
    grown = run(
        take_turn(manager, model, history, system_prompt=SYSTEM, tools=[TOOL], run_tool=lambda call: result["content"])
    )
    assert grown == [user("what time is it?"), call, result, assistant("it is noon")]
    assert history == [user("what time is it?")]
    assert [payload.messages[-1]["role"] for payload in model.sent] == ["user", "tool"]
    assert all(payload.tools == [TOOL] for payload in model.sent)


@pytest.mark.accepts(254)
@pytest.mark.parametrize("fails", [False, True])
def test_on_turn_complete_is_called_once_and_its_failure_is_harmless(
    fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """After the last answer of the turn, with the new history; what it raises is logged, and the turn stands."""
    manager = Recorder(fails)
    call, result = exchange("c1", 3)
    model = scripted(call, assistant("done"))
    grown = run(take_turn(manager, model, [user("go")], run_tool=lambda call: result["content"]))
    assert manager.calls == ["compose", "compose", "complete"]
    assert manager.completed == [grown]
    assert grown[-1] == assistant("done")
    assert ("failed after the turn" in caplog.text) == fails


@pytest.mark.accepts(251)
def test_a_strategy_of_the_core_can_be_mounted_too() -> None:
    """Any object that makes plans, behind the same interface."""

    class LastOnly:
        name = "last only"

        def plan(self, view: View) -> Plan:
            return Plan.swept(view, [view.asked], {}, {}, reason="sweep: last only")

    manager = StrategyContextManager(LastOnly(), token_counter=WordCounter())
    assert ends(compose(manager, [*turns(1, 3), user("question 4")])) == ["question 4"]


@pytest.mark.accepts(252, 255, 258)
def test_nothing_of_the_callers_is_changed() -> None:
    """The prompt is used as it is, all tools are there, and history and tools are what they were, copies aside."""
    history, tools = (
        [*turns(1, 30), *exchange("c1", 50), user("and?")],
        [TOOL, {"name": "hear", "parameters": {"type": "object"}}],
    )
    before = copy.deepcopy((history, tools))
    prompt = "You are  an agent.\n\n\tKeep   <this> exactly…"
    for manager in (sliding(250), summarising(window=250), extracting(lambda schema, state, text: {})):
        payload = compose(manager, history, tools=tools, system=prompt)
        assert (history, tools) == before
        assert payload.messages[0] == {"role": "system", "content": prompt}
        assert payload.tools == tools
        payload.tools[0]["function"]["name"] = "changed"
        assert (history, tools) == before


@pytest.mark.accepts(252)
def test_messages_that_are_shown_are_shown_as_they_were() -> None:
    """Text, tool calls and results come back in the same form."""
    history = [*turns(1, 2), *exchange("c1", 3), assistant("there"), user("thanks")]
    assert compose(sliding(), history).messages[1:] == history


@pytest.mark.slow
@pytest.mark.accepts(253, 257, 258, 269)
@given(st.data())
def test_a_payload_fits_whole_pairs_and_a_whole_head(data: st.DataObject) -> None:
    """Whatever the history, the window and the strategy: within the limit, system and tools whole, no half pair."""
    pieces = data.draw(st.lists(st.integers(0, 80), min_size=1, max_size=10))
    history: list[Json] = []
    for n, size in enumerate(pieces):
        history += [[user(words(size, "u"))], [assistant(words(size, "a"))], exchange(f"c{n}", size)][n % 3]
    window = data.draw(st.integers(60, 600))
    rag = data.draw(st.sampled_from([None, words(10, "fact"), words(300, "fact")]))
    kind = data.draw(st.sampled_from([sliding, lambda window: summarising(window=window)]))
    manager = kind(window)
    payload = compose(manager, history, tools=[TOOL], rag_context=rag)
    assert payload.messages[0] == {"role": "system", "content": SYSTEM}
    assert payload.tools == [TOOL]
    called = [call["id"] for message in payload.messages for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in payload.messages if message["role"] == "tool"] == called
    sent = manager.session._composer.payload
    assert sent is None or sent.tokens <= window


# ------------------------------------------------------------------ what is in a payload, and what gives way


GOAL = "[the current"  # begins the message that says the task's goal


@pytest.mark.accepts(256, 260, 275)
@pytest.mark.parametrize("goal", ["", "book a table for two"])
def test_the_order_is_system_summary_goal_knowledge_history(goal: str) -> None:
    """Goal and retrieved knowledge appear when they are given and leave no trace when they are not."""
    manager = summarising(lambda name, messages: "summary 1")
    manager.task_goal = goal
    history = turns(1, 11)
    compose(manager, history)
    run(complete(manager, history))
    payload = compose(manager, [*history, user("question 12")], tools=[TOOL], rag_context="fact 7: it rains")
    aim = [GOAL] if goal else []
    assert [message["role"] for message in payload.messages[:3]] == ["system", "user", "user"]
    assert ends(payload) == ["summary 1", *aim, "fact 7:", *spoken(6, 11), "question 12"]
    assert payload.tools == [TOOL]
    if goal:
        assert payload.messages[2]["content"] == f"[the current task's goal]\n{goal}"
    manager.task_goal = ""
    assert ends(compose(manager, [*history, user("question 12")])) == ["summary 1", *spoken(6, 11), "question 12"]


@pytest.mark.slow
@pytest.mark.accepts(256, 257, 258, 259)
def test_history_gives_way_first_then_the_summary_then_the_knowledge_then_the_goal() -> None:
    """As the window shrinks: the oldest messages go, all but the question; then the summary; then the knowledge, from
    its end; then the goal. System prompt and tools stay whole."""
    history, knowledge = turns(1, 11), "fact 7: " + words(28)
    cuts: dict[str, list[int]] = {GOAL: [], "fact 7:": []}  # words shown of each, as the window shrinks

    def shown(window: int) -> list[str]:
        manager = summarising(lambda name, messages: "summary 1 " + words(20), window=window)
        manager.budget = Budget(10_000, recall=0)
        compose(manager, history)
        run(complete(manager, history))
        manager.budget, manager.task_goal = Budget(window, recall=0), words(24, "goal")
        payload = compose(manager, [*history, user("question 12")], tools=[TOOL], rag_context=knowledge)
        assert (payload.messages[0]["content"], payload.tools) == (SYSTEM, [TOOL])
        for begin, sizes in cuts.items():
            texts = [message["content"] for message in payload.messages if message["content"].startswith(begin)]
            sizes.append(sum(len(text.split()) for text in texts))
        return ends(payload)

    seen = [shown(window) for window in range(540, 24, -4)]
    distinct = [seen[0], *(after for before, after in pairwise(seen) if after != before)]
    full = ["summary 1", GOAL, "fact 7:", *spoken(6, 11), "question 12"]
    expected = [full[:3] + full[start:] for start in range(3, len(full), 2)]  # turn by turn, down to the question
    expected += [[GOAL, "fact 7:", "question 12"], [GOAL, "question 12"], ["question 12"]]
    assert [each for each in distinct if each in expected] == expected
    assert all(each[-1] == "question 12" for each in distinct)
    goal, fact = cuts[GOAL], cuts["fact 7:"]
    assert goal == sorted(goal, reverse=True)
    assert fact == sorted(fact, reverse=True)
    assert all(facts == 0 for aim, facts in zip(goal, fact, strict=True) if aim < goal[0])


@pytest.mark.accepts(256)
def test_the_goal_comes_with_the_plugin_in_both_languages() -> None:
    """As an option of any manager; it can be changed between turns."""
    manager = create_context_manager(
        {"id": "a"}, task_goal="订一张去上海的票", locale="zh", token_counter=WordCounter()
    )
    assert compose(manager, [user("你好")]).messages[1:] == [user("[当前任务目标]\n订一张去上海的票"), user("你好")]
    manager.task_goal = "改签"
    assert compose(manager, [user("你好")]).messages[1:] == [user("[当前任务目标]\n改签"), user("你好")]


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize("tools", [[], [TOOL]])
@pytest.mark.parametrize("strategy", ["sliding", "summary", "focus"])
def test_nothing_speaks_of_tools_that_the_model_has_not(strategy: str, tools: list[Json], locale: str) -> None:
    """Neither a summary nor what is left out or shortened: the caller's tools are all there are."""
    manager: StrategyContextManager
    options: Json = {"budget": Budget(400, recall=0), "locale": locale, "token_counter": WordCounter()}
    if strategy == "summary":
        manager = SummarizationContextManager(model=lambda name, messages: "summary 1", **options)
    else:
        manager = StrategyContextManager(strategy, **options)
    history = turns(1, 11)
    compose(manager, history, tools=tools)
    run(complete(manager, history))  # type: ignore[arg-type]
    history += [message for n in range(9) for message in (user(f"go {n}"), *exchange(f"c{n}", 150), assistant("done"))]
    payload = compose(manager, [*history, user("and?")], tools=tools)
    text = "\n".join(message["content"] or "" for message in payload.messages)
    assert len(payload.messages) < len(history)
    assert not any(word in text for word in ("recall", "expand", "展开"))
    assert ("summary 1" in text) == (strategy == "summary")


@pytest.mark.accepts(261)
def test_system_and_tools_over_the_limit_are_an_error() -> None:
    """It names both with their tokens, and how much too much they are; nothing is cut."""
    with pytest.raises(
        PinnedOverflow, match=r"system prompt \(\d+ tokens\), tool definitions \(\d+ tokens\)"
    ) as caught:
        compose(sliding(50), [user("hello")], system=words(60), tools=[TOOL])
    assert caught.value.short_by > 10


@pytest.mark.accepts(266)
def test_without_room_there_is_no_history(caplog: pytest.LogCaptureFixture) -> None:
    """Where system and tools leave nothing, they are sent alone, and a warning says so."""
    payload = compose(sliding(3 + 4 + 40), turns(1, 3), system=words(40))
    assert payload.messages == [{"role": "system", "content": words(40)}]
    assert "no room for any history" in caplog.text


# ------------------------------------------------------------------ strategy A


@pytest.mark.accepts(263, 264, 265, 267)
def test_the_documents_vector() -> None:
    """Limit 100, system 20, tools 10, dynamic 10, ten messages of 15 tokens each: the newest four, in order."""
    tool = {"name": "look", "description": words(10), "parameters": {}}
    history = [message(f"n{n} {words(10)}") for n in range(5) for message in (user, assistant)]
    manager = sliding(100)
    payload = compose(manager, history, system=words(13), tools=[tool], rag_context=words(6))
    sent = manager.session._composer.payload
    assert sent is not None
    tools = manager.session.log.tools.tokens
    assert (sent.plan.fixed, tools) == (20 + 10 + 10, 10)  # 13 words and the framing of message and request; 6 and 4
    assert sent.tokens == 100
    assert payload.messages[2:] == history[-4:]


@pytest.mark.accepts(262)
def test_the_sliding_window_is_what_nothing_configured_means() -> None:
    """A plugin without a choice, and a manager without arguments."""
    assert isinstance(create_context_manager({"id": "agent"}), SlidingWindowContextManager)
    assert StrategyContextManager().strategy.name == "sliding"


@pytest.mark.accepts(264)
def test_nothing_is_taken_from_behind_a_message_that_does_not_fit() -> None:
    """It ends the run of the newest, though older and shorter ones would fit; a total just at the limit fits."""
    sizes = {"a": 5, "b": 5, "large": 200, "c": 30, "d": 20}
    history = [assistant(words(size, name)) for name, size in sizes.items()]

    def names(window: int) -> list[str]:
        messages = compose(sliding(window), history).messages[1:]
        return [message["content"].split()[0] for message in messages]

    manager = sliding(150)
    compose(manager, history)
    sent = manager.session._composer.payload
    assert sent is not None
    assert names(150) == names(sent.tokens) == ["c", "d"]
    assert names(sent.tokens - 1) == ["d"]
    assert names(10_000) == [*sizes]


@pytest.mark.accepts(264)
def test_each_call_fills_the_room_there_is() -> None:
    """Knowledge given once takes its room once: the messages it displaced are there again in the next call."""
    manager, history = sliding(300), turns(1, 8)
    everything = ends(compose(manager, history))
    with_knowledge = ends(compose(manager, history, rag_context=words(100, "fact")))
    assert 1 < len(with_knowledge) < len(everything)
    assert ends(compose(manager, history)) == everything


# ------------------------------------------------------------------ strategy B


async def complete(manager: SummarizationContextManager, history: Sequence[Json]) -> None:
    """The end of a turn, and of the work that it began."""
    await manager.on_turn_complete(history)
    await asyncio.to_thread(manager.session.summaries.wait)


class Light:
    """A light model: numbers its summaries, and remembers who was asked what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, name: str, messages: list[Json]) -> str:
        said = ends(LLMPayload(messages, []))
        self.asked.append((name, said[:-1]))  # the last is the request itself
        return f"summary {len(self.asked)}"


@pytest.mark.accepts(270, 275)
def test_the_buffer_is_empty_at_first() -> None:
    """And then nothing is inserted."""
    manager = summarising(Light())
    assert manager.summary_buffer == ""
    assert compose(manager, turns(1, 3)).messages[1:] == turns(1, 3)


@pytest.mark.accepts(272, 273, 274, 276, 277)
def test_summaries_fold_into_one_another() -> None:
    """11 turns: summary and 6; 16: a summary of the summary and five more, and 6; the caller's list is whole."""
    light = Light()
    manager = summarising(light, compressionModel="gemini-1.5-flash")
    history: list[Json] = []
    for n in range(1, 18):
        history.append(user(f"question {n} {words(12)}"))
        before = copy.deepcopy(history)
        shown = ends(compose(manager, history))
        assert history == before
        first = 1 if n <= 11 else 6 if n <= 16 else 11
        expected = [*spoken(first, n - 1), f"question {n}"]
        assert shown == ([f"summary {1 + (n > 16)}", *expected] if n > 11 else expected)
        history.append(assistant(f"answer {n} {words(12)}"))
        before = copy.deepcopy(history)
        run(complete(manager, history))
        assert history == before
        assert manager.summary_buffer == ("" if n < 11 else "summary 1" if n < 16 else "summary 2")
    assert light.asked == [
        ("gemini-1.5-flash", spoken(1, 5)),
        ("gemini-1.5-flash", ["summary 1", *spoken(6, 10)]),
    ]


@pytest.mark.accepts(271, 278)
def test_a_turn_does_not_wait_for_the_model() -> None:
    """on_turn_complete returns while the model thinks; meanwhile everything is as before, and no other is asked."""
    go, asked = threading.Event(), []

    def slow(name: str, messages: list[Json]) -> str:
        asked.append(name)
        go.wait(10)
        return "summary 1"

    manager, history = summarising(slow), turns(1, 11)
    compose(manager, history)

    async def turn() -> None:
        await manager.on_turn_complete(history)
        await manager.on_turn_complete(history)
        payload = await manager.compose_payload(SYSTEM, [*history, user("question 12")], [])
        assert ends(payload) == [*spoken(1, 11), "question 12"]
        assert manager.summary_buffer == ""
        go.set()
        await complete(manager, [*history, user("question 12"), assistant("answer 12")])

    run(turn())
    assert len(asked) == 1
    assert manager.summary_buffer == "summary 1"


@pytest.mark.accepts(271, 273)
def test_the_model_may_be_async() -> None:
    """It is awaited on the loop of the caller, and its answer may be an SDK's response."""
    loops = []

    async def model(name: str, messages: list[Json]) -> Json:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return {"choices": [{"message": {"role": "assistant", "content": "summary 1"}}]}

    manager, history = summarising(model), turns(1, 11)

    async def turn() -> asyncio.AbstractEventLoop:
        await manager.compose_payload(SYSTEM, history, [])
        await complete(manager, history)
        return asyncio.get_running_loop()

    loop = run(turn())
    assert loops == [loop]
    assert manager.summary_buffer == "summary 1"


@pytest.mark.accepts(278)
@pytest.mark.parametrize("answer", [RuntimeError("no quota"), "", words(5_000)])
def test_a_model_that_fails_changes_nothing_and_is_asked_again(answer: Any) -> None:
    """Whether it raises, says nothing or too much: history and buffer stay, and a later turn tries again."""
    answers = iter([answer, "summary 1"])

    def model(name: str, messages: list[Json]) -> str:
        said = next(answers)
        if isinstance(said, Exception):
            raise said
        return str(said)

    manager, history = summarising(model), turns(1, 11)
    compose(manager, history)
    run(complete(manager, history))
    assert manager.summary_buffer == ""
    assert ends(compose(manager, history)) == spoken(1, 11)
    run(complete(manager, history))
    assert manager.summary_buffer == "summary 1"


@pytest.mark.accepts(279)
def test_the_summary_takes_its_room_from_the_history() -> None:
    """A longer summary leaves fewer turns, and what is left begins with a question."""
    shown = {}
    for size in (5, 60):
        manager = summarising(lambda name, messages, size=size: "summary 1 " + words(size), window=260)
        history = turns(1, 11)
        compose(manager, history)
        run(complete(manager, history))
        shown[size] = ends(compose(manager, [*history, user("question 12")]))
        assert shown[size][0] == "summary 1"
        assert shown[size][1].startswith("question")
    assert len(shown[60]) < len(shown[5])


def test_without_a_model_it_is_a_window() -> None:
    """Nothing is ever summarised, and nothing fails."""
    manager = summarising(None)
    compose(manager, turns(1, 20))
    run(complete(manager, turns(1, 20)))
    assert manager.summary_buffer == ""


# ------------------------------------------------------------------ strategy C


@pytest.mark.accepts(280, 281, 282, 283)
def test_each_user_input_is_extracted_before_anything_is_composed() -> None:
    """The chain sees the schema, the state so far and what was said; the payload carries what it made of it."""
    asked = []

    def chain(schema: Json, state: Mapping[str, Any], text: str) -> Json:
        asked.append((list(schema["properties"]), dict(state), text))
        return {"destination": "Oslo"} if "Oslo" in text else {"date": "2026-05-01"}

    manager = extracting(chain)
    history = [user("to Oslo please")]
    payload = compose(manager, history)
    assert payload.messages[1:] == [user('[what is known so far]\n{"destination":"Oslo"}'), user("to Oslo please")]
    history += [assistant("when?"), user("the first of May")]
    payload = compose(manager, history)
    state = '[what is known so far]\n{"destination":"Oslo","date":"2026-05-01"}'
    assert payload.messages[1:] == [user(state), user("the first of May")]
    assert asked == [
        (["destination", "date"], {}, "to Oslo please"),
        (["destination", "date"], {"destination": "Oslo"}, "the first of May"),
    ]
    compose(manager, history)
    assert len(asked) == 2


@pytest.mark.accepts(283)
def test_the_open_tool_exchange_is_sent_with_the_question() -> None:
    """Calls and results after the question, none before it."""
    manager = extracting(lambda schema, state, text: {})
    history = [user("a"), *exchange("c1", 3), assistant("b"), user("question 2"), *exchange("c2", 3)]
    assert compose(manager, history).messages[2:] == [user("question 2"), *exchange("c2", 3)]


@pytest.mark.accepts(281, 284)
def test_what_the_chain_gets_wrong_is_refused_or_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """A value against the schema is not taken; a chain that fails is asked about the same words next time."""
    answers = iter([{"destination": "Oslo"}, TimeoutError(), {"date": 5, "destination": "Rome"}, {"date": "May"}])
    heard = []

    async def chain(schema: Json, state: Mapping[str, Any], text: str) -> Any:
        heard.append(text)
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    manager = extracting(chain)
    compose(manager, [user("one")])
    compose(manager, [user("one"), assistant("ok"), user("two")])
    assert manager.state == {"destination": "Oslo"}
    assert "extraction failed" in caplog.text
    compose(manager, [user("one"), assistant("ok"), user("two"), assistant("ok"), user("three")])
    assert heard == ["one", "two", "two", "three"]
    assert manager.state == {"destination": "Rome", "date": "May"}


# ------------------------------------------------------------------ histories


def test_a_changed_history_is_a_new_conversation() -> None:
    """An edited message is what is sent; what was summarised of the old one is forgotten."""
    manager, history = summarising(Light()), turns(1, 11)
    compose(manager, history)
    run(complete(manager, history))
    assert manager.summary_buffer == "summary 1"
    edited = [user("question 0 instead"), *history[1:]]
    assert ends(compose(manager, edited))[0] == "question 0"
    assert manager.summary_buffer == ""


def summarised(count: int = 11) -> tuple[SummarizationContextManager, Light, list[Json]]:
    """A manager that was given so many turns and has summarised the first five of them."""
    light = Light()
    manager, history = summarising(light), turns(1, count)
    compose(manager, history)
    run(complete(manager, history))
    assert manager.summary_buffer == "summary 1"
    return manager, light, history


def tail(history: Sequence[Json]) -> list[str]:
    return [" ".join(message["content"].split()[:2]) for message in history]


@pytest.mark.accepts(274, 276, 277)
@pytest.mark.parametrize("cleared", [1, 2, 4, 10])
def test_the_caller_may_clear_what_is_summarised(cleared: int) -> None:
    """As the document has it: the summary stays, and the next one takes it up, however many messages were cleared."""
    manager, light, history = summarised()
    history = [*history[cleared:], *turns(12, 16)]
    assert ends(compose(manager, history)) == ["summary 1", *spoken(6, 16)]
    run(complete(manager, history))
    assert light.asked[-1][1] == ["summary 1", *spoken(6, 10)]
    assert manager.summary_buffer == "summary 2"
    assert ends(compose(manager, history)) == ["summary 2", *spoken(11, 16)]


@pytest.mark.accepts(274)
def test_what_is_cleared_beyond_the_summary_is_gone_and_the_summary_stays() -> None:
    """A caller that keeps only its last turns: nothing that it dropped comes back."""
    manager, _, history = summarised()
    assert ends(compose(manager, [*history[14:], user("question 12")])) == ["summary 1", *spoken(8, 11), "question 12"]
    assert manager.summary_buffer == "summary 1"


@pytest.mark.accepts(274)
@pytest.mark.parametrize("cleared", [0, 10])
def test_a_regenerated_reply_keeps_the_summary(cleared: int) -> None:
    """The last reply is made again, or the last turns are taken back: what they were is not sent, the summary is."""
    manager, _, history = summarised()
    again = [*history[cleared:-1], assistant("answer eleven")]
    assert ends(compose(manager, again[:-1])) == ["summary 1", *spoken(6, 10), "question 11"]
    run(complete(manager, again))
    assert ends(compose(manager, [*again, user("question 12")])) == [
        "summary 1", *spoken(6, 10), "question 11", "answer eleven", "question 12",
    ]  # fmt: skip
    assert ends(compose(manager, [*history[cleared:14], user("question eight")])) == [
        "summary 1", *spoken(6, 7), "question eight",
    ]  # fmt: skip
    assert manager.summary_buffer == "summary 1"


def test_leading_system_messages_stay_where_the_rest_is_cleared() -> None:
    """They are part of the history, and no summary covers them."""
    light, brief = Light(), {"role": "system", "content": "be brief"}
    manager, history = summarising(light), turns(1, 11)
    compose(manager, [brief, *history])
    run(complete(manager, [brief, *history]))
    payload = compose(manager, [brief, *history[10:], user("question 12")])
    assert [message["content"] for message in payload.messages[:2]] == [SYSTEM, "be brief"]
    assert ends(payload) == ["summary 1", *spoken(6, 11), "question 12"]


def test_a_change_in_what_is_summarised_brings_back_an_earlier_summary_or_says_what_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Where an earlier summary covers only unchanged messages, it holds again; else all is shown, with a warning."""
    manager, _, history = summarised(11)
    history += turns(12, 16)
    compose(manager, history)
    run(complete(manager, history))
    assert manager.summary_buffer == "summary 2"
    edited = [*history[:14], user("question eight")]
    assert ends(compose(manager, edited)) == ["summary 1", *spoken(6, 7), "question eight"]
    assert "what it says of them is lost" in caplog.text
    edited = [*history[:4], user("question three")]
    assert ends(compose(manager, edited)) == [*spoken(1, 2), "question three"]
    assert manager.summary_buffer == ""


def test_a_change_after_cleared_messages_that_no_summary_covers_any_more(caplog: pytest.LogCaptureFixture) -> None:
    """What the caller cleared does not come back: a new conversation begins, and a warning says so."""
    manager, _, history = summarised()
    assert ends(compose(manager, history[4:])) == ["summary 1", *spoken(6, 11)]
    assert ends(compose(manager, [*history[4:8], user("question five")])) == [*spoken(3, 4), "question five"]
    assert "without the summary so far" in caplog.text


def test_a_summary_of_what_is_gone_does_not_arrive(caplog: pytest.LogCaptureFixture) -> None:
    """The history changes while the model is at it: its answer is not used, and no second one is asked meanwhile."""
    asked, answer, light = threading.Event(), threading.Event(), Light()

    def slow(name: str, messages: list[Json]) -> str:
        asked.set()
        assert answer.wait(10)
        return light(name, messages)

    manager, history = summarising(slow), turns(1, 11)

    async def change() -> None:
        await manager.compose_payload(SYSTEM, history, [])
        await manager.on_turn_complete(history)
        before = manager.session
        assert await asyncio.to_thread(asked.wait, 10)
        asked.clear()
        other = [*history[:6], *turns(24, 31)]
        await manager.compose_payload(SYSTEM, other, [])
        await manager.on_turn_complete(other)
        answer.set()
        await asyncio.to_thread(before.summaries.wait)
        assert not asked.is_set()
        assert manager.summary_buffer == ""
        await complete(manager, other)
        payload = await manager.compose_payload(SYSTEM, other, [])
        assert ends(payload) == ["summary 2", *spoken(26, 31)]

    run(change())
    assert light.asked[-1][1] == [*spoken(1, 3), *spoken(24, 25)]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["turn", "turn", "turn", "clear", "again", "back"]), st.integers(0, 9)), max_size=24
    )
)
def test_what_was_summarised_stays_summarised(steps: list[tuple[str, int]]) -> None:
    """Whatever the caller clears of it and changes after it, each message of its history that is not summarised is
    sent once, in order, after the one summary."""
    light = Light()
    manager = summarising(light, threshold=4, batch=2)
    history, number = turns(1, 4), 4
    compose(manager, history)
    for step, size in steps:
        covered = {text for _, said in light.asked for text in said}
        open_part = next(at for at, text in enumerate(tail(history)) if text not in covered)
        number += 1
        match step:
            case "turn" | "clear":
                history = [*history[min(size, open_part) if step == "clear" else 0 :], *turns(number, number)]
            case "again":
                history = [*history[:-1], assistant(f"answer {number}")]
            case "back":
                most = (len(history) - max(open_part, 1)) // 2  # of the turns that are not summarised
                history = [*history[: len(history) - 2 * min(size, most)], *turns(number, number)]
        asked = history[:-1]
        expected = [text for text in tail(asked) if text not in covered]
        buffer = [f"summary {len(light.asked)}"] if light.asked else []
        assert ends(compose(manager, asked)) == [*buffer, *expected]
        run(complete(manager, history))
        assert manager.summary_buffer == (f"summary {len(light.asked)}" if light.asked else "")


def test_a_new_system_prompt_keeps_the_conversation() -> None:
    """A prompt with the time in it costs no summary."""
    manager, history = summarising(Light()), turns(1, 11)
    compose(manager, history, system="it is noon")
    run(complete(manager, history))
    payload = compose(manager, history, system="it is one")
    assert payload.messages[0] == {"role": "system", "content": "it is one"}
    assert [message["role"] for message in payload.messages].count("system") == 1
    assert ends(payload)[0] == "summary 1"


def test_system_messages_of_the_history_stay() -> None:
    """They are part of it, whatever the prompt says."""
    manager = sliding()
    history = [{"role": "system", "content": "be brief"}, user("hello")]
    for prompt in ("one", "two"):
        shown = compose(manager, history, system=prompt).messages
        assert [message["content"] for message in shown] == [prompt, "be brief", "hello"]


def test_a_prompt_that_changes_beside_system_messages_says_that_the_summary_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They would be replaced with it, so a new conversation begins: with a warning, and with every message once."""
    manager, history = summarising(Light()), [{"role": "system", "content": "be brief"}, *turns(1, 11)]
    compose(manager, history, system="it is noon")
    run(complete(manager, history))
    assert manager.summary_buffer == "summary 1"
    assert ends(compose(manager, history, system="it is one")) == spoken(1, 11)
    assert "without the summary so far" in caplog.text


@pytest.mark.accepts(281, 284)
def test_what_was_extracted_from_a_message_goes_with_it() -> None:
    """An edited question is extracted anew, onto the state before it; a reply made again changes nothing."""
    heard = []

    def chain(schema: Json, state: Mapping[str, Any], text: str) -> Json:
        heard.append(text)
        return {"destination": text} if text in ("Oslo", "Rome") else {"date": text}

    manager = extracting(chain)
    history = [user("Oslo"), assistant("when?"), user("May")]
    compose(manager, history)
    compose(manager, [*history, assistant("done")])
    assert manager.state == {"destination": "Oslo", "date": "May"}
    compose(manager, [*history, assistant("all done"), user("Rome")])
    assert manager.state == {"destination": "Rome", "date": "May"}
    compose(manager, [*history[:2], user("June")])
    assert manager.state == {"destination": "Oslo", "date": "June"}
    run(manager.on_turn_complete([*history[:2], user("June"), assistant("ok"), user("Rome"), assistant("ok")]))
    compose(manager, [*history[:2], user("June"), assistant("ok"), user("Rome"), assistant("ok"), user("July")])
    assert manager.state == {"destination": "Rome", "date": "July"}
    assert heard == ["Oslo", "May", "Rome", "June", "Rome", "July"]


@pytest.mark.accepts(269)
def test_an_edited_tool_result_is_sent_with_its_call() -> None:
    """The branch begins before the call, and nothing of the old result is left."""
    manager, (call, result) = sliding(), exchange("c1", 3)
    history = [user("go"), call, result, assistant("done"), user("again")]
    compose(manager, history)
    edited = [user("go"), call, result | {"content": "other words"}, assistant("done")]
    assert compose(manager, edited).messages[1:] == edited


def test_calls_that_wait_are_not_sent_and_nothing_is_lost_by_that() -> None:
    """A history that ends with an unanswered call is shown without it; with the answer both are there."""
    manager, history = sliding(), [user("go"), *exchange("c1", 3)]
    assert compose(manager, history[:2]).messages[1:] == [user("go")]
    assert compose(manager, history).messages[1:] == history
    abandoned = [user("go"), exchange("c2", 3)[0], user("never mind")]
    roles = [message["role"] for message in compose(manager, abandoned).messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_a_history_may_be_in_anthropics_form() -> None:
    """It goes out in OpenAI's."""
    history = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "noon"}]},
    ]
    shown = compose(sliding(), history).messages[1:]
    assert [message["role"] for message in shown] == ["user", "assistant", "tool"]
    assert (shown[0]["content"], shown[2]["content"]) == ("go", "noon")


# ------------------------------------------------------------------ plugin.json


@pytest.mark.accepts(285, 286)
def test_the_documents_plugin_makes_the_manager(tmp_path: Path) -> None:
    """From a file or its content: strategy B, its model named, summaries wanted from the 21st turn on."""
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(DOCUMENT))
    light = Light()
    for plugin in (DOCUMENT, file):
        manager = create_context_manager(
            plugin, model=light, budget=Budget(50_000, recall=0), token_counter=WordCounter()
        )
        assert isinstance(manager, SummarizationContextManager)
        assert manager.strategy == Summary(threshold=20, compression_model="gemini-1.5-flash")
    for turn in (20, 21):
        assert light.asked == []
        compose(manager, turns(1, turn))
        run(complete(manager, turns(1, turn)))
    assert light.asked == [("gemini-1.5-flash", spoken(1, 5))]


@pytest.mark.accepts(287)
def test_every_id_makes_its_manager() -> None:
    """Each of the three; C needs an extraction chain, and says so."""

    def plugin(plugin_id: str, **config: Any) -> Json:
        return {"id": "a", "contextStrategy": {"type": "plugin", "pluginId": plugin_id, "config": config}}

    assert isinstance(create_context_manager(plugin("std-sliding-window-strategy")), SlidingWindowContextManager)
    assert isinstance(create_context_manager(plugin("std-summarization-strategy")), SummarizationContextManager)
    booking = plugin("std-entity-extraction-strategy", schema={"date": "string"})
    made = create_context_manager(booking, extractor=lambda schema, state, text: {})
    assert isinstance(made, EntityExtractionContextManager)
    with pytest.raises(BadInput, match="needs an extractor"):
        create_context_manager(booking)
    assert create_context_manager(plugin("focus", keep=4)).strategy.name == "focus"
    with pytest.raises(BadInput, match=r"std-nothing.*choose one of std-sliding-window-strategy"):
        create_context_manager(plugin("std-nothing"))
    with pytest.raises(BadInput, match="cannot be read as a JSON object"):
        create_context_manager("no/such/plugin.json")


# ------------------------------------------------------------------ a caller that drops its oldest messages


def talk(first: int, last: int) -> list[Json]:
    return [message for n in range(first, last + 1) for message in (user(f"question {n}"), assistant(f"answer {n}"))]


def test_dropping_the_oldest_costs_what_is_new() -> None:
    """Only the new messages are written to the session, however many are dropped each turn."""
    manager = SlidingWindowContextManager()
    compose(manager, talk(1, 40))
    for turn in range(2, 20):
        size = manager.session.size
        payload = compose(manager, talk(turn, 39 + turn))
        assert ends(payload) == spoken(turn, 39 + turn)
        assert manager.session.size - size <= 2 + 3  # two messages, and what composing notes


@pytest.mark.slow
@pytest.mark.parametrize("window", [220, 400, 900])
def test_what_was_dropped_takes_no_room(window: int) -> None:
    """Every payload is that of a manager which never saw the dropped messages, also in a small window."""
    manager = SlidingWindowContextManager(budget=Budget(window, output=20, recall=0.0))
    for turn in range(1, 30):
        history = talk(turn, turn + 12)
        fresh = SlidingWindowContextManager(budget=Budget(window, output=20, recall=0.0))
        shown, wanted = compose(manager, history), compose(fresh, history)
        assert "question 0" not in str(shown)
        assert ends(shown)[-2:] == ends(wanted)[-2:]
        assert not {f"question {n}" for n in range(1, turn)} & set(ends(shown))


def test_a_plugin_json_may_say_the_goal() -> None:
    """Every payload shows it; what the program says counts more, and what is no text is refused."""
    plugin: Json = {"id": "a", "contextStrategy": {"type": "plugin", "pluginId": "std-sliding-window-strategy"}}
    plugin["contextStrategy"]["taskGoal"] = "sell more tea"
    assert "sell more tea" in str(compose(create_context_manager(plugin), [user("hello")]))
    own = create_context_manager(plugin, task_goal="sell coffee")
    assert "sell coffee" in str(compose(own, [user("hello")]))
    plugin["contextStrategy"]["taskGoal"] = 3
    with pytest.raises(BadInput, match=r"contextStrategy\.taskGoal is text, not 3"):
        create_context_manager(plugin)


@pytest.mark.parametrize("more", [{}, {"contextStrategy": ["rounds", "sliding"]}], ids=["no strategy", "a pipe"])
def test_the_goal_may_stand_beside_the_strategy(more: Json) -> None:
    """Where no object of a strategy could hold it; one that a strategy has goes before it."""
    plugin: Json = {"id": "a", "taskGoal": "sell more tea", **more}
    assert "sell more tea" in str(compose(create_context_manager(plugin), [user("hello")]))
    stage = {"type": "plugin", "pluginId": "sliding", "taskGoal": "sell coffee"}
    assert from_plugin({**plugin, "contextStrategy": stage}).task_goal == "sell coffee"
    with pytest.raises(BadInput, match=r"plugin\.json: taskGoal is text, not 3"):
        create_context_manager({**plugin, "taskGoal": 3})


@pytest.mark.parametrize(
    ("config", "words"),
    [({"compressionModel": 3}, "at `contextStrategy.config.compressionModel`; it takes threshold, batch, "),
     ({"threshold": "x"}, "at `contextStrategy.config.threshold`"),
     ({"treshold": 9}, "unknown field `treshold`; it takes threshold, batch, compressionModel")],
)  # fmt: skip
def test_an_error_names_the_keys_of_the_file(config: Json, words: str) -> None:
    """As they are spelled there, and where they stand."""
    chosen = {"type": "plugin", "pluginId": "std-summarization-strategy", "config": config}
    with pytest.raises(BadInput) as raised:
        create_context_manager({"id": "a", "contextStrategy": chosen})
    assert words in str(raised.value)
    assert "compression_model" not in str(raised.value)
