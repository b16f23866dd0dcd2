"""Makes summaries in a thread while the conversation goes on."""

import threading
from contextlib import suppress

from sightline.compaction.compactor import Compactor, Job, Summarizer
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
            budget = self._composer.budget
            cover = None if budget is None else self._composer.wanted(budget)
            if budget is None or cover is None or self.running or self._compactor.passes_over():
                return False
            try:
                job = self._compactor.job(budget, "auto", cover)
            except PinnedOverflow:
                return False  # the next `compose` raises it where somebody can react
            self._thread = threading.Thread(target=self._summarise, args=(job, model, seconds), daemon=True)
            self._thread.start()
            return True

    def _summarise(self, job: Job, model: Summarizer, seconds: float) -> None:
        summary = self._compactor.summary(job, model, seconds)
        with self._lock:
            if isinstance(summary, str) and not self._closed and not self._compactor.superseded(job):
                with suppress(StoreError):  # it is made again when the strategy wants it again
                    self._compactor.finish(job, summary)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the summary that is being made, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """Discard the summary that is being made: it is not written to the log."""
        self._closed = True
