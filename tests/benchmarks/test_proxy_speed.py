"""The benchmark of proxies, at tiny size: every figure is there for ours and for a plain one."""

from pathlib import Path

import pytest
from benchmarks.environment import Missing
from benchmarks.proxies import Kind, ours, plain
from benchmarks.proxy import Sizes, compare_proxies

TINY = Sizes(bodies=(20_000,), first=(20,), steps=4, streams=4, rounds=2)


@pytest.mark.slow
def test_every_figure_of_every_proxy_is_measured(tmp_path: Path) -> None:
    """One row for each proxy and figure; one that cannot run has a row that says why, and fails nothing."""

    def broken(_folder: Path, _port: int, _upstream: int) -> tuple[list[str], dict[str, str]]:
        raise Missing("it cannot be installed here")

    said: list[str] = []
    rows = compare_proxies(tmp_path, said.append, TINY, [ours(), plain(), Kind("another", broken)])
    names = ["ours", "a plain reverse proxy"]
    assert [row.what for row in rows] == [
        *(f"{name}: 20.0 kB" for name in names), "another",
        *(f"{name}: 20 messages" for name in names),
        *(f"{name}: 20.0 kB" for name in names),
        *(f"{name}: 4 at once, 2 times" for name in names),
    ]  # fmt: skip
    missing = [row for row in rows if row.what == "another"]
    assert [(row.measured, row.note) for row in missing] == [("missing", "it cannot be installed here")]
    assert all(row.value is not None and row.value >= 0 for row in rows if row not in missing)
    assert all(", 0 errors" in row.measured for row in rows if "at once" in row.what)
    assert [row.what for row in rows if row.met is not None] == ["ours: 20.0 kB", "ours: 4 at once, 2 times"]
    assert len(said) == 4
