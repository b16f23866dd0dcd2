"""The tool that runs Python. To give it to an agent is to allow that programs are run.

Disk access is done in threads, because a file that a program gets may have hundreds of megabytes.
"""

import asyncio
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.agent.code.store import CodeStore
from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.sandbox.run import Limits, Protection, Ran, confined, protection
from sightline.agent.tools.sandbox.workdir import MOST_KEPT, Left, Place, collect_files, copy_bytes
from sightline.agent.tools.schema import Parameter, Wording, says, tool
from sightline.errors import BadInput, StoreError, ToolFailed
from sightline.values.phrases import size_text

MOST_GIVEN = 200 << 20  # bytes of files that a program gets
MOST_NAMED = 50  # written files that are named
REMOVING = 5.0  # seconds to wait for the removal of its folder

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
    Parameter("files", "array", Wording("paths of files that it reads", "程序要读取的文件路径")),
)


def run_python(
    folders: Folders,
    codes: CodeStore | None = None,
    *,
    limits: Limits | None = None,
    keep: Path | None = None,
    locale: str = "en",
) -> Tool:
    """Return the tool that runs Python programs in a sandbox. What they write is lost without a folder to `keep` it in.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    protected = protection()
    if not protected.network:
        raise ToolFailed(
            says(
                locale,
                "run_python is not available: this system offers no way to keep a program from the network",
                "run_python 不可用：本系统无法禁止程序联网",
            )
        )
    limits = limits or Limits()
    runner = _Runner(folders.with_locale(locale), codes, limits, keep, protected)
    seconds = Parameter(
        "seconds",
        "integer",
        Wording("how long it may take", "时间上限（秒）"),
        least=1,
        most=max(1, int(limits.seconds)),
    )
    return tool("run_python", _ABOUT, (*_PARAMETERS, seconds), runner.run, locale, seconds=limits.seconds + 30)


class _Runner(NamedTuple):
    folders: Folders
    codes: CodeStore | None
    limits: Limits
    keep: Path | None
    protected: Protection

    async def run(self, arguments: dict[str, Any]) -> str:
        limits = replace(self.limits, seconds=float(arguments.get("seconds", self.limits.seconds)))
        place = Place()
        try:
            folder, given = await in_thread(place.use, self._prepare, arguments)
            ran = await confined(folder / "program.py", folder, limits, self.protected)
            left = await in_thread(place.use, lambda _: collect_files(folder / "work", given, self.keep, limits.disk))
            return self._result(ran, limits, left)
        finally:
            with suppress(TimeoutError):  # it is removed later, when nobody writes to it
                async with asyncio.timeout(REMOVING):
                    await in_thread(place.remove)

    def _prepare(self, folder: Path, arguments: dict[str, Any]) -> tuple[Path, set[str]]:
        """Write the program, and copy the files that it may read, and only those; their names in its folder."""
        (folder / "program.py").write_text(self._code(arguments), encoding="utf-8", errors="replace")
        (folder / "work").mkdir()
        (folder / "home").mkdir()
        given: set[str] = set()
        room = MOST_GIVEN
        for path in arguments.get("files", ()):
            with self.folders.open(path) as opened:
                room -= opened.size
                if room < 0:
                    most = size_text(MOST_GIVEN)
                    raise ToolFailed(says(self.folders.locale, f"files of more than {most}", f"文件总量超过 {most}"))
                named = opened.path if path.startswith("/") else str(PurePosixPath(path))  # as the program names it
                shown = PurePosixPath(named).name if named.startswith("/") else named
                copy_bytes(opened.file, folder / "work" / shown, opened.size)
                given.add(shown)
        return folder, given

    def _code(self, arguments: dict[str, Any]) -> str:
        code, code_id = arguments.get("code"), arguments.get("code_id")
        if (code is None) == (code_id is None):
            raise ToolFailed(
                says(self.folders.locale, "give either 'code' or 'code_id'", "请提供 code 或 code_id 之一")
            )
        if code is not None:
            return str(code)
        if self.codes is None:
            raise ToolFailed(says(self.folders.locale, "there is no saved code", "没有已保存的代码"))
        try:
            saved = self.codes.find(str(code_id))
            if saved.language != "python":
                raise ToolFailed(
                    says(
                        self.folders.locale,
                        f"{code_id} is {saved.language}, not python",
                        f"{code_id} 是 {saved.language}，不是 python",
                    )
                )
            return self.codes.read(str(code_id))
        except (BadInput, StoreError) as error:
            raise ToolFailed(str(error)) from error

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
            files = [f"{each.shown} ({size_text(each.size)})" for each in left.files if each.kept == kept]
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
