"""A session that was composed in a small window is shown in full in a large one."""

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.compose.inputs import has_more_room
from sightline.plan.economies import THRIFTY_WINDOW
from sightline.testing import calling
from sightline.values.items import Call, Kind
from sightline.wire.payload import Payload

SMALL, LARGE = Budget(window=8_000, output=1_000), Budget(window=128_000, output=2_000)


def hidden_units(payload: Payload) -> list[int]:
    """The units that a payload leaves out, except recalls, whose sources it may show."""
    plan, kind_of = payload.plan, payload.plan.timeline.unit_kind
    return [unit for first, last in plan.gaps() for unit in range(first, last + 1) if kind_of(unit) is not Kind.RECALL]


def work(session: Session, turns: int = 12) -> None:
    """Read a file in each turn."""
    for turn in range(turns):
        session.user(f"Look at module {turn}.")
        session.compose(SMALL)
        session.reply(calling(("read_file", {"path": f"src/mod_{turn}.py"})))
        session.tool_result(session.open_calls[0].id, "\n".join(f"def handler_{turn}_{n}(): ..." for n in range(150)))
        session.compose(SMALL)
        session.reply(f"Module {turn} has 150 handlers.")


@pytest.mark.parametrize("strategy", ["focus", "sliding"])
def test_what_a_small_window_hid_is_there_in_a_large_one(strategy: str) -> None:
    """All of it, if it fits; the receipt says why the prefix changed, and the next payload goes on from there."""
    session = Session(MemoryStore("a"), settings=Settings(strategy=strategy))
    work(session)
    session.user("And now?")
    assert hidden_units(session.compose(SMALL))
    foreseen = session.preview(LARGE)
    payload = session.compose(LARGE)
    assert payload.openai() == foreseen.openai()
    assert not hidden_units(payload)
    assert session.receipt is not None
    assert session.receipt.reason == "sweep: room"
    sent = payload.openai()["messages"]
    assert all(f"def handler_{turn}_149(): ..." in str(sent) for turn in range(12))
    session.reply("Done.")
    session.user("Go on.")
    assert session.compose(LARGE).openai()["messages"][: len(sent)] == sent


def test_after_resuming_too() -> None:
    """The log says which budget the last payload had."""
    store = MemoryStore("a")
    work(Session(store))
    again = Session(store)
    again.user("And now?")
    assert not hidden_units(again.compose(LARGE))


def test_little_more_room_or_nothing_hidden_changes_nothing() -> None:
    """A prefix that a provider has in its cache is worth more than a little room."""
    session = Session(MemoryStore("a"))
    session.user("Hello.")
    before = session.compose(SMALL)
    session.reply("Hi.")
    session.user("And now?")
    assert session.compose(LARGE).openai()["messages"][: len(before.body)] == before.openai()["messages"]
    work(session)
    session.user("And now?")
    hidden = session.compose(SMALL)
    assert hidden_units(hidden)
    session.reply("Hm.")
    session.user("Well?")
    sent = hidden.openai()["messages"]
    assert session.compose(Budget(window=8_500, output=1_000)).openai()["messages"][: len(sent)] == sent


@pytest.fixture
def thrifty() -> Session:
    return Session(MemoryStore("a"), settings=Settings(config={"economy": "thrifty"}))


@pytest.fixture
def built(thrifty: Session) -> Session:
    """A thrifty session in which 60 outputs were shown one by one: they exceed its window, and fit into a large one."""
    for number in range(60):
        thrifty.assistant([Call(f"c{number}", "run", {"command": f"make part{number}"})])
        thrifty.tool_result(f"c{number}", f"part{number} built. " + "word " * 1_500)
        shown = thrifty.compose(Budget(70_000))
    assert shown.tokens < THRIFTY_WINDOW
    assert shown.plan.gaps() or shown.plan.levels()
    return thrifty


def test_a_thrifty_session_is_composed_in_a_small_window(thrifty: Session) -> None:
    """However large the model's is."""
    thrifty.user("Hello.")
    assert thrifty.compose(Budget(window=1_000_000, output=2_000)).plan.limit == THRIFTY_WINDOW


@pytest.mark.parametrize(("limit", "target", "more"), [
    (100_000, 0.9, True), (6_000, 0.9, False), (100_000, 0.01, False),
])  # fmt: skip
def test_there_is_more_room_where_far_more_fits_than_was_allowed(limit: int, target: float, more: bool) -> None:
    """Unless a sweep of everything would go below what is shown now."""
    session = Session(MemoryStore("a"))
    work(session)
    session.user("And now?")
    sent = session.compose(SMALL)
    assert sent.plan.gaps()
    assert has_more_room(session.receipt, limit, target, sent) is more


def test_what_a_thrifty_session_left_out_is_there_again_under_another_economy(built: Session) -> None:
    """The room grows from 64,000 tokens to all that the window has."""
    built.configure(config={"economy": "safe"})
    assert built.compose(Budget(1_000_000)).tokens > 90_000


def test_a_huge_output_does_not_widen_a_thrifty_window(thrifty: Session) -> None:
    """It is paged by the room of the small window."""
    thrifty.user("Build it.")
    thrifty.compose(Budget(1_000_000))
    thrifty.assistant([Call("c", "run", {"command": "make"})])
    thrifty.tool_result("c", "\n".join(f"line {number} of the build" for number in range(30_000)))
    assert thrifty.compose(Budget(1_000_000)).tokens < THRIFTY_WINDOW


def test_without_gists_nothing_is_paged() -> None:
    """The plan says what is sent."""
    session = Session(MemoryStore("a"), settings=Settings(reductions=("trim",)))
    session.user("Build it.")
    session.assistant([Call("c", "run", {"command": "make"})])
    session.tool_result("c", "word " * 6_000)
    plan = session.compose(Budget(10_000)).plan
    assert not plan.levels()


def test_a_larger_window_is_no_more_room_for_a_thrifty_session(built: Session) -> None:
    """It uses 64,000 tokens of either, so the prefix stays."""
    built.user("And now?")
    built.compose(Budget(1_000_000))
    assert built.receipt is not None
    assert built.receipt.reason != "sweep: room"
