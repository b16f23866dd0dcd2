"""A session that was composed in a small window is shown in full in a large one."""

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.testing import calling

SMALL, LARGE = Budget(window=8_000, output=1_000), Budget(window=128_000, output=2_000)


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
    assert session.compose(SMALL).plan.gaps()
    foreseen = session.preview(LARGE)
    payload = session.compose(LARGE)
    assert payload.openai() == foreseen.openai()
    assert not payload.plan.gaps()
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
    assert not again.compose(LARGE).plan.gaps()


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
    assert hidden.plan.gaps()
    session.reply("Hm.")
    session.user("Well?")
    assert (
        session.compose(Budget(window=8_500, output=1_000)).openai()["messages"][: len(hidden.body)]
        == (hidden.openai()["messages"])
    )
