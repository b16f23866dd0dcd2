"""`sightline doctor`: is everything there that a chat or a server needs, and what to do if it is not."""

import os
from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from sightline.cli.doctor_checks import Check, Options, State, run_checks
from sightline.cli.options import place, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, console, first_words, print_json, print_table, print_text, printable
from sightline.follow.turns import PROVIDERS
from sightline.server.config import usual_upstreams

PORT = 8787  # where a server listens unless told otherwise

_STYLES: dict[State, str] = {"good": "green", "note": "yellow", "broken": "red"}


@click.command(short_help="Check that everything works, and say what to do if not.")
@click.option("--upstream", "upstreams", multiple=True, metavar="[NAME=]URL",
              help="An address that must be reached. A name before it, as `serve` takes it, is allowed.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Where a server would listen."
)
@click.option("--offline", is_flag=True, help="Look at nothing outside this machine's files.")
@with_json
def doctor(upstreams: tuple[str, ...], port: int, offline: bool, as_json: bool) -> None:
    """Check the configuration, the store, the newest session, the tokenizer, the model, the providers and the port.

    Each line says what was found, and what to do if that is not good. No key is sent anywhere. If something is broken,
    the exit code is 1; a note alone is not.

    \b
    Examples:
      sightline doctor
      sightline doctor --upstream http://gpu.example:8000/v1 --port 9000
      sightline doctor --offline --json
    """
    here = place()
    words = Phrases(here.words.language, "doctor")
    upstreams = tuple(map(_address, upstreams))
    usual = () if upstreams else tuple(usual_upstreams(os.environ).values())
    checks = list(run_checks(here, Options(upstreams, usual, port, offline)))
    broken = sum(check.state == "broken" for check in checks)
    if as_json:
        print_json({"good": not broken, "checks": [_facts(check, words) for check in checks]})
    else:
        _print(console(), words, checks, broken)
    if broken:
        click.get_current_context().exit(1)


def _address(upstream: str) -> str:
    """Return the address of an upstream, as it is given here or to `serve`: `openai=https://…`."""
    name, is_named, address = upstream.partition("=")
    return address if is_named and name in PROVIDERS else upstream


def _facts(check: Check, words: Phrases) -> dict[str, object]:
    advice = words(check.advice, **check.facts) if check.advice else ""
    finding = words(check.found, **check.facts)
    return {"check": check.name, "state": check.state, "found": finding, "what_to_do": advice}


def _print(out: Console, words: Phrases, checks: Sequence[Check], broken: int) -> None:
    columns = (Column(words("state"), 6), Column(words("checked"), 14), Column(words("finding"), whole=True))
    rows: list[tuple[Text | str, ...]] = []
    for check in checks:
        style = _STYLES[check.state]
        finding = words(check.found, **check.facts)
        said = first_words(finding, len(finding))
        rows.append((Text(words(check.state), style=style), words(f"check {check.name}"), said))
        if check.advice:
            advice = printable(words(check.advice, **check.facts))
            rows.append(("", "", Text(f"→ {advice}", style="bold" if check.state == "broken" else "dim")))
    print_table(out, columns, rows)
    summary = words("some broken", count=broken) if broken else words("all good")
    print_text(out, summary, "red" if broken else "green")
