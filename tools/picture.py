"""Draw docs/replay.svg: what `sightline replay --sample` shows in a terminal."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118
TARGET = Path(__file__).parent.parent / "docs" / "replay.svg"


def main() -> None:
    """Run the command with colours on and write the picture."""
    shown = subprocess.run(
        [sys.executable, "-m", "sightline", "replay", "--sample", "--delay", "0"],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    lines = [line for line in shown.partition("Try next")[0].rstrip().splitlines() if "━" not in line]  # the moving bar
    console.print(Text.from_ansi("\n".join(lines)))
    picture = console.export_svg(title="sightline replay --sample", unique_id="replay")
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # fetches nothing when it is looked at
    TARGET.write_text(re.sub(r"<!-- .*? -->\s*", "", picture, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
