"""Markdown, plain text and every other text of lines: headings, first sentences, lines with values."""

import re

from sightline.shorten.failures import failure_order
from sightline.shorten.lines import Levels, View, line_levels
from sightline.shorten.rarity import rarities
from sightline.shorten.sample import find_lines
from sightline.shorten.signals import rule_lines

HEADING, OPENING, RULE = 2.5, 0.8, 1.5
DETECT = 30  # lines looked at to find out whether they have keys
KEYED = 0.3  # share of lines of the form `key: value`, from which the keys are the labels of a gist
LONGEST_KEY = 30
WIDEST = 40  # characters of a heading as a label

_HEADING = re.compile(r"\n(?:#{1,6} \S|[A-Z][^.!?\n]{2,70}:$|<h[1-6]\b|第.{1,8}[章节条])", re.MULTILINE)
_OPENING = re.compile(r"\n\n(?![ \t]*(?:[-*+•]|\d{1,3}[.)、])\s)\S")
_JOINED = str.maketrans(" .-/", "____")  # a key of several words is a name too


def prose_levels(view: View) -> Levels:
    """Prefer headings, lines that open a paragraph, lines that state a rule, and lines with values."""
    marks = view.unusual_marks()
    rules = set(rule_lines(view.sample.lines, view.values, view.worths.first))
    for i in rules:
        marks[i] = max(marks.get(i, 0.0), RULE)
    for i, _ in find_lines(_OPENING, view.sample):
        marks[i] = max(marks.get(i, 0.0), OPENING)
    sections = {}
    for i, _ in find_lines(_HEADING, view.sample):
        marks[i] = max(marks.get(i, 0.0), HEADING)
        sections[i] = view.sample.lines[i].strip("#<>:=* ")[:WIDEST].rstrip()
    few = rarities(["rule" if i in rules else "" for i in range(len(view.code))]) if rules else {}
    keys = {} if sections else _key_sections(view)
    return line_levels(view, marks, {**marks, **few}, sections or keys, order=failure_order(view), add_names=bool(keys))


def _key_sections(view: View) -> dict[int, str]:
    """Return every line of the form `key: value`, if there are enough of them."""
    some = sum(map(bool, map(_key, view.code[:DETECT])))
    if some < 3 or some < KEYED * len(view.code[:DETECT]):
        return {}
    return {i: key for i, line in enumerate(view.code) if (key := _key(line))}


def _key(line: str) -> str:
    """Return what is before a colon or an equals sign, if it is a name."""
    for separator in (": ", "="):
        head, sign, _ = line.partition(separator)
        if sign:
            key = head.strip(" \t-*•\"'`")
            return key if len(key) <= LONGEST_KEY and key.translate(_JOINED).isidentifier() else ""
    return ""
