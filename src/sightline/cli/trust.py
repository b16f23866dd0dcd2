"""`sightline trust`: which folders are trusted, since when and with what; and taking that back."""

from itertools import groupby
from pathlib import Path

import click

from sightline.agent.trust import Trusted
from sightline.cli.choices import complete_trusted
from sightline.cli.options import Place, place, with_json
from sightline.cli.render import console, local_time, print_json, print_result, print_text, printable
from sightline.errors import BadInput


@click.command(short_help="List the folders that you trust, or withdraw that.")
@click.option(
    "--withdraw",
    metavar="FOLDER",
    type=click.Path(),
    shell_complete=complete_trusted,
    help="Forget all that was allowed for this folder.",
)
@with_json
def trust(withdraw: str | None, as_json: bool) -> None:
    """List what `sightline chat` was allowed, by --trust or by your answer: for which folder, since when, and what.

    That is what a project's sightline.toml does outside the project, and whether AGENTS.md and CLAUDE.md of the folder
    are part of the system prompt. After --withdraw the next chat in the folder asks again. What runs is not stopped.

    \b
    Examples:
      sightline trust
      sightline trust --json | jq -r '.trusted[].folder'
      sightline trust --withdraw ~/work/shop
    """
    here = place()
    if withdraw is not None:
        _withdraw(here, withdraw, as_json)
    else:
        _print_list(here, as_json)


def _withdraw(here: Place, folder: str, as_json: bool) -> None:
    real = str(Path(folder).resolve())
    if not Trusted(here.home).withdraw(folder):
        raise BadInput(here.words("trust nothing", folder=printable(real)))
    print_result(here.words("trust withdrawn", folder=printable(real)), {"withdrawn": real}, as_json=as_json)


def _print_list(here: Place, as_json: bool) -> None:
    words, out, entries = here.words, console(), Trusted(here.home).listing()
    if as_json:
        print_json({
            "trusted": [
                {
                    "folder": entry.folder, "since": entry.since // 1000 or None, "file": entry.file or None,
                    "reaches": [reach.line() for reach in entry.reaches],
                    "instructions": None if entry.file else entry.reads_texts,
                }
                for entry in entries
            ]
        })  # fmt: skip
        return
    if not entries:
        print_text(out, words("trust none"))
        return
    for folder, about in groupby(entries, key=lambda entry: entry.folder):
        print_text(out, printable(folder), "bold")
        for entry in about:
            since = local_time(entry.since / 1000) if entry.since else words("trust since unknown")
            key = "trust file" if entry.file else "trust texts read" if entry.reads_texts else "trust texts unread"
            print_text(out, f"  {since}  {words(key, file=printable(entry.file))}")
            for reach in entry.reaches:
                print_text(out, f"    {printable(reach.line(words.language))}")
    print_text(out, words("trust how to withdraw"), "dim")
