"""Strands with Sightline. Run by `test_frameworks.py` in an environment that has Strands."""

import asyncio
import base64
import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool
from strands.middleware import InvokeModelStage
from strands.models import Model
from strands.session import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

import sightline as sl
from sightline.adapters import strands_messages
from sightline.adapters.strands import SightlineConversationManager
from sightline.errors import BadInput
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import counter

BUDGET = sl.Budget(window=12_000, output=1_000)
SYSTEM = "You look after the servers of a small company. " * 40
TURNS = 60
Json = dict[str, Any]
Reply = list[Json] | Callable[[Json], list[Json]] | Exception


@tool
def shell(command: str) -> str:
    """Run a command."""
    return f"$ {command}\n" + "\n".join(f"{command} line {number}: all is well here" for number in range(60))


class ScriptedModel(Model):  # type: ignore[misc]
    """Says what it is told, and refuses what Bedrock would refuse."""

    def __init__(self, replies: list[Reply], config: Json | None = None) -> None:
        self.replies, self.config, self.calls = iter(replies), config or {}, []

    def get_config(self) -> Json:
        return self.config

    def update_config(self, **config: Any) -> None:
        self.config.update(config)

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any) -> AsyncIterator:
        call = {"messages": messages, "tools": tool_specs, "system": system_prompt}
        check(messages)
        self.calls.append(json.loads(json.dumps(call, default=lambda raw: base64.b64encode(raw).decode())))
        reply = next(self.replies)
        if isinstance(reply, Exception):
            raise reply
        blocks = reply(call) if callable(reply) else reply
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            if "toolUse" in block:
                use = {key: block["toolUse"][key] for key in ("name", "toolUseId")}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(block["toolUse"]["input"])}}}}
            elif "reasoningContent" in block:
                yield {"contentBlockStart": {"start": {}}}
                for name, value in block["reasoningContent"]["reasoningText"].items():
                    yield {"contentBlockDelta": {"delta": {"reasoningContent": {name: value}}}}
            else:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if any("toolUse" in each for each in blocks) else "end_turn"}}
        usage = {"inputTokens": count(call), "outputTokens": 20, "totalTokens": count(call) + 20}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def check(messages: list[Json]) -> None:
    """Fail as the provider does: roles in turn, each call answered in the next message, nothing empty."""
    assert messages
    assert messages[0]["role"] == "user"
    waiting: set[str] = set()
    for before, message in zip([None, *messages], messages, strict=False):
        assert before is None or before["role"] != message["role"]
        assert message["content"]
        assert all(len(block) == 1 for block in message["content"])
        assert all(block.get("text", "x").strip() for block in message["content"])
        results = {block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block}
        assert results == waiting
        waiting = {block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block}
    assert not waiting


def count(call: Json) -> int:
    """The tokens of a request: system prompt, texts, calls and definitions of the tools."""
    texts = [call["system"] or "", *(json.dumps(spec) for spec in call["tools"] or [])]
    for message in call["messages"]:
        for block in message["content"]:
            texts += [block.get("text", "")]
            texts += [json.dumps(block["toolUse"]["input"])] if "toolUse" in block else []
            texts += [each.get("text", "") for each in block.get("toolResult", {}).get("content", [])]
    return sum(map(counter("o200k_base").count, texts))


def use(name: str, number: Any, **given: Any) -> Json:
    return {"toolUse": {"toolUseId": f"{name}{number}", "name": name, "input": given}}


def turns(number: int = TURNS, start: int = 0) -> list[Reply]:
    """Rounds of two calls at once, and an answer."""
    both = [(f"a{at}", f"df {at}", f"b{at}") for at in range(start, start + number)]
    rounds = [[use("shell", one, command=line), use("shell", other, command="top")] for one, line, other in both]
    return [*rounds, [{"text": "All is well."}]]


def agent(manager: Any, replies: list[Reply], **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies)
    options = {"tools": [shell], "system_prompt": SYSTEM, "callback_handler": None, **options}
    return Agent(model, conversation_manager=manager, **options), model


def manager(stores: Any = None, **options: Any) -> SightlineConversationManager:
    return SightlineConversationManager("T", BUDGET, sessions=stores or sl.MemoryStores(), **options)


def texts(session: sl.Session) -> list[str]:
    return [text for item in session.items if (text := plain_text(item.parts)) and text != SYSTEM]


# ---------------------------------------------------------------------- runs


@pytest.mark.parametrize("streamed", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(streamed: bool) -> None:
    """Sixty rounds of two calls: each request is valid and fits; the agent's list and the log have every message."""
    ours = manager()
    made, model = agent(ours, turns())

    async def stream() -> None:
        async for _ in made.stream_async("Look at the disks."):
            pass

    asyncio.run(stream()) if streamed else made("Look at the disks.")
    assert len(model.calls) == TURNS + 1
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert {call["system"] for call in model.calls} == {SYSTEM}
    assert len(made.messages) == 2 + 2 * TURNS
    outputs = [
        each["text"] for message in made.messages for block in message["content"] if "toolResult" in block
        for each in block["toolResult"]["content"]
    ]  # fmt: skip
    assert len(outputs) == 2 * TURNS
    assert sum(map(counter("o200k_base").count, outputs)) > 3 * BUDGET.window
    assert texts(ours.session) == ["Look at the disks.", *outputs, "All is well."]
    assert sum(item.kind is Kind.CALL for item in ours.session.items) == 2 * TURNS
    assert ours.session.branches == [""]


def test_nothing_is_shortened_while_it_fits() -> None:
    """The model gets the very request that it would get without us: messages, system prompt and tools."""
    plain, model = agent(None, turns(3))
    plain("Look at the disks.")
    made, ours = agent(SightlineConversationManager("T", sl.Budget(100_000), sessions=sl.MemoryStores()), turns(3))
    made("Look at the disks.")
    assert ours.calls == model.calls


def test_our_tools_join_with_the_first_call_that_shows_less_and_stay() -> None:
    """Also in a new process, and for the calls after an answer."""
    stores = sl.MemoryStores()
    made, model = agent(manager(stores), [*turns(20), [{"text": "Yes."}]])
    made("Look at the disks.")
    made("And now?")
    made, again = agent(manager(stores), [[{"text": "Yes."}]])
    made("And now?")
    offers = [any(spec["name"] == "expand" for spec in call["tools"]) for call in (*model.calls, *again.calls)]
    shows_less = ["#" in json.dumps(call["messages"]) for call in (*model.calls, *again.calls)]
    assert offers == sorted(offers)
    assert offers == shows_less
    assert not offers[0]


def test_the_model_sees_again_what_was_shortened() -> None:
    """`expand` and `recall` come with the manager; they answer from the log."""

    def bring_back(call: Json) -> list[Json]:
        handle = re.search(r"#\d+", json.dumps(call["messages"]))
        assert handle
        return [use("expand", 1, id=handle[0]), use("recall", 2, query="df 0 line 33"), use("expand", 3, id="#99999")]

    made, model = agent(manager(), [*turns(30)[:-1], bring_back, [{"text": "Seen."}]])
    assert str(made("Look.")).strip() == "Seen."
    expanded, recalled, unknown = (block["toolResult"] for block in model.calls[-1]["messages"][-1]["content"])
    assert re.match(r"\[#\d+ lines 1–", expanded["content"][0]["text"])
    assert "df 0 line 33: all is well here" in recalled["content"][0]["text"]
    assert unknown["status"] == "error" or "no item" in unknown["content"][0]["text"]
    assert count(model.calls[-1]) <= BUDGET.window - BUDGET.output


def test_without_the_tools_nothing_speaks_of_them() -> None:
    """An agent that has no `expand` is not told to use it."""
    made, model = agent(manager(recall=False), turns(30))
    made("Look.")
    assert "expand" not in json.dumps(model.calls[-1]["messages"])
    assert {spec["name"] for spec in model.calls[-1]["tools"]} == {"shell"}


@pytest.mark.parametrize(("strategy", "looks"), [("focus", True), ("sliding", False)])
def test_where_a_strategy_lowers_nothing_there_is_no_look(strategy: str, looks: bool) -> None:
    """The tools join when something was shortened; of them only what can do something."""
    made, model = agent(manager(settings=sl.Settings(strategy=strategy)), turns(30))
    made("Look.")
    assert {spec["name"] for spec in model.calls[-1]["tools"]} == {"shell", "expand", "recall", *["look"] * looks}


def test_a_refused_call_is_made_smaller_until_it_fits() -> None:
    """On an overflow the next attempt is smaller; the agent's list stays whole."""
    refusal = ContextWindowOverflowException("prompt is too long: 14000 tokens > 12000 maximum")
    rounds = turns(30)
    made, model = agent(manager(), [*rounds[:20], refusal, refusal, *rounds[20:]])
    made("Look.")
    sizes = [count(call) for call in model.calls]
    assert sizes[20] > sizes[21] > sizes[22]
    assert len(made.messages) == 2 + 2 * 30


def test_a_call_that_cannot_be_smaller_ends_with_the_providers_error() -> None:
    """No endless loop: what the program said itself is not shortened away."""
    refusal = ContextWindowOverflowException("too long")
    made, model = agent(manager(), [refusal] * 50)
    with pytest.raises(ContextWindowOverflowException, match="too long"):
        made("Look.")
    assert len(model.calls) < 5


def test_a_new_process_goes_on_with_the_same_next_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's list comes back from the log, and the next call is what it would have been."""
    home = tmp_path / "home"
    monkeypatch.setenv("SIGHTLINE_HOME", str(home))
    ours = manager(tmp_path)
    made, model = agent(ours, [*turns(30), [{"text": "Still well."}]])
    made("Look at the disks.")
    ours.close()
    there = shutil.copytree(home, tmp_path / "copy")
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "SIGHTLINE_HOME": str(there)}, stdout=subprocess.PIPE, check=True)
    made("And now?")
    assert json.loads(done.stdout) == model.calls[-1]
    assert ours.session.branches == [""]


def go_on(folder: str) -> None:
    """The other process: print what the model gets."""
    ours = manager(Path(folder))
    again, model = agent(ours, [[{"text": "Still well."}]])
    again("And now?")
    print(json.dumps(model.calls[0]))
    assert ours.session.branches == [""]


def test_thinking_and_blanks_are_the_same_after_a_restart() -> None:
    """Models that think often say a blank before a call. The next requests are those of a run that went on."""

    def thought(number: int, *blocks: Json) -> list[Json]:
        told = {"text": f"thought {number} " * 30, "signature": f"s{number}"}
        return [{"reasoningContent": {"reasoningText": told}}, {"text": "\n\n"}, *blocks]

    def script() -> list[Reply]:
        rounds = [thought(at, use("shell", at, command=f"df {at}")) for at in range(18)]
        return [*rounds[:9], thought(90, {"text": "All is well."}), *rounds[9:], [{"text": "Yes."}]]

    made, whole = agent(manager(), script())
    made("Look at the disks.")
    made("And again?")
    stores = sl.MemoryStores()
    first, before = agent(manager(stores), script()[:10])
    first("Look at the disks.")
    again, after = agent(manager(stores), script()[10:])
    assert [each["content"] for each in again.messages] == [each["content"] for each in first.messages]
    again("And again?")
    assert [call["messages"] for call in (*before.calls, *after.calls)] == [call["messages"] for call in whole.calls]
    assert [each["content"] for each in again.messages] == [each["content"] for each in made.messages]


def test_a_session_manager_of_strands_restores_the_list_and_the_log_goes_on(tmp_path: Path) -> None:
    """Two agents one after another over the same files: no branch, every message once."""
    stores = sl.MemoryStores()
    for start in (0, 20):
        ours = manager(stores)
        files = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
        made, model = agent(ours, turns(20, start), session_manager=files, agent_id="keeper")
        made("Look.")
        assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert len(made.messages) == 2 * (2 + 2 * 20)
    assert ours.session.branches == [""]
    assert texts(ours.session).count("Look.") == 2
    assert ours.get_state()["removed_message_count"] == 0
    with pytest.raises(ValueError, match="Invalid conversation manager state"):
        ours.restore_from_session({"__name__": "SlidingWindowConversationManager", "removed_message_count": 2})


def test_another_program_goes_on_with_the_session_and_back_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the library adds is in the next agent's list, and everything is in the log once."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    for number in range(3):
        ours = manager(tmp_path)
        made, model = agent(ours, [[{"text": f"Hello {number}."}]])
        made(f"I am Ann {number}.")
        ours.close()
        with sl.Session.resume("T", tmp_path) as session:
            session.user(f"My colour is blue {number}.")
            session.compose(BUDGET)
            session.reply(f"Noted {number}.")
    shown = [block["text"] for message in model.calls[-1]["messages"] for block in message["content"]]
    said = [(f"I am Ann {at}.", f"Hello {at}.", f"My colour is blue {at}.", f"Noted {at}.") for at in range(3)]
    assert shown == [text for each in said for text in each][:-3]
    with sl.Session.inspect("T", tmp_path) as session:
        assert texts(session) == [text for each in said for text in each]
        assert session.branches == [""]


def test_an_edited_question_is_a_branch() -> None:
    """What was taken out of the agent's list stays in the log."""
    ours = manager()
    made, model = agent(ours, [[{"text": "Blue."}], [{"text": "Red."}]])
    made("Which colour?")
    del made.messages[:]
    made("Which other colour?")
    assert [message["content"] for message in model.calls[-1]["messages"]] == [[{"text": "Which other colour?"}]]
    assert len(ours.session.branches) == 2


def test_blocks_that_another_middleware_adds_are_sent_and_not_kept() -> None:
    """What is made anew for each call is no part of the conversation: no branches."""
    ours = manager()
    made, model = agent(ours, turns(30))

    def inject(context: Any) -> Any:
        *others, last = context.messages
        content = [*last["content"], {"text": f"It is {len(others)} o'clock. " * 100}]
        return context.replace(messages=[*others, {**last, "content": content}], dynamic_trailing_blocks=1)

    made.add_middleware(InvokeModelStage.Input, inject)
    made("Look.")
    assert all("o'clock" in call["messages"][-1]["content"][-1]["text"] for call in model.calls)
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert ours.session.branches == [""]
    assert "o'clock" not in "".join(texts(ours.session))


def test_the_window_of_the_model_is_the_budget() -> None:
    """Without a budget; a model of which nothing is known says what to do."""
    made, model = agent(SightlineConversationManager("T", sessions=sl.MemoryStores()), turns(40))
    model.config = {"model_id": "any", "context_window_limit": 9_000, "max_tokens": 500}
    made("Look.")
    assert 4_000 < max(map(count, model.calls)) <= 8_500
    unknown, _ = agent(SightlineConversationManager("U", sessions=sl.MemoryStores()), turns(1))
    with pytest.raises(Exception, match="context_window_limit") as caught:
        unknown("Look.")
    assert isinstance(caught.value, BadInput) or isinstance(caught.value.__cause__, BadInput)


# ---------------------------------------------------------------------- contents

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = {"image": {"format": "png", "source": {"bytes": PNG}}}
EVERY: list[Json] = [
    {"role": "user", "content": [
        {"text": "Look at these."}, IMAGE,
        {"document": {"format": "pdf", "name": "plan", "source": {"bytes": b"%PDF-1"}, "citations": {"enabled": True}}},
        {"document": {"format": "txt", "name": "n", "source": {"location": {"type": "s3", "uri": "s3://b/n"}}}},
        {"video": {"format": "mp4", "source": {"bytes": b"\x00\x01"}}}, {"cachePoint": {"type": "default"}},
        {"guardContent": {"text": {"text": "Only facts.", "qualifiers": ["query"]}}},
    ]},
    {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": b"\xff\x00"}},
        {"citationsContent": {"content": [{"text": "So "}, {"text": "it is."}], "citations": [{"title": "plan"}]}},
        {"toolUse": {"toolUseId": "a", "name": "shell", "input": {"x": [1, {"y": None}]}, "reasoningSignature": "s"}},
        {"toolUse": {"toolUseId": "b", "name": "shell", "input": {}}},
    ]},
    {"role": "user", "content": [
        {"toolResult": {"toolUseId": "a", "status": "error", "content": [{"text": "no"}, {"json": {"m": [None]}}]}},
        {"toolResult": {"toolUseId": "b", "status": "success", "content": [IMAGE]}},
        {"cachePoint": {"type": "default", "ttl": "1h"}},
    ]},
    {"role": "assistant", "content": [{"text": "Done."}]},
]  # fmt: skip


def test_every_kind_of_block_comes_back_as_it_was() -> None:
    """From the neutral messages that the log has."""
    read = strands_messages.read(EVERY)
    assert strands_messages.write(read) == EVERY
    assert strands_messages.read(strands_messages.write(read)) == read


def test_every_kind_of_block_goes_through_an_agent_and_a_log() -> None:
    """Sent as they are, and restored by a new agent."""
    stores = sl.MemoryStores()
    large = SightlineConversationManager("T", sl.Budget(200_000), sessions=stores)
    made, model = agent(large, [[{"text": "Yes."}]], messages=copy.deepcopy(EVERY))
    made("And?")
    assert model.calls[0]["messages"][:4] == json.loads(
        json.dumps(EVERY, default=lambda raw: base64.b64encode(raw).decode())
    )
    again, _ = agent(manager(stores), [])
    restored = [{"role": each["role"], "content": each["content"]} for each in again.messages]
    assert restored[:4] == EVERY
    assert [each["content"] for each in restored[4:]] == [[{"text": "And?"}], [{"text": "Yes."}]]


if __name__ == "__main__":
    go_on(sys.argv[1])
