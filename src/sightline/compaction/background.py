"""Makes summaries in a thread while the conversation goes on."""

import threading
from contextlib import suppress

from sightline.compaction.compactor import Compactor, Job, Summarizer, Superseded
from sightline.compose.turn import Composer
from sightline.errors import PinnedOverflow, StoreError


class Background:
    """Makes one summary at a time; the next sweep shows it. The session's lock guards what it reads and writes."""

    def __init__(self, compactor: Compactor, composer: Composer, lock: threading.RLock) -> None:
        self._compactor, self._composer, self._lock = compactor, composer, lock
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def running(self) -> bool:
        """Whether a summary is being made."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, model: Summarizer, seconds: float) -> bool:
        """Begin a summary if the strategy wants one and none is being made. Return whether it began."""
        with self._lock:
            if self.running or (job := self._job(patiently=False)) is None:
                return False
            self._thread = threading.Thread(target=self._summarise, args=(job, model, seconds), daemon=True)
            self._thread.start()
            return True

    def make(self, model: Summarizer, seconds: float) -> bool:
        """Make a summary now if the strategy wants one. Return whether it was written: there may be one by now.

        Raises what the model raised, StoreError, BadInput.
        """
        with self._lock:
            job = self._job(patiently=True)
        if job is None:
            return False
        summary = self._compactor.summary(job, model, seconds)
        if isinstance(summary, Exception):
            raise summary
        return self._finish(job, summary)

    def _job(self, *, patiently: bool) -> Job | None:
        """Return what the strategy wants summarised. Unless `patiently`, a model that failed often is seldom asked."""
        budget = self._composer.budget
        cover = None if budget is None else self._composer.wanted(budget)
        if budget is None or cover is None or (not patiently and self._compactor.passes_over()):
            return None
        try:
            return self._compactor.job(budget, "auto", cover)
        except PinnedOverflow:
            return None  # the next `compose` raises it where somebody can react

    def _summarise(self, job: Job, model: Summarizer, seconds: float) -> None:
        summary = self._compactor.summary(job, model, seconds)
        if isinstance(summary, str):
            with suppress(StoreError):  # it is made again when the strategy wants it again
                self._finish(job, summary)

    def _finish(self, job: Job, summary: str) -> bool:
        """Write a summary, unless the session was closed, or there is one by now. Return whether it was written."""
        with self._lock:
            if self._closed or self._compactor.superseded(job):
                return False
            try:
                self._compactor.finish(job, summary)
            except Superseded:
                return False
            return True

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the summary that is being made, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """Discard the summary that is being made: it is not written to the log."""
        self._closed = True
