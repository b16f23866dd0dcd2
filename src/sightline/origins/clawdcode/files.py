"""The document's FileAnalyzer, over the core's `sightline.files.mentions`."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sightline.files.folders import PROJECT
from sightline.files.mentions import MOST_FILES, MOST_LINES, FileReference, important_files, read_files
from sightline.origins.clawdcode.messages import readable


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
    ) -> dict[str, str]:
        """Read the first MAX_LINES_PER_FILE lines of each file of the project, by path.

        A longer file ends with the line "[... truncated ...]". What cannot be read is left out.
        """
        lines, folders = FileAnalyzer.MAX_LINES_PER_FILE, None if allow_outside else PROJECT
        return await asyncio.to_thread(read_files, paths, project_dir, most_lines=lines, folders=folders)
