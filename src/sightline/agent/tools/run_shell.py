"""The tool that runs a shell script, confined as a Python program is. To give it to an agent is to allow that."""

from pathlib import Path
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import Program, program_tool
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.schema import Parameter, say

_BASH, _SH = "/bin/bash", "/bin/sh"
_COMMAND = Parameter("command", "string", "shell command", required=True)


def run_shell(folders: Folders, *, limits: Limits | None = None, keep: Path | None = None, locale: str = "en") -> Tool:
    """Return the tool that runs shell scripts in a sandbox, with the limits and the confinement of `run_python`.

    What they write is lost without a folder to `keep` it in. The shell is bash, else sh.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    bash = Path(_BASH).is_file()
    command = (_BASH, "--noprofile", "--norc") if bash else (_SH,)
    about = say("run_shell", locale, shell="bash" if bash else "sh")
    return program_tool(Program("run_shell", about, (_COMMAND,), _script, command), folders, limits, keep, locale)


def _script(arguments: dict[str, Any]) -> str:
    return str(arguments["command"])
