"""Sessions that the proxy has open are deleted whole, or not at all while a request of theirs is answered."""

import json
import time
from pathlib import Path

import httpx2
import pytest
from through_proxy import HEADERS, PATHS, TOKEN, Talk, Through
from upstream_script import answer, fail, hang

from sightline.errors import SessionClosed
from sightline.follow.conversations import Conversations
from sightline.log.stores.session_folder import Folder

SHOWS = {"x-sightline-token": TOKEN}


def delete(through: Through, name: str) -> httpx2.Response:
    """Ask the REST interface to delete a session."""
    return httpx2.delete(f"{through.url}/api/sessions/{name}", headers=SHOWS, timeout=60, trust_env=False)


def test_an_open_conversation_is_closed_and_deleted_and_begins_anew(tmp_path: Path) -> None:
    """Nothing is left of it on the disk. The agent goes on with its whole list, and all of that is kept again."""
    with Through(tmp_path, [answer("One."), answer("Two."), answer("Three.")], sockets=True) as through:
        talk = Talk(through, "anthropic")
        talk.say("Hello")
        talk.say("Again")
        [name] = through.names
        assert delete(through, name).status_code == 204
        assert [path.name for path in (tmp_path / "logs").rglob(f"{name}*")] == []
        assert delete(through, name).status_code == 404
        assert talk.say("Still there?") == "Three."
        assert through.names == [name]
        assert through.texts() == ["Hello", "One.", "Again", "Two.", "Still there?", "Three."]
        with through.session() as session:
            assert not session.damaged


def test_a_log_that_another_program_deletes_begins_anew(tmp_path: Path) -> None:
    """Such as `sightline sessions delete` beside a running server: the next request is logged with its whole list."""
    with Through(tmp_path, [answer("One."), answer("Two."), answer("Three.")]) as through:
        talk = Talk(through, "anthropic")
        talk.say("Hello")
        [name] = through.names
        Folder(tmp_path, tmp_path / "logs").delete(name)
        talk.say("Again")
        assert through.texts() == ["Hello", "One.", "Again", "Two."]
        assert through.totals.unlogged == 0


def test_a_request_that_is_repeated_after_its_log_was_deleted_is_logged(tmp_path: Path) -> None:
    """Although everything in it was known, so that nothing would be written."""
    with Through(tmp_path, [fail(500), answer("One.")]) as through:
        talk = Talk(through, "anthropic")
        talk.list.append({"role": "user", "content": "Hello"})
        assert through.post("anthropic", talk.body()).status_code == 500
        logs = Folder(tmp_path, tmp_path / "logs")
        while not any(b'"tools"' in logs.file(name).read_bytes() for name in logs.sessions()):
            time.sleep(0.01)  # it is logged after it was sent, the tools last
        logs.delete(through.names[0])
        assert through.post("anthropic", talk.body()).status_code == 200
        through.restart()
        assert through.texts() == ["Hello", "One."]


@pytest.mark.slow
def test_a_conversation_that_is_being_answered_is_not_deleted(tmp_path: Path) -> None:
    """It is a 409 that says what to do, and the answer is logged. When it has ended, the session can be deleted."""
    with Through(tmp_path, [hang(answer("The valve opens at noon, and closes at one."), 6)], sockets=True) as through:
        talk = Talk(through, "anthropic", stream=True)
        talk.list.append({"role": "user", "content": "Hello"})
        with httpx2.stream("POST", through.url + PATHS["anthropic"], content=json.dumps(talk.body()), timeout=60,
                           headers=HEADERS["anthropic"], trust_env=False) as response:  # fmt: skip
            chunks = response.iter_bytes()
            next(chunks)
            while not through.names:  # it is logged after it was sent
                time.sleep(0.01)
            [name] = through.names
            refused = delete(through, name)
            told = refused.json()["error"]
            assert (refused.status_code, told["type"]) == (409, "in_use")
            assert "ended" in told["what_to_do"]
        while (ended := delete(through, name)).status_code == 409:  # until the proxy has noticed that the client left
            time.sleep(0.01)
        assert ended.status_code == 204
        assert through.names == []
        assert through.totals.unlogged == 0


def test_a_conversation_in_use_is_not_closed(tmp_path: Path) -> None:
    """Who asks for that is told; who wants to use a conversation that is closed gets it opened anew afterwards."""
    conversations = Conversations(tmp_path)
    with conversations.use("talk") as history:
        history.session.user("Hi")
        with conversations.closed("talk") as is_closed:
            assert not is_closed
        history.session.user("Still open")
    with conversations.closed("talk") as is_closed:
        assert is_closed
        with pytest.raises(SessionClosed):
            history.session.user("Too late")
    with conversations.use("talk") as again:
        assert again is not history
        assert [again.session.items.text(item.id) for item in again.session.items] == ["Hi", "Still open"]
    conversations.close()
