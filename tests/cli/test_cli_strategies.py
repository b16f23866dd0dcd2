"""`sightline strategies`: what there is, what can be configured, what the project chose."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sightline.cli.main import app
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.plan.economies import described
from sightline.plan.strategies import STRATEGIES

Run = Callable[..., Result]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with one good strategy and one that cannot be loaded."""
    info = tmp_path / "site" / "offered-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sightline.strategies]\nours = offered:Ours\nlost = offered:Lost\n")
    code = 'from dataclasses import dataclass\n@dataclass\nclass Ours:\n    "Shows \\x1b[31mall."\n    size: int = 3\n'
    (tmp_path / "site" / "offered.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield  # type: ignore[misc]
    sys.modules.pop("offered", None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_strategy_is_listed_with_its_configuration(run: Run, language: str) -> None:
    """Name, one line in the reader's language, and each key with type, default and meaning."""
    result = run("strategies", "--lang", language)
    assert result.exit_code == 0
    for name in STRATEGIES:
        assert f"{name:<8}  {Phrases(language)(f'strategy {name}')}" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["threshold", "integer", "10"] in [row[:3] for row in rows]
    assert ["compression_model", "string", '""'] in [row[:3] for row in rows]
    assert Phrases(language)("chosen by default", name="focus") in result.stdout


def test_what_an_economy_does_is_not_cut_off(run: Run) -> None:
    """The key has the words of every other page, all of them."""
    assert described() in run("strategies").stdout


def test_as_json_the_whole_schema_is_there(run: Run) -> None:
    """Names, the ids of plugin.json, and a JSON Schema for each."""
    found = json.loads(run("strategies", "--json").stdout)
    assert found["chosen"] == {"name": "focus", "config": {}, "file": "", "task_goal": ""}
    by_name = {each["name"]: each for each in found["strategies"]}
    assert set(by_name) >= set(STRATEGIES)
    assert by_name["summary"]["ids"] == ["std-summarization-strategy"]
    assert by_name["summary"]["config"]["properties"]["threshold"]["default"] == 10
    assert by_name["entities"]["config"]["required"] == ["schema"]
    assert [*by_name["sliding"]["config"]["properties"]] == ["constraints"]
    assert {each["from"] for each in by_name.values()} == {"sightline"}


def test_what_the_project_chose_is_said(tmp_path: Path) -> None:
    """With the file; a file that cannot be followed is one red line after the list, and exit code 1."""
    (tmp_path / "plugin.json").write_text('{"id": "agent"}')
    result = CliRunner().invoke(app, ["--project", str(tmp_path), "strategies"])
    assert f"This project uses sliding, chosen in {tmp_path / 'plugin.json'}." in result.stdout
    (tmp_path / "sightline.toml").write_text('strategy = "wishful"')
    result = CliRunner().invoke(app, ["--project", str(tmp_path), "strategies"])
    assert result.exit_code == 1
    assert "entities" in result.stdout
    assert "sightline.toml: strategy is 'wishful'; choose one of focus, sliding, summary, entities" in result.stderr


@pytest.mark.usefixtures("package")
def test_strategies_of_installed_packages_are_listed_too(run: Run) -> None:
    """In their own words, harmless on a terminal; one that cannot be loaded says why."""
    result = run("strategies")
    assert result.exit_code == 0
    assert "ours      Shows �[31mall." in result.stdout
    assert "lost      strategy 'lost' (offered:Lost) cannot be loaded" in result.stdout
    found = json.loads(run("strategies", "--json").stdout)
    assert [each["from"] for each in found["strategies"]][-2:] == ["offered:Lost", "offered:Ours"]
