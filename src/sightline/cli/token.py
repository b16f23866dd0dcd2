"""`sightline token`: the tokens by which clients of `sightline serve --tenants` show whose they are."""

import click

from sightline.cli.options import place, shared_options, with_json
from sightline.cli.render import (
    Column,
    console,
    local_time,
    print_json,
    print_result,
    print_stderr,
    print_table,
    printable,
)
from sightline.cli.tenant import database_tenants
from sightline.fleet.tenants import Token, token_id


@click.group(short_help="Create, list and revoke tokens of tenants.")
@shared_options(hidden=True)
def token() -> None:
    """Tokens of tenants: a client shows one, and the server knows whose it is.

    The database has a hash of each only. A token that was lost cannot be shown again: create another, revoke the old.

    \b
    Examples:
      sightline token create acme --name build-server --days 90
      sightline token list acme
      sightline token revoke 4f1c09a2be
    """


@token.command(short_help="Create a token, and show it once.")
@click.argument("tenant")
@click.option("--name", default="", metavar="TEXT", help="What it is for; shown in lists.")
@click.option(
    "--days", type=click.IntRange(1, 100_000), help="For how many days it works.  [default: until it is revoked]"
)
@with_json
def create(tenant: str, name: str, days: int | None, as_json: bool) -> None:
    """Create a token of a tenant. It is printed on standard output, this once; the rest goes to standard error.

    An agent has it in the address of the server, /token/TOKEN, or sends it as X-Sightline-Token. Its key of the model's
    provider goes where it always goes.

    \b
    Examples:
      sightline token create acme --name build-server
      TOKEN=$(sightline token create acme --days 1)
      OPENAI_BASE_URL=http://127.0.0.1:8787/token/$TOKEN/openai/v1 python agent.py
    """
    here = place()
    made, text = database_tenants(here).create_token(tenant, name, days=days)
    if as_json:
        print_json(_facts(made) | {"token": text})
        return
    print_stderr(here.words("token created", id=made.id, tenant=tenant), "")
    click.echo(text)


@token.command("list", short_help="List tokens, with their last use.")
@click.argument("tenant", required=False)
@with_json
def list_tokens(tenant: str | None, as_json: bool) -> None:
    """List the tokens of a tenant, or of all: what they are for, when they were used last, and until when they work.

    The time of the last use is exact to a minute.

    \b
    Examples:
      sightline token list
      sightline token list acme --json | jq -r '.tokens[] | select(.used == null) | .id'
    """
    here = place()
    tenants, words = database_tenants(here), here.words
    if tenant:
        tenants.get(tenant)  # says so if there is none
    tokens = tenants.list_tokens(tenant or "")
    if as_json:
        print_json({"tokens": [_facts(token) for token in tokens]})
        return
    if not tokens:
        print_result(words("token none"), {}, as_json=False)
        return
    columns = (
        Column(words("token"), 10, style="cyan"),
        Column(words("tenant"), max(8, *(len(token.tenant) for token in tokens))),
        Column(words("token used"), 16), Column(words("token until"), 24), Column(words("token name")),
    )  # fmt: skip
    print_table(console(), columns, (
        (
            token.id, token.tenant, local_time(token.used.timestamp()) if token.used else words("token never"),
            words("token revoked at", at=local_time(token.revoked.timestamp())) if token.revoked
            else local_time(token.expires.timestamp()) if token.expires else words("token always"),
            printable(token.name),
        )
        for token in tokens
    ))  # fmt: skip


@token.command(short_help="Have a token no longer work.")
@click.argument("text", metavar="TOKEN")
@with_json
def revoke(text: str, as_json: bool) -> None:
    """Have a token no longer work. TOKEN is its id, as lists show it, or the token itself.

    Every server of the database notices within seconds. It cannot be taken back: create another one.

    \b
    Examples:
      sightline token revoke 4f1c09a2be
      sightline token list acme --json | jq -r '.tokens[].id' | xargs -n 1 sightline token revoke
    """
    here = place()
    revoked = database_tenants(here).revoke_token(token_id(text))
    print_result(here.words("token revoked", id=revoked.id, tenant=revoked.tenant), _facts(revoked), as_json=as_json)


def _facts(token: Token) -> dict[str, object]:
    return token._asdict()
