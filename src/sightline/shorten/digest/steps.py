"""A run of items, read once: what the user and the assistant said, and every tool call with its result."""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.shorten import shell
from sightline.shorten.call_subject import listed_paths, several_commands, subject_of, text_of
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.rules.sent_results import Words, divided_words, said_text
from sightline.shorten.sample import cut_at_blank, encodable, read_sample
from sightline.shorten.shell import CHANGED, DELETED, READ, WRITTEN, Command, Touch
from sightline.shorten.signals import trouble_marks
from sightline.values.items import Call, Item, Kind, Result, plain_text
from sightline.values.pattern import pattern

STALE = 4  # calls after which what the assistant said no longer explains the next one
ENDS = 400  # characters at either end of a result in which a tool reports success or failure
WIDEST = 140  # characters of a line that is quoted

SENTENCE = pattern(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")  # between two sentences
_EXIT = pattern(r"(?:exit(?:ed with)?[ _](?:code|status)|returncode)[\"'>:\s=]{1,4}(\d{1,3})\b")
_REFUSED = pattern(
    r"\s*(?:<tool_use_error>|error\b|traceback \(|fatal:|bash: |"
    r"错误|失败|异常|未找到|找不到|超时|the user doesn't want|no replacement was)",
    re.I,
)
_TESTS = pattern(r"^(?:--- FAIL|FAIL\b|FAILED\b|=+ .*\b\d+ failed)", re.M)
_MESSAGE = pattern(r"(?:Error|Exception|error|panic|fatal|错误|失败|异常)[:：\]]")
_MARKUP = pattern(r"</?[a-z_]+>|^E\s{2,}|^\s*\d+[→\t]")


class Utterance(NamedTuple):
    """Something said, and its place among the items."""

    place: int
    text: str


class Step(Struct):
    """One tool call and its result."""

    place: int
    id: str  # of the call's item
    call: Call
    subject: str
    explanation: str  # what the assistant said just before
    command: str  # the command line it ran
    result: str = ""
    failed: bool = False
    interrupted: bool = False  # it failed because it was stopped: nothing is known of what it did
    error: str = ""  # the line that says best what went wrong, if it failed
    doubt: str = ""  # a line at the end of a result that may mean so, if nothing says whether it failed
    programs: list[tuple[str, ...]] = []  # the first words of every command in it
    touches: list[Touch] = []


class Run(NamedTuple):
    """What happened, in order."""

    users: list[Utterance]  # the user's own words only
    programs: list[Utterance]  # what programs said in the user's place
    assistant: list[Utterance]
    steps: list[Step]
    summaries: list[str]  # of what went before these items
    length: int


def read_run(items: Iterable[Item]) -> Run:
    """Read the items in one pass. A result belongs to the nearest call before it with its id and without a result."""
    items = list(items)
    run = Run([], [], [], [], [], len(items))
    pending: dict[str, list[Step]] = {}
    explanation, calls_since, said = "", 0, ""
    for place, item in enumerate(items):
        text = encodable(plain_text(item.parts)) if item.kind is not Kind.RESULT else ""
        if item.kind is Kind.SUMMARY:
            run.summaries.append(text)
        elif item.kind is Kind.USER:
            explanation = ""
            _add_words(run, place, item, said)
        elif item.kind is Kind.ASSISTANT and not calls_since:
            explanation = ""  # what was said without a call was an answer, also where the next question is not here
        if item.kind in (Kind.ASSISTANT, Kind.CALL):
            said = said_text(item.parts)
        if item.kind in (Kind.ASSISTANT, Kind.CALL) and text.strip():
            explanation, calls_since = text, 0
            run.assistant.append(Utterance(place, text))
        for part in item.parts:
            if isinstance(part, Call) and item.kind in (Kind.ASSISTANT, Kind.CALL):
                calls_since += 1
                why = explanation if calls_since <= STALE else ""
                step = Step(place, item.id, part, encodable(subject_of(part)), why, _command_of(part))
                run.steps.append(step)
                pending.setdefault(part.id, []).append(step)
            elif isinstance(part, Result) and item.kind is Kind.RESULT and pending.get(part.id):
                _add_result(pending[part.id].pop(), part)
    scripts: dict[str, str] = {}
    for step in run.steps:
        commands = shell.parse(step.command)
        step.programs = shell.programs(commands)
        step.touches = _call_touches(step.call, commands, scripts, failed=step.result if step.failed else None)
    return run


def _add_words(run: Run, place: int, item: Item, said: str) -> None:
    """Add a message in the user's place. `said`: by the assistant before."""
    whole = Words("", plain_text(item.parts))
    own, by_program = whole if item.by_program else divided_words(item.parts, lambda: (said,))
    run.users.extend([Utterance(place, encodable(own))] if own.strip() else [])
    run.programs.extend([Utterance(place, encodable(by_program))] if by_program.strip() else [])


def _add_result(step: Step, result: Result) -> None:
    step.result = encodable(plain_text(result.parts))
    failed = True if result.error else has_failed(step.result)
    step.failed, step.interrupted = bool(failed), result.error == "interrupted"
    step.error = error_line(step.result) if failed and not step.interrupted else ""
    step.doubt = error_line(step.result[-ENDS:]) if failed is None else ""


def has_failed(result: str) -> bool | None:
    """Whether a result reports a failure: by its exit code if it has one, else by how it begins; None: it does not say.

    Most results do not say that they succeeded.
    """
    ends = result if len(result) <= 2 * ENDS else f"{result[:ENDS]}\n{result[-ENDS:]}"
    lowered = ends.lower()
    code = _EXIT.search(lowered) if "exit" in lowered or "returncode" in lowered else None
    if code:
        return int(code.group(1)) != 0
    return bool(_REFUSED.match(result) or ("fail" in lowered and _TESTS.search(ends))) or None


def error_line(result: str) -> str:
    """Return the line that says best what went wrong; "" if there is none."""
    lines = read_sample(result).lines
    values = values_of_lines(lines)
    troubles = [
        (-mark - bool(_MESSAGE.search(lines[i])), i)  # an exception and its message say more than `1 failed`
        for i, mark in trouble_marks(lines, values, {*chain.from_iterable(values)}).items()
        if len(lines[i].strip()) > 5
    ]
    return one_line(lines[min(troubles)[1]], WIDEST) if troubles else ""


def one_line(text: str, most: int) -> str:
    """Return the text on one line without markup, cut at a blank if it is longer than `most` characters."""
    line = " ".join(_MARKUP.sub(" ", text[: 4 * most + ENDS]).split())
    return line if len(line) <= most else cut_at_blank(line, most)


# ---------------------------------------------------------------------- what a call did to files

_PATHS = ("file_path", "filePath", "notebook_path", "path", "filename", "file_name", "file", "target_file", "filepath")
_TOOLS = {
    READ: "read read_file readfile view view_file open open_file cat fs_read notebookread get_file_contents",
    WRITTEN: "write write_file writefile create create_file save_file write_to_file fs_write",
    CHANGED: "edit multiedit notebookedit edit_file multi_edit str_replace insert insert_line replace replace_in_file "
    "apply_diff search_replace edit_notebook append append_file",
    DELETED: "delete delete_file remove remove_file",
}
_PARTS = {"old_str", "old_text", "insert_line"}  # arguments of an editor that changes a part
_TEXTS = {"new_str", "new_text", "file_text"}
_ACTIONS = {name: action for action, tools in _TOOLS.items() for name in tools.split()}


def _command_of(call: Call) -> str:
    """Return the command line that a call runs; "" if it runs none."""
    arguments = call.arguments
    return text_of(arguments.get("command")) or text_of(arguments.get("cmd")) or several_commands(arguments)


def _call_touches(
    call: Call, commands: Iterable[Command], scripts: dict[str, str], *, failed: str | None
) -> list[Touch]:
    """Return what a call did to which file. `commands` are those it ran; for `scripts` see `shell.command_touches`.

    `failed` is the result of a call that failed, else None. A call that failed did nothing to the file it names. A
    command that failed did nothing to the files that it did not find.
    """
    arguments = call.input if isinstance(call.input, dict) else {"input": call.input or call.raw}
    words = [word for value in arguments.values() for word in (value if isinstance(value, list) else [value])]
    if patch := next((word for word in words if isinstance(word, str) and "*** Begin Patch" in word), ""):
        touches = shell.patch_touches(patch) if failed is None else []
    elif path := next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str) and arguments[key]), ""):
        action = _find_action(call.name, arguments)
        touches = [Touch(path, action)] if action and failed is None else []
    elif listed := listed_paths(call.name, arguments):
        touches = [Touch(path, READ) for path in listed] if failed is None else []
    else:
        touches = shell.command_touches(commands, scripts)
    return [
        Touch(touch.path.strip().removeprefix("./"), touch.action)
        for touch in touches
        if touch.path.isprintable() and (failed is None or f"{touch.path}: No such file" not in failed)
    ]


def _find_action(tool: str, arguments: dict[str, Any]) -> str:
    """Return the action by the tool's name or by an editor's argument. An editor without one shows the file."""
    name = tool.rpartition("__")[2].rpartition(".")[2].lower()
    if name in _ACTIONS:
        return _ACTIONS[name]
    verb = arguments.get("command") or arguments.get("action")
    if verb is None and "editor" in name:
        return CHANGED if _PARTS & arguments.keys() else WRITTEN if _TEXTS & arguments.keys() else READ
    return _ACTIONS.get(verb, CHANGED if verb == "undo_edit" else "") if isinstance(verb, str) else ""
