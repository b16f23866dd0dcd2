"""Source code: what is imported and defined, and where."""

import re

from sightline.renditions.lines import Levels, View, gist_level, summary_level, troubles
from sightline.renditions.sample import where

CODE = frozenset(
    # fmt: off
    (
        "py",
        "pyi",
        "ts",
        "tsx",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "go",
        "rs",
        "java",
        "kt",
        "scala",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cs",
        "rb",
        "php",
        "swift",
        "sh",
        "bash",
        "zsh",
        "lua",
        "pl",
        "r",
        "jl",
        "ex",
        "exs",
        "erl",
        "hs",
        "ml",
        "sql",
        "vue",
        "svelte",
        "dart",
        "zig",
        "css",
        "scss",
        "tf",
        "proto",
        "graphql",
    )
    # fmt: on
)
DETECT = 16 * 1024  # characters looked at to tell code from other text
ENOUGH = 0.04  # share of lines that define or import something, above which a text without a telling name is code

DEFINES = 2.5
CONSTANT = 0.8
IMPORTS = 0.3

_MARK = re.compile(
    r"\n(?:[ \t]*\d{1,7}(?:→|\t|\||[:-][ \t]))?[ \t]*(?:"
    r"(?P<imports>import\b|from [\w.]+ import\b|#include\b|use [\w:]+|using [\w.]+;|package \w)|"
    r"(?P<defines>(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]{1,9}\))?|"
    r"unsafe|override|open|sealed|data|inline|extern|virtual|const) ){0,5}"
    r"(?:(?:def|class|function\*?|fn|func|interface|struct|enum|trait|impl|mod|module|namespace|type|object|protocol|extension|"
    r"CREATE \w+)\b[ (<*]{1,3}[\w$\"'`(\[]|(?:describe|it|test)\([\"'`]|"
    r"(?:const|let|var) [\w$]+(?: *:[^=\n]{1,80})? *= *(?:async *)?(?:\(|function|\w+ *=>|use[A-Z]|React\.)|[\w$]+ *= *(?:async *)?\([^)\n]{0,120}\) *=>)|"
    r"(?:public|private|protected|static|final|override|readonly) [\w<>\[\], .?]{0,80}\()|"
    r"(?P<constant>(?:export )?(?:const |let |var )?[A-Z_][A-Z0-9_]{2,60} *(?::[^=\n]{0,40})?=))",
)
_NAME = re.compile(r"\.([A-Za-z]\w{0,5})(?![\w./])")


def is_source(seen: View) -> bool:
    """Whether the file's name says code, or enough of its lines define something."""
    if any(match.group(1) in CODE for match in _NAME.finditer(seen.subject[:400])):
        return True
    found = sum(match["constant"] is None for match in _MARK.finditer(seen.sample.text, 0, DETECT))
    return found >= 3 and found >= ENOUGH * seen.sample.text.count("\n", 0, DETECT)


def source(seen: View) -> Levels:
    """Definitions first, with their line numbers where the text is a whole file."""
    # code that handles errors is full of the word
    marks = {i: mark / 3 for i, mark in troubles(seen.sample).items()}
    starts = []
    for i, match in where(_MARK, seen.sample):
        marks[i] = marks.get(i, 0.0) + (IMPORTS if match["imports"] else CONSTANT if match["constant"] else DEFINES)
        if not match["imports"] and not match["constant"]:
            starts.append(i)
    whole_file = not seen.own_numbers and bool(seen.subject) and not re.search(r"\s", seen.subject)
    return Levels(summary_level(seen, marks, add_numbers=whole_file), gist_level(seen, {}, starts))
