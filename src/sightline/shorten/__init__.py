"""Shortens items and runs of items by rule: text in, text out. It calls no model and reads no file or log, and it does
not decide when something is shortened.

The kernel also imports `rules` (what a user message asks to be kept), `digest.digest` and `digest.trail` (a run of
items), `call_subject` and `common_names`. Above `session`, others import the names below, `file_reads` and
`file_description` (files that were read), and `outline.languages`. The engine imports levels, rules and digests where a
sweep or a compaction first needs them: they take 30 ms, which importing `Session` should not.
"""

from typing import TYPE_CHECKING, Any

from sightline.shorten.call_subject import (
    NO_EFFECT,
    READ_ID,
    READERS,
    Effect,
    Purpose,
    arguments_of,
    effect_of,
    is_file_read,
    purpose_of,
    subject_of,
)
from sightline.shorten.identifiers import identifiers, values_in, words_in

if TYPE_CHECKING:
    from sightline.shorten.dispatch import register
    from sightline.shorten.levels import Shorter, levels_format, shorten, unusual_value
    from sightline.shorten.sample import without_ansi

__all__ = [
    "NO_EFFECT", "READERS", "READ_ID", "Effect", "Purpose", "Shorter", "arguments_of", "effect_of", "identifiers",
    "is_file_read", "levels_format", "purpose_of", "register", "shorten", "subject_of", "unusual_value", "values_in",
    "without_ansi", "words_in",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sightline.shorten' has no attribute {name!r}")
    from sightline.shorten import dispatch, levels, sample

    return getattr({"register": dispatch, "without_ansi": sample}.get(name, levels), name)
