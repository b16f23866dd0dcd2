"""The tools and apps that the model has in a chat: what the configuration and the command line allow."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from sightline.agent.code.store import CodeStore
from sightline.agent.config import ToolSettings
from sightline.agent.tools import Tool
from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.agent.tools.run_python import run_python
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.write_code import write_code
from sightline.apps import App, registry
from sightline.apps.builtin.editor import Editor
from sightline.cli.app_shell import loaded
from sightline.errors import SightlineError
from sightline.session.session import Session

RUNS = "runs"  # the folder of what programs wrote, beside the project's sessions


def equipment(
    folders: Folders, kept: Path, settings: ToolSettings, code: CodeStore, session: Session, *, python: bool
) -> Iterator[Tool]:
    """The tools of a session. `kept`: where what programs write is put; `python`: whether programs may be run."""
    locale = session.settings.locale
    for tool in (
        file_reader(folders, code, locale=locale),
        list_files(folders, locale),
        search_files(folders, locale),
        write_code(code, session.id, locale),
    ):
        yield replace(tool, seconds=settings.seconds)
    if python:
        limits = Limits(seconds=settings.python_seconds, memory_mb=settings.python_memory_mb)
        yield run_python(folders, code, limits=limits, keep=kept / RUNS / session.id, locale=locale)


def openable(*, edit: bool) -> Iterator[type[App]]:
    """The apps that can be opened here; `sightline apps` says why one cannot. `edit`: whether files may be changed."""
    for name in registry.names():
        if name == Editor.name and not edit:  # the only one that writes into the project
            continue
        with suppress(SightlineError):
            yield loaded(name)
