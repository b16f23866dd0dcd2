"""After a sweep the requests of a conversation grow at their end only, so that the provider's cache is used."""

import json
from pathlib import Path
from typing import Any

import pytest
from through_proxy import LISTS, PATHS, TALKERS, TOOLS, Talk, Through, asked_names, without_markers
from upstream import Asked
from upstream_script import Answer, answer, call

from sightline.view.call_rows import call_rows

pytestmark = pytest.mark.slow

WIRES = list(PATHS)
WINDOW = 4000


def as_blocks(wire: str, body: dict[str, Any]) -> list[Any]:
    """The messages, and each block of Anthropic's on its own, because a later block may join a message."""
    messages = without_markers(body[LISTS[wire]])
    if wire != "anthropic":
        return list(messages)
    found = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], block) for block in blocks]
    return found


class Reader:
    """Reads one file after another; every fifth answer is words, and every seventh brings something back."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        self.steps += 1
        if self.steps % 7 == 0 and "recall" in asked_names(asked):
            return answer(call("recall", {"query": "valve"}))
        if self.steps % 5 == 0:
            return answer(f"Answer {self.steps}.")
        return answer(call("read", {"path": f"file{self.steps}"}))


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_is_the_beginning_of_the_next_one(wire: str, tmp_path: Path) -> None:
    """Until a sweep: these are few, each makes room for several calls, and the log knows every one."""
    with Through(tmp_path, Reader(), window=WINDOW) as through:
        talk = Talk(through, wire, read=lambda path: f"{path}: the valve opens at {len(path)} degrees.\n" * 12)
        for number in range(9):
            talk.say(f"Question {number}?")
        bodies = through.bodies
        lists = [as_blocks(wire, body) for body in bodies]
        breaks = [at for at in range(1, len(lists)) if lists[at][: len(lists[at - 1])] != lists[at - 1]]
        assert through.upstream.invalid == []
        assert 1 <= len(breaks) <= len(lists) // 5, breaks
        with through.session() as session:
            reasons = [value["reason"] for _, _, value in session.annotations("receipt") if value.get("reason")]
        assert len(breaks) == len(reasons) + 1  # the first one


@pytest.mark.parametrize("wire", TALKERS)
def test_tools_are_the_agents_own_and_then_ours_once(wire: str, tmp_path: Path) -> None:
    """Ours join at the first sweep and stay, in the same words. All other fields are the agent's."""
    tool = TOOLS[wire] | ({"cache_control": {"type": "ephemeral"}} if wire == "anthropic" else {})
    with Through(tmp_path, Reader(), window=WINDOW) as through:
        talk = Talk(through, wire, tools=[tool], temperature=0.25)
        for number in range(4):
            talk.say(f"Question {number}?")
        tools = [json.dumps(body["tools"]) for body in through.bodies]
        first = next(at for at, each in enumerate(tools) if each != tools[0])
        assert len({*tools[:first]}) == len({*tools[first:]}) == 1
        assert all(body["tools"][0] == tool for body in through.bodies)
        assert asked_names(through.upstream.calls[-1]) == ["read", "expand", "recall", "look"]
        assert all(body["temperature"] == 0.25 for body in through.bodies)
        assert through.upstream.invalid == []


@pytest.mark.parametrize("own", range(5))
def test_there_are_at_most_four_markers(own: int, tmp_path: Path) -> None:
    """However many the agent sets itself, and wherever: the upstream refuses a fifth."""
    mark = {"cache_control": {"type": "ephemeral"}}
    with Through(tmp_path, Reader(), window=WINDOW) as through:
        system = [{"type": "text", "text": f"Rule {at}.", **(mark if at < min(own - 1, 2) else {})} for at in range(3)]
        fields: dict[str, Any] = {"cache_control": {"type": "ephemeral"}} if own == 4 else {}
        talk = Talk(through, "anthropic", system=system, tools=[TOOLS["anthropic"] | (mark if own else {})], **fields)
        for number in range(4):
            talk.list.append({"role": "user", "content": [{"type": "text", "text": f"Question {number}?", **mark}]})
            for message in talk.list[:-1]:  # agents move the marker of the last message
                for block in message["content"] if isinstance(message["content"], list) else ():
                    block.pop("cache_control", None)
            if own == 4:
                talk.list[-1]["content"][0].pop("cache_control")
            talk.say(f"Also {number}?")
        assert through.upstream.invalid == []
        assert len(through.names) == 1
        with through.session() as session:
            assert session.branches == [""]


@pytest.mark.parametrize("for_all", [False, True], ids=["markers in the list", "one for all"])
def test_an_agent_that_pays_for_an_hour_gets_an_hour(for_all: bool, tmp_path: Path) -> None:
    """Also in requests that are shortened; the upstream refuses five minutes before an hour."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    with Through(tmp_path, Reader(), window=WINDOW) as through:
        system = [{"type": "text", "text": "Keep the harbour open. " * 100, **mark}]
        talk = Talk(through, "anthropic", system=system, **(mark if for_all else {}))
        for number in range(5):
            for block in blocks_of(talk.list):
                block.pop("cache_control", None)
            said = {"type": "text", "text": f"Question {number}?"} | ({} if for_all else mark)
            talk.list.append({"role": "user", "content": [said]})
            talk.say(f"Also {number}?")
        assert through.upstream.invalid == []
        shortened = [body for body in through.bodies if "left out here" in json.dumps(body)]
        assert shortened
        for body in shortened:
            markers = [block["cache_control"] for block in blocks_of(body["messages"]) if "cache_control" in block]
            assert markers
            assert all(each == mark["cache_control"] for each in markers)
        with through.session() as session:
            rows, _ = call_rows(session, 0, 100)
        usages = [row.usage for row in rows if row.usage is not None]
        assert any(usage.hour_tokens for usage in usages)
        assert all(usage.hour_tokens == usage.written_tokens for usage in usages)


def blocks_of(messages: list[Any]) -> list[Any]:
    """The blocks of all messages."""
    return [block for message in messages if isinstance(message["content"], list) for block in message["content"]]


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_the_key_of_the_cache_is_the_agents_or_the_conversations(wire: str, tmp_path: Path) -> None:
    """One key for a conversation, so that the provider sends it to the same machine."""
    with Through(tmp_path, Reader(), window=WINDOW) as through:
        talks = [Talk(through, wire), Talk(through, wire, prompt_cache_key="mine")]
        for talk in talks:
            for number in range(3):
                talk.say(f"Question {number}?")
        keys = [body.get("prompt_cache_key") for body in through.bodies]
        assert {*keys} == {None, "mine", *(name for name in through.names if name in keys)}
        assert len({*keys}) == (3 if wire == "responses" else 2)  # servers of others may refuse an unknown field
