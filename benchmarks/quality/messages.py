"""Chat messages as this benchmark reads and counts them: o200k_base, +4 a message, +8 a tool call, +3 a request."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sightline.values.tokens import counter

Message = dict[str, Any]
History = Sequence[Message]

ENCODING = "o200k_base"
MESSAGE, CALL, REQUEST = 4, 8, 3  # framing, the same for every composer
SYSTEM = ("system", "developer")
_KEPT = 400_000  # texts whose count is remembered

_counts: dict[str, int] = {}


def count_text(text: str) -> int:
    """Count the tokens of a text. Cached over the whole run, which favours composers that count a text repeatedly."""
    if not text:
        return 0
    found = _counts.get(text)
    if found is None:
        if len(_counts) > _KEPT:
            _counts.clear()
        found = _counts[text] = counter(ENCODING).count(text)
    return found


def count_message(message: Message) -> int:
    """Tokens of one message, its framing included."""
    content = message.get("content")
    tokens = MESSAGE + count_text(content if isinstance(content, str) else text_of(content))
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        tokens += CALL + count_text(function.get("name", "")) + count_text(arguments_text(function.get("arguments")))
    return tokens


def count_messages(messages: Iterable[Message]) -> int:
    """Tokens of a request."""
    return REQUEST + sum(map(count_message, messages))


def text_of(content: Any) -> str:
    """The text of a message's content: a string, nothing, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))


def arguments_text(arguments: Any) -> str:
    """A call's arguments as they are sent."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def full_text(message: Message) -> str:
    """Everything of one message that a model would read."""
    texts = [text_of(message.get("content"))]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        texts.append(function.get("name", "") + " " + arguments_text(function.get("arguments")))
    return "\n".join(filter(None, texts))


def texts_beside(messages: Iterable[Message], question: str) -> list[str]:
    """What each message shows besides the question, whose own words are no evidence.

    The question is a message by itself, or the end of the last one, after what a composer recalled for it.
    """
    asked = question.strip()
    texts = [full_text(message).rstrip() for message in messages]
    texts[-1:] = [text.removesuffix(asked) for text in texts[-1:]]
    return [text for text in texts if text.strip() not in ("", asked)]


def identity(message: Message) -> tuple[Any, ...]:
    """What makes two messages the same for a provider's cache."""
    calls = message.get("tool_calls") or ()
    return (
        message["role"],
        text_of(message.get("content")),
        message.get("tool_call_id"),
        tuple((c["id"], c["function"]["name"], arguments_text(c["function"]["arguments"])) for c in calls),
    )


def common_prefix(before: History, after: History) -> int:
    """How many messages two requests begin with in common."""
    same = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old != new and identity(old) != identity(new):
            break
        same += 1
    return same


def is_system(message: Message) -> bool:
    """Whether a message belongs to the leading instructions."""
    return message["role"] in SYSTEM
