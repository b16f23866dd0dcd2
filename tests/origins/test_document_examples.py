"""The scripts that do what each document describes, from beginning to end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((PROJECT / "examples" / "documents").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_document_is_done_from_beginning_to_end(script: Path, tmp_path: Path) -> None:
    """The script ends well, in a home of its own; it compares what it prints with the document itself."""
    env = {**os.environ, "HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=env, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
