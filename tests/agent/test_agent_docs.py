"""The page on agents says what is true: its examples run."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "agent.md").read_text(encoding="utf-8")
FIRST, SECOND = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_agent_of_the_page_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function is called, and the answer and what it cost are printed."""
    monkeypatch.chdir(tmp_path)
    exec(FIRST, {"__name__": "page"})
    printed = capsys.readouterr().out
    assert printed.startswith("port_of → 8080\nIt listens on 8080.\n")
    assert "input_tokens=200" in printed


def test_the_graph_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node hands the model what fits."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    exec(SECOND, names)
    assert capsys.readouterr().out == "I see 1 messages.\n"
