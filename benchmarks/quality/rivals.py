"""`python -m benchmarks.quality.rivals`: Sightline and its rivals on one long tool history. No model, no network.

One request before each model call of a generated agent run; a request costs a tenth of a token for each token of the
longest prefix it shares with the request before, whole messages, and 1.25 for each of the rest. Then compose time by
length, and whether facts from long ago are shown when somebody asks for them at 10,000 messages.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.environment import Missing
from benchmarks.histories import agent_run
from benchmarks.quality import peers
from benchmarks.quality.baselines import full, sliding
from benchmarks.quality.calling import Composer, Opened
from benchmarks.quality.messages import (
    History,
    Message,
    common_prefix,
    count_message,
    count_messages,
    full_text,
    text_of,
)
from benchmarks.quality.planted import FACTS, Fact, planted
from benchmarks.quality.tables import Lines, markdown, show
from sightline import Budget, MemoryStore, Session
from sightline.testing import Ticking

CACHED, WRITTEN = 0.1, 1.25  # what a token costs that the provider has, and one that it has not
SHORT, SHORT_BUDGET = 109, 8_000  # messages of some 45,000 tokens
LONG, LONG_BUDGET = 1_000, 32_000
SIZES = {100: SHORT_BUDGET, 1_000: LONG_BUDGET, 10_000: LONG_BUDGET}  # messages and budgets of the timed calls
WARM, SLOW = 9, 5.0  # calls after the first one; seconds of a first call after which two are enough
MOST_SHORT, MOST_LONG = 60_000, 1_200_000  # what the two replays may cost
MOST_MS = {100: 1.0, 1_000: 3.0, 10_000: 20.0}
TRIGGERS, AIMS = (0.7, 0.8, 0.9, 1.0), (0.3, 0.4, 0.5, 0.6)  # of the curve


# ------------------------------------------------------------------ ourselves


class Sightline:
    """One session, through the public API, with the default budget's shares or others."""

    shares: Mapping[str, Any] = {}  # of the budget, other than its own

    def __init__(self) -> None:
        self._session = Session(MemoryStore("rivals"), clock=Ticking(step=1))
        self._told = 0
        self.seconds = 0.0  # of the last compose
        self.adding = 0.0  # of taking in the latest messages
        self.writing = 0.0  # of the request in OpenAI's form

    def compose(self, history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it is in the history
        """The next request."""
        begun = perf_counter()
        new, self._told = history[self._told :], len(history)
        if len(new) == len(history):
            self._session.extend(new)
        else:
            for message in new:
                self._tell(message)
        self.adding = perf_counter() - begun
        begun = perf_counter()
        payload = self._session.compose(Budget(budget, **self.shares))
        self.seconds = perf_counter() - begun
        begun = perf_counter()
        messages = payload.openai()["messages"]
        self.writing = perf_counter() - begun
        return [{**each, "content": text_of(each.get("content"))} for each in messages]

    def _tell(self, message: Message) -> None:
        match message["role"]:
            case "system":
                self._session.system(message["content"])
            case "user":
                self._session.user(message["content"])
            case "tool":
                self._session.tool_result(message["tool_call_id"], message["content"])
            case _:
                self._session.reply(message)


def sightline_at(trigger: float, target: float) -> type[Sightline]:
    """Sightline with these shares of the budget."""
    return type("SightlineAt", (Sightline,), {"shares": {"trigger": trigger, "target": target}})


# ------------------------------------------------------------------ measuring


class Replayed(NamedTuple):
    """What the requests of a run came to."""

    requests: int
    cost: float
    last: int  # tokens of the last request
    mean: float
    over: int  # requests over the budget
    broken: int  # that did not begin with the request before
    model_calls: int
    failed: int  # requests that the composer could not make


def replayed(composer: Composer, history: History, budget: int) -> Replayed:
    """A request before each model call, and one at the end."""
    opened, before = Opened(composer, "rivals"), list[Message]()
    sizes: list[int] = []
    cost, broken, failed = 0.0, 0, 0
    for end in _calls(history):
        messages = opened(list(history[:end]), _asked(history[:end]), budget).messages
        if not messages:
            failed += 1
            continue
        shared, tokens = common_prefix(before, messages), count_messages(messages)
        cached = sum(map(count_message, messages[:shared]))
        cost += CACHED * cached + WRITTEN * (tokens - cached)
        broken += shared < len(before)
        sizes.append(tokens)
        before = messages
    over = sum(size > budget for size in sizes)
    calls = getattr(opened.composer, "model_calls", 0)
    return Replayed(len(sizes) + failed, cost, sizes[-1], sum(sizes) / len(sizes), over, broken, calls, failed)


class Timed(NamedTuple):
    """Milliseconds of compose: of the first call, with the whole history, and the median of the next ones."""

    first: float
    next: float
    adding: float  # of taking in a step's messages, where that is a call of its own
    writing: float  # of giving the request its provider's form, likewise


def timed(composer: Composer, messages: int, budget: int) -> Timed:
    """The last calls of a run of so many messages."""
    history = _run(messages)
    ends = _calls(history)[-WARM - 1 :]
    opened = Opened(composer, "rivals")
    calls: list[tuple[float, float, float]] = []
    for end in ends:
        outside = opened(list(history[:end]), _asked(history[:end]), budget).seconds
        inside = [getattr(opened.composer, name, 0.0) for name in ("seconds", "adding", "writing")]
        calls.append((inside[0] or outside, inside[1], inside[2]))
        if calls[0][0] > SLOW and len(calls) > 2:
            break
    later = [1000 * median(each) for each in zip(*calls[1:], strict=True)]
    return Timed(1000 * calls[0][0], *later)


class Shown(NamedTuple):
    """What one question brought."""

    fact: Fact
    found: bool  # what it asks for is there, within the budget
    tokens: int
    where: list[str]  # how it is shown
    last: str  # the last message: the question, and what was brought back for it


def shown(composer: Composer, messages: int, budget: int, *, lived: bool) -> list[Shown]:
    """Each question, one after the other at the end of the same long run.

    `lived`: a request was composed before each model call of the run. Else all of it arrives with the first question.
    """
    history, opened = list(_planted(messages)), Opened(composer, "rivals")
    for end in _calls(history)[:-1] if lived else ():
        opened(history[:end], _asked(history[:end]), budget)
    found = []
    for fact in FACTS:
        history.append({"role": "user", "content": fact.question})
        found.append(_shown(opened(history, fact.question, budget).messages, fact, budget))
        history.append({"role": "assistant", "content": "Thank you for asking."})  # no fact is said a second time
    return found


def _shown(messages: list[Message], fact: Fact, budget: int) -> Shown:
    texts = [text for text in map(full_text, messages) if fact.value in text]
    tokens = count_messages(messages)
    last = text_of(messages[-1].get("content")) if messages else ""
    return Shown(fact, bool(texts) and tokens <= budget, tokens, [_around(text, fact.value) for text in texts], last)


def _around(text: str, value: str) -> str:
    at = text.index(value)
    return text[max(0, at - 60) : at + len(value) + 20].replace("\n", "⏎")


def _calls(history: History) -> list[int]:
    """Where a model is called: before each of its answers, and at the end."""
    return [at for at, message in enumerate(history) if message["role"] == "assistant"] + [len(history)]


def _asked(history: History) -> str:
    return next((text_of(each["content"]) for each in reversed(history) if each["role"] == "user"), "")


@cache
def _run(messages: int) -> list[Message]:
    return agent_run(messages)


@cache
def _planted(messages: int) -> list[Message]:
    return planted(messages)


# ------------------------------------------------------------------ rows

OURS: dict[str, Composer] = {"full": full, "sliding": sliding, "sightline": Sightline}
PARTS = ("short", "long", "times", "facts")


def row(
    name: str, composer: Composer, version: str, parts: Sequence[str], say: Callable[[str], None]
) -> dict[str, Any]:
    """Everything about one composer. What fails is said in its row."""
    found: dict[str, Any] = {"composer": name, "version": version}
    work: dict[str, Callable[[], Any]] = {
        "short": lambda: replayed(composer, _run(SHORT), SHORT_BUDGET)._asdict(),
        "long": lambda: replayed(composer, _run(LONG), LONG_BUDGET)._asdict(),
        "times": lambda: {size: timed(composer, size, budget)._asdict() for size, budget in SIZES.items()},
        "facts": lambda: _asked_for(composer, lived=composer is Sightline),
        "imported": lambda: _asked_for(composer, lived=False),
    }
    if "facts" in parts and composer is Sightline:
        parts = [*parts, "imported"]
    for part in parts:
        say(f"{name}: {part}")
        try:
            found[part] = work[part]()
        except (Missing, RuntimeError) as error:
            found[part], found["failed"] = None, str(error)
    return found


def _asked_for(composer: Composer, *, lived: bool) -> list[dict[str, Any]]:
    return [each._asdict() for each in shown(composer, max(SIZES), LONG_BUDGET, lived=lived)]


def curve(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """What both replays cost Sightline, by where sweeps begin and where they stop."""
    rows = []
    for trigger, target in product(TRIGGERS, AIMS):
        say(f"trigger {trigger}, target {target}")
        engine = sightline_at(trigger, target)
        short, long = replayed(engine, _run(SHORT), SHORT_BUDGET), replayed(engine, _run(LONG), LONG_BUDGET)
        rows.append({"trigger": trigger, "target": target, "short": short._asdict(), "long": long._asdict()})
    return rows


# ------------------------------------------------------------------ tables


def rivals_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Tokens, times, costs."""
    headings = [
        "composer", "version", f"tokens at {SHORT_BUDGET // 1000}k", "compose ms, first call: 100 / 1k / 10k",
        "next calls", f"cost, {SHORT} messages", f"cost, {LONG:,} messages", "over budget", "prefix broken",
        "model calls", "facts",
    ]  # fmt: skip
    title = f"One tool history: {count_messages(_run(SHORT)):,} tokens in {SHORT} messages at {SHORT_BUDGET:,}, "
    title += f"{count_messages(_run(LONG)):,} in {LONG:,} at {LONG_BUDGET:,}"
    return Lines(title, headings, [_cells(row) for row in rows], _verdict(rows))


def _cells(row: Mapping[str, Any]) -> list[str]:
    short, long, times, facts = (row.get(part) for part in PARTS)
    both = [each for each in (short, long) if each]
    return [
        row["composer"],
        row["version"],
        f"{short['last']:,}" if short else "–",
        " / ".join(f"{each['first']:.3g}" for each in times.values()) if times else "–",
        " / ".join(f"{each['next']:.3g}" for each in times.values()) if times else "–",
        f"{short['cost']:,.0f}" if short else "–",
        f"{long['cost']:,.0f}" if long else "–",
        " / ".join(f"{each['over']} of {each['requests']}" for each in both) or "–",
        " / ".join(str(each["broken"]) for each in both) or "–",
        " / ".join(str(each["model_calls"]) for each in both) or "–",
        ", imported ".join(map(_found, filter(None, (facts, row.get("imported"))))) or "–",
    ]


def _found(facts: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(each['found'] for each in facts)} of {len(facts)}"


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which of our targets are met."""
    ours = next((row for row in rows if row["composer"] == "sightline"), None)
    if ours is None:
        return ""
    return "Targets of Sightline: " + "; ".join(f"{what} {'met' if met else 'MISSED'}" for what, met in _targets(ours))


def _targets(ours: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    short, long, times, facts = (ours.get(part) for part in PARTS)
    if short:
        yield f"cost {short['cost']:,.0f} ≤ {MOST_SHORT:,}", short["cost"] <= MOST_SHORT
    if long:
        yield f"cost {long['cost']:,.0f} ≤ {MOST_LONG:,}", long["cost"] <= MOST_LONG
    for each in filter(None, (short, long)):
        yield f"{each['over']} requests over the budget", not each["over"]
        yield f"{each['model_calls']} model calls", not each["model_calls"]
    for size, each in (times or {}).items():
        most = MOST_MS[int(size)]  # JSON knows only texts as keys
        written = each["next"] + each["writing"]
        yield f"{each['next']:.2f} ms ≤ {most:g} ms at {int(size):,} messages", each["next"] <= most
        yield f"{written:.2f} ms with its written form", written <= most
    for how, some in (("", facts), (" after an import", ours.get("imported"))):
        if some:
            yield f"{_found(some)} facts{how}", all(each["found"] for each in some)


def facts_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Which question brought what."""
    columns = {row["composer"]: row["facts"] for row in rows if row.get("facts")}
    columns |= {f"{row['composer']}, imported": row["imported"] for row in rows if row.get("imported")}
    cells = []
    for at, fact in enumerate(FACTS):
        cells.append([fact.question, *("yes" if column[at]["found"] else "no" for column in columns.values())])
    title = f"Facts shown within {LONG_BUDGET:,} tokens at {max(SIZES):,} messages"
    note = "Sightline composed before each model call of the run; all others, and Sightline imported, got it at once."
    return Lines(title, ["question", *columns], cells, note)


def curve_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Costs by trigger and target."""
    columns = ["cost, {}", "prefix broken", "tokens a call"]
    headings = [
        "trigger / target",
        *(each.format(name) for name in ("short", "long") for each in columns),
        "over budget",
    ]
    cells = []
    for each in rows:
        short, long = each["short"], each["long"]
        figures = [f"{each['trigger']:g} / {each['target']:g}"]
        for run in (short, long):
            figures += [f"{run['cost']:,.0f}", str(run["broken"]), f"{run['mean']:,.0f}"]
        cells.append([*figures, str(short["over"] + long["over"])])
    note = f"Wanted: at most {MOST_SHORT:,} and {MOST_LONG:,}."
    return Lines("What the replays cost Sightline, by its budget's trigger and target", headings, cells, note)


# ------------------------------------------------------------------ command


def main() -> None:
    """Measure, print, write."""
    arguments = _arguments()
    console, progress = Console(width=None if sys.stdout.isatty() else 220), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(f"[dim]{text} …[/]")

    if arguments.curve:
        rows = curve(say)
        tables = [curve_table(rows)]
    else:
        rows = _read(arguments.rows) if arguments.rows else list(_rows(arguments, say))
        tables = [rivals_table(rows), facts_table(rows)]
    for table in tables:
        show(table, console)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if arguments.md:
        arguments.md.write_text("\n".join(map(markdown, tables)), encoding="utf-8")


def _rows(arguments: argparse.Namespace, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for name, composer in OURS.items():
        if not arguments.only or name in arguments.only:
            yield row(name, composer, "", arguments.part, say)
    wanted = [name for name in peers.NAMES if not arguments.only or name in arguments.only]
    for name, version in peers.available(wanted).items():
        if isinstance(version, peers.WhyNot):
            say(f"{name} is left out: {version}")
            yield {"composer": name, "version": "left out", "failed": str(version)}
        else:
            yield row(name, peers.composer(name), version, arguments.part, say)


def _read(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Rows of earlier runs, one for each composer, in our order: later parts in the place of earlier ones."""
    rows: dict[str, dict[str, Any]] = {}
    for each in (row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))):
        rows[each["composer"]] = {**rows.get(each["composer"], {}), **each}
    order = [*OURS, *peers.NAMES]
    return sorted(rows.values(), key=lambda row: order.index(row["composer"]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.rivals", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", metavar="NAME", help="full, sliding, sightline, and peers by name")
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--curve", action="store_true", help="only what trigger and target cost Sightline")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all rows there, as JSON")
    parser.add_argument("--rows", nargs="*", type=Path, metavar="FILE", help="show rows measured before")
    parser.add_argument("--md", type=Path, metavar="FILE", help="write the tables there, as Markdown")
    return parser.parse_args()


if __name__ == "__main__":
    main()
