"""What is published: wheel and source archive, installed into bare environments, do what the README says first."""

import email
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import sightline

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
FIRST = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[0]
PAGE = "sightline/inspector/pages/index.html"
# What the README's first example takes for granted: tools, a function that runs them, and an SDK's client.
GIVEN = """
from types import SimpleNamespace as Names
from sightline.testing import calling
definitions, run = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}], print
create = lambda **request: calling(("read_file", {"path": "a.py"}))
client = Names(chat=Names(completions=Names(create=create)))
"""
AGENT = """
import asyncio, sightline as sl
from sightline.agent import Agent
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.openai import OpenAiModel
from sightline.testing import ScriptedModel
for model in (ScriptedModel(["Hi"]), OpenAiModel(Endpoint("m", base_url="http://127.0.0.1:9/v1"))):
    answer = asyncio.run(Agent(sl.Session(sl.MemoryStore()), model).query("Hello"))
    print(answer.text or answer.error)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, built as `make dist` does."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def environment(folder: Path, *packages: str) -> Path:
    """A bare environment with these packages, at the versions that the tests use; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "-c", str(ROOT / "constraints.txt"), *packages], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return python.parent


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment in an empty folder."""
    home = {"HOME": str(folder), "SIGHTLINE_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_archives_hold_what_is_needed_and_no_data(built: Path) -> None:
    """The wheel has the typed package with its samples; the other what builds and tests it; neither has caches."""
    [wheel], [source] = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith("METADATA")]
        told = email.message_from_bytes(archive.read(metadata))
    assert {"sightline/py.typed", "sightline/samples/login_bug.json", "sightline/texts/engine.json", PAGE} <= set(names)
    assert {name.split("/")[0] for name in names} == {"sightline", metadata.split("/")[0]}
    assert (told["Name"], told["Version"]) == ("sightline-context", sightline.__version__)
    assert told["Requires-Python"] == ">=3.11"
    assert told["License-Expression"] == "Apache-2.0"
    assert set(told.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    assert told.get_payload().startswith("# Sightline")
    with tarfile.open(source) as archive:
        held = {Path(member.name).relative_to(source.name.removesuffix(".tar.gz")): member for member in archive}
    tops = {path.parts[0] for path in held if path.parts}
    assert {
        "src",
        "tests",
        "examples",
        "docs",
        "tools",
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "SECURITY.md",
    } <= tops
    assert not tops & {".venv", ".cache", ".ci", "dist", "site", "shared"}
    assert Path("src", PAGE) in held
    assert not [path for path in held if "node_modules" in path.parts]
    assert max(member.size for path, member in held.items() if "pages" not in path.parts) < 300_000


def test_the_install_page_names_every_extra() -> None:
    """The table says what each adds, and nothing that there is not; the README installs from a copy."""
    listed = set(re.findall(r"^\| `([\w-]+)` \|", INSTALL, re.MULTILINE))
    assert listed == set(PROJECT["optional-dependencies"]) - {"dev", "docs"}
    assert README.split("\n## ")[1].split("$ ")[1].startswith("pip install '.[chat]'")


@pytest.mark.slow
def test_the_core_is_enough_for_the_first_example(built: Path, tmp_path: Path) -> None:
    """From the wheel, alone: it imports without a warning and runs; what needs an extra says which."""
    [wheel] = built.glob("*.whl")
    programs = environment(tmp_path / "core", str(wheel))
    python, script = str(programs / "python"), tmp_path / "first.py"
    loaded = run(tmp_path, python, "-W", "error", "-c", "import sightline; print(sightline.__version__)")
    assert loaded.stdout.strip() == wheel.name.split("-")[1], loaded.stderr
    script.write_text(GIVEN + FIRST, encoding="utf-8")
    first = run(tmp_path, python, "-W", "error", str(script))
    assert first.returncode == 0, first.stderr
    assert "Why does the login test fail?" in first.stdout or "user" in first.stdout
    for command in ([str(programs / "sightline"), "--help"], [python, "-m", "sightline", "--help"]):
        refused = run(tmp_path, *command)
        assert refused.returncode == 1
        assert "pip install 'sightline-context[cli]'" in refused.stderr
        assert "Traceback" not in refused.stderr
    agent = run(tmp_path, python, "-c", AGENT)
    assert agent.stdout.startswith("Hi"), agent.stderr  # the loop needs nothing, only a model over HTTP does
    assert "pip install 'sightline-context[agent]'" in agent.stdout + agent.stderr
    # What these errors advise adds to the one that is there; no index is asked for it.
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--dry-run"]
    added = run(tmp_path, *pip, "sightline-context[agent]")
    assert added.returncode == 0, added.stderr
    assert "already satisfied: sightline-context[agent]" in added.stdout


@pytest.mark.slow
def test_an_installed_wheel_has_the_inspector(built: Path, tmp_path: Path) -> None:
    """The pages are inside, so a machine without Node shows them."""
    [wheel] = built.glob("*.whl")
    programs = environment(tmp_path / "inspector", f"{wheel}[cli,server]")
    read = "from sightline.inspector.pages import read_pages; print(*sorted(read_pages()))"
    shown = run(tmp_path, str(programs / "python"), "-c", read)
    assert "index.html" in shown.stdout, shown.stderr
    assert ".js" in shown.stdout
    assert "FILES" in run(tmp_path, str(programs / "sightline"), "inspect", "--help").stdout


@pytest.mark.soak
def test_the_chat_from_the_source_archive(built: Path, tmp_path: Path) -> None:
    """With the extra `chat`, then the README's first commands; the version is the archive's."""
    [source] = built.glob("*.tar.gz")
    programs = environment(tmp_path / "chat", f"{source}[chat]")
    program = str(programs / "sightline")
    version = run(tmp_path, program, "--version")
    assert source.name.removesuffix(".tar.gz").split("-")[1] in version.stdout
    assert "replay" in run(tmp_path, program, "--help").stdout
    replayed = run(tmp_path, program, "replay", "--sample", "--json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)
    assert run(tmp_path, program, "replay", "--sample").returncode == 0
    chat = run(tmp_path, program, "chat", "-p", "Hello")
    assert chat.returncode != 0
    assert "Traceback" not in chat.stderr
