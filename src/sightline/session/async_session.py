"""The same session for event loops: its calls run in worker threads, those of one session one after another."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from sightline.apps.host import Host
from sightline.compaction.compactor import SECONDS, Compacted, Summarizer
from sightline.compose.verify import Verified
from sightline.log.annotations import ReceiptNote
from sightline.plan.budget import Budget
from sightline.session.calls import Answered
from sightline.session.items import Items
from sightline.session.receipts import Receipts
from sightline.session.session import Session
from sightline.session.summaries import Summaries
from sightline.values.finish import finish
from sightline.values.items import Call, Item
from sightline.values.settings import Settings

_WORKERS = min(32, (os.cpu_count() or 1) + 4)  # threads for all sessions together: their work is short

P = ParamSpec("P")
R = TypeVar("R")
Inner = TypeVar("Inner")


class _Worker:
    """Runs the calls of one session in the order in which they were made, each in a thread."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[[], R]) -> R:
        """Run this in a thread, after all that was begun before. It is finished also if this is cancelled."""
        async with self._turn:
            return await finish(asyncio.get_running_loop().run_in_executor(_pool(), work))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="sightline session")


class _Awaitable(Generic[Inner]):
    """An object whose methods run in the worker of its session."""

    def __init__(self, inner: Inner, worker: _Worker) -> None:
        self._inner, self._worker = inner, worker


def _awaitable(
    method: Callable[Concatenate[Inner, P], R],
) -> Callable[Concatenate[_Awaitable[Inner], P], Coroutine[Any, Any, R]]:
    """The method of this name, to be awaited."""

    @wraps(method)
    async def run(self: _Awaitable[Inner], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._worker.run(partial(method, self._inner, *args, **kwargs))

    return run


class AsyncItems(_Awaitable[Items]):
    """What was said on the branch of an `AsyncSession`. See `Items`."""

    text = _awaitable(Items.text)
    info = _awaitable(Items.info)
    table = _awaitable(Items.table)
    constraints = _awaitable(Items.constraints)
    expand = _awaitable(Items.expand)
    recall = _awaitable(Items.recall)
    search = _awaitable(Items.search)
    pin = _awaitable(Items.pin)
    unpin = _awaitable(Items.unpin)
    collapse = _awaitable(Items.collapse)

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


class AsyncSummaries(_Awaitable[Summaries]):
    """The compactions of an `AsyncSession`. See `Summaries`."""

    covering = _awaitable(Summaries.covering)
    losses = _awaitable(Summaries.losses)
    cover = _awaitable(Summaries.cover)
    preview = _awaitable(Summaries.preview)
    undo = _awaitable(Summaries.undo)
    in_background = _awaitable(Summaries.in_background)

    async def compact(
        self, budget: Budget | None = None, *, model: Summarizer | None = None, seconds: float = SECONDS
    ) -> Compacted:
        """See `Summaries.compact`. It may wait for a model, so it has a thread of its own and other calls go on."""
        return await finish(asyncio.to_thread(self._inner.compact, budget, model=model, seconds=seconds))

    async def wanted(self) -> bool:
        """Whether it is time for a summary. See `Summaries.wanted`."""
        return await self._worker.run(lambda: self._inner.wanted)

    @property
    def error(self) -> str:
        """Why the last summary in the background failed; empty if it did not."""
        return self._inner.error

    @property
    def running(self) -> bool:
        """Whether a summary is being made in the background."""
        return self._inner.running


class AsyncReceipts(_Awaitable[Receipts]):
    """What was sent. See `Receipts`."""

    async def verify(self) -> list[Verified]:
        """Render every payload that was sent again and compare it. See `Receipts.verify`."""
        return await self._worker.run(lambda: list(self._inner.verify()))


class AsyncSession(_Awaitable[Session]):
    """One conversation, for event loops: the methods of `Session`, awaited.

    No lock, disk, search or tokenizer is waited for on the loop's thread. `items`, `windows`, `summaries` and
    `receipts` are as those of `Session`, their methods awaited too. What reads the log is a method here: `open_calls`,
    `state`, `unread`. Use `async with`, or `await session.close()`.
    """

    def __init__(self, session: Session) -> None:
        """Made by `open`, `new` or `resume`, or over a session that nothing else uses meanwhile."""
        super().__init__(session, _Worker())
        self.session = session
        self.items = AsyncItems(session.items, self._worker)
        self.windows = AsyncWindows(session.windows, self._worker)
        self.receipts = AsyncReceipts(session.receipts, self._worker)

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """See `Session.open`."""
        return cls(await _Worker().run(partial(Session.open, *args, **options)))

    @classmethod
    async def new(cls, *args: Any, **options: Any) -> Self:
        """See `Session.new`."""
        return cls(await _Worker().run(partial(Session.new, *args, **options)))

    @classmethod
    async def resume(cls, *args: Any, **options: Any) -> Self:
        """See `Session.resume`."""
        return cls(await _Worker().run(partial(Session.resume, *args, **options)))

    async def fork(self, at: str | int, *, keep_summaries: bool = False) -> "AsyncSession":
        """See `Session.fork`."""
        fork = partial(self._inner.fork, at, keep_summaries=keep_summaries)
        return AsyncSession(await self._worker.run(fork))

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
    def answered(self) -> list[Answered]:
        """The calls of the last reply that the session itself answered."""
        return self._inner.answered

    # ------------------------------------------------------------------ everything else runs in the worker

    async def open_calls(self) -> list[Call]:
        """Return the model's calls that wait for a result."""
        return await self._worker.run(lambda: self._inner.open_calls)

    async def state(self) -> dict[str, Any]:
        """Return what the strategy remembers on this branch."""
        return await self._worker.run(lambda: self._inner.state)

    async def unread(self) -> list[Item]:
        """Return the dialogue that the strategy's state does not account for."""
        return await self._worker.run(lambda: self._inner.unread)

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
    refresh = _awaitable(Session.refresh)
    flush = _awaitable(Session.flush)
    count = _awaitable(Session.count)
    close = _awaitable(Session.close)
