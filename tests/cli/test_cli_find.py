"""`sightline find`: what was said in any session is found, in few words, and what it says to type opens it."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sightline import Session
from sightline.cli.main import app
from sightline.log.stores.session_folder import Folder
from sightline.testing import reply_of
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import SessionSearch

Find = Callable[..., Result]


def lines(*texts: str, name: str, cwd: str, day: int) -> list[dict[str, Any]]:
    """A log of Claude Code: the user asks, the model calls Bash, which fails, and answers."""
    call = [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "cat src/auth/cookie.py"}}]
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": texts[1], "is_error": True}]
    said = [("user", texts[0]), ("assistant", call), ("user", result), ("assistant", texts[2])]
    return [
        {"type": role, "uuid": f"{name}{at}", "parentUuid": f"{name}{at - 1}" if at else None, "sessionId": name,
         "cwd": cwd, "timestamp": f"2026-11-0{day}T10:0{at}:00.000Z",
         "message": {"role": role, "id": f"m{at}", "model": "claude-x", "content": content}}
        for at, (role, content) in enumerate(said)
    ]  # fmt: skip


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """Runs `sightline … find …` in a home with a session of this project, one of another, and a log of Claude Code."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    for project, said in (
        ("shop", "The badger refuses the refresh token."),
        ("other", "Token: refresh the \x1b[31m lynx."),
    ):
        (tmp_path / project).mkdir()
        with Session.new(tmp_path / project, session_id=project) as session:
            session.user(said)
            session.reply(reply_of("Noted."))
    log = tmp_path / "claude" / "projects" / "x" / "s1.jsonl"
    log.parent.mkdir(parents=True)
    recorded = lines("Where is the ocelot?", "No such file: ocelot", "It is gone.", name="s1", cwd="/w/zoo", day=3)
    log.write_text("".join(json.dumps(line) + "\n" for line in recorded))
    monkeypatch.chdir(tmp_path / "shop")
    return lambda *args: CliRunner().invoke(app, [*args[:-1], *shlex.split(args[-1])])


def sessions(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout)["sessions"])


def test_a_match_says_where_it_is_and_how_to_open_it(find: Find, tmp_path: Path) -> None:
    """What was said just now too. The command that it names shows the message; the page has an address for it."""
    for words, project in (("badger", ""), ("lynx", f"--project {tmp_path / 'other'} ")):
        [found] = sessions(find(f"find {words} --json"))
        [hit] = found["hits"]
        assert (hit["kind"], hit["failed"], hit["page"]) == ("user", False, f"{found['page']}/{hit['id']}")
        assert (
            hit["open"] == f"sightline {project}sessions show {found['session'].partition('@')[0]} --item {hit['id']}"
        )
        shown = find(hit["open"].removeprefix("sightline "))
        assert words in shown.stdout
        told = find(f"find {words}")
        assert all(
            text in " ".join(told.stdout.split()) for text in (found["day"], f"#{hit['id']}", words, hit["open"])
        )
        assert "\x1b[31m" not in told.stdout


def test_a_log_that_was_not_imported_is_found(find: Find, tmp_path: Path) -> None:
    """It says how to import it; then it is found once, as a session."""
    [found] = sessions(find('find "where is the ocelot" --json'))
    assert (found["source"], found["project"], found["day"], found["page"]) == (
        "claude-code",
        "/w/zoo",
        "2026-11-03",
        "",
    )
    assert found["open"] == f"sightline import {tmp_path / 'claude' / 'projects' / 'x' / 's1.jsonl'}"
    assert find(found["open"].removeprefix("sightline ")).exit_code == 0
    [again] = sessions(find('find "where is the ocelot" --json'))
    assert again["session"] == "claude-s1"
    assert "Where is the ocelot?" in find(again["hits"][0]["open"].removeprefix("sightline ")).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("refresh token", {"shop", "other"}),
        ('"refresh token"', {"shop"}),
        ("""'say "refresh token" badger'""", {"shop"}),
        ("ocelot --errors", {"/w/zoo"}),
        ("badger --errors", set()),
        ("--tool bash", {"/w/zoo"}),
        ("--tool Read", set()),
        ("--path src/auth", {"/w/zoo"}),
        ("ocelot --path src/login", set()),
        ("ocelot --since 2026-11-03 --until 2026-11-03", {"/w/zoo"}),
        ("ocelot --since 2026-11-04", set()),
        ("ocelot --until 2026-11-02", set()),
    ],
)  # fmt: skip
def test_what_is_asked_for_narrows_the_matches(find: Find, words: str, expected: set[str]) -> None:
    """Phrases, a path, a tool, days, and errors only."""
    assert {Path(found["project"]).name if found["project"] != "/w/zoo" else "/w/zoo"
            for found in sessions(find(f"find {words} --json"))} == expected  # fmt: skip


def test_only_one_project_is_searched_if_it_is_named(find: Find, tmp_path: Path) -> None:
    """Else all are."""
    assert len(sessions(find("find token --json"))) == 2
    [found] = sessions(find("--project", str(tmp_path / "other"), "find token --json"))
    assert (found["session"], found["open"]) == (
        "other",
        f"sightline --project {tmp_path / 'other'} sessions show other",
    )


def test_a_rare_kind_of_match_is_found_among_many(find: Find, tmp_path: Path) -> None:
    """Not only among the best by their words."""
    log = tmp_path / "claude" / "projects" / "x" / "s2.jsonl"
    talk = [text for number in range(200) for text in (f"The gazelle, the gazelle {number}", "Yes.")]
    recorded = lines("Look", "gazelle: permission denied, and much else besides", "No.", name="s2", cwd="/w/zoo", day=1)
    for at, text in enumerate(talk, start=4):
        role = ("user", "assistant")[at % 2]
        recorded.append(recorded[0] | {"type": role, "uuid": f"s2{at}", "parentUuid": f"s2{at - 1}",
                                       "message": {"role": role, "id": f"m{at}", "content": text}})  # fmt: skip
    log.write_text("".join(json.dumps(line) + "\n" for line in recorded))
    [found] = sessions(find("find gazelle --errors --json"))
    assert [(hit["kind"], hit["failed"]) for hit in found["hits"]] == [("tool", True)]


def test_the_index_is_the_one_of_the_mcp_server(find: Find, tmp_path: Path) -> None:
    """What `find` has read is searchable there, and is not read again."""
    find("find badger")
    search = SessionSearch(SessionCatalog(Places(tmp_path / "shop", everywhere=True)))
    assert search.extend(0) == 0
    assert len(search.documents()) == 3


def test_nothing_to_look_for_is_refused_and_nothing_found_is_told(find: Find) -> None:
    """In both languages."""
    assert find("find --errors").exit_code == 2
    assert find("find giraffe").stdout == "Nothing matches. Try other words.\n"
    assert "try the words without" in find("find 'giraffe token'").stdout
    assert "没有匹配" in find("--lang", "zh", "find giraffe").stdout
    assert Folder("..").sessions() == []
