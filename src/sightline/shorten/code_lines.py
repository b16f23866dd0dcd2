"""Lines of code: what one defines or imports, by its first word, in any language."""

from collections.abc import Sequence

from sightline.values.pattern import pattern

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
NAME = pattern(
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


def code_marks(lines: Sequence[str]) -> dict[int, float]:
    """Return what lines of code are worth in addition to their values, where it is anything."""
    marks = {}
    for i, text in enumerate(map(str.lstrip, lines)):
        if (text[:2] in _STARTS or text[:3].isupper()) and (mark := _mark(text.partition(" ")[0], text)):
            marks[i] = mark
    return marks


def defined_name(line: str) -> str:
    """Return the name that a line of code, without the blanks before it, defines; empty if it defines none."""
    if line[:2] not in _STARTS or _mark(line.partition(" ")[0], line) != DEFINES:
        return ""
    match = NAME.search(line)
    return (match[1] or match[2]) if match else ""


def _mark(word: str, text: str) -> float:
    if word not in _OPENERS and not word.isupper() and word[:2] not in ("de", "it", "te"):
        return 0.0
    if word in _OPENERS and _IMPORT.match(text):
        return IMPORTS
    if _CONSTANT.match(text):
        return CONSTANT
    return DEFINES if not word.isupper() and _DEFINITION.match(text) else 0.0
