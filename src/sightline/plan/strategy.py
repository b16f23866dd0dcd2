"""The protocol of strategies: one method that turns a view into a plan."""

from typing import Protocol

from sightline.plan.plan import Plan
from sightline.plan.view import View


class Strategy(Protocol):
    """Decides which units are shown and at which level. Pure and synchronous: the same view gives the same plan."""

    name: str

    def plan(self, view: View) -> Plan:
        """The plan of the next call: made by `Plan.extended` if nothing already shown changes, else by `Plan.swept`."""
        ...
