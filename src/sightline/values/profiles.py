"""Profiles of providers: tokens of framing and media, prices and lifetime of the prompt cache."""

from base64 import b64decode
from collections.abc import Callable
from math import ceil
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.values.items import Call, File, Image, Kind, Opaque, Part, Result, Text, Usage, arguments, plain_text

_AUDIO = frozenset({"input_audio", "audio", "audio_url"})  # fields of blocks and of replies that hold audio
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType")
# Fields of audio that hold its base64, or say where it is.
_SOUND = frozenset({"data", "url", "blob", "base64", "fileUri", "$bytes"})
_DEEPEST = 8  # levels of a block in which audio is looked for: a resource in a result has four
_AUDIO_BYTES = 8_000  # a second, if the audio does not say it: MP3 of 64 kbit/s; most has more, so it is shorter
_WAV_BYTES = range(1_000, 2_000_000)  # a second, as a WAV may say it: from compressed speech to studio quality

_HOUR = 3600  # seconds that a provider keeps what is written for an hour,
_HOUR_PRICE = 1.6  # times the price of writing for five minutes: Anthropic takes 2 and 1.25 (platform.claude.com)

ERROR_MARK = 3  # tokens: formats without a flag for a failed result say so in its text
_CALL = int(Kind.CALL)  # columns have plain numbers, which compare faster


class Prices(Struct, frozen=True):
    """Prices relative to one input token that is not cached."""

    read: float  # of a cache hit
    write: float  # of a token written to the cache


class Profile(Struct, frozen=True):
    """The rules of one provider that a payload depends on."""

    name: str
    margin: float = 0.0  # share added to every count until usage is reported; 0 if the vocabulary is public
    message_tokens: int = 4  # framing of one message
    call_tokens: int = 8  # framing of one tool call
    request_tokens: int = 3
    prices: Prices = Prices(read=0.1, write=1.0)
    cache_seconds: int = 300  # how long an unused prefix stays in the provider's cache
    cache_minimum: int = 1024  # shorter prefixes are not cached
    image_tokens: int = 1600  # when the size is unknown: the most an image costs
    image_area: int = 750  # pixels per token
    file_tokens: int = 3000  # a document, or audio, of unknown length
    audio_tokens: int = 32  # a second of it, by Gemini's documentation (ai.google.dev): OpenAI's models take fewer

    def framing(self, kind: int) -> int:
        """Return the tokens that a provider adds to an item of this kind."""
        return self.call_tokens if kind == _CALL else self.message_tokens


PROFILES = {
    profile.name: profile
    for profile in (
        # GPT-5.6 and newer charge 1.25 for cache writes and keep them 30 minutes; older ones write for free.
        Profile("openai", prices=Prices(read=0.1, write=1.25), cache_seconds=1800),
        # Anthropic's vocabulary is not public: counts are corrected from the usage it reports.
        Profile("anthropic", margin=0.05, prices=Prices(read=0.1, write=1.25), cache_seconds=300),
        # Its vocabulary is not public either. It caches by itself, and what is written costs what other input does.
        Profile("gemini", margin=0.05, prices=Prices(read=0.1, write=1.0), cache_seconds=300),
        # A server on the user's own machine: the cache is memory, and prefill is the cost.
        Profile("local", prices=Prices(read=0.05, write=1.0), cache_seconds=3600, margin=0.05),
    )
}


def profile(name: str) -> Profile:
    """The profile of this name. Raises BadInput, which lists the names."""
    if name not in PROFILES:
        raise BadInput(f"unknown profile {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def media_tokens(part: Image | File, profile: Profile) -> int:
    """Tokens of an image or document by its size, or the most it can have if that is unknown. Never of its base64."""
    if isinstance(part, File) and part.data and part.media_type.startswith("audio/"):  # such as an MCP tool's
        return _audio_tokens(part.data, profile)
    if isinstance(part, File):
        size = len(part.data) * 3 // 4
        # A text is counted as a token per two bytes. Other documents are a guess: a page may be 3 KB or 300.
        return size // 2 if part.media_type.startswith("text/") else max(profile.file_tokens, size // 10)
    if part.width and part.height:
        return min(profile.image_tokens, ceil(part.width * part.height / profile.image_area))
    return profile.image_tokens


def part_tokens(part: Part, profile: Profile, count: Callable[[str], int]) -> int:
    """Tokens of a part of a message, without framing."""
    match part:
        case Text():
            return count(part.text)
        case Call():
            return count(part.name) + count(arguments(part))
        case Result():
            inside = sum(part_tokens(inner, profile, count) for inner in part.parts)
            return inside + (ERROR_MARK if part.error else 0)
        case Opaque():
            return opaque_tokens(part, profile, count)
        case Image() | File():
            return media_tokens(part, profile)
        case _:
            return count(plain_text((part,)))


def opaque_tokens(part: Opaque, profile: Profile, count: Callable[[str], int]) -> int:
    """Tokens of a block that only its provider knows: of its JSON, but of audio in it by how long that lasts."""
    rest, tokens = _take_audio(part.raw, profile)
    return tokens + count(msgspec.json.encode(rest).decode())


def _take_audio(value: Any, profile: Profile, *, is_audio: bool = False, levels: int = _DEEPEST) -> tuple[Any, int]:
    """The values without the base64 of audio in them, and the tokens of this audio."""
    if not isinstance(value, dict | list) or not levels:
        return value, 0
    fields = value if isinstance(value, dict) else dict(enumerate(value))
    types = [str(fields.get(name, "")) for name in _MEDIA_TYPES]
    is_audio = is_audio or fields.get("type") == "audio" or any(kind.startswith("audio/") for kind in types)
    rest, tokens = {}, 0
    for key, inner in fields.items():
        if isinstance(inner, str) and (inner.startswith("data:audio/") or (is_audio and key in _SOUND)):
            rest[key], inner_tokens = "", _audio_tokens(inner, profile)
        else:
            rest[key], inner_tokens = _take_audio(inner, profile, is_audio=is_audio or key in _AUDIO, levels=levels - 1)
        tokens += inner_tokens
    return rest if isinstance(value, dict) else [*rest.values()], tokens


def _audio_tokens(sound: str, profile: Profile) -> int:
    """Tokens of audio in base64. How long audio at an address lasts is not known."""
    is_address = "://" in sound[:16]
    return profile.file_tokens if is_address else ceil(_audio_seconds(sound) * profile.audio_tokens)


def _audio_seconds(data: str) -> float:
    """How long audio in base64 lasts: by the bytes a second in the head of a WAV, else at most about so long."""
    data = data.rpartition(",")[2]  # some programs write a data URL
    try:
        head = b64decode(data[:44])
    except ValueError:
        head = b""
    rate = int.from_bytes(head[28:32], "little") if head[:4] == b"RIFF" and head[8:16] == b"WAVEfmt " else 0
    return len(data) * 3 / 4 / (rate if rate in _WAV_BYTES else _AUDIO_BYTES)


def call_cost(tokens: int, reused: int, profile: Profile) -> float:
    """The price of a call's input, in uncached input tokens, if `reused` of its tokens are a cached prefix."""
    cached = reused if reused >= profile.cache_minimum else 0
    return cached * profile.prices.read + (tokens - cached) * profile.prices.write


def input_cost(usage: Usage, prices: Prices, fresh: float = 1.0) -> float:
    """The price of what a provider reported as input: read from its cache, written to it, and neither.

    `prices` and `fresh` are of one token each, in any unit. Only what was written has the price of writing.
    """
    rest = max(usage.input_tokens - usage.cached_tokens - usage.written_tokens, 0)
    return divided_cost(rest, usage.cached_tokens, usage.written_tokens, prices_for(usage, prices), fresh)


def prices_for(usage: Usage, prices: Prices) -> Prices:
    """Return these prices where a part of what is written is kept for an hour, as it is in this usage."""
    share = usage.hour_tokens / usage.written_tokens if usage.hour_tokens else 0.0
    return Prices(prices.read, prices.write * (1 + (_HOUR_PRICE - 1) * share))


def charged(profile: Profile, usage: Usage | None) -> Profile:
    """Return the profile for forecasts of calls like one of this usage: most of a prefix may be kept for an hour.

    `input_cost` of what was reported takes the profile as it is.
    """
    if usage is None or not usage.hour_tokens:
        return profile
    is_kept = 2 * usage.hour_tokens > usage.written_tokens
    seconds = max(_HOUR, profile.cache_seconds) if is_kept else profile.cache_seconds
    return replace(profile, prices=prices_for(usage, profile.prices), cache_seconds=seconds)


def divided_cost(rest: float, read: float, written: float, prices: Prices, fresh: float = 1.0) -> float:
    """The price of the input tokens that were read from the cache, written to it, and the rest."""
    return rest * fresh + read * prices.read + written * prices.write
