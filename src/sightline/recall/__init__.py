"""Finds what a payload does not show in full and decides what to bring back, within a token budget.

Where recalled text stands in a payload and how it is rendered is decided in `compose` and `log.reader`, not here.
Others import from `recall.recall`: `Recall`, `Found`, `reduced`, `shows_all`.
"""
