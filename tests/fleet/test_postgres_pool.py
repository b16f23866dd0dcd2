"""How long a database that is away is waited for."""

import pytest

from sightline.fleet import database as pool_module
from sightline.fleet.database import Pool


def test_patience_begins_when_the_database_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the first requests of an outage wait, and later ones do not. One that was lost long ago counts as new."""
    clock = [1000.0]
    monkeypatch.setattr(pool_module.time, "monotonic", lambda: clock[0])
    pool = Pool()
    assert pool.end_of_patience(30) == 1030
    for clock[0] in (1005.0, 1012.0, 1020.0, 1028.0, 1037.0):
        pool.note_lost()
        assert pool.end_of_patience(30) == 1035
    pool.note_found()
    assert pool.end_of_patience(30) == 1067
    pool.note_lost()
    clock[0] = 1100.0  # nobody has asked for a minute
    assert pool.end_of_patience(30) == 1130
    pool.note_lost()
    assert pool.end_of_patience(30) == 1130
