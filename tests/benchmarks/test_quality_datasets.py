"""Loaders, on files of a few invented records in each dataset's form."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality import datasets
from benchmarks.quality.datasets.coding import chained_runs, claude_messages, codex_messages
from benchmarks.quality.datasets.record_files import repaired
from benchmarks.quality.messages import count_messages
from benchmarks.quality.records import Run
from benchmarks.quality.splits import halves
from benchmarks.quality.validity import problems
from quality_talk import REPLY, SYSTEM, USER, call, tool


def lines(path: Path, *records: Any) -> None:
    """One record a line, compressed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = "\n".join(json.dumps(record, ensure_ascii=False) for record in records).encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def test_a_recorded_run_is_made_legal() -> None:
    """Answers stand behind their calls in the calls' order; what has no partner and what says nothing is dropped."""
    both = {**call("1"), "tool_calls": [*call("1")["tool_calls"], *call("2")["tool_calls"]]}
    told = [USER, tool("0"), both, tool("2", "two"), tool("1", " "), tool("9"), call("3"), {**REPLY, "content": " "}]
    assert repaired(told) == [USER, both, tool("1", "(empty)"), tool("2", "two")]
    assert problems(repaired(told), repaired(told), 10**6) == []


def test_locomo_keeps_dates_and_evidence(tmp_path: Path) -> None:
    """A session's first turn carries its date; questions without an answer in the chat are left out."""
    turns = [{"speaker": who, "dia_id": f"D1:{n}", "text": f"turn {n}"} for n, who in ((1, "Ann"), (2, "Bob"))]
    questions = [
        {"question": "who?", "answer": 7, "evidence": ["D1:2"], "category": 1},
        {"question": "trap", "evidence": ["D1:1"], "category": 5},
        {"question": "lost", "answer": "x", "evidence": ["D9:1"], "category": 1},
    ]
    talk = {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": turns, "session_1_date_time": "8 May"}
    lines(tmp_path / "locomo" / "locomo10.json", [{"sample_id": "one", "conversation": talk, "qa": questions}])
    (chat,) = datasets.EVIDENCE["locomo"](tmp_path)
    assert [message["role"] for message in chat.messages] == ["system", "user", "assistant"]
    assert chat.messages[1]["content"] == "[8 May]\nAnn: turn 1"
    (question,) = chat.questions
    assert (question.gold, question.answers, question.dates) == (["turn 2"], ["7"], ["8 May"])


def test_meetings_and_memories(tmp_path: Path) -> None:
    """Spans become turns; a quoted sentence finds the message it stands in."""
    said = [{"speaker": "Chair", "content": f"a sentence of the meeting, number {n}"} for n in range(3)]
    asked = {"query": "what?", "relevant_text_span": [["0", "1"]]}
    record = {"meeting_transcripts": said, "specific_query_list": [asked]}
    lines(tmp_path / "qmsum" / "test.jsonl", record)
    lines(tmp_path / "qmsum" / "val.jsonl")
    (meeting,) = datasets.EVIDENCE["qmsum"](tmp_path)
    assert meeting.id == "test0"
    assert meeting.questions[0].gold == [each["content"] for each in said[:2]]
    folder = tmp_path / "bfcl_memory"
    told = [{"role": "user", "content": "My dentist is in Oak Street, number 12."}]
    lines(folder / "prereq" / "memory_health.json", {"question": [told]})
    lines(folder / "questions.json", {"id": "q", "scenario": "health", "question": [told]})
    lines(folder / "answers.json", {"id": "q", "source": "dentist is in  oak street...", "ground_truth": ["12"]})
    (memory,) = datasets.EVIDENCE["bfcl_memory"](tmp_path)
    assert memory.questions[0].gold == [told[0]["content"]]
    assert memory.questions[0].any_answer


def test_sessions_of_a_project_are_chained_in_the_order_of_their_time() -> None:
    """To runs of a size; the system prompt is said once, and what is left over is no run."""

    def session(name: str, when: str) -> Run:
        return Run(name, name, [SYSTEM, {**USER, "ts": when, "content": name}, REPLY])

    sessions = [session("third", "2026-03"), session("first", "2026-01")]
    size = count_messages(sessions[0].messages)
    (run,) = chained_runs("people/cli", [*sessions, session("second", "2026-02")], size)
    assert (run.id, run.group) == ("cli-1", "second")
    assert [message["role"] for message in run.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert [message["content"] for message in run.messages if message["role"] == "user"] == ["first", "second"]


def test_a_chain_is_made_of_one_project_and_one_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is tuned on one half never sees the other."""
    monkeypatch.setattr("benchmarks.quality.datasets.coding.LONG", 5)
    rows: list[Any] = [{"type": "user", "message": {"content": "Do it."}}]
    for number in range(5):
        used = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        rows.append({"type": "assistant", "message": {"id": f"m{number}", "content": [used]}})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "done"}
        rows.append({"type": "user", "message": {"content": [result]}})
    names = [(f"s{number}", ("a/cli", "a/web")[number % 2]) for number in range(8)]
    records = [{"id": name, "repo": repo, "rows": rows} for name, repo in names]
    lines(tmp_path / "entire_sessions" / "claude_8.jsonl.gz", *records)
    found = datasets.RUNS["long_runs"](tmp_path)
    half = halves("long_runs", [name for name, _ in names])
    assert half == halves("entire_claude", [name for name, _ in names])
    assert {(run.id.split("-")[0], half[run.group]) for run in found} == {(repo[2:], half[n]) for n, repo in names}


def test_a_bash_block_becomes_a_call(tmp_path: Path) -> None:
    """The one command of an answer is a call, and the next message its result."""
    told = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": "I look.\n```bash\nls src\n```"},
        {"role": "user", "content": "main.py"},
    ]
    lines(tmp_path / "mini_swe_agent" / "runs.jsonl.gz", {"instance_id": "i", "exit_status": "ok", "messages": told})
    (run,) = datasets.RUNS["mini_swe_agent"](tmp_path)
    assert [message["role"] for message in run.messages] == ["system", "user", "assistant", "tool"]
    assert run.messages[2]["content"] == "I look."
    assert json.loads(run.messages[2]["tool_calls"][0]["function"]["arguments"]) == {"command": "ls src"}


def test_rows_of_a_coding_agent_become_messages() -> None:
    """Rows of one answer are joined; side chains, summaries of compactions and interrupted calls are left out."""

    def row(kind: str, content: Any, **more: Any) -> Any:
        return {"type": kind, "message": {"id": "m1", "content": content}, "timestamp": "2026-01-01T10:00:00Z", **more}

    used = [{"type": "tool_use", "id": name, "name": "Read", "input": {"file": name}} for name in ("a", "b")]
    rows = [
        row("assistant", "before anybody asked"),
        row("user", "Read it"),
        row("user", "side", isSidechain=True),
        row("assistant", [{"type": "text", "text": "Reading."}], uuid="u"),
        row("assistant", used),
        row("user", [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "found"}]}]),
        row("user", "a summary", isCompactSummary=True),
    ]
    rows[0]["message"]["id"] = "m0"
    asked, answer, result = claude_messages(rows)
    assert (asked["role"], asked["content"], asked["ts"]) == ("user", "Read it", "2026-01-01T10:00:00Z")
    assert answer["content"] == "Reading."
    assert [made["id"] for made in answer["tool_calls"]] == ["a"]
    assert result["content"] == "found"


def test_items_of_another_coding_agent_become_messages() -> None:
    """Text and the calls behind it are one answer; instructions of the developer lead."""
    items = [
        {"type": "message", "role": "developer", "content": "rules"},
        {"type": "message", "role": "user", "content": "go"},
        {"type": "message", "role": "assistant", "content": "Going."},
        {"type": "function_call", "call_id": "1", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": ""},
    ]
    meta = {"type": "session_meta", "base_instructions": "base"}
    messages = codex_messages([meta, *({"type": "item", "item": item} for item in items)])
    assert [message["role"] for message in messages] == ["system", "system", "user", "assistant", "tool"]
    assert messages[3]["content"] == "Going."
    assert messages[4]["content"] == "(no output)"


def test_booking_dialogues_become_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """English ones with their service calls, Chinese ones with the values of their goals that were said."""
    monkeypatch.setattr("benchmarks.quality.splits._KNOWN", {})  # the published order is not that of these
    state = {"slot_values": {"city": ["Rome"], "date": ["never said"]}, "active_intent": "FindHotel"}
    service = {"method": "FindHotel", "parameters": {"city": "Rome"}}
    turns = [
        {"speaker": "USER", "utterance": "A hotel in Rome", "frames": [{"service": "Hotels_1", "state": state}]},
        {"speaker": "SYSTEM", "utterance": "Here.", "frames": [{"service": "Hotels_1", "service_call": service}]},
    ]
    folder = tmp_path / "crosswoz_zh"
    folder.mkdir()
    goal = [[1, "餐馆", "名称", "全聚德", True], [1, "餐馆", "评分", "没说过", True]]
    said = [{"role": "usr", "content": "我想去全聚德"}]
    for part in ("test", "val"):
        with zipfile.ZipFile(folder / f"{part}.json.zip", "w") as packed:
            packed.writestr("x.json", json.dumps({str(n): {"messages": said, "final_goal": goal} for n in range(12)}))
    lines(tmp_path / "sgd" / "x.json.gz", [{"dialogue_id": str(n), "turns": turns} for n in range(11)])
    for dataset, value in (("sgd", "Rome"), ("crosswoz_zh", "全聚德")):
        (session,) = datasets.SLOTS[dataset](tmp_path)
        assert {tuple(each) for topic in session.topics for each in topic.values} == {(value,)}
        assert problems(session.messages, session.messages, 10**6) == []
