"""Programs that nobody has read: what they can do, and what they cannot. Tried on this machine's own kernel."""

import ast
import asyncio
import json
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace
from tool_project import SECRET, Project, called

from sightline.agent.tools import Tool
from sightline.agent.tools.program import run_python
from sightline.agent.tools.sandbox import run
from sightline.agent.tools.sandbox.run import Limits, Protection, Ran, confined, protection
from sightline.errors import ToolFailed

# Everything that this machine has, and each way to keep a program from the network alone.
WAYS = {"all": protection()}
if protection().namespaces:
    WAYS["namespaces"] = Protection(namespaces=True)
if protection().seccomp:
    WAYS["seccomp"] = Protection(seccomp=True)


@pytest.fixture
def python(here: Project) -> Tool:
    """The tool, with time enough on a busy machine."""
    return run_python(here.folders, here.codes, limits=Limits(seconds=60), keep=here.root / "runs")


@pytest.fixture
def listening() -> Iterator[tuple[int, list[str]]]:
    """The port of a server on this machine, and who reached it."""
    reached: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                connection.close()
                reached.append(str(address))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], reached
        finally:
            stop.set()
            thread.join()


def ran(folder: Path, code: str, protected: Protection | None = None, **limits: float) -> Ran:
    """What came of a program, protected in this way only."""
    for inside in ("work", "home"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
    program = folder / "program.py"
    program.write_text(code)
    return asyncio.run(confined(program, folder, Limits(**{"seconds": 10, **limits}), protected))


def test_this_machine_offers_protection() -> None:
    """There is a way to keep a program from the network, and one to keep it from files: the tests below show both."""
    assert protection().network
    assert protection().landlock


def test_a_program_runs_and_its_output_is_given(here: Project, python: Tool) -> None:
    """What it prints, its errors, its status, and the files that it wrote, which are kept."""
    code = "import sys\nprint(1 + 2)\nprint('oh', file=sys.stderr)\nopen('out.txt', 'w').write('result')\nsys.exit(3)"
    answer = called(python, code=code)
    kept = here.root / "runs" / "run_0001"
    assert answer == f"[exit status 3]\n3\n[errors]\noh\n[files written, kept in {kept}: out.txt (6B)]"
    assert (kept / "out.txt").read_text() == "result"
    chinese = run_python(here.folders, locale="zh")
    assert called(chinese, code="open('a', 'w')") == "[退出状态 0]\n[写出的文件，未保留：a (0B)]"


def test_saved_code_is_run_by_its_id(here: Project, python: Tool) -> None:
    """If it is Python."""
    here.codes.store("code_sum", "print(40 + 2)")
    here.codes.store("code_page", "<p>", language="html")
    assert called(python, code_id="code_sum") == "[exit status 0]\n42"
    with pytest.raises(ToolFailed, match="html, not python"):
        called(python, code_id="code_page")
    with pytest.raises(ToolFailed, match="no code 'code_none'"):
        called(python, code_id="code_none")


def test_it_sees_the_files_it_is_given_and_no_others(here: Project, python: Tool) -> None:
    """Under their paths; what it does to them is done to a copy."""
    code = (
        "print(open('data/sales.csv').readline()); open('data/sales.csv', 'w').close(); print(open('notes.txt').read())"
    )
    before = (here.root / "data" / "sales.csv").read_text()
    answer = called(python, code=code, files=["data/sales.csv"])
    assert "date,product,note" in answer
    assert "FileNotFoundError" in answer
    assert (here.root / "data" / "sales.csv").read_text() == before


CONNECT = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=2)
    print("CONNECTED")
except OSError as error:
    print("refused", type(error).__name__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
def test_there_is_no_network(tmp_path: Path, listening: tuple[int, list[str]], protected: Protection) -> None:
    """Neither for the program nor for a process of its process, with either way alone."""
    port, reached = listening
    with socket.create_connection(("127.0.0.1", port)):  # it can be reached from here
        pass
    inner = CONNECT.format(port=port)
    middle = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {inner!r}])"
    outer = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {middle!r}])"
    for code in (inner, outer):
        result = ran(tmp_path / "run", code, protected)
        assert "refused" in result.out, result
        assert "CONNECTED" not in result.out
    assert len(reached) <= 1


@pytest.mark.slow
def test_no_socket_of_any_kind_is_had(tmp_path: Path) -> None:
    """By the filter: not of the system's services either; a pair of streams, which many libraries need, is."""
    code = (
        "import socket, asyncio\n"
        "for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):\n"
        "    try: socket.socket(family, socket.SOCK_DGRAM); print('HAD')\n"
        "    except PermissionError: print('denied')\n"
        "try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print('HAD')\n"
        "except PermissionError: print('denied')\n"
        "asyncio.run(asyncio.sleep(0)); print('fine')\n"
    )
    assert ran(tmp_path / "run", code, Protection(seccomp=True)).out.split() == ["denied"] * 5 + ["fine"]


def test_it_reads_and_writes_nothing_outside(here: Project, python: Tool, tmp_path: Path) -> None:
    """Neither the user's files nor the system's secrets nor other processes; not through a link, not as a child."""
    target = tmp_path / "victim.txt"
    target.write_text("whole")
    code = (
        "import os, subprocess\n"
        f"secret, victim = {str(here.outside / 'secret.txt')!r}, {str(target)!r}\n"
        "os.symlink(secret, 'link')\n"
        "for path in (secret, 'link', '/etc/passwd', '/proc/1/environ', '/proc/self/root' + secret):\n"
        "    try: print('READ', open(path).read())\n"
        "    except OSError as error: print(type(error).__name__)\n"
        "for attempt in (lambda: open(victim, 'w'), lambda: os.remove(victim), lambda: os.link(victim, 'hard'),\n"
        "                lambda: os.listdir('/root'), lambda: os.mkdir('/tmp/made')):\n"
        "    try: attempt(); print('DONE')\n"
        "    except OSError as error: print(type(error).__name__)\n"
        "print(subprocess.run(['/bin/cat', secret], capture_output=True, text=True))\n"
    )
    answer = called(python, code=code)
    assert "READ" not in answer
    assert "DONE" not in answer
    assert SECRET not in answer
    assert answer.count("PermissionError") >= 8
    assert target.read_text() == "whole"


def test_links_that_it_leaves_are_not_kept(here: Project, python: Tool) -> None:
    """What is kept of its files is only what it wrote."""
    code = f"import os\nos.symlink({str(here.outside / 'secret.txt')!r}, 'a')\nos.symlink('/etc', 'b')\nopen('c', 'w')"
    assert "c (0B)]" in called(python, code=code)
    assert [path.name for path in (here.root / "runs" / "run_0001").iterdir()] == ["c"]


CHANGES = (
    "os.chmod(path, 0o777), os.fchmod(own, 0o777), call(452, -100, path.encode(), 0o777, 0)",
    "os.chown(path, -1, -1), os.lchown(path, -1, -1), os.fchown(own, -1, -1)",
    "os.utime(path), os.utime(path, (0, 0)), os.utime(path, follow_symlinks=False), os.utime(own)",
    "os.setxattr(path, 'user.a', b'1'), os.setxattr(path, 'user.a', b'1', follow_symlinks=False), "
    "os.setxattr(own, 'user.a', b'1'), call(463, -100, path.encode(), 0, b'user.a', bytes(16), 16)",
    "os.removexattr(path, 'user.a'), os.removexattr(path, 'user.a', follow_symlinks=False), "
    "os.removexattr(own, 'user.a'), call(466, -100, path.encode(), 0, b'user.a')",
    "call(469, -100, path.encode(), bytes(24), 24, 0), fcntl.ioctl(own, 0x40086602, bytes(8))",
    "os.truncate(path, 0), os.open(own_path, os.O_RDONLY | os.O_TRUNC), os.open(path, 3)",
)


@pytest.mark.parametrize("protected", [WAYS["all"], Protection(seccomp=True)], ids=["all", "seccomp"])
def test_no_file_is_changed_in_what_is_said_of_it(tmp_path: Path, protected: Protection) -> None:
    """Mode, owner, times, attributes and length of the user's files stay as they are, by whatever call it is tried."""
    victim = tmp_path / "victim.txt"
    victim.write_text("whole")
    victim.chmod(0o640)
    before = victim.stat()
    tries = [f"lambda: {each}" for each in _separate(", ".join(CHANGES))]
    code = (
        "import ctypes, errno, fcntl, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(*given):\n"
        "    if libc.syscall(*given) == -1: raise OSError(ctypes.get_errno(), 'call')\n"
        f"path, own_path = {str(victim)!r}, 'own.txt'\n"
        "own = os.open(own_path, os.O_RDWR | os.O_CREAT)\n"
        f"for attempt in ({', '.join(tries)},):\n"
        "    try: attempt(); print('DONE')\n"
        "    except OSError as error: print(errno.errorcode[error.errno])\n"
    )
    result = ran(tmp_path / "run", code, protected)
    assert set(result.out.split()) <= {"EPERM", "ENOTTY"}, result
    assert len(result.out.split()) == len(tries)
    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_size,
    )


def _separate(calls: str) -> list[str]:
    """The expressions of a tuple."""
    parsed = ast.parse(f"({calls},)", mode="eval").body
    assert isinstance(parsed, ast.Tuple)
    return [ast.unparse(each) for each in parsed.elts]


@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
def test_it_reaches_no_other_process(tmp_path: Path, protected: Protection) -> None:
    """No signal, limit, priority or trace of it arrives at another process of the same user."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        try:
            code = (
                "import fcntl, os, resource, signal\n"
                f"other = {other.pid}\n"
                "reading, writing = os.pipe()\n"
                "for attempt in (lambda: os.kill(other, 0), lambda: os.kill(other, signal.SIGKILL),\n"
                "                lambda: os.setpriority(os.PRIO_PROCESS, other, 19),\n"
                "                lambda: os.sched_setaffinity(other, {0}),\n"
                "                lambda: resource.prlimit(other, resource.RLIMIT_CPU, (1, 1)),\n"
                "                lambda: fcntl.fcntl(reading, fcntl.F_SETOWN, other)):\n"
                "    try: attempt(); print('DONE')\n"
                "    except OSError as error: print('refused')\n"
            )
            result = ran(tmp_path / "run", code, protected)
            assert result.out.split() == ["refused"] * 6, result
            assert other.poll() is None
        finally:
            other.kill()


def test_what_else_the_kernel_offers_is_closed(tmp_path: Path) -> None:
    """Rings, faults, programs in the kernel, counters, keys, watches, mounts, its log, and calls of tomorrow."""
    calls = {
        "x86_64": (425, 323, 321, 298, 250, 294, 300, 165, 428, 103, 272, 437, 471),
        "aarch64": (425, 282, 280, 241, 219, 26, 262, 40, 428, 116, 97, 437, 471),
    }[platform.machine()]
    code = (
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"for number in {calls}:\n"
        "    print(libc.syscall(number, 0, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])\n"
    )
    answers = ran(tmp_path / "run", code).out.splitlines()
    assert answers == ["-1 EPERM"] * 11 + ["-1 ENOSYS"] * 2


@pytest.mark.slow
def test_libraries_that_programs_use_still_work(tmp_path: Path) -> None:
    """Temporary files, archives, databases, copies, other programs and terminals that are none."""
    code = (
        "import asyncio, os, shutil, sqlite3, subprocess, sys, tarfile, tempfile, threading, zipfile\n"
        "open('a.txt', 'w').write('text')\n"
        "shutil.copyfile('a.txt', 'b.txt')\n"
        "with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file: file.write(b'x')\n"
        "with zipfile.ZipFile('a.zip', 'w') as archive: archive.write('a.txt')\n"
        "zipfile.ZipFile('a.zip').extractall('unzipped')\n"
        "with tarfile.open('a.tar', 'w') as archive: archive.add('a.txt')\n"
        "tarfile.open('a.tar').extractall('untarred')\n"
        "database = sqlite3.connect('a.db'); database.execute('create table t (n)'); database.commit()\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "asyncio.run(asyncio.create_subprocess_exec('/bin/true'))\n"
        "print(os.isatty(1), subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout)\n"
    )
    result = ran(tmp_path / "run", code)
    assert result.out.split() == ["thread", "False", "child"], result
    assert (tmp_path / "run" / "work" / "untarred" / "a.txt").read_text() == "text"


def test_its_folder_stays_where_it_is(tmp_path: Path) -> None:
    """It cannot put a link in the place of the folder that is looked through when it has ended."""
    code = "import os\nos.rename('../work', '../gone')\nos.symlink('/etc', '../work')"
    assert "PermissionError" in ran(tmp_path / "run", code).err
    assert not (tmp_path / "run" / "work").is_symlink()


def test_it_knows_nothing_of_our_environment(python: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of ours is in its variables, nor in those of its parents."""
    monkeypatch.setenv("PROVIDER_API_KEY", SECRET)
    code = (
        "import os\nprint(sorted(os.environ))\n"
        "for number in [*range(1, 20), os.getppid()]:\n"
        "    try: print(open(f'/proc/{number}/environ').read())\n"
        "    except OSError: pass\n"
    )
    answer = called(python, code=code)
    assert SECRET not in answer
    assert "PROVIDER_API_KEY" not in answer


@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
def test_it_is_stopped_with_all_its_processes(tmp_path: Path, protected: Protection) -> None:
    """When its time is over, also those that it started: they hold its output, which we read to its end."""
    code = (
        "import subprocess, sys, time\n"
        "for hidden in (False, True):\n"
        "    try: subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=hidden)\n"
        "    except OSError: pass\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    assert ran(tmp_path / "run", code, protected, seconds=1.5).stopped == "time"


@pytest.mark.slow
def test_processes_left_behind_end_with_it(tmp_path: Path) -> None:
    """A program that ends leaves nobody, and we do not wait for those it started."""
    code = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('bye')"
    )
    for protected in WAYS.values():
        assert ran(tmp_path / "run", code, protected) == Ran(0, "bye\n", "")


def test_memory_and_files_are_bounded(tmp_path: Path) -> None:
    """More memory than it may have is an error inside it; so is a larger file; too much on disk ends it."""
    assert "MemoryError" in ran(tmp_path / "a", "bytearray(1 << 30)", memory_mb=512).err
    large = "open('x', 'wb').write(bytes(1 << 21))"
    assert "File too large" in ran(tmp_path / "b", large, file_bytes=1 << 20).err
    many = "import time\nfor n in range(20): open(f'x{n}', 'wb').write(bytes(1 << 20))\ntime.sleep(60)"
    assert ran(tmp_path / "c", many, disk=10 << 20).stopped == "disk"


HOLDING = {
    "removed": "f = os.open('x', os.O_RDWR | os.O_CREAT); os.unlink('x'); os.write(f, bytes(1 << 20))",
    "never named": "f = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(f, bytes(1 << 20))",
    "mapped": "f = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(f, bytes(1 << 20)); "
    "kept.append(mmap.mmap(f, 4096)); os.close(f)",
}


@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("how", HOLDING)
def test_files_without_a_name_count(tmp_path: Path, how: str, protected: Protection) -> None:
    """What is removed or never had a name takes room while it is held: open, or mapped and closed."""
    code = f"import mmap, os, time\nkept = []\nfor n in range(20): {HOLDING[how]}\ntime.sleep(60)"
    assert ran(tmp_path / "run", code, protected, disk=10 << 20, file_bytes=1 << 20).stopped == "disk"


MAPPING = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for n in range(20):
    file = os.open("x", os.O_RDWR | os.O_CREAT)
    os.write(file, bytes({size}))
    libc.mmap(None, 4096, 3, 1, file, 0)  # unlike Python's own, it keeps no copy of the descriptor
    os.close(file)
    os.unlink("x")
time.sleep({seconds})
print("done")
"""


@pytest.mark.slow
def test_a_page_of_a_removed_file_counts_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its size is not to be learned, as the largest there can be."""
    bounds: dict[str, Any] = {"disk": 10 << 20, "file_bytes": 1 << 20}
    large, small = MAPPING.format(size=1 << 20, seconds=60), MAPPING.format(size=4096, seconds=1)
    assert ran(tmp_path / "a", large, **bounds).stopped == "disk"
    if _sizes_are_told():
        assert ran(tmp_path / "b", small, **bounds) == Ran(0, "done\n", "")
    monkeypatch.setattr("sightline.agent.tools.sandbox.usage._size", lambda _, largest: largest)
    assert ran(tmp_path / "c", large, **bounds).stopped == "disk"


def _sizes_are_told() -> bool:
    """Whether we may look into the memory of processes: root may, on most machines."""
    mapped = next(line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(".so"))
    try:
        Path("/proc/self/map_files", mapped.split()[0]).stat()
    except OSError:
        return False
    return True


def test_a_file_without_a_name_counts_once(tmp_path: Path) -> None:
    """However many processes hold it; what is let go of does not count any more."""
    code = (
        "import os, tempfile, time\n"
        "with tempfile.TemporaryFile() as file: file.write(bytes(9 << 20))\n"
        "file = tempfile.TemporaryFile(); file.write(bytes(4 << 20)); file.flush()\n"
        "children = [os.fork() for _ in range(2)]\n"
        "time.sleep(1)\n"
        "if all(children): print('done')\n"
    )
    assert ran(tmp_path / "run", code, disk=10 << 20) == Ran(0, "done\n", "")


def test_memory_is_kept_nowhere_but_in_processes(tmp_path: Path) -> None:
    """Neither in files of memory nor in the system's segments, which would be beyond the limit of a process."""
    code = (
        "import ctypes, os\n"
        "try: os.memfd_create('m'); print('HAD')\n"
        "except PermissionError: print('denied')\n"
        "print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))\n"
    )
    assert ran(tmp_path / "run", code).out.split() == ["denied", "-1"]


ABANDONED = """
import asyncio, sys
from pathlib import Path
from sightline.agent.tools.sandbox.run import Limits, Protection, confined
folder, way = Path(sys.argv[1]), Protection(**dict.fromkeys(sys.argv[2:], True))
asyncio.run(confined(folder / "program.py", folder, Limits(seconds=600), way))
"""


@pytest.mark.slow
@pytest.mark.parametrize("protected", WAYS.values(), ids=WAYS)
def test_it_ends_with_us_however_we_end(tmp_path: Path, protected: Protection) -> None:
    """Killed without a word, we leave no process of it behind, not even one that it started."""
    for inside in ("work", "home"):
        (tmp_path / inside).mkdir()
    (tmp_path / "program.py").write_text(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('started', 'w')\ntime.sleep(600)\n"
    )
    way = [name for name, held in asdict(protected).items() if held]
    with subprocess.Popen([sys.executable, "-c", ABANDONED, str(tmp_path), *way]) as us:
        waited_for((tmp_path / "work" / "started").exists)
        [outside] = Path(f"/proc/{us.pid}/task/{us.pid}/children").read_text().split()
        assert len(living(int(outside))) >= 3
        us.kill()
    waited_for(lambda: not living(int(outside)))


def living(session: int) -> list[int]:
    """The processes of a session that have not ended: one that has stays until somebody asks for its status."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its = path.read_text().rpartition(")")[2].split()[:4]
            found += [int(path.parent.name)] if int(its) == session and state not in "ZX" else []
    return found


def waited_for(holds: Callable[[], bool]) -> None:
    """Wait until it holds, and not for ever."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it did not come")


def test_limits_reach_the_program(tmp_path: Path) -> None:
    """Processes, open files and core dumps are bounded, and it cannot gain privileges."""
    code = (
        "import resource as r\nprint(r.getrlimit(r.RLIMIT_NPROC)[1], r.getrlimit(r.RLIMIT_CORE)[1])\n"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    )
    result = ran(tmp_path / "run", code, replace(protection(), landlock=False), processes=20)
    processes, core, privileges = result.out.split()
    assert int(processes) == 20 or not protection().namespaces
    assert (core, privileges) == ("0", "['1']")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "all"])
def test_it_has_no_privileges(tmp_path: Path, way: str) -> None:
    """Not even where we are root: neither now nor in a program that it starts."""
    code = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm'))])"
    inner = f"import subprocess, sys\n{code}\nsubprocess.run([sys.executable, '-c', {code!r}])"
    assert ran(tmp_path / "run", inner, WAYS[way]).out == f"{['0' * 16] * 2}\n" * 2


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_is_bounded(tmp_path: Path, stream: str) -> None:
    """The beginning and the end of it are kept, and how much is missing."""
    code = f"import sys\nfor _ in range(3000): sys.{stream}.write('x' * 999 + '\\n')\nsys.{stream}.write('the end')"
    result = ran(tmp_path / "run", code)
    text = result.out if stream == "stdout" else result.err
    assert len(text) < 2 * run.OUTPUT + 100
    assert text.startswith("xxx")
    assert "[… 2940007 bytes …]" in text
    assert text.endswith("the end")


def test_it_has_nobody_to_ask(python: Tool) -> None:
    """Its input is closed: a question ends it instead of making us wait."""
    assert "EOFError" in called(python, code="input('name? ')")


def test_a_call_that_is_given_up_ends_the_program(
    here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cancels it leaves no process and no folder behind."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    tool = run_python(here.folders)

    async def given_up() -> None:
        task = asyncio.create_task(tool.run({"code": "import time\nopen('started', 'w')\ntime.sleep(600)"}))
        await asyncio.to_thread(waited_for, lambda: any(folder.rglob("started")))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert not list(folder.iterdir())


def test_without_protection_nothing_is_run(here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system offers no way, the tool is not to be had, and says why."""
    with pytest.raises(ToolFailed, match="keep a program from the network"):
        ran(tmp_path / "run", "print(1)", Protection(landlock=True))
    monkeypatch.setattr(sys, "platform", "darwin")
    protection.cache_clear()
    try:
        for locale, word in (("en", "not available"), ("zh", "不可用")):
            with pytest.raises(ToolFailed, match=word):
                run_python(here.folders, locale=locale)
    finally:
        protection.cache_clear()


def test_a_layer_that_fails_means_that_nothing_is_run(tmp_path: Path) -> None:
    """What was promised and cannot be had ends the attempt before the program begins."""
    (tmp_path / "run").mkdir()
    request = run._request(tmp_path / "program.py", tmp_path / "run", Limits(), protection())
    broken = {**request, "environment": None, "reads": None}
    command = [sys.executable, "-I", "-S", str(run._CHILD), json.dumps(broken)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith("not started: ")
