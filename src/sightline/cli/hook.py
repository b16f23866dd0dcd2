"""`sightline hook`: sets Claude Code up to call us at compactions and for its status line, and takes that back."""

import os
import shlex
from pathlib import Path
from typing import Any

import click

from sightline.adapters.claude_entries import program
from sightline.adapters.claude_hooks import EVENTS, FOLDER, SESSIONS, read_log, run
from sightline.adapters.claude_settings import SCOPES, Found, SettingsFile, settings_file
from sightline.cli.options import META, Place, is_language_given, place, shared_options, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import console, print_json, print_result, print_stderr, print_text, printable
from sightline.errors import BadInput

_LINES = 10  # of the log of errors that are shown

scope_option = click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default=SCOPES[0],
    show_default=True,
    help="Whose settings: yours, those of the project, or your own of the project.",
)


@click.group(short_help="Let Claude Code keep your rules, and show how full its context is.")
@shared_options(hidden=True)
def hook() -> None:
    """Have Claude Code call Sightline: before and after each compaction, and for its status line.

    Before a compaction we keep what you laid down, word for word, what you asked for and what is still to be done.
    After it the model is given that back. The status line shows how full the context window is, what was cached, the
    cost, and what was read again.

    \b
    Examples:
      sightline hook install
      sightline hook status
      sightline hook uninstall
    """


@hook.command(short_help="Add our entries to Claude Code's settings.")
@scope_option
@with_json
def install(scope: str, as_json: bool) -> None:
    """Add our entries to the settings of Claude Code. Everything else in the file stays as it is.

    \b
    user      ~/.claude/settings.json, or the one in CLAUDE_CONFIG_DIR
    project   .claude/settings.json of the project, which its other users share: the path of this program is in it
    local     .claude/settings.local.json of the project, which is yours alone

    A status line that you have stays, and is shown above ours. Installing again changes nothing, or brings the path of
    this program up to date.

    \b
    Examples:
      sightline hook install
      sightline hook install --scope local
      sightline --project ~/work/shop --lang zh hook install --scope project
    """
    here, file, words = _open(scope)
    changed = file.install(program(), _options(here))
    name = printable(str(file.path))
    sentence = words("installed" if changed else "installed before", file=name, scope=_scope(scope))
    print_result(sentence, {"file": str(file.path), "changed": changed}, as_json=as_json)
    if file.found().off and not as_json:
        print_stderr(words("hooks off", file=name), "yellow")


@hook.command(short_help="Take our entries out again.")
@scope_option
@with_json
def uninstall(scope: str, as_json: bool) -> None:
    """Take our entries out of the settings of Claude Code, and give back the status line that was there.

    If nobody has changed the file since the install, it has the same bytes as before; a file that was not there is
    deleted. Else only our entries go.

    \b
    Examples:
      sightline hook uninstall
      sightline hook uninstall --scope local
    """
    _, file, words = _open(scope)
    there = file.uninstall()
    key = "not installed" if not there else "uninstalled" if file.path.exists() else "uninstalled file"
    sentence = words(key, file=printable(str(file.path)))
    print_result(sentence, {"file": str(file.path), "changed": there}, as_json=as_json)


@hook.command(short_help="Say what is installed, and what went wrong.")
@with_json
def status(as_json: bool) -> None:
    """Say for each settings file whether our entries are in it, and show the last errors of the hooks.

    \b
    Examples:
      sightline hook status
      sightline hook status --json | jq -r '.errors[]'
    """
    here, _, words = _open(SCOPES[0])
    folder = here.home / FOLDER
    kept = sorted((folder / SESSIONS).glob("*.json"))
    errors = read_log(str(folder))[-_LINES:]
    files = [(scope, *_look(scope)) for scope in SCOPES]
    if as_json:
        facts = [
            {"scope": scope, "file": str(file.path), **_facts(installed, error)}
            for scope, file, installed, error in files
        ]
        print_json({"settings": facts, "sessions": len(kept), "folder": str(folder), "errors": errors})
        return
    out = console()
    for scope, file, installed, error in files:
        state = f"{scope}: {printable(str(file.path))}"
        print_text(
            out,
            f"{state}: {_state(words, installed)}" if installed else state,
            "bold" if installed and installed.commands else "",
        )
        if error:
            print_text(out, f"  {printable(error)}", "red")
        for line in _remarks(words, scope, file, installed) if installed else ():
            print_text(out, f"  {line}", "dim")
    print_text(out, words("sessions kept", count=len(kept), folder=printable(str(folder))))
    print_text(out, words("errors" if errors else "no errors"), "yellow" if errors else "")
    for line in errors:
        print_text(out, f"  {printable(line)}")


@hook.command("run", short_help="What Claude Code calls.")
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--before", default="", metavar="COMMAND", help="A status line to show above ours.")
@shared_options(hidden=True)
def run_(event: str, before: str) -> None:
    """Answer Claude Code, which calls this with facts as JSON on standard input. The exit code is always 0.

    \b
    Examples:
      sightline hook run status-line < facts.json
      sightline hook run status-line --before 'date +%H:%M' < facts.json
    """
    meta = click.get_current_context().meta
    options = {"--root": meta.get(META + "root", ""), "--lang": meta.get(META + "lang", ""), "--before": before}
    run(event, {name: value for name, value in options.items() if value})


def _open(scope: str) -> tuple[Place, SettingsFile, Phrases]:
    here = place()
    file = SettingsFile(settings_file(scope, here.project), here.home, own_links=scope == SCOPES[0])
    return here, file, Phrases(here.words.language, "hook")


def _scope(scope: str) -> str:
    return "" if scope == SCOPES[0] else f" --scope {scope}"


def _options(here: Place) -> str:
    """Return the options of our commands: the root that is used now, because Claude Code may be started elsewhere."""
    root = here.root or os.environ.get("SIGHTLINE_HOME")
    options = f" --root {shlex.quote(str(Path(root).absolute()))}" if root else ""
    return options + (f" --lang {here.words.language}" if is_language_given() else "")


def _look(scope: str) -> tuple[SettingsFile, Found | None, str]:
    """Return a settings file, what is in it, or why it cannot be read."""
    _, file, _ = _open(scope)
    try:
        return file, file.found(), ""
    except (BadInput, OSError) as error:
        return file, None, str(error)


def _facts(installed: Found | None, error: str) -> dict[str, Any]:
    if installed is None:
        return {"error": error}
    return {"commands": installed.commands, "hooks_off": installed.off, "unchanged": installed.unchanged}


def _state(words: Phrases, installed: Found) -> str:
    return words(
        "state on" if len(installed.commands) == len(EVENTS) else "state partly" if installed.commands else "state off"
    )


def _remarks(words: Phrases, scope: str, file: SettingsFile, installed: Found) -> list[str]:
    lines = []
    if installed.commands:
        lines.append(words("as installed" if installed.unchanged else "changed since"))
        if installed.off:
            lines.append(words("hooks off", file=printable(str(file.path))))
    for command in installed.commands.values():
        called = Path(next(iter(shlex.split(command)), ""))
        if called.is_absolute() and not called.exists():
            lines.append(words("program gone", program=printable(str(called)), scope=_scope(scope)))
            break
    return lines
