"""Content is data: a session full of markup, scripts and control characters is shown as text and does nothing."""

import pytest
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

from sightline.server.safety import hash_token

PLACES = ("#/", "#/s/hostile/context", "#/s/hostile/call/2", "#/s/hostile/tokens", "#/s/hostile/changes",
          "#/s/hostile/try/2", "#/s/hostile/windows", "#/s/hostile/chat", "#/s/hostile/items")  # fmt: skip
FOREIGN = (
    "#app script, #app img, #app iframe, #app object, #app embed, #app a[href^='javascript'], #app item, #app window"
)


@pytest.mark.parametrize("place", PLACES)
def test_hostile_content_is_only_text(page: InspectedPage, place: str) -> None:
    """No element, script or link of the content comes into a page, on any view; no other host is asked."""
    shown = page.open(place)
    if place.endswith(("call/2", "items")):
        for index in range(page.rows.count()):
            page.rows.nth(index).click()
            page.settle()
            assert shown.locator(FOREIGN).count() == 0
    assert shown.locator(FOREIGN).count() == 0
    assert shown.evaluate("window.hacked") is None
    assert shown.evaluate("document.title") == "Sightline inspector"


def test_what_cannot_be_seen_is_made_visible(page: InspectedPage) -> None:
    """Control characters have pictures, and characters that turn text round or hide are named."""
    shown = page.open("#/s/hostile/items")
    page.option("System").click()
    text = shown.locator(".detail pre").last
    for words in (
        "<script>window.hacked = 1</script>",
        "␛[31mred",
        "␀nul",
        "⟨U+009B⟩",
        "⟨U+202E⟩",
        "⟨U+200B⟩",
        "⟨U+E0041⟩",
    ):
        expect(text).to_contain_text(words)
    page.shoot("hostile")
    assert not set(text.inner_text()) & set("\x1b\x00\x9b\u202e\u200b")


def test_the_token_is_asked_for_and_stays_in_the_tab(browser: Browser, looked_at: InspectorServer) -> None:
    """A server with a token shows nothing without it; the page sends it as a header only."""
    settings = {"host": "0.0.0.0", "token_hash": hash_token("the-secret")}
    with InspectorServer(looked_at.folder, **settings) as server, InspectedPage(browser, server) as page:
        shown = page.page
        shown.goto(server.url)
        dialog = shown.get_by_role("dialog", name="This server needs its token")
        expect(dialog).to_be_visible()
        page.errors.clear()  # the browser notes each answer 401
        with shown.expect_request(lambda request: "x-sightline-token" in request.headers):
            dialog.get_by_label("Token").fill("the-secret")
            dialog.get_by_role("button", name="Use it").click()
        expect(page.rows.first).to_be_visible()
        expect(shown.get_by_role("dialog")).to_have_count(0)
        assert page.context.cookies() == []
        assert not page.asked("the-secret")
        assert "the-secret" not in shown.evaluate("JSON.stringify(localStorage)")
        page.errors[:] = [each for each in page.errors if "401" not in each]
