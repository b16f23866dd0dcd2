"""What the tests of the documents share: a home and a project of their own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, for the document's default root."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "shop"
    path.mkdir(parents=True)
    return path
