"""The tool that reads files: what it answers for every kind of them, and how it goes on."""

import json
from pathlib import Path

import pytest
from tool_project import Project, called
from tool_workbooks import workbook

from sightline.agent.tools import Tool
from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders, shell_directory
from sightline.agent.tools.files.read import call_id, file_reader
from sightline.errors import ToolFailed
from sightline.shorten.file_reads import read_gist


@pytest.fixture
def reader(here: Project) -> Tool:
    """The tool, in English."""
    return here.tools()["file_reader"]


@pytest.mark.accepts(346)
@pytest.mark.parametrize("name", ["notes.txt", "src/sales.py", "data/sales.csv"])
def test_a_file_is_given_in_full_under_one_line_of_ours(here: Project, name: str) -> None:
    """The first line names the file; the rest is the file, byte for byte."""
    for locale, word in (("en", "file"), ("zh", "文件")):
        answer = called(here.tools(locale)["file_reader"], path=name)
        assert answer == f"[{word}] {name}\n{(here.root / name).read_text()}"
    assert called(here.tools()["file_reader"], path=str(here.root / name)) == called(
        here.tools()["file_reader"], path=f"./{name}"
    )


@pytest.mark.accepts(346, 347)
@pytest.mark.parametrize(
    "said", ["code_sales_analysis", "code_sales_analysis.py", "<code_ref>code_sales_analysis</code_ref>"]
)
def test_saved_code_is_read_by_its_id(here: Project, reader: Tool, said: str) -> None:
    """By its id, by its file's name or as it is referred to: all of the code, from the store."""
    here.codes.store("code_sales_analysis", "import csv\nprint(1)\n")
    assert called(reader, path=said) == "[file] code_sales_analysis.py\nimport csv\nprint(1)\n"
    here.codes.store("code_sales_analysis", "print(2)\n")
    assert called(reader, path=said) == "[file] code_sales_analysis.py\nprint(2)\n"


@pytest.mark.accepts(346)
@pytest.mark.parametrize("said", ["upload_q1", "upload:upload_q1", "<file_ref>upload_q1</file_ref>"])
def test_an_upload_is_read_by_its_id(here: Project, said: str) -> None:
    """Wherever the file is, also outside of the folders: all of it, under its own name; its path is refused."""
    file = here.outside / "quarter.csv"
    file.write_text("date,amount\n2026-01-05,12.50\n")
    reader = file_reader(here.folders, here.codes, {"upload_q1": file})
    assert called(reader, path=said) == "[file] quarter.csv\ndate,amount\n2026-01-05,12.50\n"
    with pytest.raises(ToolFailed):
        called(reader, path=str(file))


@pytest.mark.accepts(346)
def test_an_upload_that_cannot_be_read_is_told_why(here: Project) -> None:
    """An unknown id is answered with those there are; a folder and a file that is gone are no uploads to read."""
    uploads = {"upload_q1": here.outside, "upload_gone": here.outside / "gone.csv"}
    reader = file_reader(here.folders, None, uploads)
    for said, told in (
        ("upload_q2", "no upload 'upload_q2'; there are: upload_q1, upload_gone"),
        ("upload_q1", "no regular file"),
        ("upload_gone", "cannot read gone.csv"),
    ):
        with pytest.raises(ToolFailed, match=told):
            called(reader, path=said)


@pytest.mark.accepts(348)
def test_it_gives_the_full_content_again(here: Project, reader: Tool) -> None:
    """A second reading of file and code answers as the first did."""
    here.codes.store("code_report", "x = 1\n")
    for path in ("notes.txt", "code_report"):
        assert called(reader, path=path) == called(reader, path=path)


@pytest.mark.accepts(349)
def test_ids_of_reading_calls_tell_that_they_are() -> None:
    """A provider's id becomes one that begins as the document says, always the same; one that does so is left."""
    made = call_id("toolu_01")
    assert made.startswith("call_read_file_")
    assert len(made) == len("call_read_file_") + 12
    assert (call_id("toolu_01"), call_id(made)) == (made, made)
    assert call_id("toolu_02") != made


def test_the_reader_answers_to_both_names(here: Project) -> None:
    """It is file_reader and, as elsewhere in the document, read_file."""
    tool = here.tools()["file_reader"]
    assert (tool.name, tool.aliases) == ("file_reader", ("read_file",))


def test_a_long_text_comes_in_pages(here: Project, reader: Tool) -> None:
    """The pages say where they are and how to go on, and put together they are the file."""
    text = "".join(f"line {number}\n" for number in range(1, 5001))
    (here.root / "long.log").write_text(text)
    pages, start = [], 1
    for first, last in ((1, 2000), (2001, 4000), (4001, 5000)):
        head, _, page = called(reader, path="long.log", start=start).partition("\n")
        goes_on = f", start={last + 1} goes on" if last < 5000 else ""
        assert head == f"[file] long.log (log, 47.7KB; lines {first}–{last} of 5000{goes_on})"
        pages.append(page)
        start = last + 1
    assert "".join(pages) == text
    assert called(reader, path="long.log", start=9, lines=2).endswith(
        "lines 9–10 of 5000, start=11 goes on)\nline 9\nline 10\n"
    )
    assert "there are no lines from 5001 on" in called(reader, path="long.log", start=9000)


def test_a_part_of_code_says_what_it_is_of(here: Project, reader: Tool) -> None:
    """Saved code can be read in part, too."""
    here.codes.store("code_long", "".join(f"x = {number}\n" for number in range(30)))
    answer = called(reader, path="code_long", start=5, lines=1)
    assert answer == "[file] code_long.py (python, 30 lines; lines 5–5 of 30, start=6 goes on)\nx = 4\n"


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        ("价格：一百元\n".encode("gbk"), "价格：一百元\n", "encoding gb18030"),
        ("价格\n".encode(), "价格\n", ""),
        (b"\xef\xbb\xbfbom\n", "bom\n", ""),
        ("价格\n".encode("utf-16"), "价格\n", ""),
        (b"caf\xe9 cr\xe8me.\n", "café crème.\n", "encoding latin-1"),
        ("价格".encode() * 50 + b"\xff\n", "价格" * 50 + "�\n", "1 places are no text"),
    ],
    ids=["gbk", "utf-8", "bom", "utf-16", "latin-1", "damaged"],
)
def test_encodings_are_found_out(here: Project, reader: Tool, data: bytes, text: str, note: str) -> None:
    """What is no UTF-8 is read as what it is, and said to be."""
    (here.root / "prices.txt").write_bytes(data)
    head, _, body = called(reader, path="prices.txt").partition("\n")
    assert body == text
    assert head == ("[file] prices.txt" + (f" (text, {len(data)}B; {note})" if note else ""))


def test_an_encoding_can_be_asked_for(here: Project, reader: Tool) -> None:
    """It is used; one that does not exist, or is no text's, is refused."""
    (here.root / "k.txt").write_bytes("привет".encode("koi8-r"))
    assert called(reader, path="k.txt", encoding="koi8-r").endswith("\nпривет")
    for wrong in ("klingon", "zip", "rot13", "punycode", "idna", "undefined", "utf-16-klingon", "\0"):
        with pytest.raises(ToolFailed, match="no encoding"):
            called(reader, path="k.txt", encoding=wrong)


def test_a_long_table_shows_its_first_rows_and_tells_its_size(here: Project, reader: Tool) -> None:
    """Rows, columns and how to go on stand on the first line, the header above every page."""
    rows = "".join(f'{number},"a ""quoted"", text\nin two lines",{"x" * 60}\n' for number in range(1, 5001))
    (here.root / "big.csv").write_text("n,text,fill\n" + rows)
    head, _, body = called(reader, path="big.csv").partition("\n")
    assert head == "[file] big.csv (CSV, 5000 rows, columns: n, text, fill; rows 1–200, start=201 goes on)"
    assert body.startswith('n,text,fill\n1,"a ""quoted"", text\nin two lines",xxx')
    assert body.count("\n") == 1 + 400
    head, _, body = called(here.tools("zh")["file_reader"], path="big.csv", start=4999, nrows=7).partition("\n")
    assert head == "[文件] big.csv (CSV, 5000行, 列: n, text, fill; 第 4999–5000 行)"
    assert body.startswith("n,text,fill\n4999,")


def test_other_separators_and_what_is_no_table(here: Project, reader: Tool) -> None:
    """Semicolons and tabs separate, too; a quote that never closes makes it plain text, and that is said."""
    (here.root / "a.csv").write_text("a;b\n1;2\n3;4\n")
    (here.root / "b.tsv").write_text("a\tb\n1\t2\n\n3\t4\n")
    assert "(CSV, 2 rows, columns: a, b; rows 1–1, start=2 goes on)" in called(reader, path="a.csv", nrows=1)
    assert "(CSV, 2 rows, columns: a, b; rows 1–1, start=2 goes on)" in called(reader, path="b.tsv", lines=1)
    (here.root / "c.csv").write_text('a,b\n1,"' + "never closed\n" * 20_000)
    assert "no table" in called(reader, path="c.csv").partition("\n")[0]


@pytest.mark.slow
def test_excel_becomes_csv_and_its_sheets_are_named(here: Project, reader: Tool) -> None:
    """By number or name; whole numbers as such; a sheet that is not there is answered with those that are."""
    rows = [["city", "count"], ["Köln", 3], ["上海", 2.5]]
    workbook(here.root / "b.xlsx", {"Q1": rows, "Q2": [["x"], [1]]})
    head = "[file] b.xlsx (Excel, 2 rows, columns: city, count; rows 1–2; sheet Q1 of: Q1, Q2)"
    assert called(reader, path="b.xlsx") == f"{head}\ncity,count\nKöln,3\n上海,2.5\n"
    assert called(reader, path="b.xlsx", sheet_name="1").endswith("\nx\n1\n")
    assert called(reader, path="b.xlsx", sheet_name="Q2").endswith("\nx\n1\n")
    assert called(reader, path="b.xlsx", start=2, nrows=1).endswith("\ncity,count\n上海,2.5\n")
    with pytest.raises(ToolFailed, match="there are: Q1, Q2"):
        called(reader, path="b.xlsx", sheet_name="Q3")
    (here.root / "c.xlsx").write_text("no workbook")
    with pytest.raises(ToolFailed, match="no Excel file"):
        called(reader, path="c.xlsx")


def test_json_is_checked_and_laid_out_where_it_has_no_lines(here: Project, reader: Tool) -> None:
    """Short JSON as it stands, broken JSON said to be, long JSON in one line on many."""
    (here.root / "a.json").write_text('{"a": 1}')
    assert called(reader, path="a.json") == '[file] a.json\n{"a": 1}'
    (here.root / "b.json").write_text('{"a": 1')
    assert called(reader, path="b.json").startswith("[file] b.json (JSON, 7B; not valid JSON: ")
    (here.root / "c.json").write_text(json.dumps({"rows": list(range(60_000)), "名": 1}, ensure_ascii=False))
    head, _, body = called(reader, path="c.json").partition("\n")
    assert head.startswith("[file] c.json (JSON, ")
    assert head.endswith(", keys: rows, 名; laid out on lines; lines 1–2000 of 60005, start=2001 goes on)")
    assert body.startswith('{\n  "rows": [\n    0,\n    1,\n')
    (here.root / "d.json").write_text("[" * 100_000)
    assert "not valid JSON" in called(reader, path="d.json")


def test_deep_json_is_not_laid_out(here: Project, reader: Tool) -> None:
    """Each line would begin with a thousand blanks: 220 KB would be 130 MB. Brackets in a text are not deep."""
    (here.root / "deep.json").write_text("[" * 600 + ",".join(["1"] * 110_000) + "]" * 600)
    head, _, body = called(reader, path="deep.json").partition("\n")
    assert head.endswith("; too deep to be laid out on lines; lines 1–1 of 1; 1 long lines cut)")
    assert body.startswith("[[[[")
    assert "嵌套过深" in called(here.tools("zh")["file_reader"], path="deep.json")
    (here.root / "flat.json").write_text(json.dumps(["[{" * 300 + '\\"', *range(110_000)]))
    assert "; laid out on lines; " in called(reader, path="flat.json")


@pytest.mark.slow
def test_a_page_of_long_rows_ends_before_one_that_does_not_fit(here: Project, reader: Tool) -> None:
    """The next page begins with it, and the number of rows is the same on each."""
    row = ",".join('"' + ("x" * 99 + "\n") * 1000 + '"' for _ in range(4))
    (here.root / "long.csv").write_text("a,b,c,d\n" + "1,2,3,4\n" * 3 + f"{row}\n" * 5)
    for start, rows in ((1, "rows 1–5, start=6 goes on"), (6, "rows 6–7, start=8 goes on"), (8, "rows 8–8")):
        answer = called(reader, path="long.csv", start=start, lines=10)
        assert f"(CSV, 8 rows, columns: a, b, c, d; {rows})" in answer
        assert len(answer.encode()) < 1_000_000


def test_what_is_no_text_is_named(here: Project, reader: Tool) -> None:
    """A picture is refused as what it is."""
    (here.root / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(ToolFailed, match=r"dot.png is no text \(PNG, 108B\)"):
        called(reader, path="dot.png")
    (here.root / "data.bin").write_bytes(bytes(1000))
    with pytest.raises(ToolFailed, match="不是文本"):
        called(here.tools("zh")["file_reader"], path="data.bin")


@pytest.mark.accepts(350)
def test_a_missing_file_is_answered_with_near_ones(here: Project, reader: Tool) -> None:
    """One of the same name elsewhere, else similar ones, else where files are; for code, the ids there are."""
    with pytest.raises(ToolFailed, match=r"there is no sales.csv; did you mean: data/sales.csv"):
        called(reader, path="sales.csv")
    with pytest.raises(ToolFailed, match=r"did you mean: notes.txt"):
        called(reader, path="note.txt")
    with pytest.raises(ToolFailed, match=r"readable are files in .*project"):
        called(reader, path="zzzzzzzz")
    here.codes.store("code_report", "x = 1")
    with pytest.raises(ToolFailed, match="saved code: code_report"):
        called(reader, path="code_nothing")
    with pytest.raises(ToolFailed, match="文件不存在"):
        called(here.tools("zh")["file_reader"], path="zzzzzzzz")


def test_a_second_folder_is_named_by_its_whole_path(here: Project, tmp_path: Path) -> None:
    """Relative paths are of the first folder; the others are reached by absolute ones."""
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.txt").write_text("b\n")
    folders = Folders([here.root, more])
    reader = file_reader(folders)
    assert called(reader, path=str(more / "b.txt")) == f"[file] {more / 'b.txt'}\nb\n"
    with pytest.raises(ToolFailed):
        called(reader, path="b.txt")
    assert called(list_files(folders)).endswith(f"\n{more}/")
    assert called(list_files(folders), path=str(more)) == "b.txt (2B)"
    assert called(search_files(folders), query="b", pattern="b.txt") == f"{more}/b.txt:1: b"


def test_paths_are_said_from_the_project_on(here: Project) -> None:
    """Where they lead into one of the folders; else from the first. What is shown can be asked for again."""
    (here.root / "src" / "in.txt").write_text("of src\n")
    (here.root / "data" / "in.txt").write_text("of data\n")
    (here.root / "data" / "src").mkdir()
    (here.root / "data" / "src" / "deep.txt").write_text("deep\n")
    (here.root / "more").symlink_to("src")
    folders = Folders([here.root / "data", here.root / "more", here.outside], project=here.root)
    reader = file_reader(folders)
    for path, shown in (
        ("data/in.txt", "data/in.txt"),
        ("in.txt", "data/in.txt"),
        ("./src/in.txt", "src/in.txt"),
        ("more/in.txt", "src/in.txt"),
        ("data/src/deep.txt", "data/src/deep.txt"),
        (str(here.root / "src" / "in.txt"), "src/in.txt"),
        (str(here.outside / "secret.txt"), str(here.outside / "secret.txt")),
    ):
        for asked in (path, shown):
            assert called(reader, path=asked).startswith(f"[file] {shown}\n"), asked
    for path in ("notes.txt", "project/notes.txt", str(here.root / "notes.txt")):
        with pytest.raises(ToolFailed):
            called(reader, path=path)
    with pytest.raises(ToolFailed, match=r"did you mean: data/src/deep\.txt$"):
        called(reader, path="src/deep.txt")
    with pytest.raises(ToolFailed, match=r"did you mean: src/sales\.py$"):
        called(reader, path="data/sales.py")


def test_a_list_of_folders_names_them_from_the_project_on(here: Project) -> None:
    """The first with what is in it; all are searched, also where '.' is said, and none twice or in vain."""
    (here.root / "data" / "in.py").write_text("def\n")
    paths = [here.root / "data", here.root / "src", here.root / "gone", here.outside, here.root / "data"]
    folders = Folders(paths, project=here.root)
    tree = ["data/", "  in.py (4B)", "  sales.csv (67B)", "src/", "gone/", f"{here.outside}/", "data/"]
    found = ["data/in.py:1: def", "src/sales.py:1: def load(path):"]
    for where in ({}, {"path": "."}, {"path": "./"}):
        assert called(list_files(folders), **where).splitlines() == tree
        assert called(list_files(folders), pattern="*.py", **where) == "data/in.py (4B)\nsrc/sales.py (38B)"
        assert called(search_files(folders), query="def", **where).splitlines() == found
    assert called(list_files(folders), path="src") == "sales.py (38B)"
    assert called(list_files(Folders([here.root / "data", here.root], project=here.root))).endswith(f"\n{here.root}/")


def test_the_shell_s_own_name_of_the_directory_is_understood(
    here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a link, where it is the same directory; else what the shell said is of another time."""
    alias = tmp_path / "alias"
    alias.symlink_to(here.root)
    monkeypatch.chdir(alias)
    assert shell_directory({"PWD": str(alias)}) == alias
    for said in ({}, {"PWD": ""}, {"PWD": "."}, {"PWD": str(here.outside)}, {"PWD": str(tmp_path / "gone")}):
        assert shell_directory(said) == here.root
    project = shell_directory({"PWD": str(alias)})
    reader = file_reader(Folders([project / "data"], project=project))
    for path in (f"{alias}/data/sales.csv", f"{here.root}/data/sales.csv", "data/sales.csv"):
        assert called(reader, path=path).startswith("[file] data/sales.csv"), path


def test_a_folder_may_be_reached_through_a_link_to_it(here: Project, tmp_path: Path) -> None:
    """Both spellings of its path are inside, also for links that stand in it."""
    (tmp_path / "alias").symlink_to(here.root)
    (here.root / "again").symlink_to(tmp_path / "alias" / "notes.txt")
    reader = file_reader(Folders([tmp_path / "alias"]))
    for path in (tmp_path / "alias" / "notes.txt", here.root / "notes.txt", "again"):
        assert called(reader, path=str(path)).startswith("[file] notes.txt\n")


def test_later_a_page_is_told_of_as_the_whole_file(here: Project) -> None:
    """The line that stands for a page on the next round has the file's true size, in both languages."""
    (here.root / "big.csv").write_text("date,region\n" + "2026-01-01,north-east\n" * 20_000)
    code = "def load():\n    pass\n\n\nclass Report:\n    pass\n" + "x = 1\n" * 5000
    (here.root / "a.py").write_text(code)
    for locale, path, gist in (
        (
            "en",
            "big.csv",
            "[file read] big.csv (CSV, 20000 rows, columns: date, region; rows 1–200, start=201 goes on)",
        ),
        ("zh", "big.csv", "[文件已读取] big.csv (CSV, 20000行, 列: date, region; 第 1–200 行, start=201 继续)"),
        ("en", "a.py", "[file read] a.py (python, 5006 lines, functions: load, classes: Report; lines 1–2000 of 5006"),
        ("zh", "a.py", "[文件已读取] a.py (python, 5006行, 函数: load, 类: Report; 第 1–2000 行，共 5006 行"),
    ):
        found = read_gist(called(here.tools(locale)["file_reader"], path=path), locale)
        assert found is not None
        assert found.startswith(gist)


@pytest.mark.parametrize("name", ["report (final)", "a (b).txt", "a (b", "a) (b)"])
def test_brackets_in_a_name_are_no_details(here: Project, name: str) -> None:
    """The file is still called so when only the line for it is left."""
    (here.root / name).write_text("x\n")
    gist = read_gist(called(here.tools()["file_reader"], path=name))
    assert gist is not None
    assert gist.startswith(f"[file read] {name} (text")


def test_brackets_in_the_name_of_a_sheet_close(here: Project) -> None:
    """They would end the details too early."""
    workbook(here.root / "a.xlsx", {"Q1 (draft": [["a"], [1]], ":)": [["b"], [2]]})
    gist = read_gist(called(here.tools()["file_reader"], path="a.xlsx"))
    assert gist == "[file read] a.xlsx (Excel, 1 row, columns: a; rows 1–1; sheet Q1 draft of: Q1 draft, :)"
