"""The context window of the chat's model: asked of its server, and shown where the chat begins."""

from pathlib import Path

import pytest
from chat_terminal import Terminal
from stub import Stub, error, models

pytestmark = pytest.mark.slow


def squeezed(text: str) -> str:
    """The text without blanks: a terminal breaks lines of Chinese anywhere."""
    return "".join(text.split())


def begun(tmp_path: Path, stub: Stub, *more: str) -> str:
    """What the screen shows before the first prompt, squeezed."""
    project = tmp_path / "shop"
    project.mkdir()
    terminal = Terminal(project, "--model", f"{stub.url}/v1 stub", *more)
    shown = terminal.until("❯ ")
    terminal.type("/quit\r")
    assert terminal.end() == 0
    return squeezed(shown)


def test_the_first_line_shows_the_window_that_the_server_tells(tmp_path: Path) -> None:
    """Nothing is assumed, and nothing needs to be set."""
    with Stub([models("stub", max_model_len=32_000)]) as stub:
        shown = begun(tmp_path, stub)
    assert squeezed("· stub · context window 32,000 tokens · session") in shown
    assert squeezed("does not tell") not in shown


@pytest.mark.parametrize("option", ["--window", "--budget"])
def test_the_first_line_shows_the_window_that_is_used(tmp_path: Path, option: str) -> None:
    """With --window, or its alias, it is that one."""
    with Stub([models("stub", max_model_len=32_000)]) as stub:
        assert squeezed("· context window 9,000 tokens ·") in begun(tmp_path, stub, option, "9000")


@pytest.mark.parametrize(
    ("language", "first", "said"),
    [
        ("en", "context window 8,192 tokens", "stub does not tell its context window: 8,192 tokens are assumed. Set"),
        ("zh", "上下文窗口 8,192 个 token", "stub 未说明其上下文窗口：按 8,192 个 token 计。"),
    ],
)
def test_a_window_that_nobody_tells_is_said_to_be_assumed(tmp_path: Path, language: str, first: str, said: str) -> None:
    """How many tokens are assumed, and the two ways to set it."""
    with Stub([models("stub"), *[error(404)] * 4]) as stub:
        shown = begun(tmp_path, stub, "--lang", language)
    assert all(squeezed(words) in shown for words in (first, said, "`window`", "sightline.toml", "--window"))
