"""Summaries for the oldest part of a conversation: make one, make one in the background, undo one."""

from collections.abc import Iterator
from threading import RLock

from sightline.compaction.background import Background
from sightline.compaction.compactor import SECONDS, Compacted, Compactor, Job, Summarizer
from sightline.compaction.loss import Loss
from sightline.compose.turn import Composer
from sightline.errors import BadInput
from sightline.plan.view import Budget
from sightline.session import accept
from sightline.session.compactions import CompactionInfo, list_compactions, read_losses
from sightline.session.items import Items
from sightline.values.lock import locked


class Summaries:
    """Makes and undoes the compactions of a session's branch: `session.summaries`.

    Iterating gives what is known of each compaction, oldest first, also of those undone or replaced.
    """

    def __init__(self, compactor: Compactor, composer: Composer, items: Items, lock: RLock) -> None:
        self._compactor, self._composer, self._items, self._lock = compactor, composer, items, lock
        self._background = Background(compactor, composer, lock)

    def __iter__(self) -> Iterator[CompactionInfo]:
        with self._lock:
            compactions = list_compactions(self._composer.journal)
        return iter(compactions)

    @locked
    def covering(self, item_id: str | int) -> CompactionInfo | None:
        """Return the compaction that hides this item now; None if there is none. Raises UnknownItem."""
        journal, row = self._composer.journal, self._items.row(item_id)
        unit, in_effect = journal.timeline.unit[row], journal.timeline.compacted(journal.path)
        boundaries = [compaction.seq for compaction in in_effect if unit in compaction]
        return next((compaction for compaction in list_compactions(journal) if compaction.boundary in boundaries), None)

    @locked
    def losses(self) -> dict[int, Loss]:
        """Return what each compaction hid when it was made, by its boundary. Scans the whole log.

        A compaction that another program wrote has no such report.
        """
        return dict(read_losses(self._composer.journal))

    @property
    @locked
    def wanted(self) -> bool:
        """Whether the strategy wants a summary of the oldest part by now. Whoever owns a model then calls `compact`."""
        budget = self._composer.budget
        return budget is not None and self._composer.wanted(budget) is not None

    @property
    def error(self) -> str:
        """Why the model did not make the last summary; empty if it did."""
        return self._compactor.error

    def compact(
        self, budget: Budget | None = None, *, model: Summarizer | None = None, seconds: float = SECONDS
    ) -> Compacted:
        """Replace the oldest messages by a summary, from the next call on. Return what it covers and what it hides.

        `model` makes the summary from the last payload and one more question. Without a model, or if the model fails
        (then `success` is False), the summary is a digest made by rule. The user's constraints are kept word for
        word. Without a `budget`, the budget of the last payload is used.

        Raises:
            BadInput: there is too little to compact, or no budget is known; its subclass NotShorter if the next payload
                would not be shorter. Then nothing changes.
        """
        if model is not None:
            accept.check_model(model, seconds)
        with self._lock:
            job = self._compactor.job(self._known_budget(budget), "manual")
        summary = self._compactor.summary(job, model, seconds) if model is not None else None
        with self._lock:
            return self._compactor.finish(job, summary)

    @locked
    def cover(self, first: str | int, last: str | int, text: str = "", *, budget: Budget | None = None) -> Compacted:
        """Replace everything from one item to another by this text, from the next call on; without it, by a digest.

        Raises:
            UnknownItem: no such item on this branch.
            BadInput: there is too little to compact, or no budget is known.
        """
        timeline = self._composer.journal.timeline
        begin, end = sorted(timeline.unit[self._items.row(item)] for item in (first, last))
        job = self._compactor.job(self._known_budget(budget), "manual", (begin, end))
        return self._compactor.finish(job, text or None)

    @locked
    def preview(self, budget: Budget | None = None) -> Job:
        """Return what `compact` would cover now and what it would ask a model. Nothing is written. Raises BadInput."""
        return self._compactor.job(self._known_budget(budget), "manual")

    def in_background(self, model: Summarizer, *, seconds: float = SECONDS) -> bool:
        """Begin a summary in a thread if the strategy wants one. Return whether it began.

        The summary takes effect at the next sweep. One is made at a time. If the model fails, nothing changes and the
        next call of this method tries again; after three failures in a row only every tenth call does. `error` says
        why.
        """
        accept.check_model(model, seconds)
        return self._background.begin(model, seconds)

    def make_wanted(self, model: Summarizer, *, seconds: float = SECONDS) -> bool:
        """Make a summary in this thread if the strategy wants one. Return whether one was written.

        Others may write to the session meanwhile, also another summary of the same part: then this one is dropped.

        Raises:
            NoSummary, and what the model raises: there is none.
            StoreError: it could not be written.
        """
        accept.check_model(model, seconds)
        return self._background.make(model, seconds)

    @property
    def running(self) -> bool:
        """Whether a background summary is being made."""
        return self._background.running

    def wait(self, seconds: float | None = None) -> None:
        """Return when the background summary is done, or after this many seconds."""
        self._background.wait(seconds)

    @locked
    def undo(self, item_id: str | int | None = None) -> None:
        """Show again what the last compaction covers, or one item of it, by a sweep at the next call.

        Raises:
            UnknownItem: no such item; its subclass NothingCompacted if nothing is compacted.
        """
        if item_id is None:
            self._compactor.undo()
            return
        row = self._items.row(item_id)
        self._compactor.check_covered(row)
        self._items.mark(row, "raise")

    def close(self) -> None:
        """Let no background summary enter the log any more."""
        self._background.close()

    def _known_budget(self, budget: Budget | None) -> Budget:
        if (wanted := budget or self._composer.budget) is None:
            raise BadInput("nothing has been composed yet: say for which budget, as in compact(Budget(window=128_000))")
        return accept.check_budget(wanted)
