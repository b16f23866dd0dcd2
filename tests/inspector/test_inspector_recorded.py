"""A log of Claude Code that took out results by itself and was compacted: what the page says of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.imports.source import Source
from sightline.log.stores.session_folder import Folder

HEAD, PAGE = 20_000, 2_000  # tokens of the agent's own prompt, and nearly of each file that is read
CLEARED = 9  # the call before which it took out the three oldest
CALLS = 12


def recorded() -> bytes:
    lines: list[dict[str, Any]] = [
        said("user", {"role": "user", "content": "Read the parts, and never touch port 8123."})
    ]
    for number in range(1, CALLS + 1):
        missing = 3 * PAGE if number >= CLEARED else 0
        lines += [asks(number, HEAD + (number - 1) * PAGE - missing), answers(number)]
    lines.append(
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 40_000}}
    )
    lines.append(said("user", {"role": "user", "content": "This session is being continued: parts were read."}))
    lines[-1]["isCompactSummary"] = True
    lines += [asks(CALLS + 1, HEAD, "part_2.py"), answers(CALLS + 1)]
    return b"\n".join(json.dumps(linked(line, at)).encode() for at, line in enumerate(lines))


def linked(line: dict[str, Any], at: int) -> dict[str, Any]:
    parent = f"u{at - 1}" if at else None
    time = f"2026-11-01T10:{at:02}:00.000Z"
    return {"uuid": f"u{at}", "parentUuid": parent, "sessionId": "recorded", "timestamp": time} | line


def said(kind: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "message": message}


def asks(number: int, counted: int, path: str = "") -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": path or f"part_{number}.py"}}
    usage = {"input_tokens": counted - HEAD // 2, "cache_read_input_tokens": HEAD // 2, "output_tokens": 20}
    message = {"id": f"m{number}", "role": "assistant", "model": "claude-sonnet-5", "content": [call], "usage": usage}
    return said("assistant", message)


def answers(number: int) -> dict[str, Any]:
    text = "\n".join(f"def step_{number}_{line}(): return {line * number}" for line in range(150))
    return said(
        "user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}]}
    )


@pytest.mark.slow
def test_what_an_agent_took_out_is_said_where_it_is_missing(browser: Browser, tmp_path: Path) -> None:
    """The chart marks the call, the call says how many tokens are missing, and names the results as not there."""
    [conversation] = conversations(Source("recorded.jsonl", data=recorded()))
    key = import_into(Folder(tmp_path, tmp_path / "home"), conversation).session
    with InspectorServer(tmp_path, tmp_path / "home") as server, InspectedPage(browser, server) as page:
        shown = page.open(f"#/s/{key}/context")
        expect(shown.get_by_role("list", name="Legend")).to_contain_text("Taken out by the agent")
        shown = page.open(f"#/s/{key}/call/{CLEARED + 1}")
        expect(shown.locator(".stats")).to_contain_text("3 old results of the log, not in this prompt")
        results = shown.get_by_role("option", name="Tool result")
        expect(results.first).to_contain_text("cannot have been there")
        expect(results.filter(has_text="Hidden")).to_have_count(3)
        shown = page.open(f"#/s/{key}/call/{CLEARED}")
        expect(shown.locator(".mark-words")).to_contain_text("the oldest 3 results cannot have been there")
        expect(shown.locator(".overview")).to_contain_text("the agent took out old results")
        shown = page.open(f"#/s/{key}/try/{CLEARED + 1}")
        expect(shown.locator(".stat", has_text="Against what was sent")).to_contain_text("00%")
        expect(shown.locator(".stat", has_text="Prompt prefix")).to_contain_text("as sent")


@pytest.mark.slow
def test_what_a_compaction_of_another_program_hid_is_named(browser: Browser, tmp_path: Path) -> None:
    """It is counted and named as the report finds it, with how many later answers used it. A name leads to the message
    where it stood by itself, not as a part of a longer one.
    """
    [conversation] = conversations(Source("recorded.jsonl", data=recorded()))
    key = import_into(Folder(tmp_path, tmp_path / "home"), conversation).session
    with InspectorServer(tmp_path, tmp_path / "home") as server, InspectedPage(browser, server) as page:
        shown = page.open(f"#/s/{key}/changes")
        lost = shown.locator(".losses")
        expect(lost).to_contain_text("port 8123")
        expect(lost).to_contain_text("step_1_0")
        expect(shown.locator(".compaction")).to_contain_text("1 later answer used what was hidden")
        expect(shown.locator(".compaction")).not_to_contain_text("Not measured")
        lost.get_by_role("link", name="104", exact=True).click()
        expect(shown.get_by_role("status")).to_contain_text("Message 1 of 5")  # step_3_104 is another name
        expect(shown.locator(".feed-row", has=shown.locator("mark")).first).to_contain_text("part_1.py")
