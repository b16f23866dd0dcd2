"""The view Time: a waterfall of model and tools; and filters that stand in the address."""

import re
from pathlib import Path

import pytest
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from playwright.sync_api import Browser, Locator, Page, expect

from sightline import Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking, calling

pytestmark = pytest.mark.slow
PLACE = "#/s/timed/time"


def keep_timed(folder: Path, turns: int) -> None:
    """Keep a session of two tool calls at once in each turn, of which the second takes longer each time."""
    clock = Ticking(step=0)
    with Session.new(folder, stores=Folder(folder, folder / "home"), session_id="timed", clock=clock) as session:
        for turn in range(1, turns + 1):
            session.user(f"Turn {turn}")
            clock.wait(4)
            session.reply(calling(("read_file", {"path": f"src/part_{turn}.py"}), ("bash", {"command": f"run {turn}"})))
            clock.wait(2)
            session.tool_result("call_1", "def f(): pass")
            clock.wait(10 + turn)
            session.tool_result("call_2", "done", error=turn == 2)
            clock.wait(4)
            session.reply("Done.")
            clock.wait(600)


def ends(step: Locator) -> tuple[float, float]:
    """Where the bar of a row begins and ends."""
    box = step.locator(".bar").bounding_box()
    assert box is not None
    return box["x"], box["x"] + box["width"]


def names(shown: Page) -> Locator:
    return shown.locator(".list-row .step-name b")


def test_a_run_is_a_waterfall(browser: Browser, tmp_path: Path) -> None:
    """A bar begins where the one before it ends, parallel calls begin together, and a wait for the user has none."""
    keep_timed(tmp_path, 3)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        expect(names(shown)).to_have_text(
            [name for _ in range(3) for name in ("User", "scripted", "read_file", "bash", "Model call")]
        )
        model, reading, running, answer = (ends(page.rows.nth(at)) for at in range(1, 5))
        assert model[1] == pytest.approx(reading[0], abs=1)
        assert reading[0] == pytest.approx(running[0], abs=1)
        assert running[1] == pytest.approx(answer[0], abs=1)
        assert (running[1] - running[0]) / (model[1] - model[0]) == pytest.approx(13 / 4, rel=0.1)
        waited = page.rows.nth(5)
        expect(waited).to_contain_text("waited 10 min for the user")
        expect(waited.locator(".bar")).to_have_count(0)
        assert answer[1] == pytest.approx(ends(page.rows.nth(6))[0], abs=1)  # the wait takes no room
        for sum_ in ("24 s", "42 s", "20 min"):
            expect(shown.locator(".stats")).to_contain_text(sum_)
        page.shoot("time")


def test_a_step_is_told_and_opened_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    """What the arrow keys are at is said in words; Enter, or a click, opens it in the transcript."""
    keep_timed(tmp_path, 2)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        steps = shown.get_by_role("listbox", name="Time")
        steps.focus()
        for key in ("Home", "ArrowDown", "ArrowDown", "ArrowDown"):
            steps.press(key)
        for words in ("Tool call", "bash", "13 s", "run 1"):
            expect(shown.locator(".chosen")).to_contain_text(words)
        steps.press("Enter")
        expect(shown).to_have_url(re.compile(r"/transcript/\d+\.2$"))
        expect(shown.locator(".said.current")).to_contain_text("run 1")


def test_the_slowest_and_what_failed_are_found_and_stay_in_the_address(browser: Browser, tmp_path: Path) -> None:
    """Whoever opens the address sees the same rows."""
    keep_timed(tmp_path, 4)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        shown.get_by_label("Sort").select_option("longest")
        expect(names(shown).first).to_have_text("bash")
        expect(page.rows.first).to_contain_text("run 4")
        shown.get_by_role("button", name="Filter").click()
        shown.get_by_label("Path").fill("part_")
        expect(names(shown)).to_have_text(["read_file"] * 4)
        expect(shown).to_have_url(re.compile(r"sort=longest&path=part_|path=part_&sort=longest"))
        shown.reload()
        expect(names(shown)).to_have_text(["read_file"] * 4)
        shown.get_by_label("Path").fill("")
        shown.get_by_label("Only errors").check()
        expect(names(shown)).to_have_text(["bash"])
        expect(page.rows.first).to_contain_text("failed")
        shown.get_by_role("textbox", name="Tool").fill("read")
        expect(shown.get_by_text("Nothing found")).to_be_visible()


def test_a_log_without_times_says_so(browser: Browser, tmp_path: Path) -> None:
    """Its calls are listed, and no length is made up."""
    with Session.new(tmp_path, stores=Folder(tmp_path, tmp_path / "home"), session_id="timed") as session:
        session.extend([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}])
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        expect(shown.locator(".note")).to_contain_text("does not say when")
        expect(names(shown)).to_have_text(["User", "Model call"])
        expect(shown.locator(".bar, .stats, .axis")).to_have_count(0)


def look_through(browser: Browser, folder: Path, turns: int) -> tuple[int, int]:
    """Open a run, go to its end, then to its slowest call. Return the most rows on the page, and the requests."""
    keep_timed(folder, turns)
    with InspectorServer(folder) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        rendered = [page.rows.count()]
        shown.get_by_role("listbox").press("End")
        expect(page.option(f"run {turns}")).to_be_visible()
        rendered.append(page.rows.count())
        shown.get_by_label("Sort").select_option("longest")
        expect(page.rows.first).to_contain_text(f"run {turns}")
        rendered.append(page.rows.count())
        return max(rendered), len(page.asked(r"/time\?"))


def test_a_long_run_is_read_and_drawn_in_parts(browser: Browser, tmp_path: Path) -> None:
    """Only the rows near those that are seen are on the page, and only their pages of a hundred are read."""
    rendered, requests = look_through(browser, tmp_path, 600)
    assert rendered <= 60
    assert requests <= 6


@pytest.mark.soak
def test_a_run_of_50_000_turns_opens(browser: Browser, tmp_path: Path) -> None:
    """As many rows are drawn, in as few requests, as of a short one."""
    rendered, requests = look_through(browser, tmp_path, 50_000)
    assert rendered <= 60
    assert requests <= 6


def test_items_are_filtered_by_the_server(browser: Browser, tmp_path: Path) -> None:
    """The list has what failed, and only that was asked for."""
    keep_timed(tmp_path, 4)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/timed/items?errors=true")
        expect(page.rows).to_have_count(1)
        expect(page.rows.first).to_contain_text(re.compile(r"bash.*failed.*run 2 · done", re.DOTALL))
        assert all("errors=true" in path for path in page.asked(r"/items\?"))
        shown.get_by_label("Only errors").uncheck()
        shown.get_by_label("Kind").select_option("user")
        expect(page.rows).to_have_count(4)
        shown.get_by_label("Kind").select_option("call")
        expect(page.rows.first).to_contain_text(re.compile(r"read_file.*src/part_1\.py$", re.DOTALL))


def test_the_payload_of_a_call_is_filtered(page: InspectedPage) -> None:
    """By level and tool; the head of the call stays, and a line that is opened is the one that was clicked."""
    shown = page.open("#/s/work/call/9")
    shown.get_by_role("button", name="Filter").click()
    shown.get_by_label("Level of detail").select_option("gist")
    expect(shown).to_have_url(re.compile("level=gist"))
    expect(page.rows.filter(has_not_text="Gist")).to_have_count(0)
    expect(page.rows.first).to_be_visible()
    expect(shown.locator(".call-head")).to_contain_text("Call 9 of")
    page.rows.first.click()
    words = page.rows.first.locator(".id").inner_text()
    expect(shown.locator(".detail .item-head")).to_contain_text(words)


def test_a_link_in_the_same_tab_shows_its_filters_and_its_line(page: InspectedPage) -> None:
    """A link to a line of a filtered call, pasted while that call is shown without filters, opens that line."""
    shown = page.open("#/s/work/call/9")
    page.open("#/s/work/call/9?kind=call&line=2")
    expect(shown.get_by_role("button", name="Filter: on")).to_be_visible()
    expect(shown.locator(".detail .item-head")).to_contain_text(page.rows.nth(1).locator(".id").inner_text())
    expect(shown).to_have_url(re.compile("line=2"))


def test_what_was_chosen_before_a_filter_is_no_row_of_it(browser: Browser, tmp_path: Path) -> None:
    """The row that stands at its place now is another one; what a step was called stands in sight with its failure."""
    keep_timed(tmp_path, 4)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/timed/items")
        page.rows.nth(2).click()
        expect(page.rows.nth(2)).to_have_attribute("aria-selected", "true")
        shown.get_by_role("button", name="Filter", exact=True).click()
        shown.get_by_label("Kind").select_option("result")
        expect(page.rows).to_have_count(8)
        expect(shown.locator(".list-row[aria-selected=true]")).to_have_count(0)
        page.open(PLACE)
        shown.get_by_role("listbox", name="Time").press("End")
        expect(shown.locator(".chosen")).to_contain_text("Model call")
        shown.get_by_role("button", name="Filter", exact=True).click()
        shown.get_by_label("Kind").select_option("tool")
        expect(page.rows).to_have_count(8)
        expect(shown.locator(".list-row[aria-selected=true]")).to_have_count(0)
        expect(shown.locator(".chosen")).to_be_empty()
