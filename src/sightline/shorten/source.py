"""Source code: what is imported and defined, and where."""

from collections.abc import Sequence

from sightline.shorten.code_lines import DEFINES, IMPORTS, NAME, code_marks
from sightline.shorten.failures import failure_order, is_document
from sightline.shorten.lines import IN_ORDER_OF_WORTH, Levels, View, line_levels
from sightline.values.pattern import pattern

_EXTENSIONS = (
    "py pyi ts tsx js jsx mjs cjs go rs java kt scala c h cc cpp hpp cs rb php swift sh bash zsh lua pl r jl ex exs "
    "erl hs ml sql vue svelte dart zig css scss tf proto graphql"
)
CODE = frozenset(_EXTENSIONS.split())
DETECT = 200  # lines looked at to distinguish code from other text
ENOUGH = 0.04  # share of lines that define or import something, from which a text is code whatever its name

_BLANK = pattern(r"\s")
_ENDING = pattern(r"\.([A-Za-z]\w{0,5})(?![\w./])")


def is_code_file(view: View) -> bool:
    """Whether the subject is nothing but the name of a code file."""
    return view.subject.rpartition(".")[2] in CODE and not _BLANK.search(view.subject)


def names_code(subject: str) -> bool:
    """Whether the subject of a call names a code file."""
    return any(match.group(1) in CODE for match in _ENDING.finditer(subject[:400]))


def is_source(view: View) -> bool:
    """Whether the subject names a code file, or enough lines define something."""
    if names_code(view.subject):
        return True
    return has_code(view.code)


def has_code(lines: Sequence[str]) -> bool:
    """Whether enough of the first lines define or import something."""
    lines = lines[:DETECT]
    found = sum(mark in (DEFINES, IMPORTS) for mark in code_marks(lines).values())
    return found >= 3 and found >= ENOUGH * len(lines)


def source_levels(view: View) -> Levels:
    """Prefer definitions, with line numbers if the text is a whole file. Values are listed under their definition.

    A call that names code may have run it: where nothing is defined, errors and the last lines come first.
    """
    marks, sections = outline(view)
    whole_file = not view.has_numbers and bool(view.subject) and not _BLANK.search(view.subject)
    order = IN_ORDER_OF_WORTH if is_document(view) or has_code(view.code) else failure_order(view)
    return line_levels(view, marks, marks, sections, order=order, add_numbers=whole_file)


def outline(view: View) -> tuple[dict[int, float], dict[int, str]]:
    """Return the marks of lines that define something, and the definitions with the lines where they begin."""
    marks = code_marks(view.code)  # no trouble marks: code that handles errors is full of such words
    return marks, _sections(view, marks)


def _sections(view: View, marks: dict[int, float]) -> dict[int, str]:
    """Return the definitions. A name that repeats, as methods do, gets the name of its type in front."""
    sections: dict[str, int] = {}
    owner = ""
    for i, mark in marks.items():
        match = NAME.search(view.code[i]) if mark == DEFINES else None
        if not match:
            continue
        name = match.group(1) or match.group(2)
        if match.group().startswith(("class", "impl", "interface", "trait", "struct", "module")):
            owner = name
        elif owner and (name in sections or name.startswith("__")):
            name = f"{owner}.{name}"
        sections.setdefault(name, i)
    return {i: name for name, i in sections.items()}
