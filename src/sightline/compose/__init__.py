"""Composes the payload of one model call: inputs, plan, messages, receipt. `turn` has the steps in order.

Levels are chosen in `plan`, provider formats are written in `wire`. Above `session`, others import the names below.
"""

from sightline.compose.inputs import fixed_tokens
from sightline.compose.receipts import allowed_tokens, last_written, limit_by, reused_tokens
from sightline.compose.render import ComposeInputs, arrange, first_change, layout

__all__ = [
    "ComposeInputs", "allowed_tokens", "arrange", "first_change", "fixed_tokens", "last_written", "layout", "limit_by",
    "reused_tokens",
]  # fmt: skip
