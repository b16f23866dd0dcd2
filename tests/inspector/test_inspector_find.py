"""A search over all sessions on the page that lists them."""

import re
from pathlib import Path

import pytest
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow
FIELD = "Find what was said in all sessions"


def test_a_hit_opens_the_transcript_at_its_message(page: InspectedPage) -> None:
    """The words are marked there too; going back shows the hits again."""
    shown = page.open()
    shown.get_by_label(FIELD).fill("port stays 8003")
    hit = shown.get_by_role("link", name=re.compile("part_3.py defines 110 steps")).first
    expect(hit.locator("mark").first).to_be_visible()
    expect(page.rows).to_have_count(0)
    page.shoot("find")
    hit.click()
    expect(shown).to_have_url(re.compile(r"/s/work/transcript/\d+\?find="))
    expect(shown.locator(".said.current")).to_contain_text("part_3.py defines 110 steps")
    expect(shown.locator(".said.current mark").first).to_be_in_viewport()
    shown.go_back()
    expect(hit).to_be_visible()
    expect(shown.get_by_label(FIELD)).to_have_value("port stays 8003")


def test_what_else_must_be_so_can_be_said(page: InspectedPage) -> None:
    """A tool, a path, days and errors; an empty search shows the list again."""
    shown = page.open()
    shown.get_by_role("button", name="More").click()
    shown.get_by_label("Path").fill("part_4.py")
    shown.get_by_label("Only errors").check()
    expect(shown.locator(".found .tag.bad").first).to_have_text("failed")
    shown.get_by_label("Tool").fill("write_file")
    expect(shown.get_by_text("Nothing found")).to_be_visible()
    for name in ("Path", "Tool"):
        shown.get_by_label(name).fill("")
    expect(page.option("Question 1")).to_be_visible()


def test_a_file_that_is_not_imported_is_found_too(page: InspectedPage) -> None:
    """It says so; nothing leads to a session that there is not yet."""
    shown = page.open('#/?find="Imported+question"')
    expect(shown.locator(".found-session")).to_contain_text("Imported question")
    expect(shown.get_by_role("button", name=re.compile("not imported"))).to_be_visible()
    expect(shown.locator(".found a")).to_have_count(0)


def test_hostile_words_are_found_as_text(page: InspectedPage) -> None:
    """Titles and excerpts run nothing and show what cannot be seen."""
    shown = page.open("#/?find=hacked+script")
    expect(shown.locator(".found-session").first).to_contain_text("<script>window.hacked")
    assert shown.locator(".found script, .found img").count() == 0
    assert shown.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", [1440, 390])
def test_hits_fit_and_keep_nobody_out(browser: Browser, looked_at: InspectorServer, width: int) -> None:
    """On a large screen and on a phone, in dark and in Chinese."""
    options = {"viewport": {"width": width, "height": 844}, "locale": "zh-CN", "color_scheme": "dark"}
    with InspectedPage(browser, looked_at, **options) as page:
        page.open("#/?find=port&tool=read_file")
        expect(page.page.locator(".hit").first).to_be_visible()
        assert page.cut() == []
        assert page.violations() == []
        page.shoot(f"find-{width}")


def test_a_search_that_is_refused_says_why(browser: Browser, tmp_path: Path) -> None:
    """Such as one for too many words."""
    with (
        InspectorServer(tmp_path) as server,
        InspectedPage(browser, server, ignored="status of 400") as page,
    ):
        shown = page.open()
        shown.get_by_label(FIELD).fill("x" * 1001)
        expect(shown.get_by_role("alert")).to_contain_text("q")
