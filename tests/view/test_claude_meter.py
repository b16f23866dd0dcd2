"""What the meter counts in a log of Claude Code, and that it reads every byte once."""

from pathlib import Path

import msgspec
import pytest
from claude_log import WrittenLog

from sightline.view.claude_meter import Counts, count_on


@pytest.fixture
def log(tmp_path: Path) -> WrittenLog:
    return WrittenLog(tmp_path / "log.jsonl")


TEXT = "\n".join(f"def function_{number}(): return value_{number}" for number in range(60))


def read(log: WrittenLog, path: str, text: str = TEXT, **more: object) -> None:
    log.call("Read", {"file_path": path, **more}, text)


def test_a_file_that_was_read_before_is_counted(log: WrittenLog) -> None:
    """Not other lines of it, not a read that failed, and not what has changed; a subagent's reads are its own."""
    read(log, "/w/a.py")
    read(log, "/w/a.py", TEXT.replace("value", "other"), offset=10)
    log.call("Read", {"file_path": "/w/a.py"}, TEXT, failed=True)
    log.call("Read", {"file_path": "/w/a.py"}, TEXT, isSidechain=True)
    assert count_on(log.path, Counts()).rereads == 0
    read(log, "/w/a.py")
    assert count_on(log.path, Counts()).rereads == 1
    read(log, "/w/a.py", TEXT.replace("return", "yield"))
    assert count_on(log.path, Counts()).rereads == 1


def test_compactions_and_the_tokens_of_the_last_call_are_counted(log: WrittenLog) -> None:
    """Those from the cache and those written to it too."""
    log.user("Hello")
    log.assistant("Hi", input_tokens=3, cache_creation_input_tokens=100, cache_read_input_tokens=900)
    log.compact("This session is being continued.")
    counts = count_on(log.path, Counts())
    assert (counts.compactions, counts.input_tokens, counts.cached_tokens) == (1, 1003, 900)


@pytest.mark.parametrize("most", [6000, 8000, 1 << 20])
def test_read_in_pieces_it_is_the_same(most: int, log: WrittenLog) -> None:
    """Stored between any two of them. It says that it is behind until all is read."""
    for _ in range(2):
        read(log, "/w/a.py")
        log.assistant("Let me look again.", input_tokens=5)
    log.compact("This session is being continued.")
    counts, pieces = Counts(is_behind=True), 0
    while counts.is_behind:
        counts = msgspec.json.decode(msgspec.json.encode(count_on(log.path, counts, most=most)), type=Counts)
        pieces += 1
        assert pieces <= log.path.stat().st_size // most * 2 + 1
    assert (pieces > 1) == (most < 1 << 20)
    assert counts == count_on(log.path, Counts())
    assert counts.rereads == 1


def test_only_what_is_new_is_read(log: WrittenLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in lines that are decoded."""
    for _ in range(20):
        log.user("Hello")
    counts = count_on(log.path, Counts())
    decoded: list[bytes] = []
    from sightline.view import claude_meter

    def watched(data: bytes, kind: type) -> object:
        decoded.append(data)
        return decode(data, kind)

    decode = claude_meter.decode_mended
    monkeypatch.setattr(claude_meter, "decode_mended", watched)
    assert count_on(log.path, counts) == counts
    assert decoded == []
    log.user("one more")
    counts = count_on(log.path, counts)
    assert len(decoded) == 1
    assert counts.place == log.path.stat().st_size


def test_another_log_of_the_same_name_is_counted_anew(log: WrittenLog) -> None:
    """It was replaced by one that is longer or shorter."""
    log.compact("one")
    log.compact("two")
    counts = count_on(log.path, Counts())
    log.path.write_text("")
    log.compact("three")
    assert count_on(log.path, counts).compactions == 1


def test_lines_of_any_form_break_nothing(log: WrittenLog) -> None:
    """No JSON, other types, values of other types, half a character."""
    log.compact("one")
    with log.path.open("ab") as file:
        file.write(b'{"type": 1}\n\xff\xfe\n[]\n{"message": {"content": [1]}}\n{"message": {"usage": []}}\nnull\n')
        file.write(
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":"\\ud800"}]}}\n'
        )
    log.compact("two")
    assert count_on(log.path, Counts()).compactions == 2
