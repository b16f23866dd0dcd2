"""A run of items, read once: what the user and the assistant said, and every tool call with its result."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from sightline.shorten.call_subject import subject_of
from sightline.shorten.digest import shell
from sightline.shorten.digest.file_effects import call_touches, command_of
from sightline.shorten.digest.shell import Touch
from sightline.shorten.lines import sample_trouble_marks
from sightline.shorten.sample import cut_at_blank, encodable, read_sample
from sightline.values.items import Call, Item, Kind, Result, plain_text

STALE = 4  # calls after which what the assistant said no longer explains the next one
ENDS = 400  # characters at either end of a result in which a tool reports success or failure
WIDEST = 140  # characters of a line that is quoted

SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")  # between two sentences
_EXIT = re.compile(r"(?:exit(?:ed with)?[ _](?:code|status)|returncode)[\"'>:\s=]{1,4}(\d{1,3})\b")
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|error\b|traceback \(|fatal:|bash: |错误|失败|the user doesn't want|no replacement was)",
    re.I,
)
_TESTS = re.compile(r"^(?:--- FAIL|FAIL\b|FAILED\b|=+ .*\b\d+ failed)", re.M)
_MESSAGE = re.compile(r"(?:Error|Exception|error|panic|fatal|错误)[:：\]]")
_MARKUP = re.compile(r"</?[a-z_]+>|^E\s{2,}|^\s*\d+[→\t]")


class Utterance(NamedTuple):
    """Something said, and its place among the items."""

    place: int
    text: str


class Step(NamedTuple):
    """One tool call and its result."""

    place: int
    id: str  # of the call's item
    call: Call
    subject: str
    explanation: str  # what the assistant said just before
    result: str
    failed: bool
    error: str  # the line that says best what went wrong, if it failed
    command: str  # the command line it ran
    programs: list[tuple[str, ...]]  # the first words of every command in it
    touches: list[Touch]


class Run(NamedTuple):
    """What happened, in order."""

    users: list[Utterance]
    assistant: list[Utterance]
    steps: list[Step]
    summaries: list[str]  # of what went before these items
    length: int


class _PendingCall(Struct):
    place: int
    id: str
    call: Call
    explanation: str
    result: str = ""
    failed: bool = False


def read_run(items: Iterable[Item]) -> Run:
    """Read the items in one pass. A result belongs to the nearest call before it with its id and without a result."""
    run = Run([], [], [], [], 0)
    calls: list[_PendingCall] = []
    pending: dict[str, list[_PendingCall]] = {}
    explanation, calls_since, length = "", 0, 0
    for place, item in enumerate(items):
        length = place + 1
        text = encodable(plain_text(item.parts)) if item.kind is not Kind.RESULT else ""
        if item.kind is Kind.SUMMARY:
            run.summaries.append(text)
        elif item.kind is Kind.USER:
            explanation = ""
            run.users.extend([Utterance(place, text)] if text.strip() else [])
        elif item.kind in (Kind.ASSISTANT, Kind.CALL) and text.strip():
            explanation, calls_since = text, 0
            run.assistant.append(Utterance(place, text))
        for part in item.parts:
            if isinstance(part, Call) and item.kind in (Kind.ASSISTANT, Kind.CALL):
                calls_since += 1
                call = _PendingCall(place, item.id, part, explanation if calls_since <= STALE else "")
                calls.append(call)
                pending.setdefault(part.id, []).append(call)
            elif isinstance(part, Result) and item.kind is Kind.RESULT and pending.get(part.id):
                call = pending[part.id].pop()
                call.result = encodable(plain_text(part.parts))
                call.failed = bool(part.error) or has_failed(call.result)
    scripts: dict[str, str] = {}
    return run._replace(steps=[_step(call, scripts) for call in calls], length=length)


def _step(call: _PendingCall, scripts: dict[str, str]) -> Step:
    line = command_of(call.call)
    commands = shell.parse(line) if line else []
    touched = call_touches(call.call, commands, scripts, failed=call.result if call.failed else None)
    error = error_line(call.result) if call.failed else ""
    subject = encodable(subject_of(call.call))
    return Step(
        call.place, call.id, call.call, subject, call.explanation, call.result, call.failed, error,
        line, shell.programs(commands), touched,
    )  # fmt: skip


def has_failed(result: str) -> bool:
    """Whether a result reports a failure: by its exit code if it has one, else by how it begins."""
    ends = result if len(result) <= 2 * ENDS else f"{result[:ENDS]}\n{result[-ENDS:]}"
    lowered = ends.lower()
    code = _EXIT.search(lowered) if "exit" in lowered or "returncode" in lowered else None
    if code:
        return int(code.group(1)) != 0
    return bool(_REFUSED.match(result) or ("fail" in lowered and _TESTS.search(ends)))


def error_line(result: str) -> str:
    """Return the line that says best what went wrong; "" if there is none."""
    sample = read_sample(result)
    marks = sample_trouble_marks(sample)
    # An exception and its message say more than `1 failed`.
    worth = {i: mark + bool(_MESSAGE.search(sample.lines[i])) for i, mark in marks.items()}
    lines = [(-worth[i], i) for i in marks if len(sample.lines[i].strip()) > 5]
    return one_line(sample.lines[min(lines)[1]], WIDEST) if lines else ""


def one_line(text: str, most: int) -> str:
    """Return the text on one line without markup, cut at a blank if it is longer than `most` characters."""
    line = " ".join(_MARKUP.sub(" ", text[: 4 * most + ENDS]).split())
    return line if len(line) <= most else cut_at_blank(line, most)
