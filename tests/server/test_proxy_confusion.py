"""Conversations that a hostile agent, a retry or a restart could confuse: what goes where in the log."""

import json
import threading
from pathlib import Path
from typing import Any

from through_proxy import MODELS, TOOLS, Talk, Through, said
from upstream_script import answer, fail

from sightline.follow import turns

PLAN = "First read the valves in b.py, then change the third one, then run all the tests again."
WORDS = "The valve of the second pump opens at noon, and the third one an hour later. "
SESSION = {"x-session-id": "one session of an agent"}


def test_a_prompt_that_quotes_another_answer_is_no_compaction(tmp_path: Path) -> None:
    """A sub-agent with its own system prompt gets its own session, and its first request goes up as it came."""

    def script(asked: Any) -> Any:
        return answer(PLAN if "planner" in str(asked.body["system"]) else "Done.")

    with Through(tmp_path, script, window=3_000) as through:
        talk = Talk(through, "anthropic", system="You are the planner.")
        for number in range(3):
            talk.list.append({"role": "user", "content": f"{number} {WORDS * 60}"})
            talk.list += said("anthropic", through.post("anthropic", talk.body(), **SESSION).json())
        coder = Talk(through, "anthropic", system="You are the coder.")
        coder.list.append({"role": "user", "content": f"A colleague proposes: {PLAN} Review that, and do it."})
        body = json.dumps(coder.body()).encode()
        response = through.post("anthropic", body, **SESSION)
        assert response.status_code == 200
        assert through.upstream.asked[-1].raw == body
        assert len(through.names) == 2


def test_a_request_of_a_kept_conversation_that_is_sent_again_is_logged_once(tmp_path: Path) -> None:
    """SDKs send a request twice more after a 500: the log has its words once."""
    with Through(tmp_path, [answer("One."), fail(500), fail(500), answer("Two.")]) as through:
        fields = {"model": MODELS["responses"], "store": True, "conversation": "conv_1"}
        for words in ("First", "Second", "Second", "Second"):
            through.post("responses", fields | {"input": words})
        assert through.texts() == ["First", "One.", "Second", "Two."]


def test_a_request_after_a_kept_reply_is_logged_once_after_a_restart(tmp_path: Path) -> None:
    """After a restart the reply is found by its id; the same request again is a branch."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        fields = {"model": MODELS["responses"], "store": True}
        kept = through.post("responses", fields | {"input": "First"}).json()["id"]
        through.restart()
        for _ in range(2):
            asked = fields | {"input": "Second", "previous_response_id": kept}
            through.post("responses", asked)
        assert len(through.names) == 1
        assert through.texts() == ["First", "Yes.", "Second", "Yes."]
        with through.session() as session:
            assert len(session.branches) == 2


def test_a_new_conversation_does_not_wait_for_the_logs_of_others(tmp_path: Path, monkeypatch: Any) -> None:
    """What passes is sent before the other logs of the agent's session are looked at."""
    sent = threading.Event()
    in_time: list[bool] = []
    real = turns._open

    def open_later(config: Any, name: str, provider: str) -> Any:
        in_time.append(sent.wait(20))  # who opens a log before the request is sent waits in vain
        return real(config, name, provider)

    def script(_asked: Any) -> Any:
        sent.set()
        return answer("Yes.")

    monkeypatch.setattr(turns, "_open", open_later)
    with Through(tmp_path, script) as through:
        body: dict[str, Any] = {"model": MODELS["anthropic"], "max_tokens": 100, "tools": [TOOLS["anthropic"]]}
        for number in range(5):
            through.post("anthropic", body | {"messages": [{"role": "user", "content": f"{number}"}]}, **SESSION)
        through.restart()
        sent.clear()
        in_time.clear()
        through.post("anthropic", body | {"messages": [{"role": "user", "content": "Another"}]}, **SESSION)
    assert in_time
    assert all(in_time)
