"""A disk that refuses: the agent goes on as it would without the proxy, and the log goes on when there is room."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from through_proxy import PATHS, TALKERS

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def met() -> dict[str, Any]:
    """What `disk_trouble.py` met, as an ordinary user."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name, rights in (("closed", 0o555), ("open", 0o777)):
            Path(folder, name).mkdir()
            Path(folder, name).chmod(rights)
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, str(HERE / "disk_trouble.py"), folder], capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": path, "HOME": folder},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_folder_that_may_not_be_written_to(met: dict[str, Any]) -> None:
    """Every request goes up as it came, and every answer comes back."""
    told = met["readonly"]
    assert set(told["said"].values()) == {"Done."}
    assert len(told["said"]) == 2 * len(TALKERS)
    assert told["unchanged"]
    assert told["invalid"] == []


def test_a_disk_that_is_full_after_requests_were_shortened(met: dict[str, Any]) -> None:
    """Histories over their window are refused, and never sent whole: that would cost many times what was agreed on.

    With room again they are shortened as before, and the log has everything, also what came while the disk was full.
    """
    assert len(met["full"]) == len(PATHS)
    for wire, told in met["full"].items():
        assert (told["refused"], told["sent"]) == ([[503, "10"]] * 2, 0), wire
        assert told["shortened"], wire
        assert (told["said"], told["invalid"], told["missing"]) == ("Done.", [], []), wire
