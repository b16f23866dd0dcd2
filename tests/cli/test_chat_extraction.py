"""The strategy `entities` in the chat: a model fills in the state, and nothing is forgotten before it has."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from booking import LIGHT, Server, book, reads_constraints, texts
from chat_place import configured, talked
from click.testing import CliRunner, Result
from stub import Line, hang

from sightline.agent.models.retry import RetryingModel
from sightline.cli.chat import command
from sightline.cli.chat.chat import Chat
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.setup import prepare
from sightline.cli.chat.terminal import handle_line
from sightline.cli.main import app
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.log.stores.session_folder import Folder
from sightline.session.session import Session

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command in the project, as if piped."""

    def run_(*args: str, **options: Any) -> Result:
        places = ["--project", str(tmp_path / "shop"), "--root", str(tmp_path / "home")]
        return CliRunner().invoke(app, [*places, *args], **options)

    return run_


@pytest.mark.slow
def test_the_chat_s_model_fills_in_the_state(tmp_path: Path, run: Run) -> None:
    """What was read is in the state and no longer in the dialogue; `context` shows it."""
    found = {"To Oslo.": {"destination": "Oslo"}, "On 1 December 2026, for 0.": {"date": "2026-12-01", "seats": 0}}
    with Server(found | {"Book it.": {}}) as server:
        book(tmp_path / "shop", server.url)
        assert run("chat", "-p", "To Oslo.").exit_code == 0
        assert run("chat", "-c", "-p", "On 1 December 2026, for 0.").stdout == "Noted.\n"
        assert run("chat", "-c", "-p", "Book it.").stdout == "Noted.\n"
    first, second, third = server.questions()
    assert texts(first)[-1] == "To Oslo."
    assert [text for text in texts(second) if "Oslo" in text or "Noted" in text] == [texts(second)[0]]
    assert texts(second)[0].endswith('{"destination":"Oslo"}')
    assert texts(third)[0].endswith('{"destination":"Oslo","date":"2026-12-01"}')  # no seats: 0 is not allowed
    assert texts(third)[-1] == "Book it."
    assert "Noted." in texts(server.extractions()[1])  # the model sees what the user answers
    shown = run("context").stdout
    assert 'Known so far: {"destination":"Oslo","date":"2026-12-01"}' in " ".join(shown.split())
    assert json.loads(run("context", "--json").stdout)["unread"] == 0


@pytest.mark.slow
def test_what_was_not_read_stays_in_the_prompt(tmp_path: Path, run: Run) -> None:
    """If an extraction fails, the dialogue is still sent, and the next extraction reads it too."""
    with Server({"To Oslo.": None, "On 1 December 2026.": {"destination": "Oslo", "date": "2026-12-01"}}) as server:
        book(tmp_path / "shop", server.url)
        assert "could not be extracted, so it stays in the prompt" in " ".join(
            run("chat", "-p", "To Oslo.").stderr.split()
        )
        facts = json.loads(run("context", "--json").stdout)
        assert (facts["state"], facts["unread"]) == ({}, 1)
        run("chat", "-c", "-p", "On 1 December 2026.")
        facts = json.loads(run("context", "--json").stdout)
    assert texts(server.questions()[1]) == ["To Oslo.", "Noted.", "On 1 December 2026."]
    assert texts(server.extractions()[-1])[:3] == ["To Oslo.", "Noted.", "On 1 December 2026."]
    assert (facts["state"], facts["unread"]) == ({"destination": "Oslo", "date": "2026-12-01"}, 0)


@pytest.mark.slow
def test_a_model_that_cannot_extract_keeps_the_dialogue(tmp_path: Path, run: Run) -> None:
    """And the user is told so, in their language."""
    with Server({}) as server:
        book(tmp_path / "shop", server.url)
        done = run("chat", "-m", "other", "-p", "To Oslo.")
        told = run("--lang", "zh", "chat", "-m", "other", "-c", "-p", "Tomorrow.")
    assert "The dialogue stays in the prompt" in " ".join(done.stderr.split())
    assert "对话将保留在提示中" in told.stderr
    assert texts(server.questions()[1])[-3:] == ["To Oslo.", "Noted.", "Tomorrow."]
    assert not server.extractions()


def test_the_light_model_of_the_strategy_extracts(tmp_path: Path, run: Run) -> None:
    """`compressionModel` names it, and it reads constraints; the chat's own model answers the questions."""
    with Server({"To Oslo.": {"destination": "Oslo"}}) as server:
        book(tmp_path / "shop", server.url, LIGHT, compressionModel="light")
        assert run("chat", "-p", "To Oslo.").stderr == ""
    assert [asked.body["model"] for asked in server.extractions()] == ["light"]
    assert [asked.body["model"] for asked in filter(reads_constraints, server.asked)] == ["light"]
    assert [asked.body["model"] for asked in server.questions()] == ["stub"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "more"), [("light", LIGHT), ("no/such model", "")])
def test_without_its_light_model_the_chat_s_own_extracts(tmp_path: Path, run: Run, name: str, more: str) -> None:
    """One that cannot be reached, or that nobody knows: that is said once."""
    with Server({"To Oslo.": {"destination": "Oslo"}}, failing=("light", "no/such model")) as server:
        book(tmp_path / "shop", server.url, more, compressionModel=name)
        done = run("chat", "-p", "To Oslo.")
    assert (done.exit_code, done.stdout) == (0, "Noted.\n")
    assert done.stderr.count(f"{name} could not be asked") == 1
    assert [asked.body["model"] for asked in server.extractions()] == [name, "stub"]


@pytest.mark.slow
def test_a_strategy_cannot_send_the_conversation_elsewhere(tmp_path: Path, run: Run) -> None:
    """An address in plugin.json is only a name, asked where the chat's own model is: nobody has trusted the address."""
    name = "http://127.0.0.1:1/v1 x"
    with Server({"My secret is 42.": {}}, failing=(name,)) as server:
        book(tmp_path / "shop", server.url, compressionModel=name)
        assert run("chat", "-p", "My secret is 42.").stdout == "Noted.\n"
    assert [asked.body["model"] for asked in server.extractions()] == [name, "stub"]


@pytest.mark.slow
def test_a_value_that_is_taken_back_is_forgotten(tmp_path: Path, run: Run) -> None:
    """Null from the model deletes it, and what the schema refuses is told."""
    found = {"To Oslo.": {"destination": "Oslo"}, "No, not Oslo, for two.": {"destination": None, "seats": "two"}}
    with Server(found) as server:
        book(tmp_path / "shop", server.url)
        run("chat", "-p", "To Oslo.")
        told = " ".join(run("chat", "-c", "-p", "No, not Oslo, for two.").stderr.split())
    assert json.loads(run("context", "--json").stdout)["state"] == {}
    assert "do not fit the schema and were left out: seats:" in told


@pytest.mark.slow
def test_no_message_counts_as_read_that_the_model_was_not_shown(tmp_path: Path, run: Run) -> None:
    """A long dialogue is read in several requests, each message whole in one of them."""
    said = [f"Note {n}: " + "nothing of importance, " * 250 for n in range(5)]
    found: dict[str, Any] = dict.fromkeys(said[:4]) | {said[4]: {}} | {text: {} for text in said}
    small = LIGHT.replace("window = 8000", "window = 6000\noutput = 500")
    with Server(found | dict.fromkeys(said[:3])) as server:
        book(tmp_path / "shop", server.url, small, compressionModel="light")
        run("chat", "-p", said[0])
        server.found = found | {said[0]: None}
        for text in said[1:3]:
            server.found[text] = None
            run("chat", "-c", "-p", text)
        server.found = {text: {} for text in said}
        run("chat", "-c", "-p", said[3])
        facts = json.loads(run("context", "--json").stdout)
    assert facts["unread"] == 0
    read = [text for asked in server.extractions()[-4:] for text in texts(asked)[:-1] if text in said]
    assert set(said[:4]) <= set(read)


@pytest.mark.slow
def test_the_light_model_summarises(tmp_path: Path) -> None:
    """The strategy `summary` asks it, and nobody else, for its summaries."""
    config = {"compressionModel": "light", "threshold": 6}
    strategy = {"type": "plugin", "pluginId": "std-summarization-strategy", "config": config}
    project = tmp_path / "shop"

    async def talk() -> str:
        setup = await prepare(Place(str(project), str(tmp_path / "home"), Phrases("en")), ChatOptions())
        chat = Chat(setup)
        for n in range(8):
            await handle_line(chat, f"Chapter {n}.")
            await asyncio.to_thread(chat.session.summaries.wait, 20)
        [summary] = chat.session.summaries
        text = chat.session.items.text(summary.summaries[0])
        await setup.close()
        return text

    with Server({}) as server:
        book(project, server.url, LIGHT)
        (project / "plugin.json").write_text(json.dumps({"id": "novelist", "contextStrategy": strategy}))
        assert "Noted." in asyncio.run(talk())
    [summarised] = [asked for asked in server.questions() if asked.body["model"] == "light"]
    assert "Chapter 0." in texts(summarised)[0]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_script_finds_what_failed_among_the_warnings(tmp_path: Path, run: Run, language: str) -> None:
    """With --json: an extraction that failed after the answer too, and a model that cannot extract at all."""
    with Server({"To Oslo.": None}) as server:
        book(tmp_path / "shop", server.url)
        failed = run("--lang", language, "chat", "-p", "To Oslo.", "--json")
        cannot = run("--lang", language, "chat", "-m", "other", "-p", "To Oslo.", "--json")
    said = {"en": ("it stays in the prompt: stub", "The dialogue stays"), "zh": ("保留在提示中：stub", "对话将保留")}
    for done, words in zip((failed, cannot), said[language], strict=True):
        assert done.stderr == ""
        [warning] = json.loads(done.stdout)["warnings"]
        assert words in warning


@pytest.mark.parametrize("piped", ["", "x" * 20])
def test_an_error_has_the_warnings_too(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, piped: str) -> None:
    """The object says what else went wrong, whether the model fails or it cannot be asked at all."""
    monkeypatch.setattr("sightline.cli.chat.command.MOST_PIPED", 10)
    local = '[models.local]\nname = "local"\ngguf = "no.gguf"\nattempts = 1\n'
    book(tmp_path / "shop", "http://127.0.0.1:1", local, compressionModel="light")
    done = run("chat", "-m", "local", "-c", "-p", "Hello", "--json", input=piped)
    facts = json.loads(done.stdout)
    assert ("through the pipe" if piped else "no.gguf") in facts["error"]
    assert "There is no session to continue" in facts["warnings"][0]
    assert facts["warnings"][1].endswith("light: sightline.toml has no such model")
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False])
def test_a_strategy_that_is_chosen_later_is_the_project_s(tmp_path: Path, run: Run, typed: bool) -> None:
    """With the project's settings, its light model, and the notice of a model that cannot extract."""
    project = tmp_path / "shop"
    with Server({"Hello.": {}, "To Oslo.": {"destination": "Oslo"}}) as server:
        book(project, server.url, LIGHT, compressionModel="light")
        if typed:
            chat = talked(project, ["Hello.", "/strategy entities", "To Oslo."], strategy="focus")
            state = chat.session.state
        else:
            run("chat", "--strategy", "focus", "-p", "Hello.")
            run("chat", "-c", "--strategy", "entities", "-p", "To Oslo.")
            state = json.loads(run("context", "--json").stdout)["state"]
        assert state == {"destination": "Oslo"}
        assert {asked.body["model"] for asked in server.extractions()} == {"light"}
        assert {asked.body["model"] for asked in server.questions()} == {"stub"}


@pytest.mark.slow
def test_a_strategy_without_a_model_for_it_is_told_when_it_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the chat, and with --continue."""
    with Server({}) as server:
        book(tmp_path / "shop", server.url)
        talked(tmp_path / "shop", ["/strategy entities", "To Oslo."], strategy="focus", model="other")
        assert "The dialogue stays in the prompt" in " ".join(capsys.readouterr().out.split())
        talked(tmp_path / "shop", ["Tomorrow."], strategy="entities", model="other", continue_=True)
        assert "The dialogue stays in the prompt" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "needs", "unknown"),
    [("en", "entities needs settings", "There is no strategy nope"), ("zh", "entities 需要配置", "没有策略 nope")],
)
def test_a_strategy_that_cannot_be_used_changes_nothing(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str], language: str, needs: str, unknown: str
) -> None:
    """One that needs settings, or does not exist, typed or on the command line: that is said in the user's language."""
    with Server({}) as server:
        project = configured(tmp_path / "shop", server.url)
        chat = talked(project, ["/strategy entities", "/strategy nope", "Hello."], language=language)
        shown = capsys.readouterr().out
        assert chat.session.settings.strategy == "focus"
        for name, said in (("entities", needs), ("nope", unknown)):
            assert said in shown
            for more in ([], ["-c"]):
                done = run("--lang", language, "chat", *more, "--strategy", name, "-p", "Hello.")
                assert (done.exit_code, done.stdout) == (1, "")
                assert said in done.stderr


@pytest.mark.parametrize("how", ["session", "strategy", "model"])
def test_who_moves_on_loses_no_warning_and_leaves_no_model_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """To another session, strategy or model: the light model before is closed."""
    closed = []

    class Counted(RetryingModel):
        async def close(self) -> None:
            closed.append(self.info.name)
            await super().close()

    monkeypatch.setattr("sightline.agent.models.discovery.RetryingModel", Counted)

    async def move() -> list[str]:
        setup = await prepare(Place(str(tmp_path / "shop"), str(tmp_path / "home"), Phrases("en")), ChatOptions())
        setup.agent.warnings.append("something failed")
        match how:
            case "session":
                await setup.switch_session(None)
            case "strategy":
                await setup.use_strategy("focus")
            case "model":
                await setup.use_model("other")
        moved, warnings = list(closed), setup.take_warnings()
        await setup.close()
        assert moved == ["light", *(["stub"] if how == "model" else [])]
        return warnings

    with Server({}) as server:
        book(tmp_path / "shop", server.url, LIGHT, compressionModel="light")
        assert asyncio.run(move()) == ["something failed"]


def novelist(project: Path, url: str) -> None:
    """A project whose strategy summarises beyond six turns."""
    book(project, url, LIGHT)
    config = {"compressionModel": "light", "threshold": 6}
    strategy = {"type": "plugin", "pluginId": "std-summarization-strategy", "config": config}
    (project / "plugin.json").write_text(json.dumps({"id": "novelist", "contextStrategy": strategy}))


def summaries(tmp_path: Path) -> int:
    """How many summaries the project's only session has."""
    [session_id] = Folder(tmp_path / "shop", tmp_path / "home").sessions()
    with Session.inspect(session_id, tmp_path / "shop", root=tmp_path / "home") as session:
        return len(list(session.summaries))


@pytest.mark.slow
@pytest.mark.accepts(271)
def test_a_script_summarises_after_its_answer(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is on standard output first. A summary that takes too long is given up, and the next run makes it."""
    printed: list[bytes] = []
    summarise = command._summarise

    async def noted(setup: Any) -> None:
        sys.stdout.flush()
        printed.append(sys.stdout.buffer.getvalue())  # type: ignore[attr-defined]
        await summarise(setup)

    class Slow(Server):
        """Its light model does not end its first summary."""

        hangs = True

        def _lines(self) -> Iterator[Line]:
            for line in super()._lines():
                asked = self.asked[-1]
                is_summary = asked.body["model"] == "light" and not reads_constraints(asked)
                yield hang(line, 1) if is_summary and self.hangs else line

    monkeypatch.setattr(command, "_summarise", noted)
    monkeypatch.setattr(command, "SUMMARY_SECONDS", 0.2)
    with Slow({}) as server:
        novelist(tmp_path / "shop", server.url)
        for n in range(7):
            done = run("chat", *(["-c"] if n else []), "-p", f"Chapter {n}.")
            assert (done.exit_code, done.stdout) == (0, "Noted.\n")
        assert server.hanging.is_set()
        assert summaries(tmp_path) == 0
        server.hangs = False
        monkeypatch.setattr(command, "SUMMARY_SECONDS", 30.0)
        run("chat", "-c", "-p", "Chapter 7.")
        assert summaries(tmp_path) == 1
    assert printed == [b"Noted.\n"] * 8


@pytest.mark.slow
def test_the_goal_of_plugin_json_is_in_every_prompt(tmp_path: Path, run: Run) -> None:
    """Once the folder is trusted; before that the user is told that it is not read. No session is begun by it alone."""
    with Server({}) as server:
        novelist(project := tmp_path / "shop", server.url)
        plugin = json.loads((project / "plugin.json").read_text())
        plugin["contextStrategy"]["taskGoal"] = "finish the novel by May"
        (project / "plugin.json").write_text(json.dumps(plugin))
        untrusted = run("chat", "-p", "Chapter 0.")
        for n in (1, 2):
            assert run("chat", "--trust", "-c", "-p", f"Chapter {n}.").exit_code == 0
        bodies = [str(asked.body["messages"]) for asked in server.questions() if asked.body["model"] == "stub"]
    assert "plugin.json (taskGoal)" in untrusted.stderr
    assert ["finish the novel by May" in body for body in bodies] == [False, True, True]
    [session_id] = Folder(project, tmp_path / "home").sessions()
    assert "finish the novel" not in Folder(project, tmp_path / "home").file(session_id).read_text()
