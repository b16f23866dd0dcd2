"""What each call of a recorded run needed to know, and where that last stood."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from benchmarks.quality.edits import Edit, edits_of
from benchmarks.quality.messages import History, Message, full_text, is_system, text_of

FAR = 8  # messages back
_MOST = 60  # values of one call
_SHORTEST, _PLAIN = 4, 80  # characters of a value; of one that is taken as it is
_TOKEN = re.compile(r"[A-Za-z0-9_\-./#@:\\]{4,}")
_SPECIFIC = re.compile(r"[0-9/_#@.]|[a-z][A-Z]")


class Needed(NamedTuple):
    """A value that a call uses, and the message that last showed it."""

    value: str
    far: bool
    source: int


class Step(NamedTuple):
    """A model call: the messages before `at` are its history."""

    at: int
    query: str
    calls: list[list[Needed]]
    edits: list[Edit]


def needed_values(call: Message) -> list[str]:
    """Argument values that a call depends on: short ones as they are; of long texts the ids, paths and numbers."""
    arguments = call["function"]["arguments"]
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    out: list[str] = []
    for value in _leaves(arguments):
        if len(value) <= _PLAIN and not re.search(r"\s", value):
            found = [value]
        else:
            found = [token.strip(".:/-\\") for token in _TOKEN.findall(value)]
        out += [each for each in found if len(each) >= _SHORTEST and _SPECIFIC.search(each)]
    return list(dict.fromkeys(out))[:_MOST]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif not isinstance(value, bool) and value is not None:
        yield str(value)


def steps(messages: History, texts: Sequence[str]) -> list[Step]:
    """Return every model call of a run, with the values and the texts that it needed from earlier messages.

    The system prompt is no earlier message: it is always shown.
    """
    systems = sum(1 for message in messages[:2] if is_system(message))
    known = "\n".join(texts[:systems])
    out, query = [], ""
    for index, message in enumerate(messages):
        if message["role"] == "user":
            query = text_of(message["content"])
        if message["role"] != "assistant" or index <= systems:
            continue
        calls = []
        for call in message.get("tool_calls") or ():
            values = [value for value in needed_values(call) if value not in known]
            found = [(value, _last_shown(value, texts, systems, index)) for value in values]
            if used := [Needed(value, index - at > FAR, at) for value, at in found if at >= 0]:
                calls.append(used)
        out.append(Step(index, query, calls, edits_of(message, texts[:index], systems)))
    return out


def _last_shown(value: str, texts: Sequence[str], first: int, end: int) -> int:
    return next((at for at in range(end - 1, first - 1, -1) if value in texts[at]), -1)


def run_texts(messages: History) -> list[str]:
    """What each message says."""
    return [full_text(message) for message in messages]


def idle_seconds(messages: History, before: int, now: int) -> float | None:
    """From the model's previous answer (message `before`) to the newest message before call `now`.

    None without a clock: chats carry times as free text.
    """
    since = epoch(messages[before].get("ts"))
    after = [epoch(message.get("ts")) for message in messages[before + 1 : now] or messages[now : now + 1]]
    known = [moment for moment in after if moment is not None]
    return max(known) - since if since is not None and known else None


def epoch(when: Any) -> float | None:
    """Seconds of an ISO time; None for anything else."""
    if not isinstance(when, str):
        return None
    try:
        return datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
