"""What `make bench` measures of the inspector."""

from pathlib import Path

import pytest
from benchmarks.sessions import stored

from benchmarks import inspector


@pytest.mark.slow
def test_every_view_is_measured(tmp_path: Path) -> None:
    """Each is opened with the token, twice, until its first row or bar is there."""
    rows = inspector.opening(stored(tmp_path, 40))
    assert [row.what for row in rows] == [f"{view}: {when}" for view in inspector.VIEWS for when in ("first", "again")]
    assert all(row.value and row.value > 0 for row in rows)
