"""A file in work that is larger than its room is shown in parts: those that the task speaks of."""

import re

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.view import View
from sightline.shorten import words_in
from sightline.testing import calling
from sightline.values.items import Lod
from sightline.values.tokens import Estimate
from sightline.wire.payload import Payload

NAMES = ("load_orders", "parse_rows", "total_price", "print_invoice", "archive_orders", "send_reminder")
BUDGET = Budget(window=4_000, output=500)


def function(name: str) -> list[str]:
    """A function with an empty line in it, and lines that occur twice."""
    steps = [f"    rows = apply(rows, step={n}, of='{name}')" for n in range(11)]
    return [f"def {name}(rows):", *steps, "    check(rows)", "", *steps, "    check(rows)", ""]


LINES = [line for name in NAMES for line in function(name)]


def work_on(
    name: str, store: MemoryStore, lines: list[str] = LINES, budget: Budget = BUDGET, strategy: Focus | None = None
) -> Session:
    """Read the whole file, then look into one function of it until a sweep."""
    session = Session(store, strategy=strategy)
    session.user("A customer sees wrong sums. Please mend it.")
    session.compose(budget)
    session.reply(calling(("read_file", {"path": "shop.py"})))
    session.tool_result(session.open_calls[0].id, "\n".join(lines))
    while not session.compose(budget).plan.reason:
        session.reply(calling(("bash", {"command": f"pytest -k {name}"})))
        session.tool_result(session.open_calls[0].id, f"{name} fails\n" + "the run says next to nothing here\n" * 20)
    return session


@pytest.mark.parametrize("name", [NAMES[1], NAMES[4]])
def test_a_file_in_work_keeps_the_parts_that_the_task_speaks_of(name: str) -> None:
    payload = work_on(name, MemoryStore("a")).preview(BUDGET)
    line = next(line for line in payload.plan.lines() if line.why == "parts")
    sent = "\n".join(str(message["content"]) for message in payload.openai()["messages"])
    assert (line.lod, line.tokens < line.full_tokens) == (Lod.SUMMARY, True)
    assert "\n".join(function(name)) in sent
    assert "step=9, of='total_price'" not in sent


def test_a_gap_says_which_lines_it_hides_so_that_they_can_be_brought_back() -> None:
    session = work_on(NAMES[1], MemoryStore("a"))
    line = next(line for line in session.preview(BUDGET).plan.lines() if line.why == "parts")
    sent = "\n".join(str(message["content"]) for message in session.preview(BUDGET).openai()["messages"])
    first, last = map(int, re.findall(r"… lines (\d+)-(\d+)", sent)[-1])
    brought_back = session.items.expand(line.id, start=first, lines=last - first + 1)
    assert brought_back.endswith("\n".join(LINES[first - 1 : last]))


def test_parts_are_the_same_after_resuming() -> None:
    """They were sent, so they are read from the log and not chosen again."""
    store = MemoryStore("a")
    session = work_on(NAMES[1], store)
    sent = session.preview(BUDGET).openai()["messages"]
    again = Session(store)
    again.user("The invoice is wrong too: print_invoice.")
    assert again.compose(BUDGET).openai()["messages"][: len(sent)] == sent


@pytest.mark.parametrize(("table", "window"), [([], 4_000), (["TABLE = '" + "x1 " * 1_100 + "'"], 6_000)])
def test_every_gap_names_its_lines_as_expand_counts_them(table: list[str], window: int) -> None:
    """Also the first, which follows the label. A very long line is several lines to `expand`."""
    budget = Budget(window, output=500)
    session = work_on(NAMES[3], MemoryStore("a"), [*LINES[:30], *table, *LINES[30:]], budget)
    payload = session.preview(budget)
    line = next(line for line in payload.plan.lines() if line.why == "parts")
    sent = "\n".join(str(message["content"]) for message in payload.openai()["messages"])
    gaps = re.findall(r"… lines (\d+)-(\d+)[^\n]*\n([^\n]+)\n", sent)
    assert re.search(r"\[read_file[^\n]*\]\n… lines \d", sent)
    for _, last, following in gaps[1:]:
        assert session.items.page(line.id, 2_000, start=int(last) + 1, lines=1).endswith(following.strip())


def read_and_run(*, resumed: bool) -> list[Payload]:
    """Read some files and run commands, in a session that is opened again before each call or stays open."""
    store, budget, payloads = MemoryStore("a"), Budget(4_000, output=400), []
    session = Session(store, token_counter=Estimate())
    code, log = (
        "\n".join(f"{n}\tdef fn_{n}(): pass" for n in range(200, 500)),
        "the run goes on and on, see a.py\n" * 330,
    )
    session.user("Please mend fn_250.")
    for at, text in enumerate((log, code, log, log[:3_000])):
        payloads.append(session.compose(budget))
        session.reply(calling(("read_file" if text is code else "bash", {"path": f"a{at}.py"})))
        session.tool_result(session.open_calls[0].id, text)
        session = Session(store, token_counter=Estimate()) if resumed else session
    return [*payloads, session.compose(budget)]


def test_parts_do_not_depend_on_whether_the_session_was_resumed() -> None:
    """What an earlier sweep has shortened may be shown in parts by the next one, and the log says what that was."""
    live, again = read_and_run(resumed=False), read_and_run(resumed=True)
    assert any(line.why == "parts" for line in live[-1].plan.lines())
    assert [payload.hash for payload in live] == [payload.hash for payload in again]


def test_the_same_view_gives_the_same_plan_with_parts() -> None:
    """What one plan made to measure is not what the next one begins with."""
    first, second = [], []

    class Twice(Focus, frozen=True):
        def plan(self, view: View) -> Plan:
            plan, again = super().plan(view), super().plan(view)
            first.append(str(plan))
            second.append(str(again))
            return again

    work_on(NAMES[1], MemoryStore("a"), strategy=Twice())
    assert any("parts" in plan for plan in first)
    assert first == second


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mend parse_rows, not io.", {"Mend", "parse_rows"}),
        ("请修改parse_rows函数", {"parse_rows", "请修", "修改", "函数"}),
        ("überprüfen", {"überprüfen"}),
    ],
)
def test_the_words_of_a_task_are_whole_names_and_pairs_of_chinese_characters(text: str, words: set[str]) -> None:
    assert words_in(text) == words
