"""What only a sweep needs is made when a sweep first needs it, never when something is appended."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.compose.verify import verify
from sightline.log import mentions
from sightline.log.stores import Span, Tips
from sightline.shorten import levels, rules
from sightline.values.items import Call, Lod

ROOM, TIGHT = Budget(100_000), Budget(1_500, recall=0.0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was made, one for each item."""
    found: list[str] = []

    def counted(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **options: object) -> object:
            found.append(name)
            return original(*arguments, **options)

        return run

    monkeypatch.setattr(levels, "shorten", counted("levels", levels.shorten))
    monkeypatch.setattr(mentions, "identifiers", counted("names", mentions.identifiers))
    monkeypatch.setattr(rules, "constraints", counted("constraints", rules.constraints))
    return found


def work(session: Session, steps: int, first: int = 0) -> None:
    for at in range(first, first + steps):
        session.user(f"Look at module_{at}.py. Never touch table_{at}.")
        session.assistant([Call(f"c{at}", "read_file", {"path": f"module_{at}.py"})])
        session.tool_result(f"c{at}", "\n".join(f"value_{at}_{n} = compute(step_{n}, {n})" for n in range(40)))
        session.assistant(f"module_{at}.py computes the values of step {at}. " * 12)


def test_nothing_is_made_while_all_fits(made: list[str]) -> None:
    session = Session(MemoryStore("s"))
    work(session, 5)
    session.compose(ROOM)
    assert made == []
    session.compose(TIGHT)
    assert {*made} == {"levels", "names", "constraints"}


def test_a_sweep_makes_no_more_than_it_can_show(made: list[str]) -> None:
    """Of a long history that was never shown, most is left out as it is."""
    session = Session(MemoryStore("s"))
    work(session, 200)
    session.compose(TIGHT)
    assert 10 < made.count("levels") < 300  # of 1,000 items: 200 are the user's, which have a share of their own
    assert 10 < made.count("names") < 500


def test_an_item_is_shortened_once(made: list[str], tmp_path: Path) -> None:
    """Not again at a later sweep, nor after resuming, nor to verify what was sent."""
    with Session.new(tmp_path, root=tmp_path, session_id="s") as session:
        work(session, 5)
        session.compose(TIGHT)
        once = made.count("levels")
        session.compose(Budget(1_400, recall=0.0))
        assert made.count("levels") == once
    with Session.resume("s", tmp_path, root=tmp_path) as session:
        made.clear()
        assert all(each.good for each in verify(session.log))
        session.compose(Budget(1_300, recall=0.0))
        assert "levels" not in made
        assert "constraints" not in made[1:]  # but for the message that it quotes again


@pytest.mark.parametrize("keeps_columns", [True, False])
def test_a_resumed_session_decides_as_the_one_before(keeps_columns: bool, tmp_path: Path) -> None:
    """Whether levels and constraints were made by now or are made later."""
    hashes = []
    for name, resumes in (("live", False), ("again", True)):
        session = Session.new(tmp_path, root=tmp_path, session_id=name)
        work(session, 6)
        session.compose(TIGHT)
        if resumes:
            session.close()
            if not keeps_columns:
                next(tmp_path.rglob("again.idx")).unlink()
            session = Session.resume(name, tmp_path, root=tmp_path)
        work(session, 6, first=6)
        payload = session.compose(TIGHT)
        hashes.append((payload.hash, [line[:4] for line in payload.plan.lines()]))
        session.close()
    assert hashes[0] == hashes[1]


def test_what_was_sent_counts_as_it_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the rules change, a text that is in the log keeps its size."""
    session = Session(MemoryStore("s"))
    work(session, 8)
    plan = session.compose(Budget(5_000, recall=0.0, target=0.8)).plan
    timeline = session.log.timeline
    sent = [row for row in range(len(timeline)) if row in plan.lods and plan.lod(row) is Lod.GIST]
    sizes = [timeline.size(row, Lod.GIST) for row in sent]
    again = session.log.reopened()
    monkeypatch.setattr(levels, "shorten", lambda *_, **__: levels.Shorter("{}", "{}"))
    assert sent
    assert [again.timeline.size(row, Lod.GIST) for row in sent] == sizes


@pytest.mark.parametrize(("between", "found"), [(10, True), (310, False)])
def test_a_recent_mention_counts(between: int, found: bool) -> None:
    session = Session(MemoryStore("s"))
    for text in ("See ledger_batch_7.", *["Nothing."] * 5, "It is ledger_batch_7 again.", *["Nothing."] * between):
        session.user(text)
    latest = mentions.Mentions(session.log.reader).latest([0], session.log.path)
    assert latest == ({0: 6} if found else {})


def test_what_the_log_has_is_not_kept_in_memory_too() -> None:
    """Of a shortened text that was sent the log has the words; one that was only weighed is kept for the next sweep."""
    session = Session(MemoryStore("s"))
    work(session, 40)
    reader = session.log.reader
    budget = Budget(12_000, recall=0.0)
    session.preview(budget)
    weighed = {*reader._shorter}
    plan = session.compose(budget).plan
    sent = {row for row, lod in plan.lods.items() if lod is not Lod.FULL}
    assert sent
    assert sent <= weighed
    assert {*reader._shorter} == weighed - sent


class WatchedStore(MemoryStore):
    """Knows how many bytes were read back."""

    read = 0

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        self.read += sum(span.length for span in spans)
        return super().read_many(spans)


def test_a_large_result_is_not_read_back_to_be_shortened() -> None:
    """It was in memory when it was written, and decoding it again takes longer than all else that a compose does."""
    store = WatchedStore("s")
    session = Session(store)
    session.user("Show me everything.")
    session.assistant([Call("all", "get_all", {})])
    session.tool_result("all", "\n".join(f"order {at} of the harbour: confirmed" for at in range(30_000)))
    store.read = 0
    assert session.compose(TIGHT).tokens < TIGHT.window
    assert store.read < 1_000


@pytest.mark.slow
def test_a_large_entry_does_not_stay_in_memory() -> None:
    """It is forgotten when a payload was composed, or many other entries came: a server has many idle sessions."""
    large = "\n".join(f"order {at} of the harbour: confirmed" for at in range(30_000))
    session = Session(MemoryStore("s"))
    reader = session.log.reader
    session.user(large)
    assert reader._last_large[1] is not None
    session.compose(TIGHT)
    assert reader._last_large[1] is None
    session.assistant(large)
    for number in range(100):
        session.note(f"Note {number}.")
    assert reader._last_large[1] is None


@pytest.mark.slow
def test_names_are_kept_for_the_next_sweep_and_no_longer(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep does not read again what it has just read, or the one before it. What went long ago is forgotten."""
    monkeypatch.setattr(mentions, "_RECENT", 20)
    session = Session(MemoryStore("s"))
    names = session._composer._mentions
    for sweep in range(6):
        work(session, 12, first=100 * sweep)
        session.compose(TIGHT)
        read = made.count("names")
        names.latest([*names._names], session.log.path)
        assert made.count("names") == read
    kept = {*names._names, *names._earlier}
    assert kept
    assert len(kept) < made.count("names") / 2


def test_what_was_found_in_a_text_is_not_believed_of_another_program(tmp_path: Path) -> None:
    """A message with bits that say it was searched for constraints is searched all the same."""
    with Session.new(tmp_path, root=tmp_path, session_id="s") as session:
        session.user("Never touch table_1.")
        session.user("Never touch table_2.")
    [path] = tmp_path.rglob("s.jsonl")
    line = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*line[:-1], line[-1].replace(b'"seq":', b'"flags":8192,"seq":')]))
    for side in tmp_path.rglob("s.idx"):
        side.unlink()
    again = Session.resume("s", tmp_path, root=tmp_path)
    journal = again.log
    assert [journal.reader.constraints(row) for row in journal.reader.constraint_rows(journal.path)] == [
        ("Never touch table_2.",),
        ("Never touch table_1.",),
    ]


class _Lost(MemoryStore):
    """A store that can no longer be read."""

    closed = False

    def refresh(self, known: Tips | None = None) -> None:
        raise OSError("no more")

    def close(self) -> None:
        self.closed = True


def test_a_journal_that_cannot_be_opened_again_leaves_no_handle_open(monkeypatch: pytest.MonkeyPatch) -> None:
    session, lost = Session(MemoryStore("s")), _Lost()
    item = session.user("hello")
    monkeypatch.setattr(MemoryStore, "reopened", lambda _: lost)
    with pytest.raises(OSError, match="no more"):
        session.fork(item)
    assert lost.closed
