"""The shipped samples: which files were touched and what the user said, asked of the digest's text alone."""

import json
from typing import Any

import pytest

from sightline import samples
from sightline.shorten.digest import digest
from sightline.values.items import Call, Item, Kind, Message, Role
from sightline.values.tokens import counter
from sightline.view.replay.formats import recorded

count = counter().count
KINDS = {Role.SYSTEM: Kind.SYSTEM, Role.USER: Kind.USER, Role.ASSISTANT: Kind.ASSISTANT, Role.TOOL: Kind.RESULT}
LEAST = 2000  # tokens; longer sessions have a tenth of their own
ACTIONS = {"read_file": "read", "edit_file": "changed", "write_file": "created"}


def items_of(messages: tuple[Message, ...]) -> list[Item]:
    """The items as a log has them: a message, then each of its calls."""
    items: list[Item] = []
    for number, message in enumerate(messages, start=1):
        calls = [part for part in message.parts if isinstance(part, Call)]
        spoken = tuple(part for part in message.parts if not isinstance(part, Call))
        items.append(Item(str(number), KINDS[message.role], spoken))
        items += [Item(f"{number}.{i}", Kind.CALL, (call,)) for i, call in enumerate(calls, start=1)]
    return items


def digest_of(sample: samples.Sample, locale: str = "en") -> str:
    tokens = max(LEAST, count(json.dumps(sample.messages, ensure_ascii=False)) // 10)
    return digest(
        items_of(recorded(sample.messages, sample.format).messages), tokens=tokens, count=count, locale=locale
    )


def questions(sample: samples.Sample) -> set[tuple[str, str]]:
    """Path and action of every call that names both and did not fail, read from the raw messages."""
    asked: set[tuple[str, str]] = set()
    results = _results(sample)
    for identity, name, given in _calls(sample):
        if name in ACTIONS and not results[identity].lstrip().startswith("error"):
            path, action = given["path"], ACTIONS[name]
            known = {path for path, _ in asked}
            asked.add((path, "changed" if action == "created" and path in known else action))
    return asked


def _calls(sample: samples.Sample) -> list[tuple[str, str, Any]]:
    if sample.format == "openai":
        calls = [call for message in sample.messages for call in message.get("tool_calls", [])]
        return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
    blocks = [block for message in sample.messages for block in message["content"] if block["type"] == "tool_use"]
    return [(block["id"], block["name"], block["input"]) for block in blocks]


def _results(sample: samples.Sample) -> dict[str, str]:
    if sample.format == "openai":
        return {
            message["tool_call_id"]: str(message["content"]) for message in sample.messages if message["role"] == "tool"
        }
    blocks = [block for message in sample.messages for block in message["content"] if block["type"] == "tool_result"]
    return {
        block["tool_use_id"]: content
        if isinstance(content := block["content"], str)
        else str(content[0].get("text", ""))
        for block in blocks
    }


@pytest.mark.parametrize("name", ["login_bug", "ops_incident", "data_report"])
def test_every_file_and_what_was_done_to_it_can_be_read_from_the_digest(name: str) -> None:
    """Each question from the recorded calls has its answer in one line of the text."""
    sample = samples.load(name)
    asked = questions(sample)
    lines = digest_of(sample).split("\n")
    assert asked
    for path, action in asked:
        assert any(line.startswith(f"- {path}: ") and action in line.partition(" — ")[0] for line in lines), (
            path,
            action,
        )


def user_texts(sample: samples.Sample) -> list[str]:
    """What the user typed, without results and pictures."""
    texts: list[str] = []
    for message in sample.messages:
        if message["role"] == "user":
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts += [block["text"] for block in blocks if block["type"] == "text"]
    return texts


@pytest.mark.parametrize(("name", "locale"), [("login_bug", "en"), ("travel_zh", "zh")])
def test_the_users_words_stand_verbatim(name: str, locale: str) -> None:
    """All of a session's requests, however long the session around them."""
    sample = samples.load(name)
    text = " ".join(digest_of(sample, locale).split())
    for said in user_texts(sample):
        assert " ".join(said.split()) in text
