"""Imports that a page asks for and that fail."""

import asyncio
from pathlib import Path
from typing import Any

from sightline.server.events import Hub
from sightline.server.imports import Imports
from sightline.server.rest_list_values import ImportFacts


class Broken:
    """Files of which none can be read."""

    def bring_in(self, *_: Any) -> Any:
        """Fail as a line of a thousand brackets does."""
        raise RecursionError("too deep")


def test_an_import_that_fails_in_any_way_ends(tmp_path: Path) -> None:
    """A page that waits for it hears that, and the next file is imported."""
    (tmp_path / "up").mkdir()

    async def bring_in() -> ImportFacts:
        imports = Imports(Broken(), Hub())  # type: ignore[arg-type]
        begun = imports.begin_upload(tmp_path / "up", "log.jsonl")
        await asyncio.gather(*imports._tasks)
        return imports._known[begun.id]

    done = asyncio.run(bring_in())
    assert (done.state, done.error) == ("failed", "the file cannot be read (RecursionError)")
    assert not (tmp_path / "up").exists()
