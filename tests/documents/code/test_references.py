"""References to code and files in an answer, markers below it, and what the model is told of files."""

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from code_writer import opened
from hypothesis import given
from hypothesis import strategies as st

from sightline.documents.code.references import (
    CodeReference,
    FileReference,
    PlainPlaces,
    Upload,
    announcement,
    fenced,
    marked,
    marker,
    markers,
    quoted,
    references,
    resolved,
    shown,
    unified_listing,
)
from sightline.documents.code.store import CodeStore, Saved

UPLOAD = Upload("upload_sales", "sales.csv", "csv", 2560, "sales of the first quarter")


def saved(description: str, code_id: str = "code_sales_analysis") -> Saved:
    """A code of which only the description matters."""
    return Saved(code_id, "python", description, 1, 1, "", 1, f"data/{code_id}.py", size_bytes=10)


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    """A store with two codes."""
    store = opened(tmp_path / "code")
    store.store("code_sales_analysis", "print('sales')\n", description="sales", session_id="s")
    store.store("code_report_page", "# Title\n\n```python\nx = 1\n```\n", language="markdown", description="page")
    return store


# ---------------------------------------------------------------------- references


@pytest.mark.accepts(326, 345)
def test_references_become_numbered_places(store: CodeStore) -> None:
    """Tags are replaced by places, what stands there is beside the text, and the code itself is nowhere in it."""
    text = (
        "A <code_ref>code_sales_analysis</code_ref> B <code_ref>\n code_report_page </code_ref> "
        "C <file_ref> upload_sales </file_ref> D <code_ref>code_sales_analysis</code_ref>"
    )
    found = resolved(text, store, [UPLOAD])
    assert found.text == "A {{CODE:0}} B {{CODE:1}} C {{FILE:0}} D {{CODE:0}}"
    assert found.codes == [
        CodeReference("code_sales_analysis", "python", "sales", 0),
        CodeReference("code_report_page", "markdown", "page", 1),
    ]
    assert found.files == [FileReference("upload_sales", "sales.csv", "csv", 2560, "sales of the first quarter", 0)]
    assert msgspec.to_builtins(found.files[0]) == {
        "file_id": "upload_sales", "filename": "sales.csv", "file_type": "csv", "size_bytes": 2560,
        "description": "sales of the first quarter", "index": 0,
    }  # fmt: skip


@pytest.mark.accepts(345)
@pytest.mark.parametrize(
    "text",
    [
        "<code_ref>code_unknown</code_ref> and <file_ref>upload_unknown</file_ref>",
        "<code_ref>../x</code_ref> <code_ref></code_ref> <code_ref>upload_sales</code_ref> <code_ref>code_report_page",
        f"<code_ref>code_{'a' * 500}</code_ref>",
        "<file_ref>code_sales_analysis</file_ref>",
    ],
)
def test_what_is_unknown_or_no_reference_stays(store: CodeStore, text: str) -> None:
    """An id nobody stored, one that is none and a tag that is not closed are text."""
    assert resolved(text, store, [UPLOAD]).text == text
    assert resolved(text, None).text == text


QUOTING = [
    "```\n{}\n```", "~~~text\n{}\n~~~", "`{}`", "``a ` {}``", "> ```\n> {}\n> ```", "- ```\n  {}\n  ```",
    "````\n```\n{}\n````", "1. ~~~\n   {}\n   ~~~", "```\n{}", "`a\nb {}`",
]  # fmt: skip
SAYING = [
    "{}", "`a` {} `b`", "a ` {} b", "\\`{}`", "`` {} `", "```\na\n```\n{}\n```\nb\n```", "a `\n\n{} `", "``` a ``` {}",
    "~~~\na\n~~~~\n{}", "`a``{}", "\\\\`a` {}",
]  # fmt: skip


@pytest.mark.accepts(345)
@pytest.mark.parametrize("template", QUOTING)
def test_a_reference_in_quoted_code_is_text(store: CodeStore, template: str) -> None:
    """In a fence of any kind or between backticks it is an example, and stays as it is."""
    text = template.replace("{}", "<code_ref>code_sales_analysis</code_ref>")
    assert references(text) == []
    assert resolved(text, store).text == shown(text, store) == text


@pytest.mark.parametrize("template", SAYING)
def test_a_reference_beside_quoted_code_counts(store: CodeStore, template: str) -> None:
    """Backticks that close nothing and fences that are over quote nothing."""
    text = template.replace("{}", "<code_ref>code_sales_analysis</code_ref>")
    assert [each.id for each in references(text)] == ["code_sales_analysis"]
    assert resolved(text, store).text == template.replace("{}", "{{CODE:0}}")


@given(st.text("`~\\> -1.a\n\r", max_size=60))
def test_quoted_code_stands_in_order_and_apart(text: str) -> None:
    """Whatever backticks a text has, the quoted pieces do not overlap, and every other place is plain."""
    pieces = list(quoted(text))
    assert all(one.end <= other.start for one, other in pairwise(pieces))
    plain = PlainPlaces(text)
    inside = {place for each in pieces for place in range(each.start, each.end)}
    assert [place in plain for place in range(len(text))] == [place not in inside for place in range(len(text))]


@pytest.mark.slow("text9")
@pytest.mark.parametrize(
    "text",
    [
        "`" * 200_000, "` `` ``` " * 30_000, "\\" * 200_000 + "`", "<code_ref> " * 30_000, "<code_ref>" + " " * 200_000,
        "<!-- CODE_SAVED: code_a | " * 20_000, "<!--" + " " * 200_000, "```\n" * 50_000, "> " * 100_000, "\n" * 200_000,
        "".join("`" * count + " " for count in range(1, 600)),
    ],
)  # fmt: skip
def test_hostile_text_is_gone_through_once(text: str) -> None:
    """Hundreds of thousands of characters that only seem to begin something refer to nothing and mark nothing.

    Work is in proportion to the length; were it quadratic, these would take minutes.
    """
    assert (references(text), markers(text)) == ([], [])


# ---------------------------------------------------------------------- shown to a reader


@pytest.mark.accepts(345)
def test_a_reader_sees_the_code_itself(store: CodeStore) -> None:
    """In a fence of its language, in its own paragraph, once; files by name; what is unknown is named so."""
    text = (
        "See <code_ref>code_sales_analysis</code_ref>\n\nand again <code_ref>code_sales_analysis</code_ref>, "
        "<file_ref>upload_sales</file_ref>, <code_ref>code_gone</code_ref>."
    )
    assert shown(text, store, [UPLOAD]) == (
        "See\n\n**code_sales_analysis** (python) - sales\n\n```python\nprint('sales')\n```\n\nand again "
        "`code_sales_analysis` (shown above), **sales.csv** (csv, 2.5KB) - sales of the first quarter, "
        "`code_gone` (not found)."
    )
    assert "`code_gone` (未找到)" in shown(text, store, locale="zh")
    assert shown("plain\n\n", store) == "plain\n\n"


@given(st.text("`~a\n", min_size=1, max_size=40))
def test_nothing_in_the_code_closes_its_fence(code: str) -> None:
    """Whatever backticks stand in it, all of it is one quoted piece."""
    text = fenced(code, "python")
    assert [(each.start, each.end) for each in quoted(text)] == [(0, len(text))]


def test_a_code_with_fences_is_shown_whole(store: CodeStore) -> None:
    """Markdown inside a fence of Markdown."""
    text = shown("<code_ref>code_report_page</code_ref>", store)
    assert text.endswith("````markdown\n# Title\n\n```python\nx = 1\n```\n````")


# ---------------------------------------------------------------------- markers


@pytest.mark.accepts(338)
def test_a_marker_says_what_was_saved(store: CodeStore) -> None:
    """It has the document's form, and is found again with and without a description."""
    code = store.find("code_sales_analysis")
    assert marker(code) == "<!-- CODE_SAVED: code_sales_analysis | sales -->"
    assert marker(saved("")) == "<!-- CODE_SAVED: code_sales_analysis -->"
    text = marked("The report.", [code, saved("", "code_b_part")])
    assert text == "The report.\n\n<!-- CODE_SAVED: code_sales_analysis | sales -->\n\n<!-- CODE_SAVED: code_b_part -->"
    assert markers(text) == [("code_sales_analysis", "sales"), ("code_b_part", "")]
    assert markers("<!--CODE_SAVED:code_b_part|a | b-->") == [("code_b_part", "a | b")]


@given(st.text(max_size=40) | st.text("-!<>| \n", max_size=20))
def test_no_description_breaks_its_marker(description: str) -> None:
    """Whatever stands in it, the comment ends where the marker does, on one line, and only one marker is found."""
    text = marker(saved(description))
    assert (text.count("-->"), text.count("--!>"), len(text.splitlines())) == (1, 0, 1)
    assert [found.code_id for found in markers(text)] == ["code_sales_analysis"]


@given(st.text("ab\n <!->`~", max_size=60))
def test_every_marker_is_found_again(text: str) -> None:
    """Behind any answer, also one that was cut off in the middle of a fence."""
    codes = [saved("one"), saved("two", "code_b_part")]
    assert markers(marked(text, codes)) == [("code_sales_analysis", "one"), ("code_b_part", "two")]


def test_a_marker_in_quoted_code_is_text() -> None:
    """An example of a marker in a fence is left alone."""
    text = "```html\n<!-- CODE_SAVED: code_b_part -->\n```"
    assert markers(text) == []


# ---------------------------------------------------------------------- what the model is told


@pytest.mark.accepts(325)
def test_uploads_are_announced() -> None:
    """In the document's words, for one and for several; nothing without uploads."""
    two = [Upload("a", "a.csv"), Upload("b", "b.csv")]
    assert announcement([UPLOAD], "zh") == "用户已上传文件，文件引用: upload:upload_sales"
    assert announcement(two, "zh") == "用户已上传文件: upload:a, upload:b"
    assert announcement(two, "en") == "The user has uploaded files: upload:a, upload:b"
    assert announcement([], "zh") == ""


@pytest.mark.accepts(326)
def test_the_unified_list() -> None:
    """Code and uploads in two groups, each with how to refer to it; a group without files is not there."""
    code = saved("销售数据分析")
    assert unified_listing([code], [UPLOAD], "zh") == (
        "可用文件列表：\n\n**代码文件：**\n"
        "- [code_sales_analysis] code_sales_analysis.py (python) - 销售数据分析 | 10B\n\n"
        "**上传文件：**\n- [upload_sales] sales.csv (csv) - sales of the first quarter | 2.5KB\n\n"
        "你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用代码文件。\n"
        "你可以通过 <file_ref>{file_id}</file_ref> 标签在最终报告中引用上传文件。"
    )
    only = unified_listing([], [Upload("upload_x", "evil\nname.csv")])
    assert "code_ref" not in only
    assert "- [upload_x] evil name.csv | 0B\n" in only
    assert unified_listing([], []) == ""
