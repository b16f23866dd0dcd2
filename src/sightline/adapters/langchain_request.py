"""What Sightline puts into a request of LangChain, and counts of it: messages, structured responses, the budget."""

from typing import Any

from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, convert_to_messages

from sightline.errors import BadInput
from sightline.follow.history import History
from sightline.follow.list_call import USUAL_OUTPUT, usual_budget
from sightline.plan import Budget
from sightline.values.items import Message, Role
from sightline.wire import openai_chat
from sightline.wire.call_ids import joins, shown_messages
from sightline.wire.payload import Payload


class MessageWriter:
    """Writes the payloads of one history. A message that the last payload had too is not made again.

    What is shown unchanged is the program's own message, with all that it carries.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Message, list[BaseMessage]]] = {}  # by the id of the object, which is kept alive

    def write(self, payload: Payload, history: History, *, with_system: bool) -> list[AnyMessage]:
        """Return the messages of a payload. `with_system`: also a system prompt that is not from the program's list."""
        written: list[BaseMessage] = []
        media: list[BaseMessage] = []  # of results: written after all results of their calls
        made, last = {}, None
        head = [each for each in payload.system if with_system or history.original(each) is not None]
        for message in (*head, *shown_messages(payload)):
            known, own = self._made.get(id(message), (None, []))
            if known is not message:
                own = _write(message, history)
            made[id(message)] = (message, own)
            if message.role is not Role.TOOL:
                written += media
                media = []
            if joins(message, last) and isinstance(written[-1], HumanMessage):
                written[-1] = HumanMessage([*_blocks(written[-1]), *_blocks(own[0])])
            else:
                written += own[:1]
                media += own[1:]
            last = message.role
        self._made = made
        return [*written, *media]  # type: ignore[list-item]


def _write(message: Message, history: History) -> list[BaseMessage]:
    """Return the message of the program, or one that is made: the first, and media of a result after it."""
    if (original := history.original(message)) is not None:
        return [original]
    made = openai_chat.write_messages([message])
    return convert_to_messages([{**each, "content": each["content"] or ""} for each in made])


def _blocks(message: BaseMessage) -> list[str | dict[Any, Any]]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def budget_of(model: Any) -> Budget:
    """Return the budget of a chat model that says how large its context window is. Raises BadInput for others."""
    profile = getattr(model, "profile", None) or {}
    if not (window := profile.get("max_input_tokens")):
        raise BadInput(
            "this model does not say how large its context window is (model.profile has no max_input_tokens): pass "
            "SightlineMiddleware(Budget(window=…, output=…))"
        )
    return usual_budget(window, min(profile.get("max_output_tokens") or USUAL_OUTPUT, USUAL_OUTPUT))


def response_tools(response_format: Any) -> list[dict[str, Any]]:
    """Return what a structured response adds to the request, as definitions of tools, so that it is counted."""
    if response_format is None:
        return []
    if isinstance(response_format, ProviderStrategy):
        specs = [response_format.schema_spec]
    else:
        schema = response_format.schema if isinstance(response_format, AutoStrategy) else response_format
        specs = (schema if isinstance(schema, ToolStrategy) else ToolStrategy(schema)).schema_specs
    return [{"name": spec.name, "description": spec.description, "parameters": spec.json_schema} for spec in specs]
