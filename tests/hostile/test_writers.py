"""Several writers of one session at once: processes, threads, and a fork in between."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from stored import check_log, child, entries_in, file_of, heard
from tests.conftest import Tried
from writer import BUDGET, insist

from sightline.compose.verify import verify
from sightline.errors import Conflict
from sightline.log.journal import Journal
from sightline.session.session import Session
from sightline.testing import MemoryStore, WordCounter
from sightline.values.clock import nanoid, wall_clock
from sightline.values.items import Kind

MESSAGES = 60  # of each process
SOAK_MESSAGES = 2000


def begun(root: Path) -> Session:
    """A session with one message, open for writing."""
    session = Session.new(root, session_id="shared", root=root, token_counter=WordCounter())
    session.user("Begin.")
    return session


def again(root: Path, branch: str | None = None) -> Session:
    """The same session, as another program opens it."""
    return Session.resume("shared", root, root=root, branch=branch, token_counter=WordCounter())


def texts(session: Session) -> list[str]:
    """What users said, in order."""
    return [session.items.text(item.id) for item in session.items if item.kind is Kind.USER]


# ---------------------------------------------------------------------- who wins


def test_the_loser_gets_a_conflict_and_succeeds_after_refresh(tmp_path: Path) -> None:
    """Of two that go on from one message the second is told so, nothing of it is written, and it can try again."""
    one = begun(tmp_path)
    other = again(tmp_path)
    one.user("I was first.")
    before = file_of(tmp_path, "shared").read_bytes()
    with pytest.raises(Conflict, match="refresh"):
        other.user("So was I.")
    assert file_of(tmp_path, "shared").read_bytes() == before
    other.refresh()
    other.user("So was I.")
    one.refresh()
    assert texts(one) == texts(other) == ["Begin.", "I was first.", "So was I."]


def test_annotations_never_conflict(tmp_path: Path) -> None:
    """Pins, windows, tools and settings are written whatever others have said meanwhile."""
    one = begun(tmp_path)
    other = again(tmp_path)
    item = one.user("New.")
    other.items.pin(2)
    other.windows.show("w")
    other.tools([{"name": "read", "input_schema": {"type": "object"}}])
    other.configure(locale="zh")
    one.items.unpin(item)
    assert [entry.seq for entry in entries_in(file_of(tmp_path, "shared"))] == list(range(1, 9))


def test_a_payload_holds_what_others_have_said(tmp_path: Path) -> None:
    """Composing takes other writers' messages in first, and goes on from the payload that any of them sent last."""
    one = begun(tmp_path)
    other = again(tmp_path)
    one.user("Seen by both.")
    sent = one.compose(BUDGET)
    theirs = other.compose(BUDGET)
    assert [message.parts for message in theirs.body] == [message.parts for message in sent.body]
    assert other.receipt is not None
    assert other.receipt.number == 2
    check_log(file_of(tmp_path, "shared"), [])


def test_a_receipt_met_in_passing_is_gone_on_from(tmp_path: Path) -> None:
    """A writer that took another's payload in while it wrote something else knows of it when it composes."""
    one = begun(tmp_path)
    one.compose(BUDGET)
    other = again(tmp_path)
    other.user("More.")
    other.compose(BUDGET)
    one.items.pin(2)
    one.compose(BUDGET)
    assert (one.receipt and one.receipt.number, other.receipt and other.receipt.number) == (3, 2)
    check_log(file_of(tmp_path, "shared"), [])


@pytest.mark.slow
def test_payloads_of_alternating_writers_can_all_be_made_again(tmp_path: Path) -> None:
    """Two programs that take turns, sweeps included, leave a log in which every payload is the same again."""
    writers = [begun(tmp_path), again(tmp_path)]
    for turn in range(12):
        writer = writers[turn % 2]
        insist(writer, lambda turn=turn, writer=writer: writer.user(f"turn {turn} " + "word " * 300))  # type: ignore[misc]
        writer.compose(BUDGET)
        insist(writer, lambda writer=writer: writer.reply("answer " * 50))  # type: ignore[misc]
    check_log(file_of(tmp_path, "shared"), [])


# ---------------------------------------------------------------------- processes


@pytest.mark.slow
@pytest.mark.parametrize("count", [MESSAGES, pytest.param(SOAK_MESSAGES, marks=pytest.mark.soak)])
def test_processes_lose_nothing_of_each_other(tmp_path: Path, count: int, tried: Tried) -> None:
    """Three processes write to one branch at once: no line torn or lost, seqs dense, each message there once."""
    begun(tmp_path).close()
    writers = [child("share", tmp_path, "shared", f"w{number}", count) for number in range(3)]
    acks = [ack for writer in writers for ack in heard(writer.communicate()[0].splitlines(keepends=True))]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    check_log(file_of(tmp_path, "shared"), acks)
    said = [ack["text"] for ack in acks if "text" in ack]
    assert sorted(texts(again(tmp_path))) == sorted(["Begin.", *said])
    assert len(said) == 3 * count
    tried("appends of writers at once", 3 * count)


@pytest.mark.slow
def test_a_fork_while_another_process_writes(tmp_path: Path) -> None:
    """Branches made and written to here, and the first branch written to elsewhere, hold what belongs to each."""
    root = begun(tmp_path)
    writer = child("share", tmp_path, "shared", "elsewhere", MESSAGES)
    assert writer.stdout is not None
    assert heard([writer.stdout.readline()]) == [{"ready": True}]
    forks: dict[str, list[str]] = {}
    for number in range(6):
        root.refresh()
        shared = texts(root)
        fork = root.fork([item.id for item in root.items if item.kind is Kind.USER][-1])
        assert texts(fork) == shared
        for turn in range(3):
            fork.user(f"fork {number} says {turn}")
            fork.compose(BUDGET)
        forks[fork.branch] = [*shared, *(f"fork {number} says {turn}" for turn in range(3))]
        fork.close()
    acks = heard(writer.stdout.readlines())
    writer.communicate()
    assert writer.returncode == 0
    check_log(file_of(tmp_path, "shared"), acks)
    for branch, expected in forks.items():
        assert texts(again(tmp_path, branch)) == expected
    assert texts(again(tmp_path, "")) == ["Begin.", *(ack["text"] for ack in acks if "text" in ack)]


# ---------------------------------------------------------------------- threads


def all_at_once(*tasks: Callable[[], None]) -> None:
    """Run these in threads of their own; the first error of any is raised."""
    errors: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "memory"])
def test_threads_may_share_a_session(tmp_path: Path, where: str) -> None:
    """Whatever several threads do with one session object, nothing is lost and nothing is out of step."""
    session = begun(tmp_path) if where == "file" else Session(MemoryStore("m"), token_counter=WordCounter())
    if where == "memory":
        session.user("Begin.")

    def writes(name: str) -> None:
        for turn in range(20):
            item = session.user(f"{name} says {turn}")
            session.items.pin(item)
            session.windows.show(f"{name}{turn}")
            session.items.unpin(item)
            session.items.collapse(item)

    def composes() -> None:
        for _ in range(15):
            session.compose(BUDGET)
            session.reply("heard")
            session.flush()

    def looks() -> None:
        for _ in range(30):
            seqs = [int(item.id) for item in session.items if item.kind is not Kind.CALL]
            assert seqs == sorted(set(seqs))
            session.items.search("says")

    all_at_once(lambda: writes("a"), lambda: writes("b"), lambda: writes("c"), composes, looks)
    assert sorted(texts(session)) == sorted(
        ["Begin.", *(f"{name} says {turn}" for name in "abc" for turn in range(20))]
    )
    entries = [line.data for line in session.log.store.scan()]
    assert len(entries) == session.log.store.tips.seq
    fresh = Journal(session.log.store, clock=wall_clock, ids=nanoid, token_counter=WordCounter())
    assert list(fresh.timeline.seq) == list(session.log.timeline.seq)
    assert all(payload.good for payload in verify(fresh))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "memory"])
def test_threads_may_write_to_branches_of_their_own(tmp_path: Path, where: str) -> None:
    """Forks of one session in several threads do not disturb each other."""
    session = begun(tmp_path) if where == "file" else Session(MemoryStore("m"), token_counter=WordCounter())
    item = session.user("Here ways part.")
    shared = texts(session)
    forks = [session.fork(item) for _ in range(4)]

    def writes(fork: Session, number: int) -> None:
        for turn in range(15):
            fork.user(f"{number} says {turn}")
            fork.compose(BUDGET)
            fork.reply("heard")

    all_at_once(*(lambda fork=fork, number=number: writes(fork, number) for number, fork in enumerate(forks)))  # type: ignore[misc]
    for number, fork in enumerate(forks):
        fork.refresh()
        assert texts(fork) == [*shared, *(f"{number} says {turn}" for turn in range(15))]
    fresh = Journal(session.log.store, clock=wall_clock, ids=nanoid, token_counter=WordCounter())
    fresh.store.refresh()
    fresh.catch_up()
    assert all(payload.good for payload in verify(fresh))


def test_threads_with_a_session_each_conflict_and_go_on(tmp_path: Path) -> None:
    """Openings of one file in one process are kept apart as processes are."""
    begun(tmp_path).close()

    def writes(name: str) -> None:
        session = again(tmp_path)
        for turn in range(15):
            insist(session, lambda turn=turn: session.user(f"{name} says {turn}"))  # type: ignore[misc]
        session.close()

    all_at_once(lambda: writes("a"), lambda: writes("b"), lambda: writes("c"))
    assert sorted(texts(again(tmp_path))) == sorted(
        ["Begin.", *(f"{name} says {turn}" for name in "abc" for turn in range(15))]
    )
    check_log(file_of(tmp_path, "shared"), [])
