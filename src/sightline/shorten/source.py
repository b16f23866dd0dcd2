"""Source code: what is imported and defined, and where."""

from collections.abc import Sequence

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

DEFINES = 2.5
CONSTANT = 0.8
IMPORTS = 0.3

_IMPORT = pattern(r"import\b|from [\w.]+ import\b|#include\b|use [\w:]+|using [\w.]+;|package \w")
_DEFINITION = pattern(
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]{1,9}\))?|unsafe|"
    r"override|open|sealed|data|inline|extern|virtual|readonly|const|declare) ){0,5}"
    r"(?:(?:def|class|function\*?|fn|func|interface|struct|enum|trait|impl|mod|module|namespace|type|object|protocol|extension|"
    r"CREATE \w+)\b[ (<*]{1,3}[\w$\"'`(\[]|(?:describe|it|test)\([\"'`]|"
    r"(?:let |var )?[\w$]+(?: *:[^=\n]{1,80})? *= *(?:async *)?(?:\(|function|\w+ *=>|use[A-Z]|React\.)|"
    r"[\w<>\[\], .?]{0,80}\w\()"
)
_CONSTANT = pattern(
    r"(?:(?:export|const|let|var|static|final|public|private|pub) ){0,4}[A-Z_][A-Z0-9_]{2,60}\b *(?::[^=\n]{0,40})?="
)
_NAME = pattern(
    r"\b(?:def|class|function\*?|fn|func|interface|struct|enum|trait|impl|mod|module|namespace|type|object|protocol|"
    r"extension|const|let|var|TABLE|VIEW|INDEX)\s+(?:\([^)\n]{0,80}\)\s*)?[\"'`]?([A-Za-z_$][\w$]{1,60})|"
    r"([A-Za-z_$][\w$]{2,60})\s*\("
)
_WORDS = (
    "import from #include use using package export default public private protected internal static final "
    "abstract async pub pub(crate) unsafe override open sealed data inline extern virtual readonly const declare "
    "def class function function* fn func interface struct enum trait impl mod module namespace type object "
    "protocol extension CREATE let var"
)
_OPENERS = frozenset(_WORDS.split())
_STARTS = frozenset(word[:2] for word in (*_OPENERS, "describe(", "it(", "test("))  # other lines define nothing
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
    found = sum(mark in (DEFINES, IMPORTS) for mark in _code_marks(lines).values())
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
    marks = _code_marks(view.code)  # no trouble marks: code that handles errors is full of such words
    return marks, _sections(view, marks)


def defined_name(line: str) -> str:
    """Return the name that a line of code, without the blanks before it, defines; empty if it defines none."""
    if line[:2] not in _STARTS or _mark(line.partition(" ")[0], line) != DEFINES:
        return ""
    match = _NAME.search(line)
    return (match[1] or match[2]) if match else ""


def _sections(view: View, marks: dict[int, float]) -> dict[int, str]:
    """Return the definitions. A name that repeats, as methods do, gets the name of its type in front."""
    sections: dict[str, int] = {}
    owner = ""
    for i, mark in marks.items():
        match = _NAME.search(view.code[i]) if mark == DEFINES else None
        if not match:
            continue
        name = match.group(1) or match.group(2)
        if match.group().startswith(("class", "impl", "interface", "trait", "struct", "module")):
            owner = name
        elif owner and (name in sections or name.startswith("__")):
            name = f"{owner}.{name}"
        sections.setdefault(name, i)
    return {i: name for name, i in sections.items()}


def _code_marks(lines: Sequence[str]) -> dict[int, float]:
    """Return what lines of code are worth in addition to their values, where it is anything."""
    marks = {}
    for i, text in enumerate(map(str.lstrip, lines)):
        if (text[:2] in _STARTS or text[:3].isupper()) and (mark := _mark(text.partition(" ")[0], text)):
            marks[i] = mark
    return marks


def _mark(word: str, text: str) -> float:
    if word not in _OPENERS and not word.isupper() and word[:2] not in ("de", "it", "te"):
        return 0.0
    if word in _OPENERS and _IMPORT.match(text):
        return IMPORTS
    if _CONSTANT.match(text):
        return CONSTANT
    return DEFINES if not word.isupper() and _DEFINITION.match(text) else 0.0
