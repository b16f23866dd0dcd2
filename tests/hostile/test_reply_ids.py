"""Ids of replies that a provider keeps: only those that it gave, and only to the caller that got them."""

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Tried
from through_proxy import Through
from upstream_script import answer

from sightline.follow.model_request import FORMATS, parse

OTHER = {"authorization": "Bearer somebody else"}
SECRET = "The harbour master's number is 4711."


@pytest.fixture(autouse=True)
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upstream that answers whatever is said to be before a request, as gateways do."""
    monkeypatch.setattr(
        "upstream_responses._earlier", lambda body, stored: stored.get(body.get("previous_response_id"), [])
    )


def post(through: Through, text: str, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    response = through.post("responses", {"model": "gpt-5.2", "input": text, "store": True} | fields, **headers or {})
    assert response.status_code == 200, response.text
    return response.json()


def writers(through: Through) -> list[set[str]]:
    """Who has written in each session: what was said first in a message, as `A` and `B`."""
    return [{text[0] for text in through.texts(name) if text[1:2] == ":"} for name in through.names]


@pytest.mark.parametrize("restarts", [False, True])
def test_no_text_of_a_log_leads_into_its_session(restarts: bool, tmp_path: Path, tried: Tried) -> None:
    """Whatever stands in a log, as a role, a name or a text: another caller's id is none of it."""
    with Through(tmp_path, lambda _: answer("Noted.")) as through:
        first = post(through, f"A: {SECRET} resp_planted")
        words = ["user", "role", "type", "text", "Noted.", f"A: {SECRET} resp_planted", "gpt-5.2", "message", "", " ",
                 first["id"], f"{first['id']} ", "resp_planted", through.names[0]]  # fmt: skip
        if restarts:
            through.restart()
        for word in words:
            post(through, "B: it is mine now.", OTHER, previous_response_id=word)
            post(through, "B: it is mine now.", OTHER, conversation=word)
        assert {"A", "B"} not in writers(through)
        assert {"A"} in writers(through)
        post(through, "A: go on.", previous_response_id=first["id"])
        own = {f"A: {SECRET} resp_planted", "A: go on."}
        assert any(own <= set(through.texts(name)) for name in through.names)
    tried("ids of replies", 2 * len(words))


@pytest.mark.parametrize("word", ["user", "resp_planted"])
def test_not_even_the_caller_s_own_log_is_entered_by_a_word(word: str, tmp_path: Path) -> None:
    """An id that no reply had begins a session of its own."""
    with Through(tmp_path, lambda _: answer("Noted.")) as through:
        post(through, "A: resp_planted")
        through.restart()
        post(through, "B: where does this go?", previous_response_id=word)
        assert sorted(map(sorted, writers(through))) == [["A"], ["B"]]


def test_a_planted_id_is_no_id(tmp_path: Path) -> None:
    """A caller who knows how the log would write his id, and has it written there, is not let in by it."""
    with Through(tmp_path, lambda _: answer("Noted.")) as through:
        body = b'{"model": "gpt-5.2", "input": "B: second", "previous_response_id": "planted"}'
        planted = parse(FORMATS["/v1/responses"], body, OTHER).own_id("planted")
        post(through, planted)
        assert len(through.names) == 1
        through.restart()
        post(through, "B: second", OTHER, previous_response_id="planted")
        assert len(through.names) == 2


def test_a_conversation_of_the_provider_belongs_to_its_caller(tmp_path: Path) -> None:
    """Two callers who name the same conversation have a session each, before and after a restart."""
    with Through(tmp_path, lambda _: answer("Noted.")) as through:
        for _ in range(2):
            post(through, "A: hello", conversation="conv_1")
            post(through, "B: hello", OTHER, conversation="conv_1")
            through.restart()
        assert sorted(map(sorted, writers(through))) == [["A"], ["B"]]


def test_the_log_has_no_credential(tmp_path: Path) -> None:
    """What tells callers apart says nothing about their key to who reads the log."""
    with Through(tmp_path, lambda _: answer("Noted.")) as through:
        post(through, "B: hello", {"authorization": "Bearer sk-very-secret"})
        [log] = (tmp_path / "logs").rglob("proxy-*.jsonl")
        assert b"very-secret" not in log.read_bytes()
