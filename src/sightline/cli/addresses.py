"""The addresses of a server as people and agents are told them."""

import errno
import socket
from http.client import HTTPConnection, HTTPException

import msgspec

from sightline.values.decoders import decode_json

_SECONDS = 2.0  # that our server may take to say that it is there
_LONGEST_ANSWER = 10_000  # bytes of what another program may answer

_EVERY = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1", "": "192.0.2.1"}  # hosts that mean every address, and a far one


def page_address(host: str, port: int, after: str = "") -> str:
    """Return the address of the inspector. `after` stands behind the #, which a browser sends to nobody."""
    return f"http://{in_address(host)}:{port}/inspector/{f'#{after}' if after else ''}"


def in_address(host: str) -> str:
    """Return a host as an address has it; one that means every address is opened by this machine's own."""
    if is_every(host):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host.strip("[]") and not host.startswith("[") else host


def is_every(host: str) -> bool:
    """Whether a server that listens at this host is reached by every address of its machine."""
    return host in _EVERY


def outer_address(host: str) -> str:
    """Return a host as other machines write it: for every address, that by which this machine reaches others.

    Without a network it is the machine's name.
    """
    if not is_every(host):
        return in_address(host)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_EVERY[host], 9))  # nothing is sent: the system only says from where it would be
            return in_address(str(probe.getsockname()[0]))
        except OSError:
            return socket.gethostname()


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen there. Another error than a port in use is the server's to tell."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host.strip("[]"), port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def served_version(port: int) -> str:
    """Return the version of the Sightline server that answers at this port; empty if another program does, or none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/healthz")  # needs no token
        told = decode_json(connection.getresponse().read(_LONGEST_ANSWER), _Health)
    except (OSError, HTTPException, msgspec.DecodeError, UnicodeDecodeError):
        return ""
    finally:
        connection.close()
    return told.version if told.server == "sightline" else ""


class _Health(msgspec.Struct):
    server: str = ""
    version: str = ""
