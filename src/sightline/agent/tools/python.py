"""The tool that runs Python. Whoever gives it to an agent has decided that programs may be run at all."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.agent.tools import Tool
from sightline.agent.tools.arguments import Parameter, Wording, says, tool
from sightline.agent.tools.folders import Folders, printable
from sightline.agent.tools.sandbox import Limits, Protection, Ran, confined, protection
from sightline.code.store import CodeStore
from sightline.errors import BadInput, StoreError, ToolFailed
from sightline.wording import size_text

MOST_GIVEN = 200 << 20  # bytes of files that a program is given
MOST_NAMED = 50  # files it wrote

_ABOUT = Wording(
    "Run a Python program and get what it prints. It has no network, and sees only the files named in `files`, under "
    "the same paths; paths are relative to its own empty folder. Installed libraries can be imported. Give the program "
    "itself or the id of saved code. Files that it writes are listed.",
    "运行 Python 程序并返回其输出。程序不能联网，只能看到 files 中列出的文件（路径不变）；路径相对于它自己的空文件夹。"
    "可以导入已安装的库。提供程序代码或已保存代码的 ID。程序写出的文件会被列出。",
)
_PARAMETERS = (
    Parameter("code", "string", Wording("the program", "程序代码")),
    Parameter(
        "code_id", "string", Wording("id of saved code, instead of the program", "已保存代码的 ID，代替程序代码")
    ),
    Parameter("files", "array", Wording("paths of files that it reads", "程序要读取的文件路径")),
)


class Written(NamedTuple):
    """A file that a program left behind."""

    path: str
    size: int


def run_python(
    folders: Folders,
    codes: CodeStore | None = None,
    *,
    limits: Limits | None = None,
    keep: Path | None = None,
    locale: str = "en",
) -> Tool:
    """The tool that runs Python programs, confined. What they write is lost, unless there is a folder to `keep` it in.

    Raises:
        ToolFailed: this machine has no way to keep a program from the network.
    """
    protected = protection()
    if not protected.network:
        raise ToolFailed(_unavailable(locale))
    limits = limits or Limits()
    runner = _Runner(folders.saying(locale), codes, limits, keep, locale, protected)
    seconds = Parameter(
        "seconds",
        "integer",
        Wording("how long it may take", "时间上限（秒）"),
        least=1,
        most=max(1, int(limits.seconds)),
    )
    return tool("run_python", _ABOUT, (*_PARAMETERS, seconds), runner.run, locale, seconds=limits.seconds + 30)


def _unavailable(locale: str) -> str:
    return says(
        locale,
        "run_python is not available: this system offers no way to keep a program from the network",
        "run_python 不可用：本系统无法禁止程序联网",
    )


class _Runner(NamedTuple):
    folders: Folders
    codes: CodeStore | None
    limits: Limits
    keep: Path | None
    locale: str
    protected: Protection

    async def run(self, arguments: dict[str, Any]) -> str:
        code = self._code(arguments)
        limits = replace(self.limits, seconds=float(arguments.get("seconds", self.limits.seconds)))
        with tempfile.TemporaryDirectory(prefix="sightline-run-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            for inside in ("work", "home"):
                (folder / inside).mkdir()
            program = folder / "program.py"
            program.write_text(code, encoding="utf-8", errors="replace")
            given = self._given(arguments.get("files", ()), folder / "work")
            ran = await confined(program, folder, limits, self.protected)
            written = [each for each in _written(folder / "work") if each.path not in given]
            kept = _kept(folder / "work", written, self.keep) if self.keep and written else None
            return self._told(ran, limits, written, kept)

    def _code(self, arguments: dict[str, Any]) -> str:
        code, code_id = arguments.get("code"), arguments.get("code_id")
        if (code is None) == (code_id is None):
            raise ToolFailed(says(self.locale, "give either 'code' or 'code_id'", "请提供 code 或 code_id 之一"))
        if code is not None:
            return str(code)
        if self.codes is None:
            raise ToolFailed(says(self.locale, "there is no saved code", "没有已保存的代码"))
        try:
            saved = self.codes.find(str(code_id))
            if saved.language != "python":
                text = (f"{code_id} is {saved.language}, not python", f"{code_id} 是 {saved.language}，不是 python")
                raise ToolFailed(says(self.locale, *text))
            return self.codes.read(str(code_id))
        except (BadInput, StoreError) as error:
            raise ToolFailed(str(error)) from error

    def _given(self, paths: Sequence[str], work: Path) -> set[str]:
        """Copy the files that the program may read into its folder, and only those."""
        given: set[str] = set()
        room = MOST_GIVEN
        for path in paths:
            with self.folders.open(path) as opened:
                room -= opened.size
                if room < 0:
                    text = (f"files of more than {size_text(MOST_GIVEN)}", f"文件总量超过 {size_text(MOST_GIVEN)}")
                    raise ToolFailed(says(self.locale, *text))
                shown = opened.path if not opened.path.startswith("/") else PurePosixPath(opened.path).name
                target = work / shown
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as copy:
                    shutil.copyfileobj(opened.file, copy)
                given.add(shown)
        return given

    def _told(self, ran: Ran, limits: Limits, written: Sequence[Written], kept: str | None) -> str:
        parts = [f"[{self._ending(ran, limits)}]", ran.out.rstrip("\n")]
        if ran.err.strip():
            parts += [says(self.locale, "[errors]", "[错误输出]"), ran.err.rstrip("\n")]
        if written:
            named = ", ".join(f"{each.path} ({size_text(each.size)})" for each in written[:MOST_NAMED])
            where = (
                says(self.locale, f"kept in {kept}", f"保存在 {kept}")
                if kept
                else says(self.locale, "not kept", "未保留")
            )
            parts.append(says(self.locale, f"[files written, {where}: {named}]", f"[写出的文件，{where}：{named}]"))
        return "\n".join(part for part in parts if part)

    def _ending(self, ran: Ran, limits: Limits) -> str:
        match ran.stopped:
            case "time":
                seconds = f"{limits.seconds:g}"
                return says(self.locale, f"stopped after {seconds} s", f"超过 {seconds} 秒，已停止")
            case "disk":
                return says(self.locale, "stopped: it wrote too much", "写入过多，已停止")
            case _:
                return says(self.locale, f"exit status {ran.status}", f"退出状态 {ran.status}")


def _written(work: Path) -> Iterator[Written]:
    """The regular files in a folder, by name. Links are none: where they lead is not the program's."""
    for place, folders, names in os.walk(work):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            state = path.lstat()
            if stat.S_ISREG(state.st_mode) and state.st_nlink == 1:  # a second name of a file may be another's
                yield Written(printable(path.relative_to(work).as_posix()), state.st_size)


def _kept(work: Path, written: Sequence[Written], keep: Path) -> str:
    """Copy what a program wrote into a folder of its own, and say where."""
    keep.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(each.name[4:]) for each in keep.glob("run_*") if each.name[4:].isdigit()), default=0)
    target = keep / f"run_{number:04d}"
    target.mkdir()
    for each in written:
        source = work / each.path
        if source.is_file():  # not one whose name could not be shown
            (target / each.path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / each.path, follow_symlinks=False)
    return str(target)
