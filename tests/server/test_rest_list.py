"""The list of sessions over all projects and sources through a real server, and imports with their progress."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_server import RestServer, converse

from sightline.log.stores.session_folder import Folder
from sightline.values.items import Usage
from sightline.view.costs import cost_of

CLAUDE = "claude-opus-5-5"


def lines(*questions: str) -> str:
    """A log of Claude Code."""
    made: list[dict[str, Any]] = []
    for number, question in enumerate(questions):
        same = {"sessionId": "abc", "cwd": "/w/shop", "timestamp": f"2026-11-01T10:0{number}:00.000Z"}
        usage = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 500}
        answer = {"id": f"m{number}", "role": "assistant", "model": CLAUDE, "usage": usage}
        answer["content"] = [{"type": "text", "text": "Yes."}]
        asked = {"role": "user", "content": question}
        made += [
            {"type": "user", "uuid": f"u{number}", "parentUuid": f"a{number - 1}", **same, "message": asked},
            {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}", **same, "message": answer},
        ]
    return "".join(json.dumps(line) + "\n" for line in made)


@pytest.fixture
def claude_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of Claude Code in the user's home."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    file = tmp_path / "claude" / "projects" / "-w-shop" / "abc.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(lines("Fix the cart"))
    return file


@pytest.fixture
def everywhere(project: Path, claude_file: Path) -> Iterator[RestServer]:
    """A server that lists all sessions of the user."""
    assert claude_file.exists()
    with RestServer(project, everywhere=True) as running:
        yield running


def finished(server: RestServer, begun: dict[str, Any]) -> Any:
    """What came of an import. Waits by the events of the server."""
    with server.client.stream("GET", "/api/events") as response:
        pieces = response.iter_lines()
        next(pieces)
        while (now := server.get(f"/api/imports/{begun['id']}"))["state"] == "running":
            next(line for line in pieces if line.startswith("data:") and begun["id"] in line)
    return now


def test_a_file_of_claude_code_becomes_a_session_that_can_be_looked_at(
    everywhere: RestServer, claude_file: Path
) -> None:
    """From the row of a file to its items and its cost; the file that grows goes on where it was."""
    server = everywhere
    [row] = server.get("/api/sessions?source=claude-code")["sessions"]
    assert (row["id"], row["state"], row["title"], row["ready"]) == ("", "file", "Fix the cart", False)
    done = finished(server, server.post("/api/imports", {"path": str(claude_file)}, 202))
    assert (done["state"], done["share"], done["error"]) == ("done", 1, "")
    [made] = done["sessions"]
    assert (made["state"], made["messages"], made["types"]) == ("new", 2, {"user": 1, "assistant": 1})
    [row] = server.get("/api/sessions?q=cart")["sessions"]
    assert (row["id"], row["project"], row["calls"]) == (made["id"], "/w/shop", 1)
    assert row["cost"] == pytest.approx((1000 * 4 + 500 * 0.4 + 100 * 20) / 1e6)
    items = server.get(f"/api/sessions/{made['id']}/items")["items"]
    assert [item["text"] for item in items] == ["Fix the cart", "Yes."]
    claude_file.write_text(lines("Fix the cart", "And its tests"))
    assert server.get(f"/api/sessions/{made['id']}")["facts"]["state"] == "grown"
    [grown] = finished(server, server.post("/api/imports", {"path": str(claude_file)}, 202))["sessions"]
    assert (grown["id"], grown["state"], grown["messages"]) == (made["id"], "grown", 2)
    assert server.get(f"/api/sessions/{made['id']}/items")["total"] == 4
    assert [each["name"] for each in server.get("/api/imports")["imports"]] == ["abc.jsonl", "abc.jsonl"]


def test_only_offered_files_are_imported_by_path(everywhere: RestServer, tmp_path: Path) -> None:
    """No path that the list does not show is read; an unknown import is not found."""
    (tmp_path / "secret.jsonl").write_text(lines("secret"))
    for path in (str(tmp_path / "secret.jsonl"), "/etc/passwd", "abc.jsonl", "\0"):
        assert everywhere.post("/api/imports", {"path": path}, 404)["error"]["type"] == "not_found"
    assert everywhere.get("/api/imports/im-none", 404)


@pytest.mark.slow
def test_a_dropped_file_is_imported_and_forgotten(server: RestServer, tmp_path: Path, project: Path) -> None:
    """Larger than other bodies may be; its session is listed, and not among those of the project."""
    many = lines(*(f"Question {number} {'x' * 1_000_000}" for number in range(3))).encode()
    assert len(many) > 1 << 20
    sent = server.client.post("/api/imports/upload?name=..%2F..%2Fabc.jsonl", content=many)
    assert sent.status_code == 202, sent.text
    done = finished(server, sent.json())
    assert (done["name"], done["state"], done["path"]) == ("abc.jsonl", "done", "")
    [made] = done["sessions"]
    assert server.get(f"/api/sessions/{made['id']}")["facts"]["turns"] == 3
    assert Folder(project).sessions() == ["talk"]
    assert not list(tmp_path.rglob("abc.jsonl"))


@pytest.mark.parametrize("name", ["", "..", "%00", "a" * 300])
def test_an_upload_needs_a_name_and_a_body(server: RestServer, name: str) -> None:
    """It is the client's fault if there is none."""
    for body in (b"", b"{}"):
        sent = server.client.post(f"/api/imports/upload?name={name}", content=body)
        assert sent.status_code == 400
    assert server.client.post("/api/imports/upload?name=a.jsonl", content=b"").status_code == 400


def test_what_is_no_conversation_fails_with_the_reason(server: RestServer) -> None:
    """The import says what was found."""
    sent = server.client.post("/api/imports/upload?name=a.txt", content=b"hello")
    done = finished(server, sent.json())
    assert (done["state"], done["sessions"]) == ("failed", [])
    assert "no JSON" in done["error"]


@pytest.mark.slow
def test_a_session_of_another_project_can_be_used(everywhere: RestServer, tmp_path: Path) -> None:
    """Its items, a pin, a fork and a preview, by the id of the list; events name it by that id."""
    other = tmp_path / "other"
    other.mkdir()
    converse(other, "there", turns=2)
    server = everywhere
    [row] = server.get(f"/api/sessions?project={other}")["sessions"]
    path = f"/api/sessions/{row['id']}"
    item = server.get(f"{path}/items?start=1&limit=1")["items"][0]["id"]
    with server.client.stream("GET", f"/api/events?session={row['id']}") as response:
        events = response.iter_lines()
        next(events)
        server.post(f"{path}/items/{item}/pin")
        assert f'"session":"{row["id"]}"' in next(line for line in events if line.startswith("data:"))
    assert server.post(f"{path}/fork", {"at": item, "name": "try"}, 201) == {"id": row["id"], "branch": "try"}
    assert server.post(f"{path}/preview?branch=main", {"window": 60_000})["tokens"] > 0
    assert server.get(f"{path}/verify")["good"]
    assert len(server.client.get(f"{path}/export").content.splitlines()) > 10
    assert server.get(path)["facts"]["pins"] == 1
    assert server.client.delete(path).status_code == 204
    assert server.get(path, 404)


def test_a_server_of_one_project_shows_no_other(server: RestServer, tmp_path: Path, claude_file: Path) -> None:
    """Neither in the list nor by an id."""
    other = tmp_path / "other"
    other.mkdir()
    converse(other, "there", turns=1)
    assert claude_file.exists()
    assert server.get("/api/sessions")["sources"] == {"sightline": 1}
    with RestServer(server.project, everywhere=True) as second:
        [row] = second.get(f"/api/sessions?project={other}")["sessions"]
    assert server.get(f"/api/sessions/{row['id']}", 404)


def test_the_server_says_what_it_can_do(server: RestServer) -> None:
    """What a page needs to offer choices."""
    told = server.get("/api/server")
    assert (told["model"], told["everywhere"], told["economies"]) == (None, False, ["off", "safe", "thrifty"])
    assert {"focus", "sliding"} <= set(told["strategies"])
    assert {"openai", "anthropic", "responses"} <= set(told["wires"])


def test_cost_is_known_only_if_every_price_is() -> None:
    """A part of a bill is no bill."""
    used = Usage(1_000_000, 0)
    assert cost_of({CLAUDE: used}) == pytest.approx(4)
    assert cost_of({CLAUDE: used, "gpt-unheard-of": used}) is None
    assert cost_of({}) is None


@pytest.mark.slow
def test_all_sessions_at_a_glance_are_the_sums_of_the_list(project: Path, server: RestServer) -> None:
    converse(project, "another")
    listed = server.get("/api/sessions")["sessions"]
    sums = server.get("/api/overview")
    assert sums["total"]["sessions"] == len(listed)
    assert sums["total"]["calls"] == sum(row["calls"] for row in listed)
    assert sums["total"]["saved"]["calls"] == sum(row["saved"]["calls"] for row in listed if row["saved"])
    assert server.get("/api/overview?since=2999-01-01")["total"]["sessions"] == 0
    assert server.client.get("/api/overview?since=yesterday").status_code == 400
