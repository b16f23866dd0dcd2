"""`sightline worker`: the background work of servers on one database, in a process of its own. Shared with `serve`.

The models are imported where one is to make summaries: that takes a fifth of a second.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.agent.config import read_config
from sightline.agent.models.context_window import with_window
from sightline.agent.models.discovery import named
from sightline.agent.trust import is_allowed
from sightline.agent.trust import named as trusted_file
from sightline.cli.addresses import in_address, is_free
from sightline.cli.options import Place, place, shared_options
from sightline.cli.render import error_console, print_text
from sightline.errors import BadInput, StoreError
from sightline.fleet.errors import WorkRefused
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.tasks import Tasks, summarizer_of
from sightline.fleet.work_queue import FleetWork
from sightline.fleet.work_schema import is_installed
from sightline.server.access_token import TOKEN_VARIABLE, Token, find_token
from sightline.server.config import Config
from sightline.server.work import LocalWork, Work

if TYPE_CHECKING:
    from sightline.compaction.compactor import Summarizer

_LAST_SECONDS = 1.0  # that an answer about the worker has left when it stops

summary_model_option = click.option(
    "--summary-model",
    metavar="NAME",
    help="The model that summarises the oldest part of a long conversation in the background, as `sightline chat "
    "--model` names it.  [default: none]",
)


@click.command(short_help="Do the background work of servers on one database.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="How many at a time.")
@summary_model_option
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Answer /metrics, /healthz and /readyz at this port; 0: a free one.  [default: none]",
)
@click.option(
    "--metrics-host",
    default="127.0.0.1",
    show_default=True,
    help="At any other address /metrics needs the token in SIGHTLINE_TOKEN.",
)
@shared_options(hidden=True)
def worker(jobs: int, summary_model: str | None, metrics_port: int | None, metrics_host: str) -> None:
    """Do the background work of all servers on one database, in a process of its own.

    A server does such work itself. With workers, `sightline serve --jobs 0` leaves it to them, so that it takes no time
    from requests. Each piece of work is done once, by any of them; that of one which is killed is done by another. Only
    workers with a --summary-model make summaries.

    \b
    Examples:
      sightline --store postgresql://user@host/name worker
      sightline worker --jobs 4 --summary-model openai/gpt-5-mini
      sightline worker --metrics-port 9787
    """
    from sightline.server.metrics import log_as_json

    here = place()
    if here.store is None:
        raise BadInput(here.words("worker store"))
    _check_rights(here)
    log_as_json()
    work = make_work(here, jobs, find_summarizer(here, summary_model))
    with working(work), _measured(here, work, metrics_host, metrics_port):
        print_text(error_console(), here.words("worker works", where=here.stores.where))
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


@contextmanager
def _measured(here: Place, work: Work | None, host: str, port: int | None) -> Iterator[None]:
    """Answer how the worker is, at this port, while the block runs; None: nobody is answered."""
    if port is None:
        yield
        return
    from sightline.cli.serve import running
    from sightline.fleet.worker_app import create_worker_app
    from sightline.server.listener import Listener

    if port and not is_free(host, port):
        raise BadInput(here.words("worker port taken", port=port))
    config = Config(
        folder=Path(here.project).resolve(), root=Path(here.root) if here.root else None, host=host,
        stores=here.awaited_database, token_hash=operator_token(host, here).hashed, work=work,
    )  # fmt: skip
    listener = Listener(
        create_worker_app(config), on_stop=lambda: None, host=host, port=port, stop_seconds=_LAST_SECONDS
    )
    with running(listener) as bound:
        address = f"http://{in_address(host)}:{bound}"
        print_text(error_console(), here.words("worker measured", address=address), "dim")
        yield


def operator_token(host: str, here: Place) -> Token:
    """Return the token for /metrics and /health: the one that the operator has chosen, or none."""
    return find_token(host, here.home, os.environ) if os.environ.get(TOKEN_VARIABLE, "").strip() else Token("")


def _check_rights(here: Place) -> None:
    """Raise WorkRefused if the database's role may do nothing. A database that is away is waited for later."""
    if not is_installed() or not isinstance(here.stores, PostgresStores):
        return
    try:
        here.stores.database.check_work()
    except WorkRefused:
        raise
    except StoreError:
        return


def find_summarizer(here: Place, name: str | None) -> "Summarizer | None":
    """Return the model of this name as a function that writes summaries.

    Raises BadInput if there is none, or if the user has not approved the project's file, which may say where it is.
    """
    if name is None:
        return None
    config = read_config(here.project, os.environ)
    if not is_allowed(config, here.project, here.home, os.environ):
        raise BadInput(here.words("summaries not allowed", file=trusted_file(config, here.project).file))
    endpoint = named(name, config, os.environ, here.home)
    return summarizer_of(asyncio.run(with_window(endpoint)), here.words.language)


def make_work(here: Place, jobs: int, summarizer: "Summarizer | None") -> Work | None:
    """Return what does so many jobs at a time: for all servers of the database, or for the files here.

    0: they are left to others; None if there are none, because sessions are in files.
    """
    stores = here.awaited_database
    tasks = Tasks(
        Path(here.project).resolve(), root=Path(here.root) if here.root else None, stores=stores, model=summarizer
    )
    if stores is None:
        return LocalWork(tasks) if jobs else None
    assert isinstance(stores, PostgresStores)
    return FleetWork(stores.database, tasks, kinds=tasks.kinds, concurrency=jobs)


@contextmanager
def working(work: Work | None) -> Iterator[None]:
    """Have background work done while the block runs, which SIGTERM ends. For the main thread.

    The process ends by that signal, as it would without us, when the work has ended.
    """
    taken: list[int] = []

    def stop(number: int, _frame: object) -> None:
        taken.append(number)
        raise SystemExit

    before = signal.signal(signal.SIGTERM, stop)
    try:
        if work is not None:
            work.start()
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if work is not None:
            work.close()
        signal.signal(signal.SIGTERM, before)
        if taken:
            signal.raise_signal(signal.SIGTERM)
