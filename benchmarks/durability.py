"""Keeping and resuming: appending turns durably, what they take on disk, and opening a long session again."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from benchmarks.environment import Missing, Peers, fresh
from benchmarks.histories import agent_stream, chat_turns
from benchmarks.measure import Row, Spread, bytes_text, seconds_text, spread, spread_text, times, times_text
from benchmarks.sessions import BUDGET, Snapshot, Stored, questions, side_bytes
from sightline.log.stores.disk import DiskFile, OsFile
from sightline.log.stores.jsonl import JsonlStore
from sightline.session.session import Session

TURN_BYTES = 4096
TURNS = 200
DISK_TARGET = 1.3
RESUME_TARGET = 5.0
MEMORY_MESSAGES, MEMORY_TARGET = 10_000, 120e6


class _Counted(OsFile):
    """A file that counts its syncs and the time they take."""

    syncs, seconds = 0, 0.0

    def sync(self) -> None:
        begun = perf_counter()
        super().sync()
        self.syncs, self.seconds = self.syncs + 1, self.seconds + perf_counter() - begun


class _CountingDisk:
    """The real disk, with files that count their syncs."""

    def __init__(self) -> None:
        self.files: list[_Counted] = []

    def open(self, path: Path) -> DiskFile:
        self.files.append(_Counted(path))
        return self.files[-1]


# ---------------------------------------------------------------------- appending


def appending(root: Path, peers: Peers) -> list[Row]:
    """Measure appending turns of 4 KB, each durable before the next: ours, `SQLiteSession`'s, and the file sizes."""
    topic, history = "appending a turn durably", chat_turns(TURNS, TURN_BYTES)
    content = sum(len(json.dumps(message, ensure_ascii=False).encode()) for message in history)
    disk, path = _CountingDisk(), root / "turns.jsonl"
    with Session(JsonlStore(path, disk=disk)) as session:
        taken = [timed_turn(session, *pair) for pair in zip(history[::2], history[1::2], strict=True)]
    whole, alone = spread([sum(each) for each in taken]), spread([user + reply for user, _, reply in taken])
    syncs = sum(file.syncs for file in disk.files) / TURNS
    waited = sum(file.seconds for file in disk.files) / TURNS
    parts = ", ".join(
        f"{name} {seconds_text(spread([each[at] for each in taken]).median)}"
        for at, name in enumerate(("user", "compose", "reply"))
    )
    return [
        Row(topic, "ours: user, compose, reply", spread_text(whole), whole.median, note=parts),
        Row(topic, "ours: user and reply alone", spread_text(alone), alone.median, note="what the peer does: 1 fsync"),
        Row(topic, "ours: fsyncs per turn", f"{syncs:.2f}", syncs, note=f"{seconds_text(waited)} of waiting"),
        *_sqlite(topic, root, peers, whole),
        *_weight(path, content),
        *_checkpoints(root, peers, content),
    ]


def timed_turn(session: Session, asked: dict[str, str], answered: dict[str, str]) -> tuple[float, float, float]:
    """Live a turn. Return the seconds that its message, its payload and its reply took."""
    begun = perf_counter()
    session.user(asked["content"])
    said = perf_counter()
    session.compose(BUDGET)
    composed = perf_counter()
    session.reply(answered["content"])
    return said - begun, composed - said, perf_counter() - composed


def _sqlite(topic: str, root: Path, peers: Peers, ours: Spread) -> list[Row]:
    rows = []
    for commits in (1, 2):
        what = f"OpenAI Agents SQLiteSession, synchronous=FULL, {commits} add_items"
        try:
            path = str(root / f"turns-{commits}.db")
            found = peers.ask("append", path=path, turns=TURNS, size=TURN_BYTES, commits=commits)
        except Missing as missing:
            rows.append(Row(topic, what, "missing", note=str(missing)))
            continue
        theirs, note = (
            spread(found["seconds"]),
            f"{commits} fsync per turn, and those of checkpoints; file {bytes_text(found['bytes'])}",
        )
        ratio = theirs.median / ours.median
        target, met = ("ours no slower", ratio >= 1) if commits == 1 else ("", None)
        rows.append(Row(topic, what, spread_text(theirs), theirs.median, target, met, times_text(ratio), note))
    return rows


def _weight(path: Path, content: int) -> list[Row]:
    topic, size, sides = "disk for 200 turns of 4 KB", path.stat().st_size, side_bytes(path)
    ratio = size / content
    return [
        Row(
            topic, "ours: the log, with receipts and shortened texts", bytes_text(size), size, f"≤ {DISK_TARGET}×",
            ratio <= DISK_TARGET, times_text(ratio), f"the messages as JSON: {bytes_text(content)}",
        ),
        Row(topic, "ours: index files next to the log", bytes_text(sides), sides, ratio=times_text(sides / content)),
    ]  # fmt: skip


def _checkpoints(root: Path, peers: Peers, content: int) -> list[Row]:
    topic, rows = "disk for 200 turns of 4 KB", []
    for turns in (TURNS // 2, TURNS):
        what = f"LangGraph SqliteSaver after {turns} turns"
        try:
            size = peers.ask("checkpoint", path=str(root / f"saver-{turns}.db"), turns=turns, size=TURN_BYTES)
        except Missing as missing:
            rows.append(Row(topic, what, "missing", note=str(missing)))
            continue
        rows.append(Row(topic, what, bytes_text(size), size, ratio=times_text(size / (content * turns / TURNS))))
    return rows


# ---------------------------------------------------------------------- resuming


def resuming(log: Stored, peers: Peers, say: Callable[[str], None]) -> list[Row]:
    """Measure opening a long session up to its next payload, and reading the same messages from a `SQLiteSession`."""
    topic = f"resuming {log.messages:,} messages to the next payload"
    snapshot = Snapshot(log)
    rows = [
        Row(topic, "the log", bytes_text(log.path.stat().st_size), note=f"indexes: {bytes_text(side_bytes(log.path))}")
    ]
    say("resuming with the side index")
    indexed = spread(_resumes(log, snapshot, 7))
    rows.append(Row(topic, "ours, with its indexes", spread_text(indexed), indexed.median))
    cold = spread(_resumes(log, snapshot, 3, later_seconds=86_400))
    rows.append(Row(topic, "ours, a day later: the provider's cache is cold", spread_text(cold), cold.median))
    say("resuming without the side index")
    bare = spread(_resumes(log, snapshot, 3, without=(".idx",)))
    rows.append(Row(topic, "ours, its column index deleted", spread_text(bare), bare.median))
    everything = _resumes(log, snapshot, 1, without=(".idx", ".search"))[0]
    rows.append(Row(topic, "ours, its search index deleted too", seconds_text(everything), everything))
    snapshot.restore()
    rows += _sqlite_resume(topic, log, peers, indexed, say)
    rows += _reading(topic, log, say)
    snapshot.restore()
    rows += _idle(topic, log)
    return rows


def _resumes(
    log: Stored, snapshot: Snapshot, repeats: int, *, later_seconds: int = 60, without: tuple[str, ...] = ()
) -> list[float]:
    samples = []
    for _ in range(repeats):
        snapshot.restore(without)
        begun = perf_counter()
        session = log.resumed(later_seconds)
        session.user(questions()[0])
        session.compose(BUDGET)
        samples.append(perf_counter() - begun)
        session.close()
    return samples


def _sqlite_resume(topic: str, log: Stored, peers: Peers, ours: Spread, say: Callable[[str], None]) -> list[Row]:
    what, path = "OpenAI Agents SQLiteSession.get_items", str(log.root / "run.db")
    say("resuming the peer")
    try:
        size = peers.ask("fill", path=path, messages=log.messages)
        found = spread(peers.ask("read", path=path, repeats=5))
    except Missing as missing:
        return [Row(topic, what, "missing", note=str(missing))]
    ratio = found.median / ours.median
    target, met = (f"≥ {RESUME_TARGET:.0f}× ours", ratio >= RESUME_TARGET) if log.messages == 100_000 else ("", None)
    note = f"file {bytes_text(size)}"
    return [Row(topic, what, spread_text(found), found.median, target, met, times_text(ratio), note)]


def _reading(topic: str, log: Stored, say: Callable[[str], None]) -> list[Row]:
    say("reading all entries")
    with log.resumed() as session:
        seconds = spread(times(lambda: sum(1 for _ in session.items), 3))
        return [
            Row(
                topic,
                "ours: reading every item",
                spread_text(seconds),
                seconds.median,
                note=f"{len(session.items):,} items",
            )
        ]


IDLE = """
import json, sys, time
from pathlib import Path
def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) * 1024
from benchmarks.sessions import BUDGET, Stored
from sightline.values.tokens import counter
counter().count("loads the vocabulary")
before, begun = resident(), time.perf_counter()
session = Stored(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).resumed()
opened, taken = resident(), time.perf_counter() - begun
session.compose(BUDGET)
print(json.dumps([before, opened, resident(), taken]))
"""


def _idle(topic: str, log: Stored) -> list[Row]:
    """Measure the memory of a session in a fresh process, without that of the library and its vocabulary."""
    try:
        before, opened, composed, taken = fresh(sys.executable, IDLE, str(log.messages), str(log.root), str(log.path))
    except Missing as missing:
        return [Row(topic, "memory of an idle session", "missing", note=str(missing))]
    note = f"resumed in {seconds_text(taken)}; the process without it: {bytes_text(before)}"
    return [
        Row(topic, "memory of an idle session, resumed", bytes_text(opened - before), opened - before, note=note),
        Row(topic, "memory of the session after its next payload", bytes_text(composed - before), composed - before),
    ]


# ---------------------------------------------------------------------- memory of a process

PROCESS = """
import gc, json, sys
from pathlib import Path
import msgspec
from sightline import Budget, Session
from sightline.values.tokens import counter
def bytes_of(field):
    gc.collect()
    return int(next(line for line in open("/proc/self/status") if line.startswith(field)).split()[1]) * 1024
way, root, history, question = sys.argv[1:]
counter().count("loads the vocabulary")
before = bytes_of("VmRSS")
if way == "imported":
    session = Session.new(root, root=root, session_id="process")
    session.extend(msgspec.json.decode(Path(history).read_bytes()))
else:
    session = Session.resume("process", root, root=root)
session.user(question)
session.compose(Budget(window=32_000))
print(json.dumps([before, bytes_of("VmRSS"), bytes_of("VmHWM")]))
session.close()
"""


def memory(root: Path, messages: int = MEMORY_MESSAGES) -> list[Row]:
    """Measure the memory of a whole process with a long session after its next payload: imported there, and resumed."""
    topic, rows = f"memory of a process at {messages:,} messages", []
    history = root / "history.json"
    history.write_text(json.dumps([*agent_stream(messages)]))
    for way in ("imported", "resumed"):
        try:
            before, found, most = fresh(sys.executable, PROCESS, way, str(root), str(history), questions()[0])
        except Missing as missing:
            rows.append(Row(topic, way, "missing", note=str(missing)))
            continue
        note = f"without a session: {bytes_text(before)}; at most: {bytes_text(most)}"
        target, met = ("< 120 MB", found < MEMORY_TARGET) if messages == MEMORY_MESSAGES else ("", None)
        rows.append(Row(topic, f"{way}, and composed at 32k", bytes_text(found), found, target, met, note=note))
    return rows
