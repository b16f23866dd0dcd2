"""What was said in all sessions, found through a real server, as `sightline find` finds it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rest_server import RestServer

from sightline import Session
from sightline.errors import SightlineError
from sightline.server import session_finder
from sightline.server.rest_operation import Busy
from sightline.server.rest_values import FindSessionsQuery
from sightline.server.session_finder import SessionFinder
from sightline.testing import calling
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog


def say(project: Path, session_id: str, *said: str) -> None:
    """Keep a session in which somebody says this, and a tool fails."""
    with Session.new(project, session_id=session_id) as session:
        for text in said:
            session.user(text)
            session.reply(calling(("Bash", {"command": f"cat src/{session_id}.py"})))
            session.tool_result(session.open_calls[0].id, "no such file", error=True)
            session.reply("It is gone.")


def found(server: RestServer, query: str) -> dict[str, list[Any]]:
    """The hits of each session, when all logs were read."""
    unread = 1
    while unread:
        answer = server.get(f"/api/find?{query}")
        unread = answer["unread"]
    return {session["id"]: session["hits"] for session in answer["sessions"]}


def test_a_match_says_where_it_is(server: RestServer, project: Path) -> None:
    """Its session and its item, to which the transcript leads; what matched is told apart."""
    say(project, "zoo", "Where is the ocelot?")
    [(session, [hit])] = found(server, "q=ocelot").items()
    assert session == "zoo"
    assert (hit["kind"], hit["failed"]) == ("user", False)
    assert [part["text"] for part in hit["snippet"] if part["match"]] == ["ocelot"]
    page = server.get(f"/api/sessions/{session}/transcript?at={hit['id']}&limit=1")
    assert "ocelot" in page["messages"][0]["parts"][0]["text"]


@pytest.mark.parametrize(
    ("query", "sessions"),
    [
        ("q=ocelot", {"one", "two"}),
        ('q="ocelot lives"', {"two"}),
        ("path=src/one.py", {"one"}),
        ("tool=Bash&path=two.py", {"two"}),
        ("tool=Read&q=ocelot", set()),
        ("q=such file&errors=true", {"one", "two"}),
        ("q=ocelot&errors=true", set()),
        ("q=ocelot&until=2001-01-01", set()),
        ("q=ocelot&since=2001-01-01", {"one", "two"}),
        ("q=ocelot&project=/nowhere", set()),
        ("", set()),
    ],
)
def test_a_search_has_what_the_command_has(server: RestServer, project: Path, query: str, sessions: set[str]) -> None:
    """Words, phrases, a path, a tool, days, a project, and only what failed."""
    say(project, "one", "An ocelot.")
    say(project, "two", "The ocelot lives here.")
    assert set(found(server, query)) == sessions


@pytest.mark.parametrize("query", ["since=yesterday", "limit=0", f"q={'x' * 1001}"])
def test_what_cannot_be_looked_for_is_refused(server: RestServer, query: str) -> None:
    """With what is wrong about it."""
    assert server.client.get(f"/api/find?{query}").status_code == 400


def test_a_search_answers_before_all_is_read(
    server: RestServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer has what was found so far, and says how many logs are left."""
    monkeypatch.setattr(session_finder, "_SLICE", 1)
    for number in range(3):
        say(project, f"part{number}", f"Ocelot number {number}.")
    unread, sessions = [], []
    while not unread or unread[-1]:
        answer = server.get("/api/find?q=ocelot")
        unread.append(answer["unread"])
        sessions.append(len(answer["sessions"]))
    assert len(set(unread)) >= 3
    assert unread == sorted(unread, reverse=True)
    assert sessions == sorted(sessions)
    assert sessions[-1] == 3


def test_searches_wait_for_each_other_and_not_too_many(tmp_path: Path) -> None:
    """One thread is enough for all; who comes when many wait is told to try again, and those who wait are answered."""

    async def ask() -> tuple[list[object], bool]:
        finder = SessionFinder(SessionCatalog(Places(tmp_path, root=tmp_path / "home")))
        async with finder._room:
            waiting = [asyncio.create_task(finder.find(FindSessionsQuery("ocelot"))) for _ in range(16)]
            await asyncio.sleep(0)
            try:
                await finder.find(FindSessionsQuery("ocelot"))
                is_busy = False
            except SightlineError as error:
                is_busy = isinstance(error, Busy)
        return [(await task).sessions for task in waiting], is_busy

    answers, is_busy = asyncio.run(ask())
    assert is_busy
    assert answers == [[]] * 16


def test_a_search_in_a_session_says_where(server: RestServer, project: Path) -> None:
    """Each item that was found has its kind and the words around what matched."""
    with Session.new(project, session_id="told") as session:
        filler = "Nothing of interest is said here. " * 40
        session.user(f"{filler} The order number is 47113. {filler}")
    [found] = server.get("/api/sessions/told/search?q=number%2047113")["found"]
    assert found["kind"] == "user"
    assert [part["text"] for part in found["snippet"] if part["match"]] == ["number", "47113"]
    assert "order" in "".join(part["text"] for part in found["snippet"])
