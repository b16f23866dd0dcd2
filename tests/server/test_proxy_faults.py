"""What goes wrong: the client is told clearly, nothing half is logged as whole, and the next request works."""

import json
import logging
import shutil
import socket
from pathlib import Path
from threading import Thread
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from through_proxy import (
    HEADERS,
    LISTS,
    OWN,
    PATHS,
    TALKERS,
    Talk,
    Through,
    answer_of,
    asked_names,
    calls,
    said,
    text_of,
)
from upstream import Asked, Upstream
from upstream_script import Answer, Step, answer, break_off, call, cut, drop, fail, garble, hang, unended

from sightline.cli.serve import running
from sightline.follow.turns import Turns
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.server.listener import Listener

WIRES = list(PATHS)
WINDOW = 3000
LONG = "The valve opens at noon. " * 8


def hello(through: Through, wire: str, *, stream: bool = False) -> Talk:
    """A conversation with its first words."""
    talk = Talk(through, wire, stream=stream)
    talk.list.append({"role": "user", "content": "Hello"})
    return talk


@pytest.mark.parametrize("wire", WIRES)
def test_an_upstream_that_is_not_there_or_breaks_off(wire: str, tmp_path: Path) -> None:
    """An error of the provider's shape, with what to do; the same request works when the upstream does."""
    steps: list[Step] = [drop(), cut(answer(LONG), 1), garble(answer(LONG)), answer("Now.")]
    with Through(tmp_path, steps, sockets=True) as through:
        talk = hello(through, wire)
        for _ in range(2):
            response = through.post(wire, talk.body())
            assert response.status_code == 502
            assert "model's server" in response.json()["error"]["message"]
            assert (response.json().get("type") == "error") == (wire == "anthropic")
        assert b"502 Bad Gateway" in through.post(wire, talk.body()).content  # what the upstream said
        assert text_of(wire, talk.ask()) == "Now."
        assert through.texts() == ["Hello", "Now."]
        assert through.server is not None
        through.server.stop()
        nobody = "http://127.0.0.1:9"
        through.start(upstreams={"anthropic": nobody, "openai": f"{nobody}/v1", "gemini": nobody})
        talk.list.append({"role": "user", "content": "More"})
        refused = through.post(wire, talk.body())
        assert (refused.status_code, "address" in refused.json()["error"]["message"]) == (502, True)


class Closing(Thread):
    """An upstream that keeps a connection open after an answer, and closes it when the next request has come.

    So it looks to a client if the upstream closes an idle connection while a request is on its way.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.asked: list[int] = []  # by the number of the connection

    def run(self) -> None:
        """Answer the first request of each connection."""
        for number in range(2):
            connection, _ = self._socket.accept()
            with connection, connection.makefile("rb") as file:
                while self._read(file):
                    self.asked.append(number)
                    if self.asked[-2:] == [0, 0]:
                        break
                    body = json.dumps({"object": "list", "data": [{"id": f"from {number}"}]}).encode()
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        self._socket.close()

    def _read(self, file: Any) -> bool:
        lines = list(iter(file.readline, b"\r\n"))[:1] if file.peek(1) else []
        return bool(lines)


def test_a_kept_connection_that_closes_costs_no_request(tmp_path: Path) -> None:
    """The client cannot know of it: the request is sent once more by a new connection."""
    upstream = Closing()
    upstream.start()
    with Through(tmp_path, [], sockets=True) as through:
        assert through.server is not None
        through.server.stop()
        through.start(upstreams={"anthropic": upstream.url, "openai": f"{upstream.url}/v1"})
        answers = [httpx2.get(f"{through.url}/v1/models", trust_env=False, verify=False).json() for _ in range(2)]
    upstream.join(30)
    assert [each["data"][0]["id"] for each in answers] == ["from 0", "from 1"]
    assert upstream.asked == [0, 0, 1]


@pytest.mark.parametrize("broken", [cut, garble, unended, hang])
@pytest.mark.parametrize("wire", TALKERS)
def test_a_stream_that_stops_is_logged_as_stopped(wire: str, broken: Any, tmp_path: Path) -> None:
    """What came is kept, and the client goes on with it or asks again: neither is logged as whole."""
    with Through(tmp_path, [broken(answer(LONG), 6), answer("Now."), answer("Then.")], sockets=True) as through:
        talk = hello(through, wire, stream=True)
        told = HEADERS[wire] | {"content-type": "application/json"}
        seen = b""
        try:
            with httpx2.stream("POST", through.url + PATHS[wire], content=json.dumps(talk.body()), headers=told,
                               timeout=2, trust_env=False, verify=False) as response:  # fmt: skip
                for chunk in response.iter_bytes():
                    seen += chunk
        except httpx2.HTTPError:
            pass
        assert b"The" in seen
        if broken is hang:
            assert through.upstream.left.wait(30)
        talk.stream = False
        assert text_of(wire, talk.ask()) == "Now."
        assert text_of(wire, hello(through, wire).ask()) == "Then."
        assert through.upstream.invalid == []
        with through.session() as session:
            kept = [session.items.text(item.id) for item in session.items]
            assert kept[0] == "Hello"
            assert kept[1].startswith("The")
            assert kept[1].strip() != LONG.strip()
            assert len(session.branches) == 3
        assert "The valve" not in str(through.bodies[-1])


@pytest.mark.parametrize(
    ("step", "why", "stream"),
    [
        (break_off(answer(LONG), 0, {"code": "overloaded", "message": "Come later."}), "(overloaded)", True),
        (unended(answer(LONG), 0), "is no answer", True),
        (garble(answer(LONG)), "is no answer", True),
        (garble(answer(LONG)), "is no answer", False),
    ],
    ids=["error", "nothing", "garbage", "garbage at once"],
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_without_an_answer_counts_as_failed(
    wire: str, step: Answer, why: str, stream: bool, tmp_path: Path
) -> None:
    """With the reason: `wrap` would say that no model was called."""
    with Through(tmp_path, [step, answer("Now.")]) as through:
        assert through.post(wire, hello(through, wire, stream=stream).body()).status_code == 200
        assert (through.totals.failed, through.totals.calls) == (1, 0)
        assert why in through.totals.failure
        assert text_of(wire, hello(through, wire).ask()) == "Now."
        assert (through.totals.failed, through.totals.calls) == (1, 1)


@pytest.mark.parametrize(("after", "failed"), [(1, 1), (6, 0)])
def test_a_stream_that_breaks_off_is_one_line_in_the_log(
    after: int, failed: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not a traceback, and none that `wrap` prints where its agent writes. The client sees that it broke off."""
    caplog.set_level(logging.INFO)
    with Upstream([cut(answer(LONG), after)]) as upstream:
        config = Config(folder=tmp_path, root=tmp_path / "logs", upstreams={"anthropic": upstream.anthropic_url})
        app = create_app(config)
        with running(Listener(app, on_stop=app.state.hub.close)) as port:
            asked = {"model": "claude-opus-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
            url, headers = f"http://127.0.0.1:{port}{PATHS['anthropic']}", HEADERS["anthropic"]
            with pytest.raises(httpx2.RemoteProtocolError):
                httpx2.post(url, json=asked | {"stream": True}, headers=headers, trust_env=False)
    told = [record for record in caplog.records if record.name in ("sightline.server", "uvicorn.error")]
    assert len([record for record in told if "broke off" in record.getMessage()]) == 1
    assert [record.getMessage() for record in told if record.levelno > logging.INFO or record.exc_info] == []
    assert (app.state.totals.failed, app.state.totals.calls) == (failed, 1 - failed)


@pytest.mark.slow("responses-stream")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_later_round_is_told(wire: str, stream: bool, tmp_path: Path) -> None:
    """Half an answer would look like a whole one. The client asks again, and gets it."""
    steps = iter([answer(call("recall", {"query": "valve"})), fail(503), answer("Done.")])
    failed = []

    def script(asked: Asked) -> Step:
        if not OWN & {*asked_names(asked)}:
            return answer(call("read", {"path": f"file{len(asked.body[LISTS[wire]])}"}))
        failed.append(step := next(steps))
        return step

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = hello(through, wire, stream=stream)
        while True:
            response = through.post(wire, talk.body())
            if failed:
                break
            reply = answer_of(wire, response.content) if stream else response.json()
            talk.list += said(wire, reply)
            talk.give(calls(wire, reply))
        if stream:
            assert response.status_code == 200
            assert b'"error":{' in response.content
            with pytest.raises((anthropic.APIError, openai.APIError, RuntimeError)):
                answer_of(wire, response.content)
        else:
            assert response.status_code == 503
        assert text_of(wire, talk.ask()) == "Done."
        assert through.upstream.invalid == []


@pytest.mark.slow("responses-stream")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_disk_that_is_full_does_not_stop_the_agent(
    wire: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests and answers pass. When there is room again, the log has what was missed."""
    with Through(tmp_path, lambda asked: answer(f"Answer {len(asked.body[LISTS[wire]])}.")) as through:
        talk = Talk(through, wire, stream=stream)
        talk.say("One")

        def full(*_: Any, **__: Any) -> Any:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Turns, "reply", full)
            assert talk.say("Two") == "Answer 3."
            patch.setattr(Turns, "prepare", full)
            assert talk.say("Three") == "Answer 5."
        assert talk.say("Four") == "Answer 7."
        assert through.upstream.invalid == []
        said = ["One", "Answer 1.", "Two", "Answer 3.", "Three", "Answer 5.", "Four", "Answer 7."]
        assert through.texts() == said


def test_a_folder_that_is_gone_does_not_stop_the_agent(tmp_path: Path) -> None:
    """The agent goes on, with or without a log."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        talk = Talk(through, "anthropic")
        assert talk.say("One") == "Yes."
        shutil.rmtree(tmp_path / "logs")
        (tmp_path / "logs").write_text("no folder")
        assert talk.say("Two") == "Yes."
        assert Talk(through, "chat").say("Other") == "Yes."
        (tmp_path / "logs").unlink()


# ------------------------------------------------------------------ requests that are too long for the provider


class Long:
    """Reads until it is told to stop: long files, in a model whose window nobody knows."""

    def __init__(self, files: int) -> None:
        self.files = files

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        self.files -= 1
        return answer(call("read", {"path": f"file{self.files}"})) if self.files > 0 else answer("Done.")


@pytest.mark.slow("anthropic-True")
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_the_window_of_an_unknown_model_is_learned(wire: str, restarts: bool, tmp_path: Path) -> None:
    """The first refusal costs one retry, and after it all requests fit; the agent sees none of it."""
    with Through(tmp_path, Long(9), window=None) as through:
        through.upstream._window = WINDOW
        talk = Talk(through, wire, model="nobody-knows-it")
        talk.list.append({"role": "user", "content": "Read them all."})
        while called := calls(wire, reply := talk.ask()):
            talk.give(called)
            if restarts:
                through.restart()
        assert text_of(wire, reply) == "Done."
        refused = [asked for asked in through.upstream.asked if asked.overflow]
        assert len(refused) == 1 or (restarts and refused)
        assert len(through.upstream.invalid) == len(refused)


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_window_that_is_smaller_than_we_know(wire: str, tmp_path: Path) -> None:
    """The model is known, its provider takes less: it is learned in the same way."""
    with Through(tmp_path, Long(9)) as through:
        through.upstream._window = WINDOW
        assert Talk(through, wire).say("Read them all.") == "Done."
        assert {asked.verdict for asked in through.upstream.asked if not asked.overflow} == {""}
        assert sum(asked.overflow for asked in through.upstream.asked) <= 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_second_refusal_is_told(wire: str, tmp_path: Path) -> None:
    """One retry, not more: then the client gets the provider's own words."""
    with Through(tmp_path, [answer("Yes.")]) as through:
        through.upstream._window = 40
        talk = hello(through, wire)
        talk.list[0]["content"] = "The valve opens. " * 40
        response = through.post(wire, talk.body())
        assert response.status_code == 400
        assert response.json()["error"]["message"] == through.upstream.asked[-1].verdict
        assert len(through.upstream.asked) <= 2


@pytest.mark.slow
def test_a_refusal_inside_a_stream(tmp_path: Path) -> None:
    """Responses may be refused after they began: the client sees one answer all the same."""
    with Through(tmp_path, Long(9), fail_in_stream=True) as through:
        through.upstream._window = WINDOW
        talk = Talk(through, "responses", stream=True, model="nobody-knows-it")
        assert talk.say("Read them all.") == "Done."
        assert sum(asked.overflow for asked in through.upstream.asked) >= 1
        assert {asked.verdict for asked in through.upstream.asked if not asked.overflow} == {""}
