"""A real browser, a real server, and a page that nothing may go wrong on."""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from inspected_page import SECONDS, InspectedPage
from inspected_project import make_project
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect, sync_playwright
from read_session import keep_read_session

from open_resources import lasting
from sightline.testing import ScriptedModel

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
LOG = "agent-log.jsonl"
ANSWERS = [f"Answer {number}: the port stays as it is, because you said so." for number in range(1, 40)]

R = TypeVar("R")


@cache
def _thread() -> ThreadPoolExecutor:
    """The thread of the browser. Playwright runs an event loop in it, which other tests of this process may not see."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="browser")
    with lasting():
        pool.submit(int).result()  # which starts the thread
    return pool


def in_thread(work: Callable[..., R], *given: Any, **named: Any) -> R:
    """Run something in the browser's thread."""
    return _thread().submit(work, *given, **named).result()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run the tests of this folder in the browser's thread."""
    names = pyfuncitem._fixtureinfo.argnames
    in_thread(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The one browser of this process. Without one the tests fail and say what to do."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program is not None, "the tests of the inspector need Chromium; run: make browser"
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # the sandbox of Chromium does not work for root
    expect.set_options(timeout=SECONDS)
    playwright = in_thread(sync_playwright().start)
    arguments = [*root, "--disable-dev-shm-usage"]
    browser = in_thread(playwright.chromium.launch, executable_path=program, args=arguments)
    yield browser
    in_thread(browser.close)
    in_thread(playwright.stop)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sessions of `make_project`, which no test changes."""
    folder = tmp_path_factory.mktemp("project")
    make_project(folder)
    return folder


@pytest.fixture(scope="session")
def looked_at(project: Path) -> Iterator[InspectorServer]:
    """A server whose sessions are only looked at."""
    with InspectorServer(project, model=ScriptedModel(ANSWERS), offered=(project / LOG,)) as server:
        yield server


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectorServer]:
    """A server of the session that a transcript is made for, which no test changes."""
    folder = tmp_path_factory.mktemp("read")
    keep_read_session(folder)
    with InspectorServer(folder) as server:
        yield server


@pytest.fixture
def changed(project: Path, tmp_path: Path) -> Iterator[InspectorServer]:
    """A server of a copy of the sessions, for a test that changes one."""
    root = shutil.copytree(project / "home", tmp_path / "copy")
    with InspectorServer(project, root, model=ScriptedModel(ANSWERS), offered=(project / LOG,)) as server:
        yield server


@pytest.fixture
def page(browser: Browser, looked_at: InspectorServer) -> Iterator[InspectedPage]:
    """A page of the server that is only looked at."""
    yield from _opened(browser, looked_at)


@pytest.fixture
def reading(browser: Browser, read: InspectorServer) -> Iterator[InspectedPage]:
    """A page of the server that has the session to read."""
    yield from _opened(browser, read)


@pytest.fixture
def changing(browser: Browser, changed: InspectorServer) -> Iterator[InspectedPage]:
    """A page of the server whose sessions may be changed."""
    yield from _opened(browser, changed)


def _opened(browser: Browser, server: InspectorServer) -> Iterator[InspectedPage]:
    page = in_thread(InspectedPage, browser, server)
    in_thread(page.__enter__)
    try:
        yield page
    finally:
        in_thread(page.__exit__, None, None, None)
