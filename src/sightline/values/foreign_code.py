"""Code of other packages that fails: one warning names it, and the work goes on without it."""

import warnings

from sightline.values.logger import log_warning

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
