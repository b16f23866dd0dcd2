"""A program that `run` starts, never imported: it gives up its rights, then becomes another program.

In this order, each permanently and for all child processes: limits; namespaces of its own (users, network, processes);
no new privileges; Landlock (which files); seccomp (which system calls).
"""

# ruff: noqa: PTH112, PTH116, PTH208
# It must start in milliseconds, and importing pathlib alone would take as long.

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, NoReturn

REFUSED = 125  # the exit status of a program that was not started

_libc = ctypes.CDLL(None, use_errno=True)

# ---------------------------------------------------------------------- namespaces

_NEWUSER, _NEWNET, _NEWPID, _NEWIPC, _NEWUTS = 0x10000000, 0x40000000, 0x20000000, 0x08000000, 0x04000000
_NOBODY = 65534  # its user id inside: one without privileges, even if it is root outside


def enter_namespaces() -> None:
    """Enter a network without interfaces, and a process namespace of its own. Raises OSError."""
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_NEWUSER | _NEWNET | _NEWPID | _NEWIPC | _NEWUTS):
        _fail("unshare")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {uid} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {gid} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _fail(what: str) -> NoReturn:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")


# ---------------------------------------------------------------------- Landlock

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_REMOVE_FOLDER, _REMOVE_FILE, _MAKE_FOLDER, _MAKE_FILE, _MAKE_LINK = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_CHANGE = _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MAKE_LINK | _REFER | _TRUNCATE
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL  # the others are for folders


def landlock_version() -> int:
    """Return Landlock's version; 0 if the kernel has none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def restrict_files(reads: list[str], writes: list[str]) -> None:
    """Allow only these paths, and what is in them, to be opened. Raises OSError."""
    version = landlock_version()
    handled = (1 << 13) - 1
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    handled |= _IOCTL if version >= 5 else 0
    network = 0b11 if version >= 4 else 0  # bind and connect by TCP: no port is allowed below
    scope = 0b11 if version >= 6 else 0  # abstract sockets and signals to processes outside
    rules = struct.pack("QQQ", handled, network, scope)
    ruleset = _libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint32(0))
    if ruleset < 0:
        _fail("landlock_create_ruleset")
    for paths, rights in ((reads, _EXECUTE | _READ | _LIST), (writes, _READ | _LIST | _CHANGE)):
        for path in paths:
            _allow(ruleset, path, rights & handled)
    if _libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)):
        _fail("landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # a missing path needs no permission
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        if _libc.syscall(_ADD, ruleset, 1, rule, ctypes.c_uint32(0)):
            _fail("landlock_add_rule")
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------- seccomp


def restrict_calls(calls: str) -> None:
    """Apply a filter of system calls, as `seccomp_filter` makes it. Raises OSError."""
    steps = ctypes.create_string_buffer(bytes.fromhex(calls))
    count = (len(steps) - 1) // 8
    program = struct.pack("HxxxxxxP", count, ctypes.addressof(steps))
    if _libc.prctl(22, 2, program, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        _fail("seccomp")


def no_new_privileges() -> None:
    """Prevent that a program gains privileges when it is started. Raises OSError."""
    if _libc.prctl(38, 1, 0, 0, 0):
        _fail("no_new_privs")


def no_capabilities() -> None:
    """Drop root's capabilities for all programs that are started. Other users have none."""
    number = 0
    while not _libc.prctl(24, number, 0, 0, 0):  # PR_CAPBSET_DROP
        number += 1


# ---------------------------------------------------------------------- all together


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def _running() -> int:
    """Count the threads of this user."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it has ended
            continue
    return total


def give_up(request: dict[str, Any]) -> None:
    """Apply the layers to this process and all its children."""
    others = 0 if request["namespaces"] else _running()  # in a user namespace only the processes inside count
    _bound(resource.RLIMIT_NPROC, request["processes"] + others)
    no_capabilities()
    no_new_privileges()
    if request["landlock"]:
        restrict_files(request["reads"], request["writes"])
    if request["calls"]:
        restrict_calls(request["calls"])


def end_with(parent: int) -> None:
    """End this process and all of its group when the parent ends in any way. Raises OSError.

    The kernel watches the parent's thread that started this process, so that thread must live as long as the parent.
    """
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(os.getpid(), signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _signal_at_parents_end(signal.SIGTERM)
    if os.getppid() != parent:
        raise OSError("whoever asked for it has ended")


def _signal_at_parents_end(number: int) -> None:
    """Have the kernel send this process a signal when its parent ends. Raises OSError."""
    if _libc.prctl(1, number, 0, 0, 0):  # PR_SET_PDEATHSIG
        _fail("pdeathsig")


def confine(request: dict[str, Any]) -> NoReturn:
    """Apply the layers, then run the program. If a layer fails, nothing is run.

    This process stays outside and waits, because it must end the others when the parent has ended.
    """
    end_with(request["parent"])
    for what, most in (
        (resource.RLIMIT_AS, request["memory"]),
        (resource.RLIMIT_FSIZE, request["file_bytes"]),
        (resource.RLIMIT_CPU, request["seconds"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        _bound(what, most)
    if request["namespaces"]:
        enter_namespaces()
    inside = os.fork()
    if inside:
        os._exit(_status(inside))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _signal_at_parents_end(signal.SIGKILL)
    give_up(request)
    program = os.fork() if request["namespaces"] else 0  # the first process of a namespace must outlive the program
    if not program:
        os.execve(request["program"][0], request["program"], request["environment"])
    os._exit(_status(program))


def _status(child: int) -> int:
    """Return the exit status of a child, as in a shell. Other children that end meanwhile are ignored."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def probe(calls: str) -> dict[str, Any]:
    """Return what this machine supports, tried in processes of their own."""
    return {
        "namespaces": _works(_try_namespaces),
        "seccomp": bool(calls) and _works(lambda: _try_seccomp(calls)),
        "landlock": _works(_try_landlock) if landlock_version() else False,
    }


def _works(attempt: Any) -> bool:
    child = os.fork()
    if not child:
        try:
            attempt()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _try_namespaces() -> None:
    enter_namespaces()
    child = os.fork()
    if not child:
        os._exit(0 if os.getpid() == 1 and os.getuid() == _NOBODY else 1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError


def _try_seccomp(calls: str) -> None:
    import socket

    no_new_privileges()
    restrict_calls(calls)
    try:
        socket.socket().close()
    except PermissionError:
        return
    raise OSError


def _try_landlock() -> None:
    no_new_privileges()
    restrict_files([], [])
    try:
        os.listdir("/")
    except PermissionError:
        return
    raise OSError


def main() -> None:
    request = json.loads(sys.argv[1])
    if request.get("probe"):
        json.dump(probe(request["calls"]), sys.stdout)
        return
    try:
        confine(request)
    except BaseException as error:
        sys.stderr.write(f"not started: {error}\n")
        sys.stderr.flush()
        os._exit(REFUSED)


if __name__ == "__main__":
    main()
