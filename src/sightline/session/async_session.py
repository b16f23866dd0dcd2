"""The same session for event loops: its calls run in worker threads, those of one session one after another."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from functools import cached_property, partial, wraps
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from sightline.apps.host import Host
from sightline.compaction.compactor import SECONDS, Compacted, Summarizer
from sightline.compose.verify import Verified
from sightline.log.annotations import ReceiptNote
from sightline.log.stores import Repairs
from sightline.plan.strategy import Planner
from sightline.plan.view import Budget
from sightline.session.calls import Answered
from sightline.session.compactions import CompactionInfo
from sightline.session.items import Items
from sightline.session.receipts import Receipts
from sightline.session.reply_stream import AsyncReplyStream
from sightline.session.session import Session
from sightline.session.summaries import Summaries
from sightline.session.worker import Worker
from sightline.values.finish import finish
from sightline.values.items import Item
from sightline.values.settings import Settings

_AT_ONCE = 256  # elements that are read before the next call of the session may run

P = ParamSpec("P")
R = TypeVar("R")
Inner = TypeVar("Inner")
Element = TypeVar("Element")


class _Awaitable(Generic[Inner]):
    """An object whose methods run in the worker of its session."""

    def __init__(self, inner: Inner, worker: Worker) -> None:
        self._inner, self._worker = inner, worker


def _awaitable(
    method: Callable[Concatenate[Inner, P], R],
) -> Callable[Concatenate[_Awaitable[Inner], P], Coroutine[Any, Any, R]]:
    """The method of this name, to be awaited."""

    @wraps(method)
    async def run(self: _Awaitable[Inner], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._worker.run(partial(method, self._inner, *args, **kwargs))

    return run


def _fact(fact: Callable[[Inner], R]) -> Callable[[_Awaitable[Inner]], Coroutine[Any, Any, R]]:
    """What the property of this name says, to be called and awaited, because it is read from the log."""
    method: Callable[[Inner], R] = getattr(fact, "fget", fact)

    @wraps(method)
    async def read(self: _Awaitable[Inner], /) -> R:
        return await self._worker.run(partial(method, self._inner))

    return read


class _Collection(_Awaitable[Inner], Generic[Inner, Element]):
    """One that is gone through with `async for`."""

    async def __aiter__(self) -> AsyncIterator[Element]:
        elements: Iterable[Element] = await self._worker.run(lambda: iter(self._inner))  # type: ignore[call-overload]
        while batch := await self._worker.run(lambda: list(islice(elements, _AT_ONCE))):
            for element in batch:
                yield element


class AsyncItems(_Collection[Items, Item]):
    """What was said on the branch of an `AsyncSession`. See `Items`."""

    text = _awaitable(Items.text)
    info = _awaitable(Items.info)
    table = _awaitable(Items.table)
    tokens = _awaitable(Items.tokens)
    system = _awaitable(Items.system)
    constraints = _awaitable(Items.constraints)
    unexamined = _awaitable(Items.unexamined)
    add_found = _awaitable(Items.add_found)
    expand = _awaitable(Items.expand)
    answer = _awaitable(Items.answer)
    is_answered = _awaitable(Items.is_answered)
    last_said = _fact(Items.last_said)
    index = _awaitable(Items.index)
    adopt_index = _awaitable(Items.adopt_index)
    page = _awaitable(Items.page)
    passages = _awaitable(Items.passages)
    recall = _awaitable(Items.recall)
    search = _awaitable(Items.search)
    pin = _awaitable(Items.pin)
    unpin = _awaitable(Items.unpin)
    collapse = _awaitable(Items.collapse)
    faults = _fact(Items.faults)
    count = _awaitable(Items.__len__)

    async def get(self, item_id: str | int) -> Item:
        """Return an item, byte for byte as it was accepted. Raises UnknownItem."""
        return await self._worker.run(lambda: self._inner[item_id])

    async def all(self) -> list[Item]:
        """Return every item in full, in order."""
        return await self._worker.run(lambda: list(self._inner))


class AsyncWindows(_Awaitable[Host]):
    """The windows of an `AsyncSession`. See `Host`."""

    register = _awaitable(Host.register)
    tools = _awaitable(Host.tools)
    instructions = _awaitable(Host.instructions)
    window = _awaitable(Host.window)
    all = _awaitable(Host.all)
    open = _awaitable(Host.open)
    show = _awaitable(Host.show)
    close = _awaitable(Host.close)
    lod = _awaitable(Host.lod)
    act = _awaitable(Host.act)
    get = _awaitable(Host.get)
    live = _awaitable(Host.live)
    call = _awaitable(Host.call)
    answers = _awaitable(Host.answers)
    text_at = _awaitable(Host.text_at)
    refresh = _awaitable(Host.refresh)
    changed = _awaitable(Host.changed)
    note = _awaitable(Host.note)
    shown = _awaitable(Host.shown)
    show_as = _awaitable(Host.show_as)

    @property
    def locale(self) -> str:
        """The language of the windows."""
        return self._inner.locale


class AsyncSummaries(_Collection[Summaries, CompactionInfo]):
    """The compactions of an `AsyncSession`. See `Summaries`."""

    covering = _awaitable(Summaries.covering)
    losses = _awaitable(Summaries.losses)
    cover = _awaitable(Summaries.cover)
    preview = _awaitable(Summaries.preview)
    undo = _awaitable(Summaries.undo)
    in_background = _awaitable(Summaries.in_background)
    make_wanted = _awaitable(Summaries.make_wanted)

    async def compact(
        self, budget: Budget | None = None, *, model: Summarizer | None = None, seconds: float = SECONDS
    ) -> Compacted:
        """See `Summaries.compact`. It may wait for a model, so it has a thread of its own and other calls go on."""
        return await finish(asyncio.to_thread(self._inner.compact, budget, model=model, seconds=seconds))

    wanted = _fact(Summaries.wanted)

    async def wait(self, seconds: float | None = None) -> None:
        """See `Summaries.wait`. Other calls go on."""
        await asyncio.to_thread(self._inner.wait, seconds)

    @property
    def error(self) -> str:
        """Why the last summary in the background failed; empty if it did not."""
        return self._inner.error

    @property
    def running(self) -> bool:
        """Whether a summary is being made in the background."""
        return self._inner.running


class AsyncReceipts(_Collection[Receipts, ReceiptNote]):
    """What was sent. See `Receipts`."""

    count = _awaitable(Receipts.__len__)
    damaged_lines = _awaitable(Receipts.damaged_lines)
    changed_lines = _awaitable(Receipts.changed_lines)
    missing_entries = _awaitable(Receipts.missing_entries)

    async def verify(self) -> list[Verified]:
        """Render every payload that was sent again and compare it. Returns all at once, as a list."""
        return await self._worker.run(lambda: list(self._inner.verify()))


class AsyncSession(_Awaitable[Session]):
    """One conversation, for event loops: the methods of `Session`, awaited.

    No lock, disk, search or tokenizer is waited for on the loop's thread. `items`, `windows`, `summaries` and
    `receipts` are as those of `Session`, their methods awaited too, and gone through with `async for`; `count()` is
    their length. What reads the log is a method here: `open_calls`, `state`, `unread`, `branches`, `size`, `length`,
    `damaged`. Any event loop will do, also one after another. Use `async with`, or `await session.close()`.
    """

    def __init__(self, session: Session) -> None:
        """Made by `open`, `new` or `resume`, or over a session that nothing else uses meanwhile."""
        super().__init__(session, Worker())
        self.session = session
        self.items = AsyncItems(session.items, self._worker)
        self.windows = AsyncWindows(session.windows, self._worker)
        self.receipts = AsyncReceipts(session.receipts, self._worker)

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """See `Session.open`."""
        return cls(await Worker().run(partial(Session.open, *args, **options), Session.close))

    @classmethod
    async def new(cls, *args: Any, **options: Any) -> Self:
        """See `Session.new`."""
        return cls(await Worker().run(partial(Session.new, *args, **options), Session.close))

    @classmethod
    async def resume(cls, *args: Any, **options: Any) -> Self:
        """See `Session.resume`."""
        return cls(await Worker().run(partial(Session.resume, *args, **options), Session.close))

    @classmethod
    async def inspect(cls, *args: Any, **options: Any) -> Self:
        """See `Session.inspect`."""
        return cls(await Worker().run(partial(Session.inspect, *args, **options), Session.close))

    async def fork(self, at: str | int, *, name: str | None = None, keep_summaries: bool = False) -> "AsyncSession":
        """See `Session.fork`. If this is cancelled after it has begun, the log has the branch all the same."""
        fork = partial(self._inner.fork, at, name=name, keep_summaries=keep_summaries)
        return AsyncSession(await self._worker.run(fork, Session.close))

    async def on_branch(self, name: str) -> "AsyncSession":
        """See `Session.on_branch`."""
        return AsyncSession(await self._worker.run(partial(self._inner.on_branch, name), Session.close))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ------------------------------------------------------------------ facts that are known without reading

    @property
    def id(self) -> str:
        """The session's id."""
        return self._inner.id

    @property
    def branch(self) -> str:
        """The name of the branch this session writes to; empty for the first one."""
        return self._inner.branch

    @cached_property
    def summaries(self) -> AsyncSummaries:
        """The compactions."""
        return AsyncSummaries(self._inner.summaries, self._worker)

    @property
    def settings(self) -> Settings:
        """How the session is kept and composed."""
        return self._inner.settings

    @property
    def receipt(self) -> ReceiptNote | None:
        """What was decided and sent last on this branch; None before the first call."""
        return self._inner.receipt

    @property
    def budget(self) -> Budget | None:
        """The budget of the last payload; None before the first call."""
        return self._inner.budget

    @property
    def repairs(self) -> Repairs:
        """What was repaired when the log was opened."""
        return self._inner.repairs

    @property
    def strategy(self) -> Planner:
        """The strategy that decides what is shown."""
        return self._inner.strategy

    @property
    def answered(self) -> list[Answered]:
        """The calls of the last reply that the session itself answered."""
        return self._inner.answered

    def streamed(self, stream: AsyncIterable[Element]) -> AsyncReplyStream[Element]:
        """See `Session.streamed`. The stream is the one of an async client."""
        return AsyncReplyStream(self, stream)

    # ------------------------------------------------------------------ everything else runs in the worker

    open_calls = _fact(Session.open_calls)
    state = _fact(Session.state)
    unread = _fact(Session.unread)
    branches = _fact(Session.branches)
    size = _fact(Session.size)
    length = _fact(Session.length)
    damaged = _fact(Session.damaged)
    system = _awaitable(Session.system)
    user = _awaitable(Session.user)
    assistant = _awaitable(Session.assistant)
    note = _awaitable(Session.note)
    reply = _awaitable(Session.reply)
    answer_own_calls = _awaitable(Session.answer_own_calls)
    tool_result = _awaitable(Session.tool_result)
    interrupt = _awaitable(Session.interrupt)
    add = _awaitable(Session.add)
    extend = _awaitable(Session.extend)
    tools = _awaitable(Session.tools)
    compose = _awaitable(Session.compose)
    preview = _awaitable(Session.preview)
    transcript = _awaitable(Session.transcript)
    overflowed = _awaitable(Session.overflowed)
    configure = _awaitable(Session.configure)
    remember = _awaitable(Session.remember)
    annotate = _awaitable(Session.annotate)
    annotations = _awaitable(Session.annotations)
    refresh = _awaitable(Session.refresh)
    flush = _awaitable(Session.flush)
    count = _awaitable(Session.count)
    close = _awaitable(Session.close)
