"""Work in the background: what is to be done, and doing it in this process.

A job has a kind and a session, never anything that was said. It is done soon, and once: whoever wants it while it waits
wants the same job. A job that fails is tried again a few times, later each time, while others go on. Then its failure
is told. `work_queue` does the same for all servers of a database together.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from sightline.errors import SightlineError
from sightline.follow.turns import INDEX, SUMMARY

PAUSES = (10.0, 60.0, 360.0)  # seconds before a job that failed is tried again; after the last it is given up
GRACE = 5.0  # seconds that a job may still take when the server stops
MOST_WAITING = 10_000  # jobs in the memory of a process; more are dropped: they are wanted again at the next turn
RETENTION = "retention"  # delete what tenants no longer keep
KINDS = (INDEX, SUMMARY, RETENTION)

_log = logging.getLogger("sightline.server")


class Job(NamedTuple):
    """Something to do. `tenant` is empty if sessions are in files."""

    kind: str
    session: str = ""
    tenant: str = ""

    @property
    def key(self) -> str:
        """What tells it from all others. No part of it may have a slash but the tenant."""
        return f"{self.kind}/{self.session}/{self.tenant}"


class Runner(Protocol):
    """Does a job. `stop` is set when nobody waits for it any more: then it must write nothing."""

    def __call__(self, job: Job, stop: threading.Event) -> None:
        """Raises anything if it could not be done."""


Counts = Counter[tuple[str, str]]
"""How many jobs of a kind were "done", "retried" or "failed"."""


class Work(Protocol):
    """Where jobs are put."""

    counts: Counts
    refused: str  # why the database lets nothing be done; empty: it does

    @property
    def waiting(self) -> int:
        """How many jobs are not begun yet, as far as is known."""

    def want(self, job: Job) -> None:
        """Have a job done soon. Returns at once, and raises nothing."""

    def start(self) -> None:
        """Begin to do jobs."""

    def close(self) -> None:
        """End, after the job that is being done. One that takes too long is left to others, or undone."""


class _Waiting(NamedTuple):
    job: Job
    due: float = 0.0
    attempts: int = 0


class LocalWork:
    """Does jobs in a thread of this process, one after another."""

    def __init__(self, run: Runner, *, pauses: Sequence[float] = PAUSES, grace: float = GRACE) -> None:
        self._run, self._pauses, self._grace, self.counts = run, pauses, grace, Counts()
        self._jobs: dict[str, _Waiting] = {}
        self.refused = ""
        self._wake, self._stopped, self._stop = threading.Condition(), False, threading.Event()
        self._thread = threading.Thread(target=self._work, name="sightline work", daemon=True)

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._jobs)

    def want(self, job: Job) -> None:
        """See `Work`."""
        with self._wake:
            if not self._stopped and len(self._jobs) < MOST_WAITING:
                self._jobs.setdefault(job.key, _Waiting(job))
                self._wake.notify_all()

    def start(self) -> None:
        """See `Work`."""
        self._thread.start()

    def close(self) -> None:
        """See `Work`. What waits is dropped: it is wanted again when its session is used."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        if self._thread.ident is not None:
            self._thread.join(self._grace)
        self._stop.set()

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            job, _, attempts = taken
            error = attempt(self._run, job, self._stop)
            if self._stop.is_set():
                return
            if tell(job, error, attempts, self._pauses, self.counts):
                due = time.monotonic() + self._pauses[attempts]
                with self._wake:
                    self._jobs.setdefault(job.key, _Waiting(job, due, attempts + 1))

    def _next(self) -> _Waiting | None:
        """Wait for the next job that is due. None: the work ends."""
        with self._wake:
            while not self._stopped:
                now = time.monotonic()
                first = min(self._jobs.values(), key=lambda waiting: waiting.due, default=None)
                if first is not None and first.due <= now:
                    return self._jobs.pop(first.job.key)
                self._wake.wait(None if first is None else first.due - now)
        return None


def attempt(run: Runner, job: Job, stop: threading.Event) -> Exception | None:
    """Do a job, and return why it failed; None: it is done."""
    try:
        run(job, stop)
    except Exception as error:  # of any job: those after it are done all the same
        return error
    return None


def tell(job: Job, error: Exception | None, attempts: int, pauses: Sequence[float], counts: Counts) -> bool:
    """Count and log how a job ended. Return whether it is to be tried again."""
    if error is None:
        counts[job.kind, "done"] += 1
        return False
    again = attempts < len(pauses)
    counts[job.kind, "retried" if again else "failed"] += 1
    # What other errors say may be text of a conversation.
    why = str(error) if isinstance(error, SightlineError) else type(error).__name__
    facts = {"kind": job.kind, "session": job.session, "reason": why}
    with suppress(Exception):  # a handler of the user's
        if again:
            _log.warning("background work failed and is tried again in %.0f seconds", pauses[attempts], extra=facts)
        else:
            _log.error("background work was given up after %d attempts", attempts + 1, extra=facts)
    return again
