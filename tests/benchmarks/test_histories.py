"""Generated histories: valid, the same everywhere, and of the sizes they promise."""

import hashlib
import json
import statistics
from itertools import islice
from typing import Any

import pytest
from benchmarks.histories import agent_run, agent_stream, chat_stream, chat_turns
from hypothesis import given
from hypothesis import strategies as st


def digest(messages: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False).encode()).hexdigest()[:16]


def assert_paired(messages: list[dict[str, Any]]) -> None:
    """Every call is answered directly after its message, in order, and by nothing else."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    assert not waiting


@pytest.mark.slow
@given(length=st.integers(2, 300), seed=st.integers(0, 1000))
def test_a_run_of_any_length_is_one_a_provider_accepts(length: int, seed: int) -> None:
    """Exactly as long as asked, system first, paired, and a model call comes next."""
    run = agent_run(length, seed)
    assert len(run) == length
    assert [message["role"] for message in run[:2]] == ["system", "user"]
    assert run[-1]["role"] in {"user", "tool"}
    assert_paired(run)


def test_call_ids_are_unique_and_arguments_are_json_objects() -> None:
    """No id is used twice and every argument text parses to an object."""
    calls = [call for message in agent_run(2000) for call in message.get("tool_calls", [])]
    assert len({call["id"] for call in calls}) == len(calls)
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_for_ever() -> None:
    """The bytes are pinned: they may not depend on the process, the machine or the Python version."""
    assert digest(agent_run(500)) == digest(agent_run(500)) == "86c8675805ae9b0f"
    assert digest(chat_turns(50)) == "1a0afda659d9d35f"
    assert digest(agent_run(500, seed=8)) != digest(agent_run(500))


@pytest.mark.slow
def test_results_have_the_sizes_of_recorded_runs() -> None:
    """The median result is about 1.2 KB and the largest stay near 30 KB."""
    sizes = [len(message["content"]) for message in agent_run(6000) if message["role"] == "tool"]
    assert 900 < statistics.median(sizes) < 1500
    assert 20_000 < max(sizes) < 32_000


def test_later_calls_use_values_of_earlier_results() -> None:
    """Most calls of an agent name something that an earlier message showed."""
    shown, known, total = "", 0, 0
    for message in agent_run(600):
        for call in message.get("tool_calls", []):
            values = [str(value) for value in json.loads(call["function"]["arguments"]).values()]
            known += any(len(value) > 7 and value in shown for value in values)
            total += 1
        shown += message["content"] or ""
    assert known / total > 0.5


@pytest.mark.slow
def test_tasks_come_every_few_dozen_messages() -> None:
    """Users speak up rarely, as in real runs, and files are read more than once."""
    run = agent_run(4000)
    assert 60 < sum(message["role"] == "user" for message in run) < 240
    reads = [
        call["function"]["arguments"]
        for message in run
        for call in message.get("tool_calls", [])
        if call["function"]["name"] == "read_file"
    ]
    assert len(set(reads)) < len(reads)


@pytest.mark.parametrize("size", [300, 1024, 4096, 20_000])
def test_a_chat_turn_has_the_size_asked_for(size: int) -> None:
    """The JSON of a user and an assistant message together is within a tenth of the size."""
    chat = chat_turns(20, size)
    assert [message["role"] for message in chat] == ["user", "assistant"] * 20
    for at in range(0, 40, 2):
        assert abs(len(json.dumps(chat[at : at + 2], ensure_ascii=False).encode()) - size) < size / 10 + 30


def test_histories_can_be_taken_one_message_at_a_time() -> None:
    """The streams begin at once, however long they will be, and give what the lists give."""
    assert list(islice(agent_stream(10**9), 300)) == agent_run(400)[:300]
    assert list(islice(chat_stream(10**9), 20)) == chat_turns(10)


def test_a_run_too_short_to_be_one_is_refused() -> None:
    """One message cannot be both the system's and the user's."""
    with pytest.raises(ValueError, match="at least"):
        agent_run(1)
