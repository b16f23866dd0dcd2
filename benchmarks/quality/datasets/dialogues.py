"""Short dialogues with summaries that people wrote."""

from pathlib import Path

from benchmarks.quality.datasets.record_files import json_lines
from benchmarks.quality.records import Dialogue

_SUMMARIES = ("summary", "summary1", "summary2", "summary3")


def dialogsum(root: Path) -> list[Dialogue]:
    """Everyday dialogues, one or three summaries each."""
    return [
        Dialogue(f"{part}/{record['fname']}", record["dialogue"], [record[k] for k in _SUMMARIES if record.get(k)])
        for part in ("dev", "test")
        for record in json_lines(root / "dialogsum" / f"dialogsum.{part}.jsonl")
    ]
