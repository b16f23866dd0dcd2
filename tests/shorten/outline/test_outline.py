"""Outlines: the functions and classes of a file, in every language of the document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.shorten.outline import line_rules
from sightline.shorten.outline import outline as outlines
from sightline.shorten.outline.languages import LANGUAGES
from sightline.shorten.outline.outline import SIZE, Outline, outline, pieces

SOURCES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "python": (
        "import os\n\n@cached\ndef load(): pass\n\nclass Table(Base):\n    def rows(self): pass\n\n"
        "if True:\n    async def fetch(): pass\nelse:\n    def other(): pass\n\ntry:\n    import x\n"
        "except ImportError:\n    def x(): pass\n\ndef load(): pass\n",
        ("load", "fetch", "other", "x"),
        ("Table",),
    ),
    "javascript": (
        "export default function main() {}\n"
        "export const add = (a, b) => a + b, twice = function (a) { return 2 * a };\n"
        "var later = async x => x;\nmodule.exports.send = function () {};\nexport class Shop { open() {} }\n"
        "function* numbers() {}\nconst limit = 1;\nconst View = () => <p>{limit}</p>;\nconst Box = class {};\n",
        ("main", "add", "twice", "later", "send", "numbers", "View"),
        ("Shop", "Box"),
    ),
    "typescript": (
        "export abstract class Shop { open(): void {} }\ninterface Item { id: string }\nenum State { Open }\n"
        "declare function told(): void;\nnamespace inner { export function deep() {} }\n"
        "export const add = (a: number): number => a + 1;\n",
        ("told", "deep", "add"),
        ("Shop", "Item", "State"),
    ),
    "java": (
        "package shop;\npublic class Main {\n    public Main() {}\n    void run() {}\n"
        "    static class Inner { int size() { return 1; } }\n}\ninterface Shape { double area(); }\n"
        "record Point(int x) {}\nenum State { OPEN; void next() {} }\n",
        ("run", "size", "area", "next"),
        ("Main", "Inner", "Shape", "Point", "State"),
    ),
    "c": (
        "typedef struct { int x; } Point;\nstruct node { int x; };\nint *find(int a) { return 0; }\n"
        "void told(int);\n#ifdef X\nint one(void) { return 1; }\n#endif\nstatic int (*pointer)(void);\n"
        "struct node *head;\nenum color { RED } c;\n",
        ("find", "told", "one"),
        ("Point", "node", "color"),
    ),
    "cpp": (
        "namespace shop {\ntemplate <class T> class Box { void open() {} };\nint Far::size() const { return 1; }\n"
        "template <class T> Box<T>::~Box() {}\nconst std::string& name() { return x; }\n}\n"
        'extern "C" { void told(); }\n',
        ("Far::size", "name", "told"),
        ("Box",),
    ),
    "go": (
        "package main\ntype Server struct{}\ntype (\n\tShape interface{}\n\tID = int\n)\nfunc (s *Server) Start() {}\n"
        "func (m Map[K]) Get() {}\nfunc main() {}\n",
        ("Map.Get", "main"),
        ("Server", "Shape", "ID"),
    ),
    "rust": (
        "pub struct Box<T>(T);\nenum State { Open }\ntrait Shape {}\nimpl<T> Box<T> { fn open(&self) {} }\n"
        "impl fmt::Display for far::Other {}\npub async fn run() {}\nmod tests { fn check() {} }\n",
        ("run",),
        ("Box", "State", "Shape", "Other"),
    ),
    "php": (
        "<?php\nnamespace Shop;\nfunction load() {}\nclass Cart { function add() {} }\n"
        "interface Shape {}\ntrait Told {}\n"
        "if (!function_exists('old')) { function old() {} }\nenum State {}\n",
        ("load", "old"),
        ("Cart", "Shape", "Told", "State"),
    ),
    "ruby": (
        "def load; end\nmodule Shop\n  class Cart < Base\n    def add; end\n  end\n  def self.open; end\nend\n"
        "class Far::Away; end\n",
        ("load",),
        ("Shop", "Cart", "Far::Away"),
    ),
    "shell": ("load() { echo 1; }\nfunction clean { echo 2; }\nif true; then late() { :; }; fi\n",
              ("load", "clean", "late"), ()),
    "sql": (
        "SELECT 1;\nCREATE OR REPLACE FUNCTION add_one(x int) RETURNS int AS $$ BEGIN RETURN x + 1; END $$;\n"
        "create procedure sales.close_day() language sql as $$ select 1 $$;\n-- CREATE FUNCTION not_this()\n",
        ("add_one", "sales.close_day"),
        (),
    ),
    "r": (
        "load <- function(path) {\n  inner <- function(x) x\n}\nclean.data = function (x) x\nshort <- \\(x) x\n"
        'Account <- R6Class("Account", list())\n',
        ("load", "clean.data", "short"),
        ("Account",),
    ),
}  # fmt: skip


@pytest.mark.accepts(311, 319)
@pytest.mark.parametrize("language", SOURCES)
def test_what_a_file_defines(language: str) -> None:
    """Functions and classes at the top in source order, each once; methods belong to their class, except in Java."""
    text, functions, classes = SOURCES[language]
    assert outline(text, language) == Outline(functions, classes)


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "go", "rust", "php", "ruby", "shell", "c"])
def test_without_a_parser_lines_tell_the_commonest(language: str) -> None:
    """Nothing is told that is not there, and a plain definition at the margin is found."""
    plain = {
        "python": "async def load(): pass\nclass Table: pass\n", "javascript": "function load() {}\nclass Table {}\n",
        "typescript": "export const load = (a) => a\nexport interface Table {}\n",
        "php": "function load() {}\nclass Table {}\n",
        "go": "func load() {}\ntype Table struct {}\n", "rust": "pub fn load() {}\npub struct Table;\n",
        "ruby": "def load\nend\nclass Table\nend\n", "shell": "load() {\n}\n",
        "c": "int load(void)\n{\n}\nstruct Table {\n};\n",
    }  # fmt: skip
    told = outlines._outline(line_rules.defined(plain[language], language))
    assert told == Outline(("load",), () if language == "shell" else ("Table",))
    assert told == outline(plain[language], language)


@pytest.mark.accepts(317)
def test_a_syntax_error_leaves_what_can_be_read() -> None:
    """A broken definition does not hide its neighbours."""
    told = outline("def first(): pass\n\ndef broken(:\n    x = (\n\ndef last(): pass\n", "python")
    assert {"first", "last"} <= set(told.functions)


@pytest.mark.parametrize("language", ["cobol", "", "html", "markdown", "json"])
def test_what_defines_nothing_gives_nothing(language: str) -> None:
    """A language that is unknown, or has no functions."""
    assert outline("def load(): pass\n", language) == Outline()


def test_a_long_file_is_read_to_its_end() -> None:
    """Every function of many pieces is found, long classes in between notwithstanding."""
    methods = "".join(f"    def method_{n}(self):\n        return {n}\n\n" for n in range(300))
    text = "".join(f"def load_{n}(path):\n    return path * {n}\n\n\n" for n in range(400))
    told = outline(f"{text}class Large:\n{methods}\n\n{text.replace('load', 'save')}", "python")
    assert told.functions == (*(f"load_{n}" for n in range(400)), *(f"save_{n}" for n in range(400)))
    assert told.classes == ("Large",)


def test_a_long_java_class_tells_all_its_methods() -> None:
    """Methods behind the first piece of a class are listed too."""
    methods = "".join(f"    public int load{n}(String path) {{\n        return {n};\n    }}\n\n" for n in range(200))
    told = outline(f"public class Large {{\n{methods}}}\n", "java")
    assert told == Outline(tuple(f"load{n}" for n in range(200)), ("Large",))


@given(st.text(st.sampled_from("ab \n\t(){}#"), max_size=3 * SIZE))
def test_pieces_are_the_text(text: str) -> None:
    """Nothing is lost or moved by cutting, and no piece is larger than it may be."""
    found = [piece.text for piece in pieces(text)]
    assert "".join(found) == text
    assert all(0 < len(piece) <= SIZE for piece in found)


@pytest.mark.accepts(317)
@given(st.text(max_size=400), st.sampled_from([each.name for each in LANGUAGES]))
def test_no_text_makes_it_raise(text: str, language: str) -> None:
    """Whatever the text, the answer is the same twice, and no name is told twice."""
    told = outline(text, language)
    assert told == outline(text, language)
    assert len(set(told.functions)) == len(told.functions)


@pytest.mark.parametrize(
    "text", ['"' * 40_000, "def f(\n" * 6_000, "(" * 40_000, "class A {" * 4_000, "\ud800" * 9_000]
)
@pytest.mark.parametrize("language", ["python", "javascript", "cpp"])
def test_what_no_parser_likes_is_given_up(text: str, language: str) -> None:
    """Deep nesting and garbage, which take a parser minutes and more, are read line by line after a few pieces."""
    told = outline(text, language)
    assert len(told.functions) + len(told.classes) <= 1


@pytest.mark.parametrize("hunk", ["@@ -1,2 +1,2 @@", "# -1,2 +1,2"])
def test_a_diff_is_not_parsed(hunk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the name of a code file, it took a parser twenty times as long as code to find nothing."""
    parsed = []
    monkeypatch.setattr("sightline.shorten.outline.outline._parse", lambda text, _language: parsed.append(text))
    outline(f"--- a/load.py\n+++ b/load.py\n{hunk}\n-def load(): pass\n+def read(): pass\n", "python")
    assert bool(parsed) is ("@@" not in hunk)


def test_a_text_that_is_shortened_again_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser takes most of the time of shortening code, and one text is shortened to several sizes."""
    parsed: list[str] = []
    monkeypatch.setattr("sightline.shorten.outline.outline._parse", lambda text, _language: parsed.append(text))
    for text in ("def once(): ...", "def once(): ...", "def other(): ..."):
        outline(text, "python")
    assert parsed == ["def once(): ...", "def other(): ..."]
