"""What a tool call is about."""

from typing import Any

from sightline.values.items import Call

KEYS = (
    # Where several are given the first one here is the subject: a path says more than the pattern looked for in it.
    "file_path", "filePath", "notebook_path", "path", "filename", "file", "target_file", "url", "uri", "command", "cmd",
    "pattern", "query", "q", "script", "code", "name", "id",
)  # fmt: skip
LONGEST = 2000  # a command may be a whole script; its beginning says what it is


def subject_of(call: Call) -> str:
    """The path, command, URL, pattern or query in the arguments of a call; "" if there is none."""
    if not isinstance(call.input, dict):
        return ""
    for key in KEYS:
        found = _said(call.input.get(key))
        if found:
            return found[:LONGEST]
    return ""


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        if len(value) == 3 and value[1] in ("-c", "-lc"):  # a shell told to run one line
            return str(value[2]).strip()
        return " ".join(value).strip()
    return ""
