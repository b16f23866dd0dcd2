"""The monitor: real numbers, and how they are shown."""

import os
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.apps import Refused
from sightline.apps.builtin.monitor import GIGABYTE, Amount, Monitor, Process
from sightline.testing import MemoryStore, Ticking


def session(project: Path, clock: Any = None, **settings: Any) -> sl.Session:
    return sl.Session(
        MemoryStore(), apps=["monitor"], project=project, clock=clock or Ticking(step=1),
        settings=sl.Settings(**settings) if settings else None,
    )  # fmt: skip


def monitor(of: sl.Session) -> Monitor:
    """The app in the session's first window."""
    app = of.windows.all()[0].app
    assert isinstance(app, Monitor)
    return app


def measured(app: Monitor, cpu: float, memory: float, disk: float) -> None:
    """Numbers that a test can count on."""
    app.cpu, app.cores, app.load = cpu, [cpu, cpu], [0.5, 0.25, 0.125]
    app.memory = Amount(4 * GIGABYTE, 16 * GIGABYTE, memory)
    app.disk = Amount(50 * GIGABYTE, 100 * GIGABYTE, disk)
    app.processes = [Process(pid, f"p{pid}", float(pid % 7), pid * 2**20) for pid in range(1, 21)]


def line(app: Monitor) -> str:
    [element] = app.page(sl.Lod.GIST).elements
    return element.text


def test_it_measures_this_machine(tmp_path: Path) -> None:
    """Memory, disk and cores are those that the system has, and so are the processes."""
    of = session(tmp_path)
    of.windows.open("monitor")
    app = monitor(of)
    assert app.memory.total == psutil.virtual_memory().total
    assert app.disk.total == psutil.disk_usage(str(tmp_path)).total
    assert len(app.cores) == psutil.cpu_count()
    assert 0 <= app.cpu <= 100
    assert 0 < app.memory.used < app.memory.total
    assert 0 < len(app.processes) <= 20
    assert max(process.memory for process in app.processes) > 0


@pytest.mark.accepts(140)
def test_a_gist_is_one_line(tmp_path: Path) -> None:
    """As the prototype has it, in English and in Chinese."""
    of = session(tmp_path)
    of.windows.open("monitor")
    measured(monitor(of), 12, 25, 50)
    assert line(monitor(of)) == "System ✓ OK | CPU 12% | Mem 4.0/16.0GB | Disk 50%"
    of.windows.show_as("zh", "xml")
    assert line(monitor(of)) == "系统 ✓ 正常 | CPU 12% | 内存 4.0/16.0GB | 磁盘 50%"


@pytest.mark.parametrize(
    ("cpu", "memory", "disk", "state"),
    [
        (69, 79, 84, "✓ OK"), (70, 0, 0, "⚠ WARN"), (0, 80, 0, "⚠ WARN"), (0, 0, 85, "⚠ WARN"), (89, 89, 94, "⚠ WARN"),
        (90, 0, 0, "✗ CRIT"), (0, 90, 0, "✗ CRIT"), (0, 0, 95, "✗ CRIT"), (70, 90, 85, "✗ CRIT"),
        (69.6, 0, 0, "⚠ WARN"),
    ],
)  # fmt: skip
def test_the_worst_of_three_is_the_state(tmp_path: Path, cpu: float, memory: float, disk: float, state: str) -> None:
    """CPU from 70 and 90 percent, memory from 80 and 90, disk from 85 and 95; as rounded as it is shown."""
    of = session(tmp_path)
    of.windows.open("monitor")
    measured(monitor(of), cpu, memory, disk)
    assert line(monitor(of)).startswith(f"System {state} | ")


def test_levels_show_more_and_more(tmp_path: Path) -> None:
    """SUMMARY: a table of three and three processes; FULL: cores, load, time and ten processes."""
    of = session(tmp_path)
    of.windows.open("monitor")
    app = monitor(of)
    measured(app, 75, 25, 96)
    _, resources, processes = app.page(sl.Lod.SUMMARY).elements
    assert resources.table == (
        ("resource", "now", "status"),
        ("CPU", "75%", "WARN"),
        ("memory", "4.0/16.0GB (25%)", "OK"),
        ("disk", "50.0/100.0GB (96%)", "CRIT"),
    )
    assert processes.table[1:] == (("6", "p6", "6%", "6MB"), ("13", "p13", "6%", "13MB"), ("20", "p20", "6%", "20MB"))
    _, resources, processes = app.page(sl.Lod.FULL).elements
    assert [row[0] for row in resources.table[4:]] == ["each core", "load in 1, 5, 15 min", "measured"]
    assert resources.table[5][1] == "0.50 0.25 0.12"
    assert len(processes.table) == 11


def test_processes_are_sorted_by_what_is_asked(tmp_path: Path) -> None:
    """By memory or CPU; anything else is refused with the choices."""
    of = session(tmp_path)
    of.windows.open("monitor")
    assert of.windows.act("monitor_1", "sort", by="memory").success
    measured(monitor(of), 0, 0, 0)
    assert [row[0] for row in monitor(of).page(sl.Lod.SUMMARY).elements[2].table] == ["pid", "20", "19", "18"]
    assert "cpu|memory" in of.windows.act("monitor_1", "sort", by="name").message


def test_it_measures_at_most_once_in_some_seconds_unless_told(tmp_path: Path) -> None:
    """What was measured holds for five seconds, and shows the same bytes; `sample` measures at once."""
    clock = Ticking(step=1)
    of = session(tmp_path, clock)
    of.windows.open("monitor")
    first, shown = monitor(of).at, of.windows.shown(10**9, lambda _, text: len(text))
    assert of.windows.shown(10**9, lambda _, text: len(text)) == shown
    assert monitor(of).at == first
    clock.wait(5)
    of.windows.shown(10**9, lambda _, text: len(text))
    assert monitor(of).at > first
    second = monitor(of).at
    assert of.windows.act("monitor_1", "sample").message.startswith("System ")
    assert monitor(of).at > second


def test_a_clock_that_goes_back_does_not_stop_it(tmp_path: Path) -> None:
    """A measurement of the future is none."""
    of = session(tmp_path)
    of.windows.open("monitor")
    monitor(of).at += 10**9
    assert monitor(of).refresh()


def test_without_psutil_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window does not open, an action is refused, and an open window says why it shows nothing, once."""
    clock = Ticking(step=1)
    of = session(tmp_path, clock)
    of.windows.open("monitor")
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(Refused, match=r"pip install psutil"):
        of.windows.open("monitor")
    assert "pip install psutil" in of.windows.act("monitor_1", "sample").message
    clock.wait(5)
    assert "pip install psutil" in of.windows.shown(10**9, lambda _, text: len(text))["monitor_1"]
    version = of.windows.all()[0].document.version
    assert "pip install psutil" in of.windows.shown(10**9, lambda _, text: len(text))["monitor_1"]
    assert of.windows.all()[0].document.version == version
    monkeypatch.undo()
    assert "CPU" in of.windows.shown(10**9, lambda _, text: len(text))["monitor_1"]


def test_a_disk_that_cannot_be_measured_is_told(tmp_path: Path) -> None:
    """A project that is gone is no crash."""
    of = session(tmp_path / "nowhere")
    with pytest.raises(Refused, match="cannot be measured"):
        of.windows.open("monitor")


@pytest.mark.parametrize("form", ["xml", "markdown"])
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_it_speaks_both_languages_in_both_forms(tmp_path: Path, locale: str, form: str) -> None:
    """The same data give the same bytes; a higher level has every action of a lower one; XML parses."""
    of = session(tmp_path, locale=locale, windows=form)
    of.windows.open("monitor")
    app, offered = monitor(of), set[str]()
    app.processes = [Process(1, "</row> | **[x]** [button:sample] & \ufffe", 1.0, 1)]
    for lod in sl.Lod:
        of.windows.lod("monitor_1", lod)
        window = of.windows.all()[0]
        shown = window.render()
        assert ("系统" if locale == "zh" else "System") in shown
        assert app.page(lod) == app.page(lod)
        assert offered <= set(window.context().anchors)
        offered = set(window.context().anchors)
        if form == "xml":
            rows = ElementTree.fromstring(shown).findall("./Content/processes/row")
            assert len(rows) == (0 if lod is sl.Lod.GIST else 2)
    assert offered == {"sample", "sort", "close"}


@pytest.mark.slow
@given(st.text(), st.floats(0, 100), st.floats(0, 10_000), st.integers(0, 2**50))
def test_whatever_is_measured_can_be_shown_and_saved(name: str, percent: float, cpu: float, memory: int) -> None:
    """Every level renders, and what is saved is restored equal."""
    of = session(Path())
    app = Monitor()
    app.host = of.windows
    measured(app, percent, percent, percent)
    app.processes = [Process(1, name, cpu, memory)]
    pages = [app.page(lod) for lod in sl.Lod]
    twin = Monitor()
    twin.host = of.windows
    twin.restore(app.save())
    assert [twin.page(lod) for lod in sl.Lod] == pages


@pytest.mark.accepts(364)
def test_a_resumed_monitor_measures_anew(tmp_path: Path) -> None:
    """How it is sorted is kept; its numbers are those of now."""
    options: dict[str, Any] = {"root": tmp_path / "logs", "apps": ["monitor"], "clock": Ticking(step=1)}
    of = sl.Session.new(tmp_path, session_id="one", **options)
    window = of.windows.open("monitor")
    of.windows.act(window, "sort", by="memory")
    at = monitor(of).at
    of.close()
    options["clock"].wait(60)
    resumed = sl.Session.resume("one", tmp_path, **options)
    app = monitor(resumed)
    assert (app.at, app.by) == (at, "memory")
    assert "CPU" in resumed.windows.shown(10**9, lambda _, text: len(text))[window]
    assert app.at > at
    resumed.close()


@pytest.mark.slow
def test_importing_the_app_does_not_import_psutil() -> None:
    """Only measuring needs it."""
    code = "import sys, sightline.apps.builtin.monitor; sys.exit('psutil' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
