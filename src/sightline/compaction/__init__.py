"""Replaces the oldest units of a branch by a summary, made by a model or by rule; reports what that hides; undoes it.

When a summary is wanted is decided by the strategy, and how it is shown by `plan` and `compose`; nothing here calls a
provider. Others import from `compactor` (`Compactor`, `Compacted`, `Job`, `Summarizer`, `SECONDS`), `background`
(`Background`), `loss` (`Loss`) and `prompt` (`NoSummary` and the checks of an answer).
"""
