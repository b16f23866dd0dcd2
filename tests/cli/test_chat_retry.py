"""The line that says why a model is asked again: every kind of failure, in both languages."""

import re
import socket
from pathlib import Path

import pytest
from chat_place import allow, configured, talked
from stub import Line, Stub, answer, cut, error, hang

SOON = {"retry-after": "0.01"}
FAILURES: dict[str, Line] = {
    "rate": error(429, SOON, {"error": {"message": "slow down"}}),
    "overload": error(529, SOON, {"error": {"message": "Overloaded"}}),
    "silent": hang(answer("One."), after=0),
    "cut": cut(answer("One two three."), after=2),
}
SAID = {
    "rate": ("stub: asked too often: slow down; again in", "stub：请求过于频繁（限流）：slow down；"),
    "overload": (
        "stub: its server is busy or has failed: Overloaded; again in",
        "stub：服务器繁忙或出错：Overloaded；",
    ),
    "silent": ("stub was silent for 0.5 s; again in", "stub 在 0.5 s 内没有回应；"),
    "cut": ("stub: the answer was cut off: ", "stub：回答中途断开："),
}
AGAIN = (r"again in [\d.]+ s \(attempt 2 of 2\)", r"[\d.]+ 秒后重试（第 2 次，共 2 次）")
LANGUAGES = ("en", "zh")


def twice(project: Path) -> Path:
    """The project, its model asked at most twice and waited for half a second."""
    file = project / "sightline.toml"
    file.write_text(file.read_text().replace("attempts = 1", "attempts = 2\nseconds = 0.5", 1))
    return allow(project)


def on_one_line(shown: str) -> str:
    return " ".join(shown.split())


@pytest.mark.parametrize(("kind", "language"), [*((kind, "en") for kind in FAILURES), ("cut", "zh")])
def test_a_retry_says_what_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, language: str
) -> None:
    """The reason, the wait and the attempt; then the answer comes as if nothing had been."""
    with Stub([FAILURES[kind], answer("Here it is.")]) as stub:
        talked(twice(configured(tmp_path / "shop", stub.url)), ["first"], language=language)
    shown, place = on_one_line(capsys.readouterr().out), LANGUAGES.index(language)
    assert SAID[kind][place] in shown
    assert re.search(AGAIN[place], shown)
    assert "Here it is." in shown


@pytest.mark.parametrize(
    ("language", "said", "hint"),
    [
        ("en", "stub cannot be reached: http://127.0.0.1:", "Given up after 2 attempts."),
        ("zh", "无法连接 stub：http://127.0.0.1:", "尝试 2 次后放弃。"),
    ],
)
def test_a_server_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, said: str, hint: str
) -> None:
    """The address that refuses the connection, and after the last attempt how often it was tried."""
    with socket.socket() as free:  # bound and not listening: whoever connects is refused
        free.bind(("127.0.0.1", 0))
        project = twice(configured(tmp_path / "shop", f"http://127.0.0.1:{free.getsockname()[1]}"))
        talked(project, ["first"], language=language)
    shown = on_one_line(capsys.readouterr().out)
    assert said in shown
    assert re.search(AGAIN[LANGUAGES.index(language)], shown)
    assert hint in shown
