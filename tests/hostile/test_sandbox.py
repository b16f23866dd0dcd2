"""Hostile programs for `run_python`: however many processes they start, all of them together have the limits of one."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from tests.conftest import SOAK, Tried

from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import run_python
from sightline.agent.tools.sandbox import workdir
from sightline.agent.tools.sandbox.run import Limits, Protection, Ran, confined, protection
from sightline.agent.tools.sandbox.usage import overuse

WAYS = {"all": protection()}
if protection().namespaces:
    WAYS["namespaces"] = Protection(namespaces=True)
if protection().seccomp:
    WAYS["seccomp"] = Protection(seccomp=True)
ROUNDS = 10 if SOAK else 1
PATIENCE = 3 if os.getuid() else 30  # seconds: root's bombs are stopped, which takes time on a busy machine

BOMBS = {
    "fork": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
    "slow fork": "import os, time\nfor _ in range(200):\n    try:\n        if not os.fork(): time.sleep(600)\n"
    "    except OSError: pass\ntime.sleep(600)\n",
    "threads": "import threading, time\nfor _ in range(30):\n"
    "    try: threading.Thread(target=time.sleep, args=(600,)).start()\n"
    "    except RuntimeError: pass\ntime.sleep(600)\n",
    "orphans": "import os, time\nif os.fork(): time.sleep(600)\nwhile True:\n    try:\n"
    "        if os.fork() and os.fork(): os._exit(0)\n    except OSError: pass\n",
}
FILLING = (
    "import os, time\n"
    "for _ in range({children}):\n"
    "    if not os.fork():\n"
    "        kept = b'x' * ({mb} << 20)\n"
    "        time.sleep(600)\n"
    "time.sleep({seconds})\n"
    "os._exit(0)\n"
)


def ran(folder: Path, code: str, protected: Protection, **limits: float) -> Ran:
    """What came of a program, protected in this way only; none of its processes is left."""
    for inside in ("work", "home"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(code)
    done = asyncio.run(confined(folder / "program.py", folder, Limits(**{"seconds": 30, **limits}), protected))
    assert not [process for process in Path("/proc").glob("[0-9]*") if str(folder) in _command(process)]
    return done


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.slow("orphans-seccomp")
@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_program_that_multiplies_is_stopped(tmp_path: Path, bomb: str, protected: Protection, tried: Tried) -> None:
    """It is ended with all its processes, or the kernel gives it no more of them until its time is over."""
    for round_ in range(ROUNDS):
        stopped = ran(
            tmp_path / str(round_), BOMBS[bomb], protected, seconds=PATIENCE, processes=16, memory_mb=8192
        ).stopped
        assert stopped == "processes" if os.getuid() == 0 else stopped in ("processes", "time")
    tried("fork bombs", ROUNDS)


@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
def test_memory_is_bounded_for_all_processes_together(tmp_path: Path, protected: Protection, tried: Tried) -> None:
    """2 GB in eight children, each within the limit of one process, are too much; an eighth of that is not.

    With one layer alone, in small: what is measured does not depend on the layers.
    """
    limit, each = (1024, 256) if protected == protection() else (256, 64)
    for round_ in range(ROUNDS):
        too_much = FILLING.format(children=8, mb=each, seconds=600)
        assert ran(tmp_path / f"{round_}a", too_much, protected, memory_mb=limit).stopped == "memory"
        enough = FILLING.format(children=8, mb=each // 8, seconds=0.3)
        assert ran(tmp_path / f"{round_}b", enough, protected, memory_mb=limit) == Ran(0, "", "")
    tried("programs that fill memory", 2 * ROUNDS)


@pytest.mark.slow
def test_shared_memory_counts_once(tmp_path: Path) -> None:
    """Ten children of a program that has a fifth of its memory: twice the limit if each counted all of it."""
    code = (
        "import os, time\nkept = b'x' * (200 << 20)\n"
        "for _ in range(10):\n    if not os.fork(): time.sleep(600)\ntime.sleep(0.3)\nos._exit(0)\n"
    )
    assert ran(tmp_path / "run", code, protection()) == Ran(0, "", "")


def test_a_process_that_hides_its_shares_counts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is not taken for nothing."""
    here = os.getsid(0)
    assert overuse(here, 1 << 50, 1 << 30) == ""
    assert overuse(here, 1 << 20, 1 << 30) == "memory"
    monkeypatch.setattr("sightline.agent.tools.sandbox.usage._SHARE", re.compile(rb"nothing"))
    assert overuse(here, 1 << 20, 1 << 30) == "memory"
    assert overuse(here, 1 << 50, 0) == "processes"


@pytest.mark.slow
def test_what_a_program_may_have_is_not_stopped(tmp_path: Path) -> None:
    """A pool of processes and threads within the limits does its work."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor\nimport subprocess, sys\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(sum(pool.map(lambda n: int(subprocess.run([sys.executable, '-IS', '-c', f'print({n})'],"
        " capture_output=True).stdout), range(16))))\n"
    )
    assert ran(tmp_path / "run", code, protection()) == Ran(0, "120\n", "")


@pytest.mark.parametrize(
    ("locale", "code", "said"),
    [
        ("en", BOMBS["slow fork"], "[stopped: it had more than 16 processes and threads]"),
        ("zh", BOMBS["slow fork"], "[进程和线程超过 16 个，已停止]"),
        ("en", "open('a', 'w').write('x')", "[no more files are kept: "),
        ("zh", "open('a', 'w').write('x')", "[不再保留文件："),
    ],
)
def test_the_model_is_told_what_was_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str, code: str, said: str
) -> None:
    """In its language."""
    monkeypatch.setattr(workdir, "MOST_KEPT", 0)
    limits = Limits(seconds=20, processes=16)
    tool = run_python(Folders([tmp_path]), limits=limits, keep=tmp_path / "runs", locale=locale)
    answer = asyncio.run(tool.run({"code": code}))
    assert isinstance(answer, str)
    if os.getuid() == 0 or "kept" in said or "保留" in said:  # others than root are not stopped, but get no more
        assert said in answer
