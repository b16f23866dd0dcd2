"""The tool that runs a shell script, confined as a Python program is. To give it to an agent is to allow that."""

from pathlib import Path
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import Program, program_tool
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.schema import Parameter, Wording

_BASH, _SH = "/bin/bash", "/bin/sh"
_ABOUT = Wording(
    "Run a command or script in {shell} and get what it prints. It has no network, and sees only the files named in "
    "`files`, as copies under the same paths; it begins in its own empty folder and cannot change the project. The "
    "system's programs can be used. Files that it writes are listed. Modes and times of files cannot be changed: copy "
    "with cp, without -p.",
    "在 {shell} 中运行命令或脚本并返回其输出。不能联网，只能看到 files 中列出的文件（副本，路径不变）；"
    "在它自己的空文件夹中开始，不能改动项目。可以使用系统程序。写出的文件会被列出。"
    "不能修改文件的权限和时间：复制文件请用不带 -p 的 cp。",
)
_COMMAND = Parameter("command", "string", Wording("the command or script", "命令或脚本"), required=True)


def run_shell(folders: Folders, *, limits: Limits | None = None, keep: Path | None = None, locale: str = "en") -> Tool:
    """Return the tool that runs shell scripts in a sandbox, with the limits and the confinement of `run_python`.

    What they write is lost without a folder to `keep` it in. The shell is bash, else sh.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    bash = Path(_BASH).is_file()
    command = (_BASH, "--noprofile", "--norc") if bash else (_SH,)
    about = Wording(*(text.format(shell="bash" if bash else "sh") for text in _ABOUT))
    return program_tool(Program("run_shell", about, (_COMMAND,), _script, command), folders, limits, keep, locale)


def _script(arguments: dict[str, Any]) -> str:
    return str(arguments["command"])
