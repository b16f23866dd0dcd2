"""Parts 5 to 7: what compactions hid, what can be changed, what if; windows; the chat."""

import re

import pytest
from inspected_page import InspectedPage
from inspected_project import ROOM
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

from sightline import Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import calling, reply_of


def test_losses_pins_and_constraints_are_shown(page: InspectedPage) -> None:
    """A compaction says what the model no longer sees; pins and what the user laid down stand below."""
    shown = page.open("#/s/work/changes")
    compaction = shown.locator(".compaction").first
    expect(compaction).to_contain_text("No longer visible to the model")
    expect(compaction).to_contain_text("names")
    compaction.get_by_role("button", name="Show the summary").click()
    expect(compaction.locator("pre")).to_be_visible()
    expect(shown.locator(".panel", has_text="Pinned").last).to_contain_text("You are a careful engineer.")
    expect(shown.locator(".panel", has_text="What the user laid down").last).to_contain_text("never touch port 8001")
    page.shoot("5-compactions")


@pytest.mark.slow
def test_compact_now_and_undo(changing: InspectedPage) -> None:
    """One button compacts, another undoes it; the page shows both at once."""
    shown = changing.open("#/s/work/changes")
    expect(shown.locator(".compaction")).to_have_count(1)
    shown.get_by_role("button", name="Compact now").click()
    expect(shown.locator(".compaction")).to_have_count(2)
    shown.get_by_role("button", name="Undo the last").click()
    expect(shown.locator(".compaction").first).to_contain_text("undone")


@pytest.mark.slow
def test_an_item_is_pinned_collapsed_expanded_and_forked(changing: InspectedPage) -> None:
    """What a person does with an item holds: the pin is shown, and a fork begins a branch that is opened."""
    shown = changing.open("#/s/work/items/12")
    item = shown.get_by_role("article", name="Item 12")
    item.get_by_role("button", name="Pin", exact=True).click()
    expect(item.get_by_role("button", name="Unpin")).to_be_visible()
    expect(changing.option("#12")).to_contain_text("pinned")
    item.get_by_role("button", name="Unpin").click()
    item.get_by_role("button", name="Collapse").click()
    item.get_by_role("button", name="Expand").click()
    expect(item.locator(".action-error")).to_have_count(0)
    item.get_by_role("button", name="Fork here").click()
    expect(shown).to_have_url(re.compile("branch="))
    expect(shown.get_by_label("Branch")).to_be_visible()


@pytest.mark.slow
def test_an_item_comes_back_from_a_compaction(changing: InspectedPage) -> None:
    """One item that a summary covers is brought back alone."""
    shown = changing.open("#/s/work/items/12")
    shown.get_by_role("button", name="Bring back from the compaction").click()
    expect(shown.get_by_role("status").filter(has_text="from the next call on")).to_be_visible()


@pytest.mark.slow
def test_the_same_call_at_another_budget(page: InspectedPage) -> None:
    """The slider recomposes a call at once; nothing is sent to a model and nothing is written."""
    shown = page.open("#/s/work/try/9")
    before = page.server.calls("work")
    shortened = shown.locator(".stat", has_text="Shortened").locator("b")
    prefix = shown.locator(".stat", has_text="Prompt prefix")
    expect(prefix).to_contain_text("nothing else is chosen")
    slider = shown.get_by_role("slider")
    with shown.expect_response("**/preview"):
        slider.fill("120")
    expect(shown.locator(".slider")).to_contain_text("63,000")
    expect(shortened).to_have_text("0")
    with shown.expect_response("**/preview"):
        slider.fill("38")
    expect(shown.locator(".slider")).to_contain_text("3,700")
    expect(shortened).not_to_have_text("0")
    expect(prefix).not_to_contain_text("as sent")
    expect(shown.locator(".change-row", has_text="Tool result").first).to_contain_text("read_file")
    expect(shown.locator(".change-row", has_text="Tool result").first).to_contain_text("src/part_")
    page.shoot("5-what-if")
    with shown.expect_response("**/preview") as strategy:
        shown.get_by_label("Strategy").select_option("sliding")
    with shown.expect_response("**/preview") as economy:
        shown.get_by_label("Strategy").select_option("focus")
        shown.get_by_label("Economy").select_option("thrifty")
    assert (strategy.value.json()["strategy"], economy.value.json()["strategy"]) == ("sliding", "focus")
    assert {path.split()[0] for path in page.requests if "/preview" not in path} == {"GET"}
    assert page.server.calls("work") == before


@pytest.mark.slow
def test_a_budget_that_cannot_be_kept_says_so(page: InspectedPage) -> None:
    """If what is pinned does not fit, the page says what to do, and the last picture stays."""
    shown = page.open("#/s/work/try/9")
    shown.get_by_role("slider").press("Home")
    shown.locator(".slider", has_text="1,000").wait_for()
    expect(shown.locator(".failure, .stats").first).to_be_visible()
    page.errors.clear()  # the browser notes an answer 422


@pytest.mark.slow
def test_a_window_is_used_beside_what_the_model_sees(changing: InspectedPage) -> None:
    """Forms and buttons act on the app; both sides change at once, and markup in a text stays text."""
    shown = changing.open("#/s/work/windows")
    people, model = (
        shown.get_by_role("region", name="For people"),
        shown.get_by_role("region", name="What the model sees"),
    )
    expect(people).to_contain_text("Read <b>all</b> parts")
    people.get_by_label("text").fill("Buy milk")
    people.get_by_role("button", name="Add an item").click()
    expect(people.get_by_role("listitem").filter(has_text="Buy milk")).to_be_visible()
    expect(model).to_contain_text("Buy milk")
    people.get_by_role("button", name="delete 1").click()
    shown.get_by_role("dialog", name="Delete an item").get_by_role("button", name="Do it").click()
    expect(people.get_by_role("listitem").filter(has_text="Read <b>all</b> parts")).to_have_count(0)
    expect(people.get_by_role("status")).to_contain_text("deleted")
    changing.shoot("6-windows")


@pytest.mark.slow
def test_a_window_asks_before_it_deletes_or_closes(changing: InspectedPage) -> None:
    """By keyboard, in both languages: Escape and the first button leave everything as it is, and what was typed."""
    shown = changing.open("#/s/work/windows")
    people = shown.get_by_role("region", name="For people")
    task = people.get_by_role("listitem").filter(has_text="Read <b>all</b> parts")
    people.get_by_role("button", name="delete 1").press("Enter")
    dialog = shown.get_by_role("dialog", name="Delete an item")
    expect(dialog).to_contain_text("Read <b>all</b> parts")
    expect(dialog).to_contain_text("index: 1")
    expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()
    changing.shoot("6-asks")
    assert not changing.violations()
    shown.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    people.get_by_label("summary").fill("Enough")
    people.get_by_role("button", name="Close").press("Enter")
    expect(shown.get_by_role("dialog", name="Close")).to_contain_text("summary: Enough")
    shown.keyboard.press("Escape")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    expect(people.get_by_label("summary")).to_have_value("Enough")
    expect(task).to_be_visible()
    assert changing.asked("POST") == []
    shown.get_by_role("button", name="中文").click()
    shown.get_by_role("button", name="delete 1").press("Enter")
    expect(shown.get_by_role("dialog")).to_contain_text("要执行吗")
    shown.keyboard.press("Tab")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("listitem").filter(has_text="Read <b>all</b> parts")).to_have_count(0)
    assert len(changing.asked("POST")) == 1


@pytest.mark.slow
def test_the_chat_changes_the_context_while_it_talks(changing: InspectedPage) -> None:
    """A question is answered word by word, and what is in the window is read anew."""
    shown = changing.open("#/s/work/chat")
    before = shown.locator(".live-context > p").first.inner_text()
    shown.get_by_label("Message").fill("Which port do we keep?")
    shown.get_by_role("button", name="Send").click()
    expect(shown.get_by_role("log")).to_contain_text("Which port do we keep?")
    expect(shown.get_by_role("log")).to_contain_text("Answer 1: the port stays as it is")
    expect(shown.locator(".live-context > p").first).not_to_have_text(before)
    expect(shown.get_by_role("button", name="Send")).to_be_visible()
    changing.shoot("7-chat")


@pytest.mark.slow
def test_a_new_chat_is_begun(changing: InspectedPage) -> None:
    """From the list one button leads to an empty session with the model."""
    shown = changing.open()
    shown.get_by_role("button", name="New chat").click()
    expect(shown.get_by_text("Say something")).to_be_visible()
    shown.get_by_label("Message").fill("Hello")
    shown.get_by_label("Message").press("Enter")
    expect(shown.get_by_role("log")).to_contain_text("Answer 1: the port stays")


@pytest.mark.slow
def test_without_a_model_the_chat_says_how_to_get_one(browser: Browser, looked_at: InspectorServer) -> None:
    """No key is needed for anything else, and the page names the commands."""
    with InspectorServer(looked_at.folder) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/work/chat")
        expect(shown.get_by_text("This server has no model")).to_be_visible()
        expect(shown.get_by_text("sightline inspect --model")).to_be_visible()


@pytest.mark.slow
def test_an_error_of_the_chat_is_told_in_two_sentences(
    changing: InspectedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happened, and what to do."""

    def failing(*_given: object) -> None:
        raise RuntimeError("broken")

    shown = changing.open("#/s/work/chat")
    monkeypatch.setattr("sightline.agent.agent.Agent.stream", failing)
    shown.get_by_label("Message").fill("Hello")
    shown.get_by_label("Message").press("Enter")
    expect(shown.get_by_role("alert")).to_have_text("The model failed. Look at the server's log, and try again.")


@pytest.mark.slow
def test_what_another_program_writes_is_shown(changing: InspectedPage) -> None:
    """The figures, the chart and the newest call follow a session that this server does not write to."""
    server = changing.server
    stores = Folder(server.folder, server.root)
    with Session.new(server.folder, stores=stores, session_id="outside") as session:
        _ask(session, 1)
        shown = changing.open("#/s/outside/context")
        expect(shown.get_by_role("link", name="Open call 1")).to_be_visible()
        _ask(session, 2)
        expect(shown.get_by_role("link", name="Open call 2")).to_be_visible()
        expect(shown.locator(".stats > *").filter(has_text="Calls")).to_contain_text("2")


@pytest.mark.slow
def test_a_session_of_another_program_joins_the_list(changing: InspectedPage) -> None:
    """No event tells of it, so the page looks again by itself."""
    server = changing.server
    shown = changing.open()
    stores = Folder(server.folder, server.root)
    with Session.new(server.folder, stores=stores, session_id="outside") as session:
        _ask(session, 1)
        expect(shown.locator(".list-row").filter(has_text="Question 1 from outside")).to_be_visible()


@pytest.mark.slow
def test_advice_says_that_its_figures_are_not_the_providers(changing: InspectedPage) -> None:
    """Without usage in the log, the report counts what sending everything would have taken."""
    server = changing.server
    with Session.new(server.folder, stores=Folder(server.folder, server.root), session_id="uncounted") as session:
        for number in range(4):
            session.user(f"Run test {number}.")
            session.compose(ROOM)
            session.reply(calling(("run", {"command": f"pytest {number}"})) | {"usage": None})
            session.tool_result(session.open_calls[0].id, f"test {number} passed\n" * 2000)
            session.compose(ROOM)
            session.reply("It passed.")
    advice = changing.open("#/s/uncounted/context").locator(".panel", has_text="What would save most")
    expect(advice.get_by_role("listitem").first).to_be_visible()
    expect(advice).to_contain_text("These figures are those of sending everything each time.")
    counted = changing.open("#/s/work/context").locator(".panel", has_text="What would save most")
    expect(counted.get_by_role("listitem").first).to_be_visible()
    expect(counted).not_to_contain_text("sending everything each time")


def _ask(session: Session, number: int) -> None:
    session.user(f"Question {number} from outside")
    session.compose(ROOM)
    session.reply(reply_of(f"Answer {number}."))


def test_tools_that_change_between_two_turns_are_told_in_words(changing: InspectedPage) -> None:
    """The page says why the prefix changed, in both languages, and prints no key of a phrase."""
    server = changing.server
    with Session.new(server.folder, stores=Folder(server.folder, server.root), session_id="tooled") as session:
        for turn, names in enumerate((["read_file"], ["read_file"], ["read_file", "run"]), start=1):
            functions = ({"name": name, "description": "Works.", "parameters": {}} for name in names)
            session.tools([{"type": "function", "function": function} for function in functions])
            session.user(f"Question {turn}")
            session.compose(ROOM)
            session.reply(f"Answer {turn}")
    shown = changing.open("#/s/tooled/context")
    legend = shown.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("Prefix changed, nothing shortened")
    expect(shown.locator(".chosen")).to_contain_text("the prefix changed (tools or system prompt changed)")
    shown.get_by_text("Show as a table").click()
    expect(shown.get_by_role("table")).to_contain_text("the prefix changed (tools or system prompt changed)")
    text = shown.locator("body").inner_text()
    assert "mark prefix" not in text
    assert "legend prefix" not in text
    shown.evaluate("localStorage.setItem('sightline-language', 'zh')")
    shown.reload()
    expect(shown.locator(".legend")).to_contain_text("前缀改变，未缩短")
    expect(shown.locator(".chosen")).to_contain_text("前缀改变（工具或系统提示改变）")
