"""The line that stands for a file that was read: the document's, in both languages, for whatever was read."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline.shorten import shorten
from sightline.shorten.call_subject import is_file_read
from sightline.shorten.file_description import described
from sightline.shorten.file_reads import Read, parse_read, read_gist
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.phrases import size_text
from sightline.values.tokens import counter

count = counter("o200k_base").count

MARKER = "only_here = 'marker-4711'"


def sales_analysis() -> str:
    """150 lines of code with three functions."""
    body = [f"    step_{n} = {n}" for n in range(45)]
    lines = ["import csv", MARKER]
    for name in ("load_data", "clean_data", "visualize"):
        lines += ["", f"def {name}(rows):", *body, "    return rows", ""]
    lines += ["# the end"] * (150 - len(lines))
    return "\n".join(lines) + "\n"


def data_csv() -> str:
    """5000 rows and a header; one of the rows has a line end in a field."""
    rows = [f'2026-01-01,"tea, {n}",{n},north' for n in range(4_999)]
    return "\n".join(["date,product,amount,region", '2026-01-01,"green\ntea",1,south', *rows]) + "\n"


def chart_result(*keys: str) -> str:
    """A JSON object with these keys of 2560 bytes, which is 2.5 KB."""
    value = dict.fromkeys(keys, "")
    value[keys[1]] = "图" * 100
    return json.dumps({**value, keys[0]: "x" * (2560 - len(json.dumps(value, ensure_ascii=False).encode()))},
                      ensure_ascii=False)  # fmt: skip


def in_json(path: str, content: str, **metadata: object) -> str:
    return json.dumps({"path": path, "content": content, "metadata": metadata}, ensure_ascii=False)


FORMS = {
    "json": in_json,
    "[文件]": lambda path, content: f"[文件] {path}\n{content}",
    "文件": lambda path, content: f"文件 {path}\n{content}",
    "[file]": lambda path, content: f"[file] {path}\n{content}",
    "[FILE]": lambda path, content: f"[FILE] {path}\n{content}",
}

VECTORS = [
    (
        "work/sales_analysis.py",
        sales_analysis(),
        "[文件已读取] sales_analysis.py (python, 150行, 函数: load_data, clean_data, visualize)",
        "[file read] sales_analysis.py (python, 150 lines, functions: load_data, clean_data, visualize)",
    ),
    (
        "/home/me/data.csv",
        data_csv(),
        "[文件已读取] data.csv (CSV, 5000行, 列: date, product, amount, region)",
        "[file read] data.csv (CSV, 5000 rows, columns: date, product, amount, region)",
    ),
    (
        "C:\\out\\chart_result.json",
        chart_result("config", "data", "options"),
        "[文件已读取] chart_result.json (JSON, 2.5KB, 键: config, data, options)",
        "[file read] chart_result.json (JSON, 2.5KB, keys: config, data, options)",
    ),
    (
        "config.json",
        chart_result("settings", "data", "options"),
        "[文件已读取] config.json (JSON, 2.5KB, 键: settings, data, options)",
        "[file read] config.json (JSON, 2.5KB, keys: settings, data, options)",
    ),
]


@pytest.mark.accepts(307, 308, 309, 310, 312, 314, 316)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("path", "content", "chinese", "english"), VECTORS)
def test_the_documents_lines(path: str, content: str, chinese: str, english: str, form: str) -> None:
    """Exactly as the document has them, and their English twins, in every form a result may have; never the folder."""
    text = FORMS[form](path, content)  # type: ignore[operator]
    assert read_gist(text, "zh") == chinese
    assert read_gist(text, "en") == english


@pytest.mark.accepts(311)
@pytest.mark.parametrize(
    ("path", "content", "details"),
    [
        ("a.py", "class Shop:\n    def open(self): pass\n\ndef run(): pass\n", "python, 4行, 函数: run, 类: Shop"),
        ("a.ts", "export class Shop {}\n", "typescript, 1行, 类: Shop"),
        ("Main.java", "class Main {\n  void run() {}\n}\n", "java, 3行, 函数: run, 类: Main"),
        ("a.html", "<p>hello</p>\n", "html, 1行"),
        ("t.csv", "", "CSV, 0行"),
        ("t.csv", "name;price\ntea;1,5\nmilk;2,5\n", "CSV, 2行, 列: name, price"),
        ("t.tsv", "name\tprice\n\ntea\t1\n", "TSV, 1行, 列: name, price"),
        ("t.csv", "\ufeffname,price\r\ntea,1\r\n", "CSV, 1行, 列: name, price"),
        ("t.csv", "only\none\n", "CSV, 1行, 列: only"),
        ("t.csv", 'a,b\n"5"" pipe",1\n6" pipe,2\n', "CSV, 2行, 列: a, b"),
        ("t.xlsx", "date,amount\n2026,1\n", "Excel, 1行, 列: date, amount"),
        ("t.json", "[1, [2, 3], {}]", "JSON, 15B, 数组(3项)"),
        ("t.json", "{broken", "JSON, 7B"),
        ("t.json", "null", "JSON, 4B"),
        ("t.json", "[" * 100_000, "JSON, 97.7KB"),
        ("notes.md", "你好", "markdown, 6B"),
        ("notes.txt", "hello", "文本, 5B"),
        ("README", "hello", "文本, 5B"),
        ("server.log", "x" * 2048, "log, 2.0KB"),
        ("a.py", "", "python, 0行"),
        ("a.py", "1\tdef load():\n2\t    pass\n3\tx = 1\n4\ty = 2\n", "python, 4行, 函数: load"),
    ],
)
def test_what_is_told_of_each_kind(path: str, content: str, details: str) -> None:
    """Of code lines, functions and classes; of tables rows and columns; of JSON size and keys; else type and size."""
    assert described(path, content, "zh") == details


@pytest.mark.parametrize(
    ("path", "content", "details"),
    [
        ("a.py", "x = 1\n", "python, 1 line"),
        ("t.csv", "a\n1\n", "CSV, 1 row, columns: a"),
        ("t.json", "[1]", "JSON, 3B, array(1 item)"),
        ("notes.txt", "hello", "text, 5B"),
    ],
)
def test_the_english_words(path: str, content: str, details: str) -> None:
    """One is one, not ones."""
    assert described(path, content, "en") == details


def test_many_names_are_cut() -> None:
    """The first eight are told, and how many there are, or are left."""
    content = json.dumps({f"key{n}": n for n in range(12)})
    assert described("a.json", content, "zh").endswith("键: key0, key1, key2, key3, key4, key5, key6, key7 等12个")
    assert described("a.json", content, "en").endswith("key6, key7 and 4 more")


@pytest.mark.accepts(312)
def test_what_the_reader_knows_wins() -> None:
    """Rows, columns, lines and functions that come as metadata are not counted again."""
    table = in_json("d.csv", "a,b\n1,2\n", rows=5000, columns=["date", "amount"])
    code = in_json("code_sales", "def one(): pass\n", language="py", line_count=150, functions=["load"], classes=[])
    large = in_json("a.json", "{}", size=2560, keys=["config"])
    assert read_gist(table, "zh") == "[文件已读取] d.csv (CSV, 5000行, 列: date, amount)"
    assert read_gist(code, "zh") == "[文件已读取] code_sales (python, 150行, 函数: load)"
    assert read_gist(large, "zh") == "[文件已读取] a.json (JSON, 2.5KB, 键: config)"


@pytest.mark.parametrize(
    ("header", "path", "details"),
    [
        ("[file] d/big.csv (CSV, 5000 rows, columns: a, b)", "d/big.csv", "CSV, 5000 rows, columns: a, b"),
        ("[文件] big (1).csv (CSV, 9行, 列: a (x), b)", "big (1).csv", "CSV, 9行, 列: a (x), b"),
        ("[file] report (1).csv", "report (1).csv", ""),
        ("文件 a/b.py (python, 3行)", "a/b.py", "python, 3行"),
    ],
)
def test_the_details_of_a_header_are_repeated(header: str, path: str, details: str) -> None:
    """What a reader says of a file that it pages or converts, whatever the content below it."""
    assert parse_read(f"{header}\nx\n") == Read(path, "x\n", details)
    name = path.rpartition("/")[2]
    assert not details or read_gist(f"{header}\nx\n") == f"[file read] {name} ({details})"


@pytest.mark.accepts(317)
def test_a_result_without_a_path_has_no_line() -> None:
    """Neither it nor its call names a file; prose that begins with the word for file names none."""
    assert read_gist("some text\n") is None
    assert read_gist("文件 清单如下\n") is None
    assert read_gist(json.dumps({"path": "", "content": "x"})) is None
    assert read_gist("some text\n", "en", "notes/a.txt") == "[file read] a.txt (text, 10B)"


@pytest.mark.accepts(318)
@pytest.mark.parametrize(("path", "content", "chinese", "english"), VECTORS)
def test_a_line_stays_a_line(path: str, content: str, chinese: str, english: str) -> None:
    """What has been shortened is not shortened again, whichever language it is in and whatever the call says."""
    for line in (chinese, english):
        assert read_gist(line, "zh", path) == line


@pytest.mark.accepts(305, 306)
def test_how_a_file_read_is_known() -> None:
    """By how the id of its call begins, or by its tool; nothing else is one."""
    assert is_file_read("call_read_file_1", "")
    assert is_file_read("c1", "file_reader")
    assert is_file_read("c1", "read_file")
    for call_id, tool in (("call_python_x", "run_python"), ("read_file", ""), ("c1", "Read"), ("c1", "cat"), ("", "")):
        assert not is_file_read(call_id, tool)


def test_sizes_as_people_say_them() -> None:
    """Bytes below a kilobyte, one decimal above."""
    assert [size_text(size) for size in (0, 312, 1023, 1024, 2560, 1024 * 1024 - 1, 5 << 20, 3 << 30)] == [
        "0B", "312B", "1023B", "1.0KB", "2.5KB", "1.0MB", "5.0MB", "3.0GB",
    ]  # fmt: skip


def test_a_long_table_is_counted() -> None:
    """Many megabytes with and without quotation marks."""
    plain, quoted = "date,amount\n" + "2026-01-01,1\n" * 400_000, "date,amount\n" + '"2026-01-01",1\n' * 300_000
    assert described("a.csv", plain) == "CSV, 400000 rows, columns: date, amount"
    assert described("a.csv", quoted) == "CSV, 300000 rows, columns: date, amount"


texts = st.text(st.characters() | st.sampled_from('{}[]"\n,;()\\/.文件file：'), max_size=300)
endings = st.sampled_from(["", ".py", ".csv", ".json", ".xlsx", ".java", ".md", ".r", "/", "\\", ".tsv", "(", ")"])
anything = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3) |
                        st.dictionaries(texts, inner, max_size=3), max_leaves=6)  # fmt: skip


@pytest.mark.accepts(317, 318)
@given(texts, texts, endings, st.sampled_from(["en", "zh"]), st.sampled_from([*FORMS, "plain"]))
@example("\ud800", "\ud800", ".py", "zh", "[file]")
@example('"' * 200_000, "a", ".csv", "en", "plain")
def test_no_text_makes_it_raise(content: str, path: str, ending: str, locale: str, form: str) -> None:
    """Whatever a tool gives, there is one legal line or none; and for that line, the line itself."""
    whole = f"{path}{ending}"
    text = content if form == "plain" else FORMS[form](whole, content)  # type: ignore[operator]
    line = read_gist(text, locale, whole)
    if line is not None:
        line.encode()
        assert line == text or "\n" not in line
        assert len(line) < 2_000
        assert read_gist(line, locale, whole) == line


@pytest.mark.slow
@given(
    texts, anything, st.dictionaries(st.sampled_from(["rows", "columns", "size", "lines", "keys", "type"]), anything)
)
def test_no_metadata_makes_it_raise(path: str, content: object, metadata: dict[str, object]) -> None:
    """A tool may say anything of its file."""
    read_gist(json.dumps({"path": f"{path}.csv", "content": content, "metadata": metadata}))
    read_gist(json.dumps({"path": f"{path}.json", "content": content, "metadata": metadata}), "zh")


# ---------------------------------------------------------------------- as the gist of an item


def shortened(text: str, call_id: str = "c1", tool: str = "", **more: str) -> tuple[str | None, str | None]:
    error = more.pop("error", "")
    item = Item("412", Kind.RESULT, (Result(call_id, (Text(text),), error),))
    return shorten(item, count=count, name=tool, **more)  # type: ignore[arg-type]


@pytest.mark.accepts(315, 352)
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_the_gist_of_a_file_read_begins_with_its_line(locale: str) -> None:
    """Then the handle and the values a gist has; about 1000 tokens become about 100, and the content is gone."""
    text = sales_analysis()
    _, gist = shortened(text, "call_read_file_7", subject="work/sales_analysis.py", locale=locale)
    assert gist is not None
    assert gist.split("\n")[0] == f"{read_gist(text, locale, 'sales_analysis.py')} #412"
    assert MARKER not in gist
    assert count(text) > 900
    assert count(gist) <= 170


@pytest.mark.parametrize("tool", ["file_reader", "read_file"])
def test_the_name_of_the_tool_is_enough(tool: str) -> None:
    """Where the result names its file, the call need not."""
    _, gist = shortened(f"[file] a/b.py\n{sales_analysis()}", tool=tool)
    assert gist is not None
    assert gist.startswith("[file read] b.py (python, 150 lines, functions: load_data, clean_data, visualize) #412")


@pytest.mark.accepts(306)
@pytest.mark.parametrize("tool", ["Read", "cat", "bash", "run_python", "Read_File"])
def test_other_tools_keep_their_label(tool: str) -> None:
    """Agents read files with tools of their own: their gists are those of any result."""
    text = sales_analysis()
    _, gist = shortened(text, tool=tool, subject="work/sales_analysis.py")
    assert gist is not None
    assert gist.startswith("[#412: ")


def test_a_failure_is_no_file_read() -> None:
    """Its gist says that it failed, as that of any result."""
    _, gist = shortened("no such file " * 60, tool="read_file", subject="a.py", error="failed")
    assert gist is not None
    assert gist.startswith("[#412 failed: ")


def test_a_short_file_has_its_line_or_nothing() -> None:
    """The line may take half of it; a file of a few tokens has no lower level."""
    short = "".join(f"def load_{n}(path):\n    return open(path).read()\n" for n in range(8))
    _, gist = shortened(short, tool="read_file", subject="a.py")
    assert gist is not None
    assert gist.startswith("[file read] a.py (python, 16 lines, functions: load_0")
    assert count(gist) <= count(short) // 2
    assert shortened("x = 1\n", tool="read_file", subject="a.py") == (None, None)
