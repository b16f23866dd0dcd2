"""`sightline audit`: what was done to the tenants of a database, and by them."""

from collections.abc import Iterator, Mapping

import click
import msgspec

from sightline.cli.options import place, with_json
from sightline.cli.render import Column, console, local_time, print_json, print_table, print_text, printable
from sightline.cli.tenant import database_tenants


@click.command(short_help="Show what was done to tenants, and by them.")
@click.option("--tenant", default="", metavar="NAME", help="Of this tenant only.")
@click.option("--action", default="", metavar="NAME", help="Actions that begin so, such as token or session.delete.")
@click.option("--most", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many lines.")
@click.option(
    "--before", type=click.IntRange(0), default=0, metavar="NUMBER", help="Older than the line of this number."
)
@with_json
def audit(tenant: str, action: str, most: int, before: int, as_json: bool) -> None:
    """Show the audit trail, the newest line first: what was created, changed, deleted, exported or refused, by whom.

    By whom is the id of a token, or `operator` for this command line. A line has names and numbers, never what a
    conversation says. Nothing can be changed in it; lines are deleted when they are older than 400 days.

    \b
    Examples:
      sightline audit
      sightline audit --tenant acme --action token
      sightline audit --json | jq -r '.audit[-1].number'     # then --before NUMBER shows what is older
    """
    here = place()
    entries = database_tenants(here).audit(tenant, action=action, before=before, most=most)
    if as_json:
        print_json({"audit": [entry._asdict() for entry in entries]})
        return
    words = here.words
    if not entries:
        print_text(console(), words("audit none"))
        return
    columns = (
        Column(words("audit number"), 7, right=True, spare=2), Column(words("audit at"), 16),
        Column(words("tenant"), max(8, *(len(entry.tenant) for entry in entries)), style="cyan"),
        Column(words("audit by"), 10),
        Column(words("audit action"), max(14, *(len(entry.action) for entry in entries))),
        Column(words("audit subject")),
    )  # fmt: skip
    print_table(console(), columns, (
        (
            str(entry.number), local_time(entry.at.timestamp()), printable(entry.tenant), entry.token, entry.action,
            printable(" ".join(filter(None, (entry.subject, *_detail(entry.detail))))),
        )
        for entry in entries
    ))  # fmt: skip


def _detail(detail: Mapping[str, object]) -> Iterator[str]:
    for name, value in detail.items():
        if value != "":
            yield f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
