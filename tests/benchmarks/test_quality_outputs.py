"""The comparison of summaries of outputs with the ends of the outputs."""

import json
from itertools import islice
from pathlib import Path

import pytest
from benchmarks.quality.failing_projects import Output
from benchmarks.quality.failure_lines import KINDS, failure_lines, readable_share
from benchmarks.quality.messages import count_text
from benchmarks.quality.output_logs import made_logs
from benchmarks.quality.outputs import edges, main, measured, recorded_outputs

# Of each kind a text, and the lines of it that tell of a failure.
TEXTS = {
    "pytest": (
        "test_a.py F\n____ test_a ____\n    x = 1\n>   assert x == 2\nE   assert 1 == 2\n\n"
        "test_a.py:4: AssertionError\ntest_a.py:9: in test_b\n    assert y\n"
        "FAILED test_a.py::test_a - assert 1 == 2\n=== 1 failed, 3 passed in 1s ===",
        [
            ">   assert x == 2",
            "E   assert 1 == 2",
            "test_a.py:4: AssertionError",
            "test_a.py:9: in test_b",
            "assert y",
            "FAILED test_a.py::test_a - assert 1 == 2",
            "=== 1 failed, 3 passed in 1s ===",
        ],
    ),
    "go test": (
        "=== RUN   TestA\n    a_test.go:3: fine\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    a_test.go:9: got 1\n"
        "        want 2\n--- FAIL: TestB (0.00s)\nFAIL",
        ["a_test.go:9: got 1", "want 2", "--- FAIL: TestB (0.00s)", "FAIL"],
    ),
    "cargo": (
        "test a ... ok\ntest b ... FAILED\nthread 'b' panicked at src/lib.rs:4:5:\nassertion failed\n  left: 1\n"
        "note: run with\n\ntest result: FAILED. 1 passed",
        [
            "test b ... FAILED",
            "thread 'b' panicked at src/lib.rs:4:5:",
            "assertion failed",
            "left: 1",
            "test result: FAILED. 1 passed",
        ],
    ),
    "tsc": (
        "a.ts(3,5): error TS2322: Type 'A'.\n  Property 'b' is missing.\nb.ts",
        ["a.ts(3,5): error TS2322: Type 'A'.", "Property 'b' is missing."],
    ),
    "git diff": (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n context\n-old\n+new\n+\n",
        ["diff --git a/x b/x", "-old", "+new"],
    ),
    "log": (
        "10:00 INFO a\n10:01 ERROR b 1\n10:02 ERROR b 2\n10:03 ERROR c",
        ["10:01 ERROR b 1", "10:03 ERROR c"],
    ),
}


@pytest.mark.parametrize(("kind", "text", "wanted"), [(kind, *pair) for kind, pair in TEXTS.items()], ids=TEXTS.keys())
def test_failure_lines_are_those_of_the_tools_own_form(kind: str, text: str, wanted: list[str]) -> None:
    """Nothing of what passed, of context or of a second line that differs only in digits."""
    assert failure_lines(kind, text) == wanted


def test_a_line_is_readable_without_its_blanks_and_apart_from_its_path() -> None:
    """A text that writes a path once, with what was found there below it, shows the whole."""
    lines = ["src/a.py:3: error: no  such name", "diff --git a/src/a.py b/src/a.py", "E   other"]
    assert readable_share(lines, "src/a.py\n 3: error: no such name") == 2 / 3


def test_the_ends_of_an_output_fit_the_tokens() -> None:
    """Half of the tokens at either end, and never a line between the first and the last fifty."""
    text = "\n".join(f"line {n} of an output" for n in range(400))
    shown = edges(text, 100)
    assert count_text(shown) <= 100
    assert shown.startswith("line 0 of")
    assert shown.endswith("line 399 of an output")
    assert edges(text, 10_000).count("\n") == 99


def test_an_output_is_measured_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outputs of an earlier run are read from their folder; one without a failure is left out."""
    log = next(made for made in made_logs("dev") if "journal" in made.source)
    score = measured(log)
    assert score is not None
    assert score.summary.ours == 1.0
    assert score.summary.tokens <= 800
    assert measured(Output("log", "nothing failed", "10:00 INFO a\n" * 300, "")) is None
    (tmp_path / "dev.json").write_text(json.dumps([log]))
    main(["--keep", str(tmp_path), "--half", "dev", "--each"])
    told = capsys.readouterr().out
    assert "log" in told
    assert log.source in told
    assert "all" in told
    assert set(TEXTS) <= set(KINDS)


def test_made_logs_are_the_same_each_time_and_differ_between_halves() -> None:
    """The made-up ones; that of the kernel is what it is."""
    halves = ("dev", "dev", "heldout")
    made = [[each for each in islice(made_logs(half), 3) if each.source.startswith("made")] for half in halves]
    assert made[0] == made[1]
    assert not {each.text for each in made[0]} & {each.text for each in made[2]}


def test_without_recorded_runs_nothing_is_read(tmp_path: Path) -> None:
    """An empty folder gives no output and no error."""
    assert [*recorded_outputs(tmp_path, "dev")] == []
