"""What an app shows, as an immutable value: header, state, content, anchors, history."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from sightline.errors import BadInput
from sightline.values.decoders import convert
from sightline.values.items import Lod

# The version of this value's format. The minimum fields (app, session, version, level, anchors) are never removed, new
# fields are optional, and a field that is no longer wanted stays for two more versions.
MODEL = "1.0"


class AnchorType(StrEnum):
    """Button: an action without parameters. Form: one with parameters to fill in. Reference: only points."""

    BUTTON = "Button"
    FORM = "Form"
    REFERENCE = "Reference"


class Anchor(Struct, frozen=True):
    """Something in a context's registry that can be pressed, filled in or pointed at."""

    type: AnchorType
    params: tuple[str, ...]
    target: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.type, AnchorType):
            raise BadInput(f"{self.type!r} is no type of anchor; choose one of {', '.join(AnchorType)}")
        if bool(self.params) != (self.type is AnchorType.FORM):
            raise BadInput(f"a Form has parameters, a {self.type} has none; got {self.params!r}")
        force_setattr(self, "params", freeze(self.params))


class Version(Struct, frozen=True, order=True):
    """Which state a context shows. major counts changes of the data, minor of the level, patch of the rendering."""

    major: int
    minor: int
    patch: int

    def is_compatible_with(self, other: "Version") -> bool:
        """Return whether an action on one still makes sense for the other: the data are the same."""
        return self.major == other.major

    def can_reuse_content(self, other: "Version") -> bool:
        """Return whether the content of one may be shown for the other: data and level are the same."""
        return (self.major, self.minor) == (other.major, other.minor)

    def after_change(self) -> "Version":
        """Return the version after a change of the data."""
        return Version(self.major + 1, 0, 0)

    def after_switch(self) -> "Version":
        """Return the version after a change of level."""
        return Version(self.major, self.minor + 1, 0)

    def after_rerender(self) -> "Version":
        """Return the version after a change of how the same data are rendered at the same level."""
        return Version(self.major, self.minor, self.patch + 1)


class Header(Struct, frozen=True, rename="camel"):
    """Which app, session, version and time a context belongs to."""

    app_id: str
    session_id: str
    version: Version
    timestamp: datetime

    def __post_init__(self) -> None:
        if not self.app_id or not self.session_id:
            raise BadInput("a context's header names its app and its session; neither may be empty")
        if not isinstance(self.version, Version):
            raise BadInput(f"a context's header says which version it shows, not {self.version!r}")
        if not isinstance(self.timestamp, datetime) or self.timestamp.tzinfo is None:
            raise BadInput("a context's timestamp has an offset from UTC, such as 2025-12-10T10:00:00Z")


class State(Struct, frozen=True, rename="camel"):
    """The level, the element in focus, and what else the app says of its state."""

    current_lod: Lod
    focus_id: str | None = None
    custom: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.current_lod, Lod):
            raise BadInput(f"a context is shown at a level, GIST, SUMMARY or FULL, not {self.current_lod!r}")
        force_setattr(self, "custom", freeze(self.custom))


class Round(Struct, frozen=True):
    """One interaction: the action, its result and its time."""

    action: str
    result: str
    timestamp: datetime


class Context(Struct, frozen=True):
    """What an app shows at one moment and one level."""

    header: Header
    state: State
    content: str
    anchors: Mapping[str, Anchor]
    history: tuple[Round, ...] | None = None

    def __post_init__(self) -> None:
        for name, kind in (("header", Header), ("state", State), ("content", str), ("anchors", Mapping)):
            if not isinstance(getattr(self, name), kind):
                raise BadInput(f"a context has a {name}; {getattr(self, name)!r} is none")
        force_setattr(self, "anchors", freeze(self.anchors))
        force_setattr(self, "history", freeze(self.history))


def freeze(value: Any) -> Any:
    """Return an immutable copy of plain data."""
    match value:
        case Mapping():
            return MappingProxyType({name: freeze(inner) for name, inner in value.items()})
        case list() | tuple():
            return tuple(map(freeze, value))
        case _:
            return value


def to_json(context: Context) -> bytes:
    """Return the context as JSON, with camelCase names, enums as words, and nulls."""
    data = msgspec.to_builtins(context, enc_hook=dict)  # dict: for read-only mappings
    data["state"]["currentLod"] = context.state.current_lod.name.title()
    return msgspec.json.encode(data)


def from_json(data: bytes | str) -> Context:
    """Read the context that `to_json` wrote. Unknown fields are ignored.

    Raises:
        BadInput: it is no context; says where it is wrong.
    """
    try:
        fields = msgspec.json.decode(data)
        state = fields["state"]
        levels = {lod.name.title(): lod for lod in Lod}
        if state["currentLod"] not in levels:
            raise BadInput(f"currentLod {state['currentLod']!r} is no level; choose one of {', '.join(levels)}")
        return convert({**fields, "state": {**state, "currentLod": levels[state["currentLod"]]}}, Context)
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError, RecursionError) as error:
        raise BadInput(f"this is no context: {error}") from error
