"""The suite that others run over their wires: ours pass it, and the example does; and the registry of wires."""

import importlib.util
import re
from collections.abc import Callable, Iterator
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
from sightline.wire import anthropic, openai_chat, openai_responses, registry

Json = dict[str, Any]
EXAMPLE = Path(__file__).parents[2] / "examples" / "gemini_wire.py"


def load_example() -> ModuleType:
    """The module of the example, which no package contains."""
    spec = importlib.util.spec_from_file_location("gemini_wire", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gemini: Any = load_example()
REPLY: Json = {
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
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "cachedContentTokenCount": 4},
    "modelVersion": "gemini-3",
}


@pytest.fixture
def registered() -> Iterator[None]:
    """The example, registered for one test."""
    registry.register(gemini)
    yield
    del registry.REGISTERED["gemini"]


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
    "gemini": REPLY,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "reply"), [(openai_chat, CHAT), (openai_responses, RESPONSE), (anthropic, MESSAGE), (gemini, REPLY)]
)
def test_our_wires_and_the_example_pass(module: Any, reply: Json) -> None:
    """Every guarantee holds, registered or not."""
    check_wire(module, replies=[reply, CACHED[module.NAME]])


# ------------------------------------------------------------------ the registry


def test_a_registered_wire_is_found_everywhere(registered: None) -> None:
    """By its name, and by whoever is given messages, a reply or tools: nothing else had to be told."""
    with Session(MemoryStore("s")) as session:
        session.tools([{"functionDeclarations": [{"name": "look", "parameters": {"type": "object"}}]}])
        session.system("be brief")
        session.extend([{"role": "user", "parts": [{"text": "where?"}]}])
        session.reply(REPLY)
        for number in (1, 2):
            session.tool_result("look", f"here {number}")
        payload = session.compose(Budget(8_000))
    request = payload.write("gemini")
    assert "gemini" in registry.names()
    assert request["systemInstruction"] == {"parts": [{"text": "be brief"}]}
    assert {tool["name"] for tool in request["tools"][0]["functionDeclarations"]} >= {"look"}
    asked, answered, results = request["contents"]
    assert asked == {"role": "user", "parts": [{"text": "where?"}]}
    assert [part["functionCall"]["id"] for part in answered["parts"][2:]] == ["look", "look_2"]
    assert answered["parts"][2]["thoughtSignature"] == "c2ln"
    assert [part["functionResponse"]["response"] for part in results["parts"]] == [
        {"output": "here 1"},
        {"output": "here 2"},
    ]
    assert payload.openai()["messages"][2]["content"] == "hi"  # and every other format has the same conversation


def test_a_reply_of_a_registered_wire_is_read(registered: None) -> None:
    """With its model, usage and end."""
    message = wire.read_reply(REPLY)
    assert (message.model, message.usage) == ("gemini-3", Usage(9, 2, 4))
    assert next(part for part in message.parts if isinstance(part, Text | Call)) == Text("hi")
    cut = REPLY | {"candidates": [REPLY["candidates"][0] | {"finishReason": "MAX_TOKENS"}]}
    assert [wire.why_ended(each) for each in (REPLY, cut, {"promptFeedback": {"blockReason": "SAFETY"}})] == [
        "",
        "length",
        "refused",
    ]


def test_a_registered_wire_can_be_named_on_the_command_line(registered: None) -> None:
    """Recordings in its format are replayed and sessions exported, though the help lists only ours."""
    assert FormatChoice(last="jsonl").convert("gemini", None, None) == "gemini"
    assert list(FormatChoice().choices) == ["openai", "anthropic", "responses"]
    with pytest.raises(click.BadParameter, match="'other' is not one of"):
        FormatChoice().convert("other", None, None)
    recording = read_recording(b'[{"parts": [{"text": "hi"}]}]', "gemini")
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
        monkeypatch.setattr(registry, "installed", lambda: iter(offers))
        forget()

    yield install
    forget()


def test_an_installed_wire_needs_no_registration(install: Callable[..., None]) -> None:
    """Its messages are recognised and its name is known, as soon as its package is installed."""
    install(Offer("gemini", gemini))
    assert registry.names() == ["openai", "anthropic", "responses", "gemini"]
    assert wire.read_messages([{"role": "model", "parts": [{"text": "hi"}]}]) == [
        Message(Role.ASSISTANT, (Text("hi"),))
    ]
    assert plain_reply() == "hi"


def plain_reply() -> str:
    """The text of the example's reply."""
    return next(part.text for part in wire.read_reply(REPLY).parts if isinstance(part, Text))


@pytest.mark.parametrize(
    ("offers", "said"),
    [
        ((), "unknown format 'other'; choose one of openai, anthropic, responses"),
        ((Offer("other", ImportError("no module")),), "cannot be loaded"),
        ((Offer("other", SimpleNamespace(NAME="other")),), "has no LIST"),
        ((Offer("other", gemini), type("Twin", (Offer,), {})("other", gemini)), None),
    ],
)
def test_what_is_no_wire_is_refused(install: Callable[..., None], offers: tuple[Offer, ...], said: str | None) -> None:
    """The error says what is missing; two entry points of the same value are one."""
    install(*offers)
    if said is None:
        assert registry.wire("other") is gemini
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
