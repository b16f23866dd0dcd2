"""How many packages an extra brings, by the requirements of what is installed here."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def weight() -> ModuleType:
    """tools/weight.py, which is no package."""
    spec = importlib.util.spec_from_file_location("weight", ROOT / "tools" / "weight.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_agent_is_few_packages(weight: ModuleType) -> None:
    """At most 20 with Sightline itself, and LangGraph is none of them: only the BA-Agent document's service has it."""
    packages = weight.closure(weight.NAME, {"agent"})
    assert {weight.NAME, "httpx2", "msgspec"} <= packages
    assert len(packages) <= 20, sorted(packages)
    assert "langgraph" not in packages
    assert {"langgraph", "httpx2"} <= weight.closure(weight.NAME, {"ba-agent"})
