"""A store of code."""

import os
from pathlib import Path

import pytest

from sightline.documents.code.store import CodeStore
from sightline.testing import Ticking


@pytest.fixture
def memory_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody cuts the power here: such tests need not wait for the medium."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    """A store in which nothing is yet."""
    return CodeStore(tmp_path / "code", clock=Ticking())
