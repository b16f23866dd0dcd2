"""Where the time of a run went: each model call, tool call and wait for the user, and which of them are wanted."""

from collections.abc import Sequence
from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session
from sightline.log.stores import Span
from sightline.testing import Ticking, calling, reply_of
from sightline.view.call_details import call_details
from sightline.view.inspection import item_page
from sightline.view.row_filter import RowFilter
from sightline.view.run_time import TimePage, time_page
from sightline.view.transcript import transcript_page


@pytest.fixture
def clock() -> Ticking:
    """A clock that only goes when it is told to."""
    return Ticking(step=0)


@pytest.fixture
def session(clock: Ticking) -> Session:
    """Model 5 s, two tools of 2 s and 8 s at once, of which one failed, model 3 s, user 60 s, model 1 s."""
    session = Session.new(stores=MemoryStores(), session_id="s", clock=clock)
    session.system("You are careful.")
    session.user("What is in a.py?")
    clock.wait(5)
    session.reply(calling(("read_file", {"path": "src/a.py"}), ("bash", {"command": "make test"})))
    clock.wait(2)
    session.tool_result("call_1", "def first(): pass")
    clock.wait(6)
    session.tool_result("call_2", "1 failed", error=True)
    clock.wait(3)
    session.reply("A function.")
    clock.wait(60)
    session.user("Thanks.")
    clock.wait(1)
    session.reply("Yes.")
    return session


def read(session: Session, *, longest: bool = False, **wanted: Any) -> TimePage:
    return time_page(session, 0, 100, longest=longest, wanted=RowFilter(**wanted))


def lengths(page: TimePage) -> list[tuple[str, str, float | None]]:
    return [(step.kind, step.name, step.seconds) for step in page.steps]


def test_each_call_is_a_step_from_its_beginning_to_its_end(session: Session) -> None:
    """Tool calls of one answer begin together; the user is waited for since the answer, but not before the first."""
    page = read(session)
    assert lengths(page) == [
        ("user", "", None), ("model", "scripted", 5.0), ("tool", "read_file", 2.0), ("tool", "bash", 8.0),
        ("model", "", 3.0), ("user", "", 60.0), ("model", "", 1.0),
    ]  # fmt: skip
    began = [step.began for step in page.steps if step.began is not None]
    assert [each - began[0] for each in began] == [0, 5, 5, 13, 16, 76]
    assert [step.about for step in page.steps if step.kind != "model"] == [
        "What is in a.py?", "src/a.py", "make test", "Thanks.",
    ]  # fmt: skip
    assert [step.name for step in page.steps if step.error] == ["bash"]


def test_tool_calls_at_the_same_time_count_once(session: Session) -> None:
    """The agent waited for the longest of them."""
    sums = read(session).sums
    assert (sums.model, sums.tools, sums.user, sums.calls, sums.timed) == (9.0, 8.0, 60.0, 5, 5)
    assert (sums.length, sums.rest) == (77.0, 0.0)


def test_what_is_in_no_sum_is_the_rest_of_the_run(session: Session, clock: Ticking) -> None:
    """Such as a note that a program wrote, and that nobody asked for. The sums add up to the whole run."""
    read(session)
    clock.wait(20)
    session.note("The task in the background has ended.")
    clock.wait(4)
    session.reply("So it has.")
    sums = read(session).sums
    assert (sums.length, sums.rest) == (101.0, 20.0)
    assert sums.model + sums.tools + sums.user + sums.rest == sums.length


def test_an_answer_took_as_long_as_its_transcript_says(session: Session, clock: Ticking) -> None:
    """Whether its request was composed or not."""
    session.user("And now?")
    clock.wait(30)
    session.compose(Budget(6_000, 500))
    clock.wait(7)
    session.reply("Composed.")
    clock.wait(4)
    session.reply("And on.")
    told = {message.id: message.seconds for message in transcript_page(session, 0, 100).messages if message.call}
    assert {step.id: step.seconds for step in read(session).steps if step.kind == "model"} == told
    assert [*told.values()][-2:] == [7.0, 4.0]


def test_a_request_on_another_branch_is_not_that_of_an_answer(session: Session, clock: Ticking) -> None:
    """An answer on a fork is measured from what stands before it there."""
    forked = session.fork(at="3")
    session.compose(Budget(6_000, 500))
    clock.wait(100)
    forked.reply("Another answer")
    [_, step] = read(forked).steps
    assert (step.kind, step.seconds) == ("model", 177.0)


def test_a_log_without_times_has_no_lengths() -> None:
    """What an import wrote at one moment tells nothing, and no length is made of that."""
    session = Session.new(stores=MemoryStores(), clock=Ticking(step=1))
    session.user("A question")
    session.reply(calling(("bash", {"command": "ls"})))
    session.tool_result("call_1", "a.py")
    session.reply("An answer")
    page = read(session)
    assert {step.seconds for step in page.steps} == {None}
    assert (page.sums.calls, page.sums.timed, page.sums.tools) == (3, 0, 0.0)


def test_what_an_agent_wrote_itself_took_no_model_any_time(session: Session, clock: Ticking) -> None:
    """Claude Code writes an answer when a session goes on the next day: until then the user was waited for."""
    before = read(session).sums
    session.note("[Request interrupted by user]", system=False)
    clock.wait(50_000)
    session.reply(reply_of("No response requested.") | {"model": "<synthetic>"})
    clock.wait(10)
    session.user("Good morning.")
    page = read(session)
    assert lengths(page)[-2:] == [("model", "<synthetic>", None), ("user", "", 50_010.0)]
    assert (page.sums.model, page.sums.calls, page.sums.timed) == (before.model, before.calls, before.timed)
    assert {each.seconds for each in transcript_page(session, 0, 100).messages[-2:]} == {None}


def test_a_result_that_comes_later_ends_its_call(session: Session, clock: Ticking) -> None:
    """The same page, read again, has the new steps and the end of the one that was open."""
    session.reply(calling(("bash", {"command": "sleep 9"})))
    step = read(session).steps[-1]
    assert (step.open, step.seconds) == (True, None)
    clock.wait(9)
    session.tool_result("call_1", "")
    page = read(session)
    assert (page.steps[-1].open, page.steps[-1].seconds, page.total) == (False, 9.0, 9)
    assert (page.sums.tools, page.sums.timed) == (17.0, 6)  # the last answer came at once


def test_the_slowest_come_first_and_users_are_no_calls(session: Session) -> None:
    """The page says how long the slowest of all took, also where it does not have it."""
    page = read(session, longest=True)
    assert [step.seconds for step in page.steps] == [8.0, 5.0, 3.0, 2.0, 1.0]
    assert time_page(session, 3, 1, longest=True).longest == 8.0


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"tool": "BASH"}, ["bash"]), ({"path": "A.py"}, ["read_file"]), ({"errors": True}, ["bash"]),
        ({"kind": "tool"}, ["read_file", "bash"]), ({"tool": "read", "errors": True}, []),
    ],
)  # fmt: skip
def test_steps_are_filtered(session: Session, wanted: dict[str, Any], names: list[str]) -> None:
    """By kind, tool and file, in any case, and by what failed; all that is asked for must be so."""
    page = read(session, **wanted)
    assert ([step.name for step in page.steps], page.total) == (names, len(names))
    assert page.sums == read(session).sums


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"tool": "bash"}, ["4.2", "6"]), ({"path": "src/"}, ["4.1", "5"]), ({"errors": True}, ["6"]),
        ({"kind": "user"}, ["3", "8"]), ({"kind": "call", "tool": "read"}, ["4.1"]),
    ],
)  # fmt: skip
def test_items_and_what_a_call_held_are_filtered(session: Session, wanted: dict[str, Any], ids: list[str]) -> None:
    """A call and its result belong to the same tool and file. What a filter takes away costs as before."""
    page = item_page(session, 0, 100, wanted=RowFilter(**wanted))
    assert ([item.id for item in page.items], page.total) == (ids, len(ids))
    call, every = call_details(session, None, wanted=RowFilter(**wanted)), call_details(session, None)
    assert [line.id for line in call.lines] == ids
    assert (call.total, call.costs) == (len(ids), every.costs)


def test_a_filter_finds_what_is_new(session: Session) -> None:
    """The rows that were found stay, and those that are new are looked at."""
    assert item_page(session, 0, 1, wanted=RowFilter(kind="user")).next == 1
    session.user("One more.")
    page = item_page(session, 1, 10, wanted=RowFilter(kind="user"))
    assert [item.text for item in page.items] == ["Thanks.", "One more."]


def test_the_level_of_what_a_call_held_is_a_filter(session: Session) -> None:
    """Nothing of a short session is shortened."""
    assert call_details(session, None, level="gist").total == 0
    assert call_details(session, None, level="full").total == call_details(session, None).total


@pytest.mark.parametrize("longest", [False, True])
def test_no_more_is_read_than_is_shown(
    session: Session, clock: Ticking, longest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the run is: times, files and errors stand in the columns."""
    for _ in range(1_000):
        session.reply(calling(("read_file", {"path": "src/a.py"})))
        clock.wait(1)
        session.tool_result("call_1", "text")
        clock.wait(1)
    spans: list[Span] = []
    store, read_many = session.log.store, session.log.store.read_many

    def counted(wanted: Sequence[Span]) -> list[bytes]:
        spans.extend(wanted)
        return read_many(wanted)

    monkeypatch.setattr(store, "read_many", counted)
    page = time_page(session, 300, 10, longest=longest, wanted=RowFilter(path="a.py"))
    assert (len(page.steps), page.total) == (10, 1_001)
    assert len(set(spans)) <= 10
