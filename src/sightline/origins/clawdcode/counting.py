"""The document's token counts of messages, with the core's counters."""

from collections.abc import Iterable, Mapping
from math import floor
from typing import Any

import msgspec

from sightline.origins.clawdcode.messages import chat_of
from sightline.values.tokens import TokenCounter as Counter
from sightline.values.tokens import counter, encoding_for, estimate_tokens

MESSAGE_TOKENS = 4  # for the framing of a message, and of a tool call: the document's figure


class TokenCounter:
    """Counts messages in OpenAI's form, or `ContextMessage`s, with the vocabulary of a model."""

    @staticmethod
    def get_encoding(model_name: str) -> Counter:
        """Return the counter of a model's vocabulary, made once; the default one for an unknown model. Never raises."""
        return counter(encoding_for(model_name))

    @staticmethod
    def count_tokens(messages: Iterable[Any], model_name: str) -> int:
        """Count the tokens of a message list: role, content and tool calls, and the framing of each."""
        encoding = TokenCounter.get_encoding(model_name)
        return sum(message_tokens(message, encoding) for message in messages)

    @staticmethod
    def should_compact(
        messages: Iterable[Any], model_name: str, max_tokens: int, threshold_percent: float = 0.8
    ) -> bool:
        """Whether the messages have reached this share of the context window."""
        return TokenCounter.count_tokens(messages, model_name) >= floor(max_tokens * threshold_percent)

    @staticmethod
    def estimate_tokens(text: str) -> int:
        """Estimate the tokens of a text without a vocabulary."""
        return estimate_tokens(text)


def message_tokens(message: Any, encoding: Counter) -> int:
    """Count the tokens of one message, as `TokenCounter.count_tokens` does."""
    fields = chat_of(message)
    tokens = MESSAGE_TOKENS + encoding.count(fields.get("role") or "") + _text_tokens(fields.get("content"), encoding)
    return tokens + sum(_call_tokens(call, encoding) for call in fields.get("tool_calls") or ())


def _call_tokens(call: Mapping[str, Any], encoding: Counter) -> int:
    function = call.get("function") or {}
    fields = (call.get("id"), function.get("name"), function.get("arguments"))
    return MESSAGE_TOKENS + sum(_text_tokens(field, encoding) for field in fields)


def _text_tokens(content: Any, encoding: Counter) -> int:
    if content is None or content == "":
        return 0
    return encoding.count(content if isinstance(content, str) else msgspec.json.encode(content).decode())
