"""The tool that runs Python. To give it to an agent is to allow that programs are run."""

from functools import partial
from pathlib import Path
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.code_by_id import CodeById
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import Program, program_tool
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.schema import Parameter, Wording, says
from sightline.errors import BadInput, StoreError, ToolFailed

_ABOUT = Wording(
    "Run a Python program and get what it prints. It has no network, and sees only the files named in `files`, under "
    "the same paths; paths are relative to its own empty folder. Installed libraries can be imported. Give the program "
    "itself or the id of saved code. Files that it writes are listed. Modes and times of files cannot be changed: copy "
    "with shutil.copyfile, not shutil.copy.",
    "运行 Python 程序并返回其输出。程序不能联网，只能看到 files 中列出的文件（路径不变）；路径相对于它自己的空文件夹。"
    "可以导入已安装的库。提供程序代码或已保存代码的 ID。程序写出的文件会被列出。"
    "不能修改文件的权限和时间：复制文件请用 shutil.copyfile，不要用 shutil.copy。",
)
_PARAMETERS = (
    Parameter("code", "string", Wording("the program", "程序代码")),
    Parameter(
        "code_id", "string", Wording("id of saved code, instead of the program", "已保存代码的 ID，代替程序代码")
    ),
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
    program = Program("run_python", _ABOUT, _PARAMETERS, partial(_code, codes, locale))
    return program_tool(program, folders, limits, keep, locale)


def _code(codes: CodeById | None, locale: str, arguments: dict[str, Any]) -> str:
    """Return the program itself, or the saved code of this id. Raises ToolFailed."""
    code, code_id = arguments.get("code"), arguments.get("code_id")
    if (code is None) == (code_id is None):
        raise ToolFailed(says(locale, "give either 'code' or 'code_id'", "请提供 code 或 code_id 之一"))
    if code is not None:
        return str(code)
    if codes is None:
        raise ToolFailed(says(locale, "there is no saved code", "没有已保存的代码"))
    try:
        saved = codes.find(str(code_id))
        if saved.language != "python":
            raise ToolFailed(
                says(
                    locale,
                    f"{code_id} is {saved.language}, not python",
                    f"{code_id} 是 {saved.language}，不是 python",
                )
            )
        return codes.read(str(code_id))
    except (BadInput, StoreError) as error:
        raise ToolFailed(str(error)) from error
