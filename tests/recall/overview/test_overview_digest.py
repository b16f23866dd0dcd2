"""A digest for a question about everything says only what is true of the whole conversation."""

from typing import Any

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.recall import overview
from sightline.testing import WordCounter, calling
from sightline.values.items import Kind

FIRST, LATER, LAST = "Rename the ferry module.", "Also tidy the crane module.", "And the pier module, too."
QUESTION = "Give me an overview of everything so far."


def work(*before: str, steps: int = 40, window: int = 2_000, **said: str) -> Session:
    """Work with tools, of which only the end is shown in full. `said`: what a user says at a step, such as at_3."""
    session = Session(MemoryStore("work"), token_counter=WordCounter())
    for text in before:
        session.user(text)
    for at in range(steps):
        if text := said.get(f"at_{at}"):
            session.user(text)
        step(session, window, "read_file", {"path": f"f{at}.py"}, f"def quay_{at}(): ...\n" * 60)
    return session


def step(session: Session, window: int, name: str, given: dict[str, Any], result: str, *, failed: bool = False) -> None:
    session.compose(Budget(window, recall=0))
    session.reply(calling((name, given)))
    session.tool_result("call_1", result, error=failed)


def told(session: Session, *, ask: bool = True, window: int = 2_000) -> str:
    """The overview that stands before the question's words."""
    session.user(QUESTION)
    payload = session.compose(Budget(window, recall=0.4), ask=ask)
    recalled = [session.items.text(line.id) for line in payload.plan.lines() if line.kind is Kind.RECALL]
    (text,) = [text for text in recalled if text.startswith("[overview of")]  # the files in work may stand beside it
    return text


@pytest.mark.parametrize("ask", [True, False])
def test_the_first_request_is_the_first(ask: bool) -> None:
    """Though it is shown elsewhere. An old one is not called the current: that is the question, which follows."""
    text = told(work(FIRST, at_3=LATER, at_5=FIRST, at_7=LAST), ask=ask)
    assert f"- First request: {FIRST}\n" in text
    assert "Current request" not in text
    assert f"## The user's words\n- {LATER}\n- {LAST}\n" in text
    assert QUESTION not in text


def test_the_first_request_is_not_a_greeting_nor_beyond_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of work too long to be read, the first request is read."""
    monkeypatch.setattr(overview, "_DIGEST_ROWS", 20)
    text = told(work("Hello!", FIRST, at_35=LATER))
    assert f"- First request: {FIRST}\n" in text
    assert "f3.py" not in text
    assert "f38.py" in text


def test_what_a_program_wrote_is_no_request() -> None:
    """Neither its notes nor a result of no call are the user's words."""
    session = Session(MemoryStore("work"), token_counter=WordCounter())
    session.note("The harness starts here.")
    session.user(FIRST)
    for at in range(40):
        step(session, 2_000, "read_file", {"path": f"f{at}.py"}, f"def quay_{at}(): ...\n" * 60)
    session.note("The harness took 40 steps.")
    text = told(session)
    assert f"- First request: {FIRST}\n" in text
    assert "harness" not in text


@pytest.mark.parametrize(("fixed", "said"), [(True, "fixed by"), (False, "not tried again")])
def test_an_error_that_is_fixed_is_not_called_open(fixed: bool, said: str) -> None:
    """The run that succeeded is the newest one, which is shown in full."""
    session = work(FIRST, steps=4)
    error = "ImportError: cannot import name quay"
    step(session, 2_000, "run", {"command": "pytest tests/test_quay.py"}, error, failed=True)
    for at in range(30):
        step(session, 2_000, "read_file", {"path": f"g{at}.py"}, f"def pier_{at}(): ...\n" * 60)
    step(session, 2_000, "run", {"command": "pytest tests/test_quay.py" if fixed else "ls"}, "1 passed")
    assert f"{error} (pytest tests/test_quay.py) → {said}" in told(session, window=3_000)
