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


NAMES = [f"dist/assets/chunk-{n:03}-a{n * 7919 % 65536:04x}.js   {n}.4 kB" for n in range(160)]
BUILDS = {
    "vite": (
        ["✓ 1842 modules transformed.", "x Build failed in 6.12s", "error during build:"]
        + ['src/cart.ts (14:9): "vat" is not exported by "src/tax.ts".', "file: /home/ada/shop/src/cart.ts:14:9", ""]
        + ["13: import { api } from './api'", "14: import { vat } from './tax'", "             ^", ""]
        + [f"    at call{n} (file:///shop/node_modules/rollup/parseAst.js:{n}:41)" for n in range(9)]
        + ["npm error code 1"],
        [
            '"vat" is not exported',
            "cart.ts:14:9",
            "14: import { vat } from './tax'",
            "x Build failed",
            "npm error code 1",
        ],
    ),
    "docker": (
        [
            '#20 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
            *("------", "Dockerfile:14", "--------------------", "  12 |     COPY package*.json ./", "  13 |"),
            *("  14 | >>> RUN npm ci", "  15 |     COPY . .", "--------------------"),
            'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
        ],
        ["Dockerfile:14", ">>> RUN npm ci", "ERROR: failed to solve"],
    ),
    "terraform": (
        ["Planning failed.", "", "│ Error: Unsupported attribute", "│ "]
        + [
            '│   on modules/net/main.tf line 41, in resource "aws_route" "nat":',
            "│   41:   gateway = aws_nat.main.id",
            "│ ",
        ]
        + ["│ This object has no attribute of this name.", "╵"]
        + [f"Releasing lock of state {n}" for n in range(12)],
        [
            "Error: Unsupported attribute",
            "main.tf line 41",
            "41:   gateway = aws_nat.main.id",
            "has no attribute of this",
        ],
    ),
    "node": (
        ["/srv/build.js:1", "require('./webpack.missing')", "^", "", "Error: Cannot find module './webpack.missing'"]
        + [f"    at load{n} (node:internal/modules/cjs/loader:{n}:15)" for n in range(6)]
        + ["    at run (/srv/build.js:1:139) {", "  code: 'MODULE_NOT_FOUND'", "}", "", "Node.js v20.20.2"],
        ["Cannot find module", "MODULE_NOT_FOUND", "/srv/build.js:1:139"],
    ),
    "gradle": (
        ["e: file:///shop/src/Cart.kt:41:17 Unresolved reference: vatRate"]
        + NAMES[:60]
        + [
            "FAILURE: Build failed with an exception.",
            "",
            "* What went wrong:",
            "Execution failed for task ':app:compile'.",
        ]
        + [f"> Get help number {n}" for n in range(9)]
        + ["BUILD FAILED in 38s"],
        ["Cart.kt:41:17 Unresolved reference", "Execution failed for task ':app:compile'", "BUILD FAILED in 38s"],
    ),
    "unknown": (
        ["all links checked", "release 4.1.2 is not possible: 3 pages lack a title", "left as it was"],
        ["lack a title"],
    ),
}


@pytest.mark.parametrize(("said", "wanted"), BUILDS.values(), ids=BUILDS.keys())
def test_what_stops_a_build_is_shown_before_names_of_what_it_made(said: list[str], wanted: list[str]) -> None:
    """Errors, their place and source, and the last lines come before names in gaps, whatever prints them."""
    shown = summary("\n".join([*NAMES, *said]), "npm run build")
    assert COUNT(shown) <= 800
    for line in wanted:
        assert line in shown


def test_what_a_program_prints_is_not_read_as_its_code() -> None:
    """The name of a script in a command says nothing of its output: errors and the last lines are shown."""
    failed = ["ERROR: link check failed: /tax.html in cart.html:41", *NAMES[80:]]
    last = [f"note {n} of the end" for n in range(9)]
    shown = summary("\n".join([*NAMES[:80], *failed, *last]), "python scripts/release.py --all")
    for line in (failed[0], *last):
        assert line in shown


def test_alike_errors_are_shown_once_before_they_repeat() -> None:
    """Errors that differ only in names, numbers and places are of one kind; a gist has one of each."""
    alike = "".join(f'a.py:{n}: error: Value "v{n}" of no type\n[t]\n    return v{n}\n        ^\n' for n in range(60))
    others = ["Item has no attribute place", "Too many arguments", "Name vat is not defined"]
    text = alike + "".join(f"a.py:{n}: error: {said}\n    x = {n}\n" for n, said in enumerate(others, 90))
    for level in levels(text + "Found 63 errors in 1 file\n", "mypy --pretty a.py"):
        for said in (*others, "Found 63 errors"):
            assert said in (level or "")


def test_an_error_in_an_output_of_paths_is_shown_with_the_end() -> None:
    """What is no path of a listing may be why it ended."""
    text = "\n".join(f"upgrade.go:{n}: [debug] preparing part-{n}" for n in range(200))
    text += "\nError: UPGRADE FAILED: limit is too low\n" + "".join(f"action.go:{n}: part-{n}\n" for n in range(40))
    shown = summary(text, "helm upgrade")
    assert "Error: UPGRADE FAILED: limit is too low" in shown
    assert " 39: part-39" in shown


TAP = "".join(f"# Subtest: fine {n}\nok {n} - fine {n}\n  ---\n  duration_ms: {n}\n  ...\n" for n in range(60)) + (
    "# Subtest: connects\nnot ok 61 - connects\n  ---\n  location: '/srv/a.test.js:95:1'\n  error: |-\n"
    "    connect ECONNREFUSED\n    \n    after 3 tries\n  code: 'ECONNREFUSED'\n  stack: |-\n"
    "    TestContext.<anonymous> (/srv/a.test.js:95:39)\n"
    + "".join(f"    Test.run{n} (node:internal/test:{n}:25)\n" for n in range(9))
    + "  ...\n1..61\n# tests 61\n# pass 60\n# fail 1\n"
)
RSPEC = (
    "".join(f"  Invoice\n    fine case {n} (OK)\n" for n in range(90))
    + "\nFailures:\n\n  1) Ledger refuses an overdraft\n     Failure/Error: ledger.post(-250)\n\n"
    "     Ledger::Overdraft:\n       overdraft of 150\n     # ./app/ledger.rb:18:in `post'\n\n"
    "  2) Cart adds\n     Failure/Error: total == 4\n\n"
    "       expected: 1799\n            got: 1599\n\n     # ./spec/cart_spec.rb:43:in `block'\n\n"
    "Finished in 2.11 seconds\n92 examples, 2 failures\n"
)
GTEST = (
    "".join(f"[ RUN      ] Cart.Fine{n}\n[       OK ] Cart.Fine{n} (0 ms)\n" for n in range(70))
    + "[ RUN      ] Cart.Adds\ntests/cart.cc:43: Failure\nExpected equality of these values:\n  cart.total()\n"
    "    Which is: 1599\n[  FAILED  ] Cart.Adds (2 ms)\n[  PASSED  ] 70 tests.\n[  FAILED  ] 1 test, listed below:\n"
)
MORE_RUNS = {
    "tap": (TAP, ["error: |-", "connect ECONNREFUSED", "after 3 tries", "/srv/a.test.js:95:39", "# fail 1"]),
    "rspec": (RSPEC, ["overdraft of 150", "ledger.rb:18", "expected: 1799", "got: 1599", "92 examples, 2 failures"]),
    "gtest": (GTEST, ["cart.cc:43: Failure", "cart.total()", "Which is: 1599", "1 test, listed"]),
}


@pytest.mark.parametrize(("text", "wanted"), MORE_RUNS.values(), ids=MORE_RUNS.keys())
def test_runs_of_other_test_programs(text: str, wanted: list[str]) -> None:
    """Both levels say what failed, where and the totals; a summary has nothing that passed after its beginning."""
    both = levels(text, "run the tests")
    for level in both:
        for line in wanted:
            assert line in (level or "")
    assert "fine" not in (both.summary or "").partition("[#5 ")[2].lower()
    assert (both.summary or "").count("  Invoice") < 5


def test_frames_in_libraries_come_after_those_of_the_project() -> None:
    """Of a traceback that ends in a library, the exception and the project's own frame are shown first."""
    library = "".join(
        f'  File "/v/site-packages/run_{n}.py", line {n}, in call\n    call(step_{n})\n    ^^^^\n' for n in range(30)
    )
    text = "=== FAILURES ===\n" + "".join(
        f'____ test_{n} ____\nTraceback (most recent call last):\n  File "/srv/test_a.py", line {n}, in test_{n}\n'
        f"    load({n})\n{library}FileNotFoundError: no file {n}\n"
        for n in range(10, 16)
    )
    gist = levels(text + "=== 6 failed in 0.31s ===\n", "pytest --tb=native").gist or ""
    for n in range(10, 16):
        assert f"FileNotFoundError: no file {n}" in gist
        assert f'File "/srv/test_a.py", line {n}, in test_{n}\nload({n})' in gist
    assert 'File "/v' not in gist


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
