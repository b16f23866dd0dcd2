"""A conversation whose items have the sizes that a test says, so that two of them can be equal in all else."""

from typing import Any

from msgspec.structs import replace

from sightline.log.fold import guess_least
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, View
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind
from sightline.values.profiles import profile

FRAMING = 4  # tokens around a message


class Sized:
    """Adds items by their tokens at FULL, SUMMARY and GIST (-1: no such level) and gives their rows."""

    def __init__(self) -> None:
        self.session = Session(MemoryStore("s"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
        self.timeline, self.asked, self.seen = self.session.log.timeline, -1, 0

    def user(self, full: int, summary: int = -1, gist: int = -1) -> int:
        self.asked = len(self.timeline.unit_row)
        return self._resized(self.session.user("text"), full, summary, gist)

    def assistant(self, full: int, summary: int = -1, gist: int = -1) -> int:
        return self._resized(self.session.assistant("text"), full, summary, gist)

    def result(self, full: int, summary: int = -1, gist: int = -1) -> int:
        """A result, whose call has no tokens but its framing."""
        return self._called("result", full, summary, gist)

    def call(self, full: int, summary: int = -1, gist: int = -1) -> int:
        """A call, whose result has no tokens but its framing."""
        return self._called("call", full, summary, gist)

    def recalled(self, full: int) -> int:
        row = self.assistant(full)
        self.timeline.kind[row] = Kind.RECALL
        return row

    def view(
        self, limit: int, *, last: Plan | None = None, trigger: float = 1.0, target: float = 1.0, **more: Any
    ) -> View:
        """What a strategy sees, with all that was added since the last view as new."""
        new = range(self.seen, len(self.timeline.unit_row))
        self.seen = len(self.timeline.unit_row)
        budget = Budget(limit, trigger=trigger, target=target)
        view = View(self.timeline, self.session.log.path, profile("openai"), budget, limit, 0, last, new, **more)
        return view if "asked" in more else replace(view, asked=self.asked)

    def shows(self, plan: Plan, row: int) -> bool:
        return self.timeline.unit[row] in plan

    def _called(self, kind: str, full: int, summary: int, gist: int) -> int:
        call_id = str(len(self.session.items))
        call = f"{self.session.assistant([Call(call_id, 'act', {})])}.1"
        ids = {"call": call, "result": self.session.tool_result(call_id, "text")}
        for other, item_id in ids.items():
            row = self._resized(item_id, *((full, summary, gist) if other == kind else (0, -1, -1)))
            if other == kind:
                found = row
        return found

    def _resized(self, item_id: str, full: int, summary: int, gist: int) -> int:
        timeline, row = self.timeline, self.timeline.row(item_id)
        assert row is not None
        unit = timeline.unit[row]
        timeline.unit_full[unit] += full - timeline.full[row]
        kind = Kind(timeline.kind[row])
        timeline.unit_least[unit] += guess_least(kind, full) - guess_least(kind, timeline.full[row])
        timeline.full[row], timeline.summary[row], timeline.gist[row] = full, summary, gist
        return row
