"""What one compose promises to the provider's cache and to the disk, and how it learns from reported usage."""

from pathlib import Path

import pytest

from sightline.log.stores.disk import OsFile
from sightline.log.stores.jsonl import JsonlStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call
from sightline.wire.payload import Payload


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


@pytest.fixture
def session() -> Session:
    return Session(MemoryStore("t"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


# ------------------------------------------------------------------ cache breakpoints


def test_the_cache_may_reach_to_the_head_the_last_call_and_this_one(session: Session) -> None:
    """0 is after the head; each other number is how many messages of the body are before the breakpoint."""
    found = []
    for number in range(3):
        session.user(f"message {number}")
        found.append(session.compose(Budget(10_000)).breakpoints)
    assert found == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]


def swept(session: Session) -> Payload:
    """The first payload after a sweep."""
    for number in range(30):
        session.assistant([Call(f"c{number}", "read", {"path": f"{number}.py"})])
        session.tool_result(f"c{number}", words(190, f"r{number}x"))
        payload = session.compose(Budget(4_000, recall=0))
        if payload.plan.reason:
            return payload
    raise AssertionError("no sweep came")


def test_the_cache_may_reach_to_the_end_of_the_last_sweep(session: Session) -> None:
    """Until the next sweep: what stood there stays the same for longest."""
    session.user("look")
    end = len(swept(session).body)
    ends = []
    for number in range(3):
        session.user(f"message {number}")
        ends.append(session.compose(Budget(4_000, recall=0)).breakpoints)
    assert ends == [(0, end, end + 1), (0, end, end + 1, end + 2), (0, end, end + 2, end + 3)]


def test_a_sweep_moves_the_breakpoint_of_the_last_one(session: Session) -> None:
    session.user("look")
    swept(session)
    second = len(swept(session).body)
    session.user("go on")
    assert session.compose(Budget(4_000, recall=0)).breakpoints == (0, second, second + 1)


# ------------------------------------------------------------------ why the prefix changed


def test_a_changed_head_is_named_as_the_reason(session: Session) -> None:
    session.system("Be brief.")
    session.user("look")
    session.compose(Budget(10_000))
    session.tools([{"type": "function", "function": {"name": "read", "parameters": {}}}])
    session.compose(Budget(10_000))
    assert session.receipt is not None
    assert (session.receipt.reason, session.receipt.changed) == ("tools or system changed", 0)


def test_a_payload_that_goes_on_names_no_reason(session: Session) -> None:
    for number in range(3):
        session.user(f"message {number}")
        session.compose(Budget(10_000))
        assert session.receipt is not None
        assert (session.receipt.reason, session.receipt.changed) == ("", None)


# ------------------------------------------------------------------ durable before it is returned


class CountingFile(OsFile):
    """A file that knows how much of it was written, and how much of that is safe from a power cut."""

    written = synced = 0

    def append(self, data: bytes) -> None:
        super().append(data)
        self.written += len(data)

    def sync(self) -> None:
        super().sync()
        self.synced = self.written


class CountingDisk:
    """The machine's disk, which remembers its files."""

    def __init__(self) -> None:
        self.files: list[CountingFile] = []

    def open(self, path: Path) -> CountingFile:
        self.files.append(CountingFile(path))
        return self.files[-1]


def on_disk(folder: Path) -> tuple[Session, CountingFile]:
    """A session that has said something, and its file."""
    disk = CountingDisk()
    store = JsonlStore(folder / "s.jsonl", disk=disk)
    session = Session(store, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    session.user("look")
    return session, disk.files[0]


def test_the_receipt_is_on_disk_before_the_payload_is_returned(tmp_path: Path) -> None:
    """What was sent can be proved after a power cut: all that was written is synced when `compose` returns."""
    session, file = on_disk(tmp_path)
    assert file.synced < file.written
    session.compose(Budget(10_000))
    assert file.synced == file.written
    session.close()


def test_a_reply_is_on_disk_when_it_was_taken(tmp_path: Path) -> None:
    session, file = on_disk(tmp_path)
    session.compose(Budget(10_000))
    session.reply("done")
    assert file.synced == file.written
    session.close()


# ------------------------------------------------------------------ calibration


def reply(tokens: int) -> dict[str, object]:
    message = {"role": "assistant", "content": "done"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.mark.parametrize(("words_sent", "factor"), [(3_000, 1.5), (1_900, 1.0)])
def test_usage_of_a_large_payload_corrects_the_count(session: Session, words_sent: int, factor: float) -> None:
    """A small payload says little: the provider's own overhead hides what its tokens are."""
    session.user(words(words_sent))
    payload = session.compose(Budget(100_000))
    session.reply(reply(payload.tokens * 3 // 2))
    session.user("go on")
    limit = session.compose(Budget(90_000)).plan.limit
    assert limit == pytest.approx(90_000 / factor, rel=0.001)


def test_a_factor_beyond_reason_is_capped(session: Session) -> None:
    session.user(words(3_000))
    payload = session.compose(Budget(100_000))
    session.reply(reply(payload.tokens * 9))
    session.user("go on")
    assert session.compose(Budget(90_000)).plan.limit == 30_000
