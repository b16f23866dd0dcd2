"""What goes wrong in a long output is shown, wherever it stands."""

import json
from itertools import pairwise

import pytest

from sightline.shorten.levels import shorten
from sightline.shorten.sample import HEAD, READ_LIMIT, TAIL, read_sample
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.tokens import counter

# Of each kind of output: a line of it, and the line that fails.
OUTPUTS = {
    "log": ("2026-01-02T10:00:00Z INFO {at} done", "2026-01-02T10:00:00Z ERROR no route to db-2"),
    "json lines": ('{{"level": "INFO", "msg": "{at} done"}}', '{{"level": "ERROR", "msg": "no route to db-2"}}'),
    "tests": ("tests/test_a.py::test_{at} PASSED", "tests/test_a.py::test_{at} FAILED no route to db-2"),
    "build": ("[{at}] Building file_{at}.cc", "file_{at}.cc:3: error: db-2 was not declared"),
    "中文": ("第 {at} 步 已完成，继续下一步", "第 {at} 步 失败：db-2 没有响应"),
}


def summary(text: str) -> str:
    item = Item("5", Kind.RESULT, (Result("call", (Text(text),), "", "bash"),), "")
    return shorten(item, count=counter().count, name="bash", subject="make").summary or ""


@pytest.mark.slow("\\u4e2d\\u6587-3000", "build-50000", "json lines-50000")
@pytest.mark.parametrize("lines", [300, 3_000, 50_000])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_the_one_line_that_fails_is_shown(kind: str, lines: int) -> None:
    """At any place of an output of any length, also of a test run that did not get to its totals."""
    line, fails = OUTPUTS[kind]
    usual = [line.format(at=at) for at in range(lines)]
    for share in (0.05, 0.3, 0.5, 0.7, 0.9, 0.99) if lines < 50_000 else (0.3, 0.7):
        at = int(share * lines)
        text = "\n".join([*usual[:at], fails.format(at=at), *usual[at + 1 :]])
        assert "db-2" in summary(text), share


def test_lines_at_the_ends_of_head_and_tail_are_whole() -> None:
    """A line that the head ends in, or the tail begins in, is read too: it may be the one that matters."""
    lines = [f"line {at} of some length" for at in range(10_000)]
    text = "\n".join(lines)
    read = read_sample(text)
    for place in (HEAD - 1, len(text) - TAIL):
        number = text.count("\n", 0, place) + 1
        assert read.lines[read.numbers.index(number)] == lines[number - 1]
    assert read.numbers == sorted(set(read.numbers))
    assert sum(map(len, read.lines)) <= READ_LIMIT + 1_000
    assert not read.is_whole


def test_words_for_errors_that_every_line_has_do_not_hide_the_rare_one() -> None:
    """A window is where the rarest of these words is."""
    lines = [f"step {at}: 0 errors, 0 failures" for at in range(5_000)]
    lines[2_600] = "step 2600: FATAL: disk db-2 is full"
    assert "db-2 is full" in summary("\n".join(lines))


def test_errors_near_each_other_are_both_read() -> None:
    """A window for one that would overlap that of the other is read together with it."""
    lines = [f"line {at} of some length, with nothing to say" for at in range(3_000)]
    lines[1_000] = "FATAL: disk db-2 is full"
    lines[985] = "access to db-1 denied"
    assert {lines[985], lines[1_000]} <= {*read_sample("\n".join(lines)).lines}


def test_the_row_of_a_list_that_differs_is_shown_and_gaps_are_marked() -> None:
    """Of hundreds of alike objects, the one with another status; and where rows are left out, the summary says so."""
    items = [{"id": str(at), "status": "ok", "msg": ""} for at in range(400)]
    items[77] |= {"status": "FAILED", "msg": "no route"}
    lines = summary(json.dumps({"items": items}, indent=1)).split("\n")
    assert " 77, FAILED, no route …" in lines
    shown = [line for line in lines if line.startswith(" ") and line.strip()[:1].isdigit()]
    assert len(shown) > 50
    for before, after in pairwise(shown):
        is_next = int(after.split(",")[0]) == int(before.split(",")[0]) + 1
        assert before.endswith("…") is not is_next
