"""The wires, found by name: ours, those that this program has registered, and those of installed packages."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from sightline.errors import BadInput
from sightline.values.foreign_code import load_installed, offers, warn_once
from sightline.wire.call_ids import IdRule
from sightline.wire.wire import Reader, Wire

if TYPE_CHECKING:
    from sightline.wire import anthropic, gemini, openai_chat, openai_responses

    _ARE_WIRES: tuple[Wire, ...] = (openai_chat, anthropic, openai_responses, gemini)  # so that their types are checked

# Each is imported when it is first needed.
OURS = {"openai": "openai_chat", "anthropic": "anthropic", "responses": "openai_responses", "gemini": "gemini"}

GROUP = "sightline.wires"
"""The entry point group in which a package offers wires of its own: the wire's NAME, and a module or an object."""

REGISTERED: dict[str, Wire] = {}
"""What this program has registered, by name."""

_HOOKS = (*Wire.__annotations__, *(name for name in vars(Wire) if not name.startswith("_")))

_KINDS: dict[str, type] = {"NAME": str, "LIST": str, "IDS": IdRule, "BREAKPOINTS": int}
_WORDS: dict[type, str] = {str: "text", IdRule: "a sightline.wire.call_ids.IdRule", int: "a whole number"}


def register(wire: Wire) -> None:
    """Make a wire known in this process: by its name, and to all that find out a format themselves.

    Raises:
        BadInput: it is no wire, or the name is that of one of ours.
    """
    check(wire, "the wire")
    if wire.NAME in OURS:
        raise BadInput(f"there is a wire {wire.NAME!r} already; choose another NAME")
    REGISTERED[wire.NAME] = wire


def names() -> list[str]:
    """The names of all wires: ours, then those of this program and of installed packages."""
    return [*OURS, *sorted({*REGISTERED, *(offer.name for offer in offers(GROUP))} - {*OURS})]


def wire(name: str) -> Wire:
    """The wire of this name.

    Raises:
        BadInput: there is none, it cannot be loaded, or several packages offer it.
    """
    if name in REGISTERED:
        return REGISTERED[name]
    return _ours(name) if name in OURS else _offered(name)


def known() -> Iterator[Wire]:
    """The wires of this program and ours, in the order in which they are asked."""
    yield from REGISTERED.values()
    yield from map(_ours, OURS)


def offered() -> Iterator[Wire]:
    """The wires of installed packages, in the order in which they are asked. One that cannot be loaded is a warning."""
    for name, wire in _loaded().items():
        if name not in REGISTERED:
            yield wire


def is_ours(wire: Reader) -> bool:
    """Whether a wire is one of this package."""
    return wire.NAME in OURS and wire is _ours(wire.NAME)


@cache
def _ours(name: str) -> Wire:
    return cast(Wire, import_module(f"sightline.wire.{OURS[name]}"))


@cache
def _loaded() -> dict[str, Wire]:
    """The wires of installed packages by name, loaded once."""
    wires: dict[str, Wire] = {}
    for name in sorted({offer.name for offer in offers(GROUP)} - {*OURS}):
        try:
            wires[name] = _offered(name)
        except BadInput as error:
            warn_once("wire", name, "is not used:", error)
    return wires


@cache
def _offered(name: str) -> Wire:
    if (offered := load_installed(GROUP, "a wire", name)) is None:
        raise BadInput(f"unknown format {name!r}; choose one of {', '.join(names())}")
    loaded, place = offered
    check(loaded, f"wire {name!r} ({place})")
    return cast(Wire, loaded)


def check(wire: object, where: str) -> None:
    """Raise BadInput if this is no wire. Says what is missing or of the wrong type."""
    if isinstance(wire, type):
        raise BadInput(f"{where} is a class; pass an object of it: {wire.__name__}()")
    if missing := [hook for hook in _HOOKS if not hasattr(wire, hook)]:
        hint = "pass a name such as 'openai', 'responses', 'anthropic' or 'gemini', or an object that is a wire"
        raise BadInput(f"{where} has no {', '.join(missing)}; {hint}")
    for hook, kind in _KINDS.items():
        constant = getattr(wire, hook)
        if not isinstance(constant, kind) or constant == "":
            raise BadInput(f"{where} has {hook} = {constant!r}; it is {_WORDS[kind]}")
    if odd := [hook for hook in _HOOKS if hook not in _KINDS and not callable(getattr(wire, hook))]:
        raise BadInput(f"{where}: {', '.join(odd)} must be callable")
