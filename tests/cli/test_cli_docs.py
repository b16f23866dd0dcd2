"""docs/cli.md and docs/tutorial.md: what they show is what the commands print."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from sightline.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
CONTEXT = click.Context(app)


def commands(group: click.Group, name: str = "sightline") -> Iterator[str]:
    """The full names of all commands."""
    yield name
    for word in group.list_commands(CONTEXT):
        child = group.get_command(CONTEXT, word)
        yield from commands(child, f"{name} {word}") if isinstance(child, click.Group) else [f"{name} {word}"]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/cli_docs.py, which is no package."""
    spec = importlib.util.spec_from_file_location("cli_docs", ROOT / "tools" / "cli_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("page", ["cli.md", "tutorial.md"])
def test_every_output_in_the_documentation_is_current(tool: ModuleType, page: str) -> None:
    """If this fails, a command or a decision of the engine changed: run `python tools/cli_docs.py` and look at it."""
    path = ROOT / "docs" / page
    assert path in tool.PAGES
    assert tool.current(path).splitlines() == path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("command", list(commands(app)))
def test_every_command_is_documented_with_its_help(command: str) -> None:
    """Its help stands there in full; that it is current, the test above shows."""
    assert f"$ {command} --help\n" in DOCS


@pytest.mark.parametrize("command", list(commands(app)))
def test_every_help_teaches_by_examples(command: str) -> None:
    """Two or three of them."""
    found: click.Command = app
    for name in command.split()[1:]:
        assert isinstance(found, click.Group)
        child = found.get_command(CONTEXT, name)
        assert child is not None
        found = child
    assert found.help is not None
    examples = found.help.partition("Examples:")[2]
    assert 2 <= examples.count("sightline ") <= 3


@pytest.mark.parametrize("page", ["chat.md", "server.md"])
def test_a_long_page_begins_with_help(page: str) -> None:
    """What it is for, three commands that there are, and what to do if it does not work; then the specification."""
    help_text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("\n## ")[0]
    assert help_text.count("\n") < 40
    first = re.findall(r"^sightline (\w+)", help_text.partition("```sh\n")[2].partition("```")[0], re.MULTILINE)
    assert len(first) == 3
    named = re.findall(r"`sightline (?:--\w+ )?(\w+)", help_text)
    assert {*first, *named} <= {*app.list_commands(CONTEXT)}
    assert "| if | then |" in help_text
    assert "`sightline doctor`" in help_text
