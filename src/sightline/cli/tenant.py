"""`sightline tenant`: who may use the servers of a database, how much, and for how long what they write is kept."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sightline.cli.options import Place, confirm, place, shared_options, with_json
from sightline.cli.render import (
    Column,
    console,
    error_console,
    human_size,
    local_time,
    print_json,
    print_result,
    print_table,
    print_text,
    progress,
)
from sightline.errors import BadInput
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.tenants import AUDIT_DAYS, Limits, Tenant, Tenants, check_deletable

_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([kMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
F = TypeVar("F", bound=Callable[..., Any])


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes: 500MB, 10GB, 0."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        if not (match := _SIZE.fullmatch(str(value).strip())):
            self.fail(place().words("tenant size", value=value), param, ctx)
        return round(float(match[1]) * _UNITS[match[2].lower()])


def database_tenants(here: Place) -> Tenants:
    """The tenants of the database that the command line names. Raises BadInput if it names none."""
    stores = here.stores
    if not isinstance(stores, PostgresStores):
        raise BadInput(here.words("serve tenants store"))
    return Tenants(stores.database)


def limit_options(function: F) -> F:
    """Add the limits of a tenant."""
    for name, kind, words in (
        ("--keep-days", click.IntRange(0), "Delete sessions that were not written to for so many days; 0: never."),
        ("--max-bytes", Size(), "What it may store, such as 500MB or 10GB; 0: no limit."),
        ("--requests-per-minute", click.IntRange(0), "What it may ask of all servers together; 0: no limit."),
    ):
        function = click.option(name, type=kind, help=words)(function)
    return function


@click.group(short_help="Add, limit and delete the tenants of a database.")
@shared_options(hidden=True)
def tenant() -> None:
    """Tenants of a database: each has its own sessions, tokens, limits and days after which sessions are deleted.

    A tenant is a team or a customer who shall see nothing of the others. `sightline token` gives out tokens,
    `sightline serve --tenants` serves them, `sightline audit` shows what was done.

    \b
    Examples:
      export SIGHTLINE_STORE=postgresql://me@db.example/team
      sightline tenant create acme --requests-per-minute 600 --max-bytes 10GB --keep-days 90
      sightline token create acme --name build-server
      sightline tenant list
    """


@tenant.command(short_help="Add a tenant.")
@click.argument("name")
@limit_options
@with_json
def create(
    name: str, requests_per_minute: int | None, max_bytes: int | None, keep_days: int | None, as_json: bool
) -> None:
    """Add a tenant. Without options it has no limits, and its sessions are kept.

    A name has up to 63 letters, digits, '.', '_' and '-'. A tenant may use a minute's requests at once, then one each
    time that the next one's share of a minute is over. The tenant `default` is there from the beginning: it has the
    sessions of servers without tenants.

    \b
    Examples:
      sightline tenant create acme
      sightline tenant create acme --requests-per-minute 600 --max-bytes 10GB --keep-days 90
    """
    here = place()
    tenants = database_tenants(here)
    made = tenants.create(name, limits=Limits(requests_per_minute or 0, max_bytes or 0), keep_days=keep_days or 0)
    print_result(here.words("tenant created", name=name), _facts(made, 0), as_json=as_json)


@tenant.command("list", short_help="List the tenants, their limits, and what they use.")
@with_json
def list_tenants(as_json: bool) -> None:
    """List the tenants, their limits, and the bytes that they store: logs, texts of windows and saved code.

    \b
    Examples:
      sightline tenant list
      sightline tenant list --json | jq -r '.tenants[] | select(.bytes_used > 1e9) | .name'
    """
    here = place()
    tenants = database_tenants(here)
    usages = [(tenant, tenants.bytes_used(tenant.name)) for tenant in tenants.list()]
    if as_json:
        print_json({"tenants": [_facts(*usage) for usage in usages]})
        return
    words, none = here.words, here.words("tenant no limit")
    columns = (
        Column(words("tenant"), max(8, *(len(tenant.name) for tenant, _ in usages)) if usages else 8, style="cyan"),
        Column(words("tenant created at"), 16, spare=1), Column(words("tenant used"), 8, right=True),
        Column(words("tenant max bytes"), 8, right=True), Column(words("tenant requests"), 12, right=True),
        Column(words("tenant keep"), 9, right=True), Column(""),
    )  # fmt: skip
    print_table(console(), columns, (
        (
            tenant.name, local_time(tenant.created.timestamp()), human_size(used),
            human_size(tenant.limits.most_bytes) if tenant.limits.most_bytes else none,
            f"{tenant.limits.requests_per_minute:,}" if tenant.limits.requests_per_minute else none,
            f"{tenant.keep_days:,}" if tenant.keep_days else none, words("tenant ended") if tenant.ended else "",
        )
        for tenant, used in usages
    ))  # fmt: skip


@tenant.command("set", short_help="Change the limits of a tenant.")
@click.argument("name")
@limit_options
@with_json
def set_limits(
    name: str, requests_per_minute: int | None, max_bytes: int | None, keep_days: int | None, as_json: bool
) -> None:
    """Change limits of a tenant; what is not named stays. Servers follow within seconds.

    \b
    Examples:
      sightline tenant set acme --requests-per-minute 1200
      sightline tenant set acme --max-bytes 0 --keep-days 30
    """
    here = place()
    tenants = database_tenants(here)
    if requests_per_minute is None and max_bytes is None and keep_days is None:
        raise click.UsageError(here.words("tenant no change"))
    before = tenants.get(name).limits
    limits = Limits(
        before.requests_per_minute if requests_per_minute is None else requests_per_minute,
        before.most_bytes if max_bytes is None else max_bytes,
    )
    changed = tenants.change(name, limits=limits, keep_days=keep_days)
    print_result(here.words("tenant changed", name=name), _facts(changed), as_json=as_json)


@tenant.command(short_help="Delete a tenant with all it has.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_json
def delete(name: str, yes: bool, as_json: bool) -> None:
    """Delete a tenant with its tokens, sessions and saved code for good, after asking for confirmation.

    Its tokens stop to work first. Some seconds later, when every server has noticed, the rest is deleted in small
    pieces, while other tenants are served. If the command is interrupted, run it again. The audit trail stays, and says
    that the tenant was deleted.

    \b
    Examples:
      sightline tenant delete acme
      sightline tenant delete acme --yes --json
    """
    here = place()
    tenants = database_tenants(here)
    check_deletable(tenants, name)  # before anybody is asked
    if not yes:
        used = human_size(tenants.bytes_used(name))
        confirm(here, here.words("really delete tenant", name=name, used=used), as_json=as_json)
    with progress(error_console(), here.words("tenant deleting", name=name)):
        removed = tenants.delete(name)
    facts = {"deleted": name, "sessions": removed.sessions, "codes": removed.codes}
    print_result(here.words("tenant deleted", name=name, sessions=removed.sessions), facts, as_json=as_json)


@tenant.command(short_help="Delete sessions whose days are over.")
@click.argument("name", required=False)
@with_json
def prune(name: str | None, as_json: bool) -> None:
    """Delete the sessions that nothing was added to for a tenant's --keep-days: of one tenant, or of all.

    What interrupted deletions left goes too. Servers do this by themselves. For all tenants, lines of the audit trail
    that are older than 400 days go too.

    \b
    Examples:
      sightline tenant prune
      sightline tenant prune acme --json
    """
    here = place()
    tenants = database_tenants(here)
    names = [name] if name else [tenant.name for tenant in tenants.list()]
    pruned = {tenant_name: tenants.prune(tenant_name) for tenant_name in names}
    lines = 0 if name else tenants.prune_audit(AUDIT_DAYS)
    if as_json:
        print_json({"sessions": pruned, "audit": lines})
        return
    out = console()
    for tenant_name, count in pruned.items():
        print_text(out, here.words("tenant pruned", name=tenant_name, count=count))
    if lines:
        print_text(out, here.words("audit pruned", count=lines, days=AUDIT_DAYS))


def _facts(tenant: Tenant, used: int | None = None) -> dict[str, Any]:
    facts = {
        "name": tenant.name, "created": tenant.created, "ended": tenant.ended,
        "requests_per_minute": tenant.limits.requests_per_minute, "max_bytes": tenant.limits.most_bytes,
        "keep_days": tenant.keep_days,
    }  # fmt: skip
    return facts if used is None else facts | {"bytes_used": used}
