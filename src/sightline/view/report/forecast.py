"""What the agent's own prompts and what Sightline's would cost: two forecasts of the same calls, by the same rules.

The agent sends everything: all since its last compaction, and never more than the model's window holds. Sightline, as
`sightline wrap` runs it, passes that on as it is until the window is full, and composes from then on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from sightline.log.stores.memory import MemoryStore
from sightline.plan import Budget
from sightline.plan.economies import THRIFTY_WINDOW
from sightline.session.session import Session
from sightline.values.items import Usage
from sightline.values.profiles import Profile, charged
from sightline.values.settings import Settings
from sightline.view.costs import PriceOf
from sightline.view.replay.replay import Pace, Step, replay
from sightline.view.replay.rereads import ASKING
from sightline.view.report.cache import spent_by
from sightline.view.report.prompts import Prompt, Sizes, Stretch, stretches_of
from sightline.view.report.talk import Talk, answers_in
from sightline.view.report.values import Forecast, Spent, add_up

ECONOMIES = ("safe", "thrifty")  # that are forecast: the default, and the one that is meant to save
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


def scale_of(talk: Talk, sizes: Sizes) -> Scale:
    """Estimate the scale by least squares, from the calls before the first compaction."""
    end = talk.cuts[0].at if talk.cuts else len(talk.messages)
    pairs = [(sizes.since(None, index), usage.input_tokens) for _, index, _, usage in talk.usages() if index < end]
    if len(pairs) < _FEW:
        return Scale(1.0, max(min((theirs - ours for ours, theirs in pairs), default=0), 0))
    ours, theirs = fmean(size for size, _ in pairs), fmean(tokens for _, tokens in pairs)
    spread = sum((size - ours) ** 2 for size, _ in pairs)
    slope = sum((size - ours) * (tokens - theirs) for size, tokens in pairs) / spread if spread else 1.0
    factor = min(max(slope, _FACTORS[0]), _FACTORS[1])
    return Scale(factor, max(round(theirs - factor * ours), 0))


def window_for(tokens: int) -> int:
    """Return the context window in which a forecast lets a prompt have so many tokens."""
    return tokens + min(_ANSWER, tokens // (_ANSWER_SHARE - 1))


def everything_sent(talk: Talk, prompts: Iterable[Prompt], provider: "Provider", window: int) -> Spent:
    """Return the forecast of sending everything: `Forecast.full` is the same."""
    tally = _Tally(talk, provider, window)
    for prompt in prompts:
        tally.add_as_it_is(prompt)
    return tally.full


class Provider(NamedTuple):
    """How a provider counts, caches and charges.

    `misses` says of answers, by their index, which share of the prompt before was not in the provider's cache any more,
    for a reason that no other prompt would have changed.
    """

    profile: Profile
    scale: Scale
    misses: Mapping[int, float]
    price_of: PriceOf


def forecasts_of(
    talk: Talk, prompts: Sequence[Prompt], sizes: Sizes, provider: Provider, window: int, economies: Iterable[str]
) -> Iterator[Forecast]:
    """Yield the forecast of each economy in a context window of so many tokens. `prompts` are the agent's own.

    Raises PinnedOverflow if the conversation cannot be composed.
    """
    for economy in economies:
        budget = _budget(window, economy, provider.scale)
        most = budget.trigger * budget.limit(margin=provider.profile.margin)
        tally = _Tally(talk, provider, window)
        for stretch in stretches_of(talk, prompts, sizes, most):
            _add_stretch(tally, stretch, economy, budget, most)
        scale = provider.scale
        yield Forecast(
            economy=economy, window=window, spent=tally.spent, full=tally.full, rereads=tally.rereads,
            reread_cost=tally.reread_cost, sweeps=tally.sweeps, unchanged=int(not tally.composed),
            largest=tally.largest, factor=round(scale.factor, 3), unlogged=scale.unlogged,
        )  # fmt: skip


def _budget(window: int, economy: str, scale: Scale) -> Budget:
    """Return what the logged part of a prompt may have, as we count it."""
    prompt = window - min(_ANSWER, window // _ANSWER_SHARE)
    if economy == "thrifty":
        prompt = min(prompt, THRIFTY_WINDOW)
    return Budget(max(int((prompt - scale.unlogged) / scale.factor), int(_ROOM * prompt)))


def _add_stretch(tally: "_Tally", stretch: Stretch, economy: str, budget: Budget, most: float) -> None:
    """Count the calls of a stretch. Raises PinnedOverflow."""
    if stretch.recording is None:
        for prompt in stretch.prompts:
            tally.add_as_it_is(prompt)
        return
    prompts = {prompt.answer + stretch.shift: prompt for prompt in stretch.prompts}
    answers = answers_in(stretch.recording.messages)
    pace = Pace(_warm_times(stretch.recording.times, tally.profile, tally.reported))
    settings = Settings(profile=tally.profile.name, encoding=tally.encoding, config={"economy": economy})
    is_composed = False
    with Session(MemoryStore("forecast"), settings=settings, clock=pace) as session:
        session.tools(())  # ours; those of the agent are among what no log shows
        for index, step in zip(answers, replay(session, stretch.recording, budget, pace), strict=True):
            if index not in prompts:
                continue  # a call before the compaction, whose answer the compaction has left
            prompt = prompts[index]
            begins = not is_composed and step.full_tokens > most
            is_composed = is_composed or begins
            if is_composed:
                tally.add_composed(prompt, step, begins=begins)
            else:
                tally.add_as_it_is(prompt)


def _warm_times(times: Sequence[int], profile: Profile, reported: Usage) -> Sequence[int]:
    """Return times in which a pause that the provider's cache outlived is no longer than the profile's lifetime.

    The session of a forecast is told no usage, by which a session knows that its prefix is kept for an hour.
    """
    usual, lifetime = profile.cache_seconds * 1000, charged(profile, reported).cache_seconds * 1000
    if lifetime == usual:
        return times
    warm, shown, last = list[int](), next(filter(None, times), 0), 0
    for now in times:
        pause = max(now - last, 0) if last else 0
        shown += min(pause, usual) if pause <= lifetime else pause
        warm.append(shown if now else 0)
        last = max(last, now)
    return warm


class _Sent(NamedTuple):
    """A prompt as the provider counts it, and the part at its beginning that the call before had sent."""

    tokens: int
    reused: int


class _Tally:
    """Sums calls as the provider would have counted and charged them: with Sightline, and with everything sent."""

    def __init__(self, talk: Talk, provider: Provider, window: int) -> None:
        self._provider, self._window, self.profile = provider, window, provider.profile
        self.encoding = talk.encoding
        self._usages = defaultdict[int, list[tuple[str, Usage]]](list)
        for number, _, model, usage in talk.usages():
            self._usages[number].append((model, usage))
        self.reported = reported = sum((usage for *_, usage in talk.usages()), Usage(0, 0))
        self._writes = not self._usages or bool(reported.written_tokens)
        self._for_an_hour = reported.hour_tokens / reported.written_tokens if reported.hour_tokens else 0.0
        self.spent, self.full = Spent(money=0.0), Spent(money=0.0)
        self.rereads = self.sweeps = self.largest = 0
        self.reread_cost = 0.0
        self.composed = False

    def add_as_it_is(self, prompt: Prompt) -> None:
        """Count a call that Sightline passes on as it is."""
        everything = self._everything(prompt)
        self._add(prompt, everything, everything)

    def add_composed(self, prompt: Prompt, step: Step, *, begins: bool) -> None:
        """Count a call that Sightline composes. At the first one its tools join, so nothing before is reused."""
        scale = self._provider.scale
        tokens, reused = scale.of(step.tokens), scale.of(step.reused) if step.reused else scale.unlogged
        self.composed = True
        if self._add(prompt, self._everything(prompt), _Sent(tokens, 0 if begins else reused), begins=begins):
            self.sweeps += begins or bool(step.payload.plan.reason)
            self._add_rereads(step, tokens, self._usages[prompt.number][0][0] if self._usages else "")

    def _everything(self, prompt: Prompt) -> _Sent:
        """Return the agent's own prompt. Of one that is too long, as much as the window holds, with all that is new."""
        scale = self._provider.scale
        tokens = scale.of(prompt.tokens)
        beyond = max(tokens - self._window, 0)
        return _Sent(tokens - beyond, max(scale.of(prompt.kept) - beyond, 0) if prompt.number > 1 else 0)

    def _add(self, prompt: Prompt, full: _Sent, sent: _Sent, *, begins: bool = False) -> bool:
        """Count one call; one that the provider reported nothing about, only if it reported nothing at all."""
        reported = self._usages.get(prompt.number, [])
        if self._usages and not reported:
            return False
        there = 0.0 if prompt.number == 1 else 1 - self._provider.misses.get(prompt.answer, 0.0)
        for model, usage in reported or [("", Usage(0, prompt.output))]:
            # Other sessions may have left the head in the cache; not the head with our tools.
            head = min(usage.cached_tokens, self._provider.scale.unlogged)
            cached = max(0 if begins else head, round(there * sent.reused))
            self.spent = self._plus(self.spent, sent.tokens, cached, usage.output_tokens, model)
            cached = max(head, round(there * full.reused))
            self.full = self._plus(self.full, full.tokens, cached, usage.output_tokens, model)
            there, begins = 1.0, False  # what follows at once finds all of it in the cache
            full, sent = _Sent(full.tokens, full.tokens), _Sent(sent.tokens, sent.tokens)
        self.largest = max(self.largest, sent.tokens)
        return True

    def _add_rereads(self, step: Step, sent: int, model: str) -> None:
        """Charge one more request, over the cached prompt, for what the answer used and the prompt did not show."""
        if not step.reread.items:
            return
        before, again = self.spent, round(step.reread.tokens * self._provider.scale.factor)
        self.spent = self._plus(self.spent, sent + again, sent, ASKING, model)
        self.rereads += 1
        self.reread_cost += self.spent.cost - before.cost

    def _plus(self, total: Spent, tokens: int, cached: int, output: int, model: str) -> Spent:
        cached = min(cached, tokens) if cached >= self.profile.cache_minimum else 0
        written = tokens - cached if self._writes else 0
        usage = Usage(tokens, output, cached, written, round(written * self._for_an_hour))
        return add_up([total, spent_by(usage, self.profile, self._provider.price_of(model))])
