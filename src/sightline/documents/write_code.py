"""The tool that saves code."""

from functools import partial
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.schema import Parameter, Wording, says, tool
from sightline.documents.code.references import marker
from sightline.documents.code.store import CodeStore
from sightline.errors import BadInput, StoreError, ToolFailed

WRITE_CODE = "write_code"

_ABOUT = Wording(
    "Save a piece of code, to be read (file_reader), run or referred to (<code_ref>id</code_ref>) later. The same id "
    "again is a new version of it.",
    "保存一段代码，之后可以读取（file_reader）、运行或引用（<code_ref>id</code_ref>）。再次使用同一 ID 即为新版本。",
)
_PARAMETERS = (
    Parameter(
        "code_id",
        "string",
        Wording(
            "'code_' and what it does, such as code_sales_analysis",
            "以 code_ 开头、说明用途的 ID，如 code_sales_analysis",
        ),
        required=True,
    ),
    Parameter("language", "string", Wording("such as python, sql, html", "语言，如 python、sql、html"), required=True),
    Parameter("description", "string", Wording("what it does, in one line", "一行说明")),
    Parameter("code", "string", Wording("the code, without a fence", "代码本身，不带 Markdown 围栏"), required=True),
)


def write_code(codes: CodeStore, session_id: str = "", locale: str = "en") -> Tool:
    """Return the tool that saves code, for a session."""
    return tool(WRITE_CODE, _ABOUT, _PARAMETERS, partial(in_thread, _store, codes, session_id, locale), locale)


def _store(codes: CodeStore, session_id: str, locale: str, arguments: dict[str, Any]) -> str:
    try:
        saved = codes.store(
            arguments["code_id"],
            arguments["code"],
            language=arguments["language"],
            description=arguments.get("description", ""),
            session_id=session_id,
        )
    except (BadInput, StoreError) as error:
        raise ToolFailed(str(error)) from error
    text = says(
        locale,
        f"saved {saved.code_id} as {saved.file_name} ({saved.language}, {saved.line_count} lines, "
        f"version {saved.version})",
        f"已保存 {saved.code_id}：{saved.file_name}（{saved.language}，{saved.line_count}行，第 {saved.version} 版）",
    )
    return "\n".join(filter(None, (text, saved.warning, marker(saved))))
