"""A real browser, a real server, and a page that nothing may go wrong on."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspected_page import SECONDS, InspectedPage
from inspected_project import make_project
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect, sync_playwright

from sightline.testing import ScriptedModel

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ANSWERS = [f"Answer {number}: the port stays as it is, because you said so." for number in range(1, 40)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The one browser of this process. Without one the tests fail and say what to do."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program is not None, "the tests of the inspector need Chromium; run: make browser"
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # the sandbox of Chromium does not work for root
    expect.set_options(timeout=SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*root, "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectorServer]:
    """A server whose sessions are only looked at."""
    folder = tmp_path_factory.mktemp("looked-at")
    make_project(folder)
    with InspectorServer(folder, model=ScriptedModel(ANSWERS), offered=(folder / "agent-log.jsonl",)) as server:
        yield server


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[InspectorServer]:
    """A server of its own, for a test that changes a session."""
    folder = tmp_path / "project"
    folder.mkdir()
    make_project(folder)
    with InspectorServer(folder, model=ScriptedModel(ANSWERS), offered=(folder / "agent-log.jsonl",)) as server:
        yield server


@pytest.fixture
def page(browser: Browser, looked_at: InspectorServer) -> Iterator[InspectedPage]:
    """A page of the server that is only looked at."""
    with InspectedPage(browser, looked_at) as opened:
        yield opened


@pytest.fixture
def changing(browser: Browser, changed: InspectorServer) -> Iterator[InspectedPage]:
    """A page of the server whose sessions may be changed."""
    with InspectedPage(browser, changed) as opened:
        yield opened
