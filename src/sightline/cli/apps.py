"""`sightline apps`: the list of apps, and one of them in the terminal."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from sightline.apps import registry
from sightline.apps.actions import actions_of
from sightline.cli.app_shell import FORMS, AppShell, Reply, View, load_app, open_session, open_window
from sightline.cli.choices import complete_apps
from sightline.cli.options import DEBUG, Place, place, with_json
from sightline.cli.render import align, console, error_console, first_words, print_json, print_text, printable
from sightline.errors import SightlineError
from sightline.values.foreign_code import offers
from sightline.values.recall_tools import LEVELS


@click.group(invoke_without_command=True, short_help="List the apps, or use one in the terminal.")
@with_json
@click.pass_context
def apps(ctx: click.Context, as_json: bool) -> None:
    """List the apps that a model can open as windows, with the actions of each. Installed packages may add apps.

    \b
    Examples:
      sightline apps
      sightline apps --json | jq '.apps[].name'
      sightline apps run todo
    """
    if ctx.invoked_subcommand is not None:
        return
    here = place()
    if as_json:
        print_json({"apps": [_describe(here, name) for name in registry.names()]})
    else:
        print_apps(here, registry.names())
        console().print(here.words("try app"), style="dim", soft_wrap=True)


def _describe(here: Place, name: str) -> dict[str, Any]:
    """Describe an app. One that cannot be loaded is listed with the reason, and does not hide the others."""
    places, locale = {offer.value for offer in offers(registry.GROUP) if offer.name == name}, here.words.language
    facts = {"name": name, "about": "", "from": "sightline" if name in registry.SHIPPED else ", ".join(sorted(places))}
    try:
        kind = load_app(name)
        actions = [
            {"id": action.id, "params": action.params, "label": action.label_in(locale), "schema": action.schema}
            for action in actions_of(kind).values()
        ]
        return facts | {"about": kind.describe(locale), "error": "", "actions": actions}
    except SightlineError as error:
        return facts | {"error": str(error), "actions": []}


def print_apps(here: Place, names: Sequence[str]) -> None:
    """Print these apps, each with its actions."""
    out, words, descriptions = console(), here.words, [_describe(here, name) for name in names]
    indent = max(map(len, names))
    titles = (words("action"), words("about"), words("parameters"))
    for app in descriptions:
        about, style = first_words(app["error"] or app["about"]), "red" if app["error"] else ""
        print_text(out, about, style, lead=(app["name"].ljust(indent) + "  ", "bold default"))
        rows = [(action["id"], first_words(action["label"]), action["params"]) for action in app["actions"]]
        for number, line in enumerate(align([titles, *rows], indent + 2) if rows else ()):
            print_text(out, line, "" if number else "dim")


# ---------------------------------------------------------------------- run


@apps.command(short_help="Use an app in the terminal as a model does.")
@click.argument("name", shell_complete=complete_apps)
@click.argument("target", default="")
@click.option(
    "--do", "lines", multiple=True, metavar="LINE", help="Run this line instead of a prompt, then show the window."
)
@click.option("--level", type=click.Choice(LEVELS), help="The level of detail.  [default: the app's own]")
@click.option("--as", "form", type=click.Choice(FORMS), default=FORMS[0], show_default=True, help="The format.")
@with_json
def run(name: str, target: str, lines: tuple[str, ...], level: str | None, form: str, as_json: bool) -> None:
    """Open an app and use it as a model would: the terminal shows exactly what a model sees.

    At the prompt, type an action and its parameters: `add buy milk`, `add text="buy milk"`, `toggle 1`; or a button of
    the window: `toggle-1`, `[button:toggle-1]`. Words fill the parameters in order, and the last parameter takes all
    remaining words. `level gist` and `as markdown` change how the window is shown, `window ID` goes to another window,
    `help` lists the rest. Nothing is stored, except what the app itself writes in the project. TARGET is what the app
    opens, such as a file for the editor.

    Lines may also come from a pipe, or from --do, which can be repeated; then the first line that fails ends the run.
    In both cases the exit code is 1 if a line failed.

    \b
    Examples:
      sightline apps run editor README.md --level summary --as markdown
      sightline apps run ./kanban.py
      sightline apps run todo --do 'add buy milk' --do 'toggle 1' --json
    """
    here = place()
    with quiet(), open_session(name, here.project, here.words.language, form) as session:
        shell = AppShell(session, open_window(session, name, target, level), form, here.words)
        failed = _run_lines(shell, lines, as_json) if lines or as_json else _run_prompt(shell)
    if failed:
        click.get_current_context().exit(1)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide what this and other libraries log, except with --debug, because the outcome of a line says what went wrong.

    Otherwise Python would write log records to the terminal as they are, with the words of servers and files in them.
    """
    debug = click.get_current_context().meta.get(DEBUG)
    root, handler = logging.getLogger(), _PrintableHandler(logging.WARNING) if debug else logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _PrintableHandler(logging.Handler):
    """Prints log records on standard error, without characters that a terminal would act on."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(printable(self.format(record)), err=True)


def _run_lines(shell: AppShell, lines: Sequence[str], as_json: bool) -> bool:
    """Run these lines, up to the first that fails. Return whether one failed. Only the last view is printed."""
    done: list[dict[str, Any]] = []
    failed = False
    for line in lines:
        reply = shell.run(line)
        facts = msgspec.structs.asdict(reply.outcome)
        done.append({"do": line, **msgspec.to_builtins(facts, enc_hook=repr)})  # an app's data may be anything
        if not as_json:
            _print_reply(error_console(), shell, reply)
        if failed := not reply.outcome.success:
            break
    view = shell.view()
    if as_json:
        last_view = view or View("", "", "", "", 0, None)
        print_json({
            "window": last_view.window, "outcomes": done, "context": last_view.context, "text": last_view.text,
            "tokens": last_view.tokens,
        })  # fmt: skip
    elif view is not None:
        _print_view(error_console(), shell, view)
    return failed


def _run_prompt(shell: AppShell) -> bool:
    """Run the lines that a person types, or that come from a pipe. Return whether a line from a pipe failed."""
    out, before, failed = console(), shell.view(), False
    typed = sys.stdin.isatty()
    if before is not None:
        _print_view(out, shell, before)
    if typed:
        out.print(shell.words("try help"), style="dim", soft_wrap=True)
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # bytes that are no text become U+FFFD
    for line in _typed_lines(shell) if typed else _piped_lines(shell, out):
        reply = shell.run(line)
        _print_reply(out, shell, reply)
        failed = failed or not reply.outcome.success
        if shell.over:
            break
        if (reply.acted or reply.moved) and (view := shell.view()) is not None:
            same = not reply.moved and before is not None and view.text == before.text
            _print_view(out, shell, view, same=same)
            before = view
    return failed and not typed


def _print_reply(out: Console, shell: AppShell, reply: Reply) -> None:
    outcome = reply.outcome
    message = printable(outcome.message)
    if not outcome.success:
        out.print(Text(shell.words("has failed", why=message), style="red"), soft_wrap=True)
    elif message:
        out.print(Text(message, style="green" if reply.acted else ""), soft_wrap=True)
    for way in outcome.ways:
        out.print(Text(f"  → {printable(way)}", style="red" if not outcome.success else ""), soft_wrap=True)
    if reply.note:
        out.print(Text(reply.note, style="yellow"), soft_wrap=True)


def _print_view(out: Console, shell: AppShell, view: View, *, same: bool = False) -> None:
    """Print the text as it is, then a line with its size; only that line if the text is the `same` as above."""
    if not same:
        click.echo(printable(view.text) if sys.stdout.isatty() else view.text)
    key, level = "seen again" if same else "seen", shell.words("level " + view.level)
    text = shell.words(key, id=view.window, level=level, form=view.form, tokens=view.tokens)
    out.print(Text(text, style="dim"), soft_wrap=True)


# ---------------------------------------------------------------------- where lines come from


def _piped_lines(shell: AppShell, out: Console) -> Iterator[str]:
    """Yield the lines of standard input, each shown as if it had been typed."""
    for line in sys.stdin:
        out.print(Text(f"{shell.window}> {printable(line.rstrip())}", style="dim"), soft_wrap=True)
        yield line.rstrip("\r\n")


def _typed_lines(shell: AppShell) -> Iterator[str]:
    """Yield what a person types, until Ctrl-D. Ctrl-C clears the line."""
    with _completion(shell):
        while True:
            try:
                yield input(f"{shell.window}> ")
            except EOFError:
                click.echo()
                return
            except KeyboardInterrupt:
                click.echo()


@contextmanager
def _completion(shell: AppShell) -> Iterator[None]:
    """Let the tab key complete words and lines be edited, if Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(word: str, number: int) -> str | None:
        completions = shell.completions(readline.get_line_buffer()[: readline.get_begidx()], word)
        return completions[number] if number < len(completions) else None

    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)
