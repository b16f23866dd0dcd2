"""How large the context windows of models are: by their names, and by what their servers say of them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

# From the providers' own pages in November 2026. Models change within months: only what is certain is here.
WINDOWS = {
    "claude-2": 100_000,
    "claude-3": 200_000,
    "claude-haiku-4": 200_000,
    "claude-sonnet-4": 200_000,
    "claude-opus-4": 200_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-opus-4-6": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-fable-5": 1_000_000,
    "claude-haiku-5": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "gpt-5": 272_000,  # of input: its 400,000 count an answer of 128,000
    "gpt-5.1": 272_000,
    "gpt-5.2": 272_000,
    "gpt-5.3": 272_000,
    "gpt-5.6-sol": 922_000,  # of input, as above; beyond 272,000 every token costs twice as much
    "gpt-5.6-terra": 922_000,
    "gpt-6-astra": 922_000,
    "gpt-4.1": 1_000_000,
    "gpt-4o": 128_000,
    "gpt-oss": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "deepseek-flash": 1_000_000,
    "deepseek-v4": 1_000_000,
    "deepseek-v3": 128_000,
    "deepseek-v3.1": 128_000,
    "deepseek-v3.2": 128_000,
    "llama-3.1": 128_000,
    "llama-3.3": 128_000,
    "llama3.1": 128_000,
    "llama3.3": 128_000,
    "qwen3-coder": 262_144,
    "qwen3-coder-plus": 1_000_000,
    "qwen3-coder-flash": 1_000_000,
    "qwen3-max": 262_144,
    "gemini-1.5-pro": 2_097_152,  # of input, as of all of these
    "gemini-1.5-flash": 1_048_576,
    "gemini-2.0-flash": 1_048_576,
    "gemini-2.5-pro": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-3-pro": 1_048_576,
    "gemini-3-flash": 1_048_576,
}
"""Tokens by the name of a model, to which a size, a date or a variant may be added; the longest match counts."""

USUAL_OUTPUT = 8_000  # tokens for an answer, if nobody says how many it may have

_GUESSED = ("claude-", "gpt-4", "gpt-5", "gpt-6", "deepseek", "llama", "qwen", "gemini-")
"""How the names of families begin. Of one that is not known, the largest window of its family is taken: one that is
too large ends when the provider refuses a request, and one that is too small shortens what would have fit."""

_USUAL = (128_000, 200_000, 1_000_000)  # of a model that is not known, the first that holds what it was sent
_ADDED = ("-", ":", "@")  # what stands between the name of a model and what is added to it
_LONG = 1_000_000  # what Anthropic's clients ask for by a beta header
_LONG_BETA = re.compile(r"\bcontext-1m-")

# vLLM and SGLang; LM Studio, what is loaded before what the model could have; OpenRouter; Anthropic; Google; others.
_KEYS = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_input_tokens",
    "inputTokenLimit",
    "max_context_length",
    "n_ctx",
)
_LEAST, _MOST = 256, 1_000_000_000  # tokens of a context window


def known_window(name: str) -> int:
    """Return the context window of a model of this name; 0 if the model is not known."""
    bare = _bare(name)
    fitting = [known for known in WINDOWS if bare == known or bare.startswith(tuple(known + end for end in _ADDED))]
    return WINDOWS[max(fitting, key=len)] if fitting else 0


def window_of(name: str) -> int:
    """Return the context window of a model of this name, or the largest of its family; 0 if neither is known."""
    return known_window(name) or guessed_window(name)


def guessed_window(name: str) -> int:
    """Return the largest context window of the family of models that such a name belongs to; 0: it is not known."""
    families = [family for family in _GUESSED if _bare(name).startswith(family)]
    if not families:
        return 0
    return max(tokens for known, tokens in WINDOWS.items() if known.startswith(max(families, key=len)))


def windows_of(answers: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the context window of each model that answered, by the most input tokens that were reported of it.

    It is at least these: a client may have asked for a larger one than the model's name says.
    """
    most: dict[str, int] = {}
    for model, tokens in answers:
        most[model] = max(tokens, most.get(model, 0))
    named = {model: window_of(model) for model in most}
    return {
        model: named[model] if tokens <= named[model] else usual_window(tokens)
        for model, tokens in most.items()
        if tokens or named[model]  # what has neither is no model: a program wrote an answer itself
    }


def usual_window(tokens: int = 0) -> int:
    """Return the first of the usual context windows that holds so many tokens."""
    return next((usual for usual in _USUAL if usual >= tokens), tokens)


def beta_window(model: str, beta: str) -> int:
    """Return the context window that is asked for by Anthropic's beta header; 0: none is."""
    is_asked = _bare(model).startswith("claude-") and _LONG_BETA.search(beta)
    return _LONG if is_asked else 0


def _bare(name: str) -> str:
    """Return the name of a model without its provider's, as they are compared."""
    bare = name.lower().rpartition("/")[2]
    claude = bare.find("claude-")  # behind a region and a dot at some platforms; others write 4.5 for 4-5
    return bare[claude:].replace(".", "-") if claude >= 0 else bare


def context_window(row: Mapping[str, Any]) -> int:
    """Return a model's context window, as its server describes the model; 0: not told."""
    told = [row.get(key) for key in _KEYS] + [as_object(row.get("meta")).get("n_ctx")]
    return next(filter(None, map(sane, told)), 0)


def listed_window(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    """Return the context window of the model of this name in a list of models; 0: not told. Ollama adds ":latest"."""
    names = (name, f"{name}:latest")
    own = [row for row in rows if row.get("id", row.get("name")) in names]
    return next((window for row in own if (window := context_window(row))), 0)


def rows_of(answer: Any, key: str = "data") -> list[Mapping[str, Any]]:
    """Return the models in a server's list of them."""
    rows = as_object(answer).get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def sane(tokens: object) -> int:
    """Return a number of tokens that a context window can have; 0 for anything else."""
    return tokens if type(tokens) is int and _LEAST <= tokens <= _MOST else 0


def as_object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def answer_room(window: int, output: int | None = None) -> int:
    """Return how many tokens of a context window are for the answer: so many, at most a quarter of a small window."""
    return min(USUAL_OUTPUT if output is None else output, max(window, 0) // 4)
