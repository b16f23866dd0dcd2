"""The subject of a tool call."""

from typing import Any

from sightline.values.items import Call

KEYS = (
    # If several are given, the first one here is the subject: a path says more than the pattern that is searched in it.
    "file_path", "filePath", "notebook_path", "path", "filename", "file", "target_file", "url", "uri", "command", "cmd",
    "pattern", "query", "q", "script", "code", "name", "id",
)  # fmt: skip
LONGEST = 2000  # characters; a command may be a whole script, and its beginning says what it is


def subject_of(call: Call) -> str:
    """Return the path, command, URL, pattern or query in the arguments of a call; "" if there is none."""
    given = call.input if isinstance(call.input, dict) else {}
    return next(filter(None, (text_of(given.get(key)) for key in KEYS)), "")[:LONGEST]


def text_of(value: Any) -> str:
    """Return an argument as text: a string, or the words of a command line. Of `bash -c LINE` only the line."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        runs_line = len(value) == 3 and value[1] in ("-c", "-lc")
        return str(value[2] if runs_line else " ".join(value)).strip()
    return ""
