"""A recorded conversation composed again, call by call: what each call would send, keep and cost. Prints nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from sightline import wire
from sightline.compose.render import first_change
from sightline.log.columns import HEAD
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.recall.recall import RECALL_TOOLS
from sightline.replay.formats import Recording
from sightline.session.session import Session
from sightline.values.items import Call, Kind, Lod, Message, Result, Role, plain_text
from sightline.values.profiles import Profile, call_cost, profile
from sightline.wire.payload import Payload


class Came(NamedTuple):
    """One thing that happened since the call before: what was said, or for `Role.TOOL` the tool that answered."""

    role: Role
    text: str


class Levels(NamedTuple):
    """What a payload shows: items by their level, and how many messages are left out, pieces once recalled included."""

    full: int = 0
    summary: int = 0
    gist: int = 0
    out: int = 0


class Changes(NamedTuple):
    """What is shown otherwise than in the call before.

    Items that fell to a summary or a gist, messages left out, items that rose, and new items that entered below FULL.
    """

    summary: int = 0
    gist: int = 0
    out: int = 0
    raised: int = 0
    entered: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One model call of a recording.

    `reused` are the tokens of the blocks it shares with the call before, from the start on: what a provider reads from
    its cache. Costs are in fresh input tokens; the full history, always a cached prefix, is what they compare with.
    """

    number: int
    came: tuple[Came, ...]
    payload: Payload
    reused: int
    cost: float
    full_tokens: int
    full_cost: float
    levels: Levels
    changes: Changes
    reason: str  # why the prefix was broken; empty: it was not
    changed: int | None  # the first changed block, 0 being the head
    flaws: tuple[str, ...]  # why a provider would refuse the request

    @property
    def tokens(self) -> int:
        """Of the whole payload."""
        return self.payload.tokens

    @property
    def limit(self) -> int:
        """Tokens it might have had."""
        return self.payload.plan.limit


class Totals(NamedTuple):
    """A replay so far."""

    calls: int = 0
    sweeps: int = 0
    tokens: int = 0
    reused: int = 0
    cost: float = 0.0
    full_cost: float = 0.0
    largest: int = 0
    invalid: int = 0
    outgrown: int = 0  # the first call for which the full history was larger than the limit; 0: none
    breaks: tuple[tuple[str, int], ...] = ()  # why the prefix was broken, and how often

    def plus(self, step: Step) -> "Totals":
        """With one step more."""
        outgrown = step.number if step.full_tokens > step.limit else 0
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
            largest=max(self.largest, step.tokens),
            invalid=self.invalid + bool(step.flaws),
            outgrown=self.outgrown or outgrown,
            breaks=tuple(breaks.items()),
        )


# ---------------------------------------------------------------------- replaying


def replay(session: Session, recording: Recording, budget: Budget) -> Iterator[Step]:
    """Say everything recorded to a new session, composing before each answer of the model; and once more at the end,
    if the recording ends before one. Assistant messages that follow each other directly are one answer.

    Raises:
        PinnedOverflow: what may not be reduced is larger than the budget.
    """
    track = _Track(session, recording)
    came: list[Came] = []
    answering = False
    for message in recording.messages:
        if message.role is Role.ASSISTANT and not answering:
            yield track.call(budget, came)
            came.clear()
        answering = message.role is Role.ASSISTANT
        came += track.said(message)
        session.add(message)
    if recording.messages and not answering:
        yield track.call(budget, came)


def call_count(recording: Recording) -> int:
    """How many steps `replay` makes of it."""
    roles = [message.role for message in recording.messages]
    ends = [role is Role.ASSISTANT and before is not role for before, role in zip([None, *roles], roles, strict=False)]
    return sum(ends) + bool(roles and roles[-1] is not Role.ASSISTANT)


class _Track:
    """What one step must know of those before it. Between sweeps only what is new is looked at."""

    def __init__(self, session: Session, recording: Recording) -> None:
        self.session, self.profile = session, profile(session.settings.profile)
        self._before: Payload | None = None
        self._number = self._rows = self._known = 0  # calls, rows and messages so far
        self._full_body = self._full_before = 0  # tokens of the full history: without the head; at the call before
        self._levels = Levels()
        self._shown = 0  # messages in the payload before
        self._names: dict[str, str] = {}  # call id → tool
        self._own_tools = 0  # tokens of the tools we add, which the full history does not pay for
        if recording.tools:
            session.tools(recording.tools)
            without = session.count(msgspec.json.encode(wire.read_tools(recording.tools)).decode())
            both = (*wire.read_tools(recording.tools), *RECALL_TOOLS)
            self._own_tools = session.count(msgspec.json.encode(both).decode()) - without

    def said(self, message: Message) -> Iterator[Came]:
        """What a reader of the replay is told of this message."""
        for part in message.parts:
            if isinstance(part, Call):
                self._names[part.id] = part.name
            elif isinstance(part, Result):
                yield Came(Role.TOOL, part.name or self._names.get(part.id, ""))
        if message.role in (Role.USER, Role.SYSTEM):
            yield Came(message.role, plain_text(message.parts))

    def call(self, budget: Budget, came: Sequence[Came]) -> Step:
        self.session.interrupt()  # a recording may lack results; no provider would take the calls alone
        payload = self.session.compose(budget)
        receipt = self.session.receipt
        assert receipt is not None
        self._number += 1
        fresh = self._take_in(payload.plan)
        reused = reused_tokens(self._before, payload, self.profile)
        full = payload.plan.fixed - self._own_tools + self._full_body
        levels, changes = self._compare(payload.plan, fresh)
        step = Step(
            number=self._number,
            came=tuple(came),
            payload=payload,
            reused=reused,
            cost=call_cost(payload.tokens, reused, self.profile),
            full_tokens=full,
            full_cost=call_cost(full, self._full_before, self.profile),
            levels=levels,
            changes=changes,
            reason=receipt.reason,
            changed=receipt.changed,
            flaws=tuple(flaws(payload.openai())),
        )
        self._before, self._full_before, self._levels = payload, full, levels
        return step

    def _take_in(self, plan: Plan) -> int:
        """Count what is new in the conversation; how many messages that is."""
        timeline, before = plan.timeline, self._known
        for row in range(self._rows, plan.rows):
            kind = Kind(timeline.kind[row])
            if kind is Kind.WINDOW or timeline.state[row] & HEAD:
                continue
            self._known += kind is not Kind.CALL
            if kind is not Kind.RECALL:  # what we bring back is no part of the history
                self._full_body += timeline.full[row] + _framing(kind, self.profile)
        self._rows = plan.rows
        return self._known - before

    def _compare(self, plan: Plan, fresh: int) -> tuple[Levels, Changes]:
        before = self._before.plan if self._before else None
        if before is None or plan.extends(before):
            rows = _rows(plan, plan.since(before))
            self._shown += _messages(plan, rows)
            levels = _tally(plan, rows, self._levels)
            return levels._replace(out=self._known - self._shown), Changes(entered=_reduced(plan, rows))
        rows = _rows(plan, plan)
        shown_before, self._shown = self._shown, _messages(plan, rows)
        levels = _tally(plan, rows, Levels())._replace(out=self._known - self._shown)
        changes = _changes(before, plan)
        new = [row for row in rows if row >= before.rows]
        back = _messages(plan, [row for row in rows if row < before.rows and plan.timeline.unit[row] not in before])
        out = shown_before + fresh + back - self._shown
        return levels, changes._replace(out=out, entered=_reduced(plan, new))


def _rows(plan: Plan, units: Iterable[int]) -> list[int]:
    return [row for unit in units for row in plan.timeline.rows_of(unit)]


def _messages(plan: Plan, rows: Iterable[int]) -> int:
    """Messages among these rows: a call is part of one."""
    return sum(plan.timeline.kind[row] != Kind.CALL for row in rows)


def _reduced(plan: Plan, rows: Iterable[int]) -> int:
    return sum(plan.lod(row) is not Lod.FULL for row in rows)


def _tally(plan: Plan, rows: Iterable[int], start: Levels) -> Levels:
    counts = [start.gist, start.summary, start.full]
    for row in rows:
        counts[plan.lod(row)] += 1
    return Levels(counts[Lod.FULL], counts[Lod.SUMMARY], counts[Lod.GIST])


def _changes(before: Plan, after: Plan) -> Changes:
    """How the items shown before and after differ in level; an item that came back rose."""
    summary = gist = raised = 0
    for row in _rows(after, after):
        if row >= before.rows:
            continue
        now = after.lod(row)
        if after.timeline.unit[row] not in before or now > before.lod(row):
            raised += 1
        elif now < before.lod(row):
            summary += now is Lod.SUMMARY
            gist += now is Lod.GIST
    return Changes(summary, gist, raised=raised)


# ---------------------------------------------------------------------- what a call shares with the one before


def reused_tokens(before: Payload | None, after: Payload, profile: Profile) -> int:
    """Tokens of the blocks that both payloads begin with, the head being the first. Exact for the `stable` layout
    without windows, which stand behind everything that could be shared.
    """
    if before is None:
        return 0
    changed = None if after.shares_blocks_of(before) else first_change(before.chain, after.chain)
    if changed is None:
        return before.plan.tokens
    if changed == 0:
        return 0
    return after.plan.fixed + sum(block_tokens(after, profile)[: changed - 1])


def block_tokens(payload: Payload, profile: Profile) -> list[int]:
    """Tokens of each message of the body, framing included; with the head they are all of `payload.tokens`."""
    sizes: dict[str, int] = {}
    for line in payload.plan.lines():
        message = line.id.partition(".")[0]  # a call stands in the message that makes it
        sizes[message] = sizes.get(message, 0) + line.tokens + _framing(line.kind, profile)
    plan = payload.plan
    marker = plan.body - plan.preface_tokens - sum(sizes.values())
    own = [plan.preface_tokens, marker] if plan.preface else [marker]  # of the messages that show no item, in order
    return [sizes.get(message.id, 0) if message.id else own.pop(0) for message in payload.body]


def _framing(kind: Kind, profile: Profile) -> int:
    return profile.call_tokens if kind is Kind.CALL else profile.message_tokens


def flaws(request: Mapping[str, Any]) -> Iterator[str]:
    """What a provider would refuse in the structure of a chat completions request."""
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
        if not message["content"] and not waiting and not message.get("refusal") and not message.get("audio"):
            yield f"messages[{index}] says nothing"
    if waiting:
        yield f"no results for {', '.join(waiting)}"
