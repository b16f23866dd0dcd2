"""Markdown and plain text, and whatever else has lines: headings, first sentences, lines with values."""

import re

from sightline.renditions.lines import Levels, View, gist_level, summary_level, troubles
from sightline.renditions.sample import where

HEADING, OPENING, RULE = 2.5, 0.8, 1.5

_HEADING = re.compile(r"\n(?:#{1,6} \S|[A-Z][^.!?\n]{2,70}:$|<h[1-6]\b|第.{1,8}[章节条])", re.MULTILINE)
_OPENING = re.compile(r"\n\n(?![ \t]*(?:[-*+•]|\d{1,3}[.)、])\s)\S")
# Stems of what binds the reader, in lower case.
_MUST = (
    "never|always|must|do not|don't|don’t|cannot|can't| only |require|forbid|ensure|make sure|should not|shouldn't|"
    "at least|at most|"
    "不要|必须|禁止|务必|不能|不得|不可|一定|只能|至少|至多|确保|切勿|千万"
)
MUST = tuple(_MUST.split("|"))


def binds(text: str) -> bool:
    """Whether a sentence says what must or must not be."""
    lowered = text.lower()
    return any(stem in lowered for stem in MUST)


def prose(seen: View) -> Levels:
    """Headings, lines that open a paragraph, lines that bind the reader, and lines with values."""
    raised = troubles(seen.sample)
    marks = dict(raised)
    for i, line in enumerate(seen.sample.lines):
        if binds(line.text):
            marks[i] = max(marks.get(i, 0.0), RULE)
    starts = []
    for worth, pattern in ((OPENING, _OPENING), (HEADING, _HEADING)):
        for i, _ in where(pattern, seen.sample):
            marks[i] = max(marks.get(i, 0.0), worth)
            if pattern is _HEADING:
                starts.append(i)
    return Levels(summary_level(seen, marks), gist_level(seen, raised, starts))
