"""The scripts in examples/documents: each does what its document describes, from beginning to end."""

import os
from pathlib import Path

import pytest

import sightline
from copied_process import COMPOSED, copier

IMPORTS = "import sightline.cli.chat.chat, sightline.cli.chat.command, sightline.origins.clawdcode"
DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(DOCUMENTS.glob("*.py")), ids=lambda path: path.stem)
def test_the_example_of_a_document(script: Path, tmp_path: Path) -> None:
    """It runs alone, in any folder, without a network or a model, and prints what stands in the text beside it."""
    package = Path(sightline.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    environment.pop("COLUMNS", None)  # the test runner's, for its workers: a script's lines are as long as they are
    done = copier(IMPORTS + COMPOSED).run([str(script)], tmp_path, environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == script.with_suffix(".txt").read_text(encoding="utf-8")
