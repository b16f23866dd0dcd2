"""What the tools that run a program share: the files it gets, its confinement, its limits, and what is said of its end.

`run_python` and `run_shell` say which program it is. Disk access is done in threads, because a file that a program gets
may have hundreds of megabytes.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.sandbox.run import Limits, Protection, Ran, confined, protection
from sightline.agent.tools.sandbox.workdir import MOST_KEPT, Left, Place, collect_files, copy_bytes
from sightline.agent.tools.schema import Parameter, Wording, says, tool
from sightline.errors import ToolFailed
from sightline.values.phrases import size_text

MOST_GIVEN = 200 << 20  # bytes of files that a program gets
MOST_NAMED = 50  # written files that are named
PROGRAM = "program.py"  # its file
REMOVING = 5.0  # seconds to wait for the removal of its folder

FILES = Parameter("files", "array", Wording("paths of files that it reads", "程序要读取的文件路径"))


class Program(NamedTuple):
    """A kind of program: the name of its tool, what the model is told, and where its text comes from."""

    name: str
    about: Wording
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
        raise ToolFailed(
            says(
                locale,
                f"{program.name} is not available: this system offers no way to keep a program from the network",
                f"{program.name} 不可用：本系统无法禁止程序联网",
            )
        )
    limits = limits or Limits()
    runner = _Runner(program, folders.with_locale(locale), limits, keep, protected)
    seconds = Parameter(
        "seconds",
        "integer",
        Wording("how long it may take", "时间上限（秒）"),
        least=1,
        most=max(1, int(limits.seconds)),
    )
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
                    raise ToolFailed(says(self.folders.locale, f"files of more than {most}", f"文件总量超过 {most}"))
                named = opened.path if path.startswith("/") else str(PurePosixPath(path))  # as the program names it
                name = PurePosixPath(named).name if named.startswith("/") else named
                state = os.fstat(opened.file.fileno())
                if name in sources and os.path.samestat(sources[name], state):
                    continue  # named twice
                if name in sources:
                    raise ToolFailed(
                        says(
                            self.folders.locale,
                            f"two of the files would be {name}: give the program one of them, then the other",
                            f"有两个文件都叫 {name}：请分两次运行程序，每次只给一个",
                        )
                    )
                copy_bytes(opened.file, folder / "work" / name, opened.size)
                times[name], sources[name] = (folder / "work" / name).stat().st_mtime_ns, state
        return folder, times

    def _result(self, ran: Ran, limits: Limits, left: Left) -> str:
        endings = {
            "time": (f"[stopped after {limits.seconds:g} s]", f"[超过 {limits.seconds:g} 秒，已停止]"),
            "disk": ("[stopped: it wrote too much]", "[写入过多，已停止]"),
            "memory": (
                f"[stopped: its processes used more than {limits.memory_mb} MB of memory]",
                f"[所有进程使用的内存超过 {limits.memory_mb} MB，已停止]",
            ),
            "processes": (
                f"[stopped: it had more than {limits.processes} processes and threads]",
                f"[进程和线程超过 {limits.processes} 个，已停止]",
            ),
            "": (f"[exit status {ran.status}]", f"[退出状态 {ran.status}]"),
        }
        parts = [says(self.folders.locale, *endings[ran.stopped]), ran.out.rstrip("\n")]
        if ran.err.strip():
            parts += [says(self.folders.locale, "[errors]", "[错误输出]"), ran.err.rstrip("\n")]
        for kept, en, zh in ((True, f"kept in {left.where}", f"保存在 {left.where}"), (False, "not kept", "未保留")):
            files = [f"{file.shown} ({size_text(file.size)})" for file in left.files if file.kept == kept]
            if named := ", ".join(files[:MOST_NAMED]):
                parts.append(
                    says(self.folders.locale, f"[files written, {en}: {named}]", f"[写出的文件，{zh}：{named}]")
                )
        if left.full:
            parts.append(
                says(
                    self.folders.locale,
                    f"[no more files are kept: {left.full} has {size_text(MOST_KEPT)}; the user may delete some]",
                    f"[不再保留文件：{left.full} 已达 {size_text(MOST_KEPT)}；用户可删除一些]",
                )
            )
        return "\n".join(part for part in parts if part)
