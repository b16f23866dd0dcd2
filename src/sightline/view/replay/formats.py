"""Makes recordings of conversations that the readers of `sightline.imports` find, or of JSON values."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.imports.conversation import Conversation, Turn
from sightline.imports.detection import AUTO, conversations
from sightline.imports.messages import ACCEPTED, MessageList
from sightline.imports.source import Source
from sightline.providers.windows import usual_window, windows_of
from sightline.values.clock import known_milliseconds
from sightline.values.items import Message
from sightline.wire.common import describe

__all__ = ["AUTO", "Recording", "read_conversation", "read_recording", "recorded", "recording_of"]


class Recording(msgspec.Struct, frozen=True):
    """A conversation to replay. `tools` are definitions in any provider's form.

    `by_program` are the indexes of messages that stand in the place of the user or of the system, and a program wrote.
    """

    messages: tuple[Message, ...]
    tools: tuple[Any, ...] = ()
    by_program: frozenset[int] = frozenset()
    profile: str = ""  # of the provider that it was recorded with; empty if that is not known
    times: tuple[int, ...] = ()  # when each message was said, in milliseconds since 1970; 0: not known

    @property
    def model(self) -> str:
        """The model that answered last; empty if nothing says so."""
        return next((message.model for message in reversed(self.messages) if message.model), "")

    @property
    def window(self) -> int:
        """The context window of the models that answered; of several the largest."""
        answers = ((message.model, message.usage) for message in self.messages)
        windows = windows_of((model, usage.input_tokens if usage is not None else 0) for model, usage in answers)
        return max(windows.values(), default=usual_window())


def read_conversation(conversation: Conversation) -> Recording:
    """Read a whole conversation: everything that was said, without the summaries that replaced it. Raises BadInput."""
    return recording_of([turn for step in conversation.steps() for turn in step.turns], conversation)


def recording_of(turns: Sequence[Turn], conversation: Conversation) -> Recording:
    """Return the recording of the turns of a conversation."""
    return Recording(
        tuple(turn.message for turn in turns),
        conversation.tools,
        frozenset(index for index, turn in enumerate(turns) if turn.by_program),
        conversation.profile,
        tuple(known_milliseconds(turn.timestamp) or 0 for turn in turns),
    )


def read_recording(data: bytes, format: str = AUTO) -> Recording:  # noqa: A002 - the command line's word for it
    """Read a recording from a file's bytes, which hold one conversation. The format is a wire's name, or "auto".

    Raises:
        BadInput: it is no conversation, or there is no such wire. The message says what was found and where.
    """
    recorded_conversations = [*conversations(Source("the file", data=data), format)]
    if len(recorded_conversations) > 1:
        raise BadInput(f"{len(recorded_conversations)} conversations, one per line; choose one of them with --line")
    return read_conversation(recorded_conversations[0])


def recorded(value: Any, format: str = AUTO) -> Recording:  # noqa: A002
    """Read a recording from JSON values: a list of messages, or an object that contains one. Raises BadInput."""
    conversation = MessageList.of(value, "messages", "" if format == AUTO else format)
    if conversation is None:
        raise BadInput(f"this is not a conversation: {describe(value)}; what can be replayed: {ACCEPTED}")
    return read_conversation(conversation)
