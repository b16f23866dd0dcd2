"""The shipped samples: readable, valid for their provider, and what their descriptions promise."""

import json
import re
import struct
import zlib
from base64 import b64decode
from typing import Any

import msgspec
import pytest

from sightline import samples
from sightline.errors import BadInput

ALL = ["data_report", "login_bug", "long_chat", "ops_incident", "travel_zh"]


def calls_and_results(sample: samples.Sample) -> list[tuple[list[str], list[str]]]:
    """For every message the ids it calls and the ids it answers, whatever the format."""
    pairs = []
    for message in sample.messages:
        if sample.format == "openai":
            called = [call["id"] for call in message.get("tool_calls", [])]
            pairs.append((called, [message["tool_call_id"]] if message["role"] == "tool" else []))
        else:
            blocks = message["content"]
            called = [block["id"] for block in blocks if block["type"] == "tool_use"]
            pairs.append((called, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]))
    return pairs


def tool_names(sample: samples.Sample) -> set[str]:
    return {tool["name"] if sample.format == "anthropic" else tool["function"]["name"] for tool in sample.tools}


def called_names(sample: samples.Sample) -> set[str]:
    if sample.format == "openai":
        return {call["function"]["name"] for message in sample.messages for call in message.get("tool_calls", [])}
    return {block["name"] for message in sample.messages for block in message["content"] if block["type"] == "tool_use"}


def blocks_of(sample: samples.Sample, kind: str) -> list[dict[str, Any]]:
    return [block for message in sample.messages for block in message["content"] if block["type"] == kind]


def test_the_names_are_those_of_the_five_samples() -> None:
    """Nothing else is shipped by accident."""
    assert samples.names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_every_call_is_answered_at_once_and_only_once(name: str) -> None:
    """Results follow their calls directly and in order; no id is used twice."""
    waiting: list[str] = []
    seen: set[str] = set()
    for called, answered in calls_and_results(samples.load(name)):
        assert answered == waiting[: len(answered)]
        waiting = waiting[len(answered) :]
        assert not (called and waiting)
        assert seen.isdisjoint(called)
        seen.update(called)
        waiting += called
    assert not waiting


@pytest.mark.parametrize("name", ALL)
def test_a_sample_begins_with_the_user_and_uses_only_its_tools(name: str) -> None:
    """Title, description and system text are there, and every called tool is defined."""
    sample = samples.load(name)
    assert sample.name == name
    assert sample.title
    assert sample.about
    assert sample.system
    assert sample.messages[0]["role"] == "user"
    assert {message["role"] for message in sample.messages} <= {"user", "assistant", "tool"}
    assert called_names(sample) <= tool_names(sample)


@pytest.mark.parametrize("name", ALL)
def test_arguments_are_json_objects(name: str) -> None:
    """OpenAI's as text, Anthropic's as they are."""
    sample = samples.load(name)
    if sample.format == "anthropic":
        assert all(isinstance(block["input"], dict) for block in blocks_of(sample, "tool_use"))
        return
    calls = [call for message in sample.messages for call in message.get("tool_calls", [])]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)


def test_samples_are_small_and_name_no_machine() -> None:
    """All five together stay below 700 KB and hold no path of the machine they were written on."""
    texts = [msgspec.json.encode(samples.load(name)).decode() for name in ALL]
    assert sum(map(len, texts)) < 700_000
    assert not any(re.search(r"/(home|root|Users|tmp|work)/", text) for text in texts)


def test_loading_twice_shares_nothing() -> None:
    """A caller may change what it got."""
    samples.load("login_bug").messages.clear()
    assert samples.load("login_bug").messages


def test_an_unknown_name_is_refused_with_the_valid_ones() -> None:
    """The message says what there is."""
    for name in ("nope", "../secret", "", "login_bug.json"):
        with pytest.raises(BadInput, match="data_report, login_bug, long_chat, ops_incident, travel_zh"):
            samples.load(name)


def test_the_data_report_has_thinking_an_error_and_a_real_picture() -> None:
    """Signed thinking blocks, one failed call, and a PNG whose checksums hold."""
    sample = samples.load("data_report")
    assert all(block["signature"] for block in blocks_of(sample, "thinking"))
    results = blocks_of(sample, "tool_result")
    assert any(block.get("is_error") for block in results)
    inner = [part for block in results if isinstance(block["content"], list) for part in block["content"]]
    (picture,) = [part["source"]["data"] for part in inner if part["type"] == "image"]
    raw = b64decode(picture)
    length = struct.unpack(">I", raw[8:12])[0]
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    assert zlib.crc32(raw[12 : 16 + length]) == struct.unpack(">I", raw[16 + length : 20 + length])[0]


def test_the_incident_has_what_breaks_naive_tools() -> None:
    """A large result, an empty one, an interrupted one, the same file three times, and difficult Unicode."""
    sample = samples.load("ops_incident")
    results = blocks_of(sample, "tool_result")
    assert 50_000 < max(len(block["content"].encode()) for block in results) <= 60_000
    assert any(block["content"] == "" for block in results)
    assert any("interrupted" in block["content"] for block in results if block.get("is_error"))
    reads = [block["input"].get("path") for block in blocks_of(sample, "tool_use") if block["name"] == "read_file"]
    assert reads.count("deploy/gateway.yaml") == 3
    text = json.dumps(sample.messages, ensure_ascii=False)
    assert all(piece in text for piece in ("\u0301", "\u200d", "ה", "م", "さ", "😡"))


def test_the_replayed_sample_has_the_length_to_be_watched() -> None:
    """Some sixty messages, parallel calls, a log of 400 lines, and the constraint the user sets midway."""
    sample = samples.load("login_bug")
    assert 45 <= len(sample.messages) <= 70
    assert any(len(message.get("tool_calls", [])) > 1 for message in sample.messages)
    assert max(message["content"].count("\n") for message in sample.messages if message["content"]) >= 400
    assert any("never touch the migrations folder" in (message["content"] or "") for message in sample.messages)


def test_the_long_chat_has_160_turns() -> None:
    """User and assistant in turn, nothing else."""
    assert [message["role"] for message in samples.load("long_chat").messages] == ["user", "assistant"] * 160
