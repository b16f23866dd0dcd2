"""The inspector in a browser: how long until a long session is seen."""

import os
import shutil
from time import perf_counter

from benchmarks.measure import Row, alone, seconds_text
from benchmarks.sessions import Stored

TARGET = 2.0  # seconds
KEPT = "sightline-token"  # where a tab keeps its token, see `inspector/src/api.ts`
VIEWS = {
    "transcript": ".said header",
    "time": ".step .bar, .list-row .step",
    "items": ".list-row .kind",
    "context": ".timeline canvas",
    "call": ".list-row .kind",
}


def opening(log: Stored) -> list[Row]:
    """Measure from asking for a view to its first row or bar: in a server that was just started, then again."""
    topic = f"the inspector on {log.messages:,} messages"
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return [Row(topic, "opening", "not measured", note="no browser: make browser")]
    taken = alone(_open_all, log, program)
    return [_row(topic, what, seconds) for what, seconds in taken.items()]


def _row(topic: str, what: str, seconds: float) -> Row:
    return Row(topic, what, seconds_text(seconds), seconds, f"< {TARGET:.0f} s", seconds < TARGET)


def _open_all(log: Stored, program: str) -> dict[str, float]:
    return {
        f"{view}: {when}": seconds
        for view in VIEWS
        for when, seconds in zip(("first", "again"), _opened(log, view, program), strict=True)
    }


def _opened(log: Stored, view: str, program: str) -> list[float]:
    from playwright.sync_api import sync_playwright

    from sightline.cli.addresses import page_address
    from sightline.cli.serve import make_listener, running
    from sightline.server.access_token import make_token
    from sightline.server.config import Config

    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    taken, token = [], make_token()
    listener, _ = make_listener(Config(folder=log.root, root=log.root, token_hash=token.hashed))
    with sync_playwright() as playwright, running(listener) as port:
        browser = playwright.chromium.launch(executable_path=program, args=root)
        for _ in range(2):
            page = browser.new_page()
            page.add_init_script(f"sessionStorage.setItem('{KEPT}', '{token.text}')")  # as a tab that is signed in
            begun = perf_counter()
            page.goto(f"{page_address('127.0.0.1', port, '')}#/s/{log.path.stem}/{view}")
            page.locator(VIEWS[view]).first.wait_for(timeout=120_000)
            taken.append(perf_counter() - begun)
            page.close()
        browser.close()
    return taken
