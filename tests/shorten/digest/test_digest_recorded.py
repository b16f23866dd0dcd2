"""The digest of recorded sessions: the questions come from what was recorded, the answers from the digest's text."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from conversations import section
from recorded_runs import Run, Said, Used, compactions, items_of, runs, text_of

from sightline.shorten.digest import digest
from sightline.values.tokens import counter

count = counter().count
LEAST = 2000  # tokens; longer sessions have a tenth of their own
ANSWERED, SAID = 0.95, 0.85  # shares that must be kept

# ------------------------------------------------------------------ which files were created, changed, read?


class Asked(NamedTuple):
    """Whether this was done to this file."""

    path: str
    action: str


TOOLS = {"Read": "read", "Edit": "changed", "MultiEdit": "changed", "NotebookEdit": "changed", "Write": "written"}
EDITOR = {"view": "read", "create": "written", "str_replace": "changed", "insert": "changed"}
PATCH = {"Add": "created", "Update": "changed", "Delete": "deleted"}
PATH = r"([\w@+][\w./@+-]*|[./~][\w./@+-]+)"
# Only the plainest forms: one program, one file.
SHELL = (
    ("read", rf"(?:cat|nl(?: -ba)?|(?:head|tail)(?: -n ?\+?\d+| -\d+)?|sed -n (?:'[^']*'|\"[^\"]*\"|\S+)) +{PATH}$"),
    ("written", rf"(?:cat|echo|printf)\b[^>]*[^>2&]> ?{PATH}(?: <<BODY)?$"),
    ("changed", rf"sed -i(?: -E| -e)? +(?:'[^']*'|\"[^\"]*\") +{PATH}$"),
    ("deleted", rf"rm (?:-\w+ )?{PATH}$"),
)
BODY = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?(.*)\n(?:.*\n)*?\1\b")
DIFF = r"^(?!.*git (?:stash|show|log|checkout|diff (?:main|HEAD|origin|\w+\.\.))).*\bgit diff\b"
CHANGED = r"^diff --git a/(\S+) b/\1\nindex"
FAILED = re.compile(
    r"\s*(?:<tool_use_error>|error|the user doesn't want|no replacement|file does not exist|string to replace|eisdir|"
    r"found \d+ matches|.{0,200}(?:has not been read yet|was rejected))",
    re.I,
)


def questions(run: Run) -> set[Asked]:
    """All that the tool calls say plainly. A file written is created if nothing was done to it before."""
    asked = _diffed(run)
    known: set[str] = set()
    for used in run:
        for path, done in _done(used) if isinstance(used, Used) else ():
            action = done
            if done == "written":
                said = re.search(r"created|updated", used.result[:400])
                action = {"created": "created", "updated": "changed"}[said[0]] if said else "created"
                action = "changed" if not said and path in known else action
            known.add(path)
            asked.add(Asked(path, action))
    return asked


def _diffed(run: Run) -> set[Asked]:
    """What an agent with only a shell changed, by scripts too: its own diffs say so, for its files were clean."""
    used = [event for event in run if isinstance(event, Used)]
    diffs = [one.result for one in used if re.search(DIFF, one.given.get("command", ""))]
    shell = all(one.tool == "bash" for one in used)
    return {Asked(path, "changed") for text in diffs if shell for path in re.findall(CHANGED, text, re.M)}


def _done(used: Used) -> Iterator[tuple[str, str]]:
    """Paths and what a call did to them."""
    given, result = used.given, used.result
    path = given.get("file_path") or given.get("notebook_path") or given.get("path")
    command = given.get("command") or given.get("cmd")
    if "*** Begin Patch" in json.dumps(given):
        if '"exit_code":0' in result or "Success" in result:
            for verb, patched in re.findall(r"^\*\*\* (Add|Update|Delete) File: (.+)$", _patch(given), re.M):
                yield patched.strip(), PATCH[verb]
    elif isinstance(path, str):
        action = TOOLS.get(used.tool) or EDITOR.get(str(command))
        if action and not FAILED.match(result) and "." in path.rpartition("/")[2]:
            yield path, action
    elif isinstance(command, str) and "No such file" not in result:
        yield from _done_by_shell(command)


def _patch(given: dict[str, Any]) -> str:
    text = given.get("input") or given.get("command") or given.get("cmd") or ""
    return " ".join(text) if isinstance(text, list) else str(text)


def _done_by_shell(command: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"\s*(?:&&|\|\||;|\n)\s*", BODY.sub(r"<<BODY\2", f"{command}\n")):
        for action, form in SHELL:
            found = re.match(form, (part.split("|")[0] if action == "read" else part).strip())
            if found and not found[1].startswith("/dev/"):
                yield found[1].removeprefix("./"), action


def answers(text: str) -> set[Asked]:
    """What the section of files says, read line by line as a person would."""
    told: set[Asked] = set()
    for line in section(text, "Files"):
        if folder := re.match(r"- (created|changed|read|deleted) in (.+?): (.*)$", line):
            ahead = "" if folder[2] == "." else f"{folder[2].rstrip('/')}/"
            told |= {Asked(ahead + re.sub(r" \d+×$", "", name), folder[1]) for name in folder[3].split(", ")}
        elif file := re.match(r"- (.+?): ((?:(?:created|changed|read|deleted)(?: \d+×)?(?:, )?)+)", line):
            told |= {Asked(file[1], action) for action in re.findall("[a-z]+", file[2])}
    return told


def answered(asked: Asked, told: set[Asked]) -> bool:
    """Whether the text says so, of this path or of one that ends with it."""
    return asked in told or any(
        action == asked.action and (path.endswith(f"/{asked.path}") or asked.path.endswith(f"/{path}"))
        for path, action in told
    )


@pytest.mark.soak
def test_the_digest_tells_which_files_recorded_sessions_created_changed_and_read(soak: bool) -> None:
    """In a tenth of a session's tokens it answers 95 % of the questions, and names no file that no call named."""
    found = total = 0
    for run in runs() if soak else ():
        asked = questions(run)
        whole = text_of(run)
        told = answers(digest(items_of(run), tokens=max(LEAST, count(whole) // 10), count=count))
        total += len(asked)
        found += sum(answered(one, told) for one in asked)
        for path, _ in told:
            assert path.rpartition("/")[2] in whole.replace("\\\\", "\\")
    assert found >= ANSWERED * total, f"{found} of {total}"


# ------------------------------------------------------------------ real compactions


def values_used_later(before: str, after: Run) -> list[str]:
    """What the agent wrote into calls after the compaction and had seen only before it."""
    values: dict[str, None] = {}
    seen = ""
    for event in after:
        if isinstance(event, Used):
            for token in re.findall(r"[\w./#@:\\-]{4,}", " ".join(_leaves(event.given))):
                value = token.strip(".:/-\\")
                specific = re.search(r"[\d/_#@.]|[a-z][A-Z]", value)
                if len(value) >= 4 and specific and value in before and value not in seen:
                    values[value] = None
        seen += text_of([event])
    return list(values)


def _leaves(given: Any) -> Iterator[str]:
    if isinstance(given, dict | list):
        for member in given.values() if isinstance(given, dict) else given:
            yield from _leaves(member)
    elif given is not None and not isinstance(given, bool):
        yield str(given)


def share_said(message: str, text: str) -> float:
    """1 where a message stands as it is, else the largest share of its words in one entry."""
    entries = text.replace("\n  ", " ").split("\n")
    if " ".join(message.split()) in " ".join(text.split()):
        return 1.0
    words = set(re.findall(r"\w+", message.lower()))
    return max((len(words & set(re.findall(r"\w+", entry.lower()))) / len(words) for entry in entries), default=0.0)


def typed(event: Said | Used) -> bool:
    """Whether the user wrote it, and it is no paste."""
    put_in = ("<", "[Request", "Caveat", "This session is being continued")
    said = isinstance(event, Said) and event.by == "user"
    return said and 15 < len(event.text) < 1500 and not event.text.lstrip().startswith(put_in)


@pytest.mark.soak
def test_a_digest_keeps_more_than_the_summaries_that_were_recorded(soak: bool) -> None:
    """In the size of the model's own summary: more of the values used later, and 85 % of what the user said."""
    ours, theirs, said = [], [], []
    for before, summary, after in compactions() if soak else ():
        text = digest(items_of(before), tokens=count(summary), count=count)
        values = values_used_later(text_of(before), after)
        if values:
            ours.append(sum(value in text for value in values) / len(values))
            theirs.append(sum(value in summary for value in values) / len(values))
        said += [share_said(event.text, text) for event in before if typed(event)]
    assert sum(ours) > sum(theirs) or not ours, (sum(ours), sum(theirs))
    assert sum(said) >= SAID * len(said), f"{sum(said):.1f} of {len(said)}"
