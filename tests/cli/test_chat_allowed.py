"""What the model may do with files in a chat: read what it may read, and change it only where somebody said so."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_place import configured, talked
from stub import Stub, answer

from sightline import Session
from sightline.agent import Agent
from sightline.agent.config import read_config
from sightline.agent.models.discovery import retrying_model
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.page_chat import PageChat
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases


def opening(app: str, target: str) -> tuple[str, str, Any]:
    """A call that opens an app."""
    return (f"c-{target}", "create", {"name": app, "target": target})


def shop(tmp_path: Path, url: str, more: str = "") -> Path:
    """A project with files, among them keys."""
    project = configured(tmp_path / "shop", url, more)
    for path in ("data/a.txt", "src/private.py", "src/.ssh/config", ".env", "server.pem"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(f"text of {path}\n")
    (project / "data" / "harmless.txt").symlink_to("../.env")
    return project


def asked_about(stub: Stub) -> str:
    """The last request, whole."""
    return json.dumps(stub.asked[-1].body, ensure_ascii=False)


def test_without_leave_there_is_no_editor(tmp_path: Path) -> None:
    """The model is offered none, and gets none by asking."""
    with Stub([answer("", [opening("editor", "data/a.txt")]), answer("No.")]) as stub:
        talked(shop(tmp_path, stub.url), ["Change it."])
    [create] = [each for each in stub.asked[0].body["tools"] if each["function"]["name"] == "create"]
    assert "editor" not in json.dumps(create)
    assert "files" in json.dumps(create)
    assert "text of" not in asked_about(stub)


@pytest.mark.parametrize("how", ["option", "file"])
def test_with_leave_files_are_changed(tmp_path: Path, how: str) -> None:
    """By --allow-edit, or by a file that somebody trusts."""
    edit = ("c2", "action", {"window_id": "editor_1", "action_id": "edit",
                             "params": {"first": 1, "last": 1, "text": "new"}})  # fmt: skip
    with Stub([answer("", [opening("editor", "data/a.txt")]), answer("", [edit]), answer("Done.")]) as stub:
        project = shop(tmp_path, stub.url, "[tools]\nedit = true" if how == "file" else "")
        talked(project, ["Change it."], trust=how == "file", allow_edit=how == "option")
    assert (project / "data/a.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    "path",
    [".env", "server.pem", "src/.ssh/config", "sightline.toml", "data/harmless.txt", "./sub/../sightline.toml"],
)
def test_keys_are_not_opened_even_with_leave(tmp_path: Path, path: str) -> None:
    """Neither by their names, nor by folders on the way, nor through links; the configuration is one of them."""
    with Stub([answer("", [opening("editor", path)]), answer("No.")]) as stub:
        talked(shop(tmp_path, stub.url), ["Show it."], allow_edit=True)
    assert "keys or secrets" in asked_about(stub)
    assert "text of" not in asked_about(stub)
    assert "base_url" not in asked_about(stub)


@pytest.mark.slow
def test_apps_of_files_are_held_to_the_folders_of_the_tools(tmp_path: Path) -> None:
    """What file_reader may not read, no window shows, by name or by content."""
    calls = [opening("editor", "src/private.py"), opening("editor", "data/a.txt"), opening("files", "data")]
    with Stub([answer("", calls), answer("Done.")]) as stub:
        talked(shop(tmp_path, stub.url, '[tools]\nfolders = ["data"]'), ["Show all."], allow_edit=True)
    assert "outside the folders that may be read" in asked_about(stub)
    assert "text of src" not in asked_about(stub)
    assert "text of data/a.txt" in asked_about(stub)
    assert "a.txt</file>" in asked_about(stub)
    assert "src/</folder>" not in asked_about(stub)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["/clear", "/model stub"])
def test_a_folder_that_becomes_a_link_leads_nowhere(tmp_path: Path, command: str) -> None:
    """Where the folders are is found out once, when trust is asked for, not with every session or model."""

    def lines(project: Path) -> Iterator[str]:
        yield "Read."
        (project / "data").rename(tmp_path / "away")
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "a.txt").write_text("beyond")
        (project / "data").symlink_to(tmp_path / "outside")
        yield command
        yield "Read."

    read = ("c1", "file_reader", {"path": "data/a.txt"})
    reads = [answer("", [read]), answer("", [read, opening("editor", "data/a.txt")])]
    with Stub([reads[0], answer("Read."), reads[1], answer("No.")]) as stub:
        project = shop(tmp_path, stub.url, '[tools]\nfolders = ["data"]')
        talked(project, lines(project), allow_edit=True)
    assert "text of data/a.txt" in json.dumps(stub.asked[1].body)
    assert "has become a link" in asked_about(stub)
    assert "outside the" in asked_about(stub)
    assert "beyond" not in asked_about(stub)


def test_below_a_link_files_are_named_as_the_shell_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the path through the link, by the real one, and from the project on."""
    (tmp_path / "alias").symlink_to("shop")
    paths = [str(tmp_path / "alias/data/a.txt"), str(tmp_path / "shop/data/a.txt"), "data/a.txt"]
    reads = [(f"c{number}", "file_reader", {"path": path}) for number, path in enumerate(paths)]
    with Stub([answer("", reads), answer("Read.")]) as stub:
        shop(tmp_path, stub.url, '[tools]\nfolders = ["data"]')
        monkeypatch.chdir(tmp_path / "alias")
        monkeypatch.setenv("PWD", str(tmp_path / "alias"))
        talked(Path(), ["Read."], trust=True)
    assert asked_about(stub).count("[file] data/a.txt\\ntext of data/a.txt") == 3


def test_a_fallback_without_a_key_does_not_stop_the_chat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told of, and done without."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with Stub([answer("Hello.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        file = project / "sightline.toml"
        file.write_text(file.read_text().replace("[models.stub]\n", '[models.stub]\nfallback = ["claude-opus-5-5"]\n'))
        talked(project, ["Hi."], trust=True)
    told = capsys.readouterr()
    assert "Hello." in told.out
    assert "fallback claude-opus-5-5 is left out" in told.err


async def asked(agent: Agent) -> None:
    """Ask an agent something, and close it."""
    await agent.query("Hello")
    await agent.close()


@pytest.mark.parametrize("told", ["", "[tools]\nonly = ['list_files']"])
def test_the_page_gives_what_the_chat_gives(tmp_path: Path, told: str) -> None:
    """The same tools with the same options, apps among them; the page's agent begins with the same instructions."""
    with Stub([answer("Hello.")] * 2) as stub:
        project = shop(tmp_path, stub.url, told)
        talked(project, ["Hello"], allow_edit=True, allow_python=True)
        here = Place(str(project), str(project.parent / "home"), Phrases("en"))
        options = ChatOptions(allow_edit=True, allow_python=True)
        model = retrying_model([read_config(project, os.environ).models["stub"]], "en", warn=lambda _: None)
        page = PageChat(here, options, os.environ, model)
        with Session.new(project, root=project.parent / "home", session_id="page") as session:
            asyncio.run(asked(page.agent(session)))
    terminal, paged = (each.body for each in stub.asked)
    assert terminal["tools"] == paged["tools"]
    assert terminal["messages"][0] == paged["messages"][0]
    names = {tool["function"]["name"] for tool in paged["tools"]} - {"expand", "recall", "look"}
    assert {name.partition(" (")[0] for name in page.tools} == names  # `create` names the apps behind it
