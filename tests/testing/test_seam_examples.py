"""The examples of the seams: each runs alone, and the loops run against a server on this machine."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from stub import Stub, answer, error

import sightline
from copied_process import COMPOSED, copier

IMPORTS = "import anthropic, openai, sightline, sightline.testing"
EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "strategy": ["messages of 40 were sent"],
    "shortener": ["with the example:", "orders_47"],
    "app": ["2 left", "2 steps left", "read the log"],
}
CALLS = [("call_1", "fahrenheit", {"celsius": 17}), ("call_2", "fahrenheit", {"kelvin": 1})]


def run(name: str, folder: Path, *words: str, **environment: str) -> str:
    """Run an example in a folder, with no network but this machine's, and return what it prints."""
    return finished(name, folder, *words, **environment).stdout


def finished(name: str, folder: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run an example in a folder and return its end, which was a good one."""
    package = Path(sightline.__file__).parents[1]
    here = {**os.environ, "PYTHONPATH": str(package), "PYTHONIOENCODING": "utf-8", "HOME": str(folder), **environment}
    done = copier(IMPORTS + COMPOSED).run([str(EXAMPLES / f"{name}.py"), *words], folder, here)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow("strategy")
@pytest.mark.parametrize("name", PRINTED)
def test_an_example_of_a_seam(name: str, tmp_path: Path) -> None:
    """It checks itself with the suite, and prints what it does."""
    output = run(name, tmp_path)
    assert all(part in output for part in PRINTED[name]), output


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_loop_on_an_sdk(provider: str, tmp_path: Path) -> None:
    """It streams, runs the tools, tells the model of a failed one, and ends with the answer; all is in the log."""
    script = [answer("Let me see.", CALLS), answer("It is 62.6 degrees.")]
    with Stub(script) as stub:
        keys = {f"{provider.upper()}_API_KEY": "sk-test", f"{provider.upper()}_BASE_URL": stub.url}
        keys["OPENAI_BASE_URL"] = f"{stub.url}/v1"
        output = run(
            f"{provider}_agent", tmp_path, "How", "warm?", MODEL="some-model", SIGHTLINE_HOME=str(tmp_path), **keys
        )
    assert output == "Let me see.\nIt is 62.6 degrees.\n"
    first, second = (asked.body for asked in stub.asked)
    assert first["stream"] is second["stream"] is True
    assert {tool.get("name") or tool["function"]["name"] for tool in first["tools"]} >= {"fahrenheit", "expand"}
    told = json.dumps(second["messages"])
    assert "62.6" in told
    assert "TypeError" in told
    (log,) = tmp_path.rglob("*.jsonl")
    assert "It is 62.6 degrees." in log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_loop_goes_on_where_it_stopped(provider: str, tmp_path: Path) -> None:
    """After an error of the provider the question is in the log, and the next run sends it again with the new one."""
    with Stub([error(400, body={"error": {"message": "bad"}}), answer("Here I am.")]) as stub:
        keys: dict[str, Any] = {f"{provider.upper()}_API_KEY": "sk-test", f"{provider.upper()}_BASE_URL": stub.url}
        keys |= {"OPENAI_BASE_URL": f"{stub.url}/v1", "MODEL": "some-model", "SIGHTLINE_HOME": str(tmp_path)}
        with pytest.raises(AssertionError, match="bad"):
            run(f"{provider}_agent", tmp_path, "first question", **keys)
        done = finished(f"{provider}_agent", tmp_path, "second question", **keys)
    [log] = tmp_path.rglob("*.jsonl")
    assert done.stdout == "Here I am.\n"
    assert f"[session {log.stem}, 1 items so far]" in done.stderr  # it says which session it goes on with
    assert "first question" in json.dumps(stub.asked[1].body)


@pytest.mark.slow
def test_async_loops(tmp_path: Path) -> None:
    """One runs its tools and streams; two run at the same time, each in a session of its own."""
    with Stub([answer("Let me see.", CALLS), *[answer("It is 62.6 degrees.")] * 3]) as stub:
        keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{stub.url}/v1", "MODEL": "some-model"}
        one = run("async_openai_agent", tmp_path, "How warm?", SIGHTLINE_HOME=str(tmp_path / "one"), **keys)
        two = run("async_openai_agent", tmp_path, "How warm?", "How?", SIGHTLINE_HOME=str(tmp_path / "two"), **keys)
    assert "[question-1] Let\n" in one
    assert one.endswith("It is 62.6 degrees.\n")
    told = json.dumps(stub.asked[1].body["messages"])
    assert "62.6" in told
    assert "TypeError" in told
    assert two.endswith("It is 62.6 degrees.\n" * 2)
    assert {"[question-1]", "[question-2]"} <= set(two.split())
    assert len([*(tmp_path / "two").rglob("*.jsonl")]) == 2
