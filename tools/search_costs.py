"""Measures the search over all sessions: python tools/search_costs.py, with the recorded logs in SIGHTLINE_DATA.

Writes them as logs of Claude Code and Codex into a home of their own, several times over, and prints what the first
search and later ones cost, in seconds of one core.
"""

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "imports")]

from test_every_line import recorded  # noqa: E402

from sightline.view.catalog.places import Places  # noqa: E402
from sightline.view.catalog.session_catalog import SessionCatalog  # noqa: E402
from sightline.view.catalog.session_search import SessionSearch  # noqa: E402

QUESTIONS = ("output filter for secrets", "what did we decide about the push branch", "failing test of the checkpoint")


def main() -> None:
    """Print a line for one copy of the logs, and one for six."""
    for copies in (1, 6):
        with TemporaryDirectory() as folder:
            home = Path(folder)
            os.environ |= {"CLAUDE_CONFIG_DIR": str(home / "claude"), "CODEX_HOME": str(home / "codex")}
            size = _write(home, copies)
            search = SessionSearch(SessionCatalog(Places(home, root=home / "sightline", everywhere=True)))
            began = time.process_time()
            while search.extend(2 << 20):
                pass
            first = time.process_time() - began
            began = time.process_time()
            for question in QUESTIONS:
                search.extend(2 << 20)
                search.search(question, 5)
            each = (time.process_time() - began) / len(QUESTIONS)
            kept = sum(file.stat().st_size for file in (home / "sightline").rglob("*") if file.is_file())
            print(
                f"{len(search.documents())} logs, {size / 1e6:.0f} MB: indexed in {first:.1f} s, "
                f"a search {each * 1000:.0f} ms, index {kept / 1e6:.0f} MB"
            )


def _write(home: Path, copies: int) -> int:
    size = 0
    for copy in range(copies):
        for number, (name, data) in enumerate(recorded()):
            is_codex = name.startswith("codex")
            folder = home / "codex" / "sessions" if is_codex else home / "claude" / "projects" / f"-p{number % 7}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{copy}-{number}.jsonl").write_bytes(data)
            size += len(data)
    return size


if __name__ == "__main__":
    main()
