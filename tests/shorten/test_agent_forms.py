"""What other agents than Claude Code send: their forms of a file that was read, and the shape of their calls."""

import json
import re
from typing import Any

import pytest

from sightline.shorten import shorten
from sightline.shorten.file_reads import parse_read, read_gist
from sightline.values.items import Call, Item, Kind, Result, Text
from sightline.values.tokens import counter

count = counter("o200k_base").count
PATH = "/project/pumps/valves.py"


def source() -> list[str]:
    """A module of 57 functions, with blank lines."""
    lines = ["import os", "import sys", ""]
    for number in range(57):
        body = [f"    step_{at} = pressure * {number * 37 + at} + offset_{number}" for at in range(6)]
        lines += [f"def valve_{number}(pressure: float) -> float:", *body, f"    return step_{number % 6}", ""]
    return lines


LINES = source()
NUMBERED = [f"{at}: {line}".rstrip() for at, line in enumerate(LINES, 1)]
PADDED = [f"{at:05d}| {line}" for at, line in enumerate(LINES, 1)]
END = f"(End of file - total {len(LINES)} lines)"
FORMS = {
    "Claude Code": [f"{at:6d}→{line}" for at, line in enumerate(LINES, 1)],
    "opencode": [f"<path>{PATH}</path>", "<type>file</type>", "<content>", *NUMBERED, "", END, "</content>"],
    "opencode before": ["<file>", *PADDED, "", END, "</file>"],
    "Cline": [
        json.dumps(
            [
                {
                    "query": PATH,
                    "result": "\n".join(f"{at:3d} | {line}" for at, line in enumerate(LINES, 1)),
                    "success": True,
                }
            ]
        )
    ],
}


def read(lines: list[str]) -> Item:
    """The result of reading the file."""
    return Item("7", Kind.RESULT, (Result("call_1", (Text("\n".join(lines)),), name="read"),))


@pytest.mark.parametrize("agent", FORMS)
def test_a_read_keeps_its_definitions_in_every_form(agent: str) -> None:
    """As many as Claude Code's, each with the one line number that it has."""
    kept = {}
    for name in ("Claude Code", agent):
        shorter = shorten(read(FORMS[name]), count=count, name="read", subject=PATH)
        assert shorter.summary is not None
        kept[name] = len({*re.findall(r"def (valve_\d+)", shorter.summary)})
        assert not re.search(r"^[ \t]*\d+:[ \t]+0*\d+(?::|\||→)", shorter.summary, re.MULTILINE)
    assert kept[agent] >= max(10, kept["Claude Code"] - 2)


@pytest.mark.parametrize("agent", FORMS)
def test_the_line_of_a_read_tells_its_file_and_functions(agent: str) -> None:
    """The frame is none of its lines."""
    text = "\n".join(FORMS[agent])
    found = parse_read(text, PATH)
    assert found is not None
    assert found.path == PATH
    assert "End of file" not in found.content
    line = read_gist(text, path=PATH)
    assert line is not None
    assert "valve_0" in line
    assert f"{len(LINES)} lines" in line


TODOS = [{"content": f"Look at valve {at} and write down {at * 7919 % 1000}", "status": "pending"} for at in range(60)]
CALLS: dict[str, dict[str, Any]] = {
    "a list of steps": {"todos": TODOS},
    "a list of texts": {"paths": [f"src/pumps/valve_{at}.py" for at in range(90)], "recursive": True},
    "a list of numbers": {"values": [at * 7919 for at in range(400)]},
    "lists in lists": {"rows": [[f"cell {at}", str(at)] for at in range(120)]},
    "an object in an object": {"options": {f"option_{at}": f"value {at} of some words" for at in range(90)}, "n": 1},
    "edits": {"file_path": "a.py", "edits": [{"old": "a = 1\n" * 40, "new": "b = 2\n" * 40, "all": False}] * 9},
    "many keys": {f"option_{at}": [at, str(at) * 20] for at in range(90)},
    "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": ["h " * 200]}}}}}}, "text": "words " * 300},
}


def same_shape(short: Any, whole: Any) -> bool:
    """Whether a value has the keys and types of another, and perhaps fewer members."""
    match short, whole:
        case dict(), dict():
            return all(key in whole and same_shape(member, whole[key]) for key, member in short.items())
        case list(), list():
            return all(any(same_shape(member, other) for other in whole) for member in short)
        case _:
            return type(short) is type(whole)


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
def test_a_shortened_call_keeps_its_shape(arguments: dict[str, Any]) -> None:
    """Models copy their own calls: no key and no kind of member is there that the call did not have."""
    levels = shorten(Item("412.2", Kind.CALL, (Call("c", "tool", arguments),)), count=count)
    assert levels.summary is not None
    for level in filter(None, levels):
        short = json.loads(level)
        assert same_shape(short, arguments), level
        assert '"…":' not in level
        assert short.keys() == arguments.keys() or len(arguments) > 20
        assert "#412.2" in level or not re.search(r': "|\[+"', level)  # nothing is left that could say it


CODE = "\n".join(
    f"    def valve_{at}(self) -> int:\n        return self.pressure * {at * 7919 % 1000}\n" for at in range(60)
)
MESSAGES = {
    "aider's files": f"I have added these files to the chat.\n\npumps.py\n```python\nclass Pump:\n{CODE}```\n",
    "code without a fence": f"import os\nimport sys\n\nclass Pump:\n{CODE}",
    "a SEARCH block": f"Here is the change. It is small.\n\n```\n<<<<<<< SEARCH\n{CODE}>>>>>>> REPLACE\n```",
}  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.USER, Kind.ASSISTANT])
@pytest.mark.parametrize("text", MESSAGES.values(), ids=MESSAGES)
def test_code_in_a_message_keeps_its_lines(text: str, kind: Kind) -> None:
    """Whole lines with their indentation, so that what is copied from them still matches the file."""
    levels = shorten(Item("9", kind, (Text(text),)), count=count)
    assert levels.gist is not None
    lines = {*text.split("\n")}
    for level in filter(None, levels):
        code = [line for line in level.split("\n") if "def valve_" in line or "return self" in line]
        assert code or level == levels.gist
        assert [line for line in code if line not in lines] == []
