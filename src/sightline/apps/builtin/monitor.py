"""A monitor of this machine: CPU, memory, disk, processes."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct

from sightline.apps import Element, Lod, Page, Refused, action
from sightline.apps.builtin.app import BuiltinApp
from sightline.values.clock import iso

FRESH = 5000  # milliseconds between measurements, because measuring costs CPU time
FIRST = 0.1  # seconds that the first measurement takes; a later one covers the time since the one before
TOP = {Lod.SUMMARY: 3, Lod.FULL: 10}  # processes shown
LIMITS = {"cpu": (70, 90), "memory": (80, 90), "disk": (85, 95)}  # percent: WARN, CRIT
GIGABYTE, MEGABYTE = 2**30, 2**20


class Amount(Struct, frozen=True):
    """How much of something is used, in bytes."""

    used: int = 0
    total: int = 0
    percent: float = 0.0

    def __str__(self) -> str:
        return f"{self.used / GIGABYTE:.1f}/{self.total / GIGABYTE:.1f}GB"


class Process(Struct, frozen=True):
    """A process: percent of one core, bytes of memory."""

    pid: int
    name: str
    cpu: float
    memory: int


class Monitor(BuiltinApp):
    """Watch the machine: CPU, memory, the disk that the project is on, and the processes that take most."""

    name = "monitor"
    zh = "系统监视器：CPU、内存、项目所在磁盘、占用最多的进程"
    at: int  # when all this was measured: milliseconds since 1970
    cpu: float  # percent of all cores
    cores: list[float]
    load: list[float]  # over 1, 5 and 15 minutes
    memory: Amount
    disk: Amount
    processes: list[Process]  # the first by CPU and the first by memory
    by: Literal["cpu", "memory"]

    def __init__(self) -> None:
        self.at, self.cpu, self.cores, self.load = 0, 0.0, [], []
        self.memory, self.disk = Amount(), Amount()
        self.processes, self.by = [], "cpu"
        self._problem = ""  # why nothing could be measured
        self._begun = False  # whether there was a measurement

    def opened(self) -> None:
        self._measure()

    def refresh(self) -> bool:
        """Measure again if the last measurement is more than 5 seconds old."""
        if self._is_fresh():
            return False
        before, self._problem = self._problem, ""
        try:
            self._measure()
        except Refused as refused:
            self._problem = str(refused)
        return not self._problem or self._problem != before

    @action(label="Measure now", zh="立即测量")
    def sample(self) -> str:
        """Measure now, however short ago the last time is."""
        self._measure()
        self._problem = ""
        return self._line()

    @action(label="Sort the processes by cpu or memory", zh="进程排序：cpu 或 memory")
    def sort(self, by: Literal["cpu", "memory"]) -> str:
        """Show the processes that take most CPU, or most memory."""
        self.by = by
        return self._say("sorted by", by=by)

    def view(self, lod: Lod) -> Page:
        """GIST: one line; SUMMARY: a table and the first 3 processes; FULL: all that was measured, 10 processes."""
        title = self._say("monitor title")
        if self._problem or lod is Lod.GIST:
            return Page(title, (Element(tag="status", text=self._problem or self._line()),))
        resources = Element(tag="resources", text=self._say("resources title"), table=tuple(self._rows(lod)))
        return Page(title, (Element(tag="status", text=self._line()), resources, self._top(TOP[lod])))

    def _line(self) -> str:
        worst = max(self._level(name) for name in LIMITS)
        state, cpu, disk = f"{'✓⚠✗'[worst]} {self._status(worst)}", f"{self.cpu:.0f}%", f"{self.disk.percent:.0f}%"
        return self._say("machine", state=state, cpu=cpu, memory=self.memory, disk=disk)

    def _rows(self, lod: Lod) -> Iterator[tuple[str, ...]]:
        yield self._say("resource"), self._say("now"), self._say("status")
        yield "CPU", f"{self.cpu:.0f}%", self._status(self._level("cpu"))
        for name, amount in (("memory", self.memory), ("disk", self.disk)):
            yield self._say(name), f"{amount} ({amount.percent:.0f}%)", self._status(self._level(name))
        if lod is Lod.FULL:
            yield self._say("each core"), " ".join(f"{core:.0f}%" for core in self.cores), ""
            yield self._say("load"), " ".join(f"{n:.2f}" for n in self.load), ""
            yield self._say("measured"), iso(self.at), ""

    def _top(self, most: int) -> Element:
        processes = sorted(self.processes, key=lambda process: (-getattr(process, self.by), process.pid))[:most]
        rows = [("pid", self._say("name"), "CPU", self._say("memory"))]
        rows += [(str(p.pid), p.name, f"{p.cpu:.0f}%", f"{p.memory / MEGABYTE:.0f}MB") for p in processes]
        text = self._say(f"first by {self.by}", count=len(processes))
        return Element(tag="processes", text=text, table=tuple(rows))

    def _level(self, name: str) -> int:
        """Return 0 below both limits, 1 from the lower on, 2 from the higher on."""
        percent = {"cpu": self.cpu, "memory": self.memory.percent, "disk": self.disk.percent}[name]
        return sum(round(percent) >= limit for limit in LIMITS[name])  # rounded as it is shown

    def _status(self, level: int) -> str:
        return self._say(f"level {level}")

    # ------------------------------------------------------------------ measuring

    def _is_fresh(self) -> bool:
        return 0 <= self.host.clock() - self.at < FRESH

    def _measure(self) -> None:
        """Measure everything. Raises Refused if that is not possible."""
        try:
            psutil: Any = import_module("psutil")
        except ImportError as error:
            how = "pip install psutil"
            raise Refused(self._say("needs psutil", how=how)) from error
        begin = not self._begun or self._is_fresh()  # there is no measurement before, or it is too recent
        try:
            if begin:
                list(psutil.process_iter(["cpu_percent"]))
            cores = psutil.cpu_percent(interval=FIRST if begin else None, percpu=True)
            memory, disk = psutil.virtual_memory(), psutil.disk_usage(str(self.host.project))
            load, processes = list(psutil.getloadavg()), _processes(psutil)
        except (OSError, psutil.Error) as error:
            raise Refused(self._say("not measured", error=error)) from error
        self.cpu, self.cores = round(sum(cores) / max(1, len(cores)), 1), cores
        self.load, self.processes = load, processes
        self.memory = Amount(memory.total - memory.available, memory.total, memory.percent)
        self.disk = Amount(disk.used, disk.total, disk.percent)
        self.at, self._begun = self.host.clock(), True


def _processes(psutil: Any) -> list[Process]:
    """Return the processes that any view shows."""
    processes = [
        _process(process.info) for process in psutil.process_iter(["pid", "name", "cpu_percent", "memory_info"])
    ]
    most = max(TOP.values())
    first = {p for by in ("cpu", "memory") for p in sorted(processes, key=lambda p: (-getattr(p, by), p.pid))[:most]}
    return sorted(first, key=lambda process: process.pid)


def _process(info: dict[str, Any]) -> Process:
    """Read what the system says of a process. Of another user's process it may say nothing."""
    name = (info["name"] or "").encode("utf-8", "replace").decode()
    return Process(info["pid"], name, info["cpu_percent"] or 0.0, info["memory_info"].rss if info["memory_info"] else 0)
