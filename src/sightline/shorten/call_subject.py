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
    if not isinstance(call.input, dict):
        return ""
    for key in KEYS:
        found = text_of(call.input.get(key))
        if found:
            return found[:LONGEST]
    return ""


def text_of(value: Any) -> str:
    """Return an argument as text: a string, or the words of a command line. Of `bash -c LINE` only the line."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        if len(value) == 3 and value[1] in ("-c", "-lc"):  # a shell that runs one line
            return str(value[2]).strip()
        return " ".join(value).strip()
    return ""
