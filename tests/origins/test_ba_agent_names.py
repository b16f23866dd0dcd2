"""The BA-Agent document: its names, its code store and its version history."""

import inspect
import logging
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import call_id, file_reader
from sightline.documents.code import store as core
from sightline.errors import BadCodeId
from sightline.origins import ba_agent
from sightline.origins.ba_agent import BAAgentService, CodeStore, ContextManager, StructuredResponse, Upload
from sightline.testing import Ticking

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "origins" / "ba-agent.md").read_text(encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    return CodeStore(tmp_path / "storage", clock=Ticking())


# ------------------------------------------------------------------ names


@pytest.mark.accepts(290, 293)
@pytest.mark.parametrize(
    ("component", "duties"),
    [
        (ContextManager, ["build_context", "clean_file_contents", "should_clean_context", "summarize_context"]),
        (CodeStore, ["store", "retrieve", "delete", "exists", "list_files", "get_code_by_id", "list_session_codes"]),
        (BAAgentService, ["query", "_extract_response_content"]),
    ],
)
def test_the_components_have_the_documents_names(component: type, duties: list[str]) -> None:
    """Each class of the document has the methods that the document and its sources name."""
    assert all(callable(getattr(component, name)) for name in duties)
    assert component.__name__ in ba_agent.__all__


@pytest.mark.accepts(290)
def test_the_signatures_are_the_documents() -> None:
    """A query takes history_messages and file_context, and so does building its context."""
    assert {"history_messages", "session_id", "file_context"} <= set(inspect.signature(BAAgentService.query).parameters)
    built = list(inspect.signature(ContextManager.build_context).parameters)
    assert built == ["self", "user_message", "history_messages", "session_id", "file_context"]
    assert StructuredResponse.__struct_fields__ == ("task_analysis", "execution_plan", "current_round", "action")
    assert "code_blocks" in ba_agent.Action.__struct_fields__
    assert ba_agent.CodeBlock.__struct_fields__ == ("code_id", "language", "description", "code")
    assert ba_agent.ToolCall.__struct_fields__ == ("tool_name", "tool_call_id", "arguments")


@pytest.mark.accepts(346, 349)
def test_the_tool_has_both_names_and_its_id() -> None:
    """`file_reader` is also `read_file`, and its calls have ids by which their results are known."""
    tool = file_reader(Folders([Path.cwd()]))
    assert (tool.name, tool.aliases) == ("file_reader", ("read_file",))
    assert re.fullmatch("call_read_file_[0-9a-f]{12}", call_id("whatever"))


def test_every_name_is_in_the_documentation() -> None:
    """docs/origins/ba-agent.md says of each name of the document where it is here."""
    names = [
        "BAAgentService",
        "ContextManager",
        "CodeStore",
        "StructuredResponse",
        "LangGraph",
        "query",
        "build_context",
        "clean_file_contents",
        "should_clean_context",
        "summarize_context",
        "_extract_response_content",
        "code_blocks",
        "code_list",
        "history_messages",
        "file_context",
        "file_reader",
        "read_file",
        "call_read_file_",
        "code_ref",
        "file_ref",
        "CODE_SAVED",
        "code_id",
        "line_count",
        "char_count",
        "created_at",
        "store",
        "retrieve",
        "list_session_codes",
        "code_index.db",
        "data/",
        "rounds",
        "ba-agent",
    ]
    assert [name for name in names if name not in PAGE] == []


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, "[文件已读取] sales.csv (CSV, 1行, 列: date, amount)"),
        (1, "见 {{CODE:0}}\n\n<!-- CODE_SAVED: code_sales_total | 合计 -->"),
    ],
)
def test_the_examples_run(number: int, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page shows works as it stands there and prints what it says."""
    exec(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[number], {})
    assert capsys.readouterr().out.startswith(printed)


# ------------------------------------------------------------------ the code store under the document's names


@pytest.mark.accepts(292)
def test_the_store_is_the_cores_under_the_documents_names(store: CodeStore) -> None:
    """Nothing in it is a second mechanism, and it knows neither messages nor models."""
    assert isinstance(store, core.CodeStore)
    assert "store" not in vars(CodeStore)
    names = " ".join(dir(store))
    assert not re.search("message|model|prompt|context", names)


@pytest.mark.accepts(292, 330, 331, 332, 335, 336, 337, 338)
def test_code_goes_in_and_comes_out(store: CodeStore, tmp_path: Path) -> None:
    """It is a file and a line of the index, found by its id by another process too, and announced by a marker."""
    saved = store.store("code_report", "# 标题\n内容", language="Markdown", description="报告", session_id="s")
    assert (tmp_path / "storage" / "data" / "code_report.md").read_bytes() == "# 标题\n内容".encode()
    assert (tmp_path / "storage" / "code_index.db").is_file()
    again = CodeStore(tmp_path / "storage", clock=Ticking())
    assert again.retrieve("code_report") == again.get_code_by_id("code_report") == "# 标题\n内容"
    [listed] = again.list_session_codes("s")
    assert (listed["code_id"], listed["language"], listed["description"]) == ("code_report", "markdown", "报告")
    assert (listed["line_count"], listed["char_count"], listed["created_at"]) == (2, 7, saved.created_at)
    marker = store.code_saved_marker(saved)
    assert marker == "<!-- CODE_SAVED: code_report | 报告 -->"
    assert store.extract_code_saved(f"报告。\n\n{marker}\n<!-- CODE_SAVED: code_x -->") == [
        ("code_report", "报告"),
        ("code_x", ""),
    ]


@pytest.mark.accepts(336, 339)
def test_what_is_not_there_is_none_and_what_is_no_id_is_refused(store: CodeStore) -> None:
    """An unknown id gives None everywhere; one that is no id raises everywhere."""
    assert store.retrieve("code_none") is None
    assert store.get_metadata("code_none") is None
    assert not store.exists("code_none")
    for bad in ("../x", "/etc/passwd", "code_a/b", "code_\0", "x"):
        for ask in (store.retrieve, store.exists, store.get_metadata):
            with pytest.raises(BadCodeId):
                ask(bad)


@pytest.mark.accepts(340)
def test_the_newest_comes_first_and_an_id_again_is_an_update(store: CodeStore) -> None:
    """Listing a session's code begins with the latest; storing an id again changes its code and adds no line."""
    store.store("code_first_step", "1", session_id="s")
    store.store("code_second_step", "2", session_id="s")
    store.store("code_first_step", "3", session_id="s")
    assert [each["code_id"] for each in store.list_session_codes("s")] == ["code_second_step", "code_first_step"]
    assert store.retrieve("code_first_step") == "3"
    store.delete("code_first_step")
    assert not store.exists("code_first_step")


@pytest.mark.accepts(327, 328)
def test_the_languages_are_the_documents(store: CodeStore) -> None:
    """Every language of the document has its extension."""
    assert CodeStore.supported_languages() == {
        "python": ".py", "javascript": ".js", "html": ".html", "css": ".css", "sql": ".sql", "shell": ".sh",
        "markdown": ".md", "typescript": ".ts", "json": ".json", "yaml": ".yaml", "xml": ".xml", "r": ".r",
        "java": ".java", "c": ".c", "cpp": ".cpp", "go": ".go", "rust": ".rs", "php": ".php", "ruby": ".rb",
    }  # fmt: skip


@pytest.mark.accepts(359)
@pytest.mark.parametrize(
    ("code_id", "discouraged"),
    [
        ("code_sales_analysis", False), ("code_data_cleaning", False), ("code_chart_visualization", False),
        ("code_db_query_customers", False), ("code_abc", True), ("code_123", True),
        ("code_sales_data_analysis_for_q1_2024_report", True),
    ],
)  # fmt: skip
def test_names_are_advised_on_and_not_refused(store: CodeStore, code_id: str, discouraged: bool) -> None:
    """The document's good names are taken without a word, its bad ones with advice."""
    saved = store.store(code_id, "x = 1")
    assert bool(saved.warning) is discouraged
    assert store.exists(code_id)


@pytest.mark.accepts(329)
def test_an_unsupported_language_is_python_with_a_warning(store: CodeStore, caplog: pytest.LogCaptureFixture) -> None:
    """The program's log says so, and the file is a .py."""
    with caplog.at_level(logging.WARNING, "sightline.code"):
        saved = store.store("code_old_ledger", "DISPLAY 'X'.", language="COBOL")
    assert (saved.language, saved.path) == ("python", "data/code_old_ledger.py")
    assert "COBOL" in caplog.text


# ------------------------------------------------------------------ version history


@pytest.mark.accepts(360)
def test_version_1_2_lists_the_code(store: CodeStore) -> None:
    """Code in several languages is listed for its session."""
    store.store("code_sales_query", "SELECT 1", language="sql", description="查询", session_id="s")
    assert "- code_sales_query (sql) - 查询" in ContextManager(store).build_context("?", [], "s")[1]["content"]


@pytest.mark.accepts(326, 360)
def test_version_1_3_lists_code_and_uploads_together(store: CodeStore) -> None:
    """One list names both, in groups, and says how a report refers to each; without either there is none."""
    manager = ContextManager(store)
    assert manager.build_file_list("s") == ""
    store.store("code_notes", "# 注", language="markdown", description="说明", session_id="s")
    listed = manager.build_file_list("s", [Upload("upload_q1", "q1.csv", "csv", 2560, "一季度")])
    assert listed.startswith("可用文件列表：")
    assert "**代码文件：**\n- [code_notes] code_notes.md (markdown) - 说明 | " in listed
    assert "**上传文件：**\n- [upload_q1] q1.csv (csv) - 一季度 | 2.5KB" in listed
    assert "<code_ref>" in listed
    assert "<file_ref>" in listed


@pytest.mark.accepts(320, 360)
def test_version_1_4_reads_files_when_asked_and_shows_gists_later(store: CodeStore) -> None:
    """Naming code injects nothing; the model is told of file_reader, and what it read becomes a gist."""
    store.store("code_secret", "magic = 991177", description="密", session_id="s")
    result = {"role": "tool", "tool_call_id": "call_read_file_1", "content": "[文件] a.py\nmagic = 991177\n"}
    built = ContextManager(store).build_context("看 code_secret", [result], "s")
    assert "991177" not in str(built)
    assert built[0]["content"].startswith("[文件已读取] a.py (python, 1行")
    assert "file_reader" in built[1]["content"]


# ------------------------------------------------------------------ the saving table


@pytest.mark.slow
@pytest.mark.accepts(352, 353)
def test_the_saving_is_at_least_the_documents() -> None:
    """Played with real files, five rounds save 75 % of the conversation and ten 83 %; the page shows these numbers."""
    saving: dict[str, Any] = runpy.run_path(str(PROJECT / "tools" / "saving.py"), run_name="saving")
    rows = saving["rows"]()
    for row in rows:
        assert row.saved >= row.scene.saved
        # The sessions are of the size that the document speaks of.
        assert 0.8 < row.without.conversation / row.scene.without < 1.25
        assert row.cleaned.conversation <= row.scene.cleaned
    assert saving["table"](rows) in PAGE
