"""The tools that run a program: Python or a shell script. To give one to an agent is to allow that programs are run.

They share the files that a program gets, its confinement, its limits, and what is said of its end. Disk access is done
in threads, because a file that a program gets may have hundreds of megabytes.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.agent.tools import Tool
from sightline.agent.tools.code_by_id import CodeById
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.sandbox.run import Limits, Protection, Ran, confined, protection
from sightline.agent.tools.sandbox.workdir import MOST_KEPT, Left, Place, collect_files, copy_bytes
from sightline.agent.tools.schema import Parameter, say, tool
from sightline.errors import BadInput, StoreError, ToolFailed
from sightline.values.phrases import size_text

MOST_GIVEN = 200 << 20  # bytes of files that a program gets
MOST_NAMED = 50  # written files that are named
PROGRAM = "program.py"  # its file
REMOVING = 5.0  # seconds to wait for the removal of its folder

FILES = Parameter("files", "array", "program files")
_CODE = (Parameter("code", "string", "program code"), Parameter("code_id", "string", "program code id"))
_COMMAND = Parameter("command", "string", "shell command", required=True)
_BASH, _SH = "/bin/bash", "/bin/sh"


class Program(NamedTuple):
    """A kind of program: the name of its tool, what the model is told, and where its text comes from."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    text: Callable[[dict[str, Any]], str]  # from the arguments; raises ToolFailed
    command: Sequence[str] = ()  # the interpreter, before the path of the program; empty: Python


def program_tool(program: Program, folders: Folders, limits: Limits | None, keep: Path | None, locale: str) -> Tool:
    """Return the tool that runs such programs in a sandbox. What they write is lost without a folder to `keep` it in.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    protected = protection()
    if not protected.network:
        raise ToolFailed(say("no sandbox", locale, name=program.name))
    limits = limits or Limits()
    runner = _Runner(program, folders.with_locale(locale), limits, keep, protected)
    seconds = Parameter("seconds", "integer", "program seconds", least=1, most=max(1, int(limits.seconds)))
    parameters = (*program.parameters, FILES, seconds)
    return tool(program.name, program.about, parameters, runner.run, locale, seconds=limits.seconds + 30)


class _Runner(NamedTuple):
    program: Program
    folders: Folders
    limits: Limits
    keep: Path | None
    protected: Protection

    async def run(self, arguments: dict[str, Any]) -> str:
        limits = replace(self.limits, seconds=float(arguments.get("seconds", self.limits.seconds)))
        place = Place()
        try:
            folder, times = await in_thread(place.use, self._prepare, arguments)
            ran = await confined(folder / PROGRAM, folder, limits, self.protected, self.program.command)
            left = await in_thread(place.use, lambda _: collect_files(folder / "work", times, self.keep, limits.disk))
            return self._result(ran, limits, left)
        finally:
            with suppress(TimeoutError):  # it is removed later, when nobody writes to it
                async with asyncio.timeout(REMOVING):
                    await in_thread(place.remove)

    def _prepare(self, folder: Path, arguments: dict[str, Any]) -> tuple[Path, dict[str, int]]:
        """Write the program, and copy the files that it may read, and only those; their names there, and times."""
        (folder / PROGRAM).write_text(self.program.text(arguments), encoding="utf-8", errors="replace")
        (folder / "work").mkdir()
        (folder / "home").mkdir()
        times: dict[str, int] = {}
        sources: dict[str, os.stat_result] = {}
        room = MOST_GIVEN
        for path in arguments.get("files", ()):
            with self.folders.open(path) as opened:
                room -= opened.size
                if room < 0:
                    most = size_text(MOST_GIVEN)
                    raise ToolFailed(say("too many bytes", self.folders.locale, most=most))
                named = opened.path if path.startswith("/") else str(PurePosixPath(path))  # as the program names it
                name = PurePosixPath(named).name if named.startswith("/") else named
                state = os.fstat(opened.file.fileno())
                if name in sources and os.path.samestat(sources[name], state):
                    continue  # named twice
                if name in sources:
                    raise ToolFailed(say("same name", self.folders.locale, name=name))
                copy_bytes(opened.file, folder / "work" / name, opened.size)
                times[name], sources[name] = (folder / "work" / name).stat().st_mtime_ns, state
        return folder, times

    def _result(self, ran: Ran, limits: Limits, left: Left) -> str:
        numbers = {"seconds": limits.seconds, "memory": limits.memory_mb, "processes": limits.processes}
        parts = [
            say(f"ended {ran.stopped or 'itself'}", self.folders.locale, status=ran.status, **numbers),
            ran.out.rstrip("\n"),
        ]
        if ran.err.strip():
            parts += [say("program errors", self.folders.locale), ran.err.rstrip("\n")]
        for kept, key in ((True, "files kept"), (False, "files not kept")):
            files = [f"{file.shown} ({size_text(file.size)})" for file in left.files if file.kept == kept]
            if named := ", ".join(files[:MOST_NAMED]):
                parts.append(say(key, self.folders.locale, where=left.where, names=named))
        if left.full:
            parts.append(say("folder full", self.folders.locale, folder=left.full, size=size_text(MOST_KEPT)))
        return "\n".join(part for part in parts if part)


# ---------------------------------------------------------------------- the two tools


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
    program = Program("run_python", say("run_python", locale), _CODE, partial(_code, codes, locale))
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
