"""Draw docs/pictures/inspector-*.png: the inspector on sample sessions, in a browser (see `make browser`).

Run it when the pages look different: python tools/inspector_pictures.py. What is composed is shown as the samples that
`sightline inspect --samples` has; all else as logs that Claude Code could have written of the same conversations.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

from sightline import samples
from sightline.cli.addresses import page_address
from sightline.cli.inspect_command import keep_samples
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.cli.serve import make_listener, running
from sightline.server.access_token import make_token
from sightline.server.config import Config

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH = 1400
LOGS = [  # sample, its project, the day, and how many of its messages
    ("login_bug", "harbor", 17, 64), ("ops_incident", "shops", 16, 30), ("login_bug", "harbor", 16, 22),
    ("data_report", "reports", 14, 24), ("long_chat", "house", 12, 320), ("ops_incident", "shops", 11, 14),
    ("data_report", "reports", 10, 10), ("long_chat", "house", 9, 90),
]  # fmt: skip
SYSTEM = 16_000  # tokens of the agent's own prompt and tools


def main() -> None:
    """Serve the samples, and take the pictures."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no browser: run make browser")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        os.environ["HOME"] = name  # nobody's own sessions are shown
        keep_samples(Place(project=name, root=str(folder / "samples"), words=Phrases("en")))
        write_logs(folder / ".claude" / "projects")
        browser = playwright.chromium.launch(executable_path=program, args=root)
        for kept, take in (("samples", take_composed), ("logs", take_recorded)):
            token = make_token()
            config = Config(
                folder=folder, root=folder / kept, everywhere=True, samples=kept == "samples", token_hash=token.hashed
            )
            with running(make_listener(config)[0]) as port:
                page = browser.new_page(viewport={"width": WIDTH, "height": 760}, locale="en", color_scheme="light")
                page.goto(page_address("127.0.0.1", port, f"token={token.text}"))
                page.locator("dialog button.primary").click()  # agree to sign in
                take(page)
                page.close()
        browser.close()


def take_composed(page: Page) -> None:
    """The context window of a session that Sightline composed."""
    page.locator(".list-row", has_text="test_second_login").filter(has_not_text="not imported").click()
    page.locator(".timeline canvas").wait_for()
    shoot(page, "context")


def take_recorded(page: Page) -> None:
    """All sessions at a glance, and the transcript and the time of one."""
    page.get_by_role("button", name="Import all").click()
    page.get_by_text(f"Imported {len(LOGS)}").wait_for()
    page.get_by_role("button", name="Close").click()
    page.locator("details.glance summary").click()
    shoot(page, "glance")
    page.locator(".list-row", has_text="test_second_login").first.click()
    page.get_by_role("link", name="Transcript", exact=True).click()
    page.locator(".exchange").first.wait_for()
    shoot(page, "transcript")
    page.get_by_role("link", name="Calls", exact=True).click()
    page.get_by_role("link", name="Time", exact=True).click()
    page.locator(".step .bar").first.wait_for()
    shoot(page, "time")


def shoot(page: Page, name: str) -> None:
    """Keep what is seen, once it has come to rest."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(1500)
    page.screenshot(path=PICTURES / f"inspector-{name}.png")


def write_logs(folder: Path) -> None:
    """Write logs as Claude Code does."""
    for number, (name, project, day, count) in enumerate(LOGS):
        session = f"00000000-0000-4000-8000-{number:012}"
        common = {"sessionId": session, "cwd": f"/home/me/code/{project}", "version": "2.1.30", "isSidechain": False}
        file = folder / f"-home-me-code-{project}" / f"{session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        start = datetime(2026, 11, day, 9, 12, tzinfo=UTC)
        lines = [json.dumps(common | row) for row in rows(samples.load(name).messages[:count], start)]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(messages: list[dict[str, Any]], now: datetime) -> Iterator[dict[str, Any]]:
    """Yield the rows of a log: each call takes as long as it is large, and finds in the cache what was sent before."""
    sent, in_cache = SYSTEM, 0
    for number, message in enumerate(messages):
        content = blocks(message)
        size = len(json.dumps(content)) // 4
        is_answer = message["role"] == "assistant"
        told: dict[str, Any] = {"role": "assistant" if is_answer else "user", "content": content}
        if is_answer:
            now += timedelta(seconds=2 + size / 60)
            usage = {"input_tokens": 4, "cache_read_input_tokens": in_cache, "output_tokens": size}
            usage["cache_creation_input_tokens"] = sent - in_cache
            told |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-6", "usage": usage}
            in_cache = sent
        elif any(block["type"] == "tool_result" for block in content):
            now += timedelta(seconds=0.3 + number % 7 * 0.9)
        else:
            now += timedelta(seconds=40)
        sent += size
        row = {"type": told["role"], "uuid": f"u{number}", "timestamp": now.isoformat().replace("+00:00", "Z")}
        yield row | {"parentUuid": f"u{number - 1}" if number else None, "message": told}


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a message of a sample says, in Anthropic's form."""
    content = message["content"] or []
    if message["role"] == "tool":
        failed = "FAILURES" in content
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content, "is_error": failed}]
    said = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"]}
        | {"input": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", ())
    ]
    return said + calls


if __name__ == "__main__":
    main()
