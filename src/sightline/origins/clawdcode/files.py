"""The document's FileAnalyzer, done by the core's `sightline.files.mentions`."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from sightline.files.folders import PROJECT
from sightline.files.mentions import MOST_FILES, MOST_LINES, FileReference, important_files, read_file
from sightline.origins.clawdcode.messages import readable


class FileContent(Struct, frozen=True, rename="camel"):
    """What stands in a file now: its first lines, or all of them."""

    path: str
    content: str
    lines: int
    truncated: bool


class FileAnalyzer:
    """Which files a conversation is about, and what stands in them."""

    MAX_FILES = MOST_FILES
    MAX_LINES_PER_FILE = MOST_LINES

    @staticmethod
    def analyze_files(messages: Iterable[Any]) -> list[FileReference]:
        """The files these messages name: modified first, then more mentions, then more recent; at most `MAX_FILES`.

        Whatever a message holds, it does not raise.
        """
        return important_files(map(readable, messages), FileAnalyzer.MAX_FILES)

    @staticmethod
    async def read_files_content(
        paths: Iterable[str], project_dir: str | Path = ".", *, allow_outside: bool = False
    ) -> list[FileContent]:
        """What `read_now` gives, without holding up the event loop."""
        return await asyncio.to_thread(FileAnalyzer.read_now, list(paths), project_dir, allow_outside=allow_outside)

    @staticmethod
    def read_now(
        paths: Iterable[str], project_dir: str | Path = ".", *, allow_outside: bool = False
    ) -> list[FileContent]:
        """The first `MAX_LINES_PER_FILE` lines of each file of the project; what cannot be read is left out."""
        contents = []
        for path in paths:
            excerpt = read_file(
                path,
                project_dir,
                most_lines=FileAnalyzer.MAX_LINES_PER_FILE,
                folders=None if allow_outside else PROJECT,
            )
            if excerpt is not None:
                contents.append(FileContent(path, *excerpt))
        return contents
