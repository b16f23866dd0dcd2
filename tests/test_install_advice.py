"""What pages, programs and errors say about installing: never the name that belongs to somebody else's package."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import sightline

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = "sightline-context"
PLACES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "hatch_build.py",
          ".github", "benchmarks", "deploy", "docs", "examples", "inspector/src", "src", "tools")  # fmt: skip
SUFFIXES = {".md", ".py", ".toml", ".txt", ".json", ".yaml", ".yml", ".ts", ".tsx", ".sh", ".service", ""}
INSTALL = re.compile(
    r"\b(?:(?:pip[3x]?|uv(?: pip| tool)?|poetry|pdm|conda) +(?:install|add|run|download)|uvx)\b(?P<what>[^`\n]*)"
)
NAMED = re.compile(r"""[^\s'"()<>（）]*sightline[^\s'"()<>（）]*""")
EXTRA_OF_A_STRANGER = re.compile(r"(?<![\w/.-])sightline *(?:\[[a-z{]|[=~>]=|@ )")
EXTRAS = r"\[[\w{},-]+\]"
WHEEL = rf"(?:[\w./-]*/)?sightline_context-{re.escape(sightline.__version__)}-py3-none-any\.whl(?:{EXTRAS})?"
TO_AN_INSTALLED_ONE = NAME + EXTRAS  # pip takes the one that is there
ADDS_EXTRAS = ("src/", "docs/install.md")  # where Sightline is installed already


def wrong_advice(path: str, text: str) -> Iterator[str]:
    """Each line that tells to install something else than a copy of the repository, a wheel, or an extra of ours."""
    allowed = re.compile(f"{WHEEL}|{TO_AN_INSTALLED_ONE}" if path.startswith(ADDS_EXTRAS) else WHEEL)
    naming = ((number, line) for number, line in enumerate(text.splitlines(), 1) if "sightline" in line)
    for number, line in naming:
        advised = (name for found in INSTALL.finditer(line) for name in NAMED.findall(found["what"].split("  #")[0]))
        if EXTRA_OF_A_STRANGER.search(line) or not all(allowed.fullmatch(name.rstrip(".,;:")) for name in advised):
            yield f"{path}:{number}: {line.strip()}"


def read_places() -> Iterator[tuple[str, str]]:
    """Every text that a user may read, with its path."""
    for place in map(ROOT.joinpath, PLACES):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and file.suffix in SUFFIXES and "pages" not in file.parts:
                yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")


def test_nothing_advises_a_strangers_package() -> None:
    """Until it is published, Sightline comes from a copy of the repository or a wheel; extras have our name."""
    assert [line for path, text in read_places() for line in wrong_advice(path, text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install sightline",
        "You need `pip install sightline openai` and a key.",
        "$ pip install -U 'sightline[chat]'    # the chat",
        "uv add sightline",
        "uv tool install sightline",
        "uvx sightline chat",
        "pipx install sightline-context",
        "pip install 'sightline-context[cli]'",
        "pip install 'sightline_context-0.0.9-py3-none-any.whl[cli]'",
        "it needs sightline[local]",
        "sightline==0.1.0",
    ],
)
def test_other_advice_is_found(line: str) -> None:
    """On a page, with its file and line."""
    assert list(wrong_advice("docs/page.md", f"# Page\n{line}\n")) == [f"docs/page.md:2: {line}"]


@pytest.mark.parametrize(
    "line",
    [
        "pip install '.[cli,server]'   # sightline from a copy of the repository",
        f"pip install 'dist/sightline_context-{sightline.__version__}-py3-none-any.whl[chat]'",
        "`pip install openai`, then `sightline chat`",
        '/opt/sightline/bin/pip install "${wheel}[server]"',
    ],
)
def test_right_advice_is_not(line: str) -> None:
    """A copy of the repository, a wheel of this version, and other packages."""
    assert list(wrong_advice("docs/page.md", line)) == []
    assert list(wrong_advice("src/sightline/errors.py", "needs click: pip install 'sightline-context[cli]'")) == []


def test_the_extras_name_each_other_by_our_name() -> None:
    """`all` and `chat` bring other extras of this distribution, not of somebody else's."""
    needs = [need for extra in PROJECT["optional-dependencies"].values() for need in extra]
    ours = [need for need in [*PROJECT["dependencies"], *needs] if need.startswith("sightline")]
    assert len(ours) >= 2
    assert {re.split(r"\[", need)[0] for need in ours} == {PROJECT["name"]} == {NAME}
    assert "sightline" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_the_workflow_needs_nothing_that_others_lack() -> None:
    """It runs targets of the Makefile, has no secrets, and tests the Python versions that are claimed."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["test"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[-3:] == ["make browser", "make test", "make slow"]
    assert "secrets" not in text
    versions = [step["with"]["python-version"] for step in steps if "python-version" in step.get("with", {})]
    claimed = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: Python :: " in line]
    assert claimed == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
