"""The project that write_code is tried on."""

from pathlib import Path

import pytest
from tool_project import Project, project


@pytest.fixture
def here(tmp_path: Path) -> Project:
    """A small project, fresh."""
    return project(tmp_path)
