"""Phrases on a terminal: where lines end."""

from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from sightline.cli.render import print_text, wrap_text

LONG = "A new session begins here, and everything that was said before is kept in the old one."


@pytest.mark.parametrize("width", [20, 33, 60, 80])
def test_lines_end_between_words(width: int) -> None:
    """None is longer than there is room, and nothing is lost or added."""
    lines = wrap_text(LONG, width).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(lines) == LONG


def test_what_goes_on_stands_below_its_column() -> None:
    """Of two columns the second one, else the indentation; short lines and empty ones stay as they are."""
    assert (
        wrap_text("  /fork [ID]  Go another way from here", 30)
        == "  /fork [ID]  Go another way\n              from here"
    )
    assert wrap_text("  a list that is long", 14) == "  a list that\n  is long"
    assert wrap_text("one\n\n  two", 5) == "one\n\n  two"


@pytest.mark.parametrize("end", [".", "?", "!", '."', ".)", "。"])
def test_two_blanks_between_sentences_are_no_column(end: str) -> None:
    """What goes on begins where the line begins."""
    assert wrap_text(f"Done{end}  Now the rest of it goes on", 24).splitlines()[1].startswith(("it", "of"))


def test_a_long_line_takes_work_for_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of many columns: twice the text is measured twice."""
    measured = 0

    def counting(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return cell_len(text)

    monkeypatch.setattr("sightline.cli.render.cell_len", counting)
    wrap_text("a  b " * 200, 80)
    once, measured = measured, 0
    wrap_text("a  b " * 400, 80)
    assert once < measured < 3 * once


def test_a_path_is_never_broken() -> None:
    """It moves to a line of its own, and is left to the terminal where it is longer than that."""
    path = "/home/somebody/projects/shop/conversation.json"
    assert wrap_text(f"Written to {path} just now.", 30) == f"Written to\n{path}\njust now."


def test_chinese_is_broken_between_characters() -> None:
    """But no line begins with what closes a sentence or ends with what opens a bracket, and words stay whole."""
    lines = wrap_text("较早的内容可能已缩短（expand 可重新查看），recall 可查找。", 11).splitlines()
    assert lines == ["较早的内容", "可能已缩短", "（expand 可", "重新查", "看），", "recall 可查", "找。"]


def test_where_there_is_no_terminal_lines_stay_whole() -> None:
    """A program reads them."""
    for terminal, lines in ((True, 2), (False, 1)):
        out = StringIO()
        print_text(Console(file=out, width=60, force_terminal=terminal), LONG, "dim", lead=("  you: ", "bold"))
        assert len(out.getvalue().splitlines()) == lines
