"""Which sessions are marked as live: those that somebody writes to now, and no others."""

import json
import os
import time
from pathlib import Path
from typing import Any

from rest_server import RestServer, converse

from sightline import Session


def line(number: int, **more: Any) -> str:
    """A message as Claude Code logs it."""
    before = f"u{number - 1}" if number else None
    said = {"role": "user", "content": f"Question {number}"}
    head = {"type": "user", "uuid": f"u{number}", "parentUuid": before, "sessionId": "s1", "cwd": "/w", "message": said}
    return json.dumps(head | {"version": "2.0.1", "timestamp": "2026-01-01T10:00:00.000Z"} | more) + "\n"


def live(server: RestServer) -> dict[str, bool]:
    """Whether each listed session is live, by its title."""
    return {row["title"]: row["live"] for row in server.get("/api/sessions")["sessions"]}


def test_only_what_is_written_since_the_server_runs_is_live(project: Path) -> None:
    """Samples that were made a moment before are not, until somebody goes on with one."""
    converse(project, "other", turns=1, lines=2)
    with RestServer(project) as server:
        assert set(live(server).values()) == {False}
        with Session.resume("other", project) as session:
            session.user("And now?")
        rows = {row["id"]: row["live"] for row in server.get("/api/sessions")["sessions"]}
        assert rows == {"talk": False, "other": True}
        assert server.get("/api/sessions/other")["facts"]["live"]


def test_a_file_is_live_while_it_grows(project: Path, tmp_path: Path) -> None:
    """Not because it was copied or imported just now: imported or not, its own changes count."""
    log = tmp_path / "copied.jsonl"
    log.write_text(line(0))
    with RestServer(project, offered=(log,)) as server:
        assert not live(server)["Question 0"]
        begun = server.post("/api/imports", {"path": str(log)}, 202)
        while (state := server.get(f"/api/imports/{begun['id']}"))["state"] == "running":
            time.sleep(0.01)
        path = f"/api/sessions/{state['sessions'][0]['id']}"
        assert not server.get(path)["facts"]["live"]
        with log.open("a") as opened:
            opened.write(line(1))
        assert server.get(path)["facts"]["live"]
        os.utime(log, (time.time() - 61, time.time() - 61))
        assert not server.get(path)["facts"]["live"]


def test_a_dropped_file_is_never_live(project: Path) -> None:
    """Nothing writes to it, although its session was written just now; nor if its messages have no time."""
    with RestServer(project) as server:
        sent = server.client.post("/api/imports/upload?name=a.json", json=[{"role": "user", "content": "Dropped"}])
        begun = sent.json()
        while server.get(f"/api/imports/{begun['id']}")["state"] == "running":
            time.sleep(0.01)
        assert live(server)["Dropped"] is False
