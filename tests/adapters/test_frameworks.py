"""Frameworks that have an environment of their own: what their adapters promise, their own tests, guides and costs."""

import json
import re
import subprocess
import sys
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, make_environment, run_in
from stub import Stub, answer

from docs_page import blocks

pytestmark = pytest.mark.soak

SAID = [
    {"functionCall": {"name": "port_of", "args": {"service": "web"}}},
    {"text": "It listens on 8080."},
    {"text": "As I said: 8080."},
]
PORT = [answer("", [("c1", "port_of", {"service": "web"})]), answer("It listens on 8080.")]


@dataclass
class Told:
    """A request as it came."""

    body: Any


class Gemini:
    """A server that speaks `generateContent`, and says one part for each request."""

    def __init__(self, script: list[Any]) -> None:
        self.asked: list[Told] = []
        asked, parts = self.asked, iter(script)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(Told(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                candidate = {"content": {"role": "model", "parts": [next(parts)]}, "finishReason": "STOP"}
                body = json.dumps({"candidates": [candidate]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Gemini":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class Framework:
    """A framework: what is installed for it, and which of its own tests are run against ours."""

    name: str  # of the checks, the plug-in, the guide and the costs
    package: str
    newest: list[str]
    oldest: list[str]
    tests: list[str]  # of the source archive
    tests_need: list[str]
    except_for: list[str] = field(default_factory=list)  # tests of what the framework's own class does otherwise
    needs: list[str] = field(default_factory=list)  # of the guide's example


FRAMEWORKS = [
    Framework(
        "strands",
        "strands-agents",
        ["strands-agents<2"],
        ["strands-agents==1.62.0"],
        ["tests/strands/agent/test_agent.py"],
        ["pytest-asyncio", "moto", "boto3"],
        [
            # What exactly a sliding window cuts, and a stored state of a sliding window.
            "test_agent__call__retry_with_reduced_context",
            "test_agent__call__retry_with_overwritten_tool",
            "test_agent_restored_from_session_management",
            "test_baggage_attributes_stamped_on_agent_span",  # needs a package that Strands does not
        ],
        ["openai"],
    ),
    # Its source archive has no tests.
    Framework("google_adk", "google-adk", ["google-adk<3"], ["google-adk==2.13.0"], [], []),
]
each_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda each: each.name)
with_tests = pytest.mark.parametrize(
    "framework", [each for each in FRAMEWORKS if each.tests], ids=lambda each: each.name
)


def check(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def newest(framework: Framework, factory: pytest.TempPathFactory) -> Path:
    return make_environment(factory, framework.name, ["pytest", *framework.newest, *framework.needs])


@each_framework
@pytest.mark.parametrize("version", ["newest", "oldest"])
def test_an_adapter_keeps_its_promises(
    framework: Framework, version: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Budget, validity, nothing lost, resume, overflow, contents: with the newest version and the oldest."""
    if version == "newest":
        python = newest(framework, tmp_path_factory)
    else:
        python = make_environment(tmp_path_factory, f"{framework.name}-oldest", ["pytest", *framework.oldest])
    file = ROOT / "tests/adapters/frameworks" / f"{framework.name}_checks.py"
    command = ["-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    assert re.search(r"\d+ passed", check(run_in(python, *command, str(file), folder=tmp_path)))


@with_tests
def test_the_frameworks_own_tests_pass_with_ours(
    framework: Framework, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """From its source archive, in the version that is installed; ours stands in the place of its default."""
    requirements = ["pytest", *framework.newest, *framework.needs, *framework.tests_need]
    python = make_environment(tmp_path_factory, f"{framework.name}-tests", requirements)
    show = f"import importlib.metadata as m; print(m.version({framework.package!r}))"
    version = check(run_in(python, "-c", show, folder=tmp_path)).strip()
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", str(tmp_path)]
    subprocess.run([*pip, f"{framework.package}=={version}"], check=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    [source] = [path for path in tmp_path.iterdir() if path.is_dir() and path.name.endswith(version)]
    left_out = ["-k", " and ".join(f"not {name}" for name in framework.except_for)] if framework.except_for else []
    plugin = ROOT / "tests/adapters/frameworks"
    command = [
        "-m",
        "pytest",
        "-q",
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
        "-p",
        f"{framework.name}_plugin",
        *left_out,
    ]
    run = f"import sys, pytest; sys.path.insert(0, {str(plugin)!r}); sys.exit(pytest.main(sys.argv[1:]))"
    done = run_in(python, "-c", run, *command[2:], *framework.tests, folder=source)
    print(check(done).splitlines()[-1])


@each_framework
def test_its_guide_is_a_whole_program(
    framework: Framework, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Saved under the name and run with the command that the page says, it answers, and its second run goes on."""
    page = ROOT / "docs/guides" / f"{framework.name.replace('_', '-')}.md"
    text = page.read_text(encoding="utf-8")
    [name], [(_, code)] = re.findall(r"Save it as `(\w+\.py)`", text), blocks(page)
    (tmp_path / name).write_text(code, encoding="utf-8")
    [words] = re.findall(rf'python {name} "([^"]+)"', text)
    python = newest(framework, tmp_path_factory)
    with Gemini(SAID) if framework.name == "google_adk" else Stub([*PORT, answer("As I said: 8080.")]) as stub:
        keys = (
            f"OPENAI_API_KEY=sk-test OPENAI_BASE_URL={stub.url}/v1 GOOGLE_API_KEY=any GOOGLE_GEMINI_BASE_URL={stub.url}"
        )
        start = f"import os, runpy, sys; os.environ.update(p.split('=', 1) for p in {keys.split()!r}); "
        start += f"sys.argv = [{name!r}, {words!r}]; runpy.run_path({name!r}, run_name='__main__')"
        assert "on 8080." in check(run_in(python, "-c", start, folder=tmp_path))
        assert "As I said" in check(run_in(python, "-c", start, folder=tmp_path))
    assert "8080" in str(stub.asked[1].body)
    assert "It listens on 8080." in str(stub.asked[2].body)


@each_framework
def test_what_it_costs_is_less_than_the_frameworks_own_ways(
    framework: Framework, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """On the same run: no request over the budget, more of each request reused, the lowest cost of those that fit."""
    python = newest(framework, tmp_path_factory)
    command = [str(ROOT / "tools/framework_costs.py"), framework.name]
    printed = check(run_in(python, *command, folder=tmp_path))
    print(printed)
    found = re.findall(r"(\S.*?) +(\d+) of \d+ +([\d,]+) +(\d+)% +(\d+) +([\d,]+)\n", printed)
    rows = {name: (int(over), int(reused), int(cost.replace(",", ""))) for name, over, _, reused, _, cost in found}
    ours = next(row for name, row in rows.items() if "Sightline" in name)
    others = [row for name, row in rows.items() if "Sightline" not in name]
    assert ours[0] == 0
    assert all(ours[2] < cost for over, _, cost in others if not over)
    assert all(ours[1] > reused for over, reused, _ in others if not over)
