"""The MCP server under hostile clients and among hostile logs: it answers, with an error that helps, and goes on."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp_home import Home, call, failure, said
from tests.conftest import Tried

from sightline.adapters import mcp_memory
from sightline.view.catalog.offered_files import file_id

TRAVERSALS = [
    "../../etc/passwd", "..%2F..%2Fetc%2Fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/etc/passwd", "%2Fetc%2Fpasswd",
    "own/../../../etc/passwd", "own%00.jsonl", "..\\..\\etc", ".", "..", "~root", "own@../../x", "own@", "@imported",
    "..%252F..%252Fetc", "file-", "file-../../etc/passwd", "own?start=../../etc", "imported/../own", "a" * 5_000,
]  # fmt: skip
MARKER = "root:x:0:0"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A user with one session of Sightline and one of Claude Code."""
    found = Home(tmp_path, monkeypatch)
    found.session("own", "Which lake has pelicans?", "The one in the north.")
    found.claude_log("decided", "Which certificate?", "We decided: ACME.", "Good.")
    return found


def test_arguments_of_any_size_and_kind(home: Home, tried: Tried) -> None:
    """Megabytes, numbers beyond all bounds, other types, unknown names: an error, never a crash, and none is echoed."""
    huge = "heron " * 400_000
    bad: list[tuple[str, dict[str, object]]] = [
        ("search_sessions", {"words": huge}), ("search_sessions", {"words": "x", "limit": 10**30}),
        ("search_sessions", {"words": "x", "limit": -1}), ("search_sessions", {"words": ["x"]}),
        ("search_sessions", {"words": "x", "days": -5}), ("search_sessions", {"words": "x", "project": huge}),
        ("recall", {"session": huge, "words": "x"}), ("recall", {"session": "own", "words": huge}),
        ("recall", {"session": "own", "words": ""}), ("recall", {"session": "own"}), ("recall", {"words": "x"}),
        ("expand", {"session": "own", "id": huge}), ("expand", {"session": "own", "id": "2", "start": 10**30}),
        ("expand", {"session": "own", "id": "2", "lines": 0}), ("expand", {"session": "own", "id": "2", "grep": huge}),
        ("expand", {"session": "own", "id": {"a": 1}}), ("context_report", {"session": None}), ("context_report", {}),
        ("recall", {"session": "own", "words": "\ud800"}),
    ]  # fmt: skip

    async def work(client: Client) -> None:
        for tool, given in bad:
            assert len(await failure(client, tool, **given)) < 2_000
        assert "pelicans" in await call(client, "recall", session="own", words="lake \x00 OR ( * \" ' NEAR")
        assert "pelicans" in await call(client, "expand", session="own", id="#2", unknown="is left out")

    home.ask(work)
    tried("arguments of MCP tools", len(bad))


def test_ids_of_nobody_and_of_another_session(home: Home, tried: Tried) -> None:
    """An item is of the session that is named, or of none: the error says where ids come from."""
    ids = ["0", "-1", "1", "99999", "#", "", "2.7", "L1.1", "L99999.1", "L2.9", "L0.0", "../2", "own", "٣", "2\n3"]

    async def work(client: Client) -> None:
        for each in ids:
            assert "search_sessions" in await failure(client, "expand", session="own", id=each)
        file = file_id(home.claude / "projects" / "-w-shop" / "decided.jsonl")
        assert "ACME" in await call(client, "expand", session=file, id="L2.1")
        assert "search_sessions" in await failure(client, "expand", session="own", id="L2.1")
        for tool, more in (("recall", {"words": "x"}), ("expand", {"id": "2"}), ("context_report", {})):
            for session in ("none", "own@imported", "file-000000000000", *TRAVERSALS):
                text = await failure(client, tool, session=session, **more)
                assert "search_sessions" in text
                assert MARKER not in text

    home.ask(work)
    tried("ids of MCP items and sessions", len(ids) + 3 * (len(TRAVERSALS) + 3))


def test_resource_addresses_lead_nowhere_else(home: Home, tried: Tried) -> None:
    """No spelling of a path leaves the folders of sessions."""

    async def work(client: Client) -> None:
        for each in TRAVERSALS:
            try:
                result = await client.read_resource(f"sightline://sessions/{each}")
            except MCPError:
                continue
            assert each.startswith("own?")
            assert MARKER not in str(result)

    home.ask(work)
    tried("resource addresses", len(TRAVERSALS))


def test_cancelled_calls_leave_a_server_that_works(home: Home, monkeypatch: pytest.MonkeyPatch, tried: Tried) -> None:
    """The call ends at once although its work goes on in a thread, other calls are answered meanwhile."""
    search: Callable[..., str] = mcp_memory.SessionMemory.recall
    waiting, released = threading.Semaphore(0), threading.Event()

    def slow(self: mcp_memory.SessionMemory, session_id: str, words: str) -> str:
        if words == "wait":
            waiting.release()
            released.wait(60)
        return search(self, session_id, words)

    monkeypatch.setattr(mcp_memory.SessionMemory, "recall", slow)

    async def work(client: Client) -> None:
        try:
            for _ in range(3):
                async with anyio.create_task_group() as group:

                    async def ask() -> None:
                        await client.call_tool("recall", {"session": "own", "words": "wait"})

                    group.start_soon(ask)
                    await anyio.to_thread.run_sync(waiting.acquire)
                    assert "pelicans" in await call(client, "expand", session="own", id="2")  # meanwhile
                    group.cancel_scope.cancel()
        finally:
            released.set()
        assert "pelicans" in await call(client, "recall", session="own", words="lake")

    home.ask(work)
    tried("cancelled MCP calls", 3)


@pytest.mark.slow
def test_a_damaged_log_among_good_ones(home: Home, soak: bool, tried: Tried) -> None:
    """Whatever a log holds, the others are found, and a look into it is answered or refused."""
    folder = home.claude / "projects" / "-w-shop"
    good = (folder / "decided.jsonl").read_bytes()
    kinds = {
        "empty": b"\n", "zeros": b"\x00" * 10_000, "half": good[: len(good) // 2], "noise": os.urandom(20_000),
        "deep": b"[" * 100_000, "list": b"[1, 2, 3]\n" * 50, "null": b"null\n" * 50, "gzip": b"\x1f\x8b" + good,
        "line": b'{"type":"user","message":{"role":"user","content":"' + b"x" * 2_000_000,
        "types": b'{"type":"user","uuid":1,"sessionId":[],"message":{"role":"user","content":{"a":1}}}\n' * 20,
    }  # fmt: skip
    rounds = 40 if soak else 4
    for number in range(rounds):
        cut = bytearray(good)
        for at in range(number, len(cut), 97 + number):
            cut[at] = (cut[at] * 31 + number) % 256
        kinds[f"cut{number}"] = bytes(cut)
    for name, data in kinds.items():
        (folder / f"{name}.jsonl").write_bytes(data)
    (folder / "folder.jsonl").mkdir()
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")

    async def work(client: Client) -> None:
        assert "We decided: ACME." in await call(client, "search_sessions", words="decided ACME", limit=20)
        await call(client, "search_sessions", limit=20)
        for name in kinds:
            session = file_id(folder / f"{name}.jsonl")
            for tool, more in (("recall", {"words": "certificate"}), ("context_report", {})):
                text = said(await client.call_tool(tool, {"session": session, **more}))
                assert "Error executing tool recall\n" not in f"{text}\n"  # a failure that nobody foresaw
                assert "Error executing tool context_report\n" not in f"{text}\n"
        assert "We decided: ACME." in await call(client, "search_sessions", words="decided ACME", limit=20)

    home.ask(work)
    tried("damaged logs", len(kinds))
