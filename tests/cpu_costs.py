"""What each test costs in seconds of CPU, and the slow tier that is made from it.

A test that costs SLOW or more carries `@pytest.mark.slow` and is run by `make slow`, so that `make test` stays short:
`@pytest.mark.slow("a", "b")` means the cases [a] and [b] alone. So do the dearer ones of many cases of one promise. A
run ends with the sum, and with the tests that cost more than twice SLOW without the mark: other programs on the machine
make a second of CPU longer. `pytest --costs FILE` measures also processes that are still running, and writes a line for
each test; `tools/slow_tests.py` makes marks from such files.

What a fixture of several tests costs is nobody's.
"""

import json
import resource
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

SLOW = 0.3
_THIS_PROCESS = psutil.Process()


class Costs:
    """A plugin that measures each test where it runs, and adds up where the reports come together."""

    def __init__(self, config: pytest.Config) -> None:
        self._file: Path | None = config.getoption("costs")
        self._is_worker = hasattr(config, "workerinput")
        self._costs: dict[str, float] = {}
        self._unmarked: dict[str, float] = {}  # those that are not in the slow tier
        self._begun = self._shared = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A mark that names cases is of no others."""
        for item in items:
            mark = item.get_closest_marker("slow")
            if mark is not None and mark.args and item.name.partition("[")[2].removesuffix("]") not in mark.args:
                item.own_markers.remove(mark)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """A test begins."""
        self._begun, self._shared = self._spent(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """A fixture of several tests is not of the one that comes first."""
        if fixturedef.scope == "function":
            return (yield)
        begun, shared = self._spent(), self._shared
        try:
            return (yield)
        finally:
            self._shared = shared + self._spent() - begun  # what such a fixture needs of others is in it

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """The last report of a test says what all of it has cost."""
        report = yield
        if call.when == "teardown":
            report.user_properties = [*report.user_properties, ("cpu", self._spent() - self._begun - self._shared)]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test has cost."""
        if report.when == "teardown" and not self._is_worker:
            cost = dict(report.user_properties)["cpu"]
            self._costs[report.nodeid] = cost
            if not {"slow", "soak"} & set(report.keywords):
                self._unmarked[report.nodeid] = cost

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The sum, and what ought to be in the slow tier."""
        slow = sorted((-cost, name) for name, cost in self._unmarked.items() if cost > 2 * SLOW)
        terminalreporter.write_line(f"{sum(self._costs.values()):,.0f} s of CPU in {len(self._costs):,} tests")
        for cost, name in slow[:20]:
            terminalreporter.write_line(f"  {-cost:5.1f} s without the mark slow: {name}")
        if self._file is not None:
            lines = [json.dumps({"test": name, "cpu": round(cost, 3)}) for name, cost in self._costs.items()]
            self._file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _spent(self) -> float:
        """Seconds that this process has used, and those that it started."""
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        seconds = sum(usage.ru_utime + usage.ru_stime for usage in used)
        if self._file is not None:
            seconds += sum(map(_seconds, _THIS_PROCESS.children(recursive=True)))
        return seconds


def _seconds(process: psutil.Process) -> float:
    try:
        times: Any = process.cpu_times()
    except psutil.Error:  # it has just ended
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
