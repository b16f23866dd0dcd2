"""What an app shows, as a value: header, state, content, anchors, history. Frozen; a change makes a new one."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from sightline.errors import BadInput
from sightline.values.items import Lod

# The version of this value. Fields of the minimum set (app, session, version, level, anchors) are never removed, new
# ones are optional, one that is no longer wanted stays for two versions more.
MODEL = "1.0"


class AnchorType(StrEnum):
    """Button: an action that needs nothing more. Form: one with parameters to fill in. Reference: only points."""

    BUTTON = "Button"
    FORM = "Form"
    REFERENCE = "Reference"


class Anchor(Struct, frozen=True):
    """Something that can be pressed, filled in or pointed at. It exists by standing in a context's registry."""

    type: AnchorType
    params: tuple[str, ...]
    target: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.type, AnchorType):
            raise BadInput(f"{self.type!r} is no type of anchor; choose one of {', '.join(AnchorType)}")
        if bool(self.params) != (self.type is AnchorType.FORM):
            raise BadInput(f"a Form has parameters, a {self.type} has none; got {self.params!r}")
        force_setattr(self, "params", frozen(self.params))


class Version(Struct, frozen=True, order=True):
    """Which state a context shows. major: of the source data; minor: of the level; patch: of how it is rendered."""

    major: int
    minor: int
    patch: int

    def is_compatible_with(self, other: "Version") -> bool:
        """Whether what was said of one still makes sense of the other: the source data is the same."""
        return self.major == other.major

    def can_reuse_content(self, other: "Version") -> bool:
        """Whether the content of one may be shown for the other: data and level are the same."""
        return (self.major, self.minor) == (other.major, other.minor)

    def changed(self) -> "Version":
        """After a change of the source data."""
        return Version(self.major + 1, 0, 0)

    def switched(self) -> "Version":
        """After a change of level."""
        return Version(self.major, self.minor + 1, 0)

    def rendered(self) -> "Version":
        """After a change of how the same data are rendered at the same level."""
        return Version(self.major, self.minor, self.patch + 1)


class Header(Struct, frozen=True, rename="camel"):
    """Whose context it is, and of when."""

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
    """At which level it is shown, what has the focus, and what else the app says of itself."""

    current_lod: Lod
    focus_id: str | None = None
    custom: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.current_lod, Lod):
            raise BadInput(f"a context is shown at a level, GIST, SUMMARY or FULL, not {self.current_lod!r}")
        force_setattr(self, "custom", frozen(self.custom))


class Round(Struct, frozen=True):
    """One interaction: what was done, what came of it, and when."""

    action: str
    result: str
    timestamp: datetime


class Context(Struct, frozen=True):
    """What an app shows at one moment at one level: the app's part of what the model sees."""

    header: Header
    state: State
    content: str
    anchors: Mapping[str, Anchor]
    history: tuple[Round, ...] | None = None

    def __post_init__(self) -> None:
        for name, kind in (("header", Header), ("state", State), ("content", str), ("anchors", Mapping)):
            if not isinstance(getattr(self, name), kind):
                raise BadInput(f"a context has a {name}; {getattr(self, name)!r} is none")
        force_setattr(self, "anchors", frozen(self.anchors))
        force_setattr(self, "history", frozen(self.history))


def frozen(value: Any) -> Any:
    """Plain data that nobody can change any more, whoever else still holds what they were made from."""
    match value:
        case Mapping():
            return MappingProxyType({name: frozen(held) for name, held in value.items()})
        case list() | tuple():
            return tuple(map(frozen, value))
        case _:
            return value


def to_json(context: Context) -> bytes:
    """The context on the wire: camelCase names, enums as words, nulls kept."""
    data = msgspec.to_builtins(context, enc_hook=dict)  # read-only mappings
    data["state"]["currentLod"] = context.state.current_lod.name.title()
    return msgspec.json.encode(data)


def from_json(data: bytes | str) -> Context:
    """The context of `to_json`. Fields that this version does not know are passed over.

    Raises:
        BadInput: it is no context, and where it is wrong.
    """
    try:
        fields = msgspec.json.decode(data)
        state = fields["state"]
        levels = {lod.name.title(): lod for lod in Lod}
        if state["currentLod"] not in levels:
            raise BadInput(f"currentLod {state['currentLod']!r} is no level; choose one of {', '.join(levels)}")
        return msgspec.convert({**fields, "state": {**state, "currentLod": levels[state["currentLod"]]}}, Context)
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError, RecursionError) as error:
        raise BadInput(f"this is no context: {error}") from error
