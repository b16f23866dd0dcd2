"""Content is data: a session full of markup, scripts and control characters is shown as text and does nothing."""

import pytest
from inspected_page import InspectedPage
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

PLACES = (
    "#/", "#/s/hostile/context", "#/s/hostile/transcript", "#/s/hostile/call/2", "#/s/hostile/tokens",
    "#/s/hostile/changes", "#/s/hostile/try/2", "#/s/hostile/windows", "#/s/hostile/chat", "#/s/hostile/items",
)  # fmt: skip
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
    for folded in shown.locator("summary, .said [aria-expanded=false]").all():
        folded.click()
    assert shown.locator(FOREIGN).count() == 0
    assert shown.evaluate("window.hacked") is None
    assert shown.evaluate("document.title") == "Sightline inspector"


def test_what_cannot_be_seen_is_made_visible(page: InspectedPage) -> None:
    """Control characters are shown by name, and what turns text round or hides by number."""
    shown = page.open("#/s/hostile/items")
    page.option("System").click()
    text = shown.locator(".detail pre").last
    for words in (
        "<script>window.hacked = 1</script>",
        "⟨ESC⟩[31mred",
        "⟨NUL⟩nul",
        "⟨U+009B⟩",
        "⟨U+202E⟩",
        "⟨U+200B⟩",
        "⟨U+E0041⟩",
    ):
        expect(text).to_contain_text(words)
    page.shoot("hostile")
    assert not set(text.inner_text()) & set("\x1b\x00\x9b\u202e\u200b")
