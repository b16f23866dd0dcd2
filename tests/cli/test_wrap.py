"""`sightline serve` and `sightline wrap` as a user runs them: a command of their own, a real client, a real port."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from clients import Conversation
from msgspec.structs import replace
from upstream import Upstream
from upstream_script import answer

from sightline import Session
from sightline.adapters.agent_settings import missing_key
from sightline.cli.agent_command import addresses, started_agent, with_address
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.cli.serve import ProxyOptions, _chosen_economy, _config, _print_totals
from sightline.errors import BadInput
from sightline.follow.context_windows import ContextWindow
from sightline.plan.economies import DEFAULT, ECONOMIES, meaning
from sightline.plan.strategies.focus import Focus
from sightline.providers.agents import AGENTS
from sightline.server.config import usual_upstreams
from sightline.server.totals import Totals, _Before

SIGHTLINE = [sys.executable, "-m", "sightline"]
AGENT = """
import openai
client = openai.OpenAI(api_key="any")
messages = [{"role": "user", "content": "Hello?"}]
for _ in range(3):
    reply = client.chat.completions.create(model="gpt-4o", messages=messages)
    messages += [reply.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": "And?"}]
print("done:", len(messages))
raise SystemExit(3)
"""


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """An environment with a home of its own and no provider's address."""
    kept = {
        name: value for name, value in os.environ.items() if not name.endswith(("_BASE_URL", "_API_BASE", "_API_KEY"))
    }
    return {**kept, "HOME": str(tmp_path), **more}


@pytest.mark.slow
def test_wrap_runs_a_command_and_says_what_went_through(tmp_path: Path) -> None:
    """The command's output and exit status are its own; the summary is on standard error; the conversation is kept."""
    with Upstream([answer("One."), answer("Two."), answer("Three.")]) as upstream:
        done = subprocess.run(
            [*SIGHTLINE, "--root", "kept", "wrap", "--upstream", f"openai={upstream.openai_url}", "--", sys.executable,
             "-c", AGENT],
            cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "done: 7\n"), done.stderr
    assert re.search(r"calls of the model +3\n", done.stderr)
    told = " ".join(done.stderr.split())
    assert re.search(r"cost \(forecast\) \d+: the same as sending everything \(0%\), because nothing was short", told)
    assert re.search(r"reported by the provider [\d,]+ tokens in", told)
    listed = subprocess.run(
        [*SIGHTLINE, "--root", "kept", "sessions", "--json"], cwd=tmp_path, env=environment(tmp_path),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "Hello?" in listed.stdout


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("cost", "share"), [(400.0, ("60% less than", "少 60%")), (1_100.0, ("10% more than", "多 10%"))]
)
def test_the_end_says_what_the_run_cost_against_sending_everything(
    cost: float, share: tuple[str, str], language: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two forecasts; what the provider reported stands beside them under its own name, and changes nothing."""
    here = Place(".", None, Phrases(language))
    totals = Totals(calls=3, reported=3, sweeps=1, cost=cost, full_cost=1_000.0, input=5_000, output=9)
    _print_totals(here, totals)
    without = " ".join(capfd.readouterr().err.split())
    _print_totals(here, replace(totals, cached=4_000, reported_cost=1_700.0))
    told = " ".join(capfd.readouterr().err.split())
    is_chinese = language == "zh"
    assert share[is_chinese] in without
    assert share[is_chinese] in told
    assert "1,000" in told
    assert ("1,700" in told, "1,700" in without) == (True, False)


def told_at_the_end(capfd: pytest.CaptureFixture[str], totals: Totals, agent: str = "") -> str:
    """What is printed for these sums, in one line."""
    _print_totals(Place(".", None, Phrases("en")), totals, AGENTS.get(agent))
    return " ".join(capfd.readouterr().err.split())


def test_the_end_is_true_for_one_conversation_and_for_many(capfd: pytest.CaptureFixture[str]) -> None:
    """One is named, many are counted. What a provider did not report is not shown as zero."""
    totals = Totals(calls=3, reported=3, input=90, cost=9.0, full_cost=9.0)
    one = told_at_the_end(capfd, replace(totals, _before={"proxy-a": _Before()}))
    assert "the conversation is the session proxy-a" in one
    assert "conversations" not in one
    assert "calls" not in one.partition("reported by the provider")[2].partition("cost")[0]
    some = replace(totals, reported=1, _before={"proxy-a": _Before(), "proxy-b": _Before()})
    many = told_at_the_end(capfd, some)
    assert "conversations 2 " in many
    assert "90 tokens in (0 of them cached), 0 out, in 1 of 3 calls" in many
    assert "`sightline sessions` lists the conversations" in many
    silent = told_at_the_end(capfd, replace(totals, reported=0, input=0))
    assert "reported by the provider nothing: its answers do not say" in silent
    assert "0 tokens in" not in silent


def test_the_end_says_that_costs_are_even(capfd: pytest.CaptureFixture[str]) -> None:
    """Not that it is 0 % less or more, nor that nothing was shortened when something was."""
    for cost in (998.0, 1_000.0, 1_002.0):
        told = told_at_the_end(capfd, Totals(calls=3, sweeps=1, cost=cost, full_cost=1_000.0))
        assert f"{cost:,.0f}: about as much as sending everything (1,000)" in told


@pytest.mark.parametrize(
    ("totals", "agent", "said", "unsaid"),
    [
        (Totals(), "", "called no model here. If it should have: does it read ANTHROPIC_BASE_URL", "went through"),
        (Totals(), "", "say which: `sightline wrap --agent codex -- COMMAND`", "went through"),
        (Totals(), "claude", "the configuration of Claude Code may name another address", "OPENAI"),
        (Totals(), "pi", "`sightline setup pi`", "OPENAI"),
        (Totals(others=2), "", "called no model here. Other requests that went through: 2.", "BASE_URL"),
        (
            Totals(unlogged=2, unlogged_why="no room", others=1),
            "",
            "none of them is logged or shortened: no room",
            "BASE_URL",
        ),
        (Totals(failed=1, failure="no way", others=1), "claude", "no model answered: no way", "configuration"),
    ],
)
def test_the_end_without_a_call_says_what_there_was(
    totals: Totals, agent: str, said: str, unsaid: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """That no model was called; and of a known agent, nothing about providers that it never asks."""
    told = told_at_the_end(capfd, totals, agent)
    assert said in told
    assert unsaid not in told


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("source", ["user", "refusal", "server", "header", "name", "family"])
def test_the_end_says_whose_word_the_window_is(source: str, language: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A line for each model; a guess says that it is one."""
    windows = {name: ContextWindow(name, 262_144, source) for name in ("qwen3-a", "qwen3-b")}
    _print_totals(Place(".", None, Phrases(language)), Totals(calls=1, windows=windows))
    told = " ".join(capfd.readouterr().err.split())
    assert told.count("262,144") == 2
    assert "qwen3-a" in told
    assert ("a guess" in told or "推测" in told) is (source == "family")


@pytest.mark.parametrize(
    ("command", "at"),
    [
        (["codex", "exec", "x"], 1), (["npx", "-y", "@openai/codex@0.169.0", "exec"], 3),
        (["npx", "-p", "@openai/codex", "codex", "exec"], 4), (["env", "A=1", "codex"], 3), (["{link}", "exec"], 1),
        (["pnpm", "dlx", "@openai/codex"], 3), (["node", "{folder}/@openai/codex/bin/codex.js"], 2),
        (["timeout", "-k", "5", "60", "codex", "exec"], 5), (["nice", "codex"], 2), (["nice", "-n", "5", "codex"], 4),
        (["env", "-u", "X", "A=1", "codex"], 5), (["timeout", "60", "npx", "@openai/codex"], 4), (["timeout", "60"], 0),
        (["nohup", "env", "--ignore-environment", "codex"], 4), (["timeout", "60", "make", "codex"], 0),
        (["claude", "codex"], 0), (["npx", "other", "codex"], 0), (["env"], 0), (["bash", "-c", "codex"], 0),
    ],
)  # fmt: skip
def test_codex_gets_the_address_however_it_is_started(command: list[str], at: int, tmp_path: Path) -> None:
    """By its name, its package, a launcher, or a link under another name; nothing else is changed."""
    program = tmp_path / "@openai" / "codex" / "bin" / "codex.js"
    program.parent.mkdir(parents=True)
    program.touch()
    link = tmp_path / "cx"
    link.symlink_to(program)
    command = [word.format(link=link, folder=tmp_path) for word in command]
    for variables, login in (({}, "requires_openai_auth=true"), ({"OPENAI_API_KEY": "any"}, "env_key=")):
        made = with_address(command, "http://127.0.0.1:9", variables)
        added = [*made[at : len(made) - len(command) + at]]
        assert [*made[:at], *made[at + len(added) :]] == command
        assert len(added) == (4 if at else 0)
        if at:
            assert 'base_url="http://127.0.0.1:9/openai/v1"' in added[-1]
            assert login in added[-1]


@pytest.mark.parametrize(("command", "at"), [(["./work", "exec"], 1), (["strace", "-f", "codex", "exec"], 3)])
def test_an_agent_under_another_name_may_be_named(command: list[str], at: int) -> None:
    """Its arguments begin after its own program; without such a word, after the command's name."""
    assert with_address(command, "http://127.0.0.1:9", {}) == command
    made = with_address(command, "http://127.0.0.1:9", {}, "codex")
    assert (made[:at], made[at + 4 :]) == (command[:at], command[at:])
    assert 'base_url="http://127.0.0.1:9/openai/v1"' in made[at + 3]


@pytest.mark.parametrize(
    ("command", "settings", "is_told"),
    [
        (["gemini", "-p", "x"], None, True),
        (
            ["npx", "-y", "@google/gemini-cli@0.61.0"],
            '{"security": {"auth": {"selectedType": "oauth-personal"}}}',
            True,
        ),
        (["gemini"], "{}", True),
        (["gemini"], '{"security": {"auth": {"selectedType": "gemini-api-key"}}}', False),
        (["gemini"], "// with comments\n{}", True),
        (["gemini"], '{"security": {"auth": {"selectedType": "gemini-api-key"}}, // mine\n}', False),
        (["gemini"], "{ what is this", False),
        (["claude", "gemini"], None, False),
    ],
)
def test_gemini_cli_is_told_to_use_a_key(
    command: list[str], settings: str | None, is_told: bool, tmp_path: Path
) -> None:
    """With the login of an account, or none, it would ask Google itself; settings that cannot be read are its own."""
    path = tmp_path / ".gemini" / "settings.json"
    path.parent.mkdir()
    if settings is not None:
        path.write_text(settings)
    started = started_agent(command)
    told = missing_key(started.agent, {"HOME": str(tmp_path)}) if started else None
    assert told == (path if is_told else None)


def test_every_provider_has_an_address_of_its_own() -> None:
    """By the variables that their SDKs and agents read."""
    assert addresses("http://127.0.0.1:9") == {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/anthropic",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/openai/v1",
        "OPENAI_API_BASE": "http://127.0.0.1:9/openai/v1",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9/gemini",
    }


@pytest.mark.parametrize(
    ("variables", "upstream"),
    [
        ({}, "https://api.openai.com/v1"), ({"OPENAI_API_BASE": "http://b/v1"}, "http://b/v1"),
        ({"OPENAI_BASE_URL": "http://a/v1", "OPENAI_API_BASE": "http://b/v1"}, "http://a/v1"),
        ({"OPENAI_BASE_URL": "", "OPENAI_API_BASE": "http://b/v1"}, "http://b/v1"),
    ],
)  # fmt: skip
def test_every_variable_that_the_command_gets_says_where_its_requests_went(
    variables: dict[str, str], upstream: str
) -> None:
    """So a gateway that the user has named gets its key, and no other server."""
    assert usual_upstreams(variables)["openai"] == upstream
    for name, address in addresses("http://a").items():
        assert address in usual_upstreams({name: address}).values()


def test_the_project_chooses_the_economy_unless_the_command_line_does(tmp_path: Path) -> None:
    """As for the library and the chat; without a choice it is the default of all of them."""
    here = Place(str(tmp_path), None, Phrases("en"))
    assert _chosen_economy(here) == DEFAULT == Focus().economy == "safe"
    (tmp_path / "sightline.toml").write_text('strategy = "focus"\n[config]\neconomy = "thrifty"\n')
    assert _config(here, "127.0.0.1", ProxyOptions(None, None, (), ""), "").economy == "thrifty"
    assert _config(here, "127.0.0.1", ProxyOptions(None, "off", (), ""), "").economy == "off"
    (tmp_path / "sightline.toml").write_text('strategy = "focus"\n[config]\neconomy = "greedy"\n')
    with pytest.raises(BadInput, match=r"sightline\.toml.*greedy"):
        _chosen_economy(here)


@pytest.mark.parametrize("command", ["serve", "wrap"])
def test_the_help_says_what_each_economy_does(command: str, run: Callable[..., Result]) -> None:
    """In the same sentence everywhere; a wrong one is refused with the names of the three."""
    told = " ".join(run(command, "--help").stdout.split())
    for economy in ECONOMIES:
        assert f"{economy} {meaning(economy)}" in told
    refused = run(command, "--economy", "greedy", "--", "true")
    assert refused.exit_code == 2
    assert all(economy in refused.stderr for economy in ECONOMIES)


ASKING = """
import os, urllib.error, urllib.request
body = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello?"}]}'
headers = {"content-type": "application/json", "authorization": "Bearer any"}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError:
    pass
"""
STRANGER = """
import os, urllib.parse, urllib.request, urllib.error
own = os.environ["OPENAI_BASE_URL"]
parts = urllib.parse.urlsplit(own)
for address in (own, f"{parts.scheme}://{parts.netloc}/v1", f"{parts.scheme}://{parts.netloc}/api/sessions"):
    try:
        urllib.request.urlopen(address + ("/models" if "v1" in address else ""))
        print("open")
    except urllib.error.HTTPError as error:  # the upstream wants a key
        print("closed" if b"needs its token" in error.read() else "open")
"""


@pytest.mark.parametrize(("password", "other"), [("", "open"), ("me:secret@", "closed")])
def test_a_password_in_an_upstream_serves_the_command_alone(
    password: str, other: str, run: Callable[..., Result], capfd: pytest.CaptureFixture[str]
) -> None:
    """It would be sent with anybody's request: the command is told an address with a token, others get a 401.

    Without a password the paths of the proxy are open, as the key is the agent's; sessions are told to nobody.
    """
    with Upstream([]) as upstream:
        address = upstream.openai_url.replace("//", f"//{password}")
        done = run("wrap", "--upstream", f"openai={address}", "--", sys.executable, "-S", "-c", STRANGER)
    assert capfd.readouterr().out.split() == ["open", other, "closed"], done.stderr


def test_a_session_is_named_by_what_the_person_wrote(root: Path, run: Callable[..., Result]) -> None:
    """Not by the reminder that an agent puts before it."""
    blocks = [
        {"type": "text", "text": "<system-reminder>\nBe kind.\n</system-reminder>"},
        {"type": "text", "text": "Fix it."},
    ]
    with Session.new("/shop", root=root) as session:
        session.extend([{"role": "user", "content": blocks}])
    listed = run("sessions").stdout
    assert "Fix it." in listed
    assert "reminder" not in listed


def test_wrap_says_what_to_do_if_there_is_no_such_command(run: Callable[..., Result]) -> None:
    """Not a traceback."""
    wrong = run("wrap", "--", "no-such-agent")
    assert wrong.exit_code == 1
    assert "no command 'no-such-agent'" in wrong.stderr


def test_wrap_says_what_to_do_if_no_request_came(run: Callable[..., Result]) -> None:
    """Not a table of zeros."""
    quiet = run("wrap", "--", "true")
    assert quiet.exit_code == 0
    assert "called no model" in quiet.stderr
    assert "ANTHROPIC_BASE_URL" in quiet.stderr


@pytest.mark.slow
def test_serve_says_its_address_and_ends_cleanly(tmp_path: Path) -> None:
    """A client that is told the address gets its answer; a signal ends the server."""
    import openai

    with Upstream(Conversation()) as upstream:
        serving = subprocess.Popen(
            [*SIGHTLINE, "--root", "kept", "serve", "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            env=environment(tmp_path, OPENAI_BASE_URL=upstream.openai_url),
        )  # fmt: skip
        assert serving.stderr is not None
        try:
            address = re.search(r"http://[\d.]+:\d+", serving.stderr.readline())
            assert address
            with openai.OpenAI(api_key="any", base_url=f"{address[0]}/v1") as client:
                assert [model.id for model in client.models.list()]
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.communicate(timeout=30)
    assert serving.returncode in (0, -signal.SIGTERM)
    assert upstream.invalid == []


def test_serve_refuses_an_upstream_that_it_cannot_use(run: Callable[..., Result]) -> None:
    """The error shows how one is written."""
    done = run("serve", "--upstream", "ftp://x")
    assert done.exit_code == 1
    assert "openai=https://" in done.stderr


def test_serve_is_not_its_own_upstream(run: Callable[..., Result]) -> None:
    """It would ask itself for ever: a variable that was meant for the agent is named."""
    done = run("serve", "--port", "18999", env={"OPENAI_BASE_URL": "http://127.0.0.1:18999/v1"})
    assert done.exit_code == 1
    assert "is this server itself" in done.stderr


def test_wrap_says_that_no_model_answered(run: Callable[..., Result]) -> None:
    """If requests came and the upstream cannot be reached, the fault is not the agent's."""
    done = run("wrap", "--upstream", "openai=http://127.0.0.1:9/v1", "--", sys.executable, "-S", "-c", ASKING)
    assert "no model answered: the model's server cannot be reached" in done.stderr
    assert "BASE_URL" not in done.stderr


def test_serve_says_that_a_port_is_in_use(run: Callable[..., Result]) -> None:
    """And how to take another one, with the exit status of a mistake."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port))
    assert done.exit_code == 1
    assert f"port {port} is in use; --port 0 takes a free one" in done.stderr
