"""Token counters: exact if the vocabulary of the model is public, otherwise an estimate. All work offline."""

import warnings
from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Any, Protocol, runtime_checkable

from sightline.errors import BadInput
from sightline.values.cautious import Cautious

ENCODINGS = (
    "o200k_base", "cl100k_base", "o200k_harmony", "llama3", "qwen3", "deepseek_v3", "glm4", "kimi_k2", "mistral_v3",
)  # fmt: skip
DEFAULT_ENCODING = "o200k_base"
HUGE = 1 << 22  # characters beyond which a text is sampled instead of encoded: 10 MB would take a third of a second
_SAMPLE = 1 << 14
_SAMPLES = 16
_SPECIAL = "<|"  # how every special token of most encodings begins
_ID_BYTES = 4  # of a token in a buffer

# Beginning of a model's name → its public vocabulary; the longest match wins. Models whose vocabulary is not public
# (Claude, Gemini) are counted with the default and corrected by the usage that their provider reports.
_MODELS = {
    "gpt-5": "o200k_base", "gpt-4.1": "o200k_base", "gpt-4o": "o200k_base", "chatgpt-4o": "o200k_base",
    "o1": "o200k_base", "o3": "o200k_base", "o4": "o200k_base", "gpt-oss": "o200k_harmony",
    "gpt-4": "cl100k_base", "gpt-3.5": "cl100k_base", "text-embedding": "cl100k_base",
    "llama-3": "llama3", "llama3": "llama3", "qwen3": "qwen3", "qwen-3": "qwen3", "deepseek": "deepseek_v3",
    "glm-4": "glm4", "kimi-k2": "kimi_k2", "mistral": "mistral_v3",
}  # fmt: skip


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a session. Pure: the same text has the same tokens. Any object with these members will do.

    The engine adds the counts of parts and holds their sum against the budget, so the parts of a text must not count
    for much less than the whole: two halves for at least as much, but for the few tokens that differ at the cut.
    `sightline.testing.check_counter` proves what is promised here.
    """

    @property
    def name(self) -> str:
        """What receipts and errors call it."""

    def count(self, text: str) -> int:
        """The tokens of a text: 0 for an empty one, else not negative. Never raises, whatever the text."""


def estimate_tokens(text: str) -> int:
    """The ClawdCode document's estimate: Chinese characters / 1.5 + UTF-16 units of the rest / 4, rounded up."""
    chinese = sum("\u4e00" <= character <= "\u9fa5" for character in text)
    units = len(text) + sum(character > "\uffff" for character in text)
    return ceil(chinese / 1.5 + (units - chinese) / 4)


class Estimate:
    """Estimates by a formula, for models whose vocabulary is not public."""

    name = "estimate"
    count = staticmethod(estimate_tokens)


class Exact:
    """Counts with the vocabulary of the model, which is in the splintr wheel: never uses the network.

    A text of more than `HUGE` characters is estimated from samples and rounded up; it is never shown in full anyway.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        self.name = encoding
        self._encode, self._encode_flat = _encoders(encoding)

    def count(self, text: str) -> int:
        """Exact tokens of a text. What looks like a special token is counted as ordinary text."""
        if len(text) > HUGE:
            step = (len(text) - _SAMPLE) // (_SAMPLES - 1)
            sampled = sum(self.count(text[at : at + _SAMPLE]) for at in range(0, step * _SAMPLES, step))
            estimate = ceil(sampled / (_SAMPLE * _SAMPLES) * len(text) * 1.1)  # 10 % more: there may be dense places
            return max(estimate, len(text) // 8)  # samples may also miss most of the text
        try:
            if self._encode_flat is None or _SPECIAL in text:
                return len(self._encode(text))
            return len(self._encode_flat(text)) // _ID_BYTES
        except UnicodeEncodeError:  # lone surrogates: they are sent as replacement characters
            return self.count(text.encode("utf-8", "replace").decode("utf-8"))


@cache
def _encoders(encoding: str) -> tuple[Callable[[str], list[int]], Callable[[str], bytes] | None]:
    """What gives the tokens of a text as a list, and what gives them in less time as one buffer, if that can be used.

    In the buffer special tokens count as such, so it can be used for a text without `_SPECIAL`, if they all begin so.
    """
    from splintr import Tokenizer

    tokenizer: Any = Tokenizer.from_pretrained(encoding)
    is_usable = all(special.startswith(_SPECIAL) for special in tokenizer.special_tokens())
    return tokenizer.encode_ordinary, tokenizer.encode_flat if is_usable else None


def encoding_for(model: str) -> str:
    """The encoding of a model's vocabulary, or the default if it is not public."""
    name = model.lower().rpartition("/")[2]
    matches = [beginning for beginning in _MODELS if name.startswith(beginning)]
    return _MODELS[max(matches, key=len)] if matches else DEFAULT_ENCODING


def check_encoding(name: str) -> str:
    """The name itself. Reads no vocabulary. Raises BadInput, which lists the names."""
    if name not in (*ENCODINGS, Estimate.name):
        raise BadInput(f"unknown encoding {name!r}; choose one of {', '.join(ENCODINGS)} or 'estimate'")
    return name


@cache
def counter(name: str = DEFAULT_ENCODING) -> TokenCounter:
    """The counter of this name: an encoding, or "estimate".

    If splintr is not installed, this is said once, and an upper bound is taken (`Cautious`).

    Raises:
        BadInput: there is no encoding of this name.
    """
    if check_encoding(name) == Estimate.name:
        return Estimate()
    try:
        return Exact(name)
    except ImportError:
        _warn_missing()
        return Cautious(name)


@cache
def _warn_missing() -> None:
    warnings.warn(
        "tokens are estimated, because splintr-rs is not installed: never too few, so a payload fits its budget, but "
        "it may use only 60 % of it (a third in other alphabets). "
        "To count exactly: pip install 'splintr-rs>=0.20,<0.23'",
        RuntimeWarning,
        stacklevel=3,
    )
