"""The tool that saves code."""

import pytest
from tool_project import Project, called

from sightline.errors import ToolFailed


def test_saved_code_is_told_of_and_can_be_read(here: Project) -> None:
    """Its id, file, lines and version, and the marker; the same id again is the next version."""
    tools = here.tools()
    given = {"code_id": "code_sales_report", "language": "sql", "description": "per region", "code": "select 1;\n"}
    answer = called(tools["write_code"], **given)
    assert answer == (
        "saved code_sales_report as code_sales_report.sql (sql, 1 lines, version 1)\n"
        "<!-- CODE_SAVED: code_sales_report | per region -->"
    )
    assert "第 2 版" in called(here.tools("zh")["write_code"], **given)
    assert called(tools["file_reader"], path="code_sales_report") == "[file] code_sales_report.sql\nselect 1;\n"
    assert [saved.session_id for saved in here.codes.list("s1")] == ["s1"]


def test_an_unknown_language_is_python_with_a_warning(here: Project) -> None:
    """The warning stands in the answer."""
    answer = called(here.tools()["write_code"], code_id="code_sums", language="klingon", code="x = 1")
    assert "code_sums.py (python" in answer
    assert "'klingon' is not supported" in answer


def test_no_code_is_refused(here: Project) -> None:
    """Nothing to save is a failure that says so."""
    with pytest.raises(ToolFailed, match="there is no code"):
        called(here.tools()["write_code"], code_id="code_sums", language="python", code="  ")
