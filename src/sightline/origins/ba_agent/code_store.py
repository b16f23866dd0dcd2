"""The document's CodeStore: the core's, under the document's names."""

from pathlib import Path
from typing import Any

from sightline.documents.code import store
from sightline.documents.code.index import CodeIndex
from sightline.documents.code.references import marker, markers
from sightline.documents.code.versions import Saved
from sightline.errors import UnknownCode
from sightline.shorten.outline.languages import LANGUAGES
from sightline.values.clock import Clock, wall_clock


class CodeStore(store.CodeStore):
    """The code of one folder: the core's store with the document's names added.

    Every method that takes an id raises BadCodeId for one that cannot be an id.
    """

    def __init__(
        self,
        storage_dir: str | Path,
        *,
        clock: Clock = wall_clock,
        locale: str = "zh",
        index: CodeIndex | None = None,
    ) -> None:
        super().__init__(storage_dir, clock=clock, locale=locale, index=index)

    def retrieve(self, code_id: str) -> str | None:
        """Return the code of this id; None if there is none."""
        try:
            return self.read(code_id)
        except UnknownCode:
            return None

    def get_code_by_id(self, code_id: str) -> str | None:
        """See `retrieve`."""
        return self.retrieve(code_id)

    def exists(self, code_id: str) -> bool:
        return self.get_metadata(code_id) is not None

    def get_metadata(self, code_id: str) -> dict[str, Any] | None:
        """Return the metadata of a code; None if there is none."""
        try:
            return metadata(self.find(code_id))
        except UnknownCode:
            return None

    def list_files(self, session_id: str | None = None) -> list[dict[str, Any]]:
        """Return the metadata of every code, or of a session's, in the order they were first stored."""
        return [metadata(saved) for saved in self.list(session_id)]

    def list_session_codes(self, session_id: str) -> list[dict[str, Any]]:
        """Return the metadata of a session's code, the newest first."""
        return self.list_files(session_id)[::-1]

    code_saved_marker = staticmethod(marker)

    @staticmethod
    def extract_code_saved(text: str) -> list[tuple[str, str]]:
        """Return the ids and descriptions of such comments in a text."""
        return list(markers(text))

    @staticmethod
    def supported_languages() -> dict[str, str]:
        """Return the languages and their file extensions."""
        return {language.name: language.extension for language in LANGUAGES}


def metadata(saved: Saved) -> dict[str, Any]:
    """Return the document's metadata of a code, and its version and file."""
    names = ("code_id", "language", "description", "line_count", "char_count", "created_at", "version", "path")
    return {name: getattr(saved, name) for name in names}
