"""Run as a program of its own by `sandbox`, never imported: it gives up what it may do, then becomes another program.

In this order, each for good and for every process that comes of it: limits; namespaces of its own (users, network,
processes); no new privileges; Landlock (which files); seccomp (which system calls).
"""

# ruff: noqa: PTH112, PTH116, PTH208
# It is to start in milliseconds, and pathlib alone would take as long.

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from typing import Any, NoReturn

REFUSED = 125  # the exit status of a program that was not started

_libc = ctypes.CDLL(None, use_errno=True)

# ---------------------------------------------------------------------- namespaces

_NEWUSER, _NEWNET, _NEWPID, _NEWIPC, _NEWUTS = 0x10000000, 0x40000000, 0x20000000, 0x08000000, 0x04000000
_NOBODY = 65534  # who it is inside: an id without privileges, even where it is root outside


def enter_namespaces() -> None:
    """A network without interfaces, and processes that see and outlive nobody. Raises OSError."""
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
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL  # the others are a folder's


def landlock_version() -> int:
    """0 where the kernel has none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def restrict_files(reads: list[str], writes: list[str]) -> None:
    """From now on only these can be opened, and what is in them. Raises OSError."""
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
    except OSError:  # what is not there needs no permission
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

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Numbers on x86_64 and aarch64. Without `socket` there is no network, whatever else fails; io_uring would be a way
# around this filter, the rest are ways around the other layers or doors into the kernel that no program here needs.
_DENIED = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "setsid": (112, 157),  # who left the group of processes would not be stopped with it
    "setpgid": (109, 154),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
}
_SIGNALS = {  # where processes have no namespace of their own, these would reach others of the same user
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
_CLONE, _CLONE3, _SOCKETPAIR = (56, 220), (435, 435), (53, 199)
_NAMESPACES = 0x7E020000  # the flags of clone that make new ones
_STREAM = 1  # a pair of datagram sockets could write to other addresses than each other's

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # where these stand in what the filter sees


def seccomp_filter(machine: str, own_processes: bool) -> bytes:
    """The filter as the kernel takes it. Raises KeyError for a machine that it is not written for."""
    which = list(_MACHINES).index(machine)
    steps = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # the numbers of its other ABI
        steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _EPERM)]
    for numbers in [*_DENIED.values(), *([] if own_processes else _SIGNALS.values())]:
        steps += [(_EQUAL, 0, 1, numbers[which]), (_RETURN, 0, 0, _EPERM)]
    steps += [(_EQUAL, 0, 1, _CLONE3[which]), (_RETURN, 0, 0, _ENOSYS)]  # its flags cannot be seen; clone is used then
    steps += [(_EQUAL, 0, 4, _CLONE[which]), (_LOAD, 0, 0, _FIRST), (_ANY_BIT, 0, 1, _NAMESPACES)]
    steps += [(_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_EQUAL, 0, 4, _SOCKETPAIR[which]), (_LOAD, 0, 0, _SECOND), (_AND, 0, 0, 0xF), (_EQUAL, 1, 0, _STREAM)]
    steps += [(_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def restrict_calls(own_processes: bool) -> None:
    """From now on the kernel refuses what the filter refuses. Raises OSError, KeyError."""
    steps = ctypes.create_string_buffer(seccomp_filter(platform.machine(), own_processes))
    count = (len(steps) - 1) // 8
    program = struct.pack("HxxxxxxP", count, ctypes.addressof(steps))
    if _libc.prctl(22, 2, program, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        _fail("seccomp")


def no_new_privileges() -> None:
    """No program started from here gains any. Raises OSError."""
    if _libc.prctl(38, 1, 0, 0, 0):
        _fail("no_new_privs")


# ---------------------------------------------------------------------- all together


def limit(request: dict[str, Any]) -> None:
    """Bound what one process may use."""
    for what, most in (
        (resource.RLIMIT_AS, request["memory"]),
        (resource.RLIMIT_FSIZE, request["file_bytes"]),
        (resource.RLIMIT_CPU, request["seconds"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        _bound(what, most)


def limit_processes(most: int, own_users: bool) -> None:
    """Bound how many processes there are: in a namespace of users only those inside count."""
    most += 0 if own_users else _running()
    _bound(resource.RLIMIT_NPROC, most)


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def _running() -> int:
    """How many threads this user has."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # gone since
            continue
    return total


def give_up(request: dict[str, Any]) -> None:
    """The layers that hold for this process and all that come of it."""
    limit_processes(request["processes"], request["namespaces"])
    no_new_privileges()
    if request["landlock"]:
        restrict_files(request["reads"], request["writes"])
    if request["seccomp"]:
        restrict_calls(request["namespaces"])


def become(request: dict[str, Any]) -> NoReturn:
    """The program itself, in this process."""
    os.execve(request["program"][0], request["program"], request["environment"])


def confine(request: dict[str, Any]) -> NoReturn:
    """Give up what is asked for, then run the program. Where a layer fails, nothing is run."""
    limit(request)
    if not request["namespaces"]:
        give_up(request)
        become(request)
    enter_namespaces()
    inside = os.fork()
    if inside:
        os._exit(_status(inside))
    _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # the first process inside dies with its parent, and all others with it
    give_up(request)
    program = os.fork()
    if not program:
        become(request)
    os._exit(_status(program))


def _status(child: int) -> int:
    """How a child ended, as a shell says it. Others that end meanwhile are forgotten."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def probe() -> dict[str, Any]:
    """What this machine lets us do, tried in processes of their own."""
    return {
        "namespaces": _works(_try_namespaces),
        "seccomp": _works(_try_seccomp),
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


def _try_seccomp() -> None:
    import socket

    no_new_privileges()
    restrict_calls(own_processes=True)
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
    """Probe, or confine."""
    request = json.loads(sys.argv[1])
    if request.get("probe"):
        json.dump(probe(), sys.stdout)
        return
    try:
        confine(request)
    except BaseException as error:
        sys.stderr.write(f"not started: {error}\n")
        sys.stderr.flush()
        os._exit(REFUSED)


if __name__ == "__main__":
    main()
