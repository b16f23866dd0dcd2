"""How a browser that we open gets the token: it is told a code, which its page exchanges for the token, once and soon.

The address that a browser is opened with stands in its command line, where other accounts of the machine can read it as
long as the browser runs. A code there is worth nothing as soon as the page has loaded, and nothing to a program of
another account, where the system tells whose a connection is. Elsewhere whoever is faster than the page has the token,
and the page is refused: it says so.
"""

import os
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from sightline.inspector.pages import PREFIX
from sightline.server.access_token import hash_token

SIGN_IN = PREFIX + "sign-in"
CODE_SECONDS = 60.0  # in which a browser must have started and opened the page


class SignIn:
    """Makes codes, and gives the token for each of them once."""

    def __init__(
        self, token: str, *, seconds: float = CODE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token, self._seconds, self._clock = token, seconds, clock
        self._codes: dict[str, float] = {}  # the hash of each, and until when it can be used

    def make_code(self) -> str:
        """Return a new code."""
        code = secrets.token_urlsafe(24)
        self._codes[hash_token(code)] = self._clock() + self._seconds
        return code

    def exchange(self, code: str, account: int | None = None) -> str:
        """Return the token; nothing if this is no code, was used before, or is too old, or for another account."""
        if account not in (None, os.getuid()):
            return ""
        until = self._codes.pop(hash_token(code), 0.0)
        return self._token if until and self._clock() < until else ""


def account_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the account whose program has the first end of a connection on this machine; None if unknown.

    The ports alone do not tell it: any account may use the client's port with another address of this machine.
    """
    with suppress(OSError, ValueError, IndexError, TypeError):  # not Linux, or no connection of this kind
        ends = [f"{_as_listed(host)}:{port:04X}" for host, port in (client, server)]
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                    return int(fields[7])
    return None


def _as_listed(host: str) -> str:
    """Return an address as the kernel lists it; one of IPv4 also ends the longer one that it has within IPv6."""
    address = ip_address(host.partition("%")[0])
    packed = (getattr(address, "ipv4_mapped", None) or address).packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
