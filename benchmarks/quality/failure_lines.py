"""Which lines of an output tell of a failure, by the form that each tool documents for its own output.

Nothing here is shared with the rules of the package, so that they are not measured by themselves.
"""

import re
from collections.abc import Callable, Iterator, Sequence

_PYTEST = re.compile(r"E\s+\S|>\s+\S|\S+\.py:\d+: |(?:FAILED|ERROR) \S|(?:=+ )?\d+ (?:failed|errors?)\b|=+ .*\d failed")
_JEST = re.compile(
    r"  ● |\s+(?:Expected|Received)\b|\s+expect\(|    [-+] |    >\s*\d+ \||\s+at .*:\d+:\d+\)?$|Tests:\s|Test Suites:\s"
)
_VITEST = re.compile(r"\s*FAIL  |\S*(?:Error|Exception): |\s+[-+] |\s*❯ \S+:\d+:\d+|\s+Tests  .*failed|Error: ")
_GO_ALWAYS = re.compile(r"\s*--- FAIL|panic: |\S+\.go:\d+:\d+: |FAIL\b")
_GO_SAID = re.compile(r"\s+\S+\.go:\d+: ")
_GO_TEST = re.compile(r"(?:=== RUN|\s*--- (?:FAIL|PASS):)\s+(\S+)")
_CARGO = re.compile(
    r"test .* \.\.\. FAILED|thread '.*panicked at|error(?:\[E\d+\])?: |\s+--> \S+:\d+:\d+|test result: F"
)
_UNITTEST = re.compile(r"(?:FAIL|ERROR): |[A-Za-z_][\w.]*(?:Error|Exception|Failure)\b|FAILED \(")
_MYPY = re.compile(r".*:\d+(?::\d+)?: error: |Found \d+ errors?")
_TSC = re.compile(r"\S+\(\d+,\d+\): error TS\d+: |Found \d+ errors?|error TS\d+: ")
_NPM = re.compile(r"npm (?:error|ERR!) .*\w|\S*Error: |/\S+:\d+$")
_LEVEL = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|PANIC)\b|\blevel\W{1,4}(?:error|fatal)|[A-Za-z_][\w.]*(?:Error|Exception): "
)
_CARETS = re.compile(r"[\s|]*\^+")


def failure_lines(kind: str, text: str) -> list[str]:
    """Return the lines that tell of a failure, each once; of a diff its changed lines and the headers of its files.

    Of a log one line stands for all that differ only in digits.
    """
    found = map(str.strip, _FORMS[kind](text.split("\n")))
    lines = dict.fromkeys(line for line in found if re.search(r"\w", line))
    if kind == "log":
        return [*{re.sub(r"\d+", "0", line): line for line in reversed(lines)}.values()][::-1]
    return list(lines)


def _matching(form: re.Pattern[str]) -> Callable[[Sequence[str]], Iterator[str]]:
    return lambda lines: filter(form.match, lines)


def _pytest(lines: Sequence[str]) -> Iterator[str]:
    """In a short traceback the statement is below its place and has no sign of its own."""
    for at, line in enumerate(lines):
        if _PYTEST.match(line) or (at and re.match(r"\S+\.py:\d+: in ", lines[at - 1])):
            yield line


def _log(lines: Sequence[str]) -> Iterator[str]:
    return filter(_LEVEL.search, lines)


def _jest(lines: Sequence[str]) -> Iterator[str]:
    """What was raised is the first line below the name of a test."""
    for at, line in enumerate(lines):
        if _JEST.match(line) or lines[max(0, at - 2)].startswith("  ● "):
            yield line


def _vitest(lines: Sequence[str]) -> Iterator[str]:
    """The statement is the line above the one that points into it."""
    for at, line in enumerate(lines):
        if _VITEST.match(line) or (at + 1 < len(lines) and _CARETS.fullmatch(lines[at + 1])):
            yield line


def _go(lines: Sequence[str]) -> Iterator[str]:
    """What a test said is printed after its name without -v, and before its end with it."""
    ends = [line.split()[2] for line in lines if line.lstrip().startswith("--- FAIL: ")]
    test, saying = "", False
    for line in lines:
        if name := _GO_TEST.match(line):
            test = name.group(1)
        is_said = bool(_GO_SAID.match(line)) or (saying and line.startswith("        "))
        saying = is_said and test in ends
        if _GO_ALWAYS.match(line) or saying:
            yield line


def _cargo(lines: Sequence[str]) -> Iterator[str]:
    """The message of a panic is below its place; a compiler's error has its place, its source and what points at it."""
    panicked = in_error = False
    for at, line in enumerate(lines):
        begins = bool(_CARGO.match(line))
        if line.startswith(("error", "warning")):
            in_error = line.startswith("error")
        if panicked and not begins:
            panicked = bool(line.strip()) and not line.startswith(("note:", "stack backtrace:"))
        pointed = at + 1 < len(lines) and bool(re.match(r"\s*\|.*\^", lines[at + 1]))
        if (begins and (in_error or "-->" not in line)) or panicked or (in_error and pointed):
            yield line
        panicked = panicked or "panicked at" in line


def _unittest(lines: Sequence[str]) -> Iterator[str]:
    """The last frame of a traceback, its statement and what was raised."""
    for at, line in enumerate(lines):
        after = lines[at + 2 : at + 4]
        is_last = line.startswith('  File "') and any(map(_UNITTEST.match, after))
        if _UNITTEST.match(line) or is_last:
            yield line
            if is_last:
                yield lines[at + 1]


def _tsc(lines: Sequence[str]) -> Iterator[str]:
    """An explanation is indented below its error."""
    explains = False
    for line in lines:
        begins = bool(_TSC.match(line))
        explains = begins or (explains and line.startswith("  "))
        if explains:
            yield line


def _diff(lines: Sequence[str]) -> Iterator[str]:
    in_hunk = False
    for line in lines:
        if line.startswith("diff --git "):
            in_hunk = False
            yield line
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line.startswith(("+", "-")) and re.search(r"\w", line):
            yield line


_FORMS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "jest": _jest,
    "vitest": _vitest,
    "go test": _go,
    "cargo": _cargo,
    "mypy": _matching(_MYPY),
    "tsc": _tsc,
    "git diff": _diff,
    "npm": _matching(_NPM),
    "log": _log,
}
KINDS = tuple(_FORMS)

_RULE = re.compile(r"[=_]{3,}")
_PLACED = re.compile(r"(\S+?\.\w+)((?::\d+|\(\d).*)")


def readable_share(lines: Sequence[str], shown: str) -> float:
    """Return the share of the lines that can be read in a text, blanks and rules aside.

    A line that begins with a path and a place counts also where the path stands apart from the rest, and the header of
    a file in a diff wherever the path is.
    """
    text = _plain(shown)
    return sum(_is_readable(line, text) for line in lines) / max(1, len(lines))


def _is_readable(line: str, text: str) -> bool:
    if _plain(line) in text:
        return True
    if line.startswith("diff --git "):
        return line.rpartition(" b/")[2] in text
    placed = _PLACED.match(line)
    return placed is not None and placed[1] in text and _plain(placed[2].lstrip(":")) in text


def _plain(text: str) -> str:
    return " ".join(_RULE.sub(" ", text).split())
