"""`sl.fit`: one list of messages in, one that fits out."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

import sightline as sl

Messages = list[dict[str, Any]]
READ = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


def run_of(results: int) -> Messages:
    """An agent's run in OpenAI's form: a task, and calls of `read` with 400 words for each."""
    messages: Messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Mend the parser."}]
    for number in range(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {number}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"part {number} " + "word " * 400})
    return messages


def test_what_fits_is_the_same_list() -> None:
    """Not a byte differs, and nothing was shortened."""
    messages = run_of(3)
    fitted = sl.fit(messages, 8_000)
    assert fitted == messages
    assert all(sent is given for sent, given in zip(fitted, messages, strict=True))
    assert (fitted.shortened, fitted.left_out) == ({}, {})
    assert 1_200 < fitted.tokens < 8_000


def test_what_does_not_fit_is_shortened_and_stays_at_hand() -> None:
    """The newest is whole, pairs stay, most of the window is used, and each message that is not whole is named."""
    messages = run_of(30)
    fitted = sl.fit(messages, 4_000, [READ], output=500)
    assert fitted[0] == messages[0]
    assert fitted[-1] == messages[-1]
    assert 2_400 < fitted.tokens <= 3_500
    called = [call["id"] for message in fitted for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in fitted if message["role"] == "tool"]
    hidden = {**fitted.left_out, **fitted.shortened}
    assert hidden == {at: messages[at] for at in hidden}
    sent = [str(message["content"]) for message in fitted]
    whole = [at for at, message in enumerate(messages) if message["role"] == "tool" and message["content"] in sent]
    assert whole == [at for at, message in enumerate(messages) if message["role"] == "tool" and at not in hidden]


def test_the_form_stays() -> None:
    """Anthropic's blocks come back as such, and its own fields do."""
    messages: Messages = []
    for number in range(20):
        said = [{"type": "text", "text": f"{number}? " + "word " * 200}]
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": f"Answer {number}."}]
    messages.append({"role": "user", "content": [{"type": "text", "text": "And now?"}]})
    fitted = sl.fit(messages, 1_500, provider="anthropic")
    assert fitted[-1]["content"][-1]["text"] == "And now?"
    assert all(isinstance(message["content"], list) for message in fitted)
    assert fitted.left_out


def test_a_window_that_is_too_small_says_so() -> None:
    """The system prompt is never shortened."""
    with pytest.raises(sl.PinnedOverflow):
        sl.fit([{"role": "system", "content": "word " * 5_000}, {"role": "user", "content": "Hello"}], 1_000)


@pytest.mark.parametrize("messages", ["Hello", 5, None, [1], [{"role": "x"}], [HumanMessage("Hello")]])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    """The error says what was found and what is accepted."""
    with pytest.raises(sl.BadInput, match=r"messages|middleware"):
        sl.fit(messages, 1_000)


@pytest.mark.parametrize("window", [900, 100_000])
def test_messages_may_come_one_by_one(window: int) -> None:
    """What is read but once gives what a list of it does."""
    messages = run_of(5)
    fitted = sl.fit((message for message in messages), window)
    assert fitted == sl.fit(messages, window)
    assert fitted


def test_calls_that_are_messages_of_their_own_are_named_one_by_one() -> None:
    """In the form of responses what was thought, said and called are several messages, each with its own level."""
    messages: Messages = []
    for number in range(8):
        ids = [f"c{number}", f"d{number}"]
        texts = ["word " * 900, "short"] if number == 7 else ["word " * 300, "word " * 300]
        messages.append({"role": "user", "content": f"Question {number}?"})
        messages.append({"type": "reasoning", "id": f"r{number}", "summary": [], "encrypted_content": "x"})
        messages += [
            {"type": "function_call", "call_id": call_id, "name": "write", "arguments": f'{{"text": "{text}"}}'}
            for call_id, text in zip(ids, texts, strict=True)
        ]
        messages += [{"type": "function_call_output", "call_id": call_id, "output": "Done."} for call_id in ids]
    messages.append({"role": "user", "content": "And now?"})
    fitted = sl.fit(messages, 1_000)
    last = len(messages) - 1
    assert {last - 4} <= fitted.shortened.keys()
    assert not {last, last - 1, last - 2, last - 3} & {*fitted.shortened, *fitted.left_out}
    sent = {message["call_id"] for message in fitted if message.get("type") == "function_call"}
    calls = {at: message["call_id"] for at, message in enumerate(messages) if message.get("type") == "function_call"}
    assert {calls[at] for at in calls if at not in fitted.left_out} == sent
