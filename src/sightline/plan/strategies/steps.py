"""The steps of a sweep: one demotion of one item each, or leaving a unit out."""

from typing import NamedTuple

from sightline.values.items import Lod


class Step(NamedTuple):
    """One possible demotion. Steps sort by the worth lost per token saved; of equal ones the later item comes first."""

    worth_per_token: float
    stage: int  # keeps the steps of one item in order: SUMMARY, GIST, left out
    minus_row: int
    unit: int
    to: Lod | None  # None: the unit is left out
    saved_tokens: int


class Taken(NamedTuple):
    """A demotion that was taken, and what its item was before: at which level, and why."""

    step: Step
    before: Lod
    why: str
