"""How much `expand` shows at once: the whole item where it fits in what is free, and never more than that."""

import re

import pytest

from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, plain_text
from sightline.values.settings import Settings

LINES = 412
FILE = "\n".join(f"line {number} has some words more than it needs" for number in range(1, LINES + 1))  # 3,708 words


def asked(window: int, text: str = FILE, calls: int = 1, said: str = "") -> tuple[Session, list[str]]:
    """The answers to calls of `expand` for one long result, in a session of this budget that has little else in it."""
    session = Session(MemoryStore("s"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    session.tools([])
    session.user("What does it print?")
    session.compose(Budget(window, recall=0))
    session.assistant([Call("c1", "run", {"command": "make"})])
    session.tool_result("c1", text)
    if said:
        session.user(said)
    session.compose(Budget(window, recall=0))
    item = next(item.id for item in session.items if item.kind.name == "RESULT")
    session.assistant([Call(f"e{number}", "expand", {"id": item}) for number in range(calls)])
    session.answer_own_calls()
    return session, [plain_text(answered.result.parts) for answered in session.answered]


def lines_of(page: str) -> tuple[int, int]:
    """The last line that a page shows, and how many there are."""
    found = re.match(r"\[#\d+ lines 1–(\d+) of (\d+)", page)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(("window", "whole"), [(40_000, True), (10_000, True), (4_000, False)])
def test_an_item_that_fits_comes_whole(window: int, whole: bool) -> None:
    """In one page, whatever its size; else in pages."""
    session, [page] = asked(window)
    last, total = lines_of(page)
    assert total == LINES
    assert (last == LINES) is whole
    assert ("goes on" in page) is not whole
    payload = session.compose(Budget(window, recall=0))
    assert payload.tokens <= window
    if whole:  # nothing else was shortened for it
        assert not payload.plan.reason


def test_several_calls_share_what_is_free() -> None:
    """The second one gets what the first one left."""
    session, pages = asked(8_500, calls=3)
    assert [lines_of(page)[0] == LINES for page in pages] == [True, False, False]
    assert session.compose(Budget(8_500, recall=0)).tokens <= 9_000


def test_an_item_larger_than_what_is_free_comes_in_larger_pages_where_there_is_more_room() -> None:
    """A quarter of what is free, and at least the usual page."""
    huge = "\n".join([FILE] * 30)
    small, large = (lines_of(asked(window, huge)[1][0])[0] for window in (10_000, 90_000))
    assert small < large < LINES * 30
    assert large * 9 <= 90_000 // 4


def test_a_program_brings_an_item_back_whole_too() -> None:
    """`items.expand` has the same room."""
    session, _ = asked(40_000)
    item = next(item.id for item in session.items if item.kind.name == "RESULT")
    assert lines_of(session.items.expand(item)) == (LINES, LINES)


def test_more_lines_than_fit_are_one_page_that_says_so() -> None:
    """Whether all are asked for or a number of them; a program cannot have an item larger than its budget in full."""
    session, _ = asked(2_000)
    item = next(item.id for item in session.items if item.kind.name == "RESULT")
    pages = [session.items.expand(item, lines=lines) for lines in (None, LINES)]
    assert pages[0] == pages[1]
    assert re.match(r"\[#\d+ lines 1–\d+ of 412; expand\(id, start=\d+\) goes on\]", pages[0])
    session.items.expand(item, now=True)
    payload = session.compose(Budget(2_000, recall=0))
    assert next(line.tokens for line in payload.plan.lines() if line.id == item) < 3_708


@pytest.mark.parametrize(("locale", "told"), [
    ("en", "[#{id}: no line 500; lines in all: 412]"), ("zh", "[#{id}：没有第 500 行，共 412 行]"),
])  # fmt: skip
def test_a_line_that_an_item_does_not_have_is_answered_with_how_many_it_has(locale: str, told: str) -> None:
    """To a program and to a model alike; a search for words that it does not have still names these."""
    session = Session(MemoryStore("s"), settings=Settings(locale=locale), token_counter=WordCounter())
    item = session.user(FILE)
    assert session.items.expand(item, start=500, lines=4) == told.format(id=item)
    assert session.items.answer(Call("e", "expand", {"id": item, "start": 500})) == told.format(id=item)
    assert "anchor" in session.items.expand(item, start=500, grep="anchor")


@pytest.mark.slow
def test_no_recalled_piece_is_without_a_line() -> None:
    """Whatever the room: an item of which not even a line fits is not named either."""
    session = Session(MemoryStore("s"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    for number in range(6):
        session.user(f"quay {number} depth\n" + "\n".join(f"line {at} of {number} " + "rope " * 20 for at in range(40)))
    notes = [session._recall.note("quay depth", tokens, from_outside=True) for tokens in range(20, 240)]
    pieces = [source for note in notes if note is not None for source in note.sources]
    assert len(pieces) > 100
    assert all(source.first <= source.last for source in pieces)
