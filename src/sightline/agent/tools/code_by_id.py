"""Code that tools read by its id: the part of a store of code that they need."""

from collections.abc import Sequence
from typing import Protocol

ID = r"code_[A-Za-z0-9_]{1,120}"
"""The pattern of an id."""


class CodeFile(Protocol):
    """A piece of code in its store."""

    @property
    def code_id(self) -> str: ...
    @property
    def file_name(self) -> str: ...
    @property
    def language(self) -> str: ...


class CodeById(Protocol):
    """Where code is found by its id, such as a `CodeStore` of `sightline.documents.code.store`."""

    def find(self, code_id: str) -> CodeFile:
        """Return the newest version. Raises BadCodeId, UnknownCode."""

    def read(self, code_id: str) -> str:
        """Return its text. Raises BadCodeId, UnknownCode, StoreError."""

    def list(self) -> Sequence[CodeFile]:
        """Return all there is."""
