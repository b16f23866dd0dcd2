"""The transcript: messages as a person reads them, with calls and results, found and gone to by keys and addresses."""

import re
from pathlib import Path

import pytest
from inspected_page import InspectedPage
from inspected_project import make_long_session
from inspector_server import InspectorServer
from playwright.sync_api import Browser, Locator, expect
from read_session import NEEDLE, keep_read_session

from sightline import Session
from sightline.log.stores.session_folder import Folder

pytestmark = pytest.mark.slow
PLACE = "#/s/read/transcript"
MARKED = re.compile("current")


def message(page: InspectedPage, text: str) -> Locator:
    """The message that contains this text."""
    return page.page.locator(".said").filter(has_text=text).first


def test_an_answer_is_read_as_markdown_and_runs_nothing(reading: InspectedPage) -> None:
    """Lists, tables and code are elements; what is HTML, or leads or loads elsewhere, is text."""
    shown = reading.open(PLACE + "/9")
    answer = message(reading, "What I found")
    for element in (
        "strong",
        "ol ul li",
        "table td code",
        "pre.code .code-word",
        "pre.code .code-comment",
        "p.heading",
    ):
        expect(answer.locator(element).first).to_be_visible()
    link = answer.locator(".markdown a")
    expect(link).to_have_count(1)
    expect(link).to_have_attribute("href", "https://example.org/a")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    expect(answer.locator("img, script")).to_have_count(0)
    for text in ("[more](javascript:alert(1))", "<script>window.hacked = 1</script>", "![remote](https://evil.exam"):
        expect(answer).to_contain_text(text)
    assert shown.evaluate("window.hacked") is None
    reading.shoot("transcript")


def test_text_can_be_seen_as_it_was_written(reading: InspectedPage) -> None:
    """One box shows every text as the model wrote it."""
    shown = reading.open(PLACE)
    shown.get_by_label("As written").check()
    expect(message(reading, "Why does")).to_contain_text("Why does *login* fail?")
    expect(shown.locator(".markdown")).to_have_count(0)


def test_a_picture_of_the_session_is_shown(reading: InspectedPage) -> None:
    """Its data comes from the log; nobody else is asked."""
    shown = reading.open(PLACE)
    picture = message(reading, "Why does").locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("async (image) => (await image.decode(), [image.naturalWidth, image.naturalHeight])") == [
        40, 20,
    ]  # fmt: skip
    assert (picture.get_attribute("src") or "").startswith("data:image/png;base64,")
    assert shown.evaluate("window.hacked") is None


def test_a_result_stands_beside_its_call_and_on_a_phone_below_it(browser: Browser, read: InspectorServer) -> None:
    """What failed is marked; each argument stands under its name."""
    for width, beside in ((1440, True), (390, False)):
        with InspectedPage(browser, read, viewport={"width": width, "height": 800}) as page:
            shown = page.open(PLACE + "/5")
            expect(shown.locator(".exchange.went-wrong")).to_have_count(1)
            wrong = shown.locator(".exchange.went-wrong")
            expect(wrong).to_contain_text("failed")
            expect(wrong.locator("dt")).to_have_text("command")
            call, result = (wrong.locator("section").nth(at).bounding_box() for at in (0, 1))
            assert call is not None
            assert result is not None
            assert (result["x"] > call["x"] + call["width"] - 1) == beside
            assert (result["y"] >= call["y"] + call["height"]) != beside


def test_thinking_and_long_results_are_folded(reading: InspectedPage) -> None:
    """A click unfolds them; only then the rest of a long text is read."""
    reading.open(PLACE + "/5")
    answer = message(reading, "I look.")
    expect(answer.locator("details")).not_to_have_attribute("open", "")
    answer.locator("summary").click()
    expect(answer.locator("details .markdown")).to_have_text("I read the file first.")
    assert not reading.asked("text=full")
    answer.get_by_role("button", name="Show all").click()
    expect(answer).to_contain_text("the far end")
    assert reading.asked("text=full")


def test_an_answer_says_what_its_call_took(reading: InspectedPage) -> None:
    """Tokens and price are those of the tab of calls, to which a link leads."""
    shown = reading.open(PLACE + "/5")
    head = message(reading, "I look.").locator("header")
    expect(head).to_contain_text("1,200 tokens in, 80 out")
    price = re.search(r"\$[\d.]+", head.inner_text())
    assert price is not None
    head.get_by_role("link", name="Call 1").click()
    expect(shown).to_have_url(re.compile("/call/1"))
    expect(shown.locator(".prices")).to_contain_text(price.group())


def test_a_link_to_a_message_leads_to_it(reading: InspectedPage) -> None:
    """It is copied by a button, and whoever opens it sees that message, marked."""
    reading.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = reading.open(PLACE)
    message(reading, "I look.").get_by_role("button", name="Copy link").click()
    expect(shown.get_by_text("Copied")).to_be_visible()
    link = shown.evaluate("navigator.clipboard.readText()")
    assert link.startswith(reading.server.url)
    assert "token" not in link
    shown.goto(link.replace("/5", "/9"))
    expect(message(reading, "What I found")).to_have_class(MARKED)
    expect(message(reading, "What I found")).to_be_in_viewport()


def test_words_are_found_in_what_is_folded_and_far_away(reading: InspectedPage) -> None:
    """The text that has them is unfolded and read, the words are marked and seen; Enter goes to the next hit."""
    shown = reading.open(PLACE)
    shown.keyboard.press("/")
    shown.keyboard.type("The Far  End")
    expect(shown.locator("mark")).to_have_text(["the far end"])
    expect(shown.locator("mark")).to_be_in_viewport()
    expect(shown.get_by_role("status")).to_contain_text("Message 1 of 1")
    field = shown.get_by_role("searchbox")
    field.fill("file")
    expect(shown.get_by_role("status").filter(has_text="of 2")).to_have_text("Message 1 of 2")
    field.press("Enter")
    expect(shown.get_by_role("status").filter(has_text="of 2")).to_have_text("Message 2 of 2")
    field.press("Shift+Enter")
    expect(shown.get_by_role("status").filter(has_text="of 2")).to_have_text("Message 1 of 2")
    field.fill("nothing has these words")
    expect(shown.get_by_text("Not found")).to_be_visible()


def test_an_address_can_say_what_to_find(reading: InspectedPage) -> None:
    """So a hit of a search elsewhere is marked here."""
    shown = reading.open(f"{PLACE}/9?find={NEEDLE.replace(' ', '+')}")
    expect(shown.locator("mark").first).to_have_text(NEEDLE)
    expect(message(reading, "What I found")).to_have_class(MARKED)


def test_the_keys_go_through_the_messages(reading: InspectedPage) -> None:
    """j and k go on and back, Enter unfolds and folds; they do nothing while somebody types; ? lists them."""
    shown = reading.open(PLACE)
    steps = ("j", "You are careful"), ("j", "Why does"), ("j", "I look."), ("k", "Why does"), ("j", "I look.")
    for key, words in steps:
        shown.keyboard.press(key)
        expect(message(reading, words)).to_have_class(MARKED)
        expect(message(reading, words)).to_be_focused()
    shown.keyboard.press("Enter")
    expect(message(reading, "I look.")).to_contain_text("the far end")
    expect(message(reading, "I look.").locator("details")).to_have_attribute("open", "")
    shown.keyboard.press("Enter")
    expect(message(reading, "I look.")).not_to_contain_text("the far end")
    shown.keyboard.press("?")
    expect(shown.get_by_role("dialog")).to_contain_text("Next message")
    shown.keyboard.press("Escape")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    shown.keyboard.press("/")
    shown.keyboard.type("jk?")
    expect(shown.get_by_role("searchbox")).to_have_value("jk?")


HARD = {
    "a paragraph of one word after another": "_a" * 30_000,
    "white space": "a" + " " * 60_000 + "b",
    "quotations in each other": ">" * 9_000 + " deep",
    "lists in each other": "\n".join(" " * 2 * depth + "- a" for depth in range(100)),
    "open brackets": "[" * 60_000,
}


def test_a_text_that_is_hard_to_read_as_markdown_is_still_shown(browser: Browser, tmp_path: Path) -> None:
    """As it was written, where it is nested too deeply or too long; the page goes on at once."""
    with Session.new(tmp_path, stores=Folder(tmp_path, tmp_path / "home"), session_id="hard") as session:
        for text in HARD.values():
            session.user(text)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/hard/transcript")
        for _ in HARD:
            shown.keyboard.press("j")
            expect(shown.locator(".said.current .markdown")).not_to_be_empty()
        expect(shown.locator(".said.current")).to_contain_text("[[[[")


def look_through(browser: Browser, folder: Path, items: int) -> None:
    """Open a session of this many messages, go to its end and to an address, and find words."""
    make_long_session(folder, items)
    with InspectorServer(folder) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/long/transcript")
        expect(message(page, "message 0:")).to_be_visible()
        shown.get_by_role("feed").press("End")
        expect(message(page, f"message {items - 1}:")).to_be_in_viewport()
        shown.keyboard.press("k")  # goes on from what is seen
        expect(shown.locator(".said.current")).to_be_in_viewport()
        page.open(f"#/s/long/transcript/{items // 2 + 2}")
        expect(message(page, f"message {items // 2}:")).to_be_in_viewport()
        shown.get_by_role("searchbox").fill(f"message {items - 2}:")
        expect(shown.locator("mark")).to_have_text([f"message {items - 2}:"])
        assert shown.locator(".feed-row").count() <= 60
        page.open(f"#/s/long/transcript/{items - 100}?find=the+value")  # of all hits, the one at the address
        expect(message(page, f"message {items - 102}:").locator("mark")).to_be_in_viewport()
        expect(shown.get_by_role("status").filter(has_text="Message")).to_contain_text(f"of {items:,}")
        expect(message(page, f"message {items - 102}:")).to_have_class(MARKED)
        assert 40 * len(page.asked(r"/transcript\?start")) <= 600


def test_a_long_transcript_is_read_and_drawn_in_parts(browser: Browser, tmp_path: Path) -> None:
    """Only messages near those that are seen are on the page, and only their pages are read."""
    look_through(browser, tmp_path, 3_000)


@pytest.mark.soak
def test_a_transcript_of_100_000_messages_opens(browser: Browser, tmp_path: Path) -> None:
    """As many messages are read and drawn as of a short one."""
    look_through(browser, tmp_path, 100_000)


def test_what_was_seen_stays_where_it_is_when_one_scrolls_back(browser: Browser, tmp_path: Path) -> None:
    """Messages that are measured above what is seen do not push it away."""
    make_long_session(tmp_path, 600)
    script = """async () => {
      const feed = document.querySelector('.feed'), top = feed.getBoundingClientRect().top
      const frames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
      const jumps = []
      for (let step = 0; step < 60; step += 1) {
        const seen = [...document.querySelectorAll('article')].find(e => e.getBoundingClientRect().top > top + 100)
        const before = seen.getBoundingClientRect().top
        feed.scrollTop -= 60
        await frames()
        const moved = seen.isConnected ? seen.getBoundingClientRect().top - before - 60 : 0
        if (Math.abs(moved) > 3) jumps.push([step, moved])
      }
      return jumps
    }"""
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/long/transcript/402")
        expect(message(page, "message 400:")).to_be_in_viewport()
        assert shown.evaluate(script) == []


def test_a_session_that_grows_shows_what_is_new(browser: Browser, tmp_path: Path) -> None:
    """A message that comes while one reads is added at the end."""
    keep_read_session(tmp_path)
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open(PLACE)
        expect(shown.get_by_text("4 messages")).to_be_visible()
        with Session.resume("read", tmp_path, stores=Folder(tmp_path, tmp_path / "home")) as session:
            session.user("One more question")
        expect(shown.get_by_text("5 messages")).to_be_visible()
        shown.get_by_role("feed").press("End")
        expect(message(page, "One more question")).to_be_visible()
