"""`--apps` of `wrap`, `serve` and `mcp`: names of apps, and code of the project only once the user trusts it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline.agent.config import read_config
from sightline.agent.trust import Trusted, reaches
from sightline.apps.registry import names
from sightline.cli.named_apps import find_apps
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.errors import BadInput

KANBAN = """
from sightline.apps import App, Element, action
from pathlib import Path
Path("ran").touch()

class Kanban(App):
    '''Keep cards in columns.'''
    name = "kanban"

    @action(label="Add a card")
    def add(self, text: str) -> str:
        return text

    def view(self, lod):
        return [Element(text="no cards")]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project whose file names an app of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    (tmp_path / "kanban.py").write_text(KANBAN)
    (tmp_path / "sightline.toml").write_text('[tools]\napps = ["kanban.py"]\n')
    return Place(str(tmp_path), str(tmp_path / "home"), Phrases("en"))


def test_apps_are_found_by_name(here: Place) -> None:
    """Each once, in the order of the names; blanks do not matter. Of the project's code nothing runs."""
    assert [app.name for app in find_apps(here, "todo, notebook,todo,")] == ["todo", "notebook"]
    assert find_apps(here, "") == ()
    assert not Path("ran").exists()


def test_an_app_of_the_project_needs_trust(here: Place) -> None:
    """Where nobody can be asked, an error says what the file reaches and how to allow it; then the app is there."""
    with pytest.raises(BadInput, match=r"(?s)kanban\.py.*sightline chat") as caught:
        find_apps(here, "todo,kanban")
    assert "tools.apps" in str(caught.value)
    assert not Path("ran").exists()
    config = read_config(here.project, {})
    Trusted(here.home).add(config, reaches(config, here.project, {}))
    assert [app.name for app in find_apps(here, "todo,kanban")] == ["todo", "kanban"]
    assert Path("ran").exists()


@pytest.mark.parametrize("command", [("wrap", "--apps", "tudo", "--", "true"), ("serve", "--apps", "tudo"),
                                     ("mcp", "--apps", "tudo")])  # fmt: skip
def test_an_unknown_app(command: tuple[str, ...], run: Callable[..., Result]) -> None:
    """The error lists the names there are, in the reader's language."""
    result = run(*command)
    assert result.exit_code != 0
    assert f"no app 'tudo'; there are: {', '.join(names())}" in result.output
    assert "没有应用 'tudo'；可用的有：todo" in run("--lang", "zh", *command).output


def test_a_file_is_no_name(run: Callable[..., Result]) -> None:
    """Whoever wants an app of a file is told where to name it."""
    assert "no app ','; there are: todo, " in run("serve", "--apps", ",").output
    assert "--apps takes names, not a file such as './kanban.py'" in run("serve", "--apps", "./kanban.py").output


def test_tenants_share_no_apps(run: Callable[..., Result]) -> None:
    """Apps use files of the machine that serves."""
    result = run("--store", "postgresql://nobody@127.0.0.1:1/none", "serve", "--tenants", "--apps", "todo")
    assert "which all tenants would share" in result.output


@pytest.mark.parametrize("command", ["wrap", "serve", "mcp"])
def test_the_help_teaches(command: str, run: Callable[..., Result]) -> None:
    """It names apps, where they are listed, and what the editor may do."""
    told = " ".join(run(command, "--help").output.split())
    assert "todo,notebook,editor; `sightline apps` lists them" in told
    assert "write files of the project" in told
