"""A payload speaks of `expand` and `recall` only where the model has these tools."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest

from sightline.compose.verify import verify
from sightline.errors import NotShorter
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Lod, Text, plain_text
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

ROOM = Budget(3_000, recall=0)
TOOL: dict[str, Any] = {"name": "read", "description": "Read it.", "input_schema": {"type": "object", "properties": {}}}
OWN = TOOL | {"name": "recall"}  # a tool of the program that happens to have the name of one of ours
HANDLE = re.compile(r"#\d+")
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


def everything(payload: Payload) -> str:
    """All that the model reads besides the definitions of tools, arguments of calls too."""
    return json.dumps({key: value for key, value in payload.openai().items() if key != "tools"}, ensure_ascii=False)


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


@pytest.mark.slow("None-False-has0-en", "None-False-has0-zh", "tools1-False-has1-en", "tools2-True-has2-zh")
@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize(
    ("tools", "recall", "has"),
    [
        (None, False, set()),
        ([OWN], False, set()),
        ([OWN], True, {"expand"}),
        ([TOOL], True, {"expand", "recall"}),
    ],
)
def test_a_tool_is_named_only_where_it_is(locale: str, tools: list[Any] | None, recall: bool, has: set[str]) -> None:
    """In the notice of what is left out, above a summary and in a shortened result; handles only where `expand` is."""
    session = long_session(locale)
    if tools is not None:
        session.tools(tools, recall=recall)
    payload = go_on(session)
    assert payload.plan.left_out is not None
    assert any(lod.name == "SUMMARY" for lod in payload.plan.lods.values())
    assert told(payload) == has
    assert bool(re.search(r"#\d+", payload.plan.marker)) is ("expand" in has)
    assert bool(HANDLE.search(everything(payload))) is ("expand" in has)
    assert payload.tokens <= 3_000


@pytest.mark.slow
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
        session = Session(session.log.reopened(), clock=Ticking(), ids=numbered_ids())
        session.user("and now?")
        resumed = session.compose(ROOM)
        assert list(resumed.body)[: len(before.body)] == list(before.body)
    assert all(made.good for made in verify(session.log))


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


CODE = "\n".join(f"def function_{number}(argument):\n    return argument + {number}\n" for number in range(60))
LOG = "\n".join(f"2026-11-16 step {number} done in {number * 7} ms" for number in range(200)) + "\nERROR step 88 failed"
TABLE = "name,port\n" + "\n".join(f"service{number},{8_000 + number}" for number in range(200))
RECORDS = json.dumps([{"id": number, "name": f"record {number}", "state": "ok"} for number in range(120)])


def all_kinds(locale: str, *, tools: bool) -> Session:
    """A session with something of every kind that has lower levels, constraints, and what a program brought back."""
    session = Session(
        MemoryStore("t"), settings=Settings(locale=locale), token_counter=WordCounter(), clock=Ticking(),
        ids=numbered_ids(),
    )  # fmt: skip
    session.tools([TOOL], recall=tools)
    session.user("Never push to main. Always run the tests before a commit. " + words(200, "asked"))
    session.note("a note of the program " + words(200, "noted"))
    calls = [("read_file", {"path": "src/a.py"}, CODE), ("run", {"command": "make " + words(300, "flag")}, LOG)]
    calls += [("read_file", {"path": "ports.csv"}, TABLE), ("fetch", {"url": "https://a.example/x"}, RECORDS)]
    calls += [("write", {"path": "b.py", "content": CODE, "tags": [f"tag {n}" for n in range(90)]}, "written")]
    for number, (name, given, result) in enumerate(calls):
        session.assistant([Text(f"I look at {name}. {words(150, 'thought')}"), Call(f"c{number}", name, given)])
        session.tool_result(f"c{number}", result, error=name == "fetch")
        session.user(f"and then, number {number}? The port of service7 is {9_000 + number}.")
    return session


def check_handles(payload: Payload, *, tools: bool) -> None:
    text = everything(payload)
    assert tools or not HANDLE.search(text), text[max(0, HANDLE.search(text).start() - 80) :][:200]  # type: ignore[union-attr]
    assert tools or not told(payload)


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_no_level_of_any_item_has_a_handle_without_expand(locale: str, tools: bool) -> None:
    """Of all items at all levels; with the tool, each shortened item says its handle, and says the rest alike."""
    session = all_kinds(locale, tools=tools)
    reader, timeline = session.log.reader, session.log.timeline
    lower = 0
    for row in range(len(timeline)):
        for lod in {timeline.level(row, lod) for lod in Lod} - {Lod.FULL}:
            bare, named = (str(reader.parts(row, lod, offered)) for offered in ((), ("expand", "recall")))
            assert f"#{timeline.id(row)}" in named
            assert not HANDLE.search(bare), bare[:200]
            assert len(bare) < len(named) < len(bare) + 60
            lower += 1
    assert lower > 12


@pytest.mark.slow(
    "1200-en-False", "1200-en-True", "1200-zh-False", "1200-zh-True", "20000-zh-True", "400-zh-False", "400-zh-True"
)
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize("size", [400, 1_200, 20_000])
def test_no_payload_has_a_handle_without_expand(locale: str, tools: bool, size: int) -> None:
    """At every size: shortened and left out, digests, recalled unasked and by the program, one question, windows."""
    session = all_kinds(locale, tools=tools)
    budget, named = Budget(size, recall=0.2), 0
    for step in range(6):
        if step == 1:
            session.items.recall("port of service7", tokens=150)
            session.items.expand("4", start=3, lines=5)
        if step == 2:
            with suppress(NotShorter):  # in the smallest window
                session.summaries.compact(budget)
        if step == 3:
            session.windows.register("todo")
            session.windows.open("todo")
        session.user(f"What was the port of service{step}, and which step failed?")
        payload = session.compose(budget, ask=step == 5)
        check_handles(payload, tools=tools)
        named += bool(HANDLE.search(everything(payload)))
        session.reply("It is in the table.")
    assert bool(named) is tools
