"""Rounds: files are in full for the round that reads them, and gists from the next question on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import BadInput, Budget, Session, Settings
from sightline.log.columns import FILE_READ
from sightline.log.stores.jsonl import JsonlStore
from sightline.plan.strategies import strategy
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod
from sightline.wire.payload import Payload

WIDE = Budget(100_000, recall=0)


def made(locale: str = "en", store: MemoryStore | JsonlStore | None = None, **config: int) -> Session:
    settings = Settings(strategy="rounds", config=config, locale=locale)
    store = MemoryStore("s") if store is None else store
    return Session(store, settings=settings, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


def code(name: str, lines: int = 60) -> str:
    return f"def {name}():\n" + "".join(
        f"    marker_{name}_{n} = open_the_file({n}, 'of many words here')\n" for n in range(lines)
    )


def reads(session: Session, number: int, text: str, tool: str = "read_file", call_id: str = "") -> str:
    """One call and its result. The result's id."""
    call_id = call_id or f"call_{number}"
    session.assistant([Call(call_id, tool, {"path": f"src/file_{number}.py"})])
    return session.tool_result(call_id, text)


def compose(session: Session, budget: Budget = WIDE) -> Payload:
    payload = session.compose(budget)
    assert payload.tokens <= budget.window
    return payload


def levels(payload: Payload) -> dict[str, Lod]:
    return {line.id: line.lod for line in payload.plan.lines() if line.kind is Kind.RESULT}


def text_of(payload: Payload) -> str:
    return str(payload.openai()["messages"])


@pytest.mark.accepts(313, 315)
@pytest.mark.parametrize(
    ("locale", "line"),
    [
        ("en", "[file read] file_1.py (python, 61 lines, functions: load)"),
        ("zh", "[文件已读取] file_1.py (python, 61行, 函数: load)"),
    ],
)
def test_a_file_is_in_full_for_its_round_and_a_gist_in_the_next(locale: str, line: str) -> None:
    """The current round sees all of it, in every call; the next question sees the line, and nothing of the content."""
    session = made(locale)
    session.user("what does it load?")
    result = reads(session, 1, code("load"))
    for _ in range(2):
        payload = compose(session)
        assert levels(payload) == {result: Lod.FULL}
        assert "marker_load_40" in text_of(payload)
        session.assistant("it loads the file")
    session.user("and then?")
    payload = compose(session)
    assert levels(payload) == {result: Lod.GIST}
    assert line in text_of(payload)
    assert "marker_load_40 = " not in text_of(payload)


@pytest.mark.accepts(305, 306)
def test_only_file_reads_become_gists() -> None:
    """Told by the id of the call or by its tool; other results and what was said stay byte for byte."""
    session = made()
    session.user("go")
    by_id = reads(session, 1, code("one"), tool="whatever", call_id="call_read_file_1")
    by_tool = reads(session, 2, code("two"), tool="file_reader")
    other = reads(session, 3, code("three"), tool="run_python", call_id="call_python_x")
    before = compose(session)
    session.user("next")
    payload = compose(session)
    assert levels(payload) == {by_id: Lod.GIST, by_tool: Lod.GIST, other: Lod.FULL}
    after = {message.id: message for message in payload.body}
    for message in before.body:
        assert message.id in (by_id, by_tool) or after[message.id] == message


def test_a_failed_read_stays_as_it_is() -> None:
    """An error is no file, whatever tool reports it."""
    session = made()
    session.user("go")
    session.assistant([Call("a", "read_file", {"path": "a.py"})])
    failed = session.tool_result("a", "no such file " * 60, error=True)
    session.user("next")
    assert levels(compose(session)) == {failed: Lod.FULL}


def test_the_prefix_changes_once_per_question_and_says_why() -> None:
    """A question after a read is a sweep; within a round, and after one without reads, nothing sent before changes."""
    session = made()
    session.user("go")
    reads(session, 1, code("one"))
    reasons = []
    for turn in ("", "next", "", "and now?", ""):
        if turn:
            session.user(turn)
        payload = compose(session)
        reasons.append(payload.plan.reason)
        session.assistant("well")
    assert reasons == ["", "sweep: rounds", "", "", ""]


def test_what_the_program_says_begins_no_round() -> None:
    """A message in the user's place that is not the user's leaves the files of the round in full."""
    session = made()
    session.user("go")
    result = reads(session, 1, code("one"))
    compose(session)
    session.note("your answer was no JSON; try again")
    payload = compose(session)
    assert levels(payload) == {result: Lod.FULL}
    assert payload.plan.reason == ""


def test_a_history_that_is_new_enters_as_gists() -> None:
    """The first call of a conversation that was read in whole needs no sweep to show its earlier files as gists."""
    session = made()
    session.user("go")
    old = reads(session, 1, code("one"))
    session.user("next")
    new = reads(session, 2, code("two"))
    payload = compose(session)
    assert levels(payload) == {old: Lod.GIST, new: Lod.FULL}
    assert payload.plan.reason == ""


def test_a_pinned_read_and_one_that_is_wanted_stay_in_full() -> None:
    """What the caller pins is never reduced; what somebody expands comes back with the next sweep."""
    session = made()
    session.user("go")
    pinned, wanted = reads(session, 1, code("one")), reads(session, 2, code("two"))
    session.items.pin(pinned)
    session.user("next")
    assert levels(compose(session)) == {pinned: Lod.FULL, wanted: Lod.GIST}
    session.items.expand(wanted, now=True)
    assert levels(compose(session))[wanted] is Lod.FULL


@pytest.mark.accepts(352)
def test_ten_rounds_cost_little_more_than_the_last() -> None:
    """Of ten rounds with a file each, the tenth shows one file in full and nine lines: most of the tokens are saved."""
    session, whole = made(messages=100), 0
    for n in range(10):
        session.user(f"question {n}")
        text = code(f"name_{n}")
        whole += WordCounter().count(text)
        reads(session, n, text)
        payload = compose(session)
        session.assistant("done")
    assert sorted(levels(payload).values()) == [Lod.GIST] * 9 + [Lod.FULL]
    assert payload.tokens < 0.5 * whole


# ---------------------------------------------------------------------- too many messages


def turns(session: Session, count: int) -> list[str]:
    return [item for n in range(count) for item in (session.user(f"question {n}"), session.assistant(f"answer {n}"))]


def test_a_question_that_finds_too_many_keeps_the_newest() -> None:
    """With 21 messages the system prompt, late system items and pins stay, and the newest five of the others."""
    session = made()
    session.system("be brief")
    ids = turns(session, 8)
    compose(session)
    session.items.pin(ids[2])
    late = session.system("be briefer")
    last = session.user("question 8")
    payload = compose(session)
    assert [message.id for message in payload.body] == [*ids, late, last]  # 19 messages with the system prompt
    session.assistant("answer 8")
    newest = session.user("question 9")  # the 21st
    payload = compose(session)
    assert payload.plan.reason == "sweep: rounds"
    shown = [message.id for message in payload.body]
    assert shown[0] == ids[2]
    assert late in shown
    assert shown[-1] == newest
    assert len(shown) == 1 + 1 + 5
    assert session.items.text(ids[0]) == "question 0"  # out, and still there


def test_a_call_keeps_its_results_though_they_are_more_than_five() -> None:
    """The newest messages are made whole units: no result without its call, none of a call's results missing."""
    session = made()
    turns(session, 8)
    session.user("read them all")
    session.assistant([Call(f"c{n}", "read_file", {"path": f"{n}.py"}) for n in range(7)])
    for n in range(7):
        session.tool_result(f"c{n}", f"x = {n}")
    session.user("and?")
    messages = compose(session).openai()["messages"]
    called = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    assert called == [f"c{n}" for n in range(7)]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == called


def test_a_long_round_is_not_cut() -> None:
    """Only a question looks at the number of messages: tools may be called more than twenty times."""
    session = made()
    session.user("go on until it is done")
    ids = []
    for n in range(15):
        ids.append(reads(session, n, f"x = {n}"))
        assert list(levels(compose(session))) == ids


def test_nothing_is_left_out_where_that_is_switched_off() -> None:
    """Without trimming all messages stay; files are gists all the same."""
    session = made()
    session.configure(reductions=("gists", "windows", "summaries"))
    session.user("go")
    result = reads(session, 1, code("one"))
    ids = turns(session, 15)
    payload = compose(session)
    assert set(ids) <= {message.id for message in payload.body}
    assert levels(payload) == {result: Lod.GIST}


def test_files_stay_whole_where_gists_are_switched_off() -> None:
    """A file that was read is shown in full for as long as it is shown."""
    session = made()
    session.configure(reductions=("windows", "summaries", "trim"))
    session.user("go")
    result = reads(session, 1, code("one"))
    session.user("next")
    assert levels(compose(session)) == {result: Lod.FULL}


# ---------------------------------------------------------------------- over the budget


def test_over_the_budget_the_newest_stay_and_files_are_gists_still() -> None:
    """The window slides; room that there is does not bring an earlier file back in full."""
    session = made()
    first = session.user("go " * 20)
    old = reads(session, 1, code("one"))
    session.assistant("word " * 300)
    session.user("next")
    new = reads(session, 2, code("two", 100))
    narrow = Budget(session.preview(WIDE).tokens - 1, recall=0)
    payload = compose(session, narrow)
    assert payload.plan.reason == "sweep: rounds"
    assert first not in [message.id for message in payload.body]
    assert levels(payload) == {old: Lod.GIST, new: Lod.FULL}
    session.assistant("word " * 400)
    payload = compose(session, narrow)  # in the middle of a round
    assert payload.plan.reason == "sweep: window"
    assert old not in levels(payload)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 2), st.booleans()), min_size=1, max_size=9),
    st.integers(260, 3_000),
    st.integers(2, 8),
)
def test_the_laws_hold_in_every_window(rounds: list[tuple[int, int, bool]], window: int, messages: int) -> None:
    """Budget, pairs, order, the question, and a prefix that changes only with a reason; no file of an earlier round is
    in full.
    """
    session = made(messages=messages, keep=2)
    before: list[object] = []
    for n, (lines, calls, composes) in enumerate(rounds):
        asked = session.user(f"question {n}")
        for call in range(calls):
            reads(session, 10 * n + call, code(f"f{call}", lines), tool=("read_file", "bash")[call % 2])
        if not composes:
            continue
        payload = compose(session, Budget(window, recall=0))
        shown = [message.id for message in payload.body]
        assert asked in shown
        written = payload.openai()["messages"]
        called = [call["id"] for message in written for call in message.get("tool_calls") or ()]
        assert [message["tool_call_id"] for message in written if message["role"] == "tool"] == called
        assert payload.plan.reason or list(payload.body)[: len(before)] == before
        before = list(payload.body)
        timeline, first = session.log.timeline, int(asked)
        for line in payload.plan.lines():
            row = timeline.row(line.id)
            assert row is not None
            closed = timeline.state[row] & FILE_READ and line.kind is Kind.RESULT and int(line.id) < first
            assert not closed or line.lod is timeline.level(row, Lod.GIST)


# ---------------------------------------------------------------------- the log


def test_a_file_read_is_known_after_reopening_and_on_a_branch(tmp_path: Path) -> None:
    """The mark is derived from the log: with the index, without it, and on a fork."""
    session = made(store=JsonlStore(tmp_path / "s.jsonl"))
    session.user("go")
    result = reads(session, 1, code("one"))
    session.close()
    for index in (True, False):
        if not index:
            for file in tmp_path.glob("*.idx"):
                file.unlink()
        again = made(store=JsonlStore(tmp_path / "s.jsonl"))
        row = again.log.timeline.row(result)
        assert row is not None
        assert again.log.timeline.state[row] & FILE_READ
        fork = again.fork(result)
        fork.user("next")
        assert levels(compose(fork)) == {result: Lod.GIST}
        fork.close()
        again.close()


def test_what_it_takes() -> None:
    """Numbers of messages, in snake or camel case; keeping more than may be there is refused."""
    assert strategy("rounds", {"messages": 30, "keep": 7}) == strategy("rounds", {"keep": 7, "messages": 30})
    with pytest.raises(BadInput, match="keep must not be more than messages"):
        strategy("rounds", {"keep": 30})
    with pytest.raises(BadInput, match="it takes messages, keep"):
        strategy("rounds", {"rounds": 3})
