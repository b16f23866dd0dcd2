"""Writing again after another writer was first."""

import pytest

from sightline.errors import Conflict
from sightline.log.journal import retry_on_conflict


class Writer:
    """Fails with a Conflict so many times, and records what was called."""

    def __init__(self, failures: int) -> None:
        self.failures, self.calls = failures, list[str]()

    def write(self) -> str:
        self.calls.append("write")
        self.failures -= 1
        if self.failures >= 0:
            raise Conflict("", None, "other")
        return "written"

    def refresh(self) -> None:
        self.calls.append("refresh")


def test_what_is_written_at_once_is_not_refreshed() -> None:
    """Without a conflict there is one write and nothing else."""
    writer = Writer(0)
    assert retry_on_conflict(writer.write, writer.refresh) == "written"
    assert writer.calls == ["write"]


def test_each_further_attempt_comes_after_a_refresh() -> None:
    """The write that succeeds returns its value."""
    writer = Writer(2)
    assert retry_on_conflict(writer.write, writer.refresh, attempts=3) == "written"
    assert writer.calls == ["write", "refresh", "write", "refresh", "write"]


def test_the_last_conflict_is_raised() -> None:
    """After the last attempt nothing is refreshed: the caller sees the log as the conflict left it."""
    writer = Writer(5)
    with pytest.raises(Conflict):
        retry_on_conflict(writer.write, writer.refresh)
    assert writer.calls == ["write", "refresh", "write"]
