"""The page on agents says what is true: its examples run."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.models.openai import OpenAiModel

PAGE = (Path(__file__).parents[2] / "docs" / "agent.md").read_text(encoding="utf-8")
AGENT, MODEL, TOOLS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_agent_of_the_page_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function is called, and the answer and what it cost are printed."""
    monkeypatch.chdir(tmp_path)
    exec(AGENT, {"__name__": "page"})
    printed = capsys.readouterr().out
    assert printed.startswith("port_of → 8080\nIt listens on 8080.\n")
    assert "input_tokens=200" in printed


def test_the_model_of_the_page_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its window is the one said, and its key is not shown."""
    monkeypatch.setenv("GPU_KEY", "sk-hidden")
    names: dict[str, Any] = {"__name__": "page"}
    exec(MODEL, names)
    [model] = names["model"].models
    assert isinstance(model, OpenAiModel)
    assert model.info.window == 32_768
    assert "sk-hidden" not in repr(model.endpoint)


def test_the_tools_of_the_page_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To an agent that answers; the function refuses in its own words."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    exec(TOOLS, names)
    assert [tool.name for tool in names["agent"].tools] == ["file_reader", "list_files", "search_files", "stock_of"]
    with pytest.raises(names["ToolFailed"], match="no article 'lamp'; there are: chair, table"):
        names["stock_of"]("lamp")
    names["agent"].session.close()


def test_what_the_page_names_is_where_it_says() -> None:
    """Every name of a table can be imported from the module beside it."""
    rows = re.findall(r"(?m)^\| (.*?) in `(sightline[\w.]*)` \|", PAGE)
    assert len(rows) > 10
    for names, module in rows:
        for name in re.findall(r"`(\w+)", names):
            assert hasattr(import_module(module), name), f"{module}.{name}"
