"""A project beside files that are none of its business, and a short way to call a tool."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

from sightline.agent.tools import Tool
from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.agent.tools.program import run_python, run_shell
from sightline.documents.code.store import CodeStore
from sightline.documents.write_code import write_code
from sightline.testing import Ticking

SECRET = "the launch code is 0000"


class Project(NamedTuple):
    """Where things are. `outside` holds a file with the secret."""

    root: Path
    outside: Path
    folders: Folders
    codes: CodeStore

    def tools(self, locale: str = "en") -> dict[str, Tool]:
        """Every tool that takes a path or an id, by name."""
        tools = (
            file_reader(self.folders, self.codes, {"upload_q1": self.root / "data" / "sales.csv"}, locale),
            list_files(self.folders, locale),
            search_files(self.folders, locale),
            write_code(self.codes, "s1", locale),
            run_python(self.folders, self.codes, locale=locale),
            run_shell(self.folders, locale=locale),
        )
        return {tool.name: tool for tool in tools}


def project(where: Path) -> Project:
    """A small project."""
    root, outside = where / "project", where / "outside"
    (root / "data").mkdir(parents=True)
    (root / "src").mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET + "\n")
    (root / "notes.txt").write_text("first\nsecond\nthird\n")
    (root / "src" / "sales.py").write_text("def load(path):\n    return open(path)\n")
    (root / "data" / "sales.csv").write_text('date,product,note\n2026-01-01,tea,"two\nlines"\n2026-01-02,salt,plain\n')
    return Project(root, outside, Folders([root]), CodeStore(where / "code", clock=Ticking()))


def called(tool: Tool, **arguments: Any) -> Any:
    """What a tool answers."""
    return asyncio.run(tool.run(arguments))
