"""What is done in the background: a session's index, a summary of its oldest part by a model, and retention.

Each may be done again at any time, by any process, while the session is used: the index is derived data, and a summary
is written by compare-and-append, if there is none by then.
"""

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.agent.models import Request, full_reply
from sightline.agent.models.discovery import make_model, retrying_model
from sightline.compaction.compactor import Summarizer
from sightline.compaction.prompt import NoSummary
from sightline.documents.json_protocol import as_text
from sightline.errors import BadInput, SessionNotFound, StoreError
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.tenants import Tenants
from sightline.follow.turns import INDEX, SUMMARY
from sightline.log.stores import PlacedStores
from sightline.server.work import RETENTION, Job
from sightline.session.session import Session
from sightline.wire.payload import Payload

if TYPE_CHECKING:
    from sightline.agent.models.endpoint import Endpoint

_ANSWER = 4_000  # tokens that a summary may have


class Tasks:
    """Does jobs for the sessions of a database, of every tenant in it, or for those in files. A `Runner`."""

    def __init__(
        self,
        folder: Path,
        *,
        root: Path | None = None,
        stores: PlacedStores | None = None,
        model: Summarizer | None = None,
    ) -> None:
        """`model`: without it there are no summaries."""
        self._folder, self._root, self._stores, self._model = folder, root, stores, model

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of jobs that can be done here."""
        return (INDEX, RETENTION) if self._model is None else (INDEX, RETENTION, SUMMARY)

    def __call__(self, job: Job, stop: threading.Event) -> None:
        """Do a job. A session that is gone needs nothing. Raises what a store or a model raises."""
        try:
            if job.kind == INDEX:
                with self._open(job) as session:
                    session.items.index()
            elif job.kind == SUMMARY and self._model is not None:
                self._summarise(job, self._model, stop)
            elif job.kind == RETENTION and isinstance(self._stores, PostgresStores):
                tenants = Tenants(self._stores.database)
                tenants.finish_deletions(self._stores.database.address.tenant)  # which may be in no list
                prune(tenants, stop)
        except SessionNotFound:
            return

    def _summarise(self, job: Job, model: Summarizer, stop: threading.Event) -> None:
        def ask(payload: Payload) -> Any:
            answer = model(payload)
            if stop.is_set():
                raise NoSummary("the server was stopped")
            return answer

        with self._open(job) as session:
            session.summaries.make_wanted(ask)

    def _open(self, job: Job) -> Session:
        """Open a session as its tenant. No file of this machine is shown to a model."""
        if self._stores is None:
            return Session.resume(job.session, self._folder, root=self._root, folders=())
        stores = self._stores
        if isinstance(stores, PostgresStores) and job.tenant:
            stores = stores.for_tenant(job.tenant)
        return Session.resume(job.session, self._folder, stores=stores, folders=())


def prune(tenants: Tenants, stop: threading.Event) -> None:
    """Delete the sessions that tenants no longer keep, what interrupted deletions left, and the oldest audit lines.

    What fails for one tenant is done for the others. Raises the first that failed.
    """
    failed: list[StoreError] = []
    for tenant in tenants.list():
        if not stop.is_set():
            try:
                tenants.prune(tenant.name)
            except StoreError as error:
                failed.append(error)
    tenants.prune_audit()
    if failed:
        raise failed[0]


def summarizer_of(endpoint: "Endpoint", locale: str = "en") -> Summarizer:
    """Return a model as a function that writes summaries. Each call has connections of its own.

    Raises BadInput if the model needs a key that is missing, or cannot be trusted with a summary.
    """
    info = make_model(endpoint).info
    if not info.capable:
        raise BadInput(f"{info.name} is too small to be trusted with a summary: name another --summary-model")

    async def answer(payload: Payload) -> dict[str, Any]:
        if payload.tokens + _ANSWER > info.window:
            raise NoSummary(
                f"{payload.tokens:,} tokens do not fit into the context window of {info.name} ({info.window:,}): name "
                "a --summary-model with a larger one"
            )
        model = retrying_model([endpoint], locale, warn=lambda _: None)
        try:
            written = payload if info.native and info.tools else as_text(payload, locale, form=False)
            return (await full_reply(model, Request(written, min(_ANSWER, info.output)))).raw
        finally:
            await model.close()

    return lambda payload: asyncio.run(answer(payload))
