"""The list of defects in tools/mutants.py applies to the source as it is."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """tools/mutants.py, which is no package."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


def test_every_defect_can_still_be_made(mutants: ModuleType) -> None:
    """If this fails, a line was reworded: copy its new text into `old`, or choose another line for the same defect."""
    assert list(mutants.problems()) == []
    assert len(mutants.MUTANTS) >= 30


@pytest.mark.slow
def test_every_defect_is_python(mutants: ModuleType) -> None:
    """One that cannot be read ends the whole run of `make mutants`."""
    assert list(mutants.unreadable()) == []
    [said] = mutants.unreadable([mutants.MUTANTS[0]._replace(new="?")])
    assert said.startswith(f"{mutants.MUTANTS[0].name}: what it makes of ")
