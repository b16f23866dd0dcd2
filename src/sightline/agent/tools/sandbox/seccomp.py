"""The filter of system calls for a sandboxed program, in the kernel's format.

Landlock controls how files are opened, created and removed. It does not control changes of a file's mode, owner, times
or attributes, nor ioctl, inotify or, before Linux 6.2, truncation: a program could do all that to every file of the
user. So all of it is forbidden, even for its own files, because a filter sees numbers and no paths.
"""

import struct
from collections.abc import Iterable

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEVER = 0xFFFFFFFF  # the number of a call that a machine does not have
_NEWEST = 470  # the last call that was known when this was written; newer ones do not exist for the program

# Numbers on x86_64 and aarch64.
_METADATA = {
    "chmod": (90, _NEVER), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, _NEVER), "fchown": (93, 55), "lchown": (94, _NEVER), "fchownat": (260, 54),
    "utime": (132, _NEVER), "utimes": (235, _NEVER), "futimesat": (261, _NEVER), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469), "truncate": (76, 45),
}  # fmt: skip
# Without `socket` there is no network, even if other layers fail. io_uring would bypass this filter. The rest would
# bypass the other layers, or reach the kernel or other programs in ways that no program here needs.
_DENIED = {
    **_METADATA,
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # This memory is in no file and in no process, so no limit applies to it.
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "sendmsg": (46, 211), "sendmmsg": (307, 269),  # an open file in transit belongs to no process
    "setsid": (112, 157), "setpgid": (109, 154),  # a process outside the process group would not be stopped with it
    "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429), "mount_setattr": (442, 442),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "inotify_init": (253, _NEVER), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "syslog": (103, 116),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225),
}  # fmt: skip
# Without a process namespace, these would reach other processes of the same user.
_SHARED = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
_UNSEEN = {"clone3": (435, 435), "openat2": (437, 437)}  # their arguments are in memory, which a filter cannot read
_CLONE, _SOCKETPAIR, _IOCTL, _FCNTL, _PRLIMIT = (56, 220), (53, 199), (16, 29), (72, 25), (302, 261)
_OPEN, _OPENAT, _PRCTL = (2, _NEVER), (257, 56), (157, 167)
_DUMPABLE = 4  # PR_SET_DUMPABLE: a process could hide its files from us
_NAMESPACES = 0x7E020000  # the flags of clone that make new ones
_STREAM = 1  # because a pair of datagram sockets could send to other addresses
_NEITHER, _CUT = 0o3, 0o1000  # open for neither reading nor writing; truncate
_OWNERS = (8, 15)  # F_SETOWN, F_SETOWN_EX: who gets a signal when a file can be read
# Queries of terminals, pipes and descriptors, and a copy that shares blocks (to a file open for writing).
_ASKED = (0x5401, 0x802C542A, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x40049409)

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS, _ENOTTY = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026, 0x00050019
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in the data that the filter sees

Step = tuple[int, int, int, int]


def seccomp_filter(machine: str, own_processes: bool) -> bytes:
    """Return the filter in the kernel's format. `own_processes`: the program has a process namespace of its own.

    Raises:
        KeyError: there is no filter for this machine type.
    """
    steps: list[Step] = [
        (_LOAD, 0, 0, _MACHINE),
        *_unless(_EQUAL, _MACHINES[machine], _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    which = list(_MACHINES).index(machine)
    if machine == "x86_64":  # the numbers of its other ABI
        steps += _when(_AT_LEAST, 0x40000000, _EPERM)
    steps += _when(_AT_LEAST, _NEWEST + 1, _ENOSYS)
    for numbers in [*_DENIED.values(), *([] if own_processes else _SHARED.values())]:
        steps += _when(_EQUAL, numbers[which], _EPERM)
    for numbers in _UNSEEN.values():
        steps += _when(_EQUAL, numbers[which], _ENOSYS)
    for numbers, decision in _decisions(own_processes):  # allowed if no step decides; other calls skip the steps
        steps += [(_EQUAL, 0, len(decision) + 1, numbers[which]), *decision, (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _decisions(own_processes: bool) -> Iterable[tuple[tuple[int, int], list[Step]]]:
    """Yield the calls that depend on an argument, each with the steps that return a verdict or fall through."""
    yield _CLONE, [_argument(0), *_when(_ANY_BIT, _NAMESPACES, _EPERM)]
    yield _SOCKETPAIR, [_argument(1), (_AND, 0, 0, 0xF), *_unless(_EQUAL, _STREAM, _EPERM)]
    yield _IOCTL, [_argument(1), *_among(_ASKED, _ALLOW), (_RETURN, 0, 0, _ENOTTY)]
    yield _PRCTL, [_argument(0), *_when(_EQUAL, _DUMPABLE, _EPERM)]
    yield _OPEN, _opening(1)
    yield _OPENAT, _opening(2)
    if not own_processes:
        yield _FCNTL, [_argument(1), *_among(_OWNERS, _EPERM)]
        yield _PRLIMIT, [_argument(0), *_unless(_EQUAL, 0, _EPERM)]  # 0 is itself


def _opening(flags: int) -> list[Step]:
    """Refuse what old versions of Landlock allow: to truncate or hold a file that is not open for writing."""
    neither = [_argument(flags), (_AND, 0, 0, _NEITHER), *_when(_EQUAL, _NEITHER, _EPERM)]
    return [*neither, _argument(flags), (_AND, 0, 0, _CUT | _NEITHER), *_when(_EQUAL, _CUT, _EPERM)]


def _argument(index: int) -> Step:
    """Return the step that loads the low half of an argument."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _when(test: int, value: int, verdict: int) -> list[Step]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, verdict)]


def _unless(test: int, value: int, verdict: int) -> list[Step]:
    return [(test, 1, 0, value), (_RETURN, 0, 0, verdict)]


def _among(values: Iterable[int], verdict: int) -> list[Step]:
    return [step for value in values for step in _when(_EQUAL, value, verdict)]
