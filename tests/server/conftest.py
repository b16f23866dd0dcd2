"""What the tests of the server share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_server import RestServer, converse


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that has one session, `talk`."""
    folder = tmp_path / "project"
    folder.mkdir()
    converse(folder)
    return folder


@pytest.fixture
def server(project: Path) -> Iterator[RestServer]:
    """A server of that project."""
    with RestServer(project) as running:
        yield running
