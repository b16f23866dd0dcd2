"""For everybody: three widths, light and dark, English and Chinese, readers of screens, and sessions of any length."""

from pathlib import Path

import pytest
from inspected_page import InspectedPage
from inspected_project import make_long_session
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow

VIEWS = {
    "sessions": "#/", "context": "#/s/work/context", "transcript": "#/s/work/transcript/9",
    "call": "#/s/work/call/8", "diff": "#/s/work/call/9?with=3", "time": "#/s/work/time",
    "slowest": "#/s/work/time?sort=longest&tool=read", "filtered": "#/s/work/call/9?level=gist",
    "items": "#/s/work/items/9", "tokens": "#/s/work/tokens", "changes": "#/s/work/changes", "try": "#/s/work/try/9",
    "windows": "#/s/work/windows", "chat": "#/s/work/chat",
}  # fmt: skip
SIZES = {1440: 900, 1024: 768, 390: 844}


@pytest.mark.parametrize("width", SIZES)
def test_nothing_is_cut_and_nothing_overlaps(browser: Browser, looked_at: InspectorServer, width: int) -> None:
    """At the widths of a large screen, a small one and a phone, each view fits."""
    found: dict[str, list[str]] = {}
    with InspectedPage(browser, looked_at, viewport={"width": width, "height": SIZES[width]}) as page:
        for name, place in VIEWS.items():
            page.open(place)
            if cut := page.cut():
                found[name] = cut
        assert found == {}


@pytest.mark.parametrize(("place", "row"), [("#/s/work/call/8", "Question 1"), ("#/s/work/items", "Question 1")])
def test_on_a_phone_the_chosen_item_is_seen(browser: Browser, looked_at: InspectorServer, place: str, row: str) -> None:
    """Its details stand below the list, so the page goes there."""
    with InspectedPage(browser, looked_at, viewport={"width": 390, "height": SIZES[390]}) as page:
        shown = page.open(place)
        page.option(row).click()
        page.settle()
        expect(shown.locator(".detail pre").first).to_be_in_viewport(ratio=0.5)
        top = shown.locator(".detail").evaluate("box => box.getBoundingClientRect().top")
        assert top < SIZES[390] / 2


@pytest.mark.parametrize(("colours", "rules"), [("light", ()), ("dark", ("color-contrast",))])
def test_axe_finds_nothing_serious(
    browser: Browser, looked_at: InspectorServer, colours: str, rules: tuple[str, ...]
) -> None:
    """Names, roles, contrast and keyboard reach are right on each view; in dark, contrast again."""
    found: dict[str, list[str]] = {}
    with InspectedPage(browser, looked_at, color_scheme=colours) as page:
        for name, place in VIEWS.items():
            page.open(place)
            if violations := page.violations(*rules):
                found[name] = violations
        assert found == {}


def test_language_and_colours_are_switched_and_kept(page: InspectedPage) -> None:
    """One button changes the language, another the colours; both are still so after a reload."""
    shown = page.open("#/s/work/context")
    shown.get_by_role("button", name="中文").click()
    expect(shown.get_by_role("link", name="压缩")).to_be_visible()
    shown.get_by_role("button", name="自动").click()
    shown.reload()
    page.settle()
    assert shown.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == ["zh", "dark"]
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 19)"
    expect(shown.get_by_role("button", name="English")).to_be_visible()


def test_a_server_that_has_gone_is_told_and_comes_back(browser: Browser, looked_at: InspectorServer) -> None:
    """Without an answer the page says so and what to do; trying again helps when the server is there."""
    with InspectedPage(browser, looked_at) as page:
        shown = page.open()
        page.context.set_offline(True)
        shown.get_by_label("Search title").fill("8001")
        expect(shown.get_by_text("The server does not answer.")).to_be_visible()
        page.context.set_offline(False)
        shown.get_by_role("button", name="Try again").click()
        expect(page.option("Question 1")).to_be_visible()
        page.errors.clear()  # the browser notes each request that failed


def test_a_page_that_is_hidden_holds_no_connection(browser: Browser, looked_at: InspectorServer) -> None:
    """A browser has six connections for a server: the stream of events ends while a tab is hidden, and comes back."""
    hide = "(hidden) => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    with InspectedPage(browser, looked_at) as page:
        shown = page.open()
        with shown.expect_event("requestfailed", lambda request: request.url.endswith("/api/events")):
            shown.evaluate(hide, True)
        with shown.expect_request("**/api/events"), shown.expect_request("**/api/sessions?*"):  # read anew
            shown.evaluate(hide, False)


def look_through(browser: Browser, folder: Path, items: int) -> tuple[int, int]:
    """Open a session of this many items and go to its end. Return the most rows on the page, and the rows read."""
    make_long_session(folder, items)
    with InspectorServer(folder) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/long/items")
        rendered = [page.rows.count()]
        for key, number in (("End", items - 1), ("Home", 0), ("PageDown", None)):
            shown.get_by_role("listbox").press(key)
            if number is not None:
                expect(page.option(f"message {number}:")).to_be_visible()
            rendered.append(page.rows.count())
        expect(page.rows.first).to_have_attribute("aria-setsize", str(items))
        return max(rendered), 100 * len(page.asked(r"/items\?"))


def test_a_long_session_is_read_and_drawn_in_parts(browser: Browser, tmp_path: Path) -> None:
    """Only the rows near those that are seen are on the page, and only their pages are read."""
    rendered, read = look_through(browser, tmp_path, 3_000)
    assert rendered <= 60
    assert read <= 500


@pytest.mark.soak
def test_a_session_of_100_000_items_opens(browser: Browser, tmp_path: Path) -> None:
    """As many rows are read and drawn as for a short one."""
    rendered, read = look_through(browser, tmp_path, 100_000)
    assert rendered <= 60
    assert read <= 500


@pytest.mark.soak
@pytest.mark.parametrize("width", SIZES)
def test_chinese_fits_too(browser: Browser, looked_at: InspectorServer, width: int) -> None:
    """The same widths in the other language, in dark; the pictures are kept."""
    found: dict[str, list[str]] = {}
    size = {"width": width, "height": SIZES[width]}
    with InspectedPage(browser, looked_at, viewport=size, locale="zh-CN", color_scheme="dark") as page:
        for name, place in VIEWS.items():
            page.open(place)
            page.shoot(f"zh-{width}-{name}")
            if cut := page.cut():
                found[name] = cut
        assert found == {}
