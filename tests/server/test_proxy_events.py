"""What the proxy tells those who watch, and what they see of its conversations over REST."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from through_proxy import TOKEN, Talk, Through
from upstream_script import answer, call

from sightline.server.events import Event


def published(through: Through) -> list[Event]:
    """The events of the proxy so far."""
    assert through.server is not None
    hub = through.server.config.app.state.hub  # type: ignore[union-attr]
    return list(hub._events)


def get(through: Through, path: str) -> Any:
    """What a GET answers."""
    response = httpx2.get(through.url + path, timeout=60, trust_env=False, headers={"x-sightline-token": TOKEN})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_new_conversation_and_its_answers_are_told_with_their_ids(tmp_path: Path) -> None:
    """Once for a conversation, also after a restart; each answer by its item, on its branch."""
    with Through(tmp_path, [answer("Hello."), answer("Again."), answer("Other.")], sockets=True) as through:
        talk = Talk(through, "anthropic")
        talk.say("Hi")
        talk.say("And now?")
        del talk.list[2:]
        talk.say("Another way?")  # rewound: a branch
        [name] = through.names
        told = published(through)
        assert [event.session for event in told if event.kind == "session_created"] == [name]
        appended = [event for event in told if event.kind == "append"]
        assert [event.session for event in appended] == [name] * 3
        assert [event.data["stopped"] for event in appended] == [False] * 3
        assert len({event.branch for event in appended}) == 2
        for event in appended:
            with through.session(name, branch=event.branch) as session:
                assert session.items.text(event.data["item"]) in ("Hello.", "Again.", "Other.")
        through.restart()
        assert [event.kind for event in published(through)] == []


@pytest.mark.slow
def test_requests_that_passed_unchanged_are_in_the_timeline(tmp_path: Path) -> None:
    """With their usage; from the first sweep on the calls are composed, and numbers go on."""
    script = [*(answer(call("read", {"path": f"f{at}.py"})) for at in range(8)), answer("Done.")]
    with Through(tmp_path, script, window=6000, sockets=True) as through:
        Talk(through, "anthropic", stream=True).say("Read the files")
        [row] = get(through, "/api/sessions")["sessions"]
        assert (row["source"], row["title"], row["calls"]) == ("proxy", "Read the files", 9)
        calls = get(through, f"/api/sessions/{row['id']}/timeline")["calls"]
        assert [each["number"] for each in calls] == list(range(1, 10))
        composed = [each["composed"] for each in calls]
        assert composed == sorted(composed)
        assert {False, True} == set(composed)
        first = calls[composed.index(True)]
        assert [mark["kind"] for mark in first["marks"]][:1] == ["sweep"]
        assert all(each["reported"] for each in calls)
        details = get(through, f"/api/sessions/{row['id']}/calls/{first['number']}")
        assert details["same"]
        assert details["change"]["block"] >= 0
        before = get(through, f"/api/sessions/{row['id']}/calls/{first['number'] - 1}")
        assert (before["same"], {line["level"] for line in before["lines"]}) == (None, {"full"})
