"""`--apps`: the apps whose windows a model sees, by name, for `wrap`, `serve` and `mcp`."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from sightline.apps import registry
from sightline.apps.app import App
from sightline.cli.app_shell import load_app
from sightline.cli.options import Place
from sightline.errors import BadInput


def _complete(_ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the last name of a list."""
    before, comma, last = begun.rpartition(",")
    return [CompletionItem(before + comma + name) for name in registry.names() if name.startswith(last)]


apps_option = click.option(
    "--apps",
    metavar="NAMES",
    default="",
    shell_complete=_complete,
    help="Apps whose windows the model sees and uses, such as todo,notebook,editor; `sightline apps` lists them. "
    "The editor lets the model write files of the project.  [default: none]",
)


def find_apps(here: Place, names: str) -> tuple[type[App], ...]:
    """Return the apps of these names, separated by commas. One of the project's own needs the user's trust.

    Raises:
        BadInput: there is no such app; the error lists those there are. Or nobody can be asked about the project's.
        Exit: the user does not trust the project.
    """
    wanted = list(dict.fromkeys(name for part in names.split(",") if (name := part.strip())))
    if file := next((name for name in wanted if name.endswith(".py") or "/" in name or "\\" in name), None):
        raise BadInput(here.words("apps no file", file=file))
    shipped = registry.names()
    own = {} if {*wanted} <= {*shipped} else {app.name: app for app in _project_apps(here)}
    blank = [names] if names.strip() and not wanted else []  # such as a comma alone
    if unknown := [*blank, *(name for name in wanted if name not in shipped and name not in own)]:
        there = ", ".join(dict.fromkeys([*shipped, *own]))
        raise BadInput(here.words("apps unknown", name=unknown[0], names=there))
    return tuple(own[name] if name in own else load_app(name) for name in wanted)


def _project_apps(here: Place) -> Iterator[type[App]]:
    """Yield the apps in the files that `sightline.toml` names, once the user has approved what the file reaches."""
    from sightline.cli.chat.project import approved_apps

    for file in approved_apps(here):
        yield load_app(str(Path(here.project) / file))
