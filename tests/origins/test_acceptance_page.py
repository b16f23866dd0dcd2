"""docs/origins/acceptance.md, and the tool that writes it."""

import re
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


def test_the_page_says_what_a_point_requires(tmp_path: Path) -> None:
    """By document, in words, with the tests that show it; decisions are links, and code keeps its brackets."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    required = "# Title\n\n## DocUI\n\n**Build (§2)**\n\n2. a < b | `<c>` (C-001-2)\n9. Nobody shows it\n"
    (tmp_path / "tools" / "requirements.md").write_text(required, encoding="utf-8")
    made = page(tmp_path)
    assert "## DocUI\n\n### Build (§2)" in made
    assert "| 2 | a &lt; b \\| `<c>` ([C-001-2](decisions.md)) | `test_a` |" in made
    assert "| 9 | Nobody shows it |  |" in made


def test_every_point_is_required_in_words() -> None:
    """The marks of the tests, the requirements and the decisions that they cite belong together."""
    required = (PROJECT / "tools" / "requirements.md").read_text(encoding="utf-8")
    assert [int(number) for number in re.findall(r"^(\d+)\. ", required, re.MULTILINE)] == [*range(1, 370)]
    decisions = (PROJECT / "docs" / "origins" / "decisions.md").read_text(encoding="utf-8")
    cited = {*re.findall(r"C-\d{3}-\d+", required)}
    assert sorted(cited - {*re.findall(r"^\| (C-\d{3}-\d+) \|", decisions, re.MULTILINE)}) == []


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
