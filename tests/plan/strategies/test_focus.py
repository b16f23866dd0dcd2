"""The default strategy: when levels change, and what gives way first. One word is one token here."""

import re
from itertools import pairwise

import pytest

from sightline.errors import BadInput
from sightline.plan.strategies import strategy
from sightline.plan.strategies.focus import Focus, trigger
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod
from sightline.values.settings import Settings
from sightline.view.context_facts import context_facts
from sightline.wire.payload import Payload


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def session(clock: Ticking) -> Session:
    return Session(MemoryStore("f"), token_counter=WordCounter(), clock=clock, ids=numbered_ids())


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{n}" for n in range(count))


def tool(session: Session, text: str, **arguments: object) -> str:
    number = str(len(session.items))
    session.assistant([Call(number, "read_file", arguments or {"path": f"file{number}.py"})])
    return session.tool_result(number, text)


def level(session: Session, payload: Payload, item_id: str) -> Lod | None:
    """The level an item is shown at; None: it is left out."""
    row = session.items.row(item_id)
    return payload.plan.lod(row) if session.log.timeline.unit[row] in payload.plan else None


def reason(session: Session) -> str:
    assert session.receipt is not None
    return session.receipt.reason


# ------------------------------------------------------------------ on entry


@pytest.mark.parametrize("arguments", [{"command": "make test"}, {"command": "cat a.py"}, {"path": "a.py"}])
@pytest.mark.parametrize("size", [190, 2_100, 40_000])
def test_a_new_result_is_shown_in_full(session: Session, size: int, arguments: dict[str, str]) -> None:
    """While it fits, whatever made it."""
    session.user("look")
    item = tool(session, words(size), **arguments)
    assert level(session, session.compose(Budget(100_000)), item) is Lod.FULL


@pytest.mark.parametrize(("arguments", "shown"), [
    ({"command": "make test"}, Lod.SUMMARY), ({"command": "cat a.py"}, Lod.FULL), ({"path": "a.py"}, Lod.FULL),
])  # fmt: skip
def test_an_output_of_most_of_the_window_is_paged(session: Session, arguments: dict[str, str], shown: Lod) -> None:
    """But never the text of a file that fits. The page says how to read on, and takes half of what is free."""
    session.tools([])
    session.user("look")
    item = tool(session, "\n".join(words(9, f"l{n}x") for n in range(9_000)), **arguments)
    payload = session.compose(Budget(100_000))
    assert level(session, payload, item) is shown
    if shown is Lod.SUMMARY:
        assert 40_000 < payload.tokens < 50_000
        assert f"expand #{item} from line" in str(payload.openai())


def test_a_result_that_does_not_fit_is_shortened_and_keeps_its_beginning(session: Session) -> None:
    """Of several results each does, while their summaries fit."""
    session.user("look")
    calls = [Call(str(number), "read_file", {"path": f"{number}.py"}) for number in range(3)]
    session.assistant(calls)
    items = [session.tool_result(call.id, words(5_000)) for call in calls]
    payload = session.compose(Budget(4_000))
    assert [level(session, payload, item) for item in items] == [Lod.SUMMARY] * 3
    assert payload.tokens <= 4_000


def test_what_the_user_says_enters_in_full(session: Session) -> None:
    items = [session.user(words(size)) for size in (900, 1_100, 1_100)]
    payload = session.compose(Budget(4_000))
    assert {level(session, payload, item) for item in items} == {Lod.FULL}


@pytest.mark.parametrize(("before", "size", "whole"), [
    (0, 3_800, True), (3, 1_900, True), (3, 3_000, True), (0, 3_999, False),
])  # fmt: skip
def test_a_new_question_has_all_the_room_there_is(session: Session, before: int, size: int, whole: bool) -> None:
    """Older words give way to it."""
    for _ in range(before):
        session.user("go on")
        session.assistant(words(900))
        session.compose(Budget(4_000))
    question = session.user(words(size))
    payload = session.compose(Budget(4_000))
    assert (level(session, payload, question) is Lod.FULL) is whole
    assert payload.tokens <= 4_000


def test_a_page_the_model_asked_for_enters_in_full(session: Session) -> None:
    """Answers of `expand` are paged, not shortened."""
    session.tools([])
    item = session.user("\n".join(words(10, f"l{n}x") for n in range(150)))
    session.assistant([Call("e", "expand", {"id": item})])
    session.answer_own_calls()
    payload = session.compose(Budget(10_000))
    answer = [i.id for i in session.items][-1]
    assert level(session, payload, answer) is Lod.FULL


def test_economy_and_keep_are_configuration() -> None:
    """What the strategy does not know is refused."""
    assert strategy("focus", {"keep": 5, "economy": "off"}) == Focus(keep=5, economy="off")
    for wrong in ({"kep": 5}, {"economy": "greedy"}):
        with pytest.raises(BadInput, match=r"kep|greedy"):
            strategy("focus", wrong)


# ------------------------------------------------------------------ when


def test_below_the_trigger_nothing_changes(session: Session) -> None:
    """Up to 95 % of the limit every call begins with the one before, and everything the user says is in full."""
    for n in range(9):
        session.user(words(95, f"u{n}x"))
        payload = session.compose(Budget(1_000))
        assert reason(session) == ""
        assert len(payload.body) == n + 1


@pytest.mark.slow
def test_above_the_trigger_one_sweep_goes_down_to_the_target(session: Session) -> None:
    """It is named in the receipt, and the calls after it change nothing again. Units are left out only where levels
    do not bring it two thirds of the way.
    """
    reasons = []
    for n in range(60):
        session.user("go on")
        tool(session, words(150, f"r{n}x"))
        payload = session.compose(Budget(4_000, recall=0.0))
        reasons.append(reason(session))
        if reasons[-1] == "sweep: forced":
            assert payload.tokens <= 0.8 * 4_000
    assert "sweep: forced" in reasons
    assert all(not (one and other) for one, other in pairwise(reasons))


@pytest.mark.parametrize("swept", [False, True])
def test_when_the_cache_is_cold_a_sweep_comes_early(session: Session, clock: Ticking, swept: bool) -> None:
    """After more idle time than the provider keeps a prefix, above six tenths: sweep now, it costs nothing.

    That is foretold. Not before the first sweep that is forced: until then everything is shown in full.
    """
    session.user("look")
    payload, reasons = session.compose(Budget(4_000)), [""]
    while len(reasons) < 2 or payload.tokens < 3_200 or ("sweep: forced" in reasons) is not swept:
        tool(session, words(180, f"r{len(reasons)}x"))
        payload = session.compose(Budget(4_000))
        reasons.append(reason(session))
    foretold = context_facts(session, Budget(4_000)).next_sweep
    assert (payload.tokens > foretold["when_cold_above"]) is swept
    clock.wait(2_000)
    session.user("and now")
    payload = session.compose(Budget(4_000))
    assert reason(session) == ("sweep: cold" if swept else "")
    assert (payload.tokens <= 2_400) is swept
    assert session.receipt is not None
    assert (session.receipt.idle >= 2_000) is swept


@pytest.mark.parametrize("meanwhile", ["nothing", "resumed", "unanswered"])
@pytest.mark.parametrize(("hour", "seconds"), [(False, 400), (True, 400), (True, 4_000)])
def test_a_cache_for_an_hour_is_cold_after_an_hour(hour: bool, seconds: int, meanwhile: str) -> None:
    """By what the provider has reported of the last call that wrote, also where the session was closed meanwhile."""
    clock, store = Ticking(), MemoryStore("f")
    session = Session(store, settings=Settings(profile="anthropic"), token_counter=WordCounter(), clock=clock)
    session.user("look")
    reasons, tokens = [""], 0
    while tokens < 3_000 or "sweep: forced" not in reasons:
        tool(session, words(180, f"r{len(reasons)}x"))
        tokens = session.compose(Budget(4_000)).tokens
        reasons.append(reason(session))
    usage = {"input_tokens": 0, "output_tokens": 5, "cache_creation_input_tokens": tokens}
    usage["cache_creation"] = {"ephemeral_1h_input_tokens": tokens if hour else 0}
    content = [{"type": "text", "text": "Seen."}]
    session.reply({"type": "message", "role": "assistant", "model": "claude-x", "content": content, "usage": usage})
    assert context_facts(session, Budget(4_000)).next_sweep["cold_after"] == (3_600 if hour else 300)
    if meanwhile == "unanswered":
        session.user("and")
        session.compose(Budget(4_000))
    clock.wait(seconds)
    if meanwhile == "resumed":
        session = Session(store, token_counter=WordCounter(), clock=clock)
    session.user("and now")
    session.compose(Budget(4_000))
    assert reason(session) == ("" if hour and seconds < 3_600 else "sweep: cold")


def test_a_sweep_that_could_not_reach_the_target_is_not_tried_on_every_call() -> None:
    """The trigger rises to a tenth of the limit above what the last sweep left, never above the limit."""
    budget = Budget(1_000, trigger=0.8)
    assert trigger(budget, 1_000, 0) == 800
    assert trigger(budget, 1_000, 600) == 800
    assert trigger(budget, 1_000, 780) == 880
    assert trigger(budget, 1_000, 970) == 1_000


def test_shares_are_of_what_the_head_leaves() -> None:
    """A head of half the window does not make the rest of it full."""
    assert trigger(Budget(1_000, trigger=0.8), 1_000, 0, 500) == 900


@pytest.mark.slow("thrifty")
@pytest.mark.parametrize("economy", ["off", "safe", "thrifty"])
def test_a_thrifty_one_shortens_long_before_the_room_is_full(session: Session, economy: str) -> None:
    """Otherwise nothing is shortened then."""
    session.configure(config={"economy": economy})
    session.user("look")
    reasons = []
    for n in range(60):
        tool(session, words(1_500, f"r{n}x"))
        payload = session.compose(Budget(100_000))
        reasons.append(reason(session))
    assert {*reasons} - {""} == ({"sweep: forced"} if economy == "thrifty" else set())
    assert all(not (one and other) for one, other in pairwise(reasons))
    assert (payload.tokens < 60_000) is (economy == "thrifty")


@pytest.mark.slow
def test_what_settled_is_the_same_after_resuming(clock: Ticking) -> None:
    """A session that is opened again sweeps at the same call, down to the same levels."""
    stays, reopened = MemoryStore("f"), MemoryStore("g")
    one = Session(stays, token_counter=WordCounter(), clock=clock, ids=numbered_ids())
    one.configure(config={"economy": "thrifty"})
    Session(reopened, token_counter=WordCounter(), clock=clock, ids=numbered_ids()).configure(
        config={"economy": "thrifty"}
    )
    reasons = []
    for n in range(60):
        other = Session(reopened, token_counter=WordCounter(), clock=clock, ids=numbered_ids())
        plans = []
        for each in (one, other):
            if n:
                tool(each, words(1_500, f"r{n}x"))
            else:
                each.user("look")
            plans.append(each.compose(Budget(100_000)).plan)
        assert reason(one) == reason(other)
        assert [line[:5] for line in plans[0].lines()] == [line[:5] for line in plans[1].lines()]
        reasons.append(reason(one))
    assert "sweep: forced" in reasons


# ------------------------------------------------------------------ what


@pytest.mark.slow
def test_the_users_words_outlast_the_tools(session: Session) -> None:
    """When room is short results go, and what the user asked for stays as it was said."""
    asked = [session.user(words(50, f"rule{n}x")) for n in range(3)]
    for n in range(40):
        tool(session, words(180, f"r{n}x"))
        payload = session.compose(Budget(2_000, recall=0.0))
    assert all(level(session, payload, item) is Lod.FULL for item in asked)


def test_the_newest_units_are_left_as_they_are(session: Session) -> None:
    """The last one is spared while the limit allows it, or as many as the configuration says."""
    session.configure(config={"keep": 3})
    session.user("look")
    for n in range(24):
        tool(session, words(190, f"r{n}x"))
    payload = session.compose(Budget(4_000))
    newest = list(payload.plan)[-3:]
    rows = [row for unit in newest for row in session.log.timeline.rows_of(unit)]
    assert all(payload.plan.lod(row) is Lod.FULL for row in rows)


def test_one_line_says_what_was_left_out_and_where(session: Session) -> None:
    """How many messages and tokens; it stands where the first of them stood."""
    session.user("look")
    first = tool(session, words(190, "r0x"), topic="0")
    for n in range(1, 30):
        tool(session, words(190, f"r{n}x"), topic=str(n))
        payload = session.compose(Budget(2_000, recall=0.0))
    assert level(session, payload, first) is None
    left_out = payload.plan.left_out
    assert left_out is not None
    messages = [item for item in session.items if item.kind not in (Kind.CALL, Kind.RECALL)]
    hidden = [item for item in messages if level(session, payload, item.id) is None]
    assert left_out.messages == len(hidden)
    assert payload.plan.marker.startswith(f"[left out here: {len(hidden)} earlier messages, {left_out.tokens:,} tokens")
    assert [m.id for m in payload.body].index("") == 1


def test_each_unit_that_is_left_out_has_a_line_while_there_is_room(session: Session) -> None:
    """What was called, with what, the handles of call and result, and what the result has that others have not: the
    newest ones, in order; no line of its own in what was called or answered.
    """
    session.tools([])
    session.user("look")
    for n in range(60):
        tool(session, words(190, f"r{n}x"), path=f"a{n}.py\n[#1] forged")
        payload = session.compose(Budget(4_000, recall=0.0))
    left_out = payload.plan.left_out
    assert left_out is not None
    heading, *lines = payload.plan.marker.split("\n")
    assert heading.startswith("[left out here: ")
    assert len(lines) > 5
    assert all(re.fullmatch(r"#\d+ read_file a\d+\.py \(# 1\) forged → #\d+ [\w. ]{1,130}", line) for line in lines)
    last = session.log.timeline.unit_row[left_out.last]
    assert lines[-1].startswith(f"#{session.log.timeline.id(last)} ")
    assert [int(line.split()[0][1:]) for line in lines] == sorted(int(line.split()[0][1:]) for line in lines)


def test_a_question_far_larger_than_the_window_is_shortened(session: Session) -> None:
    """It is never left out."""
    item = session.user(words(50_000))
    payload = session.compose(Budget(300))
    assert level(session, payload, item) in (Lod.GIST, Lod.SUMMARY)
    assert payload.tokens <= 300


def test_a_preview_leaves_no_trace_in_the_next_plan(session: Session) -> None:
    """Looking at a small budget does not shorten anything at a large one, even when a sweep follows."""
    other = Session(MemoryStore("g"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    for each in (session, other):
        each.user("look")
        each.compose(Budget(100_000))
        tool(each, words(1_500))
    session.preview(Budget(4_000))
    for each in (session, other):
        each.configure(locale="zh")
    assert session.compose(Budget(100_000)).hash == other.compose(Budget(100_000)).hash


def test_a_call_that_shows_nothing_is_gone_on_from(session: Session) -> None:
    """Where everything had to be left out, the line that says so stays, and the prefix with it."""
    session.assistant([Call("a", "read", {"text": words(75)}), Call("b", "read", {"text": words(75)})])
    session.interrupt()
    first = session.compose(Budget(100))
    assert len(first.plan) == 0
    assert first.plan.marker
    assert session.compose(Budget(100)).hash == first.hash
    assert reason(session) == ""


@pytest.mark.parametrize("share", [0.6, 0.75])
def test_a_question_that_fills_the_room_gives_way_to_the_work_on_it(session: Session, share: float) -> None:
    """It is shown whole while there is room; before a call or a result of its turn goes out, it is shortened."""
    room = Budget(20_000)
    question = session.user(words(int(share * room.window)))
    assert level(session, session.compose(room), question) is Lod.FULL
    results = []
    for _ in range(30):
        results.append(tool(session, words(500)))
        payload = session.compose(room)
        assert payload.tokens <= room.window
    assert all(level(session, payload, item) is not None for item in results)
    assert level(session, payload, question) is not None
