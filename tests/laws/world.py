"""A session and everything that was said to it: carries out histories, so that the laws can be checked from outside."""

import json
import shutil
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from histories import (
    HOSTILE,
    Act,
    Again,
    Answer,
    Ask,
    Compact,
    Compose,
    Configure,
    Content,
    Do,
    Late,
    Mark,
    Note,
    Operation,
    Orphan,
    Recall,
    Replace,
    Say,
    Show,
    Spoken,
    Switch,
    Uncompact,
    Wait,
    Window,
)  # fmt: skip
from hypothesis import strategies as st
from sqlite_store import SqliteStores

from postgres_server import add_tenants, running
from sightline.apps import App, Element, action
from sightline.compaction.compactor import Compacted
from sightline.compose.receipts import TokenFactor
from sightline.errors import BadInput, OpenCalls, PinnedOverflow, Refused, UnknownItem
from sightline.fleet.postgres import PostgresStores
from sightline.log.annotations import ReceiptNote
from sightline.log.stores import Stores
from sightline.log.stores.memory import MemoryStores
from sightline.log.stores.session_folder import Folder
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import Ticking, WordCounter, numbered_ids
from sightline.values.items import Blob, Call, Image, Item, Kind, Lod, Message, Opaque, Result, Role, Text
from sightline.values.tokens import Estimate, TokenCounter, counter
from sightline.wire.common import text_part
from sightline.wire.payload import Payload

COUNTERS: dict[str, Callable[[], TokenCounter]] = {
    "words": WordCounter,
    "estimate": Estimate,
    "o200k_base": lambda: counter("o200k_base"),
}
counters = st.sampled_from(sorted(COUNTERS))
_MEMORY = Path("/dev/shm")  # where a sync costs nothing

CONFIGS = {"entities": {"schema": {"destination": "string"}}}  # of the strategies that need one
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run it.", "parameters": {"type": "object"}}}]


GARBAGE = (None, 42, b"\xff", [], {}, object(), {"choices": []}, ["a summary"], {"content": 7}, iter(()), "\ud800")


def model(character: str) -> Callable[[Payload], Any]:
    """Somebody to ask for a summary, of this character."""
    asked: list[Payload] = []

    def answer(request: Payload) -> Any:
        asked.append(request)
        match character:
            case "good":
                return f"Order A-{len(request.body)} is confirmed. " + "The quay is seven metres deep there. " * 3
            case "raises":
                raise RuntimeError("no such model")
            case "quits":
                raise SystemExit(3)
            case "oversized":
                return "word " * 100_000
            case "garbage":
                return GARBAGE[len(request.body) % len(GARBAGE)]
            case "hostile":
                return HOSTILE[len(request.body) % len(HOSTILE)]
            case _:
                return ""

    return answer


class StubWindow:
    """A live window: it shows something else after every call."""

    def __init__(self, name: str) -> None:
        self.name, self.turn = name, 0

    def render(self) -> str:
        """What it shows now."""
        return f"<Window id={self.name!r}> {'row ' * 20}{self.turn} </Window>"


class Board(App):
    """A board to pin notes on."""

    name = "board"
    notes: list[str]

    def __init__(self) -> None:
        self.notes = []

    @action()
    def add(self, text: str) -> str:
        """Pin a note."""
        self.notes.append(text)
        return f"{len(self.notes)} notes"

    @action()
    def delete(self, index: int) -> str:
        """Take a note off."""
        if not 1 <= index <= len(self.notes):
            raise Refused(f"no note {index}")
        return self.notes.pop(index - 1)

    def view(self, lod: Lod) -> list[Element]:
        """All of it, its last words, or how many there are."""
        if lod is Lod.GIST:
            return [Element(text=f"{len(self.notes)} notes")]
        offered = ("delete",) if lod is Lod.FULL else ()
        return [
            Element(id=str(number), text=note[: None if lod is Lod.FULL else 20], body=note, actions=offered)
            for number, note in enumerate(self.notes, 1)
        ]


class Sent(NamedTuple):
    """One call of the model."""

    payload: Payload
    receipt: ReceiptNote
    branch: str
    budget: Budget
    commands: tuple[str, ...]  # what a caller did since the call before on this branch that may change the prefix


class World:
    """A session and everything that was said to it, so that the laws can be checked from outside."""

    def __init__(self, counting: str = "words", stores: Stores | None = None) -> None:
        self.stores = MemoryStores() if stores is None else stores
        self.clock, self.ids = Ticking(), numbered_ids()
        self.counter = COUNTERS[counting]()
        self.windows = {name: StubWindow(name) for name in ("w1", "w2")}
        self.session = Session.new("/laws", stores=self.stores, session_id="laws", **self._options())
        self.branches: dict[str, Session] = {"": self.session}
        self.accepted: dict[str, Content | Call] = {}  # item id → what was handed in
        self.sizes: dict[str, int] = {}  # item id → size of the log when it had been accepted
        self.sent: list[Sent] = []
        self.overflows: list[tuple[Session, Budget, PinnedOverflow, TokenFactor]] = []
        self.compacted: list[tuple[str, Compacted]] = []  # the branch, and what was done
        self._commands: dict[str, list[str]] = {"": []}
        self.on_compose: Callable[[World, Sent, Payload | None], None] | None = None
        self.before_compose: Callable[[World, Budget], Any] = lambda world, budget: None

    def _options(self) -> dict[str, Any]:
        kept = {"token_counter": self.counter, "clock": self.clock, "ids": self.ids}
        return {**kept, "windows": self.windows, "apps": [Board]}

    @property
    def file(self) -> Path:
        """The log, where it is in a file."""
        assert isinstance(self.stores, Folder)
        return self.stores.file("laws")

    def log(self) -> bytes:
        """Every byte written so far."""
        with closing(self.session.log.store.reopened()) as store:
            store.refresh()
            return b"".join(line.data for line in store.scan())

    def reopened(self, branch: str) -> Session:
        """The session again, from the log alone."""
        return Session.resume("laws", "/laws", stores=self.stores, branch=branch, **self._options())

    def resume(self) -> None:
        """Close and open again."""
        branch = self.session.branch
        if not self.log():
            return
        self.session.close()
        self.session = self.branches[branch] = self.reopened(branch)

    def close(self) -> None:
        """Let go of files."""
        for session in self.branches.values():
            session.close()

    def item_ids(self) -> list[str]:
        """Of the current branch."""
        return [item.id for item in self.session.items]

    def written_on(self, item_id: str) -> str:
        """The branch an item was first said on."""
        for session in self.branches.values():
            row = session.log.timeline.row(item_id)
            if row is not None:
                return session.log.branch_name_of(row)
        raise AssertionError(item_id)

    def pick(self, which: int) -> str | None:
        """Some item of the current branch."""
        ids = self.item_ids()
        return ids[which % len(ids)] if ids else None

    def command(self, what: str, branch: str | None = None) -> None:
        """Remember that a caller did something the prefix may change for."""
        self._commands.setdefault(self.session.branch if branch is None else branch, []).append(what)

    # -------------------------------------------------------------- carrying out

    def run(self, history: Sequence[Operation]) -> "World":
        """Carry out every operation."""
        for operation in history:
            self.apply(operation)
        return self

    def apply(self, operation: Operation) -> None:
        """Carry out one operation; what makes no sense now does nothing."""
        match operation:
            case Do(what):
                self._do(what)
            case Mark(what, which):
                self._mark(what, self.pick(which))
            case Recall(query):
                self.session.items.recall(query, tokens=300)
            case Configure(name, value):
                own = {"config": CONFIGS.get(value, {})} if name == "strategy" else {}
                self.session.configure(**{name: value}, **own)
                self.command("settings")
            case Window(name, closed):
                (self.session.windows.close if closed else self.session.windows.show)(name)
                self.command("window")
            case Act():
                self._act(operation)
                self.command("window")
            case Switch(which):
                names = sorted(self.branches)
                self.session = self.branches[names[which % len(names)]]
            case Wait(seconds):
                self.clock.wait(seconds)
            case Compose():
                self._compose(operation)
            case Compact():
                self._compact(operation)
            case Uncompact(which):
                self._uncompact(which)
            case _:
                self._hear(operation)

    def _hear(self, spoken: Spoken) -> None:
        match spoken:
            case Say(role, content):
                self._say(role, content)
            case Note(content, system):
                self._accept(self.session.note(content, system=system), content)
            case Show(text, width):
                image = Image("image/png", "iVBORw0KGgo=", width=width, height=width)
                self._accept(self.session.user([image, Text(text)]), text)
            case Ask():
                self._ask(spoken)
            case Answer(which, content, failed):
                self._answer(which, content, failed)
            case Late(which, content):
                self._late(which, content)
            case Orphan(call_id, content):
                message = Message(Role.TOOL, (Result(call_id, (text_part(content),), name="lost"),))
                self._accept(self.session.add(message), content)
            case Replace(text):
                self._accept(self.session.system(text, replace=True), text)
                self.command("system")
            case Again(which):
                self._again(which)

    def _again(self, which: int) -> None:
        """A call that was made before, with the answer it had."""
        timeline = self.session.log.timeline
        rows = [row for row in self.session.items._rows() if timeline.kind[row] == Kind.RESULT]
        if not rows or self.session.open_calls:
            return
        row = rows[which % len(rows)]
        call, result = (self.session.items[timeline.id(each)].parts[0] for each in (timeline.partner[row], row))
        assert isinstance(call, Call)
        assert isinstance(result, Result)
        self.apply(Ask("", (call,)))
        said = given_back(self.session.items[timeline.id(row)])
        assert isinstance(said, str | bytes)
        self.apply(Answer(0, said, bool(result.error)))

    def _compact(self, compact: Compact) -> None:
        """Compact as far as there is something to compact; a model's failure is no reason to fail."""
        asked = None if compact.model == "rule" else model(compact.model)
        if compact.background:
            if asked is not None and self.session.summaries.in_background(asked, seconds=60):
                self.session.summaries.wait()
            return
        budget = None if self.session._composer.budget is not None else Budget(4_000)
        try:
            done = self.session.summaries.compact(budget, model=asked, seconds=60)
        except (BadInput, PinnedOverflow):
            return
        self.compacted.append((self.session.branch, done))
        self.command("compact")

    def _act(self, act: Act) -> None:
        """Do something with a window of an app, whatever comes of it."""
        session, text = self.session, act.text.encode("utf-8", "replace").decode()
        open_now = [window.id for window in session.windows.all()]
        window = open_now[act.which % len(open_now)] if open_now else "board_1"
        match act.what:
            case "open":
                session.windows.open("board", text)
            case "add":
                session.windows.act(window, "add", text=text)
            case "delete":
                session.windows.act(window, f"delete-{act.which % 5}")
            case "lower" if open_now:
                session.windows.lod(window, Lod(act.which % 3))
            case "close":
                session.windows.act(window, "close", summary=text)
            case "say" if not session.open_calls:
                call = {
                    "name": "action",
                    "arguments": {"window_id": window, "action_id": "add", "params": {"text": text}},
                }
                said = f"<tool_call>{json.dumps(call)}</tool_call>"
                self._accept(session.reply(said), said)

    def _uncompact(self, which: int | None) -> None:
        item_id = None if which is None else self.pick(which)
        with suppress(UnknownItem):
            self.session.summaries.undo(item_id)
            self.command("uncompact")

    def _accept(self, item_id: str, content: Content | Call) -> None:
        self.accepted[item_id] = content
        self.sizes[item_id] = self.session.log.store.tips.size

    def _say(self, role: Role, content: Content) -> None:
        match role:
            case Role.USER:
                self._accept(self.session.user(content), content)
            case Role.SYSTEM if isinstance(content, str):
                self._accept(self.session.system(content), content)
                self.command("system")
            case _:
                self._accept(self.session.assistant(content), content)

    def _ask(self, ask: Ask) -> None:
        thinking = Opaque("anthropic", "thinking", {"type": "thinking", "thinking": "hm", "signature": "s"})
        parts = [*([thinking] if ask.thinks else []), *([Text(ask.text)] if ask.text else []), *ask.calls]
        item_id = self.session.assistant(parts)
        self._accept(item_id, ask.text)
        for number, call in enumerate(ask.calls, start=1):
            self._accept(f"{item_id}.{number}", call)

    def _answer(self, which: int, content: Content, failed: bool) -> None:
        waiting = self.session.open_calls
        if waiting:
            call = waiting[which % len(waiting)]
            self._accept(self.session.tool_result(call.id, content, error=failed), content)

    def _late(self, which: int, content: Content) -> None:
        given_up = sorted(self.session.log.timeline.interrupted)
        if given_up:
            call_id = given_up[which % len(given_up)]
            self._accept(self.session.tool_result(call_id, content), content)

    def _do(self, what: str) -> None:
        match what:
            case "interrupt":
                self.session.interrupt()
            case "settle":
                self.session.answer_own_calls()
            case "preview":
                with suppressed_overflow():
                    self.session.preview(Budget(3_000))
            case "resume":
                self.resume()
            case "overflowed":
                self.session.overflowed()
            case "tools" | "no tools":
                self.session.tools(TOOLS, recall=what == "tools")
                self.command("tools")

    def _mark(self, what: str, item_id: str | None) -> None:
        if item_id is None:
            return
        match what:
            case "pin":
                self.session.items.pin(item_id)
                self.command("pin")
            case "unpin":
                self.session.items.unpin(item_id)
            case "collapse":
                with suppress(BadInput):  # it is pinned
                    self.session.items.collapse(item_id)
            case "expand":
                self.session.items.expand(item_id, lines=3)
            case "expand now":
                self.session.items.expand(item_id, now=True)
                self.command("expand")
            case "fork":
                self._fork(item_id)

    def _fork(self, item_id: str) -> None:
        try:
            branch = self.session.fork(item_id)
        except OpenCalls:
            return
        self.branches[branch.branch] = branch
        self._commands[branch.branch] = []
        self.session = branch

    def _counting(self) -> TokenFactor:
        """How the next payload is counted at its mildest: a refusal after which nothing would fit is forgotten."""
        composer = self.session._composer
        calibration = composer._calibration
        if calibration.before_refusal is not None:
            return calibration.before_refusal
        observed = calibration._observed or 0.0
        return TokenFactor(observed, known=True) if observed > calibration.factor.value else calibration.factor

    def _compose(self, compose: Compose) -> None:
        if self.session.open_calls:
            self._refused(compose)
        budget = Budget(compose.window)
        foreseen = self.before_compose(self, budget)
        counting = self._counting()
        try:
            payload = self.session.compose(budget, ask=compose.ask)
        except PinnedOverflow as error:
            self.overflows.append((self.session, budget, error, counting))
            return
        receipt = self.session._composer.receipt
        assert receipt is not None
        branch = self.session.branch
        self.sent.append(Sent(payload, receipt, branch, budget, tuple(self._commands.get(branch, ()))))
        self._commands[branch] = []
        if self.on_compose is not None:
            self.on_compose(self, self.sent[-1], foreseen)
        for window in self.windows.values():
            window.turn += 1
        if compose.usage:
            self._reply(payload, compose.usage)

    def _refused(self, compose: Compose) -> None:
        """Composing while calls wait is refused, after a resume they are given up on; here they are given up on."""
        before = self.log()
        try:
            if not self.session._resumed:
                self.session.compose(Budget(compose.window))
                raise AssertionError("composed although calls wait")
        except OpenCalls:
            assert self.log() == before
        self.session.interrupt()

    def _reply(self, payload: Payload, factor: float) -> None:
        usage = {"prompt_tokens": round(payload.tokens * factor), "completion_tokens": 1}
        reply = {"choices": [{"message": {"role": "assistant", "content": "noted"}}], "usage": usage}
        self._accept(self.session.reply(reply), "noted")


@contextmanager
def suppressed_overflow() -> Iterator[None]:
    """What may not be reduced may be too large for a small window: that is lawful, and not of interest here."""
    with suppress(PinnedOverflow):
        yield


def new_tenant(name: str) -> PostgresStores:
    """Sessions in PostgreSQL that nobody else has."""
    stores = PostgresStores(running().url("laws", tenant=name))
    add_tenants(stores, name)
    return stores


STORES: dict[str, Callable[[Path], Stores]] = {
    "memory": lambda root: MemoryStores(),
    "jsonl": lambda root: Folder("/laws", root, fsync="never"),
    "sqlite": lambda root: SqliteStores(root / "laws.db"),
    "postgres": lambda root: new_tenant(root.name),  # a schema for each takes longer
}
kinds = st.sampled_from([*["memory"] * 8, *sorted(STORES)])
"""Mostly memory: what differs between stores shows in hundreds of histories, and they cost several times the time."""


@contextmanager
def over(kind: str, counting: str = "words") -> Iterator[World]:
    """A world whose session is in stores of this kind."""
    root = Path(tempfile.mkdtemp(prefix="laws", dir=_MEMORY if _MEMORY.is_dir() else None))
    stores = STORES[kind](root)
    world = World(counting, stores)
    try:
        yield world
    finally:
        world.close()
        if isinstance(stores, SqliteStores | PostgresStores):
            stores.close()
        shutil.rmtree(root)


def given_back(item: Item) -> Content | Call:
    """What was handed in, from what the log has: the inverse of accepting it."""
    parts = item.parts
    if len(parts) == 1 and isinstance(parts[0], Result):
        parts = parts[0].parts
    if item.kind is Kind.CALL:
        call = parts[0]
        assert isinstance(call, Call)
        return call
    spoken = [part for part in parts if isinstance(part, Text | Blob)]
    if not spoken:
        return ""
    last = spoken[-1]  # a label of ours may stand before it
    if isinstance(last, Text):
        return last.text
    data = b64decode(last.data)
    return data.decode("utf-8", "surrogatepass") if last.surrogates else data
