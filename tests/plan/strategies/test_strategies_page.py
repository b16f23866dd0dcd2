"""docs/strategies.md: its examples run, its plugin files are those in examples/, and what it promises is so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sightline.origins.openstarry import (
    EntityExtractionContextManager,
    SlidingWindowContextManager,
    SummarizationContextManager,
    create_context_manager,
)
from sightline.plan.strategies import STRATEGIES
from sightline.plan.strategies.project_choice import from_plugin

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
PLUGINS = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)]


@pytest.mark.slow("2", "3")
@pytest.mark.accepts(251)
@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_every_example_runs(number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands there, from the project's directory."""
    monkeypatch.chdir(ROOT)
    exec(compile(PYTHON[number], f"docs/strategies.md [{number}]", "exec"), {"__name__": "__main__"})
    assert "print" not in PYTHON[number] or capsys.readouterr().out


@pytest.mark.slow
def test_the_examples_say_what_the_page_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary stands first in the plan; three of six messages are shown; the booking knows where to."""
    monkeypatch.chdir(ROOT)
    for code in PYTHON[1:]:
        exec(code, {"__name__": "__main__"})
    out = capsys.readouterr().out
    assert "summary   full" in out
    assert "3 of 6 messages are shown" in out
    assert "3 messages. When?" in out


@pytest.mark.accepts(289)
@pytest.mark.parametrize(
    ("role", "name", "kind"),
    [
        ("customer_service", "sliding", SlidingWindowContextManager),
        ("novelist", "summary", SummarizationContextManager),
        ("booking", "entities", EntityExtractionContextManager),
    ],
)
def test_each_role_has_a_plugin_that_can_be_used(role: str, name: str, kind: type[Any]) -> None:
    """The page shows the file in examples/, which chooses the strategy that the document recommends."""
    file = ROOT / "examples" / role / "plugin.json"
    plugin = json.loads(file.read_text(encoding="utf-8"))
    assert plugin in PLUGINS
    assert from_plugin(plugin).name == name
    made = create_context_manager(file, extractor=lambda schema, state, text: {})
    assert type(made) is kind


def test_every_strategy_is_on_the_page() -> None:
    """In the table of what each is good for."""
    for name in STRATEGIES:
        assert f"| `{name}` |" in PAGE
