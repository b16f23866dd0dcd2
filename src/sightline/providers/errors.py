"""What the body of a provider's error says: above all whether a request was too long, and by how much."""

import re
from typing import Any

import msgspec

TOO_LARGE = 413  # HTTP's status for a request that is too large

_FULL = re.compile(
    r"maximum context length|context[ _](?:length|size|window|limit)|exceed_context|prompt (?:is )?too long"
    r"|longer than the maximum model length|input token count .* exceeds|maximum number of tokens",
    re.IGNORECASE,
)
"""How OpenAI, DeepSeek, vLLM, llama.cpp, Ollama, LM Studio, Gemini, Mistral and Anthropic report an overflow."""

_COUNTED = tuple(
    re.compile(pattern.replace("#", r"(\d[\d,]{0,15})"), re.IGNORECASE)
    for pattern in (
        r"\(# (?:tokens )?(?:in (?:the|your) (?:messages|prompt)|of text input)",
        r"messages resulted in # tokens",
        r"(?:request has|passed) # input tokens",
        r"requested # tokens in the messages",
        r"prompt (?:is )?too long:? # tokens",
        r"context limit: # \+",
        r"request \(# tokens\)",
        r"prompt \(length #\)",
        r"input token count \(#\)",
        r"prompt contains # tokens",
        r"input \(# tokens\)",
    )
)


def overflow_tokens(status: int, body: str) -> int | None:
    """Return how many tokens a provider counted in a request that it refuses as too long; 0 if it does not say.

    None: it does not refuse it for its length.
    """
    told = ErrorBody(body)
    return (told.input_tokens or 0) if told.is_overflow(status) else None


class ErrorBody:
    """The body of an error: its message, its types and codes, and the tokens that the provider counted."""

    def __init__(self, body: str) -> None:
        found = _error_object(body)
        self.message = " ".join(str(found.get("message") or found.get("detail") or body).split())
        self.kinds = {str(found[key]) for key in ("type", "code", "status") if found.get(key)}
        self._counted = found.get("n_prompt_tokens")

    def is_overflow(self, status: int) -> bool:
        """Whether an answer with this status and body refuses a request for its length."""
        says_so = any(_FULL.search(text) for text in (self.message, *self.kinds))
        return status == TOO_LARGE or (status in (400, 422, 500) and says_so)

    @property
    def input_tokens(self) -> int | None:
        if type(self._counted) is int and self._counted > 0:
            return self._counted
        found = next((match for pattern in _COUNTED if (match := pattern.search(self.message))), None)
        return int(found[1].replace(",", "")) if found else None


def _error_object(body: str) -> dict[str, Any]:
    """Return the error object of a body: `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, or a list with one."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    first: Any = found[0] if isinstance(found, list) and found else found
    match first:
        case {"error": dict(error)}:
            return error
        case {"error": str(message)}:
            return {"message": message, **{key: value for key, value in first.items() if key != "error"}}
        case dict():
            return dict(first)
        case _:
            return {}
