"""Anchors in text: `[button:cmd]`, `[form:cmd name=value]`, `[ref:id]`. Only the registry makes one executable.

    marker = "[" ("button" / "form" / "ref" / "fold" / "expand") ":" name *(" " name "=" [value]) "]"
    name   = 1*(ALPHA / DIGIT / "_" / "-" / "." / ":")  ; ALPHA is any letter of any script
    value  = word without spaces, quotes and brackets / quoted text, in which \\ takes the next character as it is

A `[` right after a backslash begins no marker, which is how text that only looks like one is written.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sightline.apps.context import Anchor, AnchorType

NAME = re.compile(r"[\w.:-]+")
"""What commands, targets and fields may be called."""

_NAME = NAME.pattern
_VALUE = r'(?:"(?:[^"\\\n]|\\.)*"|[^\s"\[\]]*)'
_KINDS = "button|form|ref|fold|expand"
_MARKER = re.compile(rf"(?<!\\)\[({_KINDS}):({_NAME})((?: +{_NAME}={_VALUE})*)\]")
_FIELD = re.compile(rf"({_NAME})=({_VALUE})")
_FRAMES = "window |end of window |窗口 "  # the lines around a window in Markdown
_OURS = re.compile(rf"\[(?=(?:{_KINDS}):|(?:GIST|SUMMARY|FULL)\]|{_FRAMES})|\*\*(?=\[)")
_ENTRY = re.compile(r"(?<!\\)\*\*\[([^\]\n]+)\]\*\*")


class Marker(NamedTuple):
    """A marker as it stands in a text, and the entry it stands in."""

    kind: str
    name: str
    values: dict[str, str]
    entry: str = ""

    @property
    def default_key(self) -> str:
        """The registry's key that it has without its entry. `fold` and `expand` are short for a button on an entry."""
        return key(self.kind, self.name) if self.kind in ("fold", "expand") else self.name


def escaped(text: str) -> str:
    """A text that is not ours, in which nothing is a marker, a level's label, an entry's id or a window's frame."""
    return _OURS.sub(r"\\\g<0>", text)


def marker(anchor: Anchor, name: str) -> str:
    """How an anchor is written: a form with its parameters to fill in."""
    match anchor.type:
        case AnchorType.BUTTON:
            return f"[button:{name}]"
        case AnchorType.FORM:
            return f"[form:{name} {' '.join(f'{param}=' for param in anchor.params)}]"
        case AnchorType.REFERENCE:
            return f"[ref:{name}]"


def markers(content: str) -> Iterator[Marker]:
    """The markers of a content, in order: each knows the entry it stands in, which ends at an empty line."""
    entry = ""
    for line in content.split("\n"):
        if found := _ENTRY.search(line):
            entry = found[1]
        elif not line.strip():
            entry = ""
        for match in _MARKER.finditer(line):
            yield Marker(
                match[1], match[2], {name: _unquoted(value) for name, value in _FIELD.findall(match[3])}, entry
            )


def read(text: str) -> Marker | None:
    """One marker alone, as somebody who presses it writes it; None for anything else."""
    match = _MARKER.fullmatch(text.strip())
    if match is None:
        return None
    return Marker(match[1], match[2], {name: _unquoted(value) for name, value in _FIELD.findall(match[3])})


def key(command: str, target: str | None = None) -> str:
    """Under which name an action stands in the registry: with the thing it is done to, where there is one."""
    return f"{command}-{target}" if target else command


def resolve(marker: Marker, anchors: Mapping[str, Anchor], entry: str = "") -> str | None:
    """The registry's key of a marker that stands in an entry; None where nothing is registered for it.

    What is offered on the entry goes before what is offered on the whole. A `ref` points at references and at nothing
    that could be executed; all others mean what can be.
    """
    candidates = [marker.default_key]
    if marker.kind not in ("fold", "expand"):
        candidates.insert(0, key(marker.name, entry or marker.entry))
    points = marker.kind == "ref"
    return next(
        (each for each in candidates if each in anchors and (anchors[each].type is AnchorType.REFERENCE) is points),
        None,
    )


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
