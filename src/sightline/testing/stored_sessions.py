"""What a session must guarantee over every store: the last part of the suite in `sightline.testing.stores`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from sightline import samples, wire
from sightline.errors import BadInput, StoreError
from sightline.log.stores import Store, Stores
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import Ticking, WordCounter, calling, numbered_ids
from sightline.testing.failures import same
from sightline.values.items import Role

_ROOM = Budget(100_000)
_TIGHT = Budget(1_200)  # so that a sample is swept several times


def _options() -> dict[str, Any]:
    return {"token_counter": WordCounter(), "clock": Ticking(), "ids": numbered_ids()}


def a_session_resumes_with_its_open_calls(stores: Stores) -> None:
    """Calls without a result wait after a crash and after a clean end, for a result or to be given up."""
    for name, answers in (("crashed", True), ("closed", False)):
        session = Session.new(stores=stores, session_id=name, **_options())
        session.user("look at a.py")
        session.compose(_ROOM)
        session.reply(calling(("look", {"at": "a.py"})))
        if name == "closed":
            session.close()
        with Session.resume(name, stores=stores, **_options()) as again:
            same([call.name for call in again.open_calls], ["look"], f"the open calls of a {name} session")
            if answers:
                again.tool_result(again.open_calls[0].id, "nothing in it")
            payload = again.compose(_ROOM)
            same(("nothing in it" in str(payload.openai())), answers, f"the result in a {name} session")
            same((again.open_calls, again.items.text(1 + 1)), ([], "look at a.py"), f"a {name} session after it")
    with Session.open(stores=stores, **_options()) as newest:
        same(newest.id, "closed", "the newest session")


def a_fork_has_a_handle_of_its_own(stores: Stores) -> None:
    """A fork writes to its own branch of the log while the session goes on; both can be resumed."""
    session = Session.new(stores=stores, session_id="s", **_options())
    first = session.user("one")
    fork = session.fork(first)
    fork.user("left")
    fork.close()
    session.user("right")
    name = fork.branch
    session.close()
    for branch, last in (("", "right"), (name, "left")):
        with Session.resume("s", stores=stores, branch=branch, **_options()) as again:
            same([again.items.text(item.id) for item in again.items], ["one", last], f"the items of branch {branch!r}")


def ids_in_capitals_are_other_ids(stores: Stores) -> None:
    """Sessions whose ids differ only in capitals share nothing; or the second is refused, as by some file systems."""
    with Session.new(stores=stores, session_id="notes", **_options()) as session:
        session.user("of notes")
    try:
        with Session.new(stores=stores, session_id="Notes", **_options()) as other:
            same(list(other.items), [], "the items of a new session 'Notes' beside 'notes'")
            other.user("of Notes")
    except BadInput:
        return  # there is one of this id: nothing was mixed
    except StoreError as error:
        raise AssertionError(f"a session 'Notes' beside 'notes' raised {error!r}") from error
    for name in ("notes", "Notes"):
        with Session.resume(name, stores=stores, **_options()) as again:
            same([again.items.text(item.id) for item in again.items], [f"of {name}"], f"the items of {name!r}")


def every_payload_is_as_in_memory(stores: Stores) -> None:
    """A sample run with sweeps, windows and a resume in its middle sends what it sends over a store in memory.

    What was sent can be rendered again from the log, every item reads back, and nothing depends on derived data.
    """
    expected, stale = list(_lived(MemoryStores())), _Changed(stores, _StaleStore)
    list(_lived(stale, sample=1))  # an earlier session of the same id
    stores.delete("run")
    for kind in (stores, _Changed(stores, _ForgetfulStore), _Changed(stores, _GarblingStore), stale, stale):
        for (what, actual), (_, wanted) in zip(_lived(kind), expected, strict=True):
            same(actual, wanted, f"{what}, with {kind!r}")
        stores.delete("run")


class _Window:
    """Shows something else each time."""

    turn = 0

    def render(self) -> str:
        self.turn += 1
        return f"window at turn {self.turn}"


def _lived(stores: Stores, sample: int = 0) -> Iterator[tuple[str, Any]]:
    """Live through a sample, and tell what was sent and what is found afterwards."""
    run, options = samples.load(samples.names()[sample]), {**_options(), "windows": {"w": _Window()}}
    session = Session.new(stores=stores, session_id="run", **options)
    session.system("Be brief.")
    messages = wire.read_messages(run.messages)[:40]
    for number, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            yield f"payload before message {number}", session.compose(_TIGHT).hash
        if number == 5:
            session.windows.show("w")
        if number == len(messages) // 2:
            session.close()
            session = Session.resume("run", stores=stores, **options)
        session.add(message)
    session.interrupt()
    yield "the last payload", session.compose(_TIGHT).hash
    query = str(run.messages[0]["content"])[:80]
    yield "what is found", [item.id for item in session.items.search(query)]
    yield "the items", list(session.items)
    session.close()
    with Session.resume("run", stores=stores, **options) as again:
        yield "the items of the resumed session", list(again.items)
        yield "what the resumed session finds", [item.id for item in again.items.search(query)]
        yield (
            "payloads that cannot be rendered again",
            [receipt for receipt in again.receipts.verify() if not receipt.good],
        )
        yield "the next payload", again.preview(_TIGHT).hash


class _Proxy:
    """Another object, with some methods of its own."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _Changed(_Proxy):
    """Stores whose handles are of another class, which treats derived data badly."""

    def __init__(self, whole: Stores, change: Callable[[Store, dict[str, bytes]], Any]) -> None:
        super().__init__(whole)
        self._change = change
        self._first: dict[str, bytes] = {}  # what was kept first under each name, by any handle

    def create(self, session_id: str) -> Store:
        return cast(Store, self._change(self._whole.create(session_id), self._first))

    def open(self, session_id: str) -> Store:
        return cast(Store, self._change(self._whole.open(session_id), self._first))

    def __repr__(self) -> str:
        return getattr(self._change, "__doc__", "")


class _ChangedStore(_Proxy):
    def __init__(self, whole: Store, first: dict[str, bytes]) -> None:
        super().__init__(whole)
        self._first = first


class _ForgetfulStore(_ChangedStore):
    """derived data that are never kept"""

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keeps nothing."""


class _GarblingStore(_ChangedStore):
    """derived data with a byte changed"""

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        parts: dict[str, bytes] = self._whole.cache(names)
        return {name: data[:-1] + bytes([data[-1] ^ 1]) for name, data in parts.items()}


class _StaleStore(_ChangedStore):
    """derived data that were replaced or deleted, also those of an earlier session of the same id"""

    def keep(self, parts: Mapping[str, bytes]) -> None:
        self._whole.keep(parts)
        for name, data in parts.items():
            if data:
                self._first.setdefault(name, data)

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self._first[name] for name in names if name in self._first}


SESSION_CHECKS: tuple[Callable[[Stores], None], ...] = (
    a_session_resumes_with_its_open_calls,
    a_fork_has_a_handle_of_its_own,
    ids_in_capitals_are_other_ids,
    every_payload_is_as_in_memory,
)
