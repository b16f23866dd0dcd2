"""Reads recorded conversations and composes them again, call by call, to see what each call would send and cost.

The composing itself is done by a `Session`; nothing here prints or calls a model. Others import from `formats`
(`Recording`, `read_recording`, `recorded`) and `replay` (`replay`, `Step`, `Totals`).
"""
