"""Small projects that fail, and what the real tools print of them. A tool that is not installed is left out."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

_VERBS = "open close merge split price refund archive publish lock count round assign store parse void move"
_NOUNS = "order cart parcel voucher invoice region quota ticket tariff batch shelf claim route token"
VERBS, NOUNS = _VERBS.split(), _NOUNS.split()
FAILS = ("value", "text", "record", "raise")
SECONDS = 120  # for one tool

PYTHON = """class Ledger:
    def __init__(self, rows): self.rows = list(rows)
    def total(self): return sum(self.rows)
def describe(name, amount): return {"name": name, "amount": amount, "state": "open", "tags": ["new", name]}
def parse(text):
    name, amount = text.split("=")
    return name, int(amount)
def report(name, amount): return "\\n".join([f"report of {name}", f"amount {amount}", "state open", "end"])
"""
PYTHON_TESTS = {
    "pass": "    assert Ledger([{a}, {b}]).total() == {a} + {b}\n",
    "value": "    ledger = Ledger([{a}, {b}])\n    assert ledger.total() == {c}\n",
    "text": '    assert report("{n}", {a}) == "report of {n}\\namount {b}\\nstate closed\\nend"\n',
    "record": '    assert describe("{n}", {a}) == {{"name": "{n}", "amount": {b}, "state": "open", "tags": ["new"]}}\n',
    "raise": '    print("reading {n} of day {b}")\n    assert parse("{n}={a}-{b}") == ("{n}", {c})\n',
}
UNITTEST_TESTS = {
    "pass": "        self.assertEqual(Ledger([{a}, {b}]).total(), {a} + {b})\n",
    "value": "        ledger = Ledger([{a}, {b}])\n        self.assertEqual(ledger.total(), {c})\n",
    "text": '        self.assertEqual(report("{n}", {a}), "report of {n}\\namount {b}\\nstate closed\\nend")\n',
    "record": '        self.assertEqual(describe("{n}", {a}), {{"name": "{n}", "amount": {b}, "tags": ["new"]}})\n',
    "raise": '        self.assertEqual(parse("{n}={a}-{b}"), ("{n}", {c}))\n',
}
SCRIPT = """exports.total = rows => rows.reduce((a, b) => a + b, 0);
exports.describe = (name, amount) => ({ name, amount, state: "open", tags: ["new", name] });
exports.report = (name, amount) => [`report of ${name}`, `amount ${amount}`, "state open", "end"].join("\\n");
exports.parse = text => { if (!/^\\d+$/.test(text)) throw new RangeError(`not an amount: ${text}`); return +text; };
"""
SCRIPT_TESTS = {
    "pass": "    expect(total([{a}, {b}])).toBe({a} + {b});\n",
    "value": "    const sum = total([{a}, {b}]);\n    expect(sum).toBe({c});\n",
    "text": '    expect(report("{n}", {a})).toBe("report of {n}\\namount {b}\\nstate closed\\nend");\n',
    "record": '    expect(describeItem("{n}", {a}))'
    '.toEqual({{ name: "{n}", amount: {b}, state: "open", tags: ["new"] }});\n',
    "raise": '    expect(parse("{n}-{a}")).toBe({b});\n',
}
GO = """package shop
import ("errors"; "fmt")
type Item struct { Name string; Amount int; State string }
func Total(rows []int) int { sum := 0; for _, row := range rows { sum += row }; return sum }
func Describe(name string, amount int) Item { return Item{name, amount, "open"} }
func Parse(text string) (int, error) { return 0, errors.New("not an amount: " + text) }
func Report(name string, amount int) string { return fmt.Sprintf("report of %s\\namount %d\\nend", name, amount) }
"""
GO_TESTS = {
    "pass": "if got := Total([]int{{{a}, {b}}}); got != {a}+{b} {{ t.Fatal(got) }}",
    "value": 'if got := Total([]int{{{a}, {b}}}); got != {c} {{ t.Errorf("Total of {n} = %d, want {c}", got) }}',
    "text": 'if got := Report("{n}", {a}); got != "{b}" {{\n'
    '\t\tt.Errorf("Report({n}):\\n  got  %q\\n  want %q", got, "{b}")\n\t}}',
    "record": 'if got, want := Describe("{n}", {a}), (Item{{"{n}", {b}, "closed"}}); got != want {{\n'
    '\t\tt.Errorf("Describe() = %+v, want %+v", got, want)\n\t}}',
    "raise": 'got, err := Parse("{n}-{a}")\n'
    '\tif err != nil {{ t.Fatalf("unexpected error for {n}: %v", err) }}\n\t_ = got',
}
RUST = """#[derive(Debug, PartialEq)]
pub struct Item { pub name: String, pub amount: i64, pub state: String }
pub fn total(rows: &[i64]) -> i64 { rows.iter().sum() }
pub fn describe(name: &str, amount: i64) -> Item { Item { name: name.into(), amount, state: "open".into() } }
pub fn report(name: &str, amount: i64) -> String { format!("report of {name}\\namount {amount}\\nend") }
"""
RUST_TESTS = {
    "pass": "    assert_eq!(total(&[{a}, {b}]), {a} + {b});\n",
    "value": "    let sum = total(&[{a}, {b}]);\n    assert_eq!(sum, {c});\n",
    "text": '    assert_eq!(report("{n}", {a}), "report of {n}\\namount {b}\\nend", "the report of {n}");\n',
    "record": '    let wanted = Item {{ name: "{n}".into(), amount: {b}, state: "closed".into() }};\n'
    '    assert_eq!(describe("{n}", {a}), wanted);\n',
    "raise": '    let amount: i64 = "{n}-{a}".parse().unwrap();\n    assert_eq!(amount, {b});\n',
}
RUST_ERRORS = (
    '    let {n}: i64 = "{a}";\n',
    "    let {n} = total({a});\n",
    '    let {n} = describe("{n}");\n',
    "    let {n} = missing_{n}(&[{a}]);\n",
    '    let {n} = describe("{n}", {a}).place;\n',
)
TYPED = """from dataclasses import dataclass
@dataclass
class Item:
    name: str
    amount: int
def total(rows: list[int]) -> int: return sum(rows)
"""
TYPE_ERRORS = (
    'def {n}() -> int:\n    return total(["{a}"])\n',
    'def {n}() -> str:\n    return Item("{n}", {a}).amount\n',
    "def {n}(item: Item) -> int:\n    return item.place + {a}\n",
    'def {n}() -> Item:\n    return Item("{n}", "{a}", {b})\n',
    "def {n}() -> int | None:\n    found: dict[str, int] = {{{a}: {b}}}\n    return found.get({c})\n",
)
TYPESCRIPT = "export interface Item { name: string; amount: number; state: 'open' | 'closed' }\n"
SCRIPT_ERRORS = (
    'export const {n}: number = "{a}";\n',
    'export const {n}: Item = {{ name: "{n}", amount: {a} }};\n',
    'export const {n}: Item = {{ name: "{n}", amount: "{a}", state: "lost" }};\n',
    "export function {n}(item: Item) {{ return item.place + {a}; }}\n",
    "export const {n} = (rows: Item[]): string[] => rows.map(row => row.amount * {a});\n",
)


class Output(NamedTuple):
    """What a tool printed."""

    kind: str
    source: str
    text: str
    command: str
    failed: tuple[str, ...] = ()  # the lines that tell of a failure, where the text itself does not say it


class Tools(NamedTuple):
    """Where tools are that do not come with this project."""

    scripts: Path | None  # a folder whose node_modules has jest, vitest and typescript
    half: str  # another seed for the half that is held out


def made_outputs(tools: Tools) -> Iterator[Output]:
    """Run every tool that there is on projects of several sizes."""
    for make in MAKERS:
        yield from make(tools)


class _Case(NamedTuple):
    name: str
    ends: str
    text: str


def _cases(random: Random, templates: dict[str, str], passed: int, failed: int) -> list[_Case]:
    """Return tests in a random order: their names, how they end and their bodies."""
    names = random.sample([f"{verb}_{noun}" for verb, noun in product(VERBS, NOUNS)], passed + failed)
    ends = ["pass"] * passed + [random.choice(FAILS) for _ in range(failed)]
    random.shuffle(ends)
    return [_Case(name, end, _written(random, templates[end], name)) for name, end in zip(names, ends, strict=True)]


def _written(random: Random, template: str, name: str) -> str:
    a, b, c = (random.randrange(10, 9000) for _ in range(3))
    return template.format(n=name, a=a, b=b, c=c)


def run_tool(folder: Path, command: list[str], **environment: str) -> str:
    """Return what a command prints, with the folder's name as if the project lay in one place."""
    found = subprocess.run(
        command,
        cwd=folder,
        env=os.environ
        | {"NO_COLOR": "1", "CI": "1", "COLUMNS": "80", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "RUST_BACKTRACE": "0"}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    text = found.stdout.decode("utf-8", "replace")
    return text.replace(str(folder.resolve()), "/project").replace(str(folder), "/project")


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


SIZES = ((6, 2), (90, 4), (40, 16))  # tests that pass and that fail


def _variants(
    tools: Tools, kind: str, commands: list[list[str]], files: Callable[[Random, int, int], dict[str, str]]
) -> Iterator[Output]:
    """Run each command on projects of each size."""
    for (passed, failed), command in product(SIZES, commands):
        with TemporaryDirectory() as place:
            folder = Path(place)
            _write(folder, files(Random(f"{tools.half} {kind} {passed} {command}"), passed, failed))
            if tools.scripts is not None:
                (folder / "node_modules").symlink_to((tools.scripts / "node_modules").resolve())
            shown = " ".join(Path(word).name for word in command)
            yield Output(kind, f"made: {shown}, {passed} good, {failed} bad", run_tool(folder, command), shown)


def _pytest(tools: Tools) -> Iterator[Output]:
    def files(random: Random, passed: int, failed: int) -> dict[str, str]:
        cases = _cases(random, PYTHON_TESTS, passed, failed)
        half = len(cases) // 2
        head = "from shop import Ledger, describe, parse, report\n\n\n"
        tests = [f"def test_{case.name}():\n{case.text}\n\n" for case in cases]
        return {
            "shop.py": PYTHON,
            "test_carts.py": head + "".join(tests[:half]),
            "test_stock.py": head + "".join(tests[half:]),
        }

    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    yield from _variants(tools, "pytest", [pytest, [*pytest, "-v"], [*pytest, "-q", "--tb=short"]], files)


def _unittest(tools: Tools) -> Iterator[Output]:
    def files(random: Random, passed: int, failed: int) -> dict[str, str]:
        cases = _cases(random, UNITTEST_TESTS, passed, failed)
        tests = [f"    def test_{case.name}(self):\n{case.text}" for case in cases]
        head = "import unittest\nfrom shop import Ledger, describe, parse, report\nclass ShopTest(unittest.TestCase):\n"
        return {"shop.py": PYTHON, "test_shop.py": head + "".join(tests)}

    unittest = [sys.executable, "-m", "unittest"]
    yield from _variants(tools, "unittest", [unittest, [*unittest, "-v"]], files)


def _scripts(tools: Tools) -> Iterator[Output]:
    if tools.scripts is None:
        return

    def files(random: Random, passed: int, failed: int) -> dict[str, str]:
        cases = _cases(random, SCRIPT_TESTS, passed, failed)
        half = len(cases) // 2
        head = 'const { total, describe: describeItem, report, parse } = require("./shop");\n'
        tests = [f'  test("{case.name.replace("_", " a ")}", () => {{\n{case.text}  }});\n' for case in cases]
        return {
            "package.json": '{"name": "shop"}',
            "shop.js": SCRIPT,
            "carts.test.js": f'{head}describe("carts", () => {{\n{"".join(tests[:half])}}});\n',
            "stock.test.js": f'{head}describe("stock", () => {{\n{"".join(tests[half:])}}});\n',
        }

    binaries = tools.scripts.resolve() / "node_modules" / ".bin"
    if (binaries / "jest").exists():
        yield from _variants(tools, "jest", [[str(binaries / "jest")], [str(binaries / "jest"), "--verbose"]], files)
    if (binaries / "vitest").exists():
        vitest = [str(binaries / "vitest"), "run", "--globals"]
        yield from _variants(tools, "vitest", [vitest, [*vitest, "--reporter=verbose"]], files)


def _go(tools: Tools) -> Iterator[Output]:
    def files(random: Random, passed: int, failed: int) -> dict[str, str]:
        cases = _cases(random, GO_TESTS, passed, failed)
        tests = [
            f"func Test{case.name.title().replace('_', '')}(t *testing.T) {{\n\t{case.text}\n}}\n\n" for case in cases
        ]
        head = 'package shop\n\nimport "testing"\n\n'
        return {"go.mod": "module example.org/shop\n", "shop.go": GO, "shop_test.go": head + "".join(tests)}

    if shutil.which("go"):
        yield from _variants(tools, "go test", [["go", "test", "./..."], ["go", "test", "-v", "./..."]], files)


def _cargo(tools: Tools) -> Iterator[Output]:
    manifest = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'

    def tests(random: Random, passed: int, failed: int) -> dict[str, str]:
        cases = _cases(random, RUST_TESTS, passed, failed)
        body = "".join(f"#[test]\nfn {case.name}() {{\n{case.text}}}\n\n" for case in cases)
        return {"Cargo.toml": manifest, "src/lib.rs": f"{RUST}\n#[cfg(test)]\nmod tests {{\nuse super::*;\n{body}}}\n"}

    def broken(random: Random, _: int, failed: int) -> dict[str, str]:
        names = random.sample([f"{verb}_{noun}" for verb, noun in product(VERBS, NOUNS)], 2 * failed)
        unused = "".join(f"    let {name} = {random.randrange(900)};\n" for name in names[failed:])
        body = "".join(_written(random, random.choice(RUST_ERRORS), name) for name in names[:failed])
        return {"Cargo.toml": manifest, "src/lib.rs": f"{RUST}\npub fn run() {{\n{unused}{body}}}\n"}

    if shutil.which("cargo"):
        yield from _variants(tools, "cargo", [["cargo", "test", "--offline"]], tests)
        yield from _variants(tools, "cargo", [["cargo", "build", "--offline"]], broken)


def _types(tools: Tools) -> Iterator[Output]:
    def written(random: Random, passed: int, failed: int, templates: tuple[str, ...]) -> list[str]:
        names = random.sample([f"{verb}_{noun}" for verb, noun in product(VERBS, NOUNS)], passed + 4 * failed)
        return [_written(random, random.choice(templates), name) for name in names[: passed // 3 + 3 * failed]]

    def python(random: Random, passed: int, failed: int) -> dict[str, str]:
        parts = written(random, passed, failed, TYPE_ERRORS)
        files = {f"shop_{at}.py": "from shop import Item, total\n" + "\n".join(parts[at::3]) for at in range(3)}
        return {"shop.py": TYPED, **files}

    def script(random: Random, passed: int, failed: int) -> dict[str, str]:
        parts = written(random, passed, failed, SCRIPT_ERRORS)
        files = {f"src/s{at}.ts": 'import { Item } from "./shop";\n' + "".join(parts[at::3]) for at in range(3)}
        return {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true}}',
            "src/shop.ts": TYPESCRIPT,
            **files,
        }

    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "."]
    yield from _variants(tools, "mypy", [mypy, [*mypy, "--pretty"]], python)
    if tools.scripts is not None:
        binary = tools.scripts.resolve() / "node_modules" / ".bin" / "tsc"
        yield from _variants(tools, "tsc", [[str(binary), "-p", "."], [str(binary), "-p", ".", "--listFiles"]], script)


def _npm(tools: Tools) -> Iterator[Output]:
    """A package that cannot be had, and a script that fails after it has said much."""

    def files(random: Random, passed: int, failed: int) -> dict[str, str]:
        names = [f"@shop/{verb}-{noun}" for verb, noun in random.sample([*product(VERBS, NOUNS)], passed + failed)]
        wanted = ", ".join(f'"{name}": "^{random.randrange(9)}.1.0"' for name in names)
        said = "\n".join(f'console.log("built {name} in {random.randrange(900)} ms");' for name in names)
        build = f'{said}\nthrow new Error("cannot resolve {names[0]}");'
        package = f'{{"name": "shop", "scripts": {{"build": "node build.js"}}, "dependencies": {{{wanted}}}}}'
        return {"package.json": package, "build.js": build}

    if shutil.which("npm"):
        install = ["npm", "install", "--offline", "--loglevel", "silly"]
        commands = [install, ["npm", "run", "build"]]
        yield from _variants(tools._replace(scripts=None), "npm", commands, files)


MAKERS: tuple[Callable[[Tools], Iterator[Output]], ...] = (_pytest, _unittest, _scripts, _go, _cargo, _types, _npm)
