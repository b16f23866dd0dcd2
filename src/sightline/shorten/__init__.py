"""Shortens items and runs of items by rule: text in, text out. It calls no model and reads no file or log, and it does
not decide when something is shortened.

The kernel also imports `digest.digest` and `digest.trail` (a run of items), `call_subject` and `common_names`. Above
`session`, others import the names below, `file_reads` and `file_description` (files that were read), and
`outline.languages`. Levels, and the rules that find what a user message asks to be kept, are imported when one of their
names is first looked up, digests where a compaction needs them: they take 30 ms, which importing `Session` should not.
"""

from importlib import import_module
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
    from sightline.shorten.rules import constraints, own_words, revoked, said_text
    from sightline.shorten.rules.revocations import Lifted
    from sightline.shorten.rules.short_form import short_form
    from sightline.shorten.sample import without_ansi

__all__ = [
    "NO_EFFECT", "READERS", "READ_ID", "Effect", "Lifted", "Purpose", "Shorter",
    "arguments_of", "constraints", "effect_of", "identifiers", "is_file_read", "levels_format", "own_words",
    "purpose_of", "register", "revoked", "said_text", "short_form", "shorten", "subject_of", "unusual_value",
    "values_in", "without_ansi", "words_in",
]  # fmt: skip


_LATER = {
    **dict.fromkeys(("Shorter", "levels_format", "shorten", "unusual_value"), "levels"),
    **dict.fromkeys(("constraints", "own_words", "revoked", "said_text"), "rules"),
    "Lifted": "rules.revocations", "short_form": "rules.short_form", "register": "dispatch", "without_ansi": "sample",
}  # fmt: skip
"""Modules of the names that only a sweep or a compaction needs: each is imported when its name is first looked up."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'sightline.shorten' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
