"""A payload speaks of `expand` and `recall` only where the model has these tools."""

import re
from typing import Any

import pytest

from sightline.compose.verify import verify
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, plain_text
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

ROOM = Budget(3_000, recall=0)
TOOL: dict[str, Any] = {"name": "read", "description": "Read it.", "input_schema": {"type": "object", "properties": {}}}
OWN = TOOL | {"name": "recall"}  # a tool of the program that happens to have the name of one of ours
NAMED = {
    "recall": re.compile(r"recall\(|recall "),
    "expand": re.compile(r"expand\(|expand |展开"),
}


def words(count: int, word: str) -> str:
    return " ".join(f"{word}{number}" for number in range(count))


def told(payload: Payload) -> set[str]:
    """Which of our tools the messages of a payload name."""
    text = "\n".join(plain_text(message.parts) for message in (*payload.system, *payload.body, *payload.tail))
    return {name for name, pattern in NAMED.items() if pattern.search(text)}


def long_session(locale: str) -> Session:
    """One whose oldest part is summarised, and so long that some of the rest is left out and some is shortened."""
    session = Session(
        MemoryStore("t"), settings=Settings(locale=locale), token_counter=WordCounter(), clock=Ticking(),
        ids=numbered_ids(),
    )  # fmt: skip
    for number in range(10):
        session.user(f"question {number}")
        session.assistant(f"answer {number}")
    session.compose(ROOM)
    session.summaries.compact(model=lambda payload: "they asked and answered")
    return session


def go_on(session: Session, turns: int = 44) -> Payload:
    for number in range(turns):
        session.user(f"look at file {session.size}")
        session.assistant([Call(f"c{session.size}", "read", {"path": f"{session.size}.py"})])
        session.tool_result(
            session.open_calls[0].id, "\n".join(words(9, f"line{number}x{line}y") for line in range(30))
        )
        session.compose(ROOM)
    session.assistant([Call(f"c{session.size}", "run", {"command": "make"})])
    session.tool_result(session.open_calls[0].id, words(2_100, "built"))  # shown as its summary
    return session.compose(ROOM)


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize(
    ("tools", "recall", "has"),
    [
        (None, False, set()),
        ([TOOL], False, set()),
        ([OWN], False, set()),
        ([OWN], True, {"expand"}),
        ([], True, {"expand", "recall"}),
        ([TOOL], True, {"expand", "recall"}),
    ],
)
def test_a_tool_is_named_only_where_it_is(locale: str, tools: list[Any] | None, recall: bool, has: set[str]) -> None:
    """In the notice of what is left out, above a summary and in a shortened result; the handles stay."""
    session = long_session(locale)
    if tools is not None:
        session.tools(tools, recall=recall)
    payload = go_on(session)
    assert payload.plan.left_out is not None
    assert any(lod.name == "SUMMARY" for lod in payload.plan.lods.values())
    assert told(payload) == has
    assert re.search(r"#\d+", payload.plan.marker)
    assert payload.tokens <= 3_000


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_tools_come_and_go_and_so_does_their_mention(locale: str) -> None:
    """With the very next payload. Every payload is made again from the log, also by a session that is resumed."""
    session = long_session(locale)
    for tools, has in (([], {"expand", "recall"}), (None, set()), ([TOOL], {"expand", "recall"})):
        session.tools(tools or [], recall=tools is not None)
        changed = go_on(session, turns=1)
        assert told(changed) <= has
        assert told(go_on(session)) == has
        assert told(session.preview(ROOM)) == has
        before = session.compose(ROOM)
        session = Session(session._journal.reopened(), clock=Ticking(), ids=numbered_ids())
        session.user("and now?")
        resumed = session.compose(ROOM)
        assert list(resumed.body)[: len(before.body)] == list(before.body)
    assert all(made.good for made in verify(session._journal))


def test_between_sweeps_nothing_changes_without_the_tools() -> None:
    """The prefix holds as it does with them."""
    session = long_session("en")
    session.tools([TOOL], recall=False)
    last = go_on(session)
    for _ in range(6):
        session.user("a short one")
        payload = session.compose(ROOM)
        if not payload.plan.reason:
            assert list(payload.body)[: len(last.body)] == list(last.body)
        last = payload
