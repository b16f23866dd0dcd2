"""Composes a recorded conversation again, call by call: what each call would send, reuse and cost."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, takewhile
from typing import Any, NamedTuple

from sightline import wire
from sightline.compose import limit_by, reused_tokens
from sightline.log import HEAD
from sightline.plan import Budget, Plan
from sightline.session.session import Session
from sightline.values.items import Call, Kind, Lod, Message, Result, Role, plain_text
from sightline.values.profiles import Prices, call_cost, profile
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.view.costs import answer_cost
from sightline.view.replay.formats import Recording
from sightline.view.replay.rereads import ASKING, Reread, Rereads
from sightline.wire.common import dumped
from sightline.wire.payload import Payload


class Pace:
    """The clock of a session that replays a recording: it shows the time at which the current message was said."""

    def __init__(self, times: Sequence[int]) -> None:
        """`times` are those of `Recording.times`. Where one is not known, the time stands still."""
        self._times = times
        self._now = next(filter(None, times), 1)

    def __call__(self) -> int:
        """Return the time, in milliseconds since 1970. It never goes back."""
        return self._now

    def go_to(self, index: int) -> None:
        """Go on to the time of a message."""
        if index < len(self._times):
            self._now = max(self._now, self._times[index])


class NewInput(NamedTuple):
    """One message since the call before."""

    role: Role
    text: str  # of a user or system message; for `Role.TOOL` the name of the tool that gave a result


class Levels(NamedTuple):
    """How many items a payload shows at each level, and how many messages, recalled pieces included, it leaves out."""

    full: int = 0
    summary: int = 0
    gist: int = 0
    out: int = 0


class Changes(NamedTuple):
    """What changed since the call before."""

    summary: int = 0  # items that fell to SUMMARY
    gist: int = 0  # items that fell to GIST
    out: int = 0  # messages that were left out
    raised: int = 0  # items that rose to a higher level
    entered: int = 0  # new items that are shown below FULL


class Paid(NamedTuple):
    """Tokens by how a provider charges for them."""

    cached: int = 0  # input read from its cache
    written: int = 0  # input that is new to it
    output: int = 0

    def plus(self, more: "Paid") -> "Paid":
        return Paid(*map(sum, zip(self, more, strict=True)))


@dataclass(frozen=True, slots=True)
class Step:
    """One model call of a recording.

    `reused` are the tokens of the blocks that it and the call before begin with: what a provider reads from its cache.
    Costs are in fresh input tokens. They compare with sending the full history, whose prefix is always cached.
    `reread_cost` is that of one more request over the cached prompt, of the call in it, and of what it reads.
    """

    number: int
    new_inputs: tuple[NewInput, ...]
    payload: Payload
    allowed: int  # tokens that the context window allows; a strategy may work in fewer
    reused: int
    cost: float
    full_tokens: int
    full_cost: float
    reread: Reread  # what the answer used and the payload did not show
    paid: Paid
    reread_paid: Paid  # to read that again
    full_paid: Paid
    levels: Levels
    changes: Changes
    reason: str  # why the prompt prefix changed; empty if it did not
    changed: int | None  # the first changed block; 0 is the head
    flaws: tuple[str, ...]  # why a provider would refuse the request
    prices: Prices

    @property
    def reread_cost(self) -> float:
        """The cost of reading again what the answer used and the payload did not show."""
        again = self.reread_paid
        return again.cached * self.prices.read + again.written * self.prices.write + answer_cost(again.output)

    @property
    def tokens(self) -> int:
        """Tokens of the whole payload."""
        return self.payload.tokens

    @property
    def limit(self) -> int:
        """Tokens that the payload could have had."""
        return self.payload.plan.limit


class Totals(NamedTuple):
    """The sums of a replay so far."""

    calls: int = 0
    sweeps: int = 0
    tokens: int = 0
    reused: int = 0
    cost: float = 0.0
    full_cost: float = 0.0
    rereads: int = 0  # calls whose answer used what was not shown
    reread_tokens: int = 0
    reread_cost: float = 0.0
    paid: Paid = Paid()  # everything, with what would have been read again
    full_paid: Paid = Paid()
    largest: int = 0
    invalid: int = 0
    outgrown: int = 0  # number of the first call whose full history the context window does not hold; 0: none
    breaks: tuple[tuple[str, int], ...] = ()  # why the prompt prefix changed, and how often

    @property
    def real_cost(self) -> float:
        """The cost with what would have been read again."""
        return self.cost + self.reread_cost

    def plus(self, step: Step) -> "Totals":
        breaks = dict(self.breaks)
        if step.reason:
            breaks[step.reason] = breaks.get(step.reason, 0) + 1
        return Totals(
            calls=self.calls + 1,
            sweeps=self.sweeps + bool(step.payload.plan.reason),
            tokens=self.tokens + step.tokens,
            reused=self.reused + step.reused,
            cost=self.cost + step.cost,
            full_cost=self.full_cost + step.full_cost,
            rereads=self.rereads + bool(step.reread.items),
            reread_tokens=self.reread_tokens + step.reread.tokens,
            reread_cost=self.reread_cost + step.reread_cost,
            paid=self.paid.plus(step.paid).plus(step.reread_paid),
            full_paid=self.full_paid.plus(step.full_paid),
            largest=max(self.largest, step.tokens),
            invalid=self.invalid + bool(step.flaws),
            outgrown=self.outgrown or (step.number if step.full_tokens > step.allowed else 0),
            breaks=tuple(breaks.items()),
        )


# ---------------------------------------------------------------------- replaying


def replay(session: Session, recording: Recording, budget: Budget, pace: Pace | None = None) -> Iterator[Step]:
    """Add a recording's messages to a new session, and compose before each answer of the model.

    If the recording does not end with an answer, compose once more at the end. Assistant messages that directly follow
    each other are one answer. `pace` is the session's clock, if it is to see the pauses of the recording.

    Raises:
        PinnedOverflow: what may not be reduced is larger than the budget.
    """
    tracker = _Tracker(session, recording)
    new: list[NewInput] = []
    answering = False
    for index, message in enumerate(recording.messages):
        if pace is not None:
            pace.go_to(index)
        if message.role is Role.ASSISTANT and not answering:
            later = islice(recording.messages, index, None)
            answers = [*takewhile(lambda answer: answer.role is Role.ASSISTANT, later)]
            yield tracker.call(budget, new, answers)
            new.clear()
        answering = message.role is Role.ASSISTANT
        new += tracker.new_inputs(message)
        if index in recording.by_program:
            session.note(message.parts, system=message.role is Role.SYSTEM)
        else:
            session.add(message)
    if recording.messages and not answering:
        yield tracker.call(budget, new, [])


def call_count(recording: Recording) -> int:
    """Return how many steps `replay` makes of a recording."""
    runs = [answers for answers, _ in groupby(message.role is Role.ASSISTANT for message in recording.messages)]
    return sum(runs) + (runs[-1:] == [False])


class _Tracker:
    """Makes steps, and remembers what a step needs of those before it. Between sweeps only new rows are looked at."""

    def __init__(self, session: Session, recording: Recording) -> None:
        self.session, self.profile = session, profile(session.settings.profile)
        self._before: Payload | None = None
        self._number = self._rows = self._messages = 0  # calls, rows and messages so far
        self._full_body = self._full_before = 0  # tokens of the full history: now, without the head; at the call before
        self._levels: Counter[Lod] = Counter()  # how many items the payload of the call before shows at each level
        self._shown = 0  # messages in the payload of the call before
        self._names: dict[str, str] = {}  # call id → tool name
        self._rereads = Rereads(session.count)
        self._own_tools = 0  # tokens of `expand`, `recall` and `look`, which the full history does not pay for
        if recording.tools:
            session.tools(recording.tools)
            tools = wire.read_tools(recording.tools)
            self._own_tools = session.count(dumped((*tools, *RECALL_TOOLS))) - session.count(dumped(tools))

    def new_inputs(self, message: Message) -> Iterator[NewInput]:
        """Yield what a message adds for the model: user and system text, and tool results."""
        self._rereads.add(message)
        for part in message.parts:
            if isinstance(part, Call):
                self._names[part.id] = part.name
            elif isinstance(part, Result):
                yield NewInput(Role.TOOL, part.name or self._names.get(part.id, ""))
        if message.role in (Role.USER, Role.SYSTEM):
            yield NewInput(message.role, plain_text(message.parts))

    def call(self, budget: Budget, new: Sequence[NewInput], answers: Sequence[Message]) -> Step:
        self.session.interrupt()  # a recording may lack results; no provider accepts calls without them
        payload = self.session.compose(budget)
        receipt = self.session.receipt
        assert receipt is not None
        self._number += 1
        new_messages = self._count_new(payload.plan)
        reused = reused_tokens(self._before, payload, self.profile)
        full = payload.plan.fixed - self._own_tools + self._full_body
        levels, changes = self._compare(payload.plan, new_messages)
        reread = self._rereads.find(answers, (*payload.system, *payload.body, *payload.tail), self._number)
        written = sum(map(self._output_tokens, answers))
        step = Step(
            number=self._number,
            new_inputs=tuple(new),
            payload=payload,
            allowed=limit_by(receipt.factor, budget, self.profile),
            reused=reused,
            cost=call_cost(payload.tokens, reused, self.profile),
            full_tokens=full,
            full_cost=call_cost(full, self._full_before, self.profile),
            reread=reread,
            paid=self._paid(payload.tokens, reused, written),
            reread_paid=Paid(payload.tokens, reread.tokens, ASKING) if reread.items else Paid(),
            full_paid=self._paid(full, self._full_before, written),
            prices=self.profile.prices,
            levels=levels,
            changes=changes,
            reason=receipt.reason,
            changed=receipt.changed,
            flaws=tuple(flaws(payload.openai())),
        )
        self._before, self._full_before = payload, full
        return step

    def _output_tokens(self, answer: Message) -> int:
        """Return the tokens that a model wrote, as its provider counted them, else as the session counts."""
        if answer.usage is not None and answer.usage.output_tokens:
            return answer.usage.output_tokens
        return self.session.count(dumped(answer.parts))

    def _paid(self, tokens: int, reused: int, output: int) -> Paid:
        cached = reused if reused >= self.profile.cache_minimum else 0
        return Paid(cached, tokens - cached, output)

    def _count_new(self, plan: Plan) -> int:
        """Add the new rows to the full history. Return how many messages they are."""
        timeline, before = plan.timeline, self._messages
        for row in range(self._rows, plan.rows):
            kind = Kind(timeline.kind[row])
            if kind is Kind.WINDOW or timeline.state[row] & HEAD:
                continue
            self._messages += kind is not Kind.CALL
            if kind is not Kind.RECALL:  # recalled text is no part of the full history
                self._full_body += timeline.full[row] + self.profile.framing(kind)
        self._rows = plan.rows
        return self._messages - before

    def _compare(self, plan: Plan, new_messages: int) -> tuple[Levels, Changes]:
        """Return what the plan shows, and how that differs from the call before."""
        before = self._before.plan if self._before else None
        out = 0
        if before is None or plan.extends(before):
            rows, before = _rows(plan, plan.since(before)), None  # what was shown did not change
            self._shown += _count_messages(plan, rows)
        else:
            rows, shown_before = _rows(plan, plan), self._shown
            back = [row for row in rows if row < before.rows and plan.timeline.unit[row] not in before]
            self._shown = _count_messages(plan, rows)
            out = shown_before + new_messages + _count_messages(plan, back) - self._shown
            self._levels.clear()
        self._levels.update(plan.lod(row) for row in rows)
        changes = Counter(_change(before, plan, row) for row in rows)
        full, summary, gist = (self._levels[lod] for lod in (Lod.FULL, Lod.SUMMARY, Lod.GIST))
        return (
            Levels(full, summary, gist, self._messages - self._shown),
            Changes(changes["summary"], changes["gist"], out, changes["raised"], changes["entered"]),
        )


def _rows(plan: Plan, units: Iterable[int]) -> list[int]:
    return [row for unit in units for row in plan.timeline.rows_of(unit)]


def _count_messages(plan: Plan, rows: Iterable[int]) -> int:
    """Return how many messages these rows are. A call is part of its message."""
    return sum(plan.timeline.kind[row] != Kind.CALL for row in rows)


def _change(before: Plan | None, after: Plan, row: int) -> str:
    """Return the field of `Changes` that counts an item; empty if none does. One that was left out before has risen."""
    now = after.lod(row)
    if before is None or row >= before.rows:
        return "" if now is Lod.FULL else "entered"
    if after.timeline.unit[row] not in before or now > before.lod(row):
        return "raised"
    return now.name.lower() if now < before.lod(row) else ""


# ---------------------------------------------------------------------- what a call shares with the one before


def flaws(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a provider would refuse in the structure of a chat completions request."""
    waiting: list[str] = []
    used: set[str] = set()
    for index, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield f"messages[{index}] is a result that answers no call before it"
            continue
        if waiting:
            yield f"messages[{index}] stands before the results of {', '.join(waiting)}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len({*waiting}) < len(waiting) or used.intersection(waiting):
            yield f"messages[{index}] uses a call id again"
        used.update(waiting)
        says_more = waiting or message.get("refusal") or message.get("audio")
        if message["content"] in (None, []) and not says_more:
            yield f"messages[{index}] says nothing"
    if waiting:
        yield f"no results for {', '.join(waiting)}"
