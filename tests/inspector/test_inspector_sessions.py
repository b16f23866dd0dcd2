"""Part 1: the list of sessions, used as a person does."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from inspected_page import InspectedPage
from inspected_project import write_claude_log
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow


def test_a_session_is_found_and_opened(page: InspectedPage) -> None:
    """Words of the title find a session, its row shows the counts, and a click opens it."""
    shown = page.open()
    expect(page.rows).to_have_count(3)
    page.shoot("1-sessions")
    shown.get_by_label("Search title").fill("port 8001")
    expect(page.rows).to_have_count(1)
    row = page.option("Question 1: never touch port 8001")
    for fact in ("8", "$0.07", "Sightline"):  # turns, cost, source
        expect(row).to_contain_text(fact)
    row.click()
    expect(shown.get_by_role("heading", level=1)).to_contain_text("Question 1")
    assert "/s/work/context" in shown.url


def test_what_is_not_found_says_what_to_do(page: InspectedPage) -> None:
    """An empty list names the way out."""
    shown = page.open()
    shown.get_by_label("Search title").fill("nothing is called like this")
    expect(shown.get_by_text("No session matches")).to_be_visible()
    expect(shown.get_by_text("Use fewer words")).to_be_visible()


def test_the_list_is_sorted_and_filtered(page: InspectedPage) -> None:
    """A click on a column sorts by it, another turns it round; a source shows its sessions only."""
    shown = page.open()
    shown.get_by_role("button", name="Tokens").click()
    expect(page.rows.first).to_contain_text("Question 1: never touch")
    shown.get_by_role("button", name="Tokens").click()
    expect(page.rows.last).to_contain_text("Question 1: never touch")
    shown.get_by_label("Source").select_option("claude-code")
    expect(page.rows).to_have_count(1)
    expect(page.rows).to_contain_text("not imported")


def test_all_sessions_are_summed_at_a_glance(page: InspectedPage) -> None:
    """One line says what they cost; opened, it says so by day and project, and which cost most and why."""
    shown = page.open()
    glance = shown.locator("details.glance")
    expect(glance).to_contain_text("2 sessions")
    expect(glance).to_contain_text("sending everything (forecast)")
    glance.locator("summary").click()
    for title in ("Project", "Day"):
        table = glance.get_by_role("region", name=title)
        expect(table.get_by_role("columnheader", name="Saved")).to_be_visible()
        expect(table.get_by_role("row")).to_have_count(2)
    page.shoot("glance")
    assert page.violations() == []
    shown.set_viewport_size({"width": 1440, "height": 320})
    boxes = "(found) => found.map((box) => box.scrollHeight > box.clientHeight)"
    assert shown.locator(".glance, .glance .scroll").evaluate_all(boxes) == [False] * 3  # the page scrolls instead
    assert shown.locator("main").evaluate_all(boxes) == [True]
    glance.get_by_role("link", name=re.compile("Question 1")).click()
    expect(shown).to_have_url(re.compile("/s/work/context"))


def test_the_keyboard_is_enough(page: InspectedPage) -> None:
    """Tab reaches the list, arrow keys choose, Enter opens; the focus is seen."""
    shown = page.open()
    shown.get_by_role("listbox", name="Sessions").focus()
    shown.keyboard.press("End")
    expect(page.rows.last).to_have_attribute("aria-selected", "true")
    shown.keyboard.press("ArrowUp")
    shown.keyboard.press("Enter")
    expect(shown.locator(".session-name h1")).to_be_visible()
    expect(shown.locator("main")).to_be_focused()
    shown.keyboard.press("Tab")
    assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_file_that_is_offered_is_imported_when_it_is_opened(changing: InspectedPage) -> None:
    """A log of Claude Code becomes a session and is shown."""
    shown = changing.open()
    changing.option("Imported question 1").click()
    expect(shown).to_have_url(re.compile("imported/context"))
    expect(shown.get_by_role("heading", level=1)).to_contain_text("Imported question 1")


def test_an_address_can_name_the_log_that_is_opened(changing: InspectedPage) -> None:
    """As `sightline inspect FILE` prints it, with its token. Who goes back comes to the list and stays there."""
    log = changing.server.folder / "agent-log.jsonl"
    shown = changing.open(f"#/?log={quote(str(log))}")
    expect(shown).to_have_url(re.compile("imported/context"))
    expect(shown.get_by_role("heading", level=1)).to_contain_text("Imported question 1")
    shown.go_back()
    expect(changing.option("Imported question 1")).to_be_visible()
    expect(shown).to_have_url(f"{changing.server.url}#/")


def test_another_link_imports_no_log(changing: InspectedPage) -> None:
    """Whoever made a link without the server's token, or with another one, has nothing imported by it."""
    log = quote(str(changing.server.folder / "agent-log.jsonl"))
    shown = changing.open()
    for link in (f"#/?log={log}", f"#code=nonsense/?log={log}", f"#token=another/?log={log}"):
        changing.page.goto("about:blank")
        changing.page.goto(f"{changing.server.url}{link}")
        if "token" in link:
            shown.locator("dialog button:not(.primary)").click()
        expect(changing.option("Imported question 1")).to_be_visible()
        changing.settle()
        assert "imported/context" not in shown.url
    assert changing.asked("POST /api/imports") == []
    changing.errors.clear()  # the browser notes the answer to the code


def test_a_log_that_has_grown_is_imported_again_when_it_is_opened(browser: Browser, tmp_path: Path) -> None:
    """What the agent wrote since comes into the session before it is shown."""
    log = tmp_path / "grows.jsonl"
    write_claude_log(log, turns=2)
    with InspectorServer(tmp_path, offered=(log,)) as server, InspectedPage(browser, server) as page:
        shown = page.open()
        page.option("Imported question 1").click()
        expect(shown.locator(".stat", has_text="Turns")).to_contain_text("2")
        write_claude_log(log, turns=4)
        shown.get_by_role("link", name="Sessions").click()
        shown.reload()
        expect(page.option("its file has grown")).to_be_visible()
        page.option("its file has grown").click()
        expect(shown.locator(".stat", has_text="Turns")).to_contain_text("4")


def test_all_logs_that_are_listed_are_imported_at_once(browser: Browser, tmp_path: Path) -> None:
    """One button imports those that match and stays at the list, which then has their figures and their sum."""
    logs = [tmp_path / "first.jsonl", tmp_path / "second.jsonl", tmp_path / "third.jsonl"]
    for number, log in enumerate(logs):
        write_claude_log(log)
        text = log.read_text(encoding="utf-8")
        text = text.replace("111111111111", f"11111111111{number}").replace(
            "/home/me/shop", f"/home/me/shop-{number > 1}"
        )
        log.write_text(text, encoding="utf-8")
    with InspectorServer(tmp_path, offered=tuple(logs)) as server, InspectedPage(browser, server) as page:
        shown = page.open()
        expect(shown.get_by_text("Not imported yet: 3 logs")).to_be_visible()
        assert page.violations() == []
        shown.get_by_label("Project", exact=True).select_option("/home/me/shop-False")
        expect(shown.get_by_text("Not imported yet: 2 logs")).to_be_visible()
        shown.get_by_role("button", name="Import all").click()
        expect(shown.get_by_text("Imported 2")).to_be_visible()
        expect(shown.locator("details.glance")).to_contain_text("2 sessions")
        expect(page.rows.filter(has_text="not imported")).to_have_count(0)
        shown.get_by_label("Project", exact=True).select_option("")
        expect(shown.get_by_text("Not imported yet: 1 log.")).to_be_visible()


def test_files_are_imported_by_hand(changing: InspectedPage, tmp_path: Path) -> None:
    """A file that is chosen is sent, imported and opened; one that holds nothing says so."""
    shown = changing.open()
    bad, good = tmp_path / "bad.jsonl", tmp_path / "mine.jsonl"
    bad.write_text("this is no log\n", encoding="utf-8")
    shown.locator("input[type=file]").set_input_files(bad)
    expect(shown.locator(".imports")).to_contain_text("bad.jsonl")
    expect(shown.locator(".imports .bad, .imports .muted")).to_have_count(1)
    write_claude_log(good)
    shown.locator("input[type=file]").set_input_files(good)
    expect(shown.get_by_role("heading", level=1)).to_contain_text("Imported question 1")
    changing.errors.clear()  # the browser notes the answer to the bad file


def test_files_are_imported_by_dropping_them(changing: InspectedPage, tmp_path: Path) -> None:
    """A file that is held over the page is announced, and imported when it is dropped."""
    shown = changing.open()
    write_claude_log(tmp_path / "log.jsonl")
    text = (tmp_path / "log.jsonl").read_text(encoding="utf-8")
    transfer = shown.evaluate_handle(
        "(text) => { const t = new DataTransfer(); t.items.add(new File([text], 'dropped.jsonl')); return t; }", text
    )
    shown.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
    expect(shown.get_by_text("Drop log files")).to_be_visible()
    shown.dispatch_event("body", "drop", {"dataTransfer": transfer})
    expect(shown.get_by_role("heading", level=1)).to_contain_text("Imported question 1")


def test_imports_say_how_many_failed(changing: InspectedPage, tmp_path: Path) -> None:
    """Of three files two are no logs: both numbers are told."""
    good = tmp_path / "other.jsonl"
    write_claude_log(good)
    bad = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in bad:
        file.write_text("no log\n", encoding="utf-8")
    shown = changing.open()
    shown.locator("input[type=file]").set_input_files([good, *bad])
    expect(shown.locator(".imports-head")).to_contain_text("Imported 1 · 2 failed")
    changing.errors.clear()  # the browser notes the answers to the bad files


def test_the_table_of_the_chart_has_what_no_log_shows(changing: InspectedPage, tmp_path: Path) -> None:
    """The grey part of a bar has a column too, and the tokens of the row count it."""
    write_claude_log(tmp_path / "log.jsonl")
    shown = changing.open()
    shown.locator("input[type=file]").set_input_files(tmp_path / "log.jsonl")
    shown.get_by_text("Show as a table").click()
    head = shown.locator(".as-table th").all_inner_texts()
    assert head[1] == "Tokens"
    assert "and what the provider counts more" in head[-1]
    cells = shown.locator(".as-table tbody tr").first.locator("td")
    expect(cells.nth(1)).to_have_text("13,200")
    expect(cells.last).to_contain_text("13,1")
