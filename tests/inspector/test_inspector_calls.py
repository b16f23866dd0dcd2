"""Parts 2 to 4: the context window over time, one call, two calls, and where the tokens are."""

import re

import pytest
from inspected_page import InspectedPage
from playwright.sync_api import expect


def test_the_context_window_over_time(page: InspectedPage) -> None:
    """There is a bar for each call; the arrow keys choose one and say what it is, Enter opens it."""
    shown = page.open("#/s/work/context")
    expect(shown.locator(".chart.timeline canvas")).to_be_visible()
    for words in ("not from the cache", "Budget", "Older items shortened", "Compaction", "Tool result"):
        expect(shown.get_by_role("list", name="Legend")).to_contain_text(words)
    shown.wait_for_timeout(400)  # the chart is drawn in steps; only the picture needs it whole
    page.shoot("2-context")
    chart = shown.get_by_role("group", name="Calls.")
    chart.focus()
    chart.press("Home")
    expect(shown.locator(".chosen")).to_contain_text("Open call 1")
    chart.press("ArrowRight")
    expect(shown.locator(".chosen")).to_contain_text("Open call 2")
    chart.press("Enter")
    expect(shown).to_have_url(re.compile("/call/2$"))


@pytest.mark.slow
def test_a_click_on_a_bar_opens_its_call(page: InspectedPage) -> None:
    """The whole column of a call leads to it; the pointer says beforehand which it is."""
    shown = page.open("#/s/work/context")
    canvas = shown.locator(".chart.timeline canvas")
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    expect(shown.get_by_role("link", name=re.compile("Open call (8|9)$"))).to_be_visible()
    canvas.click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    expect(shown).to_have_url(re.compile("/call/(8|9)$"))


@pytest.mark.slow
def test_the_chart_is_also_a_table(page: InspectedPage) -> None:
    """Who does not see the chart reads the same numbers: each call, its kinds, its sweeps and compactions."""
    shown = page.open("#/s/work/context")
    shown.get_by_text("Show as a table").click()
    table = shown.get_by_role("table")
    expect(table.get_by_role("columnheader", name="Tool result")).to_be_visible()
    expect(table).to_contain_text("older items shortened (budget full)")
    expect(table).to_contain_text("compaction of")
    assert table.get_by_role("row").count() >= 17


@pytest.mark.slow
def test_what_would_save_most_is_said_first(page: InspectedPage) -> None:
    """The first recommendations of the report stand below the chart; a forecast is made when it is asked for."""
    shown = page.open("#/s/work/context")
    advice = shown.locator(".panel", has_text="What would save most")
    expect(advice.get_by_role("listitem").first).to_be_visible()
    assert advice.get_by_role("listitem").count() <= 3
    assert not page.asked("forecast=true")
    with shown.expect_response(re.compile("forecast=true")) as answer:
        advice.get_by_role("button", name="Forecast with Sightline").click()
    assert answer.value.ok
    page.settle()


@pytest.mark.slow
def test_one_call_item_by_item(page: InspectedPage) -> None:
    """Each line has its kind, level and tokens; the short text stands beside the full one."""
    shown = page.open("#/s/work/call/8")
    expect(shown.get_by_text("Call 8 of")).to_be_visible()
    expect(shown.get_by_text("as sent", exact=True)).to_be_visible()
    page.option("Gist").click()
    detail = shown.get_by_role("region", name="Item", exact=True)
    short = detail.get_by_role("region", name="Gist")
    expect(short).to_contain_text("the model saw this")
    expect(short).to_contain_text("functions: step_1_0")
    expect(detail.get_by_role("region", name="Full")).to_contain_text("def step_")
    for fact in ("Level", "tokens", "Price", "Cached", "Reason"):
        expect(detail.locator(".facts")).to_contain_text(fact)
    page.shoot("3-call")


@pytest.mark.slow
def test_the_first_change_and_what_it_cost(page: InspectedPage) -> None:
    """A call that does not begin with the one before says where, why, and what had to be paid again."""
    shown = page.open("#/s/work/context")
    shown.get_by_text("Show as a table").click()
    shown.get_by_role("row").filter(has_text="older items shortened").first.get_by_role("link").click()
    expect(shown.locator(".call-head")).to_contain_text(re.compile(r"byte [\d,]+"))
    overview = shown.locator(".overview")
    expect(overview).to_contain_text("The prompt prefix changed")
    expect(overview).to_contain_text("budget full")
    expect(overview).to_contain_text(re.compile(r"\$\d|tokens paid again"))
    expect(overview.get_by_role("region", name="Before")).to_be_visible()
    expect(overview.get_by_role("region", name="After")).to_be_visible()


@pytest.mark.slow
def test_two_calls_are_compared(page: InspectedPage) -> None:
    """Any two calls: what came, what went, what is at another level."""
    shown = page.open("#/s/work/call/9")
    shown.get_by_label("Compare with call").fill("3")
    shown.get_by_role("button", name="Compare").click()
    expect(shown).to_have_url(re.compile("with=3"))
    diff = shown.locator(".diff")
    expect(diff.get_by_role("heading", name=re.compile(r"\+ Added \(\d+\)"))).to_be_visible()
    expect(diff).to_contain_text("First change")
    expect(diff.locator(".change-row").first).to_be_visible()
    page.shoot("3-diff")
    shown.get_by_role("link", name="Stop comparing").click()
    expect(shown.get_by_role("listbox")).to_be_visible()


@pytest.mark.slow
def test_a_line_is_chosen_with_the_keyboard(page: InspectedPage) -> None:
    """Arrow keys walk through the payload, and the item beside it follows."""
    shown = page.open("#/s/work/call/5")
    lines = shown.get_by_role("listbox")
    lines.focus()
    lines.press("Home")
    lines.press("ArrowDown")
    lines.press("ArrowDown")
    expect(shown.get_by_role("option", selected=True)).to_have_count(1)
    expect(shown.locator(".detail .item-head")).to_be_visible()


@pytest.mark.slow
def test_the_tokens_of_any_call_can_be_looked_at(page: InspectedPage) -> None:
    """Its number is typed, so that none is left out of a list. One that there is not becomes the nearest."""
    shown = page.open("#/s/work/tokens")
    box = shown.get_by_label("Of call")
    most = int(box.get_attribute("max") or 0)
    assert most > 3
    for typed, asked in (("2", 2), (str(most - 1), most - 1), ("99999", most), ("0", 1)):
        with shown.expect_request(re.compile(rf"/tokens\?.*call={asked}(&|$)")):
            box.fill(typed)
            box.press("Enter")
        expect(box).to_have_value(str(asked))
    with shown.expect_request(re.compile(r"/tokens\?(?!.*call=)")):
        box.fill("")
        box.press("Enter")


@pytest.mark.slow
def test_what_is_being_typed_stays(page: InspectedPage) -> None:
    """The page reads the tokens again whenever something happens; a number that is half typed is not erased by it."""
    shown = page.open("#/s/work/tokens")
    box = shown.get_by_label("Of call")
    box.fill("3")
    with shown.expect_response(re.compile(r"/tokens\?")):
        shown.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the tab is seen again
    page.settle()
    expect(box).to_have_value("3")
    with shown.expect_request(re.compile(r"/tokens\?.*call=3(&|$)")):
        box.press("Enter")


@pytest.mark.slow
def test_where_the_tokens_are(page: InspectedPage) -> None:
    """The treemap is drawn and also a table; what was read twice is listed with its items."""
    shown = page.open("#/s/work/tokens")
    expect(shown.locator(".chart.treemap canvas")).to_be_visible()
    shown.wait_for_timeout(400)
    page.shoot("4-tokens")
    shown.get_by_text("Show as a table").click()
    table = shown.get_by_role("table")
    expect(table).to_contain_text("Tool result › read_file › src/part_1.py")
    rereads = shown.locator(".panel", has_text="What was read again")
    expect(rereads.get_by_role("listitem").first).to_contain_text("src/part_")
    rereads.get_by_role("link").first.click()
    expect(shown.locator(".detail .item-head")).to_contain_text("Tool result")
