"""What cannot be logged is counted, said once a minute, refused where that was agreed on, and never sent too long."""

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from through_proxy import HEADERS, Talk, Through
from upstream_script import answer

from sightline.errors import StoreError
from sightline.follow.history import History
from sightline.follow.turns import Turns
from sightline.server import packed_bodies

WIRES = ("anthropic", "chat", "responses")
STREAMED = [(wire, stream) for wire in WIRES for stream in (False, True)]


def away(*_: Any, **__: Any) -> Any:
    """The database is away."""
    raise StoreError("cannot write: the database is away")


def metric(through: Through) -> int:
    assert through.server is not None
    text = through.server.request("GET", "/metrics", {}).text  # type: ignore[union-attr]
    return int(
        float(next(line for line in text.splitlines() if line.startswith("sightline_unlogged_total")).split()[1])
    )


def begin(through: Through, wire: str, **fields: Any) -> Talk:
    talk = Talk(through, wire, **fields)
    talk.list.append({"role": "user", "content": "Hello"})
    return talk


@pytest.mark.parametrize(("wire", "stream"), STREAMED)
def test_what_is_not_logged_is_counted_and_said_once(
    wire: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers pass, and each call counts. A minute later it is said again, with how many there were."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        now = [1000.0]
        through.totals.clock = lambda: now[0]
        monkeypatch.setattr(Turns, "prepare", away)
        monkeypatch.setattr(History, "follow", away)
        talk = begin(through, wire, stream=stream)
        with caplog.at_level(logging.WARNING, "sightline.server"):
            for _ in range(3):
                talk.ask()
                talk.list.append({"role": "user", "content": "And then?"})
            assert through.totals.unlogged == metric(through) == 3
            warnings = [record for record in caplog.records if "is not logged" in record.getMessage()]
            assert len(warnings) == 1
            assert "the database is away" in warnings[0].getMessage()
            assert not any(record.exc_info for record in caplog.records)
            now[0] += 61
            talk.ask()
        [_, again] = [record.getMessage() for record in caplog.records if "is not logged" in record.getMessage()]
        assert "(3 since the last warning)" in again


def test_what_cannot_be_read_is_counted_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer passes, and it is in no log. What its provider refuses is no gap in the log."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        monkeypatch.delitem(packed_bodies._UNPACK, "gzip")  # as an encoding that its provider reads, and we do not
        body = gzip.compress(json.dumps(begin(through, "chat").body()).encode())
        assert through.post("chat", body, **{"content-encoding": "gzip"}).status_code == 200
        assert metric(through) == through.totals.unlogged == 1
        assert "is not logged" in caplog.text
        assert through.post("chat", b"{no JSON").status_code == 400
        assert metric(through) == 1


@pytest.mark.parametrize(("wire", "stream"), STREAMED)
def test_a_server_that_requires_a_log_refuses(
    wire: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With status 503 and when to try again, in the provider's shape; nothing goes up. With a log it works as ever."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        through.server.stop()  # type: ignore[union-attr]
        through.start(require_log=True)
        talk = begin(through, wire, stream=stream)
        talk.ask()
        assert "Yes." in through.texts()
        with monkeypatch.context() as broken:
            broken.setattr(Turns, "prepare", away)
            response = through.post(wire, talk.body())
            assert (response.status_code, response.headers["retry-after"]) == (503, "10")
            assert "--require-log" in response.json()["error"]["message"]
            assert len(through.upstream.asked) == 1
            packed = through.post(wire, talk.body(), **{"content-encoding": "zstd"})
            assert packed.status_code == 400
            assert len(through.upstream.asked) == 1
        talk.list.append({"role": "user", "content": "Again"})
        talk.ask()
        assert "Again" in through.texts()


@pytest.mark.parametrize(("wire", "stream"), STREAMED)
def test_an_answer_that_is_not_logged_is_an_error_there(
    wire: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may go away while the model answers. The client must not take it for an answer that is kept."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        through.server.stop()  # type: ignore[union-attr]
        through.start(require_log=True)
        talk = begin(through, wire, stream=stream)
        monkeypatch.setattr("sightline.session.session.Session.reply", away)
        response = through.post(wire, talk.body())
        assert response.status_code == (200 if stream else 503)
        assert "--require-log" in response.text
        assert "message_stop" not in response.text
        assert "[DONE]" not in response.text.partition("--require-log")[0]
        assert through.totals.unlogged >= 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_history_over_its_window_is_not_sent_whole(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3,001 messages at a window of 30,000 tokens: 503. A short one passes, an image does not count by its bytes."""
    with Through(tmp_path, lambda _: answer("Yes."), window=30_000) as through:
        monkeypatch.setattr(Turns, "prepare", away)
        talk = Talk(through, wire)
        for number in range(1_500):
            talk.list.append({"role": "user", "content": f"Valve {number} of the northern harbour: does it open?"})
            talk.list.append({"role": "assistant", "content": f"Valve {number} opens, as on the day before."})
        talk.list.append({"role": "user", "content": "And the last one?"})
        response: httpx2.Response = through.post(wire, talk.body())
        assert (response.status_code, response.headers["retry-after"]) == (503, "10")
        assert "longer than its context window" in response.json()["error"]["message"]
        assert through.upstream.asked == []
        del talk.list[:-1]
        talk.ask()
        assert len(through.upstream.asked) == 1
        if wire == "anthropic":
            source = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 100_000}
            talk.list.append({"role": "user", "content": [{"type": "image", "source": source}]})
            assert through.post(wire, json.dumps(talk.body()).encode()).status_code != 503
        talk.list[:] = [{"role": "user", "content": "What is this? " + "QUJD" * 100_000}]  # text, whatever it was
        assert through.post(wire, talk.body()).status_code == 503
    assert HEADERS[wire]
