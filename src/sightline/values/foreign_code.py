"""Code of others: what installed packages offer, files of a project, and the warning about code that fails."""

import sys
import warnings
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.errors import BadInput
from sightline.values.logger import log_warning

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_warned: set[tuple[str, str]] = set()  # kind and name of what a warning was about


def warn_once(kind: str, code: object, what: str, error: BaseException | None = None) -> None:
    """Say once that code of this kind is not used: its name, and what went wrong. `code` is its name, or has one.

    Never raises: if warnings are errors in this program, it is logged instead, because code of others breaks nothing.
    """
    name = code if isinstance(code, str) else name_of(code)
    if (kind, name) in _warned:
        return
    _warned.add((kind, name))
    text = f"{kind} {name!r} {what}{f' {described(error)}' if error is not None else ''}; the next one is asked"
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except Warning:
        log_warning(text)


def name_of(code: object) -> str:
    """The name that code of others has, as text; that of its type if it has none. Never raises."""
    for attribute in ("NAME", "name"):
        try:
            return str(getattr(code, attribute))
        except Exception:
            continue
    return type(code).__name__


def described(error: BaseException) -> str:
    """The repr of an error of others, or its type if that fails too. Never raises."""
    try:
        return repr(error)
    except Exception:
        return type(error).__name__


def offers(group: str) -> Iterator["EntryPoint"]:
    """What installed packages offer in this entry point group. Imports none of it."""
    from importlib.metadata import entry_points  # 10 ms, so not before a text is shortened or a session is resumed

    return iter(entry_points(group=group))


def load_installed(group: str, what: str, name: str) -> tuple[Any, str] | None:
    """What installed packages offer under this name, and where it is; None: there is none. `what`: "an app", say.

    Raises:
        BadInput: it cannot be loaded, or several packages offer it.
    """
    by_place = {offer.value: offer for offer in offers(group) if offer.name == name}
    if len(by_place) > 1:
        raise BadInput(f"several packages offer {what} {name!r}: {', '.join(by_place)}")
    for place, offer in by_place.items():
        try:
            return offer.load(), place
        except Exception as error:  # importing another package may raise anything
            kind = what.partition(" ")[2]
            raise BadInput(f"{kind} {name!r} ({place}) cannot be loaded: {described(error)}") from error
    return None


def types_in_file(path: Path, module_name: str) -> list[type]:
    """Run a Python file as a module of this name, and return the types that it defines, in order.

    Raises:
        BadInput: there is no such file, or it fails.
    """
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BadInput(f"no file {str(path)!r}")
    module = module_from_spec(spec)
    sys.modules[module_name] = module  # because type hints are looked up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a file may raise anything when it is run
        raise BadInput(f"{path} cannot be loaded: {error!r}") from error
    return [member for member in vars(module).values() if isinstance(member, type) and member.__module__ == module_name]
