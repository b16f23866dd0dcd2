"""`repeat_unchanged=False`: a result that is the same as one shown in full only says so."""

import random
import re
from contextlib import suppress
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.compose.verify import verify
from sightline.errors import PinnedOverflow, SightlineError
from sightline.testing import WordCounter
from sightline.values.items import Call, Kind, Lod, Message, Role, plain_text
from sightline.view.call_rows import call_at
from sightline.wire.payload import Payload

BUDGET = Budget(8_000, recall=0)
TEXT = "\n".join(f"{number}→line {number} of the file has words" for number in range(1, 80))
OTHER = TEXT.replace("line 7 ", "line seven ")


def session_with(**options: object) -> Session:
    settings = Settings(repeat_unchanged=False, **options)  # type: ignore[arg-type]
    session = Session(MemoryStore("s"), token_counter=WordCounter(), settings=settings)
    session.user("Read it.")
    return session


def read(session: Session, text: str = TEXT, tool: str = "Read", **arguments: object) -> str:
    """A call that reads a file, and its result. Returns the result's id."""
    call_id = f"c{session.size}"
    session.assistant([Call(call_id, tool, {"file_path": "/src/a.py", **arguments})])
    session.tool_result(call_id, text)
    return list(session.items)[-1].id


def said(payload: Payload, item: str) -> str:
    """The text of an item as the payload shows it."""
    return next(plain_text(message.parts) for message in payload.body if message.id == item)


def fill(session: Session, first: int, last: int) -> None:
    for at in range(first, last):
        read(session, TEXT.replace("the file", f"file {at}"), file_path=f"/src/f{at}.py")


def is_named(payload: Payload, item: str, source: str) -> bool:
    return said(payload, item) == f"[as in #{source}, unchanged: the result of the same call above]"


def good(session: Session) -> bool:
    return all(check.good for check in verify(session.log))


def test_the_same_result_of_the_same_call_only_names_the_first() -> None:
    """Each further one names the first, which is in full; what was sent stays, and the log has all of them whole."""
    session = session_with()
    first = read(session)
    sent = session.compose(BUDGET)
    second = read(session)
    more = session.compose(BUDGET)
    third = read(session)
    payload = session.compose(BUDGET)
    assert said(payload, first) == TEXT
    assert is_named(payload, second, first)
    assert is_named(payload, third, first)
    assert list(more.body)[: len(sent.body)] == list(sent.body)
    assert list(payload.body)[: len(more.body)] == list(more.body)
    assert session.items.text(second) == session.items.text(third) == TEXT
    assert good(session)
    assert more.tokens < sent.tokens + 60
    lines = {line.id: line for line in payload.plan.lines()}
    assert (lines[second].lod, lines[second].why) == (Lod.GIST, f"as in #{first}, unchanged")
    framed = sum(line.tokens + payload.plan.profile.framing(line.kind) for line in lines.values())
    assert framed + payload.plan.fixed == payload.tokens
    [gists, *_] = payload.reductions()
    assert gists.removed == (second, third)
    assert gists.tokens == 2 * (lines[first].tokens - lines[second].tokens)


def test_the_views_count_what_was_sent() -> None:
    """The list of calls and its totals have the tokens of the text that was sent."""
    session = session_with()
    read(session)
    session.compose(BUDGET)
    read(session)
    payload = session.compose(BUDGET)
    row, facts = call_at(session, 3)  # the first read was before any payload
    assert facts.tokens == payload.tokens
    assert sum(size for levels in row.tokens.values() for size in levels.values()) == payload.tokens


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("Read", {"offset": 3}, TEXT),  # another call
        ("Read", {}, OTHER),  # another result
        ("View", {}, TEXT),  # another tool
    ],
)
def test_what_differs_is_shown(tool: str, arguments: dict[str, object], text: str) -> None:
    """Another call, or another result, is in full."""
    session = session_with()
    read(session)
    session.compose(BUDGET)
    second = read(session, text, tool, **arguments)
    assert said(session.compose(BUDGET), second) == text


@pytest.mark.parametrize("tool", ["file_reader", "read_file", "Edit", "write_file", "bash"])
def test_only_calls_that_read_and_never_file_reader(tool: str) -> None:
    """`file_reader` gives the whole file each time (point 348), and a call that may change something did it again."""
    session = session_with()
    arguments = {"command": "make build"} if tool == "bash" else {}
    if tool == "bash":
        for _ in range(2):
            session.assistant([Call(f"b{session.size}", tool, arguments)])
            session.tool_result(session.open_calls[0].id, TEXT)
    else:
        read(session, tool=tool)
        read(session, tool=tool)
    payload = session.compose(BUDGET)
    assert [said(payload, item.id) for item in session.items if item.kind is Kind.RESULT] == [TEXT, TEXT]


def test_by_default_and_for_a_small_result_nothing_is_named() -> None:
    """Nobody gets it who did not ask for it, and two lines are no longer than what would replace them."""
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    session.user("Read it.")
    read(session)
    second = read(session)
    assert said(session.compose(BUDGET), second) == TEXT
    session = session_with()
    read(session, "two lines\nof text")
    second = read(session, "two lines\nof text")
    assert said(session.compose(BUDGET), second) == "two lines\nof text"


def test_between_two_equal_results_was_another_one() -> None:
    """Then the file has changed twice, and the last result is in full."""
    session = session_with()
    read(session)
    read(session, OTHER)
    third = read(session)
    assert said(session.compose(BUDGET), third) == TEXT


@pytest.mark.parametrize("strategy", ["focus", "sliding", "rounds", ("rounds", "sliding"), "summary"])
def test_a_sweep_decides_again(strategy: str | tuple[str, ...]) -> None:
    """No payload names a result that it does not show in full, whatever the strategy; and every payload verifies."""
    session = session_with(strategy=strategy)
    named = swept = 0
    for number in range(40):
        if number % 7 == 3:
            session.user("Go on.")
        if number % 3:
            fill(session, number, number + 1)
        else:
            read(session)
        payload = session.compose(BUDGET)
        swept += bool(session.receipt and session.receipt.reason)
        texts = {message.id: plain_text(message.parts) for message in payload.body}
        for text in texts.values():
            if text.startswith("[as in #"):
                named += 1
                assert texts[text.removeprefix("[as in #").partition(",")[0]] == TEXT
        assert payload.tokens <= payload.plan.limit
    assert named
    assert swept
    assert good(session)


def test_after_a_sweep_it_is_in_full_again_in_its_place() -> None:
    """The newer one is shown, and the older is what the newer one shows again."""
    session = session_with()
    first = read(session)
    fill(session, 0, 3)
    second = read(session)
    fill(session, 3, 6)
    assert is_named(session.compose(BUDGET), second, first)
    session.configure(reductions=("gists", "windows", "trim"))
    payload = session.compose(BUDGET)
    assert said(payload, second) == TEXT
    assert said(payload, first) != TEXT
    assert payload.plan.unchanged == {}
    assert good(session)


def test_a_resumed_session_goes_on(tmp_path: Path) -> None:
    """The last payload is made again from its receipts, and a third result names the first."""
    settings = Settings(repeat_unchanged=False)
    session = Session.new(tmp_path, root=tmp_path / "r", settings=settings, token_counter=WordCounter())
    session.user("Read it.")
    first = read(session)
    session.compose(BUDGET)
    read(session)
    before = session.compose(BUDGET)
    session.close()
    with Session.resume(session.id, tmp_path, root=tmp_path / "r", token_counter=WordCounter()) as session:
        third = read(session)
        payload = session.compose(BUDGET)
        assert list(payload.body)[: len(before.body)] == list(before.body)
        assert is_named(payload, third, first)
        assert session.receipt is not None
        assert session.receipt.reason == ""
        assert payload.tokens < before.tokens + 60
        assert good(session)


def test_look_at_it_in_full_names_the_one_that_is_shown() -> None:
    """And `expand` shows the whole result by its own handle."""
    session = session_with()
    session.tools([])
    first = read(session)
    second = read(session)
    session.compose(BUDGET)
    session.add(Message(Role.ASSISTANT, (Call("l", "look", {"target": f"#{second}", "level": "full"}),)))
    session.answer_own_calls()
    assert plain_text(session.answered.pop().result.parts).startswith(f"[#{first} is shown as full already: ")
    session.compose(BUDGET)
    session.add(Message(Role.ASSISTANT, (Call("e", "expand", {"id": f"#{second}"}),)))
    session.answer_own_calls()
    assert TEXT in plain_text(session.answered.pop().result.parts)


def test_a_pinned_result_is_in_full() -> None:
    """A pin says that it is shown whole, in its place."""
    session = session_with()
    read(session)
    second = read(session)
    session.items.pin(second)
    assert said(session.compose(BUDGET), second) == TEXT
    third = read(session)
    assert said(session.compose(BUDGET), third) != TEXT
    session.items.pin(third)
    assert said(session.compose(BUDGET), third) == TEXT
    assert good(session)


STRATEGIES = ("focus", "sliding", "rounds", "summary", ("rounds", "sliding"), ("rounds", "focus"))


def happen(session: Session, chance: random.Random, step: int) -> Session:
    """Something happens in a session. Gives the session that goes on: it may be a fork."""
    results = [item.id for item in session.items if item.kind is Kind.RESULT]
    match chance.choice(["read"] * 12 + ["ask", "pin", "reductions", "repeat", "look", "compact", "fork"]):
        case "read":
            names = chance.choices(["/a.py", "/b.py", "/c.py"], k=chance.choice([1, 1, 2, 3]))
            calls = [Call(f"c{step}_{at}", "Read", {"file_path": name}) for at, name in enumerate(names)]
            session.assistant(calls)
            for call in calls:
                session.tool_result(call.id, chance.choice([TEXT, TEXT, OTHER, "short"]))
        case "ask":
            session.user(f"And question {step}?")
        case "pin" if results:
            session.items.pin(chance.choice(results))
        case "reductions":
            kept = chance.choice([("gists", "windows", "trim"), ("windows", "summaries", "trim")])
            session.configure(reductions=kept)
        case "repeat":
            session.configure(repeat_unchanged=not session.settings.repeat_unchanged)
        case "look" if results:
            target, level = chance.choice(results), chance.choice(["gist", "summary", "full", "out"])
            session.add(Message(Role.ASSISTANT, (Call(f"l{step}", "look", {"target": target, "level": level}),)))
            session.answer_own_calls()
            session.interrupt()  # where the strategy lowers nothing, it is no tool of ours
        case "compact":
            with suppress(SightlineError):
                session.summaries.compact()
        case "fork" if results:
            return session.fork(chance.choice(results))
    return session


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_no_payload_names_what_it_does_not_show(seed: int) -> None:
    """Reads, pins, `look`, forks, compactions and settings by chance: what is named is in full, and the laws hold."""
    chance = random.Random(seed)
    session, before = session_with(strategy=chance.choice(STRATEGIES)), None
    session.tools([])
    for step in range(60):
        now = happen(session, chance, step)
        session, before = now, before if now is session else None
        try:
            payload = session.compose(Budget(5_000, recall=chance.choice([0, 0.1])))
        except PinnedOverflow:
            before = None
            continue
        texts = {message.id: plain_text(message.parts) for message in payload.body}
        for item, text in texts.items():
            if named := re.match(r"\[as in #(\d+), unchanged", text):
                assert texts[named[1]] == session.items.text(item)
        assert payload.tokens <= payload.plan.limit
        said_now = [(message.role, message.parts) for message in payload.body]
        if before is not None and session.receipt is not None and not session.receipt.reason:
            assert said_now[: len(before)] == before
        before = said_now
    assert good(session)
