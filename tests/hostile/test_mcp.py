"""Hostile MCP servers, as programs of their own: what they do fails a call or is told to the user, and no more."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_use import using
from tests.conftest import SOAK, Tried

from sightline.agent.config import McpServer
from sightline.agent.models.secret import Secret
from sightline.agent.tools import Tool
from sightline.agent.tools import mcp_program as program
from sightline.agent.tools.mcp import MOST_TEXT, _without_keys, servers
from sightline.agent.tools.mcp_limits import LONGEST_DESCRIPTION, MOST_BLOCKS, MOST_TOKENS, MOST_TOOLS, SHARE, fitting
from sightline.errors import ToolFailed
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import ToolDefinition

SERVER = str(Path(__file__).with_name("mcp_server.py"))
KEY = "correct-horse-battery"


def hostile(how: str = "") -> McpServer:
    return McpServer(command=sys.executable, args=("-S", SERVER, how), env={"THE_KEY": Secret(KEY)})


async def outcome(tool: Tool) -> str:
    """What a call gives, or why it failed."""
    try:
        return str(await tool.run({}))
    except ToolFailed as failed:
        return f"failed: {failed}"


async def same(tools: dict[str, Tool]) -> dict[str, Tool]:
    return tools


# ------------------------------------------------------------------ definitions


@pytest.mark.parametrize(
    ("how", "left", "told"),
    [
        ("many", MOST_TOOLS, "4918 MCP tools are not offered, because their definitions have no room"),
        ("wordy", 20, "2 descriptions of tools are cut to 4000 characters: w1, w2"),
        (
            "schemas",
            18,
            "2 tools are left out, because their schemas are too large or nested too deeply: large, nested",
        ),
        ("heavy", 27, "are not offered, because their definitions have no room"),
    ],
)
def test_definitions_leave_room_for_the_conversation(how: str, left: int, told: str, tried: Tried) -> None:
    """Many, long, deep or heavy: what is taken can be composed, and what is not taken is said."""
    tools, warnings = using({"h": hostile(how)}, same)
    assert len(tools) == left
    assert [told in warning for warning in warnings] == [True]
    assert all(len(tool.definition.description) <= LONGEST_DESCRIPTION for tool in tools.values())
    for window in (8_000, 64_000):
        kept, _ = fitting(list(tools.values()), min(MOST_TOKENS, window // SHARE))
        session = Session(MemoryStore("s"))
        session.tools([tool.definition for tool in kept])
        session.user("Good morning.")
        assert session.compose(Budget(window, output=window // 4)).tools
    tried("hostile lists of tools", 1)


def test_one_servers_tools_leave_room_for_anothers() -> None:
    """Two servers and the room of one: each keeps the first of its tools. With the room of both, all of them."""

    async def run(_: Any) -> str:
        return ""

    tools = [
        Tool(ToolDefinition(f"{server}__{number}", "word " * 50, {}), run) for server in "ab" for number in range(10)
    ]
    kept, left_out = fitting(tools, 700)
    assert [tool.name for tool in kept] == [f"{server}__{number}" for server in "ab" for number in range(5)]
    assert len(left_out) == 10
    assert fitting(tools, 7000) == (tools, [])


# ------------------------------------------------------------------ answers


def test_a_call_fails_with_its_reason_and_the_session_goes_on(tried: Tried) -> None:
    """After each hostile answer, and during none, a good call is answered as before."""
    expected = {
        "deep": "failed: h failed: its answer is nested too deeply (30,002 levels)",
        "surrogate": "half ? of a smile",
        "twice": "first",
        "garbage": "after the garbage",
        "bytes": "a \ufffd b",
        "key": "failed: h failed: bad key …",
        "key_result": "failed: 401: … is no valid key",
    }

    async def use(tools: dict[str, Tool]) -> None:
        for name, wanted in expected.items():
            assert await outcome(tools[f"h__{name}"]) == wanted
            assert await outcome(tools["h__good"]) == "good"
        assert (await outcome(tools["h__no_result"])).startswith("failed: h failed: ")
        assert await outcome(tools["h__good"]) == "good"

    _, warnings = using({"h": hostile()}, use)
    assert warnings == ["MCP server h sent text that is not valid Unicode (half a character); it is shown as ?"]
    tried("hostile answers", len(expected) + 1)


@pytest.mark.slow
def test_many_tiny_blocks_are_not_looked_at_one_by_one() -> None:
    """A list of 300,000 blocks is cut before any of them is checked, and says how many are missing."""

    async def use(tools: dict[str, Tool]) -> str:
        return await outcome(tools["h__blocks"])

    text, _ = using({"h": hostile()}, use)
    assert text == f"[+{300_000 - MOST_BLOCKS} blocks]"


def seconds_of(work: Callable[[], object]) -> float:
    """The time of the processor that it takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.slow('""', '{"id":"')
@pytest.mark.parametrize(
    "unit", [b'\\"', b'"\\', b"[", b"[]", b'""', b'"id" :', b'{"id":"', b"\\", b'"id"' + b" " * 50]
)
def test_a_line_that_cannot_be_read_is_outlined_in_time(unit: bytes, tried: Tried) -> None:
    """Nothing in it is looked at again and again: the loop, in which all else runs, is not held for long."""
    answer = b'{"jsonrpc":"2.0","id":7,"x":"%s'
    for size in (80_000, 16_000_000 if SOAK else 1_000_000):
        for line in (answer % (unit * (size // len(unit))), unit * (size // len(unit))):
            assert seconds_of(partial(program._outline, line)) < 2
    assert program._outline(answer % (unit * 10))[1] == 7
    tried("lines that cannot be read", 4)


def test_an_answer_whose_text_is_cut_fails_its_call() -> None:
    """The string is never closed: the call that it answers fails at once, and does not hang."""

    async def use(tools: dict[str, Tool]) -> str:
        return await outcome(tools["h__unclosed"])

    assert using({"h": hostile()}, use)[0] == "failed: h failed: its answer is no message"


LATE = "h did not answer within 1 s"


@pytest.mark.slow("notifications-h did not answer within 1 s")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("long_line", f"it wrote a message of more than {program.MOST_LINE:,} bytes"),
        ("noise", f"it wrote {program.MOST_UNREADABLE} lines that are no messages"),
        ("die", "h failed: Connection closed"),
        ("wrong_id", LATE),
        ("notifications", LATE),
        ("hang", LATE),
        ("orphan", LATE),
    ],
)
def test_a_server_that_floods_hangs_or_dies_fails_its_own_calls(
    name: str, why: str, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In time and with the reason; another server's calls go on."""
    monkeypatch.setattr(program, "LEAVING", 0.2)

    async def use(tools: dict[str, Tool]) -> None:
        async with servers({"other": hostile()}) as others:
            assert why in await outcome(tools[f"h__{name}"])
            assert await outcome(others[0]) == "good"
            if why != LATE:
                assert why in await outcome(tools["h__good"])  # also of every later call

    using({"h": hostile()}, use, **({"calling": 1.0} if why == LATE else {}))
    tried("hostile servers", 1)


def test_no_program_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ignores the end of its input is ended, and so is what it has started."""
    psutil = pytest.importorskip("psutil")
    monkeypatch.setattr(program, "LEAVING", 0.2)

    async def use(tools: dict[str, Tool]) -> list[Any]:
        await outcome(tools["h__orphan"])
        await outcome(tools["k__hang"])
        return [each for each in psutil.process_iter(["cmdline"]) if SERVER in (each.info["cmdline"] or ())]

    running, _ = using({"h": hostile("left behind"), "k": hostile("left behind")}, use, calling=0.5)
    mine = [each for each in running if "left behind" in each.info["cmdline"]]
    assert mine
    _, alive = psutil.wait_procs(mine, timeout=10)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


# ------------------------------------------------------------------ what it says about itself


def test_keys_in_its_error_output_are_hidden() -> None:
    """The configured ones, and whatever has the shape of one or is called one."""
    _, [warning] = using({"h": hostile("tells")}, same)
    assert "refused" in warning
    for key in (KEY, "abcdefghij1234567890", "tok_abcdef"):
        assert key not in warning


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("api_key=hunter2hunter2 failed", "api_key=… failed"),
        ('{"token": "abcdef123456"}', '{"token": "…"}'),
        ("https://me:pass@host/x", "https://…@host/x"),
        ("AKIAIOSFODNN7EXAMPLE is wrong", "… is wrong"),
        ("ghp_0123456789abcdefABCD expired", "… expired"),
        ("the monkey ate the keyboard: twice", "the monkey ate the keyboard: twice"),
        ("jwt-eyJhbGciOiJub25lIn0.eyJzdWIiOjF9.c2ln- is late", "… is late"),
        ("jwt eyJhbGciOiJub25lIn0.eyJzdWIiOjF9. is late", "jwt … is late"),
        ("donkeyJonathan12.read.txt", "donkeyJonathan12.read.txt"),
        ("token: no", "token: no"),
        ("cannot open /usr/share/sk/file", "cannot open /usr/share/sk/file"),
    ],
)
def test_what_has_the_shape_of_a_key_is_hidden(said: str, shown: str) -> None:
    """And nothing else."""
    assert _without_keys(said) == shown


@pytest.mark.slow
def test_keys_are_hidden_in_time(tried: Tried) -> None:
    """However a text begins like a key again and again: a failed result may be long, and the loop waits for it."""
    size = MOST_TEXT if SOAK else 100_000
    units = [
        "eyJabcdefgh-", "eyJabcdefgh.", "eyJabcdefgh-.", "eyJ", "-eyJ", "sk-", "sk-abc.", "AKIA", "AIza-", "://", "://a:b",
        "key", "key=", "key= ", "key='", "token token ", "bearer ", "key=bearer ", "key =\n", "authorization: basic\t",
    ]  # fmt: skip
    for unit in units:
        for text in (unit * (size // len(unit)), unit + " " * size, unit + "a" * size):
            assert seconds_of(partial(_without_keys, text)) < size / 100_000
    tried("texts like keys", len(units) * 3)


@pytest.mark.slow
def test_its_error_output_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much it writes, only the end is kept; it does not start, and that is all."""
    monkeypatch.setattr(program, "LEAVING", 0.2)
    tools, [warning] = using({"h": hostile("floods")}, same, starting=3.0 if SOAK else 0.5)
    assert not tools
    assert warning.startswith("MCP server h did not start: ")
    assert len(warning) < 1000
