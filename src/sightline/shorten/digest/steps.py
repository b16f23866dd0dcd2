"""A run of items read once: what the user said, what the assistant said, and every tool call with what came of it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from sightline.shorten.call_subject import subject_of
from sightline.shorten.digest import shell
from sightline.shorten.digest.file_effects import command_of, touches_of
from sightline.shorten.digest.shell import Touch
from sightline.shorten.lines import sample_trouble_marks
from sightline.shorten.sample import encodable, read_sample
from sightline.values.items import Call, Item, Kind, Result, plain_text

STALE = 4  # steps after which what the assistant said is no longer why it does the next one
NEAR = 400  # characters at either end of a result in which a tool says how it went
WIDEST = 140  # characters of a line that is quoted

SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")  # what stands between two
_EXIT = re.compile(r"(?:exit(?:ed with)?[ _](?:code|status)|returncode)[\"'>:\s=]{1,4}(\d{1,3})\b")
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|error\b|traceback \(|fatal:|bash: |错误|失败|the user doesn't want|no replacement was)",
    re.I,
)
_TESTS = re.compile(r"^(?:--- FAIL|FAIL\b|FAILED\b|=+ .*\b\d+ failed)", re.M)
_MESSAGE = re.compile(r"(?:Error|Exception|error|panic|fatal|错误)[:：\]]")
_MARKUP = re.compile(r"</?[a-z_]+>|^E\s{2,}|^\s*\d+[→\t]")


class Spoken(NamedTuple):
    """Something said, and where it stands among the items."""

    place: int
    text: str


class Step(NamedTuple):
    """One tool call and its result."""

    place: int
    id: str  # of the call's item
    call: Call
    subject: str
    said: str  # what the assistant said just before
    result: str
    failed: bool
    error: str  # the line that says best what went wrong, if it did
    command: str  # the command line it ran
    programs: list[tuple[str, ...]]  # the first words of every command in that
    touches: list[Touch]


class Run(NamedTuple):
    """What happened, in order."""

    users: list[Spoken]
    assistant: list[Spoken]
    steps: list[Step]
    summaries: list[str]  # of what went before these items
    length: int


class _Open(Struct):
    """A call whose result has not come yet."""

    place: int
    id: str
    call: Call
    said: str
    result: str = ""
    failed: bool = False


class _Reader(Struct):
    """The state of one pass over the items."""

    run: Run
    calls: list[_Open] = []
    waiting: dict[str, list[_Open]] = {}
    said: str = ""
    stale: int = 0

    def read(self, place: int, item: Item) -> None:
        match item.kind:
            case Kind.USER:
                self._user(place, _text(item))
            case Kind.SUMMARY:
                self.run.summaries.append(_text(item))
            case Kind.ASSISTANT | Kind.CALL:
                self._assistant(place, item)
            case Kind.RESULT:
                self._results(item)
            case _:
                pass

    def _user(self, place: int, text: str) -> None:
        self.said = ""
        if text.strip():
            self.run.users.append(Spoken(place, text))

    def _assistant(self, place: int, item: Item) -> None:
        text = _text(item)
        if text.strip():
            self.run.assistant.append(Spoken(place, text))
            self.said, self.stale = text, 0
        for part in item.parts:
            if isinstance(part, Call):
                self.stale += 1
                call = _Open(place, item.id, part, self.said if self.stale <= STALE else "")
                self.calls.append(call)
                self.waiting.setdefault(part.id, []).append(call)

    def _results(self, item: Item) -> None:
        for part in item.parts:
            if isinstance(part, Result) and self.waiting.get(part.id):
                call = self.waiting[part.id].pop()
                call.result = encodable(plain_text(part.parts))
                call.failed = bool(part.error) or has_failed(call.result)


def read(items: Iterable[Item]) -> Run:
    """The run in one pass. Results pair with the nearest call of their id before them that has none."""
    reader = _Reader(Run([], [], [], [], 0), [], {})
    length = 0
    for place, item in enumerate(items):
        reader.read(place, item)
        length = place + 1
    scripts: dict[str, str] = {}
    return reader.run._replace(steps=[_step(call, scripts) for call in reader.calls], length=length)


def _step(call: _Open, scripts: dict[str, str]) -> Step:
    line = command_of(call.call)
    commands = shell.parse(line) if line else []
    touched = touches_of(call.call, commands, scripts, failed=call.result if call.failed else None)
    error = error_line(call.result) if call.failed else ""
    subject = encodable(subject_of(call.call))
    return Step(
        call.place, call.id, call.call, subject, call.said, call.result, call.failed, error,
        line, shell.programs(commands), touched,
    )  # fmt: skip


def _text(item: Item) -> str:
    return encodable(plain_text(item.parts))


def has_failed(result: str) -> bool:
    """Whether a result tells of a failure: by its exit code where it says one, else by how it begins."""
    ends = result if len(result) <= 2 * NEAR else f"{result[:NEAR]}\n{result[-NEAR:]}"
    lowered = ends.lower()
    code = _EXIT.search(lowered) if "exit" in lowered or "returncode" in lowered else None
    if code:
        return int(code.group(1)) != 0
    return bool(_REFUSED.match(result) or ("fail" in lowered and _TESTS.search(ends)))


def error_line(result: str) -> str:
    """The line that says best what went wrong; "" where none does."""
    sample = read_sample(result)
    marks = sample_trouble_marks(sample)
    # An exception and its message say more than `1 failed`.
    worth = {i: mark + bool(_MESSAGE.search(sample.lines[i])) for i, mark in marks.items()}
    lines = [(-worth[i], i) for i in marks if len(sample.lines[i].strip()) > 5]
    return one_line(sample.lines[min(lines)[1]], WIDEST) if lines else ""


def one_line(text: str, most: int) -> str:
    """The text on one line without markup, cut at a blank where it is longer."""
    line = " ".join(_MARKUP.sub(" ", text[: 4 * most + NEAR]).split())
    if len(line) <= most:
        return line
    cut = line.rfind(" ", most // 2, most)
    return f"{line[: cut if cut > 0 else most].rstrip()}…"
