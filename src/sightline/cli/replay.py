"""`sightline replay`: a recorded conversation, composed again call by call on the screen."""

import time
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby, islice
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from sightline import samples
from sightline.cli.choices import complete_files_and_sessions
from sightline.cli.options import (
    FormatChoice,
    Place,
    Seconds,
    place,
    profile_option,
    with_json,
)
from sightline.cli.phrases import Phrases
from sightline.cli.render import (
    Column,
    Rows,
    bar,
    console,
    first_words,
    print_json,
    print_stderr,
    print_text,
    printable,
    progress,
)
from sightline.cli.replay_source import FIRST_SAMPLE, Replay, ReplayOptions, find_price, read_source
from sightline.log.stores.memory import MemoryStore
from sightline.plan.economies import DEFAULT, ECONOMIES, described
from sightline.plan.strategies import STRATEGIES, is_known, names
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.project_choice import Choice, chosen
from sightline.providers.prices import Price, price_usage
from sightline.providers.windows import USUAL_OUTPUT
from sightline.session.session import Session
from sightline.values.items import Role, Usage
from sightline.values.settings import Settings, read_strategy
from sightline.view.replay.formats import AUTO
from sightline.view.replay.replay import NewInput, Paid, Step, Totals, call_count
from sightline.view.replay.replay import replay as replayed

_BY_MODEL = {"summary", "entities"}  # strategies that show what a model has written, which a replay does not call
_SAMPLE_DELAY = 0.15  # seconds per call: slow enough to follow, done within ten seconds
_SLOW = 1.0
_BAR = 10  # columns


class _StrategyChoice(click.Choice[str]):
    """A strategy, or a pipe of several, with commas between them. The help lists ours; all that are known are taken."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        stages = read_strategy(value)
        if unknown := [stage for stage in _stages(stages) if not is_known(stage)]:
            self.fail(f"{unknown[0]!r} is not one of {', '.join(names())}", param, ctx)
        return stages


def _stages(name: str | Sequence[str]) -> Sequence[str]:
    return (name,) if isinstance(name, str) else name


@click.command(short_help="Show the prompt of each call of a recorded conversation.")
@click.argument("file", required=False, metavar="[FILE|SESSION]", shell_complete=complete_files_and_sessions)
@click.option(
    "--sample",
    is_flag=False,
    flag_value=FIRST_SAMPLE,
    metavar="[NAME]",
    help="Replay a sample that comes with Sightline.",
)
@click.option("--list-samples", is_flag=True, help="List the samples and stop.")
@click.option(
    "--window",
    "--budget",
    type=int,
    help="The model's context window, in tokens.  [default: that of the recorded model, as `report` has it; "
    "less for samples]",
)
@click.option(
    "--output",
    type=int,
    help=f"Tokens of --window for the answer.  [default: {USUAL_OUTPUT}; samples {samples.OUTPUT}; at most a quarter]",
)
@profile_option
@click.option(
    "--strategy",
    type=_StrategyChoice([*STRATEGIES]),
    help="The strategy that decides which items are shown, or several, as in rounds,sliding.  "
    "[default: the project's, else focus]",
)
@click.option(
    "--economy",
    type=click.Choice(ECONOMIES),
    help=f"How much the strategy focus shows: {described()}.  [default: what the project has chosen, else {DEFAULT}]",
)
@click.option("--format", type=FormatChoice(AUTO), default=AUTO, show_default=True, help="Format of messages.")
@click.option("--line", type=click.IntRange(min=1), metavar="N", help="Conversation N of a file or folder.")
@click.option(
    "--price",
    metavar="IN/OUT/CACHED",
    help="Prices of a million tokens, or a model's name.  [default: those of the recorded model, if known]",
)
@click.option("--keep", is_flag=True, help="Store the result as a session of the project.")
@click.option("--until", type=click.IntRange(min=1), metavar="N", help="Stop after call N.")
@click.option("--slow", is_flag=True, help="One call per second.")
@click.option("--delay", type=Seconds(min=0), metavar="SECONDS", help="Wait this long after each call.")
@with_json
def replay(list_samples: bool, keep: bool, as_json: bool, **arguments: Any) -> None:
    """Replay a recorded conversation and show the prompt that Sightline would have sent at each call.

    SESSION is a session of the project. FILE is whatever `sightline import` takes: a log of Claude Code or Codex,
    messages in the form of OpenAI, Anthropic or LangChain (a JSON list, an object with "messages" and perhaps "system"
    and "tools", one message per line, or one conversation per line), or a Sightline log, also as .gz; or a folder of
    them. - reads standard input. Before each answer of the model, Sightline composes the messages that fit the context
    window. In the table, "cached" is the share of the prompt that is the same as the start of the prompt before:
    providers charge about a tenth for it. "cost" is counted in uncached input tokens: with most profiles a cached token
    counts 0.1, and one that is written to the cache 1.25. If an answer used text that the prompt did not show, the cost
    includes reading it again. "vs full" compares the cost so far with sending the full history every time. Prices also
    give the cost in money, with the answers.

    \b
    Examples:
      sightline replay --sample
      sightline replay V1StGXR8 --window 32000 --strategy sliding
      sightline replay ~/.claude/projects/-home-me-shop --line 1
    """
    here, options = place(), ReplayOptions(**arguments)
    if list_samples:
        _list_samples(here, as_json)
        return
    choice = _choice(here, options)
    source = read_source(here, options)._replace(choice=choice)
    source = source._replace(profile=options.profile or source.recording.profile or Settings().profile)
    source = source._replace(price=find_price(options, source))
    settings = Settings(profile=source.profile, strategy=choice.name, config=choice.config)
    with (
        Session.new(here.project, settings=settings, **here.where)
        if keep
        else Session(MemoryStore("replay"), settings=settings)
    ) as session:
        steps = islice(replayed(session, source.recording, source.budget), options.until)
        kept = session.id if keep else None
        if as_json:
            print_json(_facts(source, list(steps), kept))
        else:
            _show(here.words, source, options, steps, kept)


def _choice(here: Place, options: ReplayOptions) -> Choice:
    """Return the strategy to use: the project's and its configuration, unless the command line names another one.

    One in a file that is not loaded is replaced by `focus`, and standard error says so. An economy means `focus` too,
    which is the only one that has any. Raises BadInput, and UsageError for the economy of another strategy.
    """
    choice = chosen(here.project)
    if options.economy is not None:
        if options.strategy not in (None, Focus.name):
            raise click.UsageError(here.words("no economy", strategy=options.strategy))
        config = choice.config if choice.name == Focus.name else {}
        return Choice(Focus.name, {**config, "economy": options.economy})
    is_replayed = all(map(is_known, _stages(choice.name)))
    if options.strategy is None and not is_replayed:
        print_stderr(here.words("strategy not replayed", strategy=choice.title, file=choice.file), "yellow")
    wanted = options.strategy or (choice.name if is_replayed else Focus.name)
    return choice if choice.name == wanted else Choice(wanted, {})


def _money(paid: Paid, price: Price) -> float:
    return price_usage(Usage(paid.cached + paid.written, paid.output, paid.cached, paid.written), price)


def _list_samples(here: Place, as_json: bool) -> None:
    loaded = [samples.load(name) for name in samples.names()]
    if as_json:
        print_json(
            {"samples": [{"name": sample.name, "title": sample.title, "about": sample.about} for sample in loaded]}
        )
        return
    rows = Rows(console(), [Column(here.words("sample"), 14, style="cyan"), Column(here.words("title"))])
    for sample in loaded:
        rows.print(sample.name, sample.title)


# ---------------------------------------------------------------------- for programs


def _facts(source: Replay, steps: list[Step], kept: str | None) -> dict[str, Any]:
    totals = reduce(Totals.plus, steps, Totals())
    return {
        "recording": source.name,
        "window": source.budget.window,
        "output": source.budget.output,
        "profile": source.profile,
        "strategy": source.choice.title,
        "config": source.choice.config,
        "chosen_in": source.choice.file,
        "session": kept,
        "calls": [
            {
                "call": step.number,
                "came": [{"role": came.role, "text": came.text} for came in step.new_inputs],
                "tokens": step.tokens,
                "limit": step.limit,
                "levels": step.levels._asdict(),
                "changes": step.changes._asdict(),
                "reused": step.reused,
                "cost": round(step.cost, 2),
                "reread": step.reread._asdict() | {"cost": round(step.reread_cost, 2)},
                "full_tokens": step.full_tokens,
                "full_cost": round(step.full_cost, 2),
                "reason": step.reason,
                "changed": step.changed,
                "flaws": step.flaws,
            }
            for step in steps
        ],
        "totals": totals._asdict()
        | {"real_cost": totals.real_cost, "breaks": dict(totals.breaks)}
        | {"paid": totals.paid._asdict(), "full_paid": totals.full_paid._asdict()},
        "money": None if (price := source.price) is None else {
            "price": price, "sent": _money(totals.paid, price), "full": _money(totals.full_paid, price),
        },
    }  # fmt: skip


# ---------------------------------------------------------------------- for people


def _show(words: Phrases, source: Replay, options: ReplayOptions, steps: Iterator[Step], kept: str | None) -> None:
    out, totals = console(), Totals()
    _print_introduction(out, words, source)
    for remark in _remarks(words, source):
        print_text(out, printable(remark), "dim")
    usual_pause = _SAMPLE_DELAY if options.sample is not None and out.is_terminal else 0.0
    pause = options.delay if options.delay is not None else _SLOW if options.slow else usual_pause
    rows = _rows(out, words, source.limit)
    rows.print_titles()
    total = call_count(source.recording)
    with progress(out, words("replaying"), min(total, options.until or total), width=None) as advance:
        for step in steps:
            totals = totals.plus(step)
            _print_step(rows, words, step, totals, plain=out.options.ascii_only)
            advance()
            time.sleep(pause)
    _print_totals(out, words, source, totals, kept)


def _print_introduction(out: Console, words: Phrases, source: Replay) -> None:
    title = source.sample.title if source.sample is not None else source.name
    out.print(Text(printable(title), style="bold"), soft_wrap=True)
    if source.sample is not None:
        out.print(Text(source.sample.about, style="dim"))
        out.print(words("what is shown", window=source.budget.window))
    out.print()


def _remarks(words: Phrases, source: Replay) -> Iterator[str]:
    """Yield who chose the strategy, and why the budget is less than what the context window has beside the answer."""
    if source.choice.file:
        config = ", ".join(f"{key} = {value}" for key, value in source.choice.config.items())
        named = f"{source.choice.title} ({config})" if config else source.choice.title
        yield words("project strategy", strategy=named, file=source.choice.file)
    if by_model := _BY_MODEL.intersection(_stages(source.choice.name)):
        yield words("replay without model", strategy=", ".join(sorted(by_model)))
    if source.margin:
        facts = {"window": source.budget.window, "output": source.budget.output, "margin": source.margin}
        yield words("budget margin", allowed=source.allowed, **facts)
    if source.limit < source.allowed:
        yield words("budget of economy", limit=source.limit, allowed=source.allowed, economy=source.economy)


def _rows(out: Console, words: Phrases, limit: int) -> Rows:
    budget = words("of limit", limit=limit)
    return Rows(out, [
        Column(words("call"), 4, right=True), Column(words("came")), Column(words("tokens"), 7, right=True),
        Column(budget, max(_BAR, cell_len(budget)), spare=1), Column(words("levels"), 27),
        Column(words("reused"), 6, right=True), Column(words("cost"), 7, right=True, spare=4),
        Column(words("vs full"), 7, right=True, spare=3), Column(words("sweep"), 13, spare=2),
    ])  # fmt: skip


def _print_step(rows: Rows, words: Phrases, step: Step, totals: Totals, *, plain: bool) -> None:
    swept = bool(step.payload.plan.reason)
    drawn = Text(bar(step.tokens / step.limit, _BAR, plain=plain), style="yellow" if swept else "green")
    ratio = totals.real_cost / totals.full_cost if totals.full_cost else 1.0
    rows.print(
        str(step.number),
        _new_text(words, step.new_inputs),
        f"{step.tokens:,}",
        drawn,
        _changes_text(words, step),
        f"{step.reused / step.tokens:.0%}" if step.tokens else "",
        f"{step.cost + step.reread_cost:,.0f}",
        f"{ratio:.0%}",
        "; ".join([*step.flaws, words.reason(step.reason)]),
        style="red" if step.flaws else "yellow" if swept else "",
    )


def _new_text(words: Phrases, came: tuple[NewInput, ...]) -> str:
    """Describe what is new since the last call: the user's words, then the tools, each with how often."""
    texts = [f"{words('kind user')}: {first_words(entry.text, 80)}" for entry in came if entry.role is Role.USER]
    tools = [entry.text or "?" for entry in came if entry.role is Role.TOOL]
    counted = [(name, len(list(same))) for name, same in groupby(tools)]
    return "  ".join(texts + [printable(name) + (f" ×{count}" if count > 1 else "") for name, count in counted])


def _changes_text(words: Phrases, step: Step) -> str:
    changes = step.changes
    named = [("reread", step.reread.items)]
    named += [("fell summary", changes.summary), ("fell gist", changes.gist), ("fell out", changes.out)]
    named += [("rose", changes.raised), ("entered" if changes.entered > 1 else "entered one", changes.entered)]
    return " ".join(words(key, count=count) for key, count in named if count)


def _why_more(words: Phrases, source: Replay, totals: Totals) -> str:
    """Say why the full history would have cost less."""
    if not totals.sweeps:
        return words("tools cost more")
    if source.limit < source.allowed:
        return words("economy costs more", limit=source.limit, economy=source.economy)
    return words("costs more")


def _print_totals(out: Console, words: Phrases, source: Replay, totals: Totals, kept: str | None) -> None:
    ratio = totals.real_cost / totals.full_cost if totals.full_cost else 1.0
    reread = "total reread" if totals.rereads else "no reread"
    lines = [
        words("total calls", calls=totals.calls, sweeps=totals.sweeps, largest=totals.largest),
        words("total tokens", tokens=totals.tokens, reused=totals.reused / totals.tokens if totals.tokens else 0.0),
        words("total cost", cost=totals.cost),
        words(reread, count=totals.rereads, tokens=totals.reread_tokens, cost=totals.reread_cost),
        words("total real", cost=totals.real_cost, full=totals.full_cost, ratio=ratio),
        *([_why_more(words, source, totals)] if ratio > 1 else []),
    ]
    if (price := source.price) is not None:
        sent, full = _money(totals.paid, price), _money(totals.full_paid, price)
        prices = f"{price.input:g}/{price.output:g}/{price.cached:g}"
        lines.append(words("total money", sent=sent, full=full, ratio=sent / full if full else 1.0, price=prices))
    elif source.recording.model:
        lines.append(words("no price", model=printable(source.recording.model)))
    if totals.outgrown:
        lines.append(words("outgrown", call=totals.outgrown))
    breaks = ", ".join(f"{words.reason(reason)} ×{count}" for reason, count in totals.breaks) or words("no breaks")
    lines += [words("total breaks", breaks=breaks), words("total invalid", invalid=totals.invalid)]
    out.print()
    out.print(Panel(Group(*map(Text, lines)), title=words("summed up"), title_align="left", expand=False))
    if kept is not None:
        out.print(words("kept", id=kept), soft_wrap=True)
    if source.sample is None:
        print_text(out, words("unlike report"), "dim")
    else:
        name = "" if source.name == FIRST_SAMPLE else " " + source.name
        out.print(words("try next", name=name, window=source.budget.window * 3 // 4), soft_wrap=True)
