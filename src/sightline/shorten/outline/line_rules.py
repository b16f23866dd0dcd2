"""What the lines of a text define, by how they begin: for languages without a grammar, or if it is not installed.

In languages that indent the members of a class only lines without indentation count. Strings and comments are not
recognised: a definition inside one is taken for one.
"""

import re
from collections.abc import Iterator

from sightline.shorten.outline.grammars import Definition

_NAME = r"([A-Za-z_$][\w$]{0,80})"
_JS_WORDS = r"^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?"
_JS = (
    rf"{_JS_WORDS}function\s*\*?\s*{_NAME}|^(?:export\s+)?(?:const|let|var)\s+{_NAME}\s*=\s*(?:async\s*)?"
    r"(?:function\b|\([^()\n]{0,200}\)\s*=>|[\w$]{1,80}\s*=>)",
    rf"{_JS_WORDS}(?:class|interface|enum)\s+{_NAME}",
)
_C = (
    rf"^(?:[A-Za-z_][\w:<>,*&]{{0,60}}[ \t*&]+){{1,5}}{_NAME}\s{{0,4}}\([^;{{}}\n]{{0,200}}\)\s{{0,4}}\{{?$",
    rf"^(?:typedef\s+)?(?:struct|class|union|enum(?:\s+class)?)\s+{_NAME}(?=[^;()\n]{{0,200}}(?:\{{|$))",
)
_MODIFIERS = r"(?:(?:public|protected|private|static|final|abstract|synchronized|native|default|sealed)\s+)"

# For each language: what defines a function, and what a class. The name is the first group that matches.
_RULES: dict[str, tuple[str, str]] = {
    "python": (rf"^(?:async[ \t]+)?def[ \t]+{_NAME}", rf"^class[ \t]+{_NAME}"),
    "javascript": _JS,
    "typescript": _JS,
    "java": (
        rf"^[ \t]{{1,12}}{_MODIFIERS}{{1,4}}(?:<[^>\n]{{1,60}}>\s*)?[\w<>\[\],.?]{{1,80}}\s+{_NAME}\s{{0,4}}\(",
        rf"^[ \t]{{0,12}}{_MODIFIERS}{{0,4}}(?:class|interface|enum|record)\s+{_NAME}",
    ),
    "c": _C,
    "cpp": _C,
    "go": (rf"^func\s+{_NAME}\s{{0,4}}[(\[]", rf"^type\s+{_NAME}\s"),
    "rust": (
        rf"^(?:pub(?:\([a-z]{{1,9}}\))?\s+)?(?:(?:async|const|unsafe)\s+){{0,3}}fn\s+{_NAME}",
        rf"^(?:pub(?:\([a-z]{{1,9}}\))?\s+)?(?:struct|enum|trait|union)\s+{_NAME}",
    ),
    "php": (
        rf"^function\s+&?\s*{_NAME}",
        rf"^(?:(?:abstract|final|readonly)\s+){{0,3}}(?:class|interface|trait|enum)\s+{_NAME}",
    ),
    "ruby": (r"^def\s+(?:self\.)?([A-Za-z_]\w{0,80}[?!]?)", r"^(?:class|module)\s+([A-Z][\w:]{0,80})"),
    "shell": (r"^(?:function\s+([\w:.-]{1,80})|([\w:.-]{1,80})\s{0,4}\(\s{0,4}\))", ""),
    # There is no wheel of a grammar for R, and the one for SQL has no procedures.
    "r": (
        r"^([A-Za-z.][\w.]{0,80})\s{0,4}(?:<<?-|=)\s{0,4}(?:function\s{0,4}\(|\\\()",
        r"^(?:([A-Za-z.][\w.]{0,80})\s{0,4}(?:<-|=)\s{0,4})?(?:R6Class|setRefClass|setClass)\(\s{0,4}[\"']([\w.]{1,80})",
    ),
    "sql": (
        r"^[ \t]{0,12}create\s+(?:or\s+(?:replace|alter)\s+)?(?:definer\s*=\s*\S{1,80}\s+)?(?:aggregate\s+)?"
        r"(?:function|procedure|proc)\s+(?:if\s+not\s+exists\s+)?([\w.\"`\[\]]{1,120})",
        "",
    ),
}  # fmt: skip


def defined(text: str, language: str) -> Iterator[Definition]:
    """Yield what the lines of a text define, in order; nothing for a language without a rule."""
    functions, classes = _RULES.get(language, ("", ""))
    placed = [*_matches(functions, text, language), *_matches(classes, text, language, is_class=True)]
    yield from (definition for _, definition in sorted(placed, key=lambda place: place[0]))


def _matches(pattern: str, text: str, language: str, *, is_class: bool = False) -> Iterator[tuple[int, Definition]]:
    flags = re.MULTILINE | (re.IGNORECASE if language == "sql" else 0)
    for match in re.finditer(pattern, text, flags) if pattern else ():
        name = next((group for group in match.groups() if group), "").strip('"`[]')
        if name and name not in _NO_NAMES:
            yield match.start(), Definition(name, is_class)


_NO_NAMES = frozenset(("if", "else", "for", "while", "switch", "return", "catch", "do", "sizeof"))
