"""Conversations that were not made up here, sent through the proxy as an agent sends them: all of it every time."""

from pathlib import Path

import httpx2
import pytest
from loopback import Server
from recorded import FOLDERS, Conversation, conversations, sample
from upstream import Asked, Upstream
from upstream_script import Answer, Block, answer, call

from sightline import samples
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.values.items import Call, Message, Result, Role, plain_text
from sightline.wire import openai_chat

TOOL = {"type": "function", "function": {"name": "anything", "parameters": {"type": "object"}}}


def send_all(conversation: Conversation, folder: Path, window: int, most: int) -> None:
    """Send every request of a conversation, and check what arrives.

    Nothing is refused or over the window. Until the first sweep the bytes are the agent's, and after it every answer is
    the one that was recorded.
    """
    messages = conversation.messages
    calls = [at for at, each in enumerate(messages) if each.role is Role.ASSISTANT and at and _can_follow(messages, at)]
    waiting: list[Message] = []

    def recorded(_asked: Asked) -> Answer:
        return _answer(waiting[-1])

    with Upstream(recorded, window=window) as upstream, httpx2.Client(timeout=60, verify=False) as client:
        config = Config(
            folder=folder, root=folder / "sessions", window=window, upstreams={"openai": upstream.openai_url}
        )
        app = create_app(config)
        with Server(app) as server:
            sent: list[bytes] = []
            for at in calls[:most]:
                waiting.append(messages[at])
                written = openai_chat.write_messages(messages[:at])
                request = client.build_request(
                    "POST", f"{server.url}/v1/chat/completions", headers={"authorization": "Bearer any"},
                    json={"model": "gpt-4o", "messages": written, "tools": [TOOL]},
                )  # fmt: skip
                sent.append(request.content)
                response = client.send(request)
                assert response.status_code == 200, response.text
    assert upstream.invalid == []
    assert app.state.totals.unlogged == 0
    swept = next((n for n, asked in enumerate(upstream.calls) if asked.raw != sent[n]), len(sent))
    assert all(asked.raw != sent[n] for n, asked in enumerate(upstream.calls) if n > swept)
    assert all(asked.bill.given <= window for asked in upstream.calls if asked.bill)


def _can_follow(messages: list[Message], at: int) -> bool:
    """Whether a provider takes what comes before this message: every call has its result directly after it."""
    waiting: set[str] = set()
    for message in messages[:at]:
        results = {part.id for part in message.parts if isinstance(part, Result)}
        if ((results or waiting) and not results <= waiting) or (waiting and not results):
            return False
        waiting -= results
        waiting |= {part.id for part in message.parts if isinstance(part, Call)}
    return not waiting


def _answer(message: Message) -> Answer:
    text = plain_text(message.parts)
    calls = [part for part in message.parts if isinstance(part, Call) and isinstance(part.input, dict)]
    blocks: list[Block] = [text] if text.strip() or not calls else []
    return answer(*blocks, *(call(part.name, part.input, id=part.id) for part in calls))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", samples.names())
def test_a_sample_goes_through(name: str, tmp_path: Path) -> None:
    """At small size: the shipped samples, in a window that they do not fit into."""
    send_all(sample(name), tmp_path, 6_000, 40)


@pytest.mark.soak
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_recorded_conversation_goes_through(folder: str, tmp_path: Path) -> None:
    """At full size: every recorded conversation."""
    for number, conversation in enumerate(conversations(folder)):
        (place := tmp_path / str(number)).mkdir()
        send_all(conversation, place, 16_000, 200)
