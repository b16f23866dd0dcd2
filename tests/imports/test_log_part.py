"""Reading on in a log that another program writes: only complete lines, only what is new, and knowing it again."""

import json
from pathlib import Path

import pytest
from claude_log import WrittenLog

from sightline.imports.claude_code import ClaudeLog
from sightline.imports.log_part import LogPart, mark_of
from sightline.values.items import plain_text


def texts(log: ClaudeLog) -> list[str]:
    return [plain_text(turn.message.parts) for step in log.steps() for turn in step.turns]


def test_a_part_has_complete_lines_only(tmp_path: Path) -> None:
    """A line that is being written belongs to the next part; what comes later does not change a part."""
    file = tmp_path / "log"
    file.write_bytes(b'{"a": 1}\n\n{"b": 2}\n{"c"')
    part = LogPart(file)
    assert part.end == 19
    with file.open("ab") as opened:
        opened.write(b": 3}\n")
    assert [line.data for line in part.lines()] == [b'{"a": 1}', b'{"b": 2}']
    assert [line.data for line in LogPart(file, part.end).lines()] == [b'{"c": 3}']


@pytest.mark.parametrize(("most", "length"), [(1, 300), (7, 300), (30, 300), (80_000, 100_000), (200_000, 100_000)])
def test_pieces_are_the_whole(most: int, length: int, tmp_path: Path) -> None:
    """Whatever their size, every line is in one of them, unless it is longer than a piece."""
    file = tmp_path / "log"
    wanted = [b'{"a": 1}', b'{"b": "' + b"x" * length + b'"}', b'{"c": 3}']
    file.write_bytes(b"\n".join(wanted) + b"\n")
    found, place, pieces = [], 0, 0
    while True:
        part = LogPart(file, place, most=most)
        found += [line.data for line in part.lines()]
        pieces += 1
        if not part.is_cut:
            break
        assert part.end > place
        place = part.end
    assert part.end == file.stat().st_size
    assert [line for line in found if line in wanted] == [line for line in wanted if len(line) < most]
    assert pieces <= file.stat().st_size // most + 4


def test_a_file_is_known_by_what_stands_before_a_place(tmp_path: Path) -> None:
    """It may grow; a change before the place, or a shorter file, is noticed."""
    file = tmp_path / "log"
    file.write_bytes(b"one\ntwo\n")
    mark = mark_of(file, 8)
    file.write_bytes(b"one\ntwo\nthree\n")
    assert mark_of(file, 8) == mark
    file.write_bytes(b"one\ntwO\nthree\n")
    assert mark_of(file, 8) != mark
    file.write_bytes(b"one\n")
    assert mark_of(file, 8) == ""


def test_a_part_goes_on_where_another_stopped(tmp_path: Path) -> None:
    """Also over a compaction, whose first line names the last one before it."""
    log = WrittenLog(tmp_path / "log")
    log.user("one")
    log.assistant("two")
    log.write("attachment", attachment={"type": "task_reminder", "content": []})
    part = LogPart(log.path)
    before = ClaudeLog(part)
    log.compact("This session is being continued.")
    log.user("three")
    after = ClaudeLog(LogPart(log.path, part.end))
    assert after.continues(before.ends)
    assert texts(after) == ["three"]


def test_a_part_that_takes_something_back_does_not_go_on(tmp_path: Path) -> None:
    """A rewind to before the place, right after it or later."""
    log = WrittenLog(tmp_path / "log")
    first = log.user("one")
    log.assistant("two")
    part = LogPart(log.path)
    before = ClaudeLog(part)
    log.user("three")
    later = LogPart(log.path, part.end)
    assert ClaudeLog(later).continues(before.ends)
    log.last = first
    log.user("instead of two")
    log.assistant("ok")
    assert not ClaudeLog(LogPart(log.path, part.end)).continues(before.ends)
    assert not ClaudeLog(LogPart(log.path, later.end)).continues(ClaudeLog(later).ends)
    assert texts(ClaudeLog(LogPart(log.path))) == ["one", "instead of two", "ok"]


def test_a_part_without_messages_goes_on(tmp_path: Path) -> None:
    """There is nothing in it that could have been taken back."""
    log = WrittenLog(tmp_path / "log")
    log.user("one")
    part = LogPart(log.path)
    with log.path.open("a") as file:
        file.write(json.dumps({"type": "mode", "mode": "normal", "sessionId": log.session}) + "\n")
    assert ClaudeLog(LogPart(log.path, part.end)).continues(ClaudeLog(part).ends)
