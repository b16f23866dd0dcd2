"""Listing files and searching in them: in order, bounded, and stoppable."""

import re
from typing import Any

import pytest
from tool_project import Project, called

from sightline.agent.tools.files import find
from sightline.agent.tools.files.regex import Stopped, matcher
from sightline.errors import ToolFailed


def test_files_are_listed_as_a_tree(here: Project) -> None:
    """Folders before what is in them, by name, with sizes; what tools make is left out."""
    (here.root / ".git").mkdir()
    (here.root / ".git" / "config").write_text("x")
    (here.root / "node_modules").mkdir()
    lines = ["data/", "  sales.csv (67B)", "notes.txt (19B)", "src/", "  sales.py (38B)"]
    assert called(here.tools()["list_files"]) == "\n".join(lines)
    assert called(here.tools()["list_files"], pattern="*.py") == "src/sales.py (38B)"
    assert called(here.tools()["list_files"], path="data") == "sales.csv (67B)"
    assert called(here.tools("zh")["list_files"], pattern="*.rs") == "[没有文件]"
    with pytest.raises(ToolFailed, match="is a file, not a folder"):
        called(here.tools()["list_files"], path="notes.txt")


def test_a_long_listing_ends_and_says_so(here: Project) -> None:
    """At most so many entries, with the way to the rest."""
    for number in range(600):
        (here.root / f"f{number:03}").touch()
    lines = called(here.tools()["list_files"]).splitlines()
    assert len(lines) == find.MOST_LISTED + 1
    assert lines[-1] == "… there are more; name a path or a pattern"


def test_lines_are_found_with_their_numbers(here: Project) -> None:
    """Plainly or by a pattern, in the order of the paths; capital letters count where the query has them."""
    (here.root / "a.txt").write_text("Tea\r\ntea time\nnothing\n")
    (here.root / "gbk.txt").write_bytes("茶 tea\n".encode("gbk"))
    search = here.tools()["search_files"]
    found = ["a.txt:1: Tea", "a.txt:2: tea time", 'data/sales.csv:2: 2026-01-01,tea,"two', "gbk.txt:1: 茶 tea"]
    assert called(search, query="tea").splitlines() == found
    assert called(search, query="Tea").splitlines() == found[:1]
    assert called(search, query="^t.a", regex=True).splitlines() == found[:2]
    assert called(search, query="茶").splitlines() == found[3:]
    assert called(search, query="tea", path="data").splitlines() == ['data/sales.csv:2: 2026-01-01,tea,"two']
    assert called(search, query="tea", pattern="gbk*").splitlines() == found[3:]
    assert called(here.tools("zh")["search_files"], query="咖啡") == "[没有找到]"
    with pytest.raises(ToolFailed, match="no regular expression"):
        called(search, query="(", regex=True)


def test_what_is_not_searched_is_named(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures and files that are too large; matches end after so many."""
    monkeypatch.setattr(find, "LARGEST", 1000)
    (here.root / "dot.png").write_bytes(b"\x89PNG" + bytes(10))
    (here.root / "large.txt").write_text("tea\n" * 1000)
    answer = called(here.tools()["search_files"], query="salt")
    assert answer.endswith("[not searched, no text, too large or with keys: 2: dot.png (PNG), large.txt (3.9KB)]")
    for number in range(10):
        (here.root / f"many{number}.txt").write_text("pepper\n" * 60)
    lines = called(here.tools()["search_files"], query="pepper").splitlines()
    assert len(lines) == find.MOST_MATCHES + 2
    assert lines[-1] == "[stopped after 200 matches: ask for less]"


def test_a_long_line_is_shown_around_the_match(here: Project) -> None:
    """With what stands before and behind it."""
    (here.root / "min.js").write_text("a" * 5000 + "NEEDLE" + "b" * 5000)
    answer = called(here.tools()["search_files"], query="NEEDLE")
    assert answer.startswith("min.js:1: …aaa")
    assert "aNEEDLEb" in answer
    assert len(answer) < 400


def test_a_pattern_that_would_run_forever_is_stopped(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that tries it is ended; what was found before is told."""
    monkeypatch.setattr(find, "SECONDS", 1.0)
    (here.root / "a.txt").write_text("aab\n")
    (here.root / "evil.txt").write_text("a" * 60 + "!\n")
    answer = called(here.tools()["search_files"], query=r"(a+)+b", regex=True)
    assert answer.splitlines() == ["a.txt:1: aab", "[stopped after 1 s: name a path, or a simpler query]"]


def test_a_pattern_is_read_where_it_can_be_stopped(
    here: Project, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Not in this process: some take minutes before they match anything, others warn of what they may mean one day."""
    compiled: list[object] = []
    compile_ = re.compile

    def noted(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        compiled.append(pattern)
        return compile_(pattern, flags)

    monkeypatch.setattr(re, "compile", noted)
    search = here.tools()["search_files"]
    assert called(search, query="[[a]", regex=True, path="data").count("\n") == 2
    with pytest.raises(ToolFailed, match=r"no regular expression: missing \), unterminated subpattern at position 0"):
        called(search, query="(", regex=True)
    assert not {"[[a]", "("} & set(compiled)
    assert not recwarn.list
    monkeypatch.setattr(find, "SECONDS", 0.5)
    slow = "(?i)" + "".join(f"[{chr(number)}-\U0010ffff]" for number in range(1, 200))
    assert called(search, query=slow, regex=True).endswith("[stopped after 0.5 s: name a path, or a simpler query]")


def test_a_very_long_pattern_is_refused(here: Project) -> None:
    """With how long it may be; as a text it can be looked for."""
    for locale, why in (("en", "1000 characters, not 1001: use a shorter one"), ("zh", "请缩短")):
        with pytest.raises(ToolFailed, match=why):
            called(here.tools(locale)["search_files"], query="a" * 1001, regex=True)
    assert called(here.tools()["search_files"], query="a" * 1001) == "[nothing found]"


@pytest.mark.slow
def test_the_matcher_itself_says_that_it_was_stopped() -> None:
    """Also where it had answered before, and where it is asked again."""
    with matcher(r"(x+)+y", regex=True, seconds=3, most=5) as matches:
        assert [hit.line for hit in matches("a\nxy\n")] == [2]
        for _ in range(2):
            with pytest.raises(Stopped):
                matches("x" * 50)


def test_a_search_that_takes_too_long_ends(here: Project) -> None:
    """By the clock that it is given."""
    from sightline.agent.tools.files.find import search

    ticks = iter([0.0, 1.0, 30.0])
    answer = search(here.folders, {"query": "e"}, clock=lambda: next(ticks))
    assert answer.splitlines()[-1] == "[stopped after 20 s: name a path, or a simpler query]"
