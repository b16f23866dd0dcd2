"""The pages say what is true: every Python example of every page runs, and the guides' programs do what they say."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from stub import Stub, answer

import docs_page
from copied_process import COMPOSED, copier
from docs_page import ROOT, blocks, outputs
from postgres_server import running

DOCS = ROOT / "docs"
FRAMEWORKS = (
    "import sightline, agents, anthropic, langchain.agents, langchain_openai, langgraph.graph, openai, pydantic_ai"
)
ELSEWHERE = {
    "google-adk.md",
    "litellm.md",
    "strands.md",
    "frameworks.md",
}  # their frameworks have environments of their own: tests/adapters/test_frameworks.py, test_plain_frameworks.py
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if blocks(page) and page.name not in ELSEWHERE]
CLAUDE_LOG: list[dict[str, object]] = [
    {"type": "user", "uuid": "a", "parentUuid": None, "message": {"role": "user", "content": "Why is it red?"}},
    {
        "type": "assistant", "uuid": "b", "parentUuid": "a",
        "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "The port is taken."}]},
    },
]  # fmt: skip
COMPACTED_LOG: list[dict[str, object]] = [
    *CLAUDE_LOG,
    {
        "type": "user", "uuid": "c", "parentUuid": "b",
        "message": {"role": "user", "content": "Never stop the database."},
    },
    {"type": "system", "subtype": "compact_boundary", "uuid": "d", "parentUuid": None, "logicalParentUuid": "c"},
    {
        "type": "user", "uuid": "e", "parentUuid": "d", "isCompactSummary": True,
        "message": {"role": "user", "content": "The port of the shop is taken."},
    },
    {"type": "user", "uuid": "f", "parentUuid": "e", "message": {"role": "user", "content": "By which program?"}},
]  # fmt: skip


def _lines(rows: list[dict[str, object]]) -> str:
    """A log of Claude Code with these rows."""
    return "".join(json.dumps({"sessionId": "s1", "isSidechain": False, **row}) + "\n" for row in rows)


# What a page takes for granted, because another page or the text before it has shown it.
GIVEN = {
    "cookbook.md": f"open('claude.jsonl', 'w').write({_lines(COMPACTED_LOG)!r})",
    "cli.md": 'import io, sys; sys.stdin = io.StringIO(\'{"messages": [{"role": "user", "content": "Hi"}]}\')',
    "session.md": (
        "import sightline as sl; session = sl.Session(sl.MemoryStore())\n"
        "for number in range(420): session.user(f'The port number of service {number} is {8000 + number}.')\n"
        "session.compose(sl.Budget(128_000)); ask = lambda payload: 'Services, 8000 and up.'\n"
        "messages = [{'role': 'user', 'content': 'hello'}]"
    ),
}
SAID = "The harbour was calm, and two boats came in on most days. " * 8  # long enough for a summary
WARM = [answer("", [("c1", "fahrenheit", {"celsius": 17})]), answer("It is 62.6 degrees.")]
PORT = [answer("", [("c1", "port_of", {"service": "web"})]), answer("It listens on 8080.")]


def environment(folder: Path, server: str) -> dict[str, str]:
    """No network but this machine's, no session but those in this folder, and nothing but what is installed."""
    return {
        **os.environ, "HOME": str(folder), "SIGHTLINE_HOME": str(folder / "home"), "PYTHONIOENCODING": "utf-8",
        "GPU_KEY": "sk-test", "OPENAI_API_KEY": "sk-test", "MODEL": "some-model",
        "ANTHROPIC_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server}/v1", "ANTHROPIC_BASE_URL": server,
    }  # fmt: skip


def run(folder: Path, server: str, *command: str) -> str:
    """What a program prints in this folder; it must succeed."""
    done = copier(FRAMEWORKS + COMPOSED).run([*command], folder, environment(folder, server))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow("agent.md", "cookbook.md", "reference/testing.md", "strategies.md", "tutorial.md")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """Each by itself, in a folder that has only what the page says to save; what the reference prints is printed."""
    with Stub([answer(SAID)] * 4) as stub:
        run(tmp_path, stub.url, str(ROOT / "tests" / "docs_page.py"), str(page), _given(page.name))


def _given(page: str) -> str:
    """What a page takes for granted; those with PostgreSQL, a server of it."""
    if page not in ("cookbook.md", "postgres.md"):
        return GIVEN.get(page, "")
    variables = {"PGHOST": str(running().folder), "PGUSER": "tests", "PGDATABASE": "postgres"}
    return f"import os; os.environ.update({variables!r}); {GIVEN.get(page, '')}"


def test_a_recipe_is_short() -> None:
    """The cookbook has twelve, of at most fifteen lines of code each; all that print something say what."""
    page = DOCS / "cookbook.md"
    recipes = blocks(page)
    assert len(recipes) == page.read_text(encoding="utf-8").count("\n## ") == 12
    for _, code in recipes:
        assert len([line for line in code.splitlines() if line]) <= 15, code
    assert set(outputs(page)) == {code for _, code in recipes if "print(" in code}


@pytest.mark.parametrize(("promised", "failures"), [("1 2", 0), ("1 ...", 0), ("2 1", 1)])
def test_what_a_program_prints_is_compared(
    promised: str, failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the text right below it, in which an ellipsis stands for anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    page = tmp_path / "page.md"
    page.write_text(f"```python\nprint(1, 2)\n```\n\n```text\n{promised}\n```\n", encoding="utf-8")
    assert docs_page.main(str(page)) == failures


def test_pages_without_need_are_given_nothing() -> None:
    """Every page that is given names exists and has examples."""
    assert set(GIVEN) <= {page.name for page in PAGES}


@pytest.mark.slow("mcp-script10-> The port is taken.", "strategy-script8-messages of 40 were sent")
@pytest.mark.parametrize(
    ("guide", "script", "printed"),
    [
        ("openai", WARM, "62.6 degrees"),
        ("anthropic", WARM, "62.6 degrees"),
        ("langgraph", PORT, "on 8080."),
        ("langgraph#2", PORT, "on 8080."),
        ("openai-agents", PORT, "on 8080."),
        ("pydantic-ai", PORT, "on 8080."),
        ("wrap", WARM, "62.6 degrees"),
        ("app", [], "2 steps left"),
        ("strategy", [], "messages of 40 were sent"),
        ("import", [], "2 items;"),
        ("mcp", [], "> The port is taken."),
    ],
)  # fmt: skip
def test_a_guide_is_a_whole_program(guide: str, script: list[object], printed: str, tmp_path: Path) -> None:
    """Saved under the name and run with the command that the page says, it prints what it promises."""
    guide, _, number = guide.partition("#")  # a guide may have several programs
    page = DOCS / "guides" / f"{guide}.md"
    text = page.read_text(encoding="utf-8")
    names, programs = re.findall(r"Save it as `(\w+\.py)`", text), blocks(page)
    assert len(names) == len(programs)
    name, (_, code) = names[int(number or 1) - 1], programs[int(number or 1) - 1]
    (tmp_path / name).write_text(code, encoding="utf-8")
    log = tmp_path / ".claude" / "projects" / "log" / "s1.jsonl"  # where Claude Code has its own
    log.parent.mkdir(parents=True)
    log.write_text(_lines(CLAUDE_LOG))
    said = re.findall(rf'python {name} (?:"([^"]+)"|(\S+))', text)
    words = [] if not said else [said[0][0] or str(log.parent)]
    with Stub(script) as stub:  # type: ignore[arg-type]
        assert printed in run(tmp_path, stub.url, name, *words)
    assert len(stub.asked) == len(script)
    if script:
        assert re.search(r"62\.6|8080", json.dumps(stub.asked[1].body))
