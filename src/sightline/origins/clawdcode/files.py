"""The document's FileAnalyzer, over the core's `sightline.files.mentions`."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from sightline.files.folders import PROJECT
from sightline.files.mentions import MOST_FILES, MOST_LINES, FileReference, important_files, read_file
from sightline.origins.clawdcode.messages import readable


class FileContent(Struct, frozen=True, rename="camel"):
    """The first lines of a file, or all of them."""

    path: str
    content: str
    lines: int
    truncated: bool


class FileAnalyzer:
    """Finds the files that a conversation is about, and reads them."""

    MAX_FILES = MOST_FILES
    MAX_LINES_PER_FILE = MOST_LINES

    @staticmethod
    def analyze_files(messages: Iterable[Any]) -> list[FileReference]:
        """List the files these messages name: modified first, then more mentions, then more recent; at most MAX_FILES.

        Messages that cannot be read are skipped.
        """
        return important_files(map(readable, messages), FileAnalyzer.MAX_FILES)

    @staticmethod
    async def read_files_content(
        paths: Iterable[str], project_dir: str | Path = ".", *, allow_outside: bool = False
    ) -> list[FileContent]:
        """Read the first MAX_LINES_PER_FILE lines of each file of the project. What cannot be read is left out."""
        folders = None if allow_outside else PROJECT
        lines = FileAnalyzer.MAX_LINES_PER_FILE
        found = [
            (path, await asyncio.to_thread(read_file, path, project_dir, most_lines=lines, folders=folders))
            for path in paths
        ]
        return [FileContent(path, *excerpt) for path, excerpt in found if excerpt is not None]
