"""The status line of Claude Code: how full the context window is, what is cached, what it cost, what was lost.

Its facts come from Claude Code; re-reads and compactions are counted in the log, of which only what is new is read.
Little is imported before it is needed, because the line is shown again and again.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

from sightline.adapters.claude_hooks import METERS, make_folder
from sightline.values.screen_text import bar

WINDOW = 200_000  # tokens, if Claude Code does not say
SAVINGS = "session-savings.json"  # in the home: what `sightline savings` has counted
_WIDTH = 10  # columns of the bar
_COLOURS = ((80, 31), (60, 33), (0, 32))  # percent from which on it is red, yellow, green
_SECONDS = 3.0  # that another status line may take
_TEXTS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "claude_code.json")  # noqa: PTH118, PTH120


def status(facts_json: bytes, folder: str, locale: str, before: str) -> Iterator[str]:
    """Yield what the command `before` prints, which is run with the same input, then our line."""
    other = _start(before, facts_json) if before else None
    try:
        facts = json.loads(facts_json)
        counts = {**_counts(facts, folder), "saved": _saved(folder)}
        line = status_line(facts if isinstance(facts, dict) else {}, counts, locale)
    finally:
        if other is not None:
            yield _output(other)
    yield line + "\n"


def status_line(
    facts: dict[str, Any], counts: dict[str, Any], locale: str = "en", *, colour: bool | None = None
) -> str:
    """Return the line. Colour is used unless NO_COLOR is set or the terminal is none."""
    window = _dict(facts, "context_window")
    usage = _dict(window, "current_usage")
    cached = usage.get("cache_read_input_tokens") or 0
    used = cached + (usage.get("input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
    if not used:
        used, cached = counts.get("input_tokens", 0), counts.get("cached_tokens", 0)
    size = window.get("context_window_size") or WINDOW
    percent = round(100 * used / size)
    meter = f"{bar(used / size, _WIDTH):<{_WIDTH}}"
    colour = (not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb") if colour is None else colour
    if colour:
        code = next(code for least, code in _COLOURS if percent >= least)
        meter = f"\033[{code}m{meter}\033[0m"
    parts = [f"▕{meter}▏{_short(used)}/{_short(size)} {percent}%"]
    if used:
        parts.append(_word("cached", locale, percent=round(100 * cached / used)))
    if cost := _dict(facts, "cost").get("total_cost_usd"):
        parts.append(f"${cost:.2f}")
    if saved := counts.get("saved"):
        parts.append(_word("saved", locale, dollars=f"${saved:.2f}"))
    more = "+" if counts.get("is_behind") else ""
    for name in ("rereads", "compactions"):
        if count := counts.get(name):
            parts.append(_word(name if count > 1 else f"{name} one", locale, count=f"{count}{more}"))
    return " · ".join(parts)


def _word(key: str, locale: str, **fields: Any) -> str:
    texts = json.loads(_read(_TEXTS))  # `values.phrases` would take longer to import than all the rest
    return str(texts[f"status {key}"]["zh" if locale == "zh" else "en"]).format(**fields)


def _dict(facts: dict[str, Any], key: str) -> dict[str, Any]:
    return value if isinstance(value := facts.get(key), dict) else {}


def _short(tokens: int) -> str:
    if tokens >= 999_500:
        return f"{tokens / 1e6:.1f}".removesuffix(".0") + "M"
    return f"{tokens / 1e3:.0f}k" if tokens >= 1_000 else str(tokens)


# ---------------------------------------------------------------------- what is counted in the log


def _counts(facts: Any, folder: str) -> dict[str, Any]:
    """Return the counts of a session's log, and store them for the next time."""
    log, session = str(facts.get("transcript_path") or ""), str(facts.get("session_id") or "")
    if not os.path.isfile(log) or not session.replace("-", "").isalnum() or len(session) > 100:  # noqa: PTH113
        return {}
    file = os.path.join(folder, METERS, f"{session}.json")  # noqa: PTH118
    counts = _load(file)
    if counts.get("place") == os.stat(log).st_size:  # noqa: PTH116 - nothing is new: nothing more is imported
        return counts
    return _count_on(log, counts, folder, file)


def _saved(folder: str) -> float:
    """Return the dollars that all sessions have saved, as they were counted last; 0: none, or that is not known."""
    dollars = _load(os.path.join(os.path.dirname(folder), SAVINGS)).get("dollars")  # noqa: PTH118, PTH120
    return dollars if isinstance(dollars, float) and dollars > 0 else 0.0


def _load(file: str) -> dict[str, Any]:
    try:
        counts = json.loads(_read(file))
    except (OSError, ValueError):
        return {}
    return counts if isinstance(counts, dict) else {}


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:  # noqa: PTH123
        return opened.read()


def _count_on(log: str, stored: dict[str, Any], folder: str, file: str) -> dict[str, Any]:
    import msgspec

    from sightline.values.decoders import convert
    from sightline.view.claude_meter import Counts, count_on

    try:
        before = convert(stored, Counts)
    except msgspec.ValidationError:
        before = Counts()
    counts = count_on(log, before)
    if counts != before:
        make_folder(folder, METERS)
        new = f"{file}.{os.getpid()}"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:  # noqa: PTH123
            opened.write(msgspec.json.encode(counts))
        os.replace(new, file)  # noqa: PTH105
    return msgspec.structs.asdict(counts)


# ---------------------------------------------------------------------- the status line that was there before


def _start(command: str, facts_json: bytes) -> "subprocess.Popen[bytes]":
    other = subprocess.Popen(
        command, shell=True, executable=_shell(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        assert other.stdin is not None
        other.stdin.write(facts_json)
        other.stdin.close()
    except BrokenPipeError:
        pass  # it does not read
    return other


def _shell() -> str | None:
    """Return the shell that Claude Code would take; None: the system's."""
    shell = os.environ.get("SHELL") or ""
    return shell if os.path.basename(shell) in ("bash", "zsh", "sh") else None  # noqa: PTH119


def _output(other: "subprocess.Popen[bytes]") -> str:
    """Return what it prints; nothing if it takes too long."""
    try:
        assert other.stdout is not None
        other.stdin = None
        said = other.communicate(timeout=_SECONDS)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()
        return ""
    return said if not said or said.endswith("\n") else f"{said}\n"
