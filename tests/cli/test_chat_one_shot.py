"""One question for a script, and what the command line refuses."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_place import configured, talked
from click.testing import CliRunner, Result
from stub import Stub, answer, error

from sightline.adapters.mcp_windows import ProjectWindows
from sightline.cli.main import app
from sightline.follow.windows import load_apps
from sightline.log.stores.session_folder import Folder
from sightline.view.catalog.places import Places

Ask = Callable[..., Result]
READ = ("c1", "file_reader", {"path": "notes.txt"})


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Runs `sightline chat` in the project, as if piped."""

    def ask_(*args: str, **options: Any) -> Result:
        places = ["--project", str(tmp_path / "shop"), "--root", str(tmp_path / "home")]
        return CliRunner().invoke(app, [*places, "chat", *args], **options)

    return ask_


def test_only_the_answer_is_on_standard_output(tmp_path: Path, ask: Ask) -> None:
    """As the model wrote it, whatever was done for it; what comes through a pipe is added to the question."""
    with Stub([answer("", [READ]), answer("It says **milk**.")]) as stub:
        (configured(tmp_path / "shop", stub.url) / "notes.txt").write_text("buy milk")
        done = ask("-p", "What do the notes say?", input="from the pipe\n")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "It says **milk**.\n", "")
    assert stub.asked[0].body["messages"][-1]["content"] == "What do the notes say?\n\nfrom the pipe\n"


def test_json_tells_everything_there_is_to_know(tmp_path: Path, ask: Ask) -> None:
    """The answer, the session, what it cost, which tools were called, what was saved."""
    code = {"code_id": "code_sum", "language": "python", "description": "Sums", "code": "1 + 2"}
    with Stub([answer("", [READ, ("c2", "write_code", code)]), answer("Done.", usage=(100, 10, 0))]) as stub:
        configured(tmp_path / "shop", stub.url)
        facts = json.loads(ask("-p", "Go.", "--json").stdout)
    [session_id] = Folder(tmp_path / "shop", tmp_path / "home").sessions()
    assert (facts["success"], facts["answer"], facts["session"], facts["model"]) == (True, "Done.", session_id, "stub")
    assert facts["rounds"] == 2
    assert facts["usage"]["input_tokens"] == 112
    assert facts["cost"] == pytest.approx(0.000142)
    assert [(call["name"], bool(call["error"])) for call in facts["calls"]] == [
        ("file_reader", True),
        ("write_code", False),
    ]
    assert [saved["id"] for saved in facts["saved"]] == ["code_sum"]


@pytest.mark.slow
@pytest.mark.accepts(242)
def test_a_script_may_go_on_too(tmp_path: Path, ask: Ask) -> None:
    """--continue appends to the session written to last, --resume to the one named."""
    script = [answer("One."), answer("Two."), answer("Other."), answer("More."), answer("Three."), answer("Four.")]
    with Stub(script) as stub:
        configured(tmp_path / "shop", stub.url)
        first = json.loads(ask("-p", "first", "--json").stdout)["session"]
        assert json.loads(ask("-p", "second", "--continue", "--json").stdout)["session"] == first
        other = json.loads(ask("-p", "other", "--json").stdout)["session"]
        assert other != first
        assert json.loads(ask("-p", "more", "--continue", "--json").stdout)["session"] == other
        assert json.loads(ask("-p", "third", "--resume", first[:5], "--json").stdout)["session"] == first
        assert json.loads(ask("-p", "fourth", "--continue", "--json").stdout)["session"] == first
    messages = [message for message in stub.asked[-1].body["messages"] if message["role"] != "system"]
    said = [message["content"] for message in messages]
    assert said == ["first", "One.", "second", "Two.", "third", "Three.", "fourth"]


@pytest.mark.slow
def test_a_changed_log_is_not_gone_on_with_in_silence(tmp_path: Path, ask: Ask) -> None:
    """Who edited a line of the session is told that it is used as it is now, once, on the screen and in the JSON."""
    with Stub([answer("Noted."), answer("4712."), answer("4712.")]) as stub:
        configured(tmp_path / "shop", stub.url)
        ask("-p", "Remember the number 4711.")
        [log] = (tmp_path / "home").rglob("*.jsonl")
        log.write_bytes(log.read_bytes().replace(b"number 4711", b"number 4712"))
        log.with_suffix(".idx").unlink(missing_ok=True)
        told = ask("-p", "Which number?", "--continue").stderr
        facts = json.loads(ask("-p", "Which number?", "--continue", "--json").stdout)
    assert told.count("were changed after they were written") == 1
    assert "(items #" in told
    assert told.strip() in facts["warnings"]


def test_json_has_the_warnings_of_the_beginning_too(tmp_path: Path, ask: Ask) -> None:
    """A server that does not start is said on the screen, and in the JSON that a script reads."""
    with Stub([answer("Yes.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        with (project / "sightline.toml").open("a") as file:
            file.write('\n[mcp.gone]\ncommand = "no-such-program-anywhere"\n')
        facts = json.loads(ask("-p", "Are you there?", "--json", "--trust").stdout)
    assert [warning for warning in facts["warnings"] if "gone did not start" in warning]


@pytest.mark.slow
@pytest.mark.accepts(244)
@pytest.mark.parametrize(("language", "said"), [("en", "There is no session to continue"), ("zh", "没有可继续的会话")])
def test_a_script_is_told_that_there_was_nothing_to_continue(
    tmp_path: Path, ask: Ask, language: str, said: str
) -> None:
    """Once, on standard error or among the warnings, and the answer is all that is printed; then there is a session."""
    with Stub([answer("One."), answer("Two."), answer("Three.")]) as stub:
        configured(tmp_path / "shop", stub.url)
        done = ask("--continue", "-p", "first", "--lang", language)
        assert (done.exit_code, done.stdout) == (0, "One.\n")
        assert said in done.stderr
        again = ask("--continue", "-p", "second", "--lang", language)
        assert (again.exit_code, again.stdout, again.stderr) == (0, "Two.\n", "")
        Folder(tmp_path / "shop", tmp_path / "home").delete(Folder(tmp_path / "shop", tmp_path / "home").sessions()[0])
        told = ask("--continue", "-p", "third", "--json", "--lang", language)
    assert [said in warning for warning in json.loads(told.stdout)["warnings"]] == [True]
    assert told.stderr == ""


@pytest.mark.slow
def test_windows_of_mcp_clients_are_no_conversation_to_go_on_with(tmp_path: Path, ask: Ask) -> None:
    """Their session is the newest, and `--continue` goes on with the talk before it."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        first = json.loads(ask("-p", "First?", "--json").stdout)
        ProjectWindows(Places(project, root=tmp_path / "home"), load_apps(["todo"])).show()
        second = json.loads(ask("--continue", "-p", "Second?", "--json").stdout)
    assert second["session"] == first["session"] != Folder(project, tmp_path / "home").sessions()[1]


def test_a_question_that_fails_has_exit_code_1(tmp_path: Path, ask: Ask) -> None:
    """Nothing on standard output, one line on standard error; with --json the object says so."""
    refusal = error(401, body={"error": {"message": "who are you"}})
    with Stub([refusal, refusal]) as stub:
        configured(tmp_path / "shop", stub.url)
        done = ask("-p", "first")
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "who are you" in done.stderr
        done = ask("-p", "first", "--json")
    assert done.exit_code == 1
    assert not json.loads(done.stdout)["success"]


@pytest.mark.slow
def test_a_question_that_nobody_answered_is_not_gone_on_with(tmp_path: Path, ask: Ask) -> None:
    """--continue means the conversation before; the question is kept, and --resume has it answered."""
    refusal = error(401, body={"error": {"message": "who are you"}})
    with Stub([answer("One."), refusal, answer("Two."), answer("Three."), answer("Four.")]) as stub:
        configured(tmp_path / "shop", stub.url)
        first = json.loads(ask("-p", "first", "--json").stdout)["session"]
        lost = json.loads(ask("-p", "lost", "--json").stdout)["session"]
        assert json.loads(ask("-p", "second", "--continue", "--json").stdout)["session"] == first
        assert set(Folder(tmp_path / "shop", tmp_path / "home").sessions()) == {first, lost}
        assert json.loads(ask("-p", "third", "--resume", lost, "--json").stdout)["session"] == lost
        assert json.loads(ask("-p", "fourth", "--continue", "--json").stdout)["session"] == lost
    messages = [message for message in stub.asked[-1].body["messages"] if message["role"] != "system"]
    said = [message["content"] for message in messages]
    assert said == ["lost", "third", "Three.", "fourth"]


def test_a_question_typed_in_a_chat_is_gone_on_with(tmp_path: Path) -> None:
    """Also where nobody has answered it: that is what was promised when the chat was left."""
    with Stub([error(401, body={}), answer("Here.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        before = talked(project, ["Anybody?"]).session.id
        assert talked(project, ["/retry"], continue_=True).session.id == before


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("", "sightline model get"),
        ("model = 3", "model is a name or a table"),
        ('[model]\nname = "m"\nbase_url = "https://far.example/v1"', "--trust"),
        ('[model]\nname = "m"\nbase_url = "http://127.0.0.1:8000/v1"\nkey_env = "NOT_SET"', "set NOT_SET"),
        ('[model]\ngguf = "none.gguf"', "--trust"),
    ],
)
def test_json_is_an_object_also_where_nothing_can_be_asked(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, toml: str, told: str
) -> None:
    """No model, a file that is wrong or not trusted, no key: the keys of every answer, and why."""
    monkeypatch.setattr("os.environ", {"PATH": "/bin"})
    monkeypatch.setattr("sightline.agent.models.discovery.SERVERS", ())
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "sightline.toml").write_text(toml)
    done = ask("-p", "Hello?", "--json")
    facts = json.loads(done.stdout)
    assert (done.exit_code, done.stderr, facts["success"]) == (1, "", False)
    assert told in facts["error"]
    with Stub([answer("One.")]) as stub:
        configured(tmp_path / "shop", stub.url)
        assert list(json.loads(ask("-p", "Hello?", "--json").stdout)) == list(facts)


@pytest.mark.parametrize(("language", "said"), [("en", "Each of these helps"), ("zh", "以下任选其一")])
def test_without_a_model_there_is_a_short_list(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, language: str, said: str
) -> None:
    """One way on a line, the quickest first, in the language that was asked for."""
    (tmp_path / "shop").mkdir()
    monkeypatch.setattr("os.environ", {"PATH": "/bin"})
    monkeypatch.setattr("sightline.agent.models.discovery.SERVERS", ())
    done = ask("-p", "Hello?", "--lang", language)
    assert (done.exit_code, done.stdout) == (1, "")
    first, *ways = done.stderr.splitlines()
    assert said in first
    assert [len(ways), ways[0].split()[:3]] == [5, ["sightline", "model", "get"]]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 1, '-p "…"'),
        (("--lang", "zh"), 1, "这里没有终端"),
        (("--json",), 2, "--json prints the answer to one question"),
        (("--continue", "--resume", "x"), 2, "say one of them"),
        (("-p", " "), 2, "the question is empty"),
        (("-p", "x", "--resume", "nope"), 1, "no session 'nope'"),
        (("-p", "x", "--model", "nope"), 1, "no model 'nope'"),
        (("-p", "x", "--strategy", "nope"), 1, "There is no strategy nope"),
        (("-p", "x", "--budget", "100", "--output", "200"), 2, "0 <= output < window"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, ask: Ask, args: tuple[str, ...], code: int, said: str
) -> None:
    """Exit code 2 where the command was used wrongly, else 1; no session is begun."""
    configured(tmp_path / "shop", "http://127.0.0.1:9")
    done = ask(*args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
    assert not Folder(tmp_path / "shop", tmp_path / "home").sessions()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("chat", "prompt_toolkit", "chat"),
        ("serve", "prometheus_client", "server"),
        ("inspect", "starlette", "server"),
    ],
)
def test_without_its_packages_it_says_which_to_install(tmp_path: Path, command: str, package: str, extra: str) -> None:
    """One line with the command that installs them; the other commands do not need them."""
    configured(tmp_path / "shop", "http://127.0.0.1:9")
    absent = f"import sys; sys.modules[{package!r}] = None; sys.stdin.isatty = sys.stdout.isatty = lambda: True"
    code = f"{absent}; from sightline.cli import main; sys.argv = ['sightline', *sys.argv[1:]]; main()"
    args = ["--project", str(tmp_path / "shop"), command]
    failed = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert package in failed.stderr.lower()
    assert f"pip install 'sightline-context[{extra}]'" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_a_file_that_reaches_beyond_the_project_is_obeyed_only_when_trusted(tmp_path: Path, ask: Ask) -> None:
    """Nothing is started or asked before somebody has said so, which holds until the file changes."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        configured(tmp_path / "shop", stub.url, "[tools]\nrun_python = true\n")
        refused = ask("-p", "Hello")
        assert refused.exit_code == 1
        assert "run_python" in refused.stderr
        assert "--trust" in refused.stderr
        assert not stub.asked
        assert ask("-p", "Hello", "--trust").stdout == "One.\n"
        assert ask("-p", "Hello").stdout == "Two.\n"
        configured(tmp_path / "shop", stub.url, "[tools]\nrun_python = true\nseconds = 5\n")
        assert ask("-p", "Hello").exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize(("stop", "code", "said"), [("length", 0, "cut off"), ("content_filter", 1, "refuses")])
def test_a_script_learns_why_an_answer_ended(tmp_path: Path, ask: Ask, stop: str, code: int, said: str) -> None:
    """On standard error, and in JSON; a refusal is a failure, an answer that was cut off is not."""
    with Stub([answer("The result is", stop=stop)] * 2) as stub:
        configured(tmp_path / "shop", stub.url)
        done = ask("-p", "What is it?")
        facts = json.loads(ask("-p", "What is it?", "--json").stdout)
    assert (done.exit_code, done.stdout) == (code, "The result is\n")
    assert said in done.stderr
    assert facts["stop"] == {"length": "length", "content_filter": "refused"}[stop]


def test_a_pipe_without_end_is_refused(tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than any model reads is not read, and nothing is asked."""
    monkeypatch.setattr("sightline.cli.chat.command.MOST_PIPED", 1000)
    with Stub([]) as stub:
        configured(tmp_path / "shop", stub.url)
        done = ask("-p", "Sum up", input="x" * 1001)
    assert done.exit_code == 1
    assert "come through the pipe" in done.stderr
    assert not stub.asked


GARDEN = '''
from sightline.apps import App, Element

class Garden(App):
    """Plants."""
    name = "garden"

    def view(self, lod):
        return [Element(tag="plants", text="three tulips")]
'''


@pytest.mark.slow
def test_an_app_in_a_file_of_the_project_works_once_it_is_trusted(tmp_path: Path, ask: Ask) -> None:
    """The user is asked before its code runs, and again when it has changed; the model opens it and sees it."""
    opens = answer("", [("c1", "create", {"name": "garden"})])
    with Stub([opens, answer("Tulips."), answer("Still tulips.")]) as stub:
        project = configured(tmp_path / "shop", stub.url, 'tools.apps = ["garden.py"]')
        (project / "garden.py").write_text(GARDEN)
        refused = ask("-p", "What grows?")
        assert (refused.exit_code, stub.asked) == (1, [])
        assert "tools.apps: garden.py" in refused.stderr
        assert ask("--trust", "-p", "What grows?").stdout == "Tulips.\n"
        assert "three tulips" in str(stub.asked[1].body["messages"])
        (project / "garden.py").write_text(GARDEN.replace("tulips", "weeds"))
        assert ask("-p", "What grows?").exit_code == 1
        (project / "garden.py").unlink()
        gone = ask("--trust", "-p", "What grows?")
        assert "tools.apps: no file" in gone.stderr


NEWEST = """from sightline.plan.strategies.sliding import Sliding


class Newest(Sliding, frozen=True):
    name = "newest"
"""


@pytest.mark.slow
def test_a_strategy_in_a_file_of_the_project_works_once_it_is_allowed(tmp_path: Path, ask: Ask) -> None:
    """plugin.json names it. It never runs unasked; when it was allowed, other commands read its sessions too."""
    ran = tmp_path / "ran"
    marked = f"{NEWEST}\n\nopen({str(ran)!r}, 'a').close()\n"
    stage = {"type": "plugin", "pluginId": "newest.py"}
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "newest.py").write_text(marked)
        (project / "plugin.json").write_text(json.dumps({"id": "a", "contextStrategy": ["rounds", stage]}))
        refused = ask("-p", "First?")
        assert (refused.exit_code, stub.asked, ran.exists()) == (1, [], False)
        assert "plugin.json: newest.py → " in refused.stderr
        assert ask("--trust", "-p", "First?").stdout == "One.\n"
        assert ran.exists()
        places = ["--project", str(project), "--root", str(tmp_path / "home")]
        shown = CliRunner().invoke(app, [*places, "sessions", "show", "--json"])
        assert "First?" in shown.stdout
        assert ask("--continue", "-p", "Second?").stdout == "Two.\n"
        (project / "newest.py").write_text(f"{marked}# changed\n")
        assert ask("-p", "Third?").exit_code == 1
