"""What the proxy learns from a refusal, and what it sends without one."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from through_proxy import LISTS, Talk, Through, said, without_markers
from upstream_script import answer, fail

WIRES = ("anthropic", "chat", "responses")
WORDS = "The valve of the second pump opens at noon, and the third one an hour later. "
WINDOW, OUTPUT = 48_000, 8_192
REFUSALS = {
    "anthropic, with its answer": "input length and `max_tokens` exceed context limit: 47500 + 8192 > 48000, decrease "
    "input length or `max_tokens` and try again",
    "anthropic": "prompt is too long: 51000 tokens > 48000 maximum",
    "openai, with its answer": "This model's maximum context length is 48000 tokens. However, you requested 55692 "
    "tokens (47500 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "openai": "This model's maximum context length is 48000 tokens. However, your messages resulted in 51000 tokens.",
    "vllm": "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 48000 "
    "tokens and your request has 47500 input tokens (8192 > 48000 - 47500).",
    "llama.cpp": "the request (51000 tokens) exceeds the available context size (48000 tokens), try increasing it",
    "gemini": "The input token count (51000) exceeds the maximum number of tokens allowed (48000).",
    "mistral": "Prompt contains 51000 tokens and 0 draft tokens, too large for model with 48000 maximum context length",
}


def talk_of(through: Through, wire: str, rounds: int, **fields: Any) -> Talk:
    """A conversation with a model that nobody knows."""
    talk = Talk(through, wire, model="nobody-knows-it", **fields)
    for at in range(rounds):
        talk.list += [
            {"role": "user", "content": f"{at} " + WORDS * 80},
            {"role": "assistant", "content": f"{at} " + WORDS * 40},
        ]
    talk.list.append({"role": "user", "content": "And now?"})
    return talk


@pytest.mark.parametrize("told", REFUSALS.values(), ids=REFUSALS)
def test_the_window_that_a_refusal_names_is_learned(told: str, tmp_path: Path) -> None:
    """It is the number that the provider calls its limit, and not the room of the answer, which may be named beside."""
    wire = "anthropic" if "`max_tokens`" in told or "prompt is" in told else "chat"
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": told}}).encode()
    with Through(tmp_path, [fail(400, body=body), answer("Yes.")]) as through:
        talk = talk_of(through, wire, 15, max_tokens=OUTPUT)
        assert through.post(wire, talk.body()).status_code == 200
        with through.session() as session:
            assert session.budget is not None
            assert session.budget.window == pytest.approx(WINDOW - OUTPUT, abs=2)  # what is left for the request


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_request_fits_at_its_second_sending_however_the_provider_counts(wire: str, tmp_path: Path) -> None:
    """Providers count other tokens than we do. What the refusal says is enough: the agent never sees one."""
    with Through(tmp_path, lambda _: answer("Yes."), window=None) as through:
        count = through.upstream._meter._count
        through.upstream._meter._count = lambda text: count(text) * 2
        through.upstream._window = 20_000
        talk = talk_of(through, wire, 0)
        for at in range(12):
            response = through.post(wire, talk.body())
            assert response.status_code == 200, (at, response.text)
            talk.list += [*said(wire, response.json()), {"role": "user", "content": f"{at} " + WORDS * 80}]
        refused = [asked.overflow for asked in through.upstream.asked]
        assert any(refused)
        assert not any(first and second for first, second in pairwise(refused))


def image(wire: str, where: str) -> list[Any]:
    """A question about an image that the provider fetches."""
    match wire:
        case "anthropic":
            return [{"type": "text", "text": "Look."}, {"type": "image", "source": {"type": "url", "url": where}}]
        case "chat":
            return [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": where}}]
        case _:
            return [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": where}]


@pytest.mark.slow
@pytest.mark.parametrize("escaped", [False, True], ids=["plain", "escaped"])
@pytest.mark.parametrize("step", [0, 2], ids=["at first sight", "step by step"])
@pytest.mark.parametrize("wire", WIRES)
def test_images_that_are_only_named_count_in_a_window_that_was_set(
    wire: str, step: int, escaped: bool, tmp_path: Path
) -> None:
    """They have more tokens than their addresses have bytes, so a request with them is counted before it is sent."""
    with Through(tmp_path, lambda _: answer("Yes."), window=6_000) as through:
        talk, every = Talk(through, wire), []
        for at in range(12):
            every.append({"role": "user", "content": image(wire, f"https://example.org/{at}.png")})
            every.append({"role": "assistant", "content": "Seen."})
        every.append({"role": "user", "content": "And now?"})
        for end in range(1, len(every) + 1, step) if step else (len(every),):
            talk.list = every[:end]
            body = json.dumps(talk.body()).encode()
            if escaped:
                body = body.replace(b'"image', rb'"\u0069mage').replace(b'"input_image', rb'"input\u005fim\u0061ge')
            assert through.post(wire, body).status_code == 200
        assert through.upstream.invalid == []
        with through.session() as session:
            assert session.items.tokens() > 6_000
        sent = json.loads(through.upstream.asked[-1].raw)[LISTS[wire]]
        assert without_markers(sent) != every


def test_fields_of_responses_mean_nothing_elsewhere(tmp_path: Path) -> None:
    """Some servers take a `conversation` beside the whole list: it is logged once all the same."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        talk = Talk(through, "chat")
        for words in ("One", "Two", "Three"):
            talk.list.append({"role": "user", "content": words})
            through.post("chat", talk.body(conversation="any", previous_response_id="any"))  # the upstream refuses it
            talk.list.append({"role": "assistant", "content": "Yes."})
        through.restart()  # what was refused is logged after that
        assert through.texts() == ["One", "Yes.", "Two", "Yes.", "Three"]
