"""A chat that begins with a question of the command line, on a real terminal."""

from pathlib import Path

import pytest
from chat_place import configured
from chat_terminal import ESCAPES, Terminal
from stub import Stub, answer, hang


@pytest.mark.slow
def test_a_question_is_asked_at_once_and_the_chat_goes_on(tmp_path: Path) -> None:
    """A long list is printed from its top while it comes, each item once; the stopped rest is kept."""
    items = [f"1. **item {number:03}**\n" for number in range(1, 61)]
    with Stub([hang(answer(["The list:\n", *items]), after=61), answer("More.")]) as stub:
        terminal = Terminal(configured(tmp_path / "shop", stub.url), "/list", "all")
        terminal.until("❯  /list all")
        terminal.until("item 058")
        terminal.type("\x03")
        terminal.until("Stopped. The answer so far is kept, and the model sees it")
        terminal.prompt()
        terminal.type("go on\r")
        terminal.until("More.")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert "2 item 002" in ESCAPES.sub("", terminal.shown)
    sent = [message["content"] for message in stub.asked[-1].body["messages"] if message["role"] != "system"]
    assert sent[0] == "/list all"
    assert sent[1].startswith("The list:\n1. **item 001**")
    assert sent[2:] == ["[the answer above was stopped before its end]", "go on"]
