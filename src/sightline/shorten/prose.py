"""Markdown and plain text, and whatever else has lines: headings, first sentences, lines with values."""

import re

from sightline.shorten.lines import Levels, Section, View, levels, told
from sightline.shorten.sample import where
from sightline.shorten.signals import MUST, binding

__all__ = ["MUST", "prose"]

HEADING, OPENING, RULE = 2.5, 0.8, 1.5
DETECT = 30  # lines looked at to tell whether they have keys
NAMED = 0.3  # share of lines of the form `key: value`, from which the keys are the labels of a gist
LONGEST_KEY = 30
WIDEST = 40  # characters of a heading as a label

_HEADING = re.compile(r"\n(?:#{1,6} \S|[A-Z][^.!?\n]{2,70}:$|<h[1-6]\b|第.{1,8}[章节条])", re.MULTILINE)
_OPENING = re.compile(r"\n\n(?![ \t]*(?:[-*+•]|\d{1,3}[.)、])\s)\S")
_JOINED = str.maketrans(" .-/", "____")  # a key of several words is a name, too


def prose(seen: View) -> Levels:
    """Headings, lines that open a paragraph, lines that bind the reader, and lines with values."""
    raised = told(seen)
    marks = dict(raised)
    for i in binding(seen.sample.lines, seen.values, seen.weighed.first):
        marks[i] = max(marks.get(i, 0.0), RULE)
    for i, _ in where(_OPENING, seen.sample):
        marks[i] = max(marks.get(i, 0.0), OPENING)
    sections = []
    for i, _ in where(_HEADING, seen.sample):
        marks[i] = max(marks.get(i, 0.0), HEADING)
        sections.append(Section(i, seen.sample.lines[i].strip("#<>:=* ")[:WIDEST].rstrip()))
    return levels(seen, marks, raised, sections or _keys(seen))


def _keys(seen: View) -> list[Section]:
    """Every line that says what its value is, where enough of them do."""
    some = sum(map(bool, map(_key, seen.code[:DETECT])))
    if some < 3 or some < NAMED * len(seen.code[:DETECT]):
        return []
    return [Section(i, key) for i, line in enumerate(seen.code) if (key := _key(line))]


def _key(line: str) -> str:
    """What stands before a colon or an equals sign, if it is a name."""
    for separator in (": ", "="):
        head, found, _ = line.partition(separator)
        if found:
            key = head.strip(" \t-*•\"'`")
            return key if len(key) <= LONGEST_KEY and key.translate(_JOINED).isidentifier() else ""
    return ""
