"""`sightline report`: where the tokens of recorded sessions went, and what would save most.

The reports are imported when one is made: with them `sightline --help` would take some 80 ms longer.
"""

from pathlib import Path
from typing import Any

import click

from sightline import __version__
from sightline.cli.choices import complete_files_and_sessions
from sightline.cli.export import write_pieces
from sightline.cli.options import place, profile_option, with_json
from sightline.cli.render import console, print_json, print_text, printable
from sightline.errors import BadInput

_NEWEST = 100  # logs that are read unless told otherwise: more would take minutes


@click.command(short_help="Say where the tokens of sessions went, and what would save most.")
@click.argument("paths", nargs=-1, metavar="[FOLDER|FILE|SESSION]...", shell_complete=complete_files_and_sessions)
@click.option("--newest", type=click.IntRange(min=0), default=_NEWEST, show_default=True, metavar="N",
              help="Read only the N logs that changed last; 0: all of them.")  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page with plots to FILE.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--forecast/--no-forecast", default=True, help="Replay with Sightline: most of the time goes into that.")
@click.option("--window", "--budget", type=click.IntRange(min=1_000), help="The context window.  [default: the one "
              "that Sightline composed for, else that of the model]")  # fmt: skip
@click.option("--price", metavar="IN/OUT/CACHED", help="Prices of a million tokens, or a model's name.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Processes that read files at the same time.  [default: one for each core, at most 8]")  # fmt: skip
@profile_option
@with_json
def report(paths: tuple[str, ...], as_json: bool, html: str | None, force: bool, **options: Any) -> None:
    """Report on recorded sessions: where the tokens went, what caching cost, what was read twice, what compaction lost,
    what the same calls would cost with Sightline, and the three things that would save most.

    A FOLDER is searched for logs of Claude Code, Codex or Sightline, and for messages in the form of a provider;
    SESSION is a session of the project. Without any of them, the logs in ~/.claude/projects and ~/.codex/sessions are
    read. Nothing is sent anywhere, and nothing is changed.

    Tokens are those that the providers reported, if a log has them. What Sightline would have cost is a forecast,
    and it is compared with the forecast of sending everything: the session is replayed, and what an answer used that
    the prompt did not show is counted as read again. Costs are in uncached input tokens, and in money if the price of
    the model is known or given.

    \b
    Examples:
      sightline report
      sightline report ~/.claude/projects/-home-me-shop --html report.html
      sightline report ~/.codex/sessions --no-forecast --json
    """
    # Where they are used, because no other command should wait for them.
    from sightline.cli.report_files import read_report
    from sightline.cli.report_view import print_report, report_facts
    from sightline.view.report.page import page

    here = place()
    if html is not None and not force and Path(html).is_file():  # said before the work, not after it
        raise BadInput(here.words("file exists", file=html))
    made = read_report(here, paths, options, hidden=as_json)
    if html is not None:
        pieces = (piece.encode("utf-8", "replace") for piece in page(made, here.words.language, __version__))
        write_pieces(Path(html), pieces, force=force)
    if as_json:
        print_json(report_facts(made, here.words.language))
        return
    print_report(made, here.words.language, is_named=bool(paths))
    if html is not None:
        print_text(console(), here.words("report written", file=printable(html)))
