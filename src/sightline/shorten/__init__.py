"""Shortens items and runs of items by rule: text in, text out. It calls no model and reads no file or log, and it does
not decide when something is shortened.

Other packages import the names below, `rules` (what a user message asks to be kept), `digest.digest` and `digest.trail`
(a run of items), `file_reads` and `file_description` (files that were read), `call_subject`, `common_names` and
`outline.languages`.
"""

from sightline.shorten.call_subject import Purpose, purpose_of, subject_of
from sightline.shorten.dispatch import register
from sightline.shorten.identifiers import identifiers
from sightline.shorten.levels import Shorter, levels_format, shorten, unusual_value

__all__ = [
    "Purpose",
    "Shorter",
    "identifiers",
    "levels_format",
    "purpose_of",
    "register",
    "shorten",
    "subject_of",
    "unusual_value",
]
