"""A value: one thing a turn states that is worth keeping, and where it stands."""

from typing import NamedTuple

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a quote has none of these: it is shown within a line

CERTAIN, FIGURE, SOME, MAYBE = 3.0, 1.5, 1.0, 0.3  # how surely such a form is a value: a date, a number, a name, a word


class Value(NamedTuple):
    """Characters first..end of a turn."""

    first: int
    end: int
    key: str  # alike in every mention
    worth: float
