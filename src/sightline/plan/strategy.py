"""The seam for strategies: one method that turns a view into a plan."""

from typing import Protocol

from sightline.plan.plan import Plan
from sightline.plan.view import View


class Strategy(Protocol):
    """Decides levels. Pure and synchronous: the same view gives the same plan."""

    name: str

    def plan(self, view: View) -> "Plan":
        """A plan for the next call: `Plan.extended` where nothing shown changes, else `Plan.swept`."""
        ...
