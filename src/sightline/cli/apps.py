"""`sightline apps`: what apps there are, and one of them in the terminal."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
import msgspec
from rich.console import Console
from rich.text import Text

from sightline.apps import registry
from sightline.apps.actions import Action, actions_of
from sightline.cli.app_shell import FORMS, LEVELS, Answer, Desk, View, aligned, loaded, open_window, session_with
from sightline.cli.options import DEBUG, Place, place, with_json
from sightline.cli.render import console, error_console, first_words, print_json, printable
from sightline.cli.wrap import prose
from sightline.errors import SightlineError


@click.group(invoke_without_command=True, short_help="List the apps, or use one in the terminal.")
@with_json
@click.pass_context
def apps(ctx: click.Context, as_json: bool) -> None:
    """The apps that a model sees as windows, with what can be done in each. Installed packages may bring more.

    \b
    Examples:
      sightline apps
      sightline apps --json | jq '.apps[].name'
      sightline apps run todo
    """
    if ctx.invoked_subcommand is None:
        _list(place(), as_json)


class _Listed(NamedTuple):
    """An app as the list shows it; `error` says why it cannot be had."""

    name: str
    about: str
    source: str
    actions: tuple[Action, ...]
    error: str


def _list(here: Place, as_json: bool) -> None:
    if as_json:
        print_json({"apps": [_facts(here, _look(here, name)) for name in registry.names()]})
    else:
        print_apps(here, registry.names())
        console().print(here.words("try app"), style="dim", soft_wrap=True)


def _look(here: Place, name: str) -> _Listed:
    """One that cannot be loaded is listed with the reason, and does not hide the others."""
    offers = sorted({each.value for each in registry.installed() if each.name == name})
    source = "sightline" if name in registry.SHIPPED else ", ".join(offers)
    try:
        kind = loaded(name)
        return _Listed(name, kind.describe(here.words.language), source, tuple(actions_of(kind).values()), "")
    except SightlineError as error:
        return _Listed(name, "", source, (), str(error))


def _facts(here: Place, app: _Listed) -> dict[str, Any]:
    actions = [
        {"id": each.id, "params": each.params, "label": each.label_in(here.words.language), "schema": each.schema}
        for each in app.actions
    ]
    return {"name": app.name, "about": app.about, "from": app.source, "error": app.error, "actions": actions}


def print_apps(here: Place, names: Sequence[str]) -> None:
    """These apps, each with what can be done in it."""
    out, words, found = console(), here.words, [_look(here, name) for name in names]
    indent = max(len(app.name) for app in found)
    titles = (words("action"), words("about"), words("parameters"))
    for app in found:
        about = first_words(app.error or app.about)
        prose(out, about, "red" if app.error else "", lead=(app.name.ljust(indent) + "  ", "bold default"))
        rows = [(each.id, first_words(each.label_in(words.language)), each.params) for each in app.actions]
        for number, line in enumerate(aligned([titles, *rows], indent + 2) if rows else ()):
            prose(out, line, "" if number else "dim")


# ---------------------------------------------------------------------- run


@apps.command(short_help="Use an app in the terminal, seeing what a model sees.")
@click.argument("name")
@click.argument("target", default="")
@click.option("--do", "lines", multiple=True, metavar="LINE", help="Do this, ask nothing, show what is seen then.")
@click.option("--level", type=click.Choice(LEVELS), help="The level it is shown at; else its own.")
@click.option("--as", "form", type=click.Choice(FORMS), default=FORMS[0], show_default=True, help="How it is written.")
@with_json
def run(name: str, target: str, lines: tuple[str, ...], level: str | None, form: str, as_json: bool) -> None:
    """Open an app, for TARGET if it takes one, and use it as a model would: what is shown is exactly what a model sees.

    At the prompt, type an action and its parameters: `add buy milk`, `add text="buy milk"`, `toggle 1`; or press what
    a thing offers: `toggle-1`, `[button:toggle-1]`. Words fill the parameters in order, and the last parameter takes
    the rest. `level gist` and `as markdown` show it otherwise, `window ID` goes to another window, `help` says more.
    Nothing is kept, except what the app itself does in the project.

    Lines may come from a pipe. With --do, which may be given several times, the first line that fails is the last one
    done. Either way the exit code is 1 if something failed.

    \b
    Examples:
      sightline apps run editor README.md --level summary --as markdown
      sightline apps run ./kanban.py
      sightline apps run todo --do 'add buy milk' --do 'toggle 1' --json
    """
    here = place()
    with quiet(), session_with(name, here.project, here.words.language, form) as session:
        desk = Desk(session, open_window(session, name, target, level), form, here.words)
        failed = _scripted(desk, lines, as_json) if lines or as_json else _used(desk)
    if failed:
        click.get_current_context().exit(1)


@contextmanager
def quiet() -> Iterator[None]:
    """What went wrong is said by the outcome; what this and other libraries log of it, only with --debug.

    Left alone, Python would write that to the terminal, whatever is in it: servers and files put their words there.
    """
    debug = click.get_current_context().meta.get(DEBUG)
    root, handler = logging.getLogger(), _Printed(logging.WARNING) if debug else logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _Printed(logging.Handler):
    """Says on standard error what is logged, without what a terminal would act on."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(printable(self.format(record)), err=True)


def _scripted(desk: Desk, lines: Sequence[str], as_json: bool) -> bool:
    """Do these lines, up to one that fails. Whether one did. Standard output gets what is seen then, nothing else."""
    done: list[dict[str, Any]] = []
    failed = False
    for line in lines:
        answer = desk.do(line)
        facts = msgspec.structs.asdict(answer.outcome)
        done.append({"do": line, **msgspec.to_builtins(facts, enc_hook=repr)})  # an app's data may be anything
        if not as_json:
            _print_answer(error_console(), desk, answer)
        if failed := not answer.outcome.success:
            break
    view = desk.view()
    if as_json:
        seen = view or View("", "", "", "", 0, None)
        print_json({
            "window": seen.window, "outcomes": done, "context": seen.context, "text": seen.text, "tokens": seen.tokens,
        })  # fmt: skip
    elif view is not None:
        _print_view(error_console(), desk, view)
    return failed


def _used(desk: Desk) -> bool:
    """Let a person use it, or a pipe. Whether a line from a pipe failed."""
    out, seen, failed = console(), desk.view(), False
    typed = sys.stdin.isatty()
    if seen is not None:
        _print_view(out, desk, seen)
    if typed:
        out.print(desk.words("try help"), style="dim", soft_wrap=True)
    for line in _typed(desk) if typed else _piped(desk, out):
        answer = desk.do(line)
        _print_answer(out, desk, answer)
        failed = failed or not answer.outcome.success
        if desk.over:
            break
        if (answer.acted or answer.moved) and (view := desk.view()) is not None:
            _print_view(out, desk, view, same=not answer.moved and seen is not None and view.text == seen.text)
            seen = view
    return failed and not typed


def _print_answer(out: Console, desk: Desk, answer: Answer) -> None:
    outcome = answer.outcome
    said = printable(outcome.message)
    if not outcome.success:
        out.print(Text(desk.words("has failed", why=said), style="red"), soft_wrap=True)
    elif said:
        out.print(Text(said, style="green" if answer.acted else ""), soft_wrap=True)
    for way in outcome.ways:
        out.print(Text(f"  → {printable(way)}", style="red" if not outcome.success else ""), soft_wrap=True)
    if answer.note:
        out.print(Text(answer.note, style="yellow"), soft_wrap=True)


def _print_view(out: Console, desk: Desk, view: View, *, same: bool = False) -> None:
    """The text as it is, then its size in a line of our own; that line alone where the text stands above already."""
    if not same:
        click.echo(printable(view.text) if sys.stdout.isatty() else view.text)
    level = desk.words("level " + view.level)
    said = desk.words("seen again" if same else "seen", id=view.window, level=level, form=view.form, tokens=view.tokens)
    out.print(Text(said, style="dim"), soft_wrap=True)


# ---------------------------------------------------------------------- where lines come from


def _piped(desk: Desk, out: Console) -> Iterator[str]:
    """The lines of standard input, each shown as if it had been typed."""
    _forgiving()
    for line in sys.stdin:
        out.print(Text(f"{desk.window}> {printable(line.rstrip())}", style="dim"), soft_wrap=True)
        yield line.rstrip("\r\n")


def _typed(desk: Desk) -> Iterator[str]:
    """What a person types, until Ctrl-D. Ctrl-C clears the line."""
    _forgiving()
    with _completing(desk):
        while True:
            try:
                yield input(f"{desk.window}> ")
            except EOFError:
                click.echo()
                return
            except KeyboardInterrupt:
                click.echo()


def _forgiving() -> None:
    """Bytes that are no text become U+FFFD, as everywhere."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


@contextmanager
def _completing(desk: Desk) -> Iterator[None]:
    """The tab key completes and lines can be edited, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(word: str, number: int) -> str | None:
        found = desk.completions(readline.get_line_buffer()[: readline.get_begidx()], word)
        return found[number] if number < len(found) else None

    before, between = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(between)
