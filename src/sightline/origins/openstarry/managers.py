"""A context manager for each of the document's strategies."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from sightline import wire
from sightline.apps.protocols import Window, Windows
from sightline.compose import ComposeInputs, fixed_tokens
from sightline.documents.goal_window import GOAL, TextWindow, goal_text
from sightline.errors import BadInput, PinnedOverflow, SightlineError
from sightline.log import Journal
from sightline.log.stores.memory import MemoryStore
from sightline.origins.exchanges import has_pending_calls
from sightline.origins.given_session import plain_session, prepare
from sightline.origins.openstarry.interface import ChatMessage, LLMPayload, ToolDefinition, awaited
from sightline.plan import Budget, Planner, completed, own_state, stage_of, with_own_state
from sightline.plan.strategies import strategy as strategy_named
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.project_choice import from_plugin
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.clock import nanoid, wall_clock
from sightline.values.decoders import decode_json
from sightline.values.items import Kind, Message, Role, plain_text
from sightline.values.phrases import check_locale
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter
from sightline.wire.payload import Payload

# Sends messages to the model of this name and returns its answer: text, an SDK's response, or an awaitable of one.
Complete = Callable[[str, list[dict[str, Any]]], Any]
# An extraction chain: (schema, state so far, the user's text) → the fields found, or an awaitable of them.
Extract = Callable[[dict[str, Any], Mapping[str, Any], str], Any]

BUDGET = Budget(window=128_000, output=8_000, recall=0.0)  # without recall, which the document does not have
DYNAMIC = "dynamic"  # the live window that shows the retrieved knowledge; `GOAL` shows the task's goal
_QUESTION = 4  # up to a quarter of the limit is kept free for the last user message
_LEAST = 16  # tokens: a shorter piece of the retrieved knowledge is useless

logger = logging.getLogger("sightline")


class StrategyContextManager:
    """The document's interface over a strategy of the core, by name, or over one of your own."""

    def __init__(
        self,
        strategy: str | Sequence[str] | Planner = "sliding",
        config: Mapping[str, Any] | None = None,
        *,
        budget: Budget = BUDGET,
        locale: str = "en",
        token_counter: TokenCounter | None = None,
        task_goal: str = "",
        session: Session | AsyncSession | None = None,
    ) -> None:
        """`task_goal` is shown in every payload, before the retrieved knowledge; the attribute may be changed any time.

        `session` is one that others use too, or that is kept in files or a database: it gets the document's layout and
        strategy, and its owner closes it. A history that it already has is not added again. Without one, everything is
        in memory.

        Raises:
            BadInput: a strategy that does not exist or does not take this configuration; a session whose strategy is
                another object, or that counts with another counter.
        """
        named = strategy if isinstance(strategy, Sequence) else None
        self.strategy = strategy_named(named, config) if named is not None else cast("Planner", strategy)
        self.budget, self.task_goal = budget, task_goal
        self._settings = Settings(locale=check_locale(locale), layout="openstarry")
        self._counter = token_counter
        self._dynamic: dict[str, TextWindow] = {}
        self._busy = asyncio.Lock()
        self._is_whole = True  # whether nothing was left out of the last payload
        self._given = self._prepared(session, strategy, config) if session is not None else None
        self._base: str | int | None = None  # the item of a given session after which the history begins
        self._begin()

    def _prepared(
        self, session: Session | AsyncSession, strategy: str | Sequence[str] | Planner, config: Mapping[str, Any] | None
    ) -> Session:
        session = plain_session(session)
        if self._counter is not None:
            raise BadInput("a session counts tokens itself: give its token_counter when it is opened, not here")
        if not isinstance(strategy, Sequence):
            if session.strategy is not strategy:
                raise BadInput("this strategy is an object: open the session with strategy= this same object")
            session.configure(layout=self._settings.layout, locale=self._settings.locale)
            return session
        settings = msgspec.structs.replace(self._settings, strategy=strategy, config=dict(config or {}))
        return prepare(session, "OpenStarry", settings)

    def _begin(self) -> None:
        """Begin a new session, without messages; of a given one, a branch from where the history began."""
        self._taken: list[ChatMessage] = []  # the part of the history that is in the session
        self._ids: list[str] = []  # of each of these, the last item made of it
        self._cleared: list[str] = []  # the same of messages that are only in the session: a summary covers them
        self._dropped: set[str] = set()  # the same of messages that the caller cleared and nothing covers: never sent
        self._system: str | None = None
        if self._given is None:
            journal = Journal(
                MemoryStore(nanoid()), clock=wall_clock, ids=nanoid, settings=self._settings,
                token_counter=self._counter,
            )  # fmt: skip
            self.session = Session(journal, windows=self._dynamic, strategy=self.strategy)
            self._show_windows()
        elif self._base is None:
            items = [item.id for item in self._given.items]
            self.session, self._base = self._given, items[-1] if items else 0
            self._show_windows()
        else:
            self._replace_session(self.session.fork(self._base))

    def _show_windows(self) -> None:
        """Have the session show the goal and the retrieved knowledge."""
        windows = self.session.windows
        if self._given is not None and not isinstance(windows.elsewhere, _Beside):
            windows.elsewhere = _Beside(self._dynamic, windows.elsewhere)
        for window in (GOAL, DYNAMIC):
            windows.show(window)

    def _replace_session(self, session: Session) -> None:
        """Go on in a branch, which is this manager's own; the session that was given is its owner's."""
        left, self.session = self.session, session
        if self._given is not None and left is not self._given:
            left.close()
        self._show_windows()

    def close(self) -> None:
        """Close the branch that was made of a given session, if there is one."""
        if self._given is not None and self.session is not self._given:
            self.session.close()

    @property
    def _journal(self) -> Journal:
        return self.session.log

    async def compose_payload(
        self,
        system_prompt: str,
        history: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition],
        rag_context: str | None = None,
    ) -> LLMPayload:
        """See `IContextManager.compose_payload`. If the tokens do not suffice, the oldest history is left out first,
        then the summary, then the retrieved knowledge, then the task's goal.

        Raises:
            PinnedOverflow: system prompt and tool definitions alone are larger than the limit.
            BadInput: a message or tool that cannot be read.
        """
        async with self._busy:
            while True:
                self._take_in(history, system_prompt)
                if tools or self._journal.tools.definitions:
                    self.session.tools(tools, recall=False)
                await self._prepare()
                self._show(rag_context or "")
                messages = self._messages()
                if not self._dropped or self._is_whole:
                    return LLMPayload(messages, deepcopy([dict(tool) for tool in tools]))
                self._restart("what the caller dropped takes the place of other messages")

    async def on_turn_complete(self, new_history: Sequence[ChatMessage]) -> None:
        """See `IContextManager.on_turn_complete`. Does not wait for a model."""
        async with self._busy:
            self._take_in(new_history, self._system)

    async def _prepare(self) -> None:
        """Do what a strategy needs before composing."""

    # ------------------------------------------------------------------ history

    def _take_in(self, history: Sequence[ChatMessage], system_prompt: str | None) -> list[Message]:
        """Add to the session what is new, and return it."""
        messages = list(history)
        if self._given is not None and not self._taken and self.session is self._given:
            self._adopt(messages)
        if messages[: len(self._taken)] != self._taken:
            self._follow(messages)
        changed = self._system is not None and system_prompt not in (None, self._system)
        if changed and len(self._journal.timeline.head_rows(self._journal.path)) > 1:
            # Replacing the system prompt here would also replace system messages of the history.
            self._restart("the system prompt changed, and the history has system messages of its own")
        if system_prompt is not None and system_prompt != self._system:
            self.session.system(system_prompt, replace=self._system is not None)
            self._system = system_prompt
        new = messages[len(self._taken) :]
        while new and has_pending_calls(wire.read_messages(new)):  # their results are still to come
            new.pop()
        self._ids += _last_items(new, self.session.extend(new))
        self._taken += deepcopy(new)
        return wire.read_messages(new)

    def _adopt(self, history: Sequence[ChatMessage]) -> None:
        """Take a history for the one that the given session has, if both begin with the same message."""
        before = [message for message in self.session.transcript().body if message.role is not Role.SYSTEM]
        taken: list[ChatMessage] = []
        ids, at = list[str](), 0
        for message in history:
            try:
                read = wire.read_messages([message])
            except BadInput:  # it can be read only beside its neighbours
                return
            if at >= len(before) or [*map(_said, read)] != [*map(_said, before[at : at + len(read)])]:
                break
            at += len(read)
            taken.append(deepcopy(message))
            ids.append(before[at - 1].id)
        if at:
            rest = before[at:]
            self._taken = [*taken, *({"role": said.role.value, "content": plain_text(said.parts)} for said in rest)]
            self._ids, self._base = [*ids, *(said.id for said in rest)], 0

    def _follow(self, history: list[ChatMessage]) -> None:
        """Leave in the session only what this history shares with what was taken.

        Messages that the caller cleared and a summary covers stay in the session. From a changed message on, the
        conversation goes on a branch. A history that shares nothing, or was changed where the caller had cleared what
        no other summary covers, begins a new session.
        """
        lead, cleared, shared = _match(self._taken, history)
        hidden = lead + sum(1 for _ in takewhile(self._is_covered, self._ids[lead:]))
        start, end = lead + cleared, lead + cleared + shared
        if start > hidden and self._can_drop(lead, start):
            self._dropped.update(self._ids[lead:start])
            hidden = start
        if start > hidden:  # more was cleared than is summarised: all that is left is taken anew, after the summary
            start = end = hidden
        while end > start and not self._can_end(start, end):
            end -= 1
        if not shared or end == lead:
            self._restart("the history given is another one")
            return
        item_id, is_changed = self._ids[end - 1], end < len(self._taken)
        self._cleared += self._ids[lead:start]
        self._taken, self._ids = ([*kept[:lead], *kept[start:end]] for kept in (self._taken, self._ids))
        if is_changed:
            self._go_back(item_id)

    def _can_drop(self, lead: int, start: int) -> bool:
        """Whether messages that the caller cleared can stay in the session unsent: the work is then by what is new.

        Strategies that make something of the oldest messages must not see them, and a call needs its result.
        """
        cleared = self._taken[lead:start]
        return (
            self.strategy.name == "sliding"
            and len(cleared) + len(self._dropped) < len(self._taken)
            and all(self._ids[lead:start])
            and not has_pending_calls(wire.read_messages(cleared))
        )

    def _can_end(self, start: int, end: int) -> bool:
        """Whether a branch may begin after these of the messages taken: not between calls and their results."""
        return bool(self._ids[end - 1]) and not has_pending_calls(wire.read_messages(self._taken[start:end]))

    def _go_back(self, item_id: str) -> None:
        """Go on after this item, on a branch of the session, with the summaries that cover nothing after it."""
        before = self._summarised()
        self.session.summaries.close()  # one that is being made may cover what is gone
        self._replace_session(self.session.fork(item_id, keep_summaries=True))
        if not all(map(self._is_covered, self._cleared)):
            self._restart("messages changed that the summary covers, and those before them are cleared", before)
            return
        if self._summarised() < before:
            logger.warning("messages changed that the summary covers: what it says of them is lost")
        journal = self._journal
        own = [row for row in journal.timeline.head_rows(journal.path) if journal.timeline.id(row) not in self._ids]
        self._system = journal.reader.text(own[0]) if own else None

    def _restart(self, why: str, summarised: int = 0) -> None:
        """Begin anew. `summarised`: how many units were, if this session does not know any more."""
        if summarised or self._summarised():
            logger.warning("%s: a new conversation begins, without the summary so far", why)
        self.session.summaries.close()
        self._begin()

    def _summarised(self) -> int:
        """How many units the summaries in force cover."""
        in_force = self._journal.timeline.compacted(self._journal.path)
        return sum(compaction.last + 1 - compaction.first for compaction in in_force)

    def _is_covered(self, item_id: str) -> bool:
        journal, row = self._journal, self._journal.row(item_id)
        if row is None:
            return False
        unit, in_force = journal.timeline.unit[row], journal.timeline.compacted(journal.path)
        return any(unit in compaction for compaction in in_force)

    # ------------------------------------------------------------------ messages

    def _messages(self) -> list[dict[str, Any]]:
        try:
            # The retrieved knowledge is a window that `_show` has cut already, so windows may take all tokens.
            payload = self.session.compose(msgspec.structs.replace(self.budget, windows=1.0))
            self._is_whole = not payload.plan.left_out
            if self._dropped:
                body = [message for message in payload.body if message.id not in self._dropped]
                payload = msgspec.structs.replace(payload, body=body)
            return chat_messages(payload)
        except PinnedOverflow:  # system and tools fit, because `_show` has checked that
            logger.warning("there is no room for any history beside the system prompt and the tools")
            head = [{"role": "system", "content": self._system}] if self._system else []
            return [*head, *({"role": "user", "content": window.text} for window in self._dynamic.values())]

    def _show(self, knowledge: str) -> None:
        """Show as much of the goal, then of the retrieved knowledge, as fits besides system, tools and the question."""
        journal, timeline = self._journal, self._journal.timeline
        profile, count = journal.reader.profile, journal.reader.counter.count
        limit = self.budget.limit(margin=profile.margin)
        head = ComposeInputs(system=tuple(timeline.head_rows(journal.path)))
        fixed = fixed_tokens(journal, head, journal.tools.tokens, count)
        if fixed > limit:
            tools = journal.tools.tokens
            pinned = [f"system prompt ({fixed - tools} tokens)", f"tool definitions ({tools} tokens)"]
            raise PinnedOverflow(pinned, fixed - limit)
        unit = timeline.last_user(journal.path, len(timeline))
        question = min(timeline.unit_full[unit], limit // _QUESTION) + profile.message_tokens if unit >= 0 else 0
        room = limit - fixed - question
        self._dynamic.clear()
        goal = goal_text(self.task_goal, self._settings.locale)
        for window, text in ((GOAL, goal), (DYNAMIC, knowledge)):
            if cut := _cut(text, room - profile.message_tokens, count):
                self._dynamic[window] = TextWindow(cut)
                room -= count(cut) + profile.message_tokens


class SlidingWindowContextManager(StrategyContextManager):
    """Strategy A: the newest messages that fit. The default."""

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__("sliding", config, **options)


class SummarizationContextManager(StrategyContextManager):
    """Strategy B: a light model folds the oldest turns into a summary, in the background.

    `model` is called with the configured `compressionModel` and the messages. Without one no summary is made, and the
    history that does not fit is left out. `stages`: of a pipe, the names of all.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        model: Complete | None = None,
        stages: str | Sequence[str] = "summary",
        **options: Any,
    ) -> None:
        super().__init__(stages, config, **options)
        self._model = model
        self._asked = self.session  # the session, perhaps an earlier one, that made the last summary

    @property
    def summary_buffer(self) -> str:
        """The current summary; empty at first."""
        timeline, reader = self._journal.timeline, self._journal.reader
        units = [unit for compaction in timeline.compacted(self._journal.path) for unit in compaction.summaries]
        return "\n\n".join(reader.text(timeline.unit_row[unit]) for unit in units)

    async def on_turn_complete(self, new_history: Sequence[ChatMessage]) -> None:
        """See `IContextManager.on_turn_complete`. One summary is made at a time; a failed one is tried again later."""
        await super().on_turn_complete(new_history)
        if (model := self._model) is None or self._asked.summaries.running:
            return
        loop = asyncio.get_running_loop()
        name = completed(self.strategy).compression_model

        def ask(payload: Payload) -> Any:
            """Ask the model from the core's thread. An async model runs on its own event loop."""
            answer = model(name, chat_messages(payload))
            if not inspect.isawaitable(answer):
                return answer
            return asyncio.run_coroutine_threadsafe(awaited(answer), loop).result()

        self._asked = self.session
        try:
            self.session.summaries.in_background(ask)
        except SightlineError as error:
            logger.warning("no summary was begun: %s", error)


class EntityExtractionContextManager(StrategyContextManager):
    """Strategy C: a typed state, extracted after each user input, instead of the dialogue.

    `stages`: of a pipe, the names of all.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        extractor: Extract,
        stages: str | Sequence[str] = "entities",
        **options: Any,
    ) -> None:
        super().__init__(stages, config, **options)
        self._extractor = extractor

    def _begin(self) -> None:
        super()._begin()
        self.refused: dict[str, str] = {}  # of the last extraction: path → why the value was refused

    @property
    def state(self) -> dict[str, Any]:
        return own_state(self.strategy, Entities.name, self.session.state)

    async def _prepare(self) -> None:
        strategy = stage_of(self.strategy, Entities)
        assert strategy is not None
        for item in [item for item in self.session.unread if item.kind is Kind.USER]:
            try:
                values = await awaited(self._extractor(strategy.schema, self.state, plain_text(item.parts)))
            except Exception as error:  # of the model: the message is read again with the next input
                logger.warning("the extraction failed, the state is as it was: %r", error)
                return
            state, self.refused = strategy.merged(self.state, values)
            every = with_own_state(self.strategy, Entities.name, self.session.state, state)
            self.session.remember(every, read=item.id)


def create_context_manager(
    plugin: Mapping[str, Any] | str | Path,
    *,
    model: Complete | None = None,
    extractor: Extract | None = None,
    **options: Any,
) -> StrategyContextManager:
    """Make the manager that a `plugin.json` chooses, given as its path or its content; by default strategy A.

    `model` serves strategy B, `extractor` strategy C. Options as for `StrategyContextManager`, `task_goal` among them.

    Raises:
        BadInput: an unknown strategy, type or configuration, with the valid choices; strategy C without an extractor.
    """
    if isinstance(plugin, Mapping):
        choice = from_plugin(plugin)
    else:
        try:
            choice = from_plugin(decode_json(Path(plugin).read_bytes(), dict[str, Any]), str(plugin))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadInput(f"{plugin} cannot be read as a JSON object: {error}") from error
    options = {"task_goal": choice.task_goal} | options
    stages = (choice.name,) if isinstance(choice.name, str) else choice.name
    if choice.name == "sliding":
        return SlidingWindowContextManager(choice.config, **options)
    if "summary" in stages:
        return SummarizationContextManager(choice.config, model=model, stages=choice.name, **options)
    if "entities" in stages:
        if extractor is None:
            raise BadInput("the strategy entities needs an extractor=(schema, state, text) → the fields it found")
        return EntityExtractionContextManager(choice.config, extractor=extractor, stages=choice.name, **options)
    return StrategyContextManager(choice.name, choice.config, **options)


# ---------------------------------------------------------------------- messages and texts


class _Beside(NamedTuple):
    """The goal and the knowledge, and the windows that a given session finds elsewhere."""

    dynamic: Mapping[str, TextWindow]
    others: Windows | None

    def get(self, window_id: str) -> Window | None:
        return self.dynamic.get(window_id) or (self.others.get(window_id) if self.others is not None else None)


def chat_messages(payload: Payload) -> list[dict[str, Any]]:
    """Return a payload's messages in OpenAI's form, text content as plain text."""
    messages: list[dict[str, Any]] = payload.openai()["messages"]
    for message in messages:
        content = message["content"]
        if isinstance(content, list) and all(block.keys() == {"type", "text"} for block in content):
            message["content"] = "\n\n".join(block["text"] for block in content)
    return messages


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return the text, or as much of its beginning as fits; nothing if that is too short to be useful."""
    if not text or count(text) <= tokens:
        return text
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if count(f"{text[:middle]} […]") <= tokens else (least, middle - 1)
    return f"{text[:least]} […]" if tokens >= _LEAST else ""


class _Match(NamedTuple):
    """What a history still has of the messages that were taken: it begins with `lead` and then `shared` of them."""

    lead: int  # system messages that both begin with
    cleared: int  # messages after these that the history has no more
    shared: int  # messages after these that both have


def _match(taken: Sequence[ChatMessage], history: Sequence[ChatMessage]) -> _Match:
    """Find the messages that the caller cleared after the leading system messages, so that most of the rest is shared.

    If several numbers of cleared messages are as good, the one after which all that was taken is there is meant.
    """
    lead = _common([*takewhile(lambda message: message.get("role") == "system", taken)], history)
    rest, current = taken[lead:], history[lead:]

    def quality(cleared: int) -> tuple[int, bool, int]:
        shared = _common(rest[cleared:], current)
        return shared, cleared + shared == len(rest), -cleared

    shared, _, cleared = max(map(quality, range(len(rest) + 1)))
    return _Match(lead, -cleared, shared)


def _said(message: Message) -> tuple[Role, str]:
    return message.role, plain_text(message.parts)


def _common(one: Sequence[ChatMessage], other: Sequence[ChatMessage]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _last_items(messages: Sequence[ChatMessage], ids: Sequence[str]) -> list[str]:
    """Return for each message the id of the last item made of it; empty where several messages made one item."""
    try:
        ends = list(accumulate(len(wire.read_messages([message])) for message in messages))
    except BadInput:  # it can be read only beside its neighbours
        ends = []
    if not ends or ends[-1] != len(ids):
        return [*([""] * (len(messages) - 1)), *ids[-1:]]
    return [ids[end - 1] for end in ends]
