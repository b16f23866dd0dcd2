"""Sizes: `make test` runs every promise small, `make soak` (SIGHTLINE_SOAK=1) at full size."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SOAK = os.environ.get("SIGHTLINE_SOAK") == "1"

settings.register_profile(
    "test", max_examples=100, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.register_profile(
    "soak", max_examples=500, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.register_profile(
    "laws", max_examples=5000, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.load_profile("soak" if SOAK else "test")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """The laws are tried ten times as often as other properties when there is time."""
    if SOAK and isinstance(collector, pytest.Module):
        settings.load_profile("laws" if "laws" in collector.path.parts else "soak")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's own sessions."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))


@pytest.fixture
def soak() -> bool:
    """Whether this run is at full size."""
    return SOAK
