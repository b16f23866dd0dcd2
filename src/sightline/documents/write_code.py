"""The tool that saves code."""

from functools import partial
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.schema import Parameter, say, tool
from sightline.documents.code.references import marker
from sightline.documents.code.store import CodeStore
from sightline.errors import BadInput, StoreError, ToolFailed

WRITE_CODE = "write_code"

_PARAMETERS = (
    Parameter("code_id", "string", "write code id", required=True),
    Parameter("language", "string", "write language", required=True),
    Parameter("description", "string", "write description"),
    Parameter("code", "string", "write code", required=True),
)


def write_code(codes: CodeStore, session_id: str = "", locale: str = "en") -> Tool:
    """Return the tool that saves code, for a session."""
    return tool(
        WRITE_CODE,
        say("write_code", locale),
        _PARAMETERS,
        partial(in_thread, _store, codes, session_id, locale),
        locale,
    )


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
    text = say(
        "code saved",
        locale,
        code_id=saved.code_id,
        file=saved.file_name,
        language=saved.language,
        line_count=saved.line_count,
        version=saved.version,
    )
    return "\n".join(filter(None, (text, saved.warning, marker(saved))))
