"""The OpenStarry document from beginning to end: three agents, each with the strategy that its plugin.json names.

    python examples/documents/openstarry.py

The models are scripted, so this runs without a network. It prints what is sent to them.
"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightline import BadInput, Budget, PinnedOverflow
from sightline.origins.openstarry import (
    EntityExtractionContextManager,
    IContextManager,
    LLMPayload,
    SummarizationContextManager,
    create_context_manager,
    take_turn,
)

EXAMPLES = Path(__file__).resolve().parents[1]
Chat = dict[str, Any]


def plugin(agent: str) -> Path:
    return EXAMPLES / agent / "plugin.json"


def user(text: str) -> Chat:
    return {"role": "user", "content": text}


def show(title: str, payload: LLMPayload) -> None:
    """Print a payload, a line for each message; of long runs of messages the first and the last."""
    print(f"\n  {title}: {len(payload.messages)} messages, {len(payload.tools)} tools")
    shown = [*payload.messages[:5], None, *payload.messages[-2:]] if len(payload.messages) > 8 else payload.messages
    for message in shown:
        line = "…" if message is None else " ".join(str(message["content"] or message.get("tool_calls")).split())
        print(f"    {line[:110]}" if message is None else f"    {message['role']:<9} {line[:110]}")


class Scripted:
    """A model that answers with these messages, one after the other, and keeps what it was sent."""

    def __init__(self, *replies: Chat | str) -> None:
        self.replies, self.sent = list(replies), list[LLMPayload]()

    def __call__(self, payload: LLMPayload) -> Chat:
        self.sent.append(payload)
        reply = self.replies.pop(0) if self.replies else f"Reply {len(self.sent)}."
        return reply if isinstance(reply, dict) else {"role": "assistant", "content": reply}


# ---------------------------------------------------------------------- strategy A


async def customer_service() -> None:
    """The newest messages that fit; a tool call stays with its result; system prompt and tools are never cut."""
    print("\nA. Sliding window: customer service")
    context: IContextManager = create_context_manager(plugin("customer_service"), budget=Budget(window=400, recall=0))
    call = {"id": "c1", "type": "function", "function": {"name": "order_status", "arguments": '{"order": 7}'}}
    model = Scripted({"role": "assistant", "content": None, "tool_calls": [call]}, "Order 7 is on its way.")
    tool = {
        "type": "function",
        "function": {
            "name": "order_status",
            "description": "Where an order is.",
            "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}},
        },
    }
    small_talk = [
        message
        for n in range(1, 31)
        for message in (user(f"Small talk {n}."), {"role": "assistant", "content": f"I see, number {n}."})
    ]
    history = [*small_talk, user("Where is my order 7?")]
    grown = await take_turn(
        context, model, history, system_prompt="You are kind and brief.", tools=[tool],
        run_tool=lambda _: "left the warehouse today",
    )  # fmt: skip
    show("after the tool's answer", model.sent[-1])
    assert len(history) == 61, "the caller's list is not changed"
    assert grown[-1]["content"] == "Order 7 is on its way."
    sent = model.sent[-1].messages
    assert sent[0] == {"role": "system", "content": "You are kind and brief."}
    assert [message["role"] for message in sent[-3:]] == ["user", "assistant", "tool"]
    assert len(sent) < len(grown), "the oldest messages were left out"
    assert sent[1:] == grown[:-1][-(len(sent) - 1) :], "what is sent is the end of the history, nothing else"
    try:
        await context.compose_payload("Be kind. " * 500, history, [tool])
    except PinnedOverflow as error:
        print(f"\n  too long a system prompt is an error: {error}")
    else:
        raise AssertionError


# ---------------------------------------------------------------------- strategy B


async def novelist() -> None:
    """Beyond 20 turns a light model folds the oldest five into the summary, in the background, again and again."""
    print("\nB. Dynamic summary: a novelist")
    asked: list[str] = []

    async def light(name: str, messages: list[Chat]) -> str:
        asked.append(name)
        first = " ".join(str(messages[1]["content"]).split())  # after the system prompt
        print(f"\n  {name} is asked for a summary of {len(messages) - 2} messages, from: {first[:70]}")
        return f"Chapters 1 to {5 * len(asked)}: the keeper finds the lamp, and loses it again."

    context = create_context_manager(plugin("novelist"), model=light, task_goal="Write a novel about a lighthouse.")
    assert isinstance(context, SummarizationContextManager)
    assert context.summary_buffer == ""
    model, history = Scripted(), list[Chat]()
    for n in range(1, 32):
        history = await take_turn(
            context, model, [*history, user(f"Write chapter {n}.")], system_prompt="You are a novelist.",
            rag_context="Lighthouses of 1850 burned whale oil." if n == 31 else None,
        )  # fmt: skip
        if n in (21, 26, 31):
            await asyncio.to_thread(context.session.summaries.wait)  # the turn itself did not wait
            print(f"  after turn {n} the summary is: {context.summary_buffer}")
        if n == 21:
            del history[:10]  # the caller may clear the five turns now
    assert asked == ["gemini-1.5-flash"] * 3
    assert context.summary_buffer.startswith("Chapters 1 to 15")
    show("turn 31", model.sent[-1])
    texts = [str(message["content"]) for message in model.sent[-1].messages]
    assert [next(at for at, text in enumerate(texts) if words in text) for words in _ORDER] == list(range(5))

    history[-1] = {"role": "assistant", "content": "Another chapter 31."}  # the last reply is made again
    payload = await context.compose_payload("You are a novelist.", [*history, user("Write chapter 32.")], [])
    assert "Chapters 1 to 15" in payload.messages[1]["content"]
    assert "Another chapter 31." in payload.messages[-2]["content"]
    print(f"\n  after a reply was made again the summary is still: {context.summary_buffer}")


_ORDER = ("You are a novelist.", "keeper finds the lamp", "about a lighthouse", "whale oil", "Write chapter 11.")


# ---------------------------------------------------------------------- strategy C


async def booking() -> None:
    """A typed state instead of the dialogue, brought up to date before each payload."""
    print("\nC. Entity extraction: booking")

    def extract(_schema: Mapping[str, Any], _state: Mapping[str, Any], text: str) -> dict[str, Any]:
        """The extraction chain: here by word, in an agent by a model that is given the schema and the state."""
        found = {"Oslo": {"destination": "Oslo"}, "May": {"date": "2026-05-01"}, "many": {"seats": "many"}}
        return {name: value for word, each in found.items() if word in text for name, value in each.items()}

    context = create_context_manager(plugin("booking"), extractor=extract)
    assert isinstance(context, EntityExtractionContextManager)
    model, history = Scripted("When?", "For how many?", "How many is that?"), list[Chat]()
    for text in ("I want to go to Oslo.", "On the first of May.", "For many people."):
        history = await take_turn(context, model, [*history, user(text)], system_prompt="You book flights.")
    show("the third question", model.sent[-1])
    assert context.state == {"destination": "Oslo", "date": "2026-05-01"}
    assert [message["content"] for message in model.sent[-1].messages] == [
        "You book flights.",
        '[what is known so far]\n{"destination":"Oslo","date":"2026-05-01"}',
        "For many people.",
    ]
    print(f"\n  the state: {json.dumps(context.state)}; refused: {context.refused}")


# ---------------------------------------------------------------------- plugin.json


def choices() -> None:
    """No strategy means the sliding window; one that does not exist is an error."""
    print("\nplugin.json")
    print(f"\n  without contextStrategy: {type(create_context_manager({'id': 'plain'})).__name__}")
    unknown = {"id": "a", "contextStrategy": {"type": "plugin", "pluginId": "std-telepathy-strategy"}}
    try:
        create_context_manager(unknown)
    except BadInput as error:
        print(f"  an unknown one: {error}")
    else:
        raise AssertionError


async def main() -> None:
    await customer_service()
    await novelist()
    await booking()
    choices()


if __name__ == "__main__":
    asyncio.run(main())
