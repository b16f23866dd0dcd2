"""Run the examples of one page, as a reader would type them: top down, in one Python, in an empty folder.

    python tests/docs_page.py docs/session.md "names = 1  # what the page takes for granted"

`python` blocks are executed. What `pycon` blocks print is compared. A line `--8<-- "file"` stands for that file.
"""

import doctest
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPET = re.compile(r'^--8<-- "([\w./]+)"$', re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The examples of a page: their language and their text."""
    text = page.read_text(encoding="utf-8")
    return [(language, SNIPPET.sub(_included, code)) for language, code in BLOCK.findall(text)]


def _included(match: re.Match[str]) -> str:
    return (ROOT / match[1]).read_text(encoding="utf-8")


def main(page: str, given: str = "") -> int:
    """Run the page and return how many of its lines failed."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(given, names)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, (language, code) in enumerate(blocks(Path(page)), 1):
        name = f"{Path(page).name}, example {number}"
        if language == "python":
            exec(compile(code, name, "exec"), names)
        else:
            runner.run(parser.get_doctest(code, names, name, page, 0), clear_globs=False)
            names |= runner.test.globs if runner.test else {}
    return runner.failures


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 100))
