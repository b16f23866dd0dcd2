"""The tool that shows gists, and the page it wrote."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.histories import agent_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/gists_sample.py, which is no package."""
    spec = importlib.util.spec_from_file_location("gists_sample", ROOT / "tools" / "gists_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gists_say_what_they_stand_for_and_are_small(tool: ModuleType) -> None:
    """Each is at most a quarter of its original, and one of plain text begins with its handle or what file it was."""
    found = list(tool.gists("run", agent_run(80)))
    assert len(found) > 10
    assert all(gist.share <= tool.LARGEST for gist in found)
    assert all(gist.text.startswith(("[#", "[file read] ")) for gist in found if gist.kind != "call")


def test_the_same_gists_are_drawn_each_time(tool: ModuleType) -> None:
    """Fifty at most, in their order, whatever the day."""
    many = [tool.Gist("s", "result", 1000, n, f"gist {n}") for n in range(1, 120)]
    chosen = tool.drawn(many)
    assert chosen == tool.drawn(iter(many))
    assert len(chosen) == tool.COUNT
    assert [gist.tokens for gist in chosen] == sorted(gist.tokens for gist in chosen)
    assert tool.drawn(many[:3]) == many[:3]


def test_the_page_shows_fifty() -> None:
    """docs/gists.md has fifty numbered gists of generated histories, none above a quarter of its original."""
    page = (ROOT / "docs" / "gists.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+)\. .* ([\d.]+) %$", page, re.MULTILINE)
    assert [int(number) for number, _ in headings] == list(range(1, 51))
    assert all(float(share) <= 25 for _, share in headings)


def test_text_with_fences_stays_in_its_fence(tool: ModuleType) -> None:
    """A gist that shows a fence does not end its own."""
    listed = tool.listed([tool.Gist("s", "user", 1000, 10, "```python\nx\n```")])
    assert listed.count("`````") == 2
