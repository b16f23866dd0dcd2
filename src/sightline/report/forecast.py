"""What Sightline would have sent instead of what was recorded: a replay, in the tokens and prices of the provider."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from msgspec.structs import replace

from sightline.errors import PinnedOverflow
from sightline.log.stores.memory import MemoryStore
from sightline.plan.budget import Budget
from sightline.replay.pace import Pace
from sightline.replay.replay import Step, replay
from sightline.replay.rereads import ASKING
from sightline.report.cache import PriceOf, plus, spent_by
from sightline.report.contents import Piece
from sightline.report.talk import Talk
from sightline.report.values import Forecast, Spent
from sightline.session.session import Session
from sightline.values.items import Usage
from sightline.values.profiles import Profile
from sightline.values.settings import Settings

ECONOMIES = ("safe", "thrifty")  # of the strategy `focus`; the first is its default
_FACTORS = (0.8, 2.0)  # tokens that a provider may count for one of ours
_FEW = 5  # calls, from which on the two unknowns of `Scale` are estimated
_ANSWER, _ANSWER_SHARE = 8_000, 4  # tokens that are kept for the answer; at most a fourth of the window
_ROOM = 0.25  # of the window: what is left at least for the conversation


class Scale(NamedTuple):
    """How a provider's count follows from ours: `unlogged` tokens in every call, and `factor` for each of ours.

    No log shows the system prompt and the tools of Claude Code, so the first is large there.
    """

    factor: float = 1.0
    unlogged: int = 0

    def of(self, tokens: int) -> int:
        """Return the provider's count of a prompt that we count so."""
        return self.unlogged + round(self.factor * tokens)


def scale_of(talk: Talk, pieces: Iterable[Piece]) -> Scale:
    """Estimate the scale by least squares, from the calls before the first compaction."""
    end = talk.cuts[0].at if talk.cuts else len(talk.messages)
    sizes = [0] * (len(talk.messages) + 1)
    for piece in pieces:
        if piece.kind != "summary":
            sizes[piece.at + 1] += piece.tokens
    for index in range(1, len(sizes)):
        sizes[index] += sizes[index - 1]
    pairs = [(sizes[index], usage.input_tokens) for _, index, _, usage in talk.usages() if index < end]
    if len(pairs) < _FEW:
        return Scale(1.0, max(min((theirs - ours for ours, theirs in pairs), default=0), 0))
    ours, theirs = fmean(each for each, _ in pairs), fmean(each for _, each in pairs)
    spread = sum((each - ours) ** 2 for each, _ in pairs)
    slope = sum((one - ours) * (other - theirs) for one, other in pairs) / spread if spread else 1.0
    factor = min(max(slope, _FACTORS[0]), _FACTORS[1])
    return Scale(factor, max(round(theirs - factor * ours), 0))


def window_for(tokens: int) -> int:
    """Return the context window in which a forecast lets a prompt have so many tokens."""
    return tokens + min(_ANSWER, tokens // (_ANSWER_SHARE - 1))


def forecast(
    talk: Talk,
    profile: Profile,
    economy: str,
    window: int,
    scale: Scale,
    misses: Mapping[int, float],
    price_of: PriceOf,
) -> Forecast | None:
    """Replay a conversation with its pauses, and return what that would have sent and cost.

    `misses` says of answers, by their index, which share of the prompt before was not in the provider's cache any more,
    for a reason that no other prompt would have changed. None if it cannot be replayed.
    """
    pace = Pace(talk.recording.times)
    settings = Settings(profile=profile.name, strategy="focus", config={"economy": economy})
    room = max(int((window - scale.unlogged) / scale.factor), int(_ROOM * window))
    output = min(_ANSWER, room // _ANSWER_SHARE)
    # Its provider counted prompts that hold more than the log shows: the session must not learn from that.
    messages = tuple(replace(message, usage=None) for message in talk.messages)
    recording = replace(talk.recording, messages=messages)
    tally = _Tally(talk, profile, scale, misses, price_of)
    with Session(MemoryStore("forecast"), settings=settings, clock=pace) as session:
        try:
            for step in replay(session, recording, Budget(room, output), pace):
                tally.add(step)
        except PinnedOverflow:
            return None
    return Forecast(
        economy=economy, window=window, spent=tally.spent, full=tally.full, rereads=tally.rereads,
        reread_cost=tally.reread_cost, sweeps=tally.sweeps, largest=tally.largest, factor=round(scale.factor, 3),
        unlogged=scale.unlogged,
    )  # fmt: skip


class _Tally:
    """Sums the steps of a replay, as the provider would have counted and charged them."""

    def __init__(
        self, talk: Talk, profile: Profile, scale: Scale, misses: Mapping[int, float], price_of: PriceOf
    ) -> None:
        self._talk, self._profile, self._scale, self._misses, self._price_of = talk, profile, scale, misses, price_of
        self._usages = defaultdict[int, list[tuple[str, Usage]]](list)
        for number, _, model, usage in talk.usages():
            self._usages[number].append((model, usage))
        self._writes = not self._usages or any(usage.written_tokens for *_, usage in talk.usages())
        self.spent, self.full = Spent(money=0.0), Spent(money=0.0)
        self.rereads = self.sweeps = self.largest = 0
        self.reread_cost = 0.0
        self._full_before = 0

    def add(self, step: Step) -> None:
        """Count one call; one that the provider reported nothing about, only if it reported nothing at all."""
        reported = self._usages.get(step.number, [])
        full, full_before = self._scale.of(step.full_tokens), self._full_before
        self._full_before = full
        if self._usages and not reported:
            return
        index = self._talk.answers[step.number - 1] if step.number <= len(self._talk.answers) else -1
        there = 0.0 if step.number == 1 else 1 - self._misses.get(index, 0.0)  # the share that is in the cache
        sent = self._scale.of(step.tokens)
        reused = self._scale.of(step.reused) if step.reused else self._scale.unlogged
        for model, usage in self._calls(step, reported):
            head = min(usage.cached_tokens, self._scale.unlogged)  # other sessions may have left that in the cache
            self.spent = self._plus(self.spent, sent, max(head, round(there * reused)), usage.output_tokens, model)
            self.full = self._plus(self.full, full, max(head, round(there * full_before)), usage.output_tokens, model)
            there, reused, full_before = 1.0, sent, full  # what follows at once finds all of it in the cache
        self._add_rereads(step, sent, reported[0][0] if reported else "")
        self.sweeps += bool(step.payload.plan.reason)
        self.largest = max(self.largest, sent)

    def _calls(self, step: Step, reported: list[tuple[str, Usage]]) -> Iterator[tuple[str, Usage]]:
        yield from reported or [("", Usage(0, step.paid.output))]

    def _add_rereads(self, step: Step, sent: int, model: str) -> None:
        if not step.reread.messages:
            return
        before, again = self.spent, round(step.reread.tokens * self._scale.factor)
        self.spent = self._plus(self.spent, sent + again, sent, ASKING, model)
        self.rereads += 1
        self.reread_cost += self.spent.cost - before.cost

    def _plus(self, total: Spent, tokens: int, cached: int, output: int, model: str) -> Spent:
        cached = min(cached, tokens) if cached >= self._profile.cache_minimum else 0
        written = tokens - cached if self._writes else 0
        usage = Usage(tokens, output, cached, written)
        return plus(total, spent_by(usage, self._profile, self._price_of(model)))
