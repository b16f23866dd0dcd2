"""Extraction and the light model in a chat on a real terminal."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from booking import LIGHT, Server, book, extracts, texts
from chat_terminal import SECONDS, Terminal
from stub import Line, answer, hang

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_light_model_fills_in_the_state_that_context_shows(tmp_path: Path, language: str) -> None:
    """What was read is sent as the state, by the chat's own model; a failed extraction is told before the next prompt.

    A strategy that needs what the model cannot do is told when it is chosen, also before the first prompt.
    """
    say = {
        "en": ("Known so far:", "could not be extracted", "needs a model that can fill in its fields"),
        "zh": ("目前已知：", "未能从你所说的内容中提取信息", "对话将保留在提示中"),
    }[language]
    more = f'[chat]\nlocale = "{language}"\n{LIGHT}'
    with Server({"To Oslo.": {"destination": "Oslo"}, "Tomorrow.": None, "For two.": {"seats": 2}}) as server:
        book(tmp_path / "shop", server.url, more, compressionModel="light")
        terminal = Terminal(tmp_path / "shop")
        terminal.prompt("entities")
        terminal.type("To Oslo.\r")
        terminal.until("Noted.")
        terminal.prompt("entities")
        terminal.type("/strategy focus\r")  # waits for the extraction
        terminal.prompt("focus")
        terminal.type("/strategy entities\r")
        terminal.prompt("entities")
        terminal.type("/context\r")
        terminal.until(say[0])
        terminal.until('{"destination":"Oslo"}')
        terminal.prompt("entities")
        terminal.type("Tomorrow.\r")
        terminal.until("Noted.")
        terminal.type("/strategy entities\r")
        terminal.until(say[1])
        terminal.prompt("entities")
        terminal.type("/quit\r")
        assert terminal.end() == 0
        book(tmp_path / "shop", server.url, more)
        terminal = Terminal(tmp_path / "shop", "-m", "other")
        terminal.until(say[2])
        terminal.prompt("entities")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert "Traceback" not in terminal.shown
    second = server.questions()[1]
    assert not any("To Oslo." in text for text in texts(second))
    assert json.dumps({"destination": "Oslo"}, separators=(",", ":")) in str(texts(second))
    # After its first failure the light model is asked no more.
    assert [asked.body["model"] for asked in server.extractions()] == ["light", "light", "stub"]
    assert {asked.body["model"] for asked in server.questions()} == {"stub"}


class Slow(Server):
    """Extracts for ever."""

    def _lines(self) -> Iterator[Line]:
        while True:
            yield hang(answer("{"), after=1) if extracts(self.asked[-1]) else answer("Noted.")


def test_who_waits_for_an_extraction_sees_it(tmp_path: Path) -> None:
    """And Ctrl-C ends the wait, whatever it is that waits; what was not read stays in the prompt."""
    with Slow({}) as server:
        book(tmp_path / "shop", server.url)
        terminal = Terminal(tmp_path / "shop")
        for command in ("/clear", "/model other", "/strategy focus", "/quit"):
            terminal.prompt("entities")
            server.hanging.clear()
            server.left.clear()
            terminal.type("To Oslo.\r")
            terminal.until("Noted.")
            terminal.prompt("entities")
            assert server.hanging.wait(SECONDS)
            terminal.type(f"{command}\r")
            terminal.until("reading what you said last")
            terminal.type("\x03")
            assert server.left.wait(SECONDS)
            if command != "/quit":
                terminal.until("Stopped.")
        assert terminal.end() == 0
        assert "is stored" in terminal.shown
        assert "Traceback" not in terminal.shown
