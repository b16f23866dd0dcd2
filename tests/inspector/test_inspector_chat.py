"""The chat with the tools of the terminal's, shown as the transcript is; and what a page saves as a file."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspected_page import InspectedPage
from inspector_server import TOKEN, InspectorServer
from playwright.sync_api import Browser, expect

from sightline import Session
from sightline.agent.models import TextDelta
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.page_chat import PageChat
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.server.rest_chat import EquippedModel
from sightline.testing import ScriptedModel, calling

pytestmark = pytest.mark.slow

ANSWER = """The server listens on **8080**:

| service | port |
|---|---|
| web | 8080 |

<img src=x onerror="window.hacked = 1"> and <script>window.hacked = 1</script> [here](javascript:alert(1))"""
FOREIGN = ".messages img, .messages script, .messages a[href^='javascript']"


class Halting(ScriptedModel):
    """A scripted model that halts after so many words, until it may go on."""

    def __init__(self, lines: list[Any], words: int) -> None:
        super().__init__(lines)
        self.may_go_on, self._words = threading.Event(), words

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """Stream the next line."""
        count = 0
        async for each in super().stream(request):
            count += isinstance(each, TextDelta)
            if isinstance(each, TextDelta) and count > self._words:
                while not self.may_go_on.is_set():  # not in a thread: an answer that is stopped ends here
                    await asyncio.sleep(0.01)
            yield each


def served(folder: Path, model: ScriptedModel, options: ChatOptions | None = None, **settings: Any) -> InspectorServer:
    """A server of a folder with a file, a key and a session, whose model gets the tools that `inspect` gives it."""
    (folder / "README.md").write_text("The web server listens on port 8080.\n")
    (folder / ".env").write_text("KEY=verysecret\n")
    with Session.new(folder, root=folder / "home", session_id="talk") as session:
        session.user("Hello")
        session.assistant("Hello. What is it about?")
    place = Place(str(folder), str(folder / "home"), Phrases("en"))
    chat = PageChat(place, options or ChatOptions(), dict(os.environ), model)
    equipped = EquippedModel(model, chat.tools, chat.agent, chat.recalls)
    return InspectorServer(folder, model=equipped, **settings)


def ask(shown: Any, question: str) -> None:
    """Send a question."""
    shown.get_by_label("Message", exact=True).fill(question)
    shown.get_by_role("button", name="Send").click()


@pytest.fixture
def halting(tmp_path: Path) -> Iterator[Halting]:
    """A model that reads two files and then answers; it halts after ten words of that."""
    made = Halting([calling(("file_reader", {"path": "README.md"}), ("file_reader", {"path": ".env"})), ANSWER], 10)
    yield made
    made.may_go_on.set()


def test_tools_and_answers_are_shown_as_in_the_transcript(browser: Browser, tmp_path: Path, halting: Halting) -> None:
    """The model reads a file of the project and is refused its keys; Markdown is read while it comes, HTML never."""
    with served(tmp_path, halting) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/talk/chat")
        shown.set_viewport_size({"width": 1440, "height": 500})
        expect(shown.get_by_text("file_reader, list_files, search_files, write_code, create (todo")).to_be_visible()
        expect(shown.get_by_text("editor")).to_have_count(0)
        ask(shown, "Where does *web* listen?")
        exchanges = shown.locator(".messages .exchange")
        expect(exchanges.nth(0)).to_contain_text("listens on port 8080")
        expect(exchanges.nth(1)).to_contain_text("is a file of keys or secrets")
        expect(shown.locator(".messages strong", has_text="8080")).to_be_visible()
        expect(shown.get_by_role("button", name="Stop")).to_be_visible()
        halting.may_go_on.set()
        expect(shown.get_by_role("button", name="Send")).to_be_visible()
        expect(shown.locator(".messages td", has_text="8080")).to_be_visible()
        end = "document.querySelector('.messages')"
        shown.wait_for_function(f"{end}.scrollHeight - {end}.scrollTop - {end}.clientHeight < 60")
        expect(shown.locator(".messages")).to_contain_text('<img src=x onerror="window.hacked = 1">')
        expect(shown.locator(".messages .from-user")).to_have_count(2)  # the question once, from the log
        expect(shown.locator(".messages .from-assistant", has_text="service")).to_have_count(1)
        assert shown.locator(FOREIGN).count() == 0
        assert shown.evaluate("window.hacked") is None
        assert page.cut() == []
        assert page.violations() == []
        page.shoot("7-chat-tools")
    assert "verysecret" not in json.dumps(halting.asked)


def test_a_model_that_may_edit_has_the_editor_among_its_apps(tmp_path: Path) -> None:
    """The page names the apps, because `create` alone does not tell whether files may be changed."""
    place = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en"))
    chat = PageChat(place, ChatOptions(allow_edit=True), dict(os.environ), ScriptedModel([]))
    assert [tool for tool in chat.tools if "editor" in tool] == [tool for tool in chat.tools if "create" in tool] != []


def test_an_answer_that_is_stopped_stays(browser: Browser, tmp_path: Path) -> None:
    """What came until then is in the log, and the page shows it once, with the note that it was stopped."""
    model = Halting([ANSWER, "Then so."], 5)
    with served(tmp_path, model) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/talk/chat")
        ask(shown, "Where?")
        expect(shown.locator(".messages strong", has_text="8080")).to_be_visible()
        shown.get_by_role("button", name="Stop").click()
        expect(shown.get_by_text("the answer above was stopped")).to_be_visible()
        model.may_go_on.set()  # now: before, the answer could end ahead of being stopped
        expect(shown.locator(".messages strong", has_text="8080")).to_have_count(1)
        ask(shown, "Shorter?")
        expect(shown.get_by_text("Then so.")).to_be_visible()


class Dripping(ScriptedModel):
    """A scripted model whose words come one by one, each in an event of its own."""

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """Stream the next line."""
        async for each in super().stream(request):
            await asyncio.sleep(0.003)
            yield each


def test_a_text_that_comes_is_not_drawn_for_each_word(browser: Browser, tmp_path: Path) -> None:
    """Of six hundred words the text in the page is changed some times a second, not six hundred times."""
    model = Dripping([" ".join(["word"] * 600)])
    with served(tmp_path, model) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/talk/chat")
        shown.evaluate(
            "window.drawn = 0; new MutationObserver(() => window.drawn++)"
            ".observe(document.querySelector('.messages'), {subtree: true, childList: true, characterData: true})"
        )
        ask(shown, "Say it.")
        expect(shown.locator(".messages .from-assistant", has_text="word word")).to_have_count(1)
        expect(shown.get_by_role("button", name="Send")).to_be_visible()
        assert shown.evaluate("window.drawn") < 150


def test_a_session_of_another_project_gets_no_files(browser: Browser, tmp_path: Path) -> None:
    """The page says so, and the model is offered only what brings back earlier parts of the session."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    model = ScriptedModel(["Hello."])
    with Session.new(other, root=mine / "home", session_id="far") as session:
        session.user("Far away")
    with served(mine, model, everywhere=True) as server, InspectedPage(browser, server) as page:
        shown = page.open()
        page.option("Far away").click()
        shown.get_by_role("link", name="Chat", exact=True).click()
        expect(shown.get_by_text("It gets no files of this machine here.")).to_be_visible()
        ask(shown, "Hello?")
        expect(shown.get_by_text("Hello.", exact=True)).to_be_visible()
    assert {tool["function"]["name"] for tool in model.asked[0]["tools"]} == {"expand", "recall", "look"}


def test_without_tools_the_page_promises_none(browser: Browser, tmp_path: Path) -> None:
    """As `inspect --no-tools`: the model is asked in plain text, so it cannot bring anything back either."""
    model = ScriptedModel(["Hello."])
    with served(tmp_path, model, ChatOptions(no_tools=True)) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/talk/chat")
        expect(shown.get_by_text("it cannot bring back earlier parts of this session")).to_be_visible()
        ask(shown, "Hello?")
        expect(shown.get_by_text("Hello.", exact=True)).to_be_visible()
    assert not model.asked[0].get("tools")


@pytest.mark.parametrize(("form", "name"), [("jsonl", "talk.jsonl"), ("markdown", "talk.md"), ("html", "talk.html")])
def test_a_session_is_saved_as_a_file(browser: Browser, tmp_path: Path, form: str, name: str) -> None:
    """The page asks with its token, which is in no address; a log is read back by an import."""
    with served(tmp_path, ScriptedModel([])) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/talk/transcript")
        shown.get_by_role("button", name="Export session").click()
        with shown.expect_download() as download:
            shown.get_by_role("dialog").get_by_role("button", name=form, exact=True).click()
        assert download.value.suggested_filename == name
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert "What is it about?" in text
        expect(shown.get_by_role("dialog").get_by_text("Saved")).to_be_visible()
        assert page.violations() == []
        assert not [path for path in page.requests if TOKEN in path]
        shown.keyboard.press("Escape")
        expect(shown.get_by_role("dialog")).to_have_count(0)
        if form == "jsonl":
            page.open()
            shown.locator("input[type=file]").set_input_files(
                {"name": "again.jsonl", "mimeType": "application/x-ndjson", "buffer": text.encode()}
            )
            expect(shown.get_by_role("heading", name="Hello")).to_be_visible()


def test_the_request_of_a_call_is_saved_as_a_file(page: InspectedPage) -> None:
    """In the format of the session's provider first, or in another."""
    shown = page.open("#/s/work/call/3")
    for form, key in (("openai", "messages"), ("gemini", "contents")):
        shown.get_by_role("button", name="Export call").click()
        with shown.expect_download() as download:
            shown.get_by_role("dialog").get_by_role("button", name=form, exact=True).click()
        assert download.value.suggested_filename == f"work-call-3-{form}.json"
        assert json.loads(Path(download.value.path()).read_bytes())[key]
        shown.get_by_role("button", name="Close").click()
