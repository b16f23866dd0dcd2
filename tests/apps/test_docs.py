"""What the page on apps shows works as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

from sightline.testing import check_app

PAGE = (Path(__file__).parent.parent.parent / "docs" / "apps.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app is one that keeps to everything, and what is done in it is shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shopping.py").write_text(BLOCKS[0], encoding="utf-8")  # as the page says
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    exec(BLOCKS[1], names)
    [shown] = names["payload"].tail
    names["session"].close()
    assert "milk" in str(shown)
    check_app(names["Shopping"], [("add", {"text": "milk"}), ("add", {"text": "<b>"}), ("remove", {"index": 1})])
