"""Run the examples of one page, as a reader would copy them: in an empty folder, with what the page says to save.

    python tests/docs_page.py docs/session.md "names = 1  # what the page takes for granted"

Each `python` block is a program of its own; a `text` block right below it is what it prints. What `pycon` blocks print
is compared too, top down in one Python. A line `--8<-- "file"` stands for that file.
"""

import doctest
import re
import shutil
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```python\n((?:(?!^```).)*)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAVED_BLOCK = re.compile(r"^```python\n(.*?)^```\s+Save it as `(\w+\.py)`", re.MULTILINE | re.DOTALL)
SAVED_FILE = re.compile(r"Save \[`\w+\.py`\]\(([\w./]+)\)")
SNIPPET = re.compile(r'^--8<-- "([\w./]+)"$', re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The examples of a page: their language and their text."""
    text = page.read_text(encoding="utf-8")
    return [(language, SNIPPET.sub(_included, code)) for language, code in BLOCK.findall(text)]


def _included(match: re.Match[str]) -> str:
    return (ROOT / match[1]).read_text(encoding="utf-8")


def outputs(page: Path) -> dict[str, str]:
    """What a page says that its programs print, by their text."""
    text = page.read_text(encoding="utf-8")
    return {SNIPPET.sub(_included, code): output for code, output in OUTPUT.findall(text)}


def save(page: Path) -> None:
    """Put what the page says to save into the current folder."""
    text = page.read_text(encoding="utf-8")
    for file in SAVED_FILE.findall(text):
        shutil.copy(page.parent / file, ".")
    for code, name in SAVED_BLOCK.findall(text):
        Path(name).write_text(SNIPPET.sub(_included, code), encoding="utf-8")
    sys.path.insert(0, "")


def main(page: str, given: str = "") -> int:
    """Run the page and return how many of its lines failed."""
    save(Path(page))
    names: dict[str, Any] = {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    promised, different = outputs(Path(page)), 0
    for number, (language, code) in enumerate(blocks(Path(page)), 1):
        name = f"{Path(page).name}, example {number}"
        if language == "python":
            program: dict[str, Any] = {"__name__": "page"}
            exec(given, program)
            with redirect_stdout(StringIO()) as printed:
                exec(compile(code, name, "exec"), program)
            different += not _is_printed(promised.get(code), printed.getvalue(), name)
        else:
            runner.run(parser.get_doctest(code, names, name, page, 0), clear_globs=False)
            names |= runner.test.globs if runner.test else {}
    return runner.failures + different


def _is_printed(promised: str | None, printed: str, name: str) -> bool:
    """Whether a program prints what the page says, if it says that. An ellipsis stands for anything."""
    if promised is None or doctest.OutputChecker().check_output(promised, printed, doctest.ELLIPSIS):
        return True
    print(f"{name} prints\n{printed}")
    return False


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 100))
