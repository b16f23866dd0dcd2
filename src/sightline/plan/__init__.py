"""Decides which units are shown, and each item at which level of detail.

Strategies work on numbers; only `notices` reads text. Others use `budget`, `view`, `plan`, `strategies`, `notices`
and `reductions`.
"""
