"""What systemd gives to a server and is told by it: sockets that stay open while servers come and go, and "ready".

A socket that systemd, or any other program, has opened is not closed when a server ends: connections wait in its queue
until the next server takes them, so none is refused. With `SO_REUSEPORT` instead each server would have a queue
of its own, and Linux drops what waits in one that is closed.
"""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

from sightline.errors import BadInput

_FIRST = 3  # the first file descriptor that is given
_TCP = (socket.AF_INET, socket.AF_INET6)


def given_sockets(variables: MutableMapping[str, str]) -> list[socket.socket]:
    """Return the sockets that this process was started with, to listen on; none if there are none.

    The variables that say so are taken away, because a program that is started by this one does not get the sockets.

    Raises:
        BadInput: one of them does not listen, or is no TCP socket.
    """
    told, count = variables.pop("LISTEN_PID", ""), variables.pop("LISTEN_FDS", "")
    variables.pop("LISTEN_FDNAMES", None)
    if told != str(os.getpid()) or not count.isdigit():
        return []
    return [_listening(_FIRST + at) for at in range(int(count))]


def _listening(number: int) -> socket.socket:
    try:
        inherited = socket.socket(fileno=number)
        is_listening = inherited.family in _TCP and inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise BadInput(f"LISTEN_FDS names the file {number}, which is no socket: {error.strerror}") from error
    if not is_listening:
        raise BadInput(f"the socket {number} of LISTEN_FDS does not listen at a TCP port: use ListenStream=PORT")
    inherited.set_inheritable(False)
    return inherited


def notify(state: str, variables: MutableMapping[str, str]) -> None:
    """Tell systemd about this server, such as `READY=1`, if it wants to know (`Type=notify`)."""
    if not (address := variables.get("NOTIFY_SOCKET", "")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:  # it is systemd's to complain
        told.connect(address)
        told.sendall(state.encode())
