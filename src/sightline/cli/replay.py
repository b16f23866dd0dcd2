"""`sightline replay`: a recorded conversation, composed call by call while one watches."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, islice
from typing import Any, NamedTuple

import click
from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from sightline import samples
from sightline.cli.options import Place, budget, file_bytes, place, usual_output, with_json
from sightline.cli.render import Column, Rows, bar, console, first_words, print_json, printable
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStore
from sightline.plan.budget import Budget
from sightline.replay.formats import FORMATS, Recording, read_recording, recorded
from sightline.replay.replay import Changes, NewInput, Step, Totals, call_count
from sightline.replay.replay import replay as replayed
from sightline.session.session import Session
from sightline.values.items import Role
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings

FIRST_SAMPLE = "login_bug"
# Windows in which each sample no longer fits, so that there is something to see; and room for the answer.
_SAMPLE_WINDOWS = {
    "login_bug": 8_000, "long_chat": 5_000, "travel_zh": 5_000, "ops_incident": 6_000, "data_report": 5_000,
}  # fmt: skip
_SAMPLE_OUTPUT = 1_000
_WINDOW, _OUTPUT = 128_000, 8_000
_STRATEGIES = ("focus", "sliding")  # the others need a model or a schema to show what they are
_SAMPLE_DELAY = 0.15  # seconds per call: slow enough to follow, done within ten seconds
_SLOW = 1.0
_BAR = 10  # columns


class Asked(NamedTuple):
    """What the command line says."""

    file: str | None
    sample: str | None
    list_samples: bool
    window: int | None
    output: int | None
    profile: str
    strategy: str
    format: str
    keep: bool
    until: int | None
    slow: bool
    delay: float | None


class Watched(NamedTuple):
    """What is replayed, and within what."""

    name: str
    recording: Recording
    budget: Budget
    sample: samples.Sample | None = None


@click.command(short_help="Compose a recorded conversation again, call by call.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--sample", is_flag=False, flag_value=FIRST_SAMPLE, metavar="[NAME]", help="A sample shipped with Sightline."
)
@click.option("--list-samples", is_flag=True, help="Name the samples and stop.")
@click.option("--window", type=int, help=f"Tokens the model takes.  [default: {_WINDOW}; less for samples]")
@click.option(
    "--output",
    type=int,
    help=f"Tokens of them kept for its answer.  [default: {_OUTPUT}; samples {_SAMPLE_OUTPUT}; at most a quarter]",
)
@click.option("--profile", type=click.Choice(list(PROFILES)), default="openai", show_default=True, help="Whose prices.")
@click.option("--strategy", type=click.Choice(_STRATEGIES), default="focus", show_default=True, help="Who decides.")
@click.option("--format", type=click.Choice(FORMATS), default="auto", show_default=True, help="Form of FILE.")
@click.option("--keep", is_flag=True, help="Store it as a session of the project.")
@click.option("--until", type=click.IntRange(min=1), metavar="N", help="Stop after call N.")
@click.option("--slow", is_flag=True, help="One call per second.")
@click.option("--delay", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait so long after each call.")
@with_json
def replay(as_json: bool, **options: Any) -> None:
    """Replay a recorded conversation and watch what each model call would have been sent.

    FILE is a JSON list of messages in OpenAI or Anthropic form, an object with "messages" and perhaps "system" and
    "tools", one message per line, or a Sightline log; - reads standard input. Before each of the model's answers the
    messages are composed that fit the window. Reused is the share of the prompt that begins like the one before, which
    providers charge a tenth for; cost is in fresh input tokens, and vs full is all the cost so far against sending the
    full history every time.

    \b
    Examples:
      sightline replay --sample
      sightline replay --sample travel_zh --window 8000 --slow
      sightline replay conversation.json --window 32000 --strategy sliding
    """
    here, asked = place(), Asked(**options)
    if asked.list_samples:
        _list_samples(here, as_json)
        return
    settings = Settings(profile=asked.profile, strategy=asked.strategy)
    watched = _watched(asked)
    session = Session.new(here.project, root=here.root, settings=settings) if asked.keep else _passing(settings)
    with session:
        steps = islice(replayed(session, watched.recording, watched.budget), asked.until)
        kept = session.id if asked.keep else None
        if as_json:
            print_json(_facts(watched, asked, list(steps), kept))
        else:
            _watch(here, watched, asked, steps, kept)


def _passing(settings: Settings) -> Session:
    """A session that nobody keeps."""
    return Session(MemoryStore("replay"), settings=settings)


def _watched(asked: Asked) -> Watched:
    if (asked.file is None) == (asked.sample is None):
        raise click.UsageError("name a FILE to replay, or --sample for one that is shipped (--list-samples)")
    if asked.sample is not None:
        found = samples.load(asked.sample)
        recording = recorded({"system": found.system, "tools": found.tools, "messages": found.messages})
        window, output = _SAMPLE_WINDOWS.get(asked.sample, _WINDOW), _SAMPLE_OUTPUT
        return Watched(asked.sample, recording, _budget(asked, window, output), found)
    assert asked.file is not None
    recording = read_recording(file_bytes(asked.file), asked.format)
    if not recording.messages:
        raise BadInput(f"{asked.file} holds no messages")
    return Watched(asked.file, recording, _budget(asked, _WINDOW, _OUTPUT))


def _budget(asked: Asked, window: int, output: int) -> Budget:
    return budget(
        window if asked.window is None else asked.window,
        usual_output(asked.window or window, output) if asked.output is None else asked.output,
    )


def _list_samples(here: Place, as_json: bool) -> None:
    found = [samples.load(name) for name in samples.names()]
    if as_json:
        print_json({"samples": [{"name": each.name, "title": each.title, "about": each.about} for each in found]})
        return
    out = console()
    rows = Rows(out, [Column(here.words("sample"), 14, style="cyan"), Column(here.words("title"))])
    for each in found:
        rows.print(each.name, each.title)


# ---------------------------------------------------------------------- for programs


def _facts(watched: Watched, asked: Asked, steps: list[Step], kept: str | None) -> dict[str, Any]:
    totals = Totals()
    for step in steps:
        totals = totals.plus(step)
    return {
        "recording": watched.name,
        "window": watched.budget.window,
        "output": watched.budget.output,
        "profile": asked.profile,
        "strategy": asked.strategy,
        "session": kept,
        "calls": [_call(step) for step in steps],
        "totals": totals._asdict() | {"breaks": dict(totals.breaks)},
    }


def _call(step: Step) -> dict[str, Any]:
    return {
        "call": step.number,
        "came": [{"role": came.role, "text": came.text} for came in step.new_inputs],
        "tokens": step.tokens,
        "limit": step.limit,
        "levels": step.levels._asdict(),
        "changes": step.changes._asdict(),
        "reused": step.reused,
        "cost": round(step.cost, 2),
        "full_tokens": step.full_tokens,
        "full_cost": round(step.full_cost, 2),
        "reason": step.reason,
        "changed": step.changed,
        "flaws": step.flaws,
    }


# ---------------------------------------------------------------------- for people


def _watch(here: Place, watched: Watched, asked: Asked, steps: Iterator[Step], kept: str | None) -> None:
    out = console()
    _introduce(out, here, watched)
    pause = _pause(asked, out)
    total = min(call_count(watched.recording), asked.until or 1 << 62)
    totals = Totals()
    rows = _rows(out, here, watched.budget.limit(margin=PROFILES[asked.profile].margin))
    rows.print_titles()
    with _progress(out, here, total) as advance:
        for step in steps:
            totals = totals.plus(step)
            _print_step(rows, here, step, totals, plain=out.options.ascii_only)
            advance()
            time.sleep(pause)
    _conclude(out, here, watched, totals, kept)


def _pause(asked: Asked, out: Console) -> float:
    """Seconds to wait after each call."""
    if asked.delay is not None:
        return asked.delay
    if asked.slow:
        return _SLOW
    return _SAMPLE_DELAY if asked.sample is not None and out.is_terminal else 0.0


def _introduce(out: Console, here: Place, watched: Watched) -> None:
    words = here.words
    title = watched.sample.title if watched.sample is not None else watched.name
    out.print(Text(printable(title), style="bold"), soft_wrap=True)
    if watched.sample is not None:
        out.print(Text(watched.sample.about, style="dim"))
        out.print(words("what is shown", window=watched.budget.window))
    out.print()


@contextmanager
def _progress(out: Console, here: Place, total: int) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task(here.words("replaying"), total=total)
        yield lambda: progress.advance(task)


def _rows(out: Console, here: Place, limit: int) -> Rows:
    words = here.words
    return Rows(out, [
        Column(words("call"), 4, right=True), Column(words("came")), Column(words("tokens"), 7, right=True),
        Column(words("of limit", limit=limit), _BAR, spare=1), Column(words("levels"), 25),
        Column(words("reused"), 6, right=True), Column(words("cost"), 7, right=True, spare=4),
        Column(words("vs full"), 7, right=True, spare=2), Column(words("sweep"), 10, spare=3),
    ])  # fmt: skip


def _print_step(rows: Rows, here: Place, step: Step, totals: Totals, *, plain: bool) -> None:
    swept = bool(step.payload.plan.reason)
    drawn = Text(bar(step.tokens / step.limit, _BAR, plain=plain), style="yellow" if swept else "green")
    ratio = totals.cost / totals.full_cost if totals.full_cost else 1.0
    rows.print(
        str(step.number),
        _came(here, step.new_inputs),
        f"{step.tokens:,}",
        drawn,
        _changed(here, step.changes),
        f"{step.reused / step.tokens:.0%}" if step.tokens else "",
        f"{step.cost:,.0f}",
        f"{ratio:.0%}",
        "; ".join([*step.flaws, here.words.sweep(step.reason)]),
        style="red" if step.flaws else "yellow" if swept else "",
    )


def _came(here: Place, came: tuple[NewInput, ...]) -> str:
    """What came since the last call: the user's words first, then tools, several of the same once."""
    said = [f"{here.words('kind user')}: {first_words(each.text, 80)}" for each in came if each.role is Role.USER]
    tools = [each.text or "?" for each in came if each.role is Role.TOOL]
    counted = [(name, len(list(same))) for name, same in groupby(tools)]
    return "  ".join(said + [printable(name) + (f" ×{count}" if count > 1 else "") for name, count in counted])


def _changed(here: Place, changes: Changes) -> str:
    named = [("fell summary", changes.summary), ("fell gist", changes.gist), ("fell out", changes.out)]
    named += [("rose", changes.raised), ("entered", changes.entered)]
    return " ".join(here.words(key, count=count) for key, count in named if count)


def _conclude(out: Console, here: Place, watched: Watched, totals: Totals, kept: str | None) -> None:
    words = here.words
    ratio = totals.cost / totals.full_cost if totals.full_cost else 1.0
    lines = [
        words("total calls", calls=totals.calls, sweeps=totals.sweeps, largest=totals.largest),
        words("total tokens", tokens=totals.tokens, reused=totals.reused / totals.tokens if totals.tokens else 0.0),
        words("total cost", cost=totals.cost, full=totals.full_cost, ratio=ratio),
    ]
    if totals.outgrown:
        lines.append(words("outgrown", call=totals.outgrown))
    breaks = ", ".join(f"{words.reason(reason)} ×{count}" for reason, count in totals.breaks) or words("no breaks")
    lines += [words("total breaks", breaks=breaks), words("total invalid", invalid=totals.invalid)]
    out.print()
    out.print(Panel(Group(*map(Text, lines)), title=words("summed up"), title_align="left", expand=False))
    if kept is not None:
        out.print(words("kept", id=kept), soft_wrap=True)
    if watched.sample is not None:
        name = "" if watched.name == FIRST_SAMPLE else " " + watched.name
        out.print(words("try next", name=name, window=watched.budget.window * 3 // 4), soft_wrap=True)
