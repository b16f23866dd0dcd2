"""What Claude Code calls: before and after a compaction, and for its status line. `sightline hook install` sets it up.

Nothing here may disturb Claude Code: an error becomes a line in a file, and the exit code is 0. Little is imported
before it is needed, because the status line is shown again and again.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any

FOLDER = "claude-code"  # in the folder of all sessions: what the hooks keep
EVENTS = ("pre-compact", "session-start", "status-line")
OPTIONS = ("--root", "--lang", "--before")
LOG, SESSIONS, METERS = "hooks.log", "sessions", "meters"  # in our folder
_MOST_LOGGED = 64_000  # bytes of the log; then its older half goes
_MOST_TEXT = 500  # characters of an error


def run(event: str, options: Mapping[str, str]) -> None:
    """Answer a call of Claude Code, whose facts come on standard input. Never raises.

    options: `--root`, the folder of all sessions; `--lang`; and of the status line `--before`, another one to show.
    """
    folder = os.path.join(options.get("--root") or home(), FOLDER)  # noqa: PTH118 - pathlib takes long to import
    try:
        facts = sys.stdin.buffer.read()
        if event == "status-line":
            from sightline.adapters.claude_status import status

            for piece in status(facts, folder, options.get("--lang") or "en", options.get("--before", "")):
                _write(piece)
        else:
            _write(_answer(event, json.loads(facts), folder, options.get("--lang", "")))
    except BrokenPipeError:  # Claude Code no longer wants to know
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:  # whatever it is, Claude Code goes on
        with suppress(OSError):
            log_error(folder, f"{event}: {type(error).__name__}: {error}")


def _answer(event: str, facts: Any, folder: str, locale: str) -> str:
    """Return what a hook prints."""
    from pathlib import Path

    from sightline.adapters import claude_code

    if event == "pre-compact":
        claude_code.keep(facts, Path(folder))
    elif event != "session-start":
        raise ValueError(f"there is no such hook; choose one of {', '.join(EVENTS)}")
    elif text := claude_code.give_back(facts, Path(folder), locale):
        added = {"hookEventName": "SessionStart", "additionalContext": text}
        return json.dumps({"hookSpecificOutput": added}) + "\n"
    return ""


def _write(text: str) -> None:
    """Write to standard output, in UTF-8 whatever the terminal's encoding is: Claude Code reads that."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()


def run_command(words: list[str]) -> None:
    """Run `sightline hook run` with these words, without the rest of the command line. Unknown words say nothing."""
    options = {name: value for name, value in pairwise(words[1:]) if name in OPTIONS}
    run(words[0] if words else "", options)


def home() -> str:
    """Return the folder of all sessions, as `session_folder.sightline_home` does."""
    return os.environ.get("SIGHTLINE_HOME") or os.path.expanduser("~/.sightline")  # noqa: PTH111


def make_folder(folder: str, name: str = "") -> str:
    """Make our folder, and one of this name in it, readable by their owner only. Raises OSError."""
    for path in (folder, os.path.join(folder, name)):  # noqa: PTH118
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103
    return path


def log_error(folder: str, text: str) -> None:
    """Add a line to the log, with the time. The same error again adds nothing. Raises OSError."""
    make_folder(folder)
    line = " ".join(text.split())[:_MOST_TEXT]
    lines = read_log(folder)
    if lines and lines[-1].partition(" ")[2] == line:
        return
    handle = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)  # noqa: PTH118
    with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
        if file.tell() > _MOST_LOGGED:
            file.truncate(0)
            file.writelines(f"{older}\n" for older in lines[len(lines) // 2 :])
        file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}\n")


def read_log(folder: str) -> list[str]:
    """Return the lines of the log, the newest last."""
    try:
        with open(os.path.join(folder, LOG), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            return file.read().splitlines()
    except OSError:
        return []
