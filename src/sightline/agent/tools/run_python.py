"""The tool that runs Python. To give it to an agent is to allow that programs are run."""

from functools import partial
from pathlib import Path
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.code_by_id import CodeById
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import Program, program_tool
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.schema import Parameter, say
from sightline.errors import BadInput, StoreError, ToolFailed

_PARAMETERS = (
    Parameter("code", "string", "program code"),
    Parameter("code_id", "string", "program code id"),
)


def run_python(
    folders: Folders,
    codes: CodeById | None = None,
    *,
    limits: Limits | None = None,
    keep: Path | None = None,
    locale: str = "en",
) -> Tool:
    """Return the tool that runs Python programs in a sandbox. What they write is lost without a folder to `keep` it in.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    program = Program("run_python", say("run_python", locale), _PARAMETERS, partial(_code, codes, locale))
    return program_tool(program, folders, limits, keep, locale)


def _code(codes: CodeById | None, locale: str, arguments: dict[str, Any]) -> str:
    """Return the program itself, or the saved code of this id. Raises ToolFailed."""
    code, code_id = arguments.get("code"), arguments.get("code_id")
    if (code is None) == (code_id is None):
        raise ToolFailed(say("code or id", locale))
    if code is not None:
        return str(code)
    if codes is None:
        raise ToolFailed(say("no saved code", locale))
    try:
        saved = codes.find(str(code_id))
        if saved.language != "python":
            raise ToolFailed(say("not python", locale, code_id=code_id, language=saved.language))
        return codes.read(str(code_id))
    except (BadInput, StoreError) as error:
        raise ToolFailed(str(error)) from error
