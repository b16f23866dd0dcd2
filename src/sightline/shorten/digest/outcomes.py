"""What commands came to, which errors were met and what fixed them, and what is still to be done."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sightline.shorten.digest.headings import spellings, times, word
from sightline.shorten.digest.sections import Entry
from sightline.shorten.digest.shell import CHANGED, WRITTEN, parse, programs
from sightline.shorten.digest.steps import Run, Step, one_line

COMMAND = 180  # characters of a command line
REASON = 120  # characters of what went wrong
ASKED = 160  # characters of a question
BETWEEN = 40  # steps before a success that are looked through for what made it
FIXES = 3  # steps named as a fix
OLDER = 60  # steps after which a command is worth half
CARRIED = 0.5  # what an error of an earlier digest is worth
NEVER, AGAIN = -1, -2
LOOKING = 0.35  # what a command that only looks at something is worth, beside one that does something

_LOOKING = (
    "cat ls sed head tail grep rg egrep find pwd echo cd wc nl which sleep tree stat awk sort uniq printf cut true "
    "less file jq tr xargs test export source"
)
_LOOKS = frozenset(_LOOKING.split())
_GIT_LOOKS = frozenset(("status", "log", "diff", "show", "blame", "branch", "remote", "rev-parse", "ls-files", "grep"))
_PLANS = ("todos", "plan", "items", "tasks")
_TODOS = ("content", "step", "text", "title", "task", "description")
_DONE = frozenset(("completed", "done", "cancelled", "deleted", "complete"))
_BOX = re.compile(r"^\s*[-*] \[( |x|X)\] (.+)$", re.M)
_CREATED = re.compile(r"#(\d+)")
_HOW = "|".join((*spellings("ok"), *spellings("failed")))
_LINE = re.compile(rf"^`(?P<line>.*)` (?P<how>{_HOW})(?: (?P<times>\d+)×)?(?:: (?P<why>.*))?$")

_WAITS = tuple(f"({spelling})" for key in ("unanswered", "asked") for spelling in spellings(key))


class Ran(NamedTuple):
    """A command, how often it ran, and what came of it the last time."""

    line: str
    place: int
    times: int = 1
    failed: bool = False
    why: str = ""


def command_line(step: Step) -> str:
    """A command on one line, without the text given to it."""
    first = step.command.strip().partition("\n")[0]
    if "<<" not in first or " commit" in first:  # of a commit the message says what was done
        return one_line(step.command, COMMAND)
    line = one_line(first, COMMAND)
    return line if line.endswith("…") else f"{line} …"


def commands(steps: Sequence[Step], earlier: Sequence[Ran] = ()) -> list[Ran]:
    """Every different command with its last outcome."""
    ran = {one.line: one for one in earlier}
    for step in steps:
        line = command_line(step)
        if not line:
            continue
        before = ran.pop(line, None)
        why = one_line(step.error, REASON)
        ran[line] = Ran(line, step.place, 1 + (before.times if before else 0), step.failed, why)
    return list(ran.values())


def command_entries(ran: Iterable[Ran], length: int, locale: str) -> list[Entry]:
    """The commands as lines, those that do something and the newest first."""
    return [Entry(one.place, _told(one, locale), _worth(one, length)) for one in ran]


def _told(one: Ran, locale: str) -> str:
    how = word("failed" if one.failed else "ok", locale)
    return f"`{one.line}` {how}{times(one.times)}{f': {one.why}' if one.why else ''}"


def read_command(text: str, place: int) -> Ran | None:
    """A line of an earlier digest."""
    match = _LINE.match(text)
    if match is None:
        return None
    failed = match["how"] in spellings("failed")
    return Ran(match["line"], place, int(match["times"] or 1), failed, match["why"] or "")


def _worth(one: Ran, length: int) -> float:
    age = (length - one.place) / 3  # a step is three items
    worth = (1.0 + 0.2 * min(one.times, 5)) / (1 + age / OLDER)
    return worth * LOOKING if _only_looks(one.line) else worth


def _only_looks(line: str) -> bool:
    return all(map(_looks, programs(parse(line))))


def _looks(words: Sequence[str]) -> bool:
    return words[0].rpartition("/")[2] in _LOOKS or (words[0] == "git" and bool(_GIT_LOOKS.intersection(words)))


def error_entries(steps: Sequence[Step], earlier: Sequence[str], locale: str) -> list[Entry]:
    """Each different error, and what was done between it and the next success on the same subject."""
    found = {text.partition(" (")[0]: Entry(i - len(earlier), text, CARRIED) for i, text in enumerate(earlier)}
    fixed_at = _next_successes(steps)
    for i, step in enumerate(steps):
        if step.error:
            told, worth = _fixed(steps, i, fixed_at[i], locale)
            text = f"{step.error} ({_about(step)}) → {told}"
            found[step.error] = Entry(step.place, text, worth * (0.5 + i / len(steps)))
    return list(found.values())


def _next_successes(steps: Sequence[Step]) -> list[int]:
    """For every step the next one on the same subject that went well; AGAIN if none did, NEVER if none was made."""
    out = [NEVER] * len(steps)
    known: dict[str, int] = {}
    for i in range(len(steps) - 1, -1, -1):
        key = _same(steps[i])
        out[i] = known.get(key, NEVER)
        if not steps[i].failed:
            known[key] = i
        else:
            known.setdefault(key, AGAIN)
    return out


def _same(step: Step) -> str:
    """What two steps on the same subject have in common: the path, or the words a command line begins with."""
    if not step.programs:
        return f"{step.call.name} {step.subject[:200]}"
    acting = [words for words in step.programs if not _looks(words)]
    return " ".join((acting or step.programs)[-1])


def _fixed(steps: Sequence[Step], at: int, until: int, locale: str) -> tuple[str, float]:
    """What fixed an error, and what it is worth to know it."""
    if until < 0:
        return word("failing" if until == AGAIN else "untried", locale), 2.0 if steps[at].command else 0.3
    between = [
        f"{touch.path.rpartition('/')[2]} {word('changed', locale)}"
        for step in steps[max(at + 1, until - BETWEEN) : until]
        for touch in step.touches
        if touch.action in (CHANGED, WRITTEN)
    ]
    doing = "; ".join(dict.fromkeys(between[-FIXES:])) or one_line(_about(steps[until]), 60)
    return f"{word('fixed', locale)}: {doing}", 1.5 if between else 0.6


def _about(step: Step) -> str:
    return one_line(step.subject.split("\n")[0] or step.call.name, 60)


class Todo(NamedTuple):
    """Something to be done, and whether it is."""

    text: str
    done: bool


def todos(run: Run) -> list[Todo] | None:
    """The last state of the plan, by whichever tool kept it or as a checklist; None where there never was one."""
    listed: list[Todo] | None = None
    tasks: dict[str, Todo] = {}
    for step in run.steps:
        given = step.call.input
        if not isinstance(given, dict):
            continue
        entries = next((given[key] for key in _PLANS if isinstance(given.get(key), list)), None)
        if entries:
            listed = [todo for entry in entries if (todo := _todo(entry))] or listed
        elif step.call.name.endswith("TaskCreate") and isinstance(given.get("subject"), str):
            number = _CREATED.search(step.result[:80])
            tasks[number.group(1) if number else str(len(tasks) + 1)] = Todo(given["subject"], False)
        elif step.call.name.endswith("TaskUpdate") and str(given.get("taskId")) in tasks:
            _update(tasks, str(given["taskId"]), given)
    if tasks:
        listed = [*(listed or []), *tasks.values()]
    return listed if listed is not None else _checklist(run)


def _todo(entry: Any) -> Todo | None:
    if not isinstance(entry, dict):
        return None
    text = next((entry[key] for key in _TODOS if isinstance(entry.get(key), str)), "")
    return Todo(text, str(entry.get("status", "")).lower() in _DONE) if text else None


def _update(tasks: dict[str, Todo], number: str, given: dict[str, Any]) -> None:
    subject = given.get("subject")
    text = subject if isinstance(subject, str) else tasks[number].text
    status = given.get("status")
    tasks[number] = Todo(text, status in _DONE if isinstance(status, str) else tasks[number].done)


def _checklist(run: Run) -> list[Todo] | None:
    for spoken in reversed(run.assistant):
        boxes = _BOX.findall(spoken.text)
        if boxes:
            return [Todo(text, box != " ") for box, text in boxes]
    return None


def open_entries(run: Run, earlier: Sequence[str], locale: str) -> list[Entry]:
    """What is still to be done, how much is done, and the last request if nothing answers it."""
    found = todos(run)
    if found is None:
        talked = run.users or run.assistant
        lines = [line for line in earlier if not (talked and line.endswith(_WAITS))]
    else:
        done = sum(todo.done for todo in found)
        lines = [f"[ ] {one_line(todo.text, 200)}" for todo in found if not todo.done]
        lines += [f"[x] {word('done', locale).format(n=done)}"] if done else []
    entries = [Entry(i, line, 2.0 - i / (len(lines) + 1)) for i, line in enumerate(lines)]
    if text := _waiting(run, locale):
        entries.append(Entry(len(lines), text, 3.0))
    return entries


def _waiting(run: Run, locale: str) -> str:
    """The last request if nothing answers it, or the assistant's last question if nobody did."""
    asked, answered = (said[-1].place if said else -1 for said in (run.users, run.assistant))
    if asked > answered:
        return f"{one_line(run.users[-1].text, ASKED)} ({word('unanswered', locale)})"
    last = run.assistant[-1].text.rstrip().rpartition("\n")[2] if run.assistant else ""
    return f"{one_line(last, ASKED)} ({word('asked', locale)})" if last.endswith(("?", "？")) else ""
