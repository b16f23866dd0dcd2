"""docs/chat.md: every command, option and key of the configuration is in it, and its example is a valid one."""

import re
from pathlib import Path

import click
import pytest

from sightline.agent.config import ChatSettings, McpServer, ToolSettings, from_tables
from sightline.agent.models.endpoint import Endpoint
from sightline.cli.chat.command import chat
from sightline.cli.chat.commands import NAMES
from sightline.plan.strategies.project_choice import from_table

DOCS = (Path(__file__).parents[2] / "docs" / "chat.md").read_text(encoding="utf-8")
[EXAMPLE] = re.findall(r"(?s)```toml\n(.*?)```", DOCS)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_command_is_in_the_table(name: str) -> None:
    """By each of its names."""
    assert re.search(rf"`{name}[ `]", DOCS)


def test_every_option_is_in_the_table() -> None:
    """In its long form, those that all commands share aside."""
    options = [option for option in chat.params if isinstance(option, click.Option) and not option.hidden]
    assert not [option.opts for option in options if f"`{max(option.opts, key=len)}" not in DOCS]


@pytest.mark.parametrize("table", [Endpoint, ToolSettings, McpServer, ChatSettings])
def test_every_key_of_the_configuration_is_in_the_example(table: type) -> None:
    """Also those that are only named in a comment."""
    keys = {*table.__struct_fields__} - {"label", "key_said"}  # type: ignore[attr-defined]
    assert not [key for key in keys if not re.search(rf"(?m)^(?:# )?{key} = ", EXAMPLE)]


def test_the_example_is_valid() -> None:
    """It is read as it stands; its strategy too."""
    import tomllib

    table = tomllib.loads(EXAMPLE)
    config = from_tables(table, "sightline.toml", {})
    assert (config.model, list(config.models), list(config.mcp)) == ("fast", ["fast", "house"], ["tickets", "search"])
    choice = from_table(table, "sightline.toml")
    assert choice is not None
    assert choice.name == "focus"
