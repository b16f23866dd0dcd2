"""Composes the payload of one model call: inputs, plan, messages, receipt. `turn` has the steps in order.

Levels are chosen in `plan`, provider formats are written in `wire`.
"""
