"""A request of an agent to its model: its parts in any of the three formats, and the conversation it belongs to."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from sightline.errors import BadInput
from sightline.session.history import digest_of
from sightline.values.items import Role, plain_text
from sightline.wire import read_messages

Json = dict[str, Any]

# Headers by which agents name their session, the most specific first.
_SESSION_HEADERS = ("thread-id", "x-claude-code-session-id", "session-id", "x-session-id", "x-conversation-id")
_HEAD_ROLES = ("system", "developer")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Format(NamedTuple):
    """Where the parts of a request are in a provider's format."""

    wire: str
    provider: str  # whose upstream gets it
    messages: str
    system: str  # besides the messages; empty: it is among them only


FORMATS = {
    "/v1/chat/completions": Format("openai", "openai", "messages", ""),
    "/v1/responses": Format("responses", "openai", "input", "instructions"),
    "/v1/messages": Format("anthropic", "anthropic", "messages", "system"),
}
"""By path."""


class ModelRequest(NamedTuple):
    """A request, taken apart. What is not named here stays in `fields`, as it is."""

    format: Format
    body: bytes
    fields: Json
    head: list[Json]  # messages at the beginning of the list that are the system prompt
    messages: list[Json]
    session: str  # by which the agent names its session; empty: it does not

    @property
    def model(self) -> str:
        return str(self.fields.get("model") or "")

    @property
    def streams(self) -> bool:
        return self.fields.get("stream") is True

    @property
    def tools(self) -> list[Any]:
        tools = self.fields.get("tools")
        return tools if isinstance(tools, list) else []

    @property
    def output(self) -> int:
        """Tokens that the answer may have; 0: not said."""
        told = [self.fields.get(name) for name in _LIMITS]
        return next((limit for limit in told if type(limit) is int and limit > 0), 0)

    @property
    def takes_tools(self) -> bool:
        """Whether tools of ours may join: there are others already, and one answer comes."""
        return bool(self.tools) and self.fields.get("n") in (None, 1)

    @property
    def forces_call(self) -> bool:
        """Whether the answer must call some tool, whichever it is."""
        choice = self.fields.get("tool_choice")
        return choice == "required" or (isinstance(choice, dict) and choice.get("type") == "any")

    @property
    def is_kept_upstream(self) -> bool:
        """Whether the provider has the earlier part of the conversation, so that this is not all of it."""
        return bool(self.fields.get("previous_response_id") or self.fields.get("conversation"))

    def system_text(self) -> str:
        """Return the system prompt as text, to count and to log it."""
        told = self.fields.get(self.format.system) if self.format.system else None
        listed = [{"role": "system", "content": told}] if told and isinstance(told, str | list) else []
        read = [*read_messages(listed, "anthropic"), *read_messages(self.head, self.format.wire)]
        return "\n\n".join(text for message in read if (text := plain_text(message.parts)))

    def name(self) -> str:
        """Return the name of the conversation: a digest of the agent's session and of what comes before any answer.

        Two runs of an agent that begin alike and name no session are branches of one conversation.
        """
        opening = read_messages(self.messages[: _opening(self.messages)], self.format.wire)
        opening = [message for message in opening if message.role is not Role.ASSISTANT] or opening
        told = f"{self.format.wire}\0{self.session}\0".encode("utf-8", "surrogatepass")
        return f"proxy-{blake2b(told + digest_of(opening), digest_size=10).hexdigest()}"


def parse(format: Format, body: bytes, headers: Mapping[str, str]) -> ModelRequest:  # noqa: A002
    """Take a request apart.

    Raises:
        BadInput: it is no request of this format. The provider says so better than we could.
    """
    try:
        fields = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"the body is no JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadInput("the body is no JSON object")
    messages = fields.get(format.messages)
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise BadInput(f"{format.messages!r} is no list of messages")
    first = 0
    if format.wire != "anthropic":
        first = next((at for at, each in enumerate(messages) if each.get("role") not in _HEAD_ROLES), len(messages))
    return ModelRequest(format, body, fields, messages[:first], messages[first:], _session(fields, headers))


def _session(fields: Json, headers: Mapping[str, str]) -> str:
    """Return the id by which an agent names its session."""
    if named := next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), ""):
        return named
    metadata = fields.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    return next((told for told in (fields.get("prompt_cache_key"), user) if isinstance(told, str)), "")


def _opening(messages: Sequence[Json]) -> int:
    """Count the messages before the first answer of a model."""
    kinds = ("message", None)
    answered = (
        at for at, each in enumerate(messages) if each.get("role") == "assistant" or each.get("type") not in kinds
    )
    return next(answered, len(messages)) or 1
