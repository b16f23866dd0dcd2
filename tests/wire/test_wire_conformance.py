"""The suite that others run over their wires: ours pass it, and the example does; and the registry of wires."""

import importlib.util
import re
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
from test_wire_detection import CHAT, MESSAGE, RESPONSE

from sightline import wire
from sightline.cli.options import FormatChoice
from sightline.errors import BadInput
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, check_wire
from sightline.values import foreign_code
from sightline.values.items import Call, Message, Role, Text, Usage
from sightline.view.replay.formats import read_recording
from sightline.wire import anthropic, gemini, openai_chat, openai_responses, registry

Json = dict[str, Any]
EXAMPLE = Path(__file__).parents[2] / "examples" / "converse_wire.py"


def load_example() -> ModuleType:
    """The module of the example, which no package contains."""
    spec = importlib.util.spec_from_file_location("converse_wire", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


converse: Any = load_example()
REPLY: Json = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                {"text": "hi"},
                {"toolUse": {"toolUseId": "call 1", "name": "look", "input": {"at": "a"}}},
                {"toolUse": {"toolUseId": "call 1", "name": "look", "input": {}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 9, "outputTokens": 2, "cacheReadInputTokens": 4},
}
CONTENTS: Json = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "hi"},
                    {"functionCall": {"name": "look", "args": {"at": "a"}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "look", "args": {}}},
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5, "cachedContentTokenCount": 4,
        "totalTokenCount": 16,
    },
    "modelVersion": "gemini-3",
}  # fmt: skip


@pytest.fixture
def registered() -> Iterator[None]:
    """The example, registered for one test."""
    registry.register(converse)
    yield
    del registry.REGISTERED["converse"]


DETAILS = {"cached_tokens": 7}
CACHED: dict[str, Json] = {
    "openai": CHAT | {"usage": {"prompt_tokens": 9, "completion_tokens": 40, "prompt_tokens_details": DETAILS}},
    "responses": RESPONSE | {"usage": {"input_tokens": 9, "output_tokens": 40, "input_tokens_details": DETAILS}},
    "anthropic": MESSAGE
    | {
        "usage": {
            "input_tokens": 2,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 7,
            "output_tokens": 40,
        }
    },
    "gemini": CONTENTS,
    "converse": REPLY,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "reply"),
    [
        (openai_chat, CHAT),
        (openai_responses, RESPONSE),
        (anthropic, MESSAGE),
        (gemini, CONTENTS),
        (converse, REPLY),
    ],
)
def test_our_wires_and_the_example_pass(module: Any, reply: Json) -> None:
    """Every guarantee holds, registered or not."""
    check_wire(module, replies=[reply, CACHED[module.NAME]])


# ------------------------------------------------------------------ the registry


def test_a_registered_wire_is_found_everywhere(registered: None) -> None:
    """By its name, and by whoever is given messages, a reply or tools: nothing else had to be told."""
    with Session(MemoryStore("s")) as session:
        session.tools([{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}])
        session.system("be brief")
        session.extend([{"role": "user", "content": [{"text": "where?"}]}])
        session.reply(REPLY)
        for number in (1, 2):
            session.tool_result("call 1", f"here {number}")
        payload = session.compose(Budget(8_000))
    request = payload.write("converse")
    assert "converse" in registry.names()
    assert request["system"] == [{"text": "be brief"}]
    assert {tool["toolSpec"]["name"] for tool in request["toolConfig"]["tools"]} >= {"look"}
    asked, answered, results = request["messages"]
    assert asked == {"role": "user", "content": [{"text": "where?"}]}
    assert answered["content"][0] == REPLY["output"]["message"]["content"][0]
    assert [block["toolUse"]["toolUseId"] for block in answered["content"][2:]] == ["call_1", "call_1_2"]
    assert [block["toolResult"]["content"] for block in results["content"]] == [
        [{"text": "here 1"}],
        [{"text": "here 2"}],
    ]
    assert payload.openai()["messages"][2]["content"] == "hi"  # and every other format has the same conversation


def test_a_reply_of_a_registered_wire_is_read(registered: None) -> None:
    """With its usage and end."""
    message = wire.read_reply(REPLY)
    assert message.usage == Usage(13, 2, 4)
    assert next(part for part in message.parts if isinstance(part, Text | Call)) == Text("hi")
    ends = [wire.why_ended(REPLY | {"stopReason": word}) for word in ("tool_use", "max_tokens", "content_filtered")]
    assert ends == ["", "length", "refused"]


def test_a_registered_wire_can_be_named_on_the_command_line(registered: None) -> None:
    """Recordings in its format are replayed and sessions exported, though the help lists only ours."""
    assert FormatChoice(last="jsonl").convert("converse", None, None) == "converse"
    assert list(FormatChoice().choices) == ["openai", "anthropic", "responses", "gemini"]
    with pytest.raises(click.BadParameter, match="'other' is not one of"):
        FormatChoice().convert("other", None, None)
    recording = read_recording(b'[{"role": "user", "content": [{"text": "hi"}]}]', "converse")
    assert recording.messages == (Message(Role.USER, (Text("hi"),)),)


class Offer:
    """An entry point of an installed package."""

    def __init__(self, name: str, found: object) -> None:
        self.name, self.value, self._found = name, f"package.{name}", found

    def load(self) -> object:
        """What it names."""
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs packages for one test."""

    def forget() -> None:
        registry._offered.cache_clear()
        registry._loaded.cache_clear()
        foreign_code._warned.clear()

    def install(*offers: Offer) -> None:
        monkeypatch.setattr(metadata, "entry_points", lambda group: offers if group == registry.GROUP else ())
        forget()

    yield install
    forget()


def test_an_installed_wire_needs_no_registration(install: Callable[..., None]) -> None:
    """Its messages are recognised and its name is known, as soon as its package is installed."""
    install(Offer("converse", converse))
    assert registry.names() == ["openai", "anthropic", "responses", "gemini", "converse"]
    assert wire.read_messages([{"role": "assistant", "content": [{"text": "hi"}]}]) == [
        Message(Role.ASSISTANT, (Text("hi"),))
    ]
    assert plain_reply() == "hi"


def plain_reply() -> str:
    """The text of the example's reply."""
    return next(part.text for part in wire.read_reply(REPLY).parts if isinstance(part, Text))


@pytest.mark.parametrize(
    ("offers", "said"),
    [
        ((), "unknown format 'other'; choose one of openai, anthropic, responses, gemini"),
        ((Offer("other", ImportError("no module")),), "cannot be loaded"),
        ((Offer("other", SimpleNamespace(NAME="other")),), "has no LIST"),
        ((Offer("other", converse), type("Twin", (Offer,), {})("other", converse)), None),
    ],
)
def test_what_is_no_wire_is_refused(install: Callable[..., None], offers: tuple[Offer, ...], said: str | None) -> None:
    """The error says what is missing; two entry points of the same value are one."""
    install(*offers)
    if said is None:
        assert registry.wire("other") is converse
        return
    with pytest.raises(BadInput, match=said):
        registry.wire("other")


def test_our_names_are_taken() -> None:
    """A wire cannot replace one of ours."""
    with pytest.raises(BadInput, match="'openai' already"):
        registry.register(SimpleNamespace(**vars(openai_chat)))


@pytest.mark.slow
def test_the_examples_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/wires.md, from beginning to end."""
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    monkeypatch.setattr(registry, "REGISTERED", {})
    page = (EXAMPLE.parents[1] / "docs" / "wires.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, names)
    names["test_the_format_keeps_its_promises"]()
    assert [item.kind.name for item in names["session"].items] == ["USER", "ASSISTANT"]
