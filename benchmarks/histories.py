"""Generated histories: as long as wanted, the same for the same seed on every machine and Python version.

`agent_run` and `chat_turns` give lists, `agent_stream` and `chat_stream` the same messages one by one.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import exp
from random import Random
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

from benchmarks.phrases import (
    AREAS,
    ASIDES,
    CHAT,
    DIFF,
    ERRORS,
    FIELDS,
    HITS,
    LISTING,
    LOG,
    NOUNS,
    PLACES,
    REMARKS,
    REPORTS,
    ROLES,
    ROWS,
    SOURCE,
    STATES,
    SYSTEM,
    TASKS,
    TESTS,
    VERBS,
)

T = TypeVar("T")
Words = dict[str, Any]
Message = dict[str, Any]

# Characters a tool has to say. Edits say little and short files end early: the results' median is then about 1,200.
MEDIAN, SPREAD, LARGEST = 1700, 1.1, 30_000
SIZES = [min(LARGEST, int(MEDIAN * exp(SPREAD * NormalDist().inv_cdf((i + 0.5) / 1024)))) for i in range(1024)]
KEPT_FILES = 1500  # older files are forgotten: a long run moves through a project, and memory stays bounded
FRESH = 1000  # characters of an output that are new; most of what follows was seen before, as in long logs and listings
KEPT_PIECES = 300  # of each kind, to be seen again
KEPT_LEADS = 200  # how far back a later call may reach for a value it saw


class Lead(NamedTuple):
    """A call worth making because of a value that appeared in a result."""

    tool: str
    arguments: dict[str, Any]


class Dice:
    """Random choices from one seed. Only `random()` is used, because Python promises not to change its sequence."""

    def __init__(self, seed: int) -> None:
        self.roll = Random(seed).random

    def below(self, n: int) -> int:
        return int(self.roll() * n)

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.roll() * len(options))]

    def recent(self, options: Sequence[T]) -> T:
        """Pick one, mostly of the last."""
        roll = self.roll()
        return options[-1 - int(roll * roll * roll * len(options))]


@dataclass(slots=True)
class World:
    """The invented project that the agent works in, and what the agent has seen of it so far."""

    dice: Dice
    files: dict[str, list[str]] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)  # of `files`, oldest first
    leads: list[Lead] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)  # the latest pieces of each kind of output
    seen: Words = field(default_factory=dict)  # the words of the latest result, for the next remark
    area: str = "billing"
    task_left: int = 0  # messages until the agent reports back
    tasks: int = 0
    calls: int = 0


def agent_run(messages: int, seed: int = 7) -> list[Message]:
    """Return an agent run of exactly that many messages in OpenAI chat format, system first, ready for a model call."""
    return list(agent_stream(messages, seed))


def agent_stream(messages: int, seed: int = 7) -> Iterator[Message]:
    """Yield the messages of `agent_run` one by one.

    Raises:
        ValueError: fewer than two messages, which cannot end with a user message.
    """
    if messages < 2:
        raise ValueError(f"an agent run has at least a system and a user message, {messages} are too few")
    world, left = World(Dice(seed)), messages - 1
    yield {"role": "system", "content": SYSTEM}
    while left:
        group = _next_group(world, left)
        world.task_left -= len(group)
        left -= len(group)
        yield from group


def chat_turns(turns: int, size: int = 4096, seed: int = 7) -> list[Message]:
    """A conversation of 2 × `turns` messages, user and assistant in turn, about `size` bytes of JSON for each two."""
    return list(chat_stream(turns, size, seed))


def chat_stream(turns: int, size: int = 4096, seed: int = 7) -> Iterator[Message]:
    """Yield the messages of `chat_turns` one by one."""
    world = World(Dice(seed))
    room = max(2, size - 75)  # what the JSON of two messages takes besides their texts
    for _ in range(turns):
        asked = room // 8 + world.dice.below(room // 4 + 1)  # people write less than models
        yield {"role": "user", "content": _prose(world, asked)}
        yield {"role": "assistant", "content": _prose(world, room - asked)}


def _next_group(world: World, left: int) -> list[Message]:
    """Return the next messages that belong together: at most `left`, never ending with a pending call or an answer."""
    dice = world.dice
    if not world.tasks:
        return [_task(world)]
    if left == 1 or dice.below(60) == 0:
        return [{"role": "user", "content": dice.pick(ASIDES) % _words(world)}]
    if world.task_left <= 0:
        return [{"role": "assistant", "content": dice.pick(REPORTS) % world.seen}, _task(world)]
    return _step(world, min(left - 1, dice.pick((1, 1, 1, 1, 2, 2, 3, 4))))


def _task(world: World) -> Message:
    world.area = world.dice.pick(AREAS)
    world.task_left = 20 + world.dice.below(41)
    world.tasks += 1
    world.seen = _words(world)
    return {"role": "user", "content": world.dice.pick(TASKS) % world.seen}


def _step(world: World, width: int) -> list[Message]:
    """One assistant message with `width` parallel calls, and their results."""
    remark = world.dice.pick(REMARKS) % world.seen if world.dice.below(3) else None
    leads = [_next_call(world) for _ in range(width)]  # all chosen before any result is known, as a model must
    calls, results = [], []
    for lead in leads:
        world.calls += 1
        call_id = f"call_{world.calls:06x}{world.dice.below(16**8):08x}"
        arguments = json.dumps(lead.arguments, ensure_ascii=False)
        calls.append({"id": call_id, "type": "function", "function": {"name": lead.tool, "arguments": arguments}})
        results.append({"role": "tool", "tool_call_id": call_id, "content": _result(world, lead)})
    return [{"role": "assistant", "content": remark, "tool_calls": calls}, *results]


def _next_call(world: World) -> Lead:
    """Choose the next call: mostly one that follows a value seen before, sometimes one that explores."""
    dice = world.dice
    if world.leads and dice.below(10) < 7:
        return world.leads.pop(dice.recent(range(len(world.leads))))
    if world.files and dice.below(4) == 0:
        return Lead("read_file", {"path": dice.recent(world.paths)})
    if dice.below(12) == 0:
        words = _words(world)
        path = f"tests/{words['area']}/test_{words['file']}"
        return Lead("write_file", {"path": path, "content": _fill(world, SOURCE, dice.pick(SIZES), words)})
    words = _words(world)
    return dice.pick(
        [
            Lead("list_files", {"path": world.area}),
            Lead("grep", {"pattern": f"{words['verb']}_{words['noun']}", "path": world.area}),
            Lead("run_tests", {"target": f"tests/{world.area}"}),
            Lead("search_logs", {"service": world.area, "since": words["time"]}),
            Lead("run_command", {"command": f"git log -n {words['count']} --stat -- {world.area}"}),
            Lead("read_file", {"path": words["path"]}),
        ]
    )


def _result(world: World, lead: Lead) -> str:
    """Return a tool's result, and remember leads for the values it names."""
    size, words = world.dice.pick(SIZES), _words(world) | _asked(lead.arguments)
    text = RESULTS[lead.tool](world, lead.arguments, size, words)
    found = [lead for lead, value in _leads(words) if value in text]  # only what was really shown is followed
    world.leads.extend(found)
    del world.leads[:-KEPT_LEADS]
    if found:
        world.seen = words
    return text


def _asked(arguments: dict[str, Any]) -> Words:
    """Return the words of a call's arguments, so that its result can contain them."""
    if "request_id" in arguments:
        return {"request": arguments["request_id"]}
    if "pattern" in arguments:
        verb, noun = arguments["pattern"].split("_", 1)
        return {"verb": verb, "noun": noun, "Noun": noun.capitalize()}
    return {}


def _leads(words: Words) -> list[tuple[Lead, str]]:
    name, path, line = f"{words['verb']}_{words['noun']}", words["path"], words["line"]
    return [
        (Lead("read_file", {"path": path, "start_line": max(1, line - 10)}), f"{path}:{line}"),
        (Lead("read_file", {"path": path}), path),
        (Lead("grep", {"pattern": name, "path": words["area"]}), name),
        (Lead("search_logs", {"service": words["area"], "request_id": words["request"]}), words["request"]),
        (Lead("get_record", {"kind": words["noun"], "id": words["order"]}), words["order"]),
        (Lead("run_command", {"command": f"git show {words['sha']}"}), words["sha"]),
        (Lead("edit_file", {"path": path, "line": line, "old": name, "new": f"{name}_once"}), f"{path}:{line}"),
    ]


def _read(world: World, arguments: dict[str, Any], size: int, words: Words) -> str:
    """Numbered lines of a file, which is made when first read and stays the same until edited."""
    path = arguments["path"]
    if path not in world.files:
        head = f'"""{path}: part of {words["area"]}."""\n\nfrom shop.core import Clock, log, replace, router\n\n\n'
        _keep(world, path, head + _fill(world, SOURCE, 2 * size, words))
    lines = world.files[path]
    start = min(arguments.get("start_line", 1), max(1, len(lines) - 20))
    shown = lines[start - 1 : start + size // 20]  # more than fit, or nearly: a numbered line is seldom shorter than 20
    numbered = [f"{number:>5}\t{line}" for number, line in enumerate(shown, start)]
    return _cut("\n".join(numbered), max(size, 400))


def _keep(world: World, path: str, content: str) -> None:
    if path not in world.files:
        world.paths.append(path)
    world.files[path] = content.split("\n")
    if len(world.paths) > 2 * KEPT_FILES:
        for old in world.paths[:KEPT_FILES]:
            del world.files[old]
        del world.paths[:KEPT_FILES]


def _edit(world: World, arguments: dict[str, Any], size: int, words: Words) -> str:  # noqa: ARG001 - the table's shape
    lines = world.files.get(arguments["path"])
    if not lines:
        return f"error: {arguments['path']} has not been read yet; read it before editing"
    at = min(arguments["line"], len(lines)) - 1
    lines.insert(at, f"    # {words['ticket']}: {words['verb']} once, see {words['request']}")
    return f"edited {arguments['path']}: 1 line added at {at + 1}"


def _write(world: World, arguments: dict[str, Any], size: int, words: Words) -> str:  # noqa: ARG001 - the table's shape
    _keep(world, arguments["path"], arguments["content"])
    return f"wrote {arguments['path']}, {len(arguments['content'])} characters"


def _tests(world: World, arguments: dict[str, Any], size: int, words: Words) -> str:
    failed = world.dice.below(3)
    body = _fill(world, TESTS if failed else TESTS[:1], size, words)
    head = f"collected {words['amount']} items in {arguments['target']}\n"
    return f"{head}{body}===== {failed} failed, {words['count']} passed ====="


def _record(world: World, arguments: dict[str, Any], size: int, words: Words) -> str:
    rows = _fill(world, ROWS, max(size - 100, 0), words).rstrip(",\n")
    return f'{{"id":"{arguments["id"]}","kind":"{arguments["kind"]}","rows":[\n{rows}\n]}}'


def _lines(templates: list[str]) -> Callable[[World, dict[str, Any], int, Words], str]:
    """Return a function that makes a result of lines of one kind."""
    return lambda world, _, size, words: _cut(_fill(world, templates, size, words), max(size, 120))


RESULTS: dict[str, Callable[[World, dict[str, Any], int, Words], str]] = {
    "read_file": _read,
    "grep": _lines(HITS),
    "list_files": _lines(LISTING),
    "run_tests": _tests,
    "search_logs": _lines(LOG),
    "get_record": _record,
    "run_command": _lines(DIFF),
    "edit_file": _edit,
    "write_file": _write,
}


def _fill(world: World, templates: list[str], size: int, words: Words) -> str:
    """Templates filled with words, `words` first, until the text has at least `size` characters."""
    said, piece = world.said.setdefault(templates[0], []), _piece(world.dice, templates, words)
    pieces, taken = [piece], len(piece)
    said.append(piece)
    while taken < size:
        if taken < FRESH or world.dice.below(8) == 0:
            said.append(_piece(world.dice, templates, _words(world)))
            pieces.append(said[-1])
        else:
            pieces.append(world.dice.recent(said))
        taken += len(pieces[-1])
    del said[:-KEPT_PIECES]
    return "".join(pieces)


def _piece(dice: Dice, templates: list[str], words: Words) -> str:
    """Return a few neighbouring lines that use the same words."""
    first, kinds = dice.below(len(templates)), len(templates)
    return "".join([templates[at % kinds] % words for at in range(first, first + 1 + dice.below(kinds))])


def _cut(text: str, size: int) -> str:
    """At most `size` characters, ending with a whole line where there is one."""
    return text if len(text) <= size else text[: text.rfind("\n", 0, size) + 1 or size]


def _prose(world: World, size: int) -> str:
    text = _fill(world, CHAT, size, _words(world))
    return text[: text.rfind(" ", 0, size + 1)] if " " in text[:size] else text[:size]


@cache
def _names() -> list[Words]:
    """Names that go together, in the spellings the templates use. Made once: they cost more than all the rest."""
    dice, names = Dice(0), []
    for _ in range(4096):
        verb, noun, other = dice.pick(VERBS), dice.pick(NOUNS), dice.pick(NOUNS)
        role, name = dice.pick(ROLES), dice.pick(FIELDS)
        plain = {"verb": verb, "noun": noun, "other": other, "role": role, "field": name}
        spelt = {key.capitalize(): value.capitalize() for key, value in plain.items()}
        upper = {key.upper(): value.upper() for key, value in plain.items()}
        facts = {"state": dice.pick(STATES), "error": dice.pick(ERRORS), "place": dice.pick(PLACES)}
        time = f"2025-03-{1 + dice.below(28):02d}T{dice.below(24):02d}:{dice.below(60):02d}:{dice.below(60):02d}Z"
        numbers = {"count": 3 + dice.below(61), "digit": 1 + dice.below(7), "host": f"node-{dice.below(24):02d}"}
        names.append({**plain, **spelt, **upper, **facts, **numbers, "time": time, "file": f"{noun}_{role}.py"})
    return names


def _words(world: World) -> Words:
    """Names with fresh numbers and ids."""
    roll, area, names = world.dice.roll, world.area, _names()
    known, bits, line = names[int(roll() * len(names))], int(roll() * 16**12), 11 + int(roll() * 380)
    return {
        **known,
        "area": area,
        "path": f"{area}/{known['file']}",
        "line": line,
        "line2": line + 7 + bits % 40,
        "ms": 4 + bits % 1931,
        "amount": 100 + bits % 98_765,
        "request": f"{bits:012x}",
        "sha": f"{bits * 48_271 % 16**10:010x}",
        "order": f"SO-{bits % 10**9:09d}",
        "ticket": f"SHOP-{1000 + bits % 8999}",
    }
