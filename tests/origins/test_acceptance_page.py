"""docs/origins/acceptance.md, and the tool that writes it."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(PROJECT / "tools" / "acceptance.py"), run_name="acceptance")
page: Callable[[Path], str] = TOOL["page"]

TESTS = '''
import pytest

@pytest.mark.accepts(7, *range(1, 4))
async def test_a() -> None:
    """It | holds.

    Further words.
    """

@pytest.mark.skip(reason="later")
@pytest.mark.accepts(8)
def test_b() -> None:
    """Not shown."""

def test_c() -> None:
    """Without a point."""
'''


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    """What is in docs is what the marks in the tests say now; `make acceptance` writes it."""
    assert (PROJECT / "docs" / "origins" / "acceptance.md").read_text(encoding="utf-8") == page(PROJECT)


def test_the_page_lists_what_is_shown(tmp_path: Path) -> None:
    """Points, test and promise of every marked test that runs, and none of the others."""
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_x.py").write_text(TESTS, encoding="utf-8")
    made = page(tmp_path)
    assert "4 points are shown by 1 tests: 1–3, 7." in made
    assert "## tests/deep/test_x.py" in made
    assert "| 1, 2, 3, 7 | `test_a` | It \\| holds. |" in made
    assert "test_b" not in made
    assert "test_c" not in made


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import pytest\n@pytest.mark.accepts('7')\ndef test_a():\n    'It holds.'\n", "whole numbers"),
        ("import pytest\n@pytest.mark.accepts(7)\ndef test_a():\n    pass\n", "no docstring"),
    ],
)
def test_a_mark_that_says_nothing_is_refused(tmp_path: Path, source: str, complaint: str) -> None:
    """Points are plain numbers, and a test that shows one says what it shows."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(source, encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        page(tmp_path)
