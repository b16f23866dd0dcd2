"""The frame of a session: five tabs and their views, what is not offered, keys, and addresses that say what is seen."""

import re
from pathlib import Path

import pytest
from inspected_page import InspectedPage
from inspected_project import make_long_session
from inspector_server import InspectorServer
from playwright.sync_api import Browser, Page, expect

OVERVIEW = ["Over time", "Tokens", "Compactions"]
ONE = ["One call", "What if", "Time"]
GROUPS = {
    "context": ("Context", OVERVIEW, "Over time"),
    "tokens": ("Context", OVERVIEW, "Tokens"),
    "changes": ("Context", OVERVIEW, "Compactions"),
    "transcript": ("Transcript", [], ""),
    "call/3": ("Calls", ONE, "One call"),
    "try/3": ("Calls", ONE, "What if"),
    "time": ("Calls", ONE, "Time"),
    "items": ("Items", [], ""),
    "chat": ("Chat", ["Chat", "Windows"], "Chat"),
    "windows": ("Chat", ["Chat", "Windows"], "Windows"),
}


def tabs(shown: Page) -> list[str]:
    return shown.locator(".tabs a").all_inner_texts()


def test_ten_views_stand_below_five_tabs(page: InspectedPage) -> None:
    """Each view has its own address; its tab and, where a tab has several, the view itself are marked."""
    for place, (tab, views, view) in GROUPS.items():
        shown = page.open(f"#/s/work/{place}")
        expect(shown.locator(".tabs a[aria-current]")).to_have_text(tab)
        expect(shown.locator(".views a")).to_have_text(views)
        expect(shown.locator(".views a[aria-current=page]")).to_have_text([view] if view else [])
        assert tabs(shown) == ["Context", "Transcript", "Calls", "Items", "Chat"]


@pytest.mark.slow
def test_the_views_of_a_call_keep_its_number(page: InspectedPage) -> None:
    """From one call to what it would be otherwise, and back."""
    shown = page.open("#/s/work/call/3")
    shown.get_by_role("link", name="What if").click()
    expect(shown).to_have_url(re.compile("/try/3$"))
    shown.get_by_role("link", name="One call").click()
    expect(shown).to_have_url(re.compile("/call/3$"))


def test_what_a_session_has_nothing_of_is_not_offered(browser: Browser, tmp_path: Path) -> None:
    """No windows, nothing compacted, no model to talk to: their addresses still say so."""
    make_long_session(tmp_path, 4)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/long/context")
        expect(shown.locator(".tabs a")).to_have_text(["Context", "Transcript", "Calls", "Items"])
        expect(shown.locator(".views a")).to_have_text(["Over time", "Tokens"])
        for place, words in (
            ("changes", "Nothing was compacted"),
            ("windows", "No window is open"),
            ("chat", "no model"),
        ):
            shown = page.open(f"#/s/long/{place}")
            expect(shown.locator("main")).to_contain_text(words)
            expect(shown.locator(".session-head a[aria-current=page]")).to_have_count(1)


@pytest.mark.slow
def test_nothing_looks_chosen_before_somebody_chose(page: InspectedPage) -> None:
    """No row of a list and no message is marked; the list of items has the whole width until one is opened."""
    for place in ("#/", "#/s/work/items", "#/s/work/call/8", "#/s/work/transcript", "#/s/work/changes"):
        shown = page.open(place)
        expect(shown.locator(".list-row, .feed-row, .compaction").first).to_be_visible()
        expect(shown.locator("[aria-selected=true], .said.current, .chosen-row")).to_have_count(0)
    shown = page.open("#/s/work/items")
    wide = shown.evaluate("document.querySelector('.side-list').clientWidth / innerWidth")
    assert wide > 0.95
    page.rows.first.click()
    expect(shown.locator(".detail .item-head")).to_be_visible()
    assert shown.evaluate("document.querySelector('.side-list').clientWidth / innerWidth") < 0.6


LISTS = {
    "#/": (".list-row[aria-selected=true]", r"/s/[^/]+/context$"),
    "#/s/work/items": (".list-row[aria-selected=true]", r"/items/3$"),
    "#/s/work/call/5": (".list-row[aria-selected=true]", r"/call/5\?line=2$"),
    "#/s/work/changes": (".chosen-row", r"/changes\?at=\d+$"),
    "#/s/work/context?call=3": (".chosen .button", r"/call/4$"),
}


@pytest.mark.parametrize("place", LISTS)
def test_every_list_is_used_with_the_same_keys(page: InspectedPage, place: str) -> None:
    """j and k go on and back without a click before, Enter opens; the address says what is chosen."""
    chosen, address = LISTS[place]
    shown = page.open(place)
    for key in "jkj" if "context" in place else "jjkj":
        shown.keyboard.press(key)
    expect(shown.locator(chosen)).to_have_count(1)
    shown.keyboard.press("Enter")
    expect(shown).to_have_url(re.compile(address))
    if "changes" in place:
        expect(shown.get_by_role("button", name="Hide the summary")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["#/", "#/s/work/items", "#/s/work/transcript"])
def test_a_key_leads_to_the_search_and_typing_is_only_typing(page: InspectedPage, place: str) -> None:
    """In a field j, k, ? and / are letters."""
    shown = page.open(place)
    shown.keyboard.press("/")
    shown.keyboard.type("jk?/")
    expect(shown.locator("input[type=search]:focus")).to_have_value("jk?/")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    expect(shown.locator("[aria-selected=true], .said.current")).to_have_count(0)


KEYS = {
    "#/s/work/context": ["Next call", "Previous call", "Open it"],
    "#/s/work/items": ["Next row", "Previous row", "Open it", "Go to the search field"],
    "#/s/work/tokens": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["Escape", "Enter"])
def test_a_dialog_that_is_left_gives_the_focus_back(page: InspectedPage, leave: str) -> None:
    """Who uses the keyboard goes on where the dialog was opened."""
    shown = page.open("#/s/work/context")
    button = shown.get_by_role("button", name="Export session")
    button.press("Enter")
    dialog = shown.get_by_role("dialog")
    if leave == "Enter":
        dialog.get_by_role("button", name="Close").focus()
    expect(dialog.locator(":focus")).to_have_count(1)
    shown.keyboard.press(leave)
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_one_dialog_names_the_keys_of_the_view(page: InspectedPage) -> None:
    """It names those that do something there, and nothing else happens while it is open."""
    for place, keys in KEYS.items():
        shown = page.open(place)
        shown.keyboard.press("?")
        dialog = shown.get_by_role("dialog", name="Keys")
        expect(dialog.locator("dd")).to_have_text([*keys, "These keys"])
        shown.keyboard.press("j")
        expect(shown.locator("[aria-selected=true]")).to_have_count(0)
        shown.keyboard.press("Escape")
        expect(dialog).to_have_count(0)


@pytest.mark.slow
def test_an_address_shows_others_what_its_sender_saw(browser: Browser, page: InspectedPage) -> None:
    """What was typed and chosen stands in it, the token does not; opened elsewhere, it shows the same."""
    shown = page.open("#/")
    shown.get_by_label("Search title").fill("never touch")
    shown.get_by_role("button", name="Tokens").click()
    expect(shown).to_have_url(re.compile("sort=tokens"))
    sent = {"#/": sent_from(shown, "q=never")}
    shown = page.open("#/s/work/items")
    shown.get_by_role("searchbox").fill("port 8003")
    sent["items"] = sent_from(shown, "q=port")
    shown = page.open("#/s/work/tokens")
    shown.get_by_label("Divide by").select_option("tool,file")
    page.settle()
    shown.wait_for_timeout(600)  # the chart is drawn in steps
    shown.locator(".treemap canvas").click(position={"x": 150, "y": 100})
    sent["tokens"] = sent_from(shown, "by=tool.*in=")
    shown = page.open("#/s/work/try/5")
    shown.get_by_label("Economy").select_option("thrifty")
    sent["try"] = sent_from(shown, "economy=thrifty")
    shown = page.open("#/s/work/call")
    sent["call"] = sent_from(shown, r"/call/\d+$")
    with InspectedPage(browser, page.server) as other:
        shown = other.open(sent["#/"])
        expect(shown.get_by_label("Search title")).to_have_value("never touch")
        expect(other.rows).to_have_count(1)
        expect(shown.get_by_role("button", name="Tokens")).to_have_attribute("aria-pressed", "true")
        expect(other.open(sent["items"]).get_by_role("searchbox")).to_have_value("port 8003")
        expect(other.open(sent["tokens"]).get_by_label("Divide by")).to_have_value("tool,file")
        expect(other.open(sent["try"]).get_by_label("Economy")).to_have_value("thrifty")
        assert sent["call"].rpartition("/")[2] in other.open(sent["call"]).locator(".pager").inner_text()


def sent_from(shown: Page, wanted: str) -> str:
    expect(shown).to_have_url(re.compile(wanted))
    assert "token=" not in shown.url
    return "#" + shown.url.partition("#")[2]


# How often the colour changes from one row of pixels to the next in two parts of a bar, from its middle.
CHANGES = """([number, calls]) => {
  const canvas = document.querySelector('.chart.timeline canvas'), scale = canvas.width / canvas.clientWidth
  const left = 46 * scale, width = canvas.width - left - 12 * scale
  const x = Math.round(left + width * (number - 0.5) / calls)
  const top = 26 * scale, bottom = canvas.height - 27 * scale
  const column = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height).data
  const at = (y) => column.slice(4 * y, 4 * y + 3).join()
  const rows = []
  for (let y = Math.round(bottom) - 2; y > top; y--) rows.push(at(y))
  const changes = (part) => part.filter((each, index) => index && each !== part[index - 1]).length
  const third = Math.round(rows.length / 3)
  return [changes(rows.slice(0, third)), changes(rows.slice(third))]
}"""


@pytest.mark.slow
def test_what_was_not_cached_is_hatched(page: InspectedPage) -> None:
    """That is the end of a prompt, so the lower part of a bar is plain. The legend names only what is drawn."""
    shown = page.open("#/s/work/context")
    shown.wait_for_timeout(600)  # the chart is drawn in steps
    plain, hatched = shown.evaluate(CHANGES, [7, 17])
    assert hatched > 3 * plain
    legend = shown.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("Hatched: not from the cache")
    expect(legend).to_contain_text("Budget")
    legend = page.open("#/s/hostile/context").get_by_role("list", name="Legend")
    expect(legend).to_be_visible()
    for words in ("Paler", "Older items shortened"):
        expect(legend).not_to_contain_text(words)
