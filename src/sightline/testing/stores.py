"""What every store must guarantee. Others run it over their own, under pytest:

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
    def test_my_store(check, tmp_path):
        check(MyStores(tmp_path))

or with `check_stores(make)`. A check raises AssertionError and says what is wrong. It needs stores without sessions.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial, wraps
from itertools import count, zip_longest
from random import Random
from typing import Any

from msgspec import Raw

from sightline.errors import BadInput, BadSessionId, Conflict, SessionNotFound, StoreError, Unwritable
from sightline.log.entries import Body, Entry, decode
from sightline.log.stores import Placement, Repairs, Span, Store, Stores, Tips, missing
from sightline.testing.failures import attempt, must_raise, reported, same
from sightline.testing.stored_sessions import SESSION_CHECKS

_numbers = count(1)
_MANY = 600  # the engine reads up to 512 places at once, and a search hundreds of names


def said(text: str = "hello") -> Entry:
    """A conversation entry, with a uuid that no other has."""
    return _entry("u", type="user", message=Body("user", Raw(f'"{text}"'.encode())))


def noted() -> Entry:
    """An annotation, with a uuid that no other has."""
    return _entry("a", type="system", subtype="note", data=Raw(b'{"some":"thing"}'))


def _entry(kind: str, **fields: Any) -> Entry:
    uuid, when = f"{kind}{next(_numbers):08d}", "2026-01-01T00:00:00.000Z"
    return Entry(uuid=uuid, parent_uuid=None, session_id="s", timestamp=when, **fields)


def append(store: Store, *entries: Entry, branch: str = "", head: str | None = None) -> list[Placement]:
    """Append these entries as one batch."""
    return store.append(lambda _: entries, branch=branch, expected_head=head)


def uuids(store: Store) -> list[str]:
    """The uuid of every line, in order."""
    return [decode(line.data).uuid for line in store.scan()]


# ---------------------------------------------------------------------- the log


def a_new_log_is_empty(stores: Stores) -> None:
    """Nothing stored means no lines, seq 0 and no heads; and the session is not listed yet."""
    store = stores.create("s")
    store.refresh()
    same((list(store.scan()), store.tips, store.session_id), ([], Tips(), "s"), "a new log")
    same(stores.sessions(), [], "the sessions before anything was written")
    store.close()


def lines_are_read_back(stores: Stores) -> None:
    """Many lines, also long ones, are read by their places, in any order and twice; where there is none, nothing."""
    with closing(stores.create("s")) as store:
        placed = append(store, said("one"), noted(), said("two 二 \U0001f98a"))
        last = attempt(lambda: append(store, said("x" * 10_000_000), head=placed[2].entry.uuid), "an entry of 10 MB")
        many = append(store, *(noted() for _ in range(_MANY)))
        wanted = [*reversed([*placed, *last]), placed[1], *many]
        lines = store.read_many([placed_entry.span for placed_entry in wanted])
        lost = [
            placed_entry.entry.seq for placed_entry, line in zip_longest(wanted, lines) if placed_entry and not line
        ]
        assert not lost, f"the entries read: {len(lost)} that append returned have no line: seq {lost[:20]}"
        read = attempt(lambda: [decode(line) for line in lines], "decoding the lines read")
        same(
            [entry.seq for entry in read],
            [placed_entry.entry.seq for placed_entry in wanted],
            "the entries read, by seq",
        )
        assert read == [placed_entry.entry for placed_entry in wanted], (
            "the entries read are not those that were written"
        )
        end = many[-1].span
        same(store.read_many([Span(end.offset + end.length + 1_000, 50)]), [b""], "where there is no line")
        same(store.read_many([]), [], "no places")


def scanning_begins_at_any_line(stores: Stores) -> None:
    """Scanning from a line's offset gives that line and all later ones."""
    with closing(stores.create("s")) as store:
        spans = [append(store, noted())[0].span for _ in range(5)]
        for start, span in enumerate(spans):
            same([line.span for line in store.scan(span.offset)], spans[start:], f"the lines from {span} on")
        same(list(store.scan(store.tips.size)), [], "the lines after the last")


def entries_are_numbered_densely(stores: Stores) -> None:
    """One counter numbers all entries of a log; `make` is told the first number; batch and branch are written."""
    told: list[int] = []

    def make(first: int) -> list[Entry]:
        told.append(first)
        return [noted()]

    with closing(stores.create("s")) as store:
        made = [*append(store, said(), noted()), *append(store, said(), branch="other")]
        made += store.append(make, branch="", expected_head=None)
        same([placed.entry.seq for placed in made], [1, 2, 3, 4], "the seqs")
        same((told, store.tips.seq), ([4], 4), "the seq that make is told, and the last one")
        same([placed.entry.batch for placed in made], [(1, 2), (2, 2), None, None], "the batches")
        lines = [decode(line) for line in store.read_many([placed.span for placed in made])]
        same([entry.branch for entry in lines], ["", "", "other", ""], "the branches")
        same(lines, [placed.entry for placed in made], "what is stored")


def a_conversation_entry_follows_the_head(stores: Stores) -> None:
    """Who expects another head gets Conflict with the head there is, and nothing of the batch is written."""
    with closing(stores.create("s")) as store:
        append(store, first := said())
        error = must_raise(Conflict, lambda: append(store, noted(), said(), head="somebody"), "another head")
        same((error.expected, error.found), ("somebody", first.uuid), "what Conflict says")
        same((uuids(store), store.tips.seq), ([first.uuid], 1), "the log after a conflict")
        append(store, late := said(), head=error.found)
        append(store, noted(), head="somebody")  # annotations never conflict, and move no head
        append(store, left := said(), branch="left")
        same(store.tips.heads, {"": late.uuid, "left": left.uuid}, "the heads of the branches")
        same(store.tips.ends, {"": 3, "left": 4}, "the last seqs of the branches")


def a_failure_writes_nothing(stores: Stores) -> None:
    """An error while entries are made leaves the log and the handle as they were."""

    def fail(_: int) -> list[Entry]:
        raise RuntimeError("no")

    with closing(stores.create("s")) as store:
        append(store, first := said())
        must_raise(RuntimeError, lambda: store.append(fail, branch="", expected_head=first.uuid), "a failing make")
        append(store, second := said(), head=first.uuid)
        same((uuids(store), store.tips.seq), ([first.uuid, second.uuid], 2), "the log after a failure")


def handles_see_each_other(stores: Stores) -> None:
    """`refresh` shows what others wrote; without it a handle still numbers and compares with what there is."""
    with closing(stores.create("s")) as one, closing(one.reopened()) as other:
        append(one, root := said())
        other.refresh()
        same((other.tips, uuids(other)), (one.tips, [root.uuid]), "what another handle knows")
        append(one, winner := said(), head=root.uuid)
        same(uuids(other), [root.uuid], "the lines up to the tips of a handle that has not read on")
        error = must_raise(Conflict, lambda: append(other, said(), head=root.uuid), "the slower of two writers")
        same(error.found, winner.uuid, "the head that the slower one is told")
        append(other, said(), head=winner.uuid)
        with closing(stores.open("s")) as third:
            for turn in range(12):
                append((one, other, third)[turn % 3], noted())
            third.refresh()
            same([decode(line.data).seq for line in third.scan()], list(range(1, 16)), "the seqs of three writers")


def threads_and_handles_lose_nothing(stores: Stores) -> None:
    """Threads that share handles append whole batches, each once, and never two after one head."""
    with closing(stores.create("s")) as one, closing(one.reopened()) as other:
        append(one, said())
        written: list[str] = []

        def write(store: Store) -> None:
            for _ in range(15):
                batch = [said(), noted(), noted()]
                while True:
                    store.refresh()
                    try:
                        append(store, *batch, head=store.tips.heads[""])
                        break
                    except Conflict:
                        continue
                written.extend(entry.uuid for entry in batch)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, (one, one, other, other)))
        with closing(stores.open("s")) as again:
            again.refresh()
            lines = [decode(line.data) for line in again.scan()][1:]
    same(sorted(entry.uuid for entry in lines), sorted(written), "what four threads wrote")
    same([entry.batch for entry in lines], [(1, 3), (2, 3), (3, 3)] * 60, "their batches, whole and in order")


def a_log_is_opened_again(stores: Stores) -> None:
    """Opening changes neither lines nor tips, also with tips that were kept; those of a longer log are not believed."""
    with closing(stores.create("s")) as store:
        append(store, root := said(), noted())
        earlier_tips = store.tips.copy()
        append(store, said(), branch="side")
        append(store, said(), head=root.uuid)
        tips, lines = store.tips.copy(), list(store.scan())
        store.sync()
    longer = Tips(tips.size + 10_000, tips.seq + 9, {"": "gone"}, {"": 99})
    for kept in (None, earlier_tips, longer):
        with closing(stores.open("s")) as again:
            again.refresh(kept)
            same((again.tips, list(again.scan())), (tips, lines), f"the log opened with {kept}")
            same(again.repairs, Repairs(), "the repairs of a healthy log")


def any_writers_agree_with_a_list(stores: Stores) -> None:
    """Whatever two writers do, the log is what a list with one head for each branch would be."""
    for seed in range(10):
        random, log, heads = Random(seed), list[str](), dict[str, str]()
        first = stores.create(f"s{seed}")
        writers, heads_seen = [first, first.reopened()], [dict[str, str](), dict[str, str]()]
        for _ in range(25):
            who, branch = random.randrange(2), random.choice(["", "left", "right"])
            if random.random() < 0.5:
                writers[who].refresh()
                heads_seen[who] = dict(heads)
            batch = [said() if random.random() < 0.5 else noted() for _ in range(random.randint(1, 4))]
            expected, speaks = heads_seen[who].get(branch), any(entry.in_conversation for entry in batch)
            try:
                append(writers[who], *batch, branch=branch, head=expected)
            except Conflict:
                assert (speaks, expected == heads.get(branch)) == (True, False), (
                    f"seed {seed}: no reason for a conflict"
                )
                continue
            assert not speaks or expected == heads.get(branch), f"seed {seed}: a conflict was not seen"
            log += [entry.uuid for entry in batch]
            for entry in batch:
                if entry.in_conversation:
                    heads[branch] = heads_seen[who][branch] = entry.uuid
        for writer in writers:
            writer.refresh()
            same((uuids(writer), writer.tips.heads, writer.tips.seq), (log, heads, len(log)), f"the log of seed {seed}")
            writer.close()


# ---------------------------------------------------------------------- derived data and texts


def derived_data_are_kept_or_lost(stores: Stores) -> None:
    """What is kept comes back as it was or not at all, through any handle; empty data deletes it. Nothing is raised."""
    parts = {"columns": b"\0\xff" * 500, "search/0-9/3": b"x" * 1_000_000, "odd näme": b"1"}
    with closing(stores.create("s")) as store, closing(store.reopened()) as other:
        append(store, noted())
        same(store.cache(["columns", "nothing"]), {}, "derived data of a new log")
        for data in (parts, {"columns": b"other"}, {"columns": b"", "odd näme": b"2"}):
            store.keep(data)
            parts = {name: content for name, content in (parts | data).items() if content}
            for handle in (store, other):
                cached = handle.cache([*parts, "columns", "nothing"])
                assert cached.items() <= parts.items(), "derived data came back otherwise than they were kept"
        assert store.cache(["columns"]).keys() <= {"columns"}, "cache returned a name that nobody asked for"
        many = {f"search/{number}": bytes([number % 255 + 1]) for number in range(_MANY)}
        attempt(lambda: store.keep(many), "keep with many names")
        cached = attempt(lambda: store.cache(list(many)), "cache with many names")
        assert cached.items() <= many.items(), "derived data came back otherwise than they were kept"


def texts_are_kept(stores: Stores) -> None:
    """Texts come back by digest, many at once, also through another handle; keeping one again changes nothing."""
    texts = {"d1": " \n plain\t \n", "d2": 'zwei\nLinien \\ " 二 \0 \u2028', "d3": "x" * 100_000}
    with closing(stores.create("s")) as store:
        append(store, noted())
        store.keep_texts(texts)
        store.keep_texts({"d1": texts["d1"]})
        with closing(store.reopened()) as other:
            same(other.texts(list(texts)), texts, "the texts, read before the handle that kept them is closed")
    with closing(stores.open("s")) as again:
        same(again.texts(["d3", "never", "d1", "d2"]), texts, "the texts")
        same(again.texts([]), {}, "no texts")


# ---------------------------------------------------------------------- the sessions of one place


def sessions_are_listed_newest_first(stores: Stores) -> None:
    """A session is listed when something was written to it; the one written to last is first."""
    made = {name: stores.create(name) for name in ("a", "b.2", "C_3-x", "never")}
    for name in ("b.2", "a", "C_3-x", "b.2"):  # neither in the order of the alphabet nor in that of their creation
        append(made[name], noted())
        _pause(made[name])
    same(stores.sessions(), ["b.2", "C_3-x", "a"], "the sessions, newest first")
    for store in made.values():
        store.close()


def _pause(store: Store) -> None:
    """Let a clock go on by which a store may order its sessions."""
    threading.Event().wait(0.02)
    store.sync()


def ids_are_checked(stores: Stores) -> None:
    """Ids that are no plain names are refused everywhere, an unknown session is named, an existing one not replaced."""
    acts = {"create": stores.create, "open": stores.open, "delete": stores.delete}
    for name, act in acts.items():
        for bad in ("", ".", "..", "a/b", "../a", ".hidden", "a b", "a\0", "x" * 129, "ü"):
            must_raise(BadSessionId, partial(act, bad), f"{name}({bad!r})")
    for name in ("open", "delete"):
        error = must_raise(SessionNotFound, partial(acts[name], "nobody"), f"{name} of an unknown session")
        same(error.session_id, "nobody", "the session that was not found")
    with closing(stores.create("s")) as store:
        append(store, first := said())
        must_raise(BadInput, lambda: stores.create("s"), "creating a session that exists")
        same(uuids(store), [first.uuid], "the log after it was not created again")


def sessions_are_separate_until_deleted(stores: Stores) -> None:
    """Sessions share nothing; deleting one removes its log, texts and derived data, and nothing of another."""
    for name in ("s", "s.2"):
        with closing(stores.create(name)) as store:
            append(store, said(name))
            store.keep({"columns": name.encode(), "search/head": name.encode()})
            store.keep_texts({"d": name})
    stores.delete("s")
    same(stores.sessions(), ["s.2"], "the sessions after one was deleted")
    must_raise(SessionNotFound, lambda: stores.open("s"), "opening a deleted session")
    with closing(stores.create("s")) as store, closing(stores.open("s.2")) as other:
        other.refresh()
        same(store.cache(["columns", "search/head"]), {}, "derived data of a deleted session")
        same((store.texts(["d"]), other.texts(["d"])), ({}, {"d": "s.2"}), "the texts of both")
        same((list(store.scan()), len(uuids(other))), ([], 1), "the lines of both")


def a_deleted_session_does_not_come_back(stores: Stores) -> None:
    """What a handle writes whose session was deleted is refused or lost; derived data raise nothing even then."""
    with closing(stores.create("s")) as store:
        append(store, first := said())
        stores.delete("s")
        for act in (lambda: append(store, said(), head=first.uuid), lambda: store.keep_texts({"d": "text"})):
            attempt(act, "writing to a deleted session", StoreError)
        attempt(lambda: store.keep({"columns": b"x", "search/head": b"x"}), "keep of a deleted session")
    same(stores.sessions(), [], "the sessions after the only one was deleted")
    with closing(stores.create("s")) as again:
        again.refresh()
        left_over = (list(again.scan()), again.cache(["columns", "search/head"]), again.texts(["d"]))
        same(left_over, ([], {}, {}), "what a deleted session left to a new one of its id")


def a_closed_handle_is_harmless(stores: Stores) -> None:
    """Closing twice does nothing; then a handle refuses with the errors promised, and others can be made of it."""
    store = stores.create("s")
    append(store, first := said())
    store.close()
    attempt(store.close, "closing twice")
    with closing(store.reopened()) as again:
        again.refresh()
        same(uuids(again), [first.uuid], "the log through a handle made of a closed one")
    attempt(lambda: store.keep({"columns": b"x"}), "keep of a closed handle")
    attempt(lambda: append(store, noted()), "append to a closed handle", Unwritable)
    attempt(store.refresh, "refreshing a closed handle", StoreError)
    store.close()


def everything_is_there(stores: Stores) -> None:
    """The stores, and a handle of theirs, have every method and attribute of the protocols."""
    assert not (lacks := missing(stores, Stores)), f"these are no Stores: they lack {', '.join(lacks)}"
    store = stores.create("s")
    assert not (lacks := missing(store, Store)), f"this is no Store: it lacks {', '.join(lacks)}"
    store.close()


def _reporting(check: Callable[[Stores], None]) -> Callable[[Stores], None]:
    """A check that says what is promised, and whose code raised an error that it does not foresee."""

    @wraps(check)
    def run(stores: Stores) -> None:
        with reported((check.__doc__ or "").partition("\n\n")[0]):
            check(stores)

    return run


_CHECKS: tuple[Callable[[Stores], None], ...] = (
    everything_is_there,
    a_new_log_is_empty,
    lines_are_read_back,
    scanning_begins_at_any_line,
    entries_are_numbered_densely,
    a_conversation_entry_follows_the_head,
    a_failure_writes_nothing,
    handles_see_each_other,
    threads_and_handles_lose_nothing,
    a_log_is_opened_again,
    any_writers_agree_with_a_list,
    derived_data_are_kept_or_lost,
    texts_are_kept,
    sessions_are_listed_newest_first,
    ids_are_checked,
    sessions_are_separate_until_deleted,
    a_deleted_session_does_not_come_back,
    a_closed_handle_is_harmless,
    *SESSION_CHECKS,
)
STORE_CHECKS = tuple(map(_reporting, _CHECKS))


def check_stores(make: Callable[[], Stores]) -> None:
    """Run all checks, each over stores that `make` returns new. Raises AssertionError if one fails."""
    for check in STORE_CHECKS:
        check(make())
