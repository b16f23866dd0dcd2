"""The filter of system calls, read as the kernel reads it, for the machines we are not on as well."""

import struct

import pytest

from sightline.agent.tools.sandbox.seccomp import seccomp_filter

ALLOW, EPERM, ENOSYS, ENOTTY, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x00050019, 0x80000000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {"read": 0, "socket": 41, "clone": 56, "pair": 53, "kill": 62, "ioctl": 16, "openat": 257, "fcntl": 72,
               "prlimit": 302, "prctl": 157, "ftruncate": 77, "getxattr": 191},
    "aarch64": {"read": 63, "socket": 198, "clone": 220, "pair": 199, "kill": 129, "ioctl": 29, "openat": 56,
                "fcntl": 25, "prlimit": 261, "prctl": 167, "ftruncate": 46, "getxattr": 8},
}  # fmt: skip
# chmod, chown, utime and their kin; set and remove attributes; truncate
METADATA = {
    "x86_64": (76, 90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452, 463, 466, 469),
    "aarch64": (5, 6, 7, 14, 15, 16, 45, 52, 53, 54, 55, 88, 452, 463, 466, 469),
}

# memfd_create, memfd_secret; shmget, shmat, shmctl; semget, msgget; sendmsg, sendmmsg
UNCOUNTED = {
    "x86_64": (319, 447, 29, 30, 31, 64, 68, 46, 307),
    "aarch64": (279, 447, 194, 196, 195, 190, 186, 211, 269),
}


def verdict(machine: str, own_processes: bool, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the filter says to one call."""
    steps = list(struct.iter_unpack("HBBI", seccomp_filter(machine, own_processes)))
    data = struct.pack("IIQ6Q", number, arch or ARCH[machine], 0, *(*arguments, *[0] * 6)[:6])
    at = value = 0
    while True:
        code, if_true, if_false, k = steps[at]
        at += 1
        match code:
            case 0x20:
                value = struct.unpack_from("I", data, k)[0]
            case 0x54:
                value &= k
            case 0x06:
                return int(k)
            case _:
                holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
                at += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCH)
@pytest.mark.parametrize("own_processes", [True, False])
def test_the_filter_decides_as_it_should_on_both_machines(machine: str, own_processes: bool) -> None:
    """No sockets, no new namespaces, no other machine's calls, none that we do not know; the rest is allowed."""
    calls = CALLS[machine]

    def says(name: str, *arguments: int) -> int:
        return verdict(machine, own_processes, calls[name], *arguments)

    assert says("socket", 2, 1) == EPERM
    assert verdict(machine, own_processes, 425) == EPERM
    assert [says(name) for name in ("read", "ftruncate", "getxattr")] == [ALLOW] * 3
    assert verdict(machine, own_processes, calls["read"], arch=0x40000003) == KILL
    assert says("clone", 0x11) == ALLOW
    assert says("clone", 0x10000011) == EPERM
    assert [verdict(machine, own_processes, number) for number in (435, 437, 471, 500)] == [ENOSYS] * 4
    assert (says("pair", 1, 1 | 0o2000000), says("pair", 1, 2), says("pair", 1, 5)) == (ALLOW, EPERM, EPERM)
    others = ALLOW if own_processes else EPERM
    assert [says("kill"), says("fcntl", 3, 8), says("prlimit", 77)] == [others] * 3
    assert [says("fcntl", 3, 1), says("prlimit", 0, 7)] == [ALLOW] * 2
    if machine == "x86_64":
        assert verdict(machine, own_processes, 0x40000000 | 41) == EPERM


@pytest.mark.parametrize("machine", ARCH)
def test_nothing_is_kept_where_it_is_not_counted(machine: str) -> None:
    """Not in files of memory, in segments and queues of the system, nor on its way; and nobody hides from us."""
    assert {verdict(machine, True, number) for number in UNCOUNTED[machine]} == {EPERM}
    prctl = CALLS[machine]["prctl"]
    assert (verdict(machine, True, prctl, 4, 0), verdict(machine, True, prctl, 15, 0)) == (EPERM, ALLOW)


@pytest.mark.parametrize("machine", ARCH)
def test_no_call_changes_what_is_said_of_a_file(machine: str) -> None:
    """On neither machine: of a path, a descriptor, a link, relative to a folder, or by ioctl."""
    assert {verdict(machine, True, number) for number in METADATA[machine]} == {EPERM}
    ioctl, openat = CALLS[machine]["ioctl"], CALLS[machine]["openat"]
    assert {verdict(machine, True, ioctl, 3, asked) for asked in (0x40086602, 0x401C5820, 0x5412)} == {ENOTTY}
    assert {verdict(machine, True, ioctl, 3, asked) for asked in (0x5401, 0x5413, 0x5451)} == {ALLOW}
    assert {verdict(machine, True, openat, 3, 0, flags) for flags in (0o1000, 3, 0o1003)} == {EPERM}
    assert {verdict(machine, True, openat, 3, 0, flags) for flags in (0, 0o1001, 0o1102, 0o2000000)} == {ALLOW}
    if machine == "x86_64":
        assert (verdict(machine, True, 2, 0, 0o1000), verdict(machine, True, 2, 0, 0o1101)) == (EPERM, ALLOW)
