"""(b) Recorded agent runs: every model call composed anew, and what its answer needed looked for."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from benchmarks.quality.baselines import full
from benchmarks.quality.composer_calls import (
    NO_LIMIT,
    Composer,
    Composers,
    Handles,
    Opened,
    Row,
    Tally,
    Tick,
    is_stateful,
    joined,
    shown_handles,
    silent,
)
from benchmarks.quality.hidden import TRIGGER, Hidden
from benchmarks.quality.messages import REQUEST, count_message, identity, is_system
from benchmarks.quality.needed_values import Needed, Step, idle_seconds, run_texts, steps
from benchmarks.quality.prefix import Prefixes
from benchmarks.quality.records import Run
from benchmarks.quality.request import Request
from benchmarks.quality.splits import HALVES, divided, shuffled
from benchmarks.quality.validity import mandatory_tokens, problems

READ, WRITE = 0.1, 1.25  # prices of a cached and of a written token, relative to a fresh one
MIN_CACHE = 1024  # shorter prefixes are not cached
ASKING = 5 * 120  # a call to read something again: 120 tokens, which a model writes at five times the price
FRESH = 20  # calls for which something that was read again stays readable
CACHE_SECONDS = 300.0  # after which a provider's cache is taken to be gone
MOST_CALLS = 100  # of a long run the last ones count, where the history is longest
_FEWEST = 6  # answers of a run worth replaying

Label = str | int | None  # a budget as it is written: "+1500" is that much beyond the system prompt


class Rules(NamedTuple):
    """How runs are replayed."""

    cache_seconds: float = CACHE_SECONDS
    most_calls: int = MOST_CALLS
    runs: tuple[str, ...] = ()  # to be replayed, by name; else all


def measure_replay(
    dataset: str,
    runs: Sequence[Run],
    composers: Composers,
    budgets: Sequence[str | int],
    n: int,
    halves: Sequence[str] = HALVES,
    tick: Tick = silent,
    rules: Rules = Rules(),  # noqa: B008 - a constant
) -> list[Row]:
    """Measure `n` runs of each half. Costs are relative to the full history, which is always measured.

    Raises:
        Failed: a composer raised.
        RuntimeError: a composer changed the messages it was given.
    """
    wanted = [run for run in runs if not rules.runs or run.id in rules.runs]
    todo = _chosen(dataset, wanted, n, halves)
    longest = {half: max((run for h, run in todo if h == half), key=lambda r: len(r.messages)) for half, _ in todo}
    every: dict[tuple[str, str, Label], Played] = {}
    for done, (half, run) in enumerate(todo):
        tick(done, len(todo))
        prepared = Prepared(run, rules)
        for name, composer in {"full": full, **composers}.items():
            for label in [None] if name == "full" else budgets:
                played = every.setdefault((half, name, label), Played())
                opened = Opened(composer, f"{dataset}/{run.id}/{label}", name)
                tally = played.tallies.setdefault(run.id, Tally())
                prepared.play(opened, composer, label, played, tally, keep=run is longest[half])
                opened.close()
                if prepared.changed():
                    raise RuntimeError(f"composer {name} changed the messages of its input; copy them first")
    whole = {half: every[half, "full", None] for half, _ in todo}
    rows = [_row(dataset, *key, played, whole[key[0]]) for key, played in every.items()]
    return [row for row in rows if row["n"]]


def _chosen(dataset: str, runs: Sequence[Run], n: int, halves: Sequence[str]) -> list[tuple[str, Run]]:
    long = [run for run in runs if sum(message["role"] == "assistant" for message in run.messages) >= _FEWEST]
    todo = []
    for half, some in divided(dataset, long, lambda run: run.group, halves):
        pool, _ = shuffled(some, lambda run: run.id, half)
        todo += [(half, run) for run in pool[:n]]
    return todo


class Played:
    """The sums over each run of one composer at one token budget."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}  # by the name of the run
        self.prefixes = Prefixes()
        self.series: list[tuple[int, int]] = []  # tokens and cached tokens of each call of the longest run
        self.hidden: list[Row] = []  # what was hidden although all of it fits


class Prepared:
    """A run, and what every composer's requests are compared with."""

    def __init__(self, run: Run, rules: Rules) -> None:
        self.name, self._messages, self._rules = run.id, run.messages, rules
        self._before = [identity(message) for message in run.messages]
        self.texts = run_texts(run.messages)
        self.steps = steps(run.messages, self.texts)
        self.first = max(0, len(self.steps) - rules.most_calls)
        self.sizes = [REQUEST]
        for message in run.messages:
            self.sizes.append(self.sizes[-1] + count_message(message))
        indexes = [step.at for step in self.steps]
        self._least = {index: mandatory_tokens(run.messages[:index]) for index in indexes[self.first :]}
        self._idle = {now: idle_seconds(run.messages, before, now) for before, now in pairwise(indexes)}
        self._system = sum(count_message(message) for message in run.messages[:2] if is_system(message))

    def changed(self) -> bool:
        """Return whether a composer changed the messages it was given."""
        return [identity(message) for message in self._messages] != self._before

    def size(self, index: int) -> int:
        """Tokens of one message."""
        return self.sizes[index + 1] - self.sizes[index]

    def play(
        self, opened: Opened, composer: Composer, label: Label, played: Played, tally: Tally, *, keep: bool
    ) -> None:
        """Compose every call. Before those that count, a composer with state gets all earlier calls and a function
        the one before, so that nobody starts with a cold cache or an empty plan in the middle of a run."""
        budget = NO_LIMIT if label is None else self._system + int(label) if isinstance(label, str) else label
        tally.add(runs=1)
        before: Request | None = None
        reads, hidden = Reads(), Hidden(self.name, self._messages)
        for at in range(0 if is_stateful(composer) else max(0, self.first - 1), len(self.steps)):
            step = self.steps[at]
            shown = opened(self._messages[: step.at], step.query, budget)
            request = Request(shown.messages, before)
            warm = played.prefixes.compare(before, request, opened.composer)
            before = request
            if at < self.first:
                continue
            cached = self._sent(request, shown.seconds, step.at, budget, warm, tally)
            if keep:
                played.series.append((request.tokens, cached))
            if step.calls or step.edits:
                Look(self, request, shown.handles, tally, reads).at(step, at)
            if self.sizes[step.at] < TRIGGER * budget < NO_LIMIT * TRIGGER:
                hidden.look(request, step.at, self.sizes[step.at], opened.composer, tally)
        played.hidden += hidden.items.values()

    def _sent(self, sent: Request, seconds: float, index: int, budget: int, warm: int, tally: Tally) -> int:
        """Count what a request costs. Return its tokens that the provider has in its cache."""
        tokens, feasible = sent.tokens, self._least[index] <= budget
        wrong = problems(sent.messages, self._messages[:index], budget, tokens, feasible)
        tally.called(tokens, self.sizes[index], seconds, wrong)
        warm = warm if warm >= MIN_CACHE else 0
        idle = self._idle.get(index)
        cold = idle is not None and idle > self._rules.cache_seconds
        cached = 0 if cold else warm
        tally.add(infeasible=not feasible, clock=idle is not None, cold=cold, cached=cached, cached_warm=warm)
        tally.add(cost=READ * cached + WRITE * (tokens - cached), cost_warm=READ * warm + WRITE * (tokens - warm))
        return cached


class Reads:
    """What had to be read again in one run, because a request did not show it."""

    def __init__(self) -> None:
        self.charged: set[int] = set()  # messages, each paid for once
        self._latest: dict[int, int] = {}  # message: the call before which it was read again

    def lost(self, messages: set[int], call: int) -> list[int]:
        """Return those of the messages that are not fresh from an earlier reading, and note that they are read now."""
        found = [each for each in messages if call - self._latest.get(each, -FRESH) >= FRESH]
        self._latest.update(dict.fromkeys(found, call))
        return found


class Look:
    """Which values and texts that an answer needed are shown in a composed request."""

    def __init__(self, run: Prepared, request: Request, handles: Handles, tally: Tally, reads: Reads) -> None:
        self._run, self._request, self._handles, self._tally, self._reads = run, request, handles, tally, reads
        self._text = "\n".join(request.texts)
        self._present: list[str] | None = None
        self._again: set[int] = set()  # messages that have to be read again

    def at(self, step: Step, call: int) -> None:
        """Look for all that the call of this number needed."""
        self._edits(step)
        self._values(step.calls)
        self._tally.add(reread_cost=WRITE * sum(map(self._run.size, self._again)))
        if lost := self._reads.lost(self._again, call):  # one more request over the cached prompt, then the sources
            read = WRITE * sum(map(self._run.size, lost))
            self._tally.add(real_faults=1, real_cost=READ * self._request.tokens + ASKING + read)

    def _edits(self, step: Step) -> None:
        for edit in step.edits:
            readable = edit.readable(self._request.texts)
            self._tally.add(edits_n=1, edits=readable)
            if not readable:
                self._again.update(edit.sources)

    def _values(self, calls: Sequence[Sequence[Needed]]) -> None:
        for values in calls:
            seen = [each.value in self._text for each in values]
            near = [here or self._one_step(each) for here, each in zip(seen, values, strict=True)]
            self._tally.add(values=len(values), needed_n=1, needed=sum(seen) / len(seen), step=sum(near) / len(near))
            self._tally.add(call_ok=all(seen))
            far = [at for at, each in enumerate(values) if each.far]
            if far:
                self._tally.add(far_n=1, far=sum(seen[at] for at in far) / len(far))
                self._tally.add(far_step=sum(near[at] for at in far) / len(far))

    def _one_step(self, missing: Needed) -> bool:
        """Count a fault: a needed value is not shown. Return whether a handle that is shown leads to it."""
        tally, handles = self._tally, self._handles
        if self._present is None:
            self._present = shown_handles(handles, self._text)
            tally.add(handles=len(self._present), handles_n=1)
        leading = [h for h in self._present if any(missing.value in self._run.texts[at] for at in handles[h])]
        if leading:
            tally.add(span=min(sum(map(self._run.size, handles[handle])) for handle in leading), span_n=1)
        tally.add(faults=1)
        self._again.add(missing.source)
        if missing.source not in self._reads.charged:
            self._reads.charged.add(missing.source)
            tally.add(reads=1, fault_cost=WRITE * self._run.size(missing.source))
        return bool(leading)


def _row(dataset: str, half: str, name: str, budget: Label, played: Played, whole: Played) -> Row:
    tally, base = joined(played.tallies.values()), joined(whole.tallies.values())

    def relative(cost: float, to: str = "cost") -> float | None:
        return cost / base[to] if base[to] else None

    return {
        "part": "b",
        "dataset": dataset,
        "half": half,
        "composer": name,
        "budget": budget,
        "trajectories": int(tally["runs"]),
        "n": int(tally["n"]),
        "infeasible": tally.per("infeasible"),
        "total_tokens": int(tally["tokens"]),
        "cache_hit": tally.per("cached", "tokens"),
        "cache_hit_warm": tally.per("cached_warm", "tokens"),
        "cold": tally.per("cold", "clock"),
        "clock": tally.per("clock"),
        "cost": tally["cost"],
        "rel_cost": relative(tally["cost"]),
        "rel_cost_warm": relative(tally["cost_warm"], "cost_warm"),
        "faults": int(tally["faults"]),
        "fault_reads": int(tally["reads"]),
        "values": int(tally["values"]),
        "fault_cost": tally["fault_cost"],
        "rel_cost_faults": relative(tally["cost"] + tally["fault_cost"]),
        # upper bound: read again at every call that misses something, not once a session
        "rel_cost_faults_each": relative(tally["cost"] + tally["reread_cost"]),
        "cost_real": tally["cost"] + tally["real_cost"],
        "rel_cost_real": relative(tally["cost"] + tally["real_cost"]),
        "real_faults": int(tally["real_faults"]),
        "edits": tally.per("edits", "edits_n"),
        "edits_n": int(tally["edits_n"]),
        "needed": tally.per("needed", "needed_n"),
        "needed_step": tally.per("step", "needed_n"),
        "needed_n": int(tally["needed_n"]),
        "needed_far": tally.per("far", "far_n"),
        "needed_far_step": tally.per("far_step", "far_n"),
        "far_n": int(tally["far_n"]),
        "call_ok": tally.per("call_ok", "needed_n"),
        "handles_shown": tally.per("handles", "handles_n"),
        "handle_tokens": tally.per("span", "span_n"),
        "fits_n": int(tally["fits"]),
        "hides_n": int(tally["hides"]),
        "hidden": tally.per("hidden_tokens", "fits_tokens"),
        "hidden_items": played.hidden,
        **played.prefixes.row(),
        "series": played.series,
        "by_run": {name: _of_one_run(each) for name, each in played.tallies.items()},
        **tally.usual(),
    }


def _of_one_run(tally: Tally) -> Row:
    """Return the sums of one run, from which the figures of any choice of runs can be made."""
    counts = {name: int(tally[name]) for name in ("n", "edits", "edits_n", "needed_n", "far_n", "real_faults")}
    sums = {name: tally[name] for name in ("tokens", "cost", "needed", "far")}
    return {**counts, **sums, "cost_real": tally["cost"] + tally["real_cost"]}
