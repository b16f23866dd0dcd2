"""A value: one thing a turn states that is worth keeping, and where it stands."""

from typing import NamedTuple

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a span has none of these: it is shown within a line


class Value(NamedTuple):
    """Characters first..end of a turn: the value, and the words without which it says nothing."""

    first: int
    end: int
    key: str  # the bare value, alike in every mention
    worth: float  # how often such a value is asked for later, of three, as measured; 0: only another mention counts
    label: int  # where the noun that says what it is begins, shown when there is room; else `first`
