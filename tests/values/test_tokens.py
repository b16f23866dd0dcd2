"""Counting: exact where the vocabulary is public, the documents' estimate elsewhere, never an error."""

import wave
from base64 import b64encode
from functools import cache
from io import BytesIO
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import Budget, Session
from sightline.errors import BadInput
from sightline.testing import MemoryStore
from sightline.values.items import File, Image, Opaque
from sightline.values.profiles import PROFILES, call_cost, media_tokens, opaque_tokens, profile
from sightline.values.tokens import DEFAULT_ENCODING, ENCODINGS, HUGE, Estimate, counter, encoding_for, estimate_tokens

PIECES = ("<|endoftext|>", "<|im_start|>", "<|", "|>", "<think>", "</s>", "[INST]", "[gMASK]", " word", "\n\n", "中文")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("你好世界你好", 4), ("你好abcd", 3), ("🚢🚢", 1), ("a" * 400, 100)],
)
def test_the_estimate_is_that_of_the_document(text: str, tokens: int) -> None:
    """Chinese characters / 1.5 plus UTF-16 units of the rest / 4, rounded up once."""
    assert estimate_tokens(text) == tokens
    assert Estimate().count(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("def f(x):\n    return x\n", 8)]
)
def test_the_default_counts_as_the_model_does(text: str, tokens: int) -> None:
    """Known counts of the public vocabulary; what looks like a special token is the text it is."""
    assert counter().count(text) == tokens


@given(text=st.text(alphabet=st.characters(), max_size=200))
def test_no_text_makes_a_counter_fail(text: str) -> None:
    """Any string has a count, surrogates included, and only the empty one has none at all."""
    for counting in (counter(), counter("estimate")):
        assert (counting.count(text) > 0) == bool(text)


@cache
def tokenizer(encoding: str) -> Any:
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(encoding)


@pytest.mark.slow("deepseek_v3", "kimi_k2", "o200k_base", "o200k_harmony", "qwen3")
@pytest.mark.parametrize("encoding", ENCODINGS)
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12))
def test_nothing_in_a_text_counts_as_a_special_token(encoding: str, pieces: list[str]) -> None:
    """The count is that of the text as ordinary text, whatever looks like a special token in it."""
    text = "".join(pieces).encode("utf-8", "replace").decode()
    assert counter(encoding).count(text) == len(tokenizer(encoding).encode_ordinary(text))


def test_a_huge_text_is_sampled_and_rounded_up() -> None:
    """Beyond a million characters the count is an estimate that errs on the safe side, by no more than a fifth."""
    text = "The harbour office confirmed order 4711 for quay seven.\n" * (HUGE // 50)
    part = text[: HUGE // 2]
    exact = counter().count(part) * len(text) / len(part)
    assert exact <= counter().count(text) <= 1.2 * exact


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4-turbo", "cl100k_base"),
        ("GPT-5.6", "o200k_base"),
        ("deepseek-chat", "deepseek_v3"),
        ("claude-sonnet-4-5", DEFAULT_ENCODING),
        ("", DEFAULT_ENCODING),
    ],
)
def test_a_model_is_counted_with_its_own_vocabulary(model: str, encoding: str) -> None:
    """The longest known beginning of the model's name decides; unknown models use the default."""
    assert encoding_for(model) == encoding


def test_an_unknown_encoding_is_refused_with_the_choices() -> None:
    """The error lists what there is."""
    with pytest.raises(BadInput, match=r"cl100k_base.*estimate"):
        counter("klingon")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_listed_encoding_is_shipped(encoding: str) -> None:
    """No listed vocabulary has to be fetched from anywhere."""
    assert counter(encoding).count("hello world") >= 1


def test_a_picture_costs_by_its_size_never_by_its_bytes() -> None:
    """Width times height by the profile's formula, at most its maximum, which is also the cost of an unknown size."""
    openai = profile("openai")
    assert media_tokens(Image("image/png", "A" * 100_000, width=750, height=100), openai) == 100
    assert media_tokens(Image("image/png", "A" * 100_000), openai) == openai.image_tokens
    assert media_tokens(Image(width=100_000, height=100_000), openai) == openai.image_tokens
    assert media_tokens(File("application/pdf", "A" * 1_000), openai) == openai.file_tokens
    assert media_tokens(File("application/pdf", "A" * 400_000), openai) == 30_000
    assert media_tokens(File("text/plain", "A" * 400_000), openai) == 150_000


def wav(seconds: int, rate: int) -> bytes:
    """Silence of so many seconds: 16 bit, mono."""
    with BytesIO() as file:
        with wave.open(file, "wb") as written:
            written.setnchannels(1)
            written.setsampwidth(2)
            written.setframerate(rate)
            written.writeframes(bytes(2 * rate * seconds))
        return file.getvalue()


@pytest.mark.parametrize("field", ["input_audio", "audio"])
@pytest.mark.parametrize(
    ("sound", "seconds"),
    [(wav(10, 24_000), 10), (wav(10, 8_000), 10), (bytes(80_000), 10), (wav(2, 1)[:28] + bytes(80_000), 10)],
)
def test_audio_costs_by_how_long_it_lasts_never_by_its_bytes(field: str, sound: bytes, seconds: int) -> None:
    """A WAV says how long it is; other audio, or one whose head is wrong, is taken for MP3 of 64 kbit/s."""
    openai, count = profile("openai"), counter(DEFAULT_ENCODING).count
    for before in ("", "data:audio/wav;base64,"):
        data = before + b64encode(sound).decode()
        found = opaque_tokens(Opaque("openai", field, {field: {"data": data, "format": "wav"}}), openai, count)
        assert seconds * openai.audio_tokens <= found <= seconds * openai.audio_tokens + 40
    assert opaque_tokens(Opaque("openai", field, {field: {"data": "é", "id": 1}}), openai, count) < 40
    text = {"type": "thinking", "data": "A" * 4_000, field: "AAAA"}
    assert opaque_tokens(Opaque("any", "thinking", text), openai, count) == count(msgspec.json.encode(text).decode())


_MINUTE, _ADDRESS = b64encode(wav(60, 24_000)).decode(), "https://example.org/speech.wav"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{_MINUTE}"}},
        {"type": "file", "file": {"file_data": f"data:audio/wav;base64,{_MINUTE}"}},
        {"type": "audio", "data": _MINUTE, "mimeType": "audio/wav"},
        {"type": "tool_result", "content": [{"type": "audio", "data": _MINUTE, "mimeType": "audio/wav"}]},
        {"type": "resource", "resource": {"uri": "file:///a", "blob": _MINUTE, "mimeType": "audio/wav"}},
        {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": _MINUTE}},
        {"type": "audio_url", "audio_url": {"url": _ADDRESS}},
        {"type": "input_audio", "input_audio": {"data": _ADDRESS, "format": "wav"}},
        {"type": "audio", "source": {"type": "url", "url": _ADDRESS}},
    ],
)
def test_audio_costs_the_same_in_every_form_and_at_an_address_as_much_as_an_unknown_document(
    block: dict[str, Any],
) -> None:
    """Also as a tool of MCP returns it. The base64 is never counted as text, and an address is never for free."""
    openai, count = profile("openai"), counter(DEFAULT_ENCODING).count
    expected = openai.file_tokens if _ADDRESS in str(block) else 60 * openai.audio_tokens
    assert expected <= opaque_tokens(Opaque("any", block["type"], block), openai, count) <= expected + 40


def test_an_audio_file_costs_by_how_long_it_lasts() -> None:
    """Tools of MCP return it as a file."""
    openai = profile("openai")
    assert media_tokens(File("audio/wav", _MINUTE), openai) == 60 * openai.audio_tokens + 1
    assert media_tokens(File("audio/wav", url=_ADDRESS), openai) == openai.file_tokens


def test_a_minute_of_speech_is_sent() -> None:
    """It is counted so that it fits into any usual window."""
    block = {"type": "input_audio", "input_audio": {"data": b64encode(wav(60, 24_000)).decode(), "format": "wav"}}
    session = Session(MemoryStore())
    session.user([{"type": "text", "text": "What does the speaker say?"}, block])
    payload = session.compose(Budget(8_000, output=1_000))
    assert payload.tokens < 2_100
    assert payload.openai()["messages"][-1]["content"][-1] == block


def test_a_cached_prefix_is_cheap_only_if_it_is_long_enough() -> None:
    """Reused tokens cost the price of reading, from the smallest cached prefix on."""
    openai = profile("openai")
    assert call_cost(10_000, 8_000, openai) == 8_000 * 0.1 + 2_000 * 1.25
    assert call_cost(1_000, 900, openai) == 1_000 * 1.25


def test_an_unknown_profile_is_refused_with_the_choices() -> None:
    """The error lists what there is."""
    with pytest.raises(BadInput, match=", ".join(PROFILES)):
        profile("nobody")
