"""What came of commands, which errors occurred and what fixed them, and what is still to be done."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.shorten.digest.headings import WORDS, times, word
from sightline.shorten.digest.sections import Entry
from sightline.shorten.digest.steps import Run, Step, one_line
from sightline.shorten.shell import CHANGED, WRITTEN, parse, programs
from sightline.values.items import Call, Kind

COMMAND_CHARS = 180  # characters of a command line
REASON_CHARS = 120  # characters of what went wrong
QUESTION_CHARS = 160  # characters of a question
TODO_CHARS = 200  # characters of something to be done
FIX_DISTANCE = 40  # steps before a success in which its cause is searched
MOST_FIXES = 3  # steps named as a fix
HALF_AGE = 60  # steps after which a command is worth half
PREVIOUS_WORTH = 0.5  # of an error in a previous digest
NOT_TRIED, FAILED_AGAIN = -1, -2
VIEWER_WORTH = 0.35  # of a command that only shows something, compared with one that changes something

_VIEWER_NAMES = (
    "cat ls sed head tail grep rg egrep find pwd echo cd wc nl which sleep tree stat awk sort uniq printf cut true "
    "less file jq tr xargs test export source"
)
_VIEWERS = frozenset(_VIEWER_NAMES.split())
_GIT_VIEWERS = frozenset(
    ("status", "log", "diff", "show", "blame", "branch", "remote", "rev-parse", "ls-files", "grep")
)
_PLANS = ("todos", "plan", "items", "tasks")
_TODOS = ("content", "step", "text", "title", "task", "description")
_DONE = frozenset(("completed", "done", "cancelled", "deleted", "complete"))
_BOX = re.compile(r"^[^\S\n]*[-*] \[( |x|X)\] (.+)$", re.M)
_CREATED = re.compile(r"#(\d+)")
_HOW = "|".join(spelling for key in ("ok", "failed", "interrupted") for spelling in WORDS[key])
_LINE = re.compile(rf"^`(?P<line>.*)`(?: (?P<how>{_HOW}))?(?: (?P<times>\d+)×)?(?:: (?P<why>.*))?$")

_UNANSWERED = tuple(f"({spelling})" for key in ("unanswered", "asked") for spelling in WORDS[key])


class CommandRun(NamedTuple):
    """A command, how often it ran, and its last outcome: if it did not fail, `why` is a line that leaves doubt."""

    line: str
    place: int
    times: int = 1
    failed: bool = False
    why: str = ""
    interrupted: bool = False


def command_line(step: Step) -> str:
    """Return a command on one line, without its here-documents."""
    first = step.command.strip().partition("\n")[0]
    if "<<" not in first or " commit" in first:  # the message of a commit says what was done
        return one_line(step.command, COMMAND_CHARS)
    line = one_line(first, COMMAND_CHARS)
    return line if line.endswith("…") else f"{line} …"


def command_runs(steps: Sequence[Step], previous: Sequence[CommandRun] = ()) -> list[CommandRun]:
    """Return every different command with its last outcome."""
    runs = {run.line: run for run in previous}
    for step in steps:
        if line := command_line(step):
            earlier = runs.pop(line, None)
            why = one_line(step.error or step.doubt, REASON_CHARS)
            times_run = 1 + (earlier.times if earlier else 0)
            runs[line] = CommandRun(line, step.place, times_run, step.failed, why, step.interrupted)
    return list(runs.values())


def command_entries(runs: Iterable[CommandRun], length: int, locale: str) -> list[Entry]:
    """Return the commands as lines. Those that change something and the newest are worth most."""
    return [Entry(run.place, _command_text(run, locale), _worth(run, length)) for run in runs]


def _command_text(run: CommandRun, locale: str) -> str:
    key = "interrupted" if run.interrupted else "failed" if run.failed else "" if run.why else "ok"
    how = f" {word(key, locale)}" if key else ""
    return f"`{run.line}`{how}{times(run.times)}{f': {run.why}' if run.why else ''}"


def read_command(text: str, place: int) -> CommandRun | None:
    """Read a line of a previous digest."""
    match = _LINE.match(text)
    if match is None:
        return None
    interrupted = match["how"] in WORDS["interrupted"]
    failed = interrupted or match["how"] in WORDS["failed"]
    return CommandRun(match["line"], place, int(match["times"] or 1), failed, match["why"] or "", interrupted)


def _worth(run: CommandRun, length: int) -> float:
    age = (length - run.place) / 3  # a step is three items
    only_views = all(map(_views, programs(parse(run.line))))
    return (1.0 + 0.2 * min(run.times, 5)) / (1 + age / HALF_AGE) * (VIEWER_WORTH if only_views else 1.0)


def _views(words: Sequence[str]) -> bool:
    return words[0].rpartition("/")[2] in _VIEWERS or (words[0] == "git" and bool(_GIT_VIEWERS.intersection(words)))


def error_entries(steps: Sequence[Step], previous: Sequence[str], locale: str) -> list[Entry]:
    """Return each different error, and what was done between it and the next success on the same subject."""
    entries = {
        text.partition(" (")[0]: Entry(i - len(previous), text, PREVIOUS_WORTH) for i, text in enumerate(previous)
    }
    fixed_at = _next_successes(steps)
    for i, step in enumerate(steps):
        if step.error:
            fix, worth = _find_fix(steps, i, fixed_at[i], locale)
            text = f"{step.error} ({_short_subject(step)}) → {fix}"
            entries[step.error] = Entry(step.place, text, worth * (0.5 + i / len(steps)))
    return list(entries.values())


def _next_successes(steps: Sequence[Step]) -> list[int]:
    """Return for every step the next success on the same subject; FAILED_AGAIN if it only failed, else NOT_TRIED."""
    out = [NOT_TRIED] * len(steps)
    next_by_subject: dict[str, int] = {}
    for i, step in reversed([*enumerate(steps)]):
        # Steps on the same subject have the same path, or the same first words of their command.
        acting = [words for words in step.programs if not _views(words)] or step.programs
        key = " ".join(acting[-1]) if acting else f"{step.call.name} {step.subject[:200]}"
        out[i] = next_by_subject.get(key, NOT_TRIED)
        if not step.failed:
            next_by_subject[key] = i
        else:
            next_by_subject.setdefault(key, FAILED_AGAIN)
    return out


def _find_fix(steps: Sequence[Step], at: int, until: int, locale: str) -> tuple[str, float]:
    """Return what fixed an error, and the worth of knowing it."""
    if until < 0:
        return word("failing" if until == FAILED_AGAIN else "untried", locale), 2.0 if steps[at].command else 0.3
    between = [
        f"{touch.path.rpartition('/')[2]} {word('changed', locale)}"
        for step in steps[max(at + 1, until - FIX_DISTANCE) : until]
        for touch in step.touches
        if touch.action in (CHANGED, WRITTEN)
    ]
    doing = "; ".join(dict.fromkeys(between[-MOST_FIXES:])) or one_line(_short_subject(steps[until]), 60)
    return f"{word('fixed', locale)}: {doing}", 1.5 if between else 0.6


def _short_subject(step: Step) -> str:
    return one_line(step.subject.split("\n")[0] or step.call.name, 60)


class Todo(NamedTuple):
    """Something to be done, and whether it is done."""

    text: str
    done: bool


class TodoList(Struct):
    """The plan as it is after what was added so far: that of a planning tool, else the last checklist in a text."""

    plan: list[Todo] | None = None
    tasks: dict[str, Todo] = {}
    checklist: list[Todo] | None = None

    def add_call(self, call: Call, result: str) -> None:
        """Note a call, if it changes the plan."""
        arguments = call.arguments
        if entries := _plan_entries(arguments):
            self.plan = [todo for entry in entries if (todo := _todo(entry))] or self.plan
        elif call.name.endswith("TaskCreate") and isinstance(arguments.get("subject"), str):
            number = _CREATED.search(result[:80])
            self.tasks[number.group(1) if number else str(len(self.tasks) + 1)] = Todo(arguments["subject"], False)
        elif call.name.endswith("TaskUpdate") and (task := str(arguments.get("taskId"))) in self.tasks:
            self.tasks[task] = _update(self.tasks[task], arguments)

    def add_text(self, text: str) -> None:
        """Note what the assistant said, if it has a checklist."""
        if boxes := _BOX.findall(text):
            self.checklist = [Todo(text, box != " ") for box, text in boxes]

    def todos(self) -> list[Todo] | None:
        """Return the last state of the plan; None if there never was one."""
        if self.tasks:
            return [*(self.plan or []), *self.tasks.values()]
        return self.checklist if self.plan is None else self.plan


def concerns_plan(call: Call) -> bool:
    """Whether a call may change the plan."""
    return bool(_plan_entries(call.arguments)) or call.name.endswith(("TaskCreate", "TaskUpdate"))


def _plan_entries(arguments: dict[str, Any]) -> list[Any] | None:
    return next((arguments[key] for key in _PLANS if isinstance(arguments.get(key), list)), None)


def _todos(run: Run) -> list[Todo] | None:
    """Return the last state of the plan; None if there never was one."""
    todo_list = TodoList()
    for step in run.steps:
        todo_list.add_call(step.call, step.result)
    for utterance in run.assistant:
        todo_list.add_text(utterance.text)
    return todo_list.todos()


def _todo(entry: Any) -> Todo | None:
    fields = entry if isinstance(entry, dict) else {}
    text = next((fields[key] for key in _TODOS if isinstance(fields.get(key), str)), "")
    return Todo(text, str(fields.get("status", "")).lower() in _DONE) if text else None


def _update(todo: Todo, arguments: dict[str, Any]) -> Todo:
    text, status = arguments.get("subject"), arguments.get("status")
    done = status in _DONE if isinstance(status, str) else todo.done
    return Todo(text if isinstance(text, str) else todo.text, done)


def open_entries(run: Run, previous: Sequence[str], locale: str, then: Kind | None = None) -> list[Entry]:
    """Return what is still to be done, how much is done, and the last request if it is not answered.

    `then`: who speaks first after this run.
    """
    todos = _todos(run)
    if todos is None:
        has_messages = run.users or run.assistant
        lines = [line for line in previous if not (has_messages and line.endswith(_UNANSWERED))]
    else:
        done = sum(todo.done for todo in todos)
        lines = open_lines(todos)
        lines += [f"[x] {word('done', locale).format(n=done)}"] if done else []
    entries = [Entry(i, line, 2.0 - i / (len(lines) + 1)) for i, line in enumerate(lines)]
    if text := _unanswered(run, locale, then):
        entries.append(Entry(len(lines), text, 3.0))
    return entries


def open_lines(todos: Iterable[Todo]) -> list[str]:
    """Return a line for each that is not done."""
    return [f"[ ] {one_line(todo.text, TODO_CHARS)}" for todo in todos if not todo.done]


def _unanswered(run: Run, locale: str, then: Kind | None) -> str:
    """Return the last request if it is not answered, or the assistant's last question if it is not."""
    request, answered = (said[-1].place if said else -1 for said in (run.users, run.assistant))
    if then is (Kind.ASSISTANT if request > answered else Kind.USER):
        return ""
    if request > answered:
        return f"{one_line(run.users[-1].text, QUESTION_CHARS)} ({word('unanswered', locale)})"
    last = run.assistant[-1].text.rstrip().rpartition("\n")[2] if run.assistant else ""
    return f"{one_line(last, QUESTION_CHARS)} ({word('asked', locale)})" if last.endswith(("?", "？")) else ""
