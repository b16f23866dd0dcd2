"""The scripts in examples/documents: each does what its document describes, from beginning to end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sightline

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


@pytest.mark.parametrize("script", sorted(DOCUMENTS.glob("*.py")), ids=lambda path: path.stem)
def test_the_example_of_a_document(script: Path, tmp_path: Path) -> None:
    """It runs alone, in any folder, without a network or a model, and prints what stands in the text beside it."""
    package = Path(sightline.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    environment.pop("COLUMNS", None)  # the test runner's, for its workers: a script's lines are as long as they are
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert done.stdout.decode() == script.with_suffix(".txt").read_text(encoding="utf-8")
