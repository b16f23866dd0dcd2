"""What a summary of a tool's output shows first: failures, changed lines, errors."""

import re

import pytest

from sightline.shorten import Shorter, shorten, suites
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.tokens import counter

COUNT = counter().count


def levels(text: str, subject: str = "make") -> Shorter:
    item = Item("5", Kind.RESULT, (Result("call", (Text(text),), "", "bash"),), "")
    return shorten(item, count=COUNT, name="bash", subject=subject)


def summary(text: str, subject: str = "make") -> str:
    return levels(text, subject).summary or ""


def failure(n: int) -> str:
    """One failure as pytest prints it, with much that is not the failure."""
    context = "\n".join(f"    setting_{n}_{k} = load('setting {k}')" for k in range(12))
    return (
        f"_____________ test_case_{n} _____________\n\n    def test_case_{n}():\n{context}\n"
        f">       assert total({n}) == {n}7\n"
        f"E       assert {n}3 == {n}7\nE        +  where {n}3 = total({n})\n\ntests/test_a.py:{n}0: AssertionError\n"
    )


PASSED = "\n".join(f"tests/test_b.py::test_fine_{n} PASSED [{n:3}%]" for n in range(80))
PYTEST = (
    f"=== test session starts ===\nplatform linux\ncollected 92 items\n{'.' * 70}\n\n{PASSED}\n=== FAILURES ===\n"
    + "".join(map(failure, range(1, 7)))
    + "=== short test summary info ===\n"
    + "".join(f"FAILED tests/test_a.py::test_case_{n} - assert {n}3 == {n}7\n" for n in range(1, 7))
    + "=== 6 failed, 80 passed in 2.31s ===\n"
)
GO = (
    "".join(f"=== RUN   TestFine{n}\n--- PASS: TestFine{n} (0.00s)\n" for n in range(60))
    + "=== RUN   TestTotal\n    shop_test.go:15: Total() = 3,\n        want 4\n--- FAIL: TestTotal (0.00s)\nFAIL\n"
    "FAIL\texample.org/shop\t0.005s\n"
)
JEST = (
    "FAIL ./cart.test.js\n" + "".join(f"    ✓ fine number {n} (1 ms)\n" for n in range(60)) + "    ✕ adds up (3 ms)\n\n"
    "  ● cart › adds up\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\n"
    "      3 |   const sum = total([1, 2]);\n    > 4 |   expect(sum).toBe(4);\n        |               ^\n\n"
    "      at Object.toBe (cart.test.js:4:15)\n\n"
    "Test Suites: 1 failed, 1 total\nTests:       1 failed, 60 passed, 61 total\n"
)
CARGO = (
    "running 61 tests\n"
    + "".join(f"test tests::fine_{n} ... ok\n" for n in range(60))
    + "test tests::adds ... FAILED\n"
    "\nfailures:\n\n---- tests::adds stdout ----\n\nthread 'tests::adds' panicked at src/lib.rs:9:5:\n"
    "assertion `left == right` failed\n  left: 3\n right: 4\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n"
    "    tests::adds\n\ntest result: FAILED. 60 passed; 1 failed; 0 ignored\n"
)
UNITTEST = (
    "".join(f"test_fine_{n} (shop.ShopTest) ... ok\n" for n in range(60)) + "test_adds (shop.ShopTest) ... FAIL\n\n"
    + "=" * 70 + "\nFAIL: test_adds (shop.ShopTest)\n" + "-" * 70 + "\nTraceback (most recent call last):\n"
    '  File "/srv/shop.py", line 9, in test_adds\n    self.assertEqual(total(3), 4)\nAssertionError: 3 != 4\n\n'
    + "-" * 70 + "\nRan 61 tests in 0.002s\n\nFAILED (failures=1)\n"
)  # fmt: skip
RUNS = {
    "pytest": (
        PYTEST,
        [">       assert total(1) == 17", "E       assert 63 == 67", "tests/test_a.py:40: AssertionError"],
    ),
    "go": (GO, ["shop_test.go:15: Total() = 3,", "        want 4", "--- FAIL: TestTotal"]),
    "jest": (
        JEST,
        ["Expected: 4", "Received: 3", "> 4 |   expect(sum).toBe(4);", "cart.test.js:4:15", "● cart › adds up"],
    ),
    "cargo": (CARGO, ["panicked at src/lib.rs:9:5:", "  left: 3", " right: 4", "test result: FAILED"]),
    "unittest": (
        UNITTEST,
        ["AssertionError: 3 != 4", "self.assertEqual(total(3), 4)", 'shop.py", line 9', "FAILED (fail"],
    ),
}


@pytest.mark.parametrize(("text", "wanted"), RUNS.values(), ids=RUNS.keys())
def test_the_summary_of_a_test_run_shows_each_failure_and_no_test_that_passed(text: str, wanted: list[str]) -> None:
    """What was raised, where and by which statement is there, and the totals; after the opening nothing that passed."""
    shown = summary(text, "run the tests")
    for line in wanted:
        assert line in shown
    assert not re.search("fine", shown.partition("[#5 ")[2], re.IGNORECASE)


def test_every_failure_is_shown_before_all_of_one() -> None:
    """Of forty failures that do not fit, far more than the first few say what was raised; the totals stay."""
    text = "=== FAILURES ===\n" + "".join(map(failure, range(10, 50))) + "=== 40 failed, 3 passed in 2.31s ===\n"
    shown = summary(text, "pytest")
    assert len(re.findall(r"E +assert \d+ == \d+", shown)) > 25
    assert "40 failed, 3 passed" in shown
    assert COUNT(shown) <= 800


def test_the_gist_of_a_test_run_quotes_assertions() -> None:
    """Even the smallest level says what was expected, and the totals."""
    gist = levels(PYTEST, "pytest").gist or ""
    assert "E assert 13 == 17" in gist
    assert "6 failed, 80 passed" in gist
    assert "test_fine" not in gist


def hunk(n: int) -> str:
    context = "\n".join(f"     context_{n}_{k} = compute(value_{k}, other_{k})" for k in range(9))
    return f"@@ -{n}0,9 +{n}0,9 @@ def part_{n}\n{context}\n-    old_{n} = {n}\n+    new_{n} = {n}1\n{context}\n"


def test_a_diff_shows_every_file_and_changed_lines_before_context() -> None:
    """All changed lines of a diff that is mostly context are there, and a line of each file's header."""
    files = [
        f"diff --git a/src/m{f}.py b/src/m{f}.py\n--- a/src/m{f}.py\n+++ b/src/m{f}.py\n"
        f"{hunk(3 * f + 1)}{hunk(3 * f + 2)}"
        for f in range(8)
    ]
    shown = summary("".join(files), "git diff")
    for f in range(8):
        assert f"src/m{f}.py" in shown
        for n in (3 * f + 1, 3 * f + 2):
            assert f"\n-    old_{n} = {n}\n" in shown
            assert f"+    new_{n} = {n}1" in shown


def test_removed_lines_that_look_like_headers_are_changes() -> None:
    """A removed line that begins with two dashes of its own is counted and shown as a change."""
    body = "".join(f"--- comment {n} in SQL\n other line of context, number {n}\n" for n in range(2))
    text = f"diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,60 +1,60 @@\n{body}{hunk(3)}{hunk(4)}"
    both = levels(text, "git diff")
    assert "--- comment 1 in SQL" in (both.summary or "")
    assert "q.sql +2 -4" in (both.gist or "")


def test_a_log_shows_errors_the_end_and_the_first_of_each_kind() -> None:
    """In a log of many kinds of lines nothing of these is missing, and the summary uses the room it has."""
    lines = [
        f"Mar 04 05:{n // 60 % 60:02}:{n % 60:02} web systemd[1]: Started unit-{'abcdefgh'[n % 8]} run {n}."
        for n in range(500)
    ]
    lines[200] = "Mar 04 05:03:20 web kernel: Out of memory: Killed process 812 (shop)"
    lines[300] = "Mar 04 05:05:00 web shop[9]: connection refused by 10.0.0.7"
    shown = summary("\n".join(lines), "journalctl")
    for line in (lines[200], lines[300], *lines[-10:]):
        assert line in shown
    for unit in "abcdefgh":
        assert f"Started unit-{unit}" in shown
    assert COUNT(shown) > 600


def test_a_traceback_in_a_log_is_read_as_part_of_the_log() -> None:
    """Errors of a long log are shown wherever they are, each with what was raised."""
    lines = [f"2026-03-04 05:00:{n % 60:02} INFO shop: served {n} requests" for n in range(1500)]
    places = range(100, 1300, 120)
    for n in places:
        frame = f'  File "/srv/a.py", line {n}, in run\n    work({n})'
        lines[n] += (
            f"\n2026-03-04 05:00:00 ERROR shop: job\nTraceback (most recent call last):\n{frame}\nTimeoutError: job_{n}"
        )
    both = levels("\n".join(lines), "cat job.log")
    for n in places:
        assert f"TimeoutError: job_{n}" in (both.summary or "")
    assert "\nTimeoutError: job_100" in (both.gist or "")  # not without its first letter, as if that were a time


def test_errors_of_a_compiler_are_shown_with_place_and_source() -> None:
    """Of warnings and errors the errors come first, with what points at them."""
    warning = (
        "warning: unused variable: `x{n}`\n --> src/lib.rs:{n}:9\n  |\n{n} |     let x{n} = 4;\n  |         ^^ help\n\n"
    )
    error = (
        'error[E0308]: mismatched types\n --> src/lib.rs:90:9\n   |\n90 |     let wrong: i64 = "4";\n   |    ^^^\n\n'
    )
    text = "".join(warning.format(n=n) for n in range(40)) + error + "".join(warning.format(n=n) for n in range(40, 80))
    shown = summary(text, "cargo build")
    for line in ("error[E0308]: mismatched types", " --> src/lib.rs:90:9", '90 |     let wrong: i64 = "4";'):
        assert line in shown
    assert "error[E0308]: mismatched types" in (levels(text, "cargo build").gist or "")


def test_errors_of_a_type_checker_stand_under_their_path_one_of_each_kind_first() -> None:
    """A rare error is shown although hundreds of another kind come before it, and so is the total."""
    for form in ("src/a{f}.py:{n}: error: {said}", "src/a{f}.ts({n},5): error TS2322: {said}"):
        lines = [form.format(f=n // 60, n=n, said=f"Argument {n} has a wrong type, as others have") for n in range(300)]
        lines[200] = form.format(f=3, n=200, said="Item has no attribute place")
        text = "\n".join([*lines, "Found 300 errors in 5 files"])
        both = levels(text, "check src")
        for level in both:
            assert "Item has no attribute place" in (level or "")
            assert "Found 300 errors" in (level or "")
        assert (both.summary or "").count("\nsrc/a3.") == 1


def test_what_a_package_manager_reports_is_shown() -> None:
    """The errors of npm are in both levels, however much it says before them."""
    text = "\n".join(f"npm silly fetch manifest @shop/part-{n}@^1.0.0" for n in range(300))
    text += "\nnpm error code ENOTCACHED\nnpm error request to the registry failed\n" + "npm verbose done\n" * 12
    for level in levels(text, "npm install"):
        assert "npm error code ENOTCACHED\nnpm error request to the registry failed\n" in (level or "")


def test_a_short_result_has_a_gist_and_no_summary() -> None:
    """The label and the beginning would take half of a summary."""
    text = "\n".join(f"value_{n} = compute({n})" for n in range(20))
    assert COUNT(text) < 300
    both = levels(text)
    assert both.summary is None
    assert both.gist is not None


def test_the_label_of_a_small_summary_shows_little_of_a_long_command() -> None:
    """What the call itself shows does not use up the summary."""
    text = "\n".join(f"value_{n} = compute({n})" for n in range(40))
    label = re.search(r"\[#5 .*\]", summary(text, "echo done && " * 12 + "true"))
    assert label is not None
    assert len(label.group()) < 160


def test_a_traceback_is_read_from_its_end() -> None:
    """Where not all of its frames fit, the last ones are shown, before words of other lines."""
    frames = "".join(f"src/step_{n}.py:{n}: in call_{n}\n    return call_{n + 1}(value_{n})\n" for n in range(60))
    plugins = "".join(f"plugin_{n}: setting_{n}=path_{n}/to_{n}.cfg version-{n}.4.{n}\n" for n in range(20))
    text = (
        f"=== test session starts ===\n{plugins}collected 1 item\n\n=== FAILURES ===\n___ test_deep ___\n{frames}"
        "E   ValueError: 9 is too deep\n=== 1 failed in 0.31s ===\n"
    )
    shown = summary(text)
    for expected in (
        "E   ValueError: 9 is too deep",
        "return call_60(value_59)",
        "src/step_55.py:55",
        "src/step_0.py:0:",
    ):
        assert expected in shown
    assert "src/step_20.py:20" not in shown
    assert "setting_15" not in shown


def test_a_run_that_begins_with_a_failing_statement() -> None:
    """The lines before it are not those at the end."""
    text = "> assert x == 1\nE   assert 3 == 1\n" + "".join(f"note {n} of the run\n" for n in range(200)) + "1 failed\n"
    assert "E   assert 3 == 1" in summary(text)
    found = suites._said(text.splitlines(), 0, 2)
    assert min(found.in_order()) == 0
