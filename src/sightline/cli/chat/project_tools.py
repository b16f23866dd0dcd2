"""What a chat's model may use of a project: tools for its files, programs if they are allowed, and apps."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

from sightline.agent.config import READABLE_VARIABLE, Config
from sightline.agent.models import ModelInfo
from sightline.agent.tools import Tool
from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders, shell_directory
from sightline.agent.tools.files.read import file_reader
from sightline.agent.tools.program import run_python, run_shell
from sightline.agent.tools.sandbox.run import Limits
from sightline.apps import App, registry
from sightline.apps.builtin.editor import Editor
from sightline.cli.app_shell import load_app
from sightline.cli.chat.command import ChatOptions
from sightline.cli.options import Place
from sightline.documents.code.store import CodeStore
from sightline.documents.write_code import write_code
from sightline.errors import BadInput, SightlineError
from sightline.files.folders import ResolvedFolders


class ProjectTools:
    """The tools and apps of a project, as its `sightline.toml` and the command line allow them.

    Make it when the user has approved that file: folders are resolved here, so that a link that is made later leads
    nowhere.
    """

    def __init__(
        self, here: Place, config: Config, options: ChatOptions, env: Mapping[str, str], code: CodeStore
    ) -> None:
        self._here, self._config, self._options, self._code = here, config, options, code
        self.project = shell_directory(env) / here.project
        more = filter(None, env.get(READABLE_VARIABLE, "").split(os.pathsep))
        self._readable = (*config.tools.readable, *more)
        folders = [self.project / folder for folder in config.tools.folders]
        self._folders = Folders(folders, project=self.project, readable=self._readable)

    def gives_any(self, facts: ModelInfo) -> bool:
        """Whether this model gets any tools; if not, it is asked in plain text."""
        return facts.tools and not self._options.no_tools

    def offers(self, name: str, facts: ModelInfo) -> bool:
        """Whether this model gets this tool."""
        only = self._config.tools.only
        return self.gives_any(facts) and (not only or name in only)

    def of(self, session_id: str, locale: str, facts: ModelInfo) -> list[Tool]:
        """Return the tools that this model gets in a session."""
        return [tool for tool in self._all(session_id, locale) if self.offers(tool.name, facts)]

    def apps(self, facts: ModelInfo) -> list[type[App]]:
        """Return the apps that this model may open. Raises BadInput if one of `sightline.toml` cannot be loaded."""
        if not self.offers("apps", facts):
            return []
        can_edit = self._options.allow_edit or self._config.tools.edit
        return [*_available_apps(can_edit=can_edit), *map(self._app_in, self._config.tools.apps)]

    def app_folders(self, facts: ModelInfo) -> ResolvedFolders:
        """Return the folders that apps may read. A model without tools is shown no files."""
        folders = ResolvedFolders(map(str, self._folders.paths) if self.gives_any(facts) else ())
        folders.readable = self._readable
        return folders

    def _all(self, session_id: str, locale: str) -> Iterator[Tool]:
        folders, code, settings = self._folders, self._code, self._config.tools
        for tool in (
            file_reader(folders, code, locale=locale),
            list_files(folders, locale),
            search_files(folders, locale),
            write_code(code, session_id, locale),
        ):
            yield replace(tool, seconds=settings.seconds)
        limits = Limits(seconds=settings.python_seconds, memory_mb=settings.python_memory_mb)
        keep = self._here.folder.runs(session_id)
        if self._options.allow_python or settings.run_python:
            yield run_python(folders, code, limits=limits, keep=keep, locale=locale)
        if self._options.allow_shell or settings.run_shell:
            yield run_shell(folders, limits=limits, keep=keep, locale=locale)

    def _app_in(self, file: str) -> type[App]:
        """Return the app in a file that `sightline.toml` names, which the user has approved. Raises BadInput."""
        if not file.endswith(".py"):
            raise BadInput(f"{self._config.file}: tools.apps names Python files, such as kanban.py, not {file!r}")
        try:
            return load_app(str(self.project / file))
        except BadInput as error:
            raise BadInput(f"{self._config.file}: tools.apps: {error}") from error


def _available_apps(*, can_edit: bool) -> Iterator[type[App]]:
    """Yield the apps that can be opened here; `sightline apps` says why one cannot."""
    for name in registry.names():
        if can_edit or name != Editor.name:  # the only one that writes into the project
            with suppress(SightlineError):
                yield load_app(name)
