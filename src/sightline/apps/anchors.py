"""Anchors in text: `[button:cmd]`, `[form:cmd name=value]`, `[ref:id]`. Only those in a registry can be executed.

    marker = "[" ("button" / "form" / "ref" / "fold" / "expand") ":" name *(" " name "=" [value]) "]"
    name   = 1*(ALPHA / DIGIT / "_" / "-" / "." / ":")  ; ALPHA is any letter of any script
    value  = word without spaces, quotes and brackets / quoted text, in which \\ takes the next character as it is

A `[` right after a backslash begins no marker. Text that only looks like a marker is escaped that way.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sightline.apps.context import Anchor, AnchorType
from sightline.values.pattern import pattern

# The names that commands, targets and fields may have.
NAME = pattern(r"[\w.:-]+")

_NAME = NAME.pattern
_VALUE = r'(?:"(?:[^"\\\n]|\\.)*"|[^\s"\[\]]*)'
_KINDS = "button|form|ref|fold|expand"
_MARKER = pattern(rf"(?<!\\)\[({_KINDS}):({_NAME})((?: +{_NAME}={_VALUE})*)\]")
_FIELD = pattern(rf"({_NAME})=({_VALUE})")
_FRAMES = "window |end of window |窗口 "  # the lines around a window in Markdown
_SYNTAX = pattern(rf"\[(?=(?:{_KINDS}):|(?:GIST|SUMMARY|FULL)\]|{_FRAMES})|\*\*(?=\[)")
_ENTRY = pattern(r"(?<!\\)\*\*\[([^\]\n]+)\]\*\*")


class Marker(NamedTuple):
    """A marker in a text, and the entry that it belongs to."""

    kind: str
    name: str
    values: dict[str, str]
    entry: str = ""

    @property
    def default_key(self) -> str:
        """The registry's key that it has without its entry. `fold` and `expand` are short for a button on an entry."""
        return key(self.kind, self.name) if self.kind in ("fold", "expand") else self.name


def escaped(text: str) -> str:
    """Escape a text of somebody else, so that nothing in it is a marker, a level's label, an entry's id or a frame."""
    return _SYNTAX.sub(r"\\\g<0>", text)


def marker(anchor: Anchor, name: str) -> str:
    """Return how an anchor is written; a form with its parameters to fill in."""
    match anchor.type:
        case AnchorType.BUTTON:
            return f"[button:{name}]"
        case AnchorType.FORM:
            return f"[form:{name} {' '.join(f'{param}=' for param in anchor.params)}]"
        case AnchorType.REFERENCE:
            return f"[ref:{name}]"


def markers(content: str) -> Iterator[Marker]:
    """Return the markers of a content in order. Each belongs to the entry before it, which ends at an empty line."""
    entry = ""
    for line in content.split("\n"):
        if begun := _ENTRY.search(line):
            entry = begun[1]
        elif not line.strip():
            entry = ""
        for match in _MARKER.finditer(line):
            yield _marker(match, entry)


def read(text: str) -> Marker | None:
    """Return the marker that a text consists of; None for any other text."""
    match = _MARKER.fullmatch(text.strip())
    return None if match is None else _marker(match)


def _marker(match: re.Match[str], entry: str = "") -> Marker:
    values = {
        name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        for name, value in _FIELD.findall(match[3])
    }
    return Marker(match[1], match[2], values, entry)


def key(command: str, target: str | None = None) -> str:
    """Return the registry's key of an action, with the id of its target if it has one: `remove-1`."""
    return f"{command}-{target}" if target else command


def resolve(marker: Marker, anchors: Mapping[str, Anchor], entry: str = "") -> str | None:
    """Return the registry's key of a marker in an entry; None if nothing is registered for it.

    An action on the entry goes before an action of the whole window. A `ref` finds only references; all other kinds
    find only what can be executed.
    """
    candidates = [marker.default_key]
    if marker.kind not in ("fold", "expand"):
        candidates.insert(0, key(marker.name, entry or marker.entry))
    for candidate in candidates:
        if candidate in anchors and (anchors[candidate].type is AnchorType.REFERENCE) is (marker.kind == "ref"):
            return candidate
    return None
