"""Decides which units are shown, and each item at which level of detail.

Strategies work on numbers; only `notices` reads text. Above `session`, others import the names below, `economies` and
`strategies`.
"""

from sightline.plan.pipe import own_state, stage_of, with_own_state
from sightline.plan.plan import Plan, Reduction
from sightline.plan.strategy import Hooks, Planner, completed
from sightline.plan.view import SETTINGS_CHANGED, Budget, View, body_units

__all__ = [
    "SETTINGS_CHANGED", "Budget", "Hooks", "Plan", "Planner", "Reduction", "View", "body_units", "completed",
    "own_state", "stage_of", "with_own_state",
]  # fmt: skip
