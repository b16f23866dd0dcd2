"""What `print(payload)` shows a person."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.values.items import Call


def test_a_payload_prints_as_a_table_with_levels_reasons_and_windows() -> None:
    """Each item has its level, its tokens and those in full, and why; each window stands at the end by its id."""
    session = Session(MemoryStore())
    session.windows.register("todo")
    session.windows.open("todo")
    session.system("You are careful.")
    for number in range(30):
        session.user(f"question {number} " + "word " * 100)
        session.reply("answer " * (80 if number < 27 else 300))
    payload = session.compose(Budget(3_000, 200, recall=0))
    heading, titles, first, *rows = str(payload).splitlines()
    assert heading == f"{payload.tokens:,} of 2,800 tokens, {payload.plan.reason}"
    assert titles.split() == ["item", "kind", "shown", "as", "tokens", "in", "full", "why"]
    assert first.split() == ["system", "+", "windows", "full", f"{payload.plan.fixed:,}", "in", "every", "payload"]
    cells = {row.split()[0]: row for row in rows}
    shortened = [line for line in payload.plan.lines() if line.why]
    assert shortened
    for line in shortened:
        expected = ["#" + line.id, "assistant", "gist", str(line.tokens), str(line.full_tokens), "shortened to fit"]
        assert " ".join(cells["#" + line.id].split()) == " ".join(expected)
    assert " ".join(cells["todo_1"].split()) == "todo_1 window as it is now, at the end"
    assert payload.plan.marker in str(payload)


@pytest.mark.parametrize("window", [700, 3_000, 100_000])
def test_the_tokens_of_the_table_sum_to_those_of_the_payload(window: int) -> None:
    """System prompt, items, constraints that are quoted, lines for what is left out, and the framing are the whole."""
    session = Session(MemoryStore())
    session.system("You are careful.")
    for number in range(30):
        session.user(f"Never touch pier {number}. " + "word " * 30)
        session.assistant([Call(f"c{number}", "bash", {"command": "ls"})])
        session.tool_result(f"c{number}", "answer " * 30)
    payload = session.compose(Budget(window, 100))
    _, titles, *rows = str(payload).removesuffix(payload.plan.marker).rstrip("\n").splitlines()
    end = titles.index("tokens") + len("tokens")
    rows = rows[: len(rows) - len(payload.plan.preface.splitlines())]
    assert sum(int(row[:end].split()[-1].replace(",", "")) for row in rows) == payload.tokens
    assert bool(payload.plan.marker) == any(row.endswith("what is left out, listed below") for row in rows)
    assert bool(payload.plan.preface) == any(row.endswith("constraints and notes, quoted below") for row in rows)


def test_the_items_stand_as_the_model_sees_them() -> None:
    """A summary is before what was said after the messages that it covers, although it was made later."""
    session = Session(MemoryStore())
    for number in range(30):
        session.user(f"question {number} " + "word " * 40)
        session.reply("answer " * 80)
    session.compose(Budget(8_000, 200))
    session.summaries.compact()
    payload = session.compose(Budget(8_000, 200))
    shown = [row.split()[0].removeprefix("#") for row in str(payload).splitlines() if row.startswith("#")]
    assert shown == [message.id for message in payload.body if message.id in shown]
    assert session.items.info(shown[0]).kind.name == "SUMMARY"


@pytest.mark.parametrize("level", ["gist", "out"])
def test_a_window_is_not_said_to_be_shown_in_full(level: str) -> None:
    """Its level is its own, and its text says it."""
    session = Session(MemoryStore(), apps=["todo"])
    session.user("hello")
    session.windows.lod(session.windows.open("todo"), level)
    [row] = [row for row in str(session.compose(Budget(3_000))).splitlines() if row.startswith("todo_1")]
    assert "full" not in row


def test_a_window_that_was_shortened_says_what_that_saved() -> None:
    """A window that does not fit is shortened or hidden, and its row says so."""
    session = Session(MemoryStore())
    session.windows.register("todo")
    session.windows.open("todo")
    for number in range(60):
        session.windows.act("todo_1", "add", text=f"task {number} " + "word " * 10)
    session.user("What is left?")
    payload = session.compose(Budget(1_000, 100))
    [row] = [line for line in str(payload).splitlines() if line.startswith("todo_1")]
    assert f"{payload.spared['todo_1']:,} tokens saved to fit" in row
    assert ("shortened" in row) == ("todo_1" in payload.shown_windows)
