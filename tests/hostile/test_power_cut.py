"""What was acknowledged survives a power cut, whatever the disk does with what it had not written yet."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lossy_disk import LossyDisk, left_over
from stored import check_batches
from tests.conftest import Tried
from writer import BUDGET, reply

from sightline.compose.verify import verify
from sightline.log import entries
from sightline.log.entries import Body, Entry
from sightline.log.journal import Journal
from sightline.log.stores.jsonl import Fsync, JsonlStore
from sightline.session.session import Session
from sightline.testing import WordCounter
from sightline.values.clock import nanoid, wall_clock

SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(10, 1000))]


# ---------------------------------------------------------------------- the disk itself


@given(st.binary(max_size=3000), st.binary(max_size=3000), st.binary(max_size=3000), st.integers())
def test_the_disk_never_loses_what_was_synced(synced: bytes, cut: bytes, written: bytes, seed: int) -> None:
    """What is on the medium and was not cut since is there after any power cut: else the tests below prove nothing."""
    assert left_over(synced + cut, synced + written, Random(seed)).startswith(synced)


# ---------------------------------------------------------------------- the store


def batch(count: int, length: int, random: Random) -> list[Entry]:
    """Some entries, of which the first is said and the others are notes."""
    return [
        Entry(
            uuid=nanoid(),
            parent_uuid=None,
            session_id="s",
            timestamp="2026-01-01T00:00:00.000Z",
            type="system" if number else "user",
            subtype="note" if number else "",
            message=Body("user", entries.encode_parts(()) if number else _text(length, random)),
        )
        for number in range(count)
    ]


def _text(length: int, random: Random) -> entries.Raw:
    from sightline.values.items import Text

    return entries.encode_parts((Text("".join(random.choices("abc \n", k=length))),))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4), st.sampled_from((1, 300, 3000))),
        st.just(("sync",)),
        st.just(("power cut",)),
        st.just(("power cut while repairing",)),
    ),
    min_size=1,
    max_size=14,
)


@pytest.mark.slow
@pytest.mark.parametrize("fsync", ["always", "turn"])
@given(steps=steps, seed=st.integers(0, 1 << 32))
def test_a_log_keeps_what_it_acknowledged(
    fsync: Fsync, steps: list[tuple[str, ...]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After any appends, syncs and power cuts the log begins with what was acknowledged and ends with a whole batch."""
    random, disk = Random(seed), LossyDisk()
    path = tmp_path_factory.mktemp("lossy") / "s.jsonl"
    store = JsonlStore(path, fsync=fsync, disk=disk)
    safe = b""
    for what, *numbers in [*steps, ("power cut",)]:
        if what == "append":
            made = batch(*map(int, numbers), random)
            store.append(lambda _, made=made: made, branch="", expected_head=store.tips.heads.get(""))  # type: ignore[misc]
        elif what == "sync":
            store.sync()
        else:
            disk.cut_power(random)
            if what == "power cut while repairing" and path.exists():
                JsonlStore(path, fsync=fsync, disk=disk)
                disk.cut_power(random)
            store = repaired(path, fsync, disk, safe)
        if what == "sync" or (fsync == "always" and what == "append"):
            safe = bytes(disk.images[path].seen) if path in disk.images else safe


def repaired(path: Path, fsync: Fsync, disk: LossyDisk, safe: bytes) -> JsonlStore:
    """The log opened after a power cut, checked."""
    before = path.read_bytes() if path.exists() else b""
    aside = path.with_suffix(".torn")
    torn_before = aside.read_bytes() if aside.exists() else b""
    store = JsonlStore(path, fsync=fsync, disk=disk)
    after = bytes(disk.images[path].seen) if path in disk.images else b""
    torn = disk.images[aside].medium.removeprefix(torn_before)[:-1] if aside in disk.images else b""
    assert after.startswith(safe)
    assert before in (after + torn, after[:-1])  # cut bytes are kept; else only a missing newline was added
    assert store.repairs.torn_bytes == len(torn)
    assert store.tips.size == len(after)
    readable = [entries.decode(line.data) for line in store.scan() if line.span.offset not in store.repairs.damaged]
    if readable and not store.repairs.damaged:
        check_batches(readable)
    return store


# ---------------------------------------------------------------------- sessions


class Witness:
    """Knows what a session acknowledged under its policy: all that was in the log at that moment."""

    def __init__(self, disk: LossyDisk, path: Path, fsync: Fsync) -> None:
        self._disk, self._path, self._always = disk, path, fsync == "always"
        self.safe, self.receipts = b"", 0

    def saw(self, durable: bool) -> None:
        """A call returned; `durable`: one that promises under `turn` that everything before it is stored."""
        if (durable or self._always) and self._path in self._disk.images:
            self.safe = bytes(self._disk.images[self._path].seen)


def act(session: Session, witness: Witness, random: Random) -> None:
    """A turn, or some of it."""
    turn = random.randrange(1 << 30)
    session.user("question " + "word " * random.randrange(1, 60))
    witness.saw(durable=False)
    if random.random() < 0.8:
        session.compose(BUDGET)
        witness.saw(durable=True)
        session.reply(reply(random, [f"a{turn}", f"b{turn}"]))
        witness.saw(durable=True)
        for call in (f"a{turn}", f"b{turn}"):
            session.tool_result(call, "output line\n" * random.choice((1, 40, 900)))
            witness.saw(durable=False)
    match random.randrange(5):
        case 0:
            session.flush()
            witness.saw(durable=True)
        case 1:
            session.log.save_index()
            witness.saw(durable=True)
        case 2:
            session.interrupt()
            session.items.expand(next(iter(session.items)).id)
        case _:
            pass


@pytest.mark.slow(
    "0-always",
    "0-turn",
    "1-always",
    "1-turn",
    "4-always",
    "5-always",
    "5-turn",
    "6-always",
    "6-turn",
    "7-always",
    "7-turn",
    "9-always",
    "9-turn",
)
@pytest.mark.parametrize("fsync", ["always", "turn"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_keeps_what_it_acknowledged(tmp_path: Path, fsync: Fsync, seed: int, tried: Tried) -> None:
    """Under `always` whatever a call returned for, under `turn` all before the last compose, reply or flush is there.

    The session opens, every payload that was returned can be made again, and it goes on; three times in a row.
    """
    random, disk, path = Random(seed), LossyDisk(), tmp_path / "s.jsonl"
    for _ in range(3):
        store = JsonlStore(path, fsync=fsync, disk=disk)
        session = Session(store, token_counter=WordCounter())
        session.interrupt()
        witness = Witness(disk, path, fsync)
        witness.safe = path.read_bytes()[: store.tips.size] if path.exists() else b""
        for _ in range(random.randrange(1, 6)):
            act(session, witness, random)
        disk.cut_power(random)
        opens_and_goes_on(path, witness.safe)
    tried("power cuts", 3)


def opens_and_goes_on(path: Path, safe: bytes) -> None:
    """Everything safe is there, its receipts are good, and a new turn works."""
    journal = Journal(JsonlStore(path, read=False), clock=wall_clock, ids=nanoid, token_counter=WordCounter())
    session = Session(journal)
    assert path.read_bytes().startswith(safe)
    session.interrupt()
    session.user("Go on.")
    session.compose(BUDGET)
    session.reply("I do.")
    promised = [line for line in safe.splitlines() if b'"subtype":"receipt"' in line]
    again = Journal(JsonlStore(path, read=False), clock=wall_clock, ids=nanoid, token_counter=WordCounter())
    payloads = list(verify(again))
    assert all(payload.good for payload in payloads[: len(promised)])
    session.close()
    again.store.close()
