"""How long the calls of a session took, and filtered lists, through a real server."""

from pathlib import Path

from rest_server import RestServer

from sightline import Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking, calling

TIMED = "/api/sessions/timed"


def keep_timed(project: Path) -> None:
    """Keep a session whose tool takes ever longer."""
    clock = Ticking(step=0)
    with Session.new(project, stores=Folder(project), session_id="timed", clock=clock) as session:
        session.user("Run it.")
        for number in range(1, 6):
            clock.wait(1)
            session.reply(calling(("bash", {"command": f"run {number}"})))
            clock.wait(10 * number)
            session.tool_result("call_1", f"output {number}", error=number == 2)


def test_the_steps_of_a_run_come_in_pages(server: RestServer, project: Path) -> None:
    """In order, or the slowest first; each page leads to the next and has the sums of all."""
    keep_timed(project)
    steps, start = [], 0
    while start is not None:
        page = server.get(f"{TIMED}/time?start={start}&limit=4")
        steps += page["steps"]
        start = page["next"]
    assert [step["seconds"] for step in steps] == [None, 1, 10, 1, 20, 1, 30, 1, 40, 1, 50]
    assert page["sums"] == {"model": 5, "tools": 150, "user": 0, "calls": 10, "timed": 10, "length": 155, "rest": 0}
    slowest = server.get(f"{TIMED}/time?sort=longest&limit=2")
    assert ([step["about"] for step in slowest["steps"]], slowest["longest"]) == (["run 5", "run 4"], 50)


def test_lists_are_filtered(server: RestServer, project: Path) -> None:
    """Steps, items, and the payload of a call take the same filters; what they cannot be is refused."""
    keep_timed(project)
    assert [step["about"] for step in server.get(f"{TIMED}/time?errors=true")["steps"]] == ["run 2"]
    assert server.get(f"{TIMED}/items?tool=bash&limit=3")["total"] == 10
    assert [item["text"] for item in server.get(f"{TIMED}/items?path=run 3&kind=result")["items"]] == ["output 3"]
    assert [line["text"] for line in server.get(f"{TIMED}/calls/5?errors=true&text=full")["lines"]] == ["output 2"]
    assert server.get(f"{TIMED}/calls/5?level=summary")["lines"] == []
    for wrong in (f"{TIMED}/time?sort=name", f"{TIMED}/calls/5?level=none", f"{TIMED}/items?kind={'x' * 21}"):
        assert server.client.get(wrong).status_code == 400


def test_the_time_of_a_session_that_there_is_not_is_not_found(server: RestServer) -> None:
    """And nobody without the token sees any."""
    assert server.client.get("/api/sessions/none/time").status_code == 404
    assert server.client.get("/api/sessions/talk/time", headers={"X-Sightline-Token": "x"}).status_code == 401
