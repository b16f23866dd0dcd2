"""A server that is there whenever the user is logged in: units of systemd, or an agent of launchd.

With systemd only the port is open from the beginning. The server is started by the first request, which waits for it,
and so does each request that comes while it is started again.
"""

import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_LABEL = "org.sightline.server"
_SECONDS = 30  # that a command may take


class Service(NamedTuple):
    """What a system needs for it: files, and the commands that begin and end it."""

    kind: str  # "systemd" or "launchd"
    files: dict[Path, str]
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]  # before the files are gone
    after: tuple[tuple[str, ...], ...] = ()  # they are gone


class WholeText(NamedTuple):
    """A file that is ours alone: an `Edit` of a `ChangedFile`."""

    own: str

    @property
    def empty(self) -> str:
        """What stands for a file that is not there."""
        return ""

    def with_ours(self, text: str) -> str:  # noqa: ARG002
        """Return our text."""
        return self.own

    def without_ours(self, text: str, original: str | None) -> str:
        """Return what was there before; what somebody has changed since stays."""
        return (original or "") if text == self.own else text

    def is_empty(self, text: str) -> bool:
        """Whether nothing is in the file."""
        return not text.strip()


def find_service(command: Sequence[str], port: int, variables: Mapping[str, str]) -> Service | None:
    """Return what starts this command with the login session; None: the system offers nothing that we know.

    `command` serves at this port of loopback. `variables` are those of the user's session.
    """
    home = Path(variables.get("HOME", ""))
    if sys.platform == "darwin" and shutil.which("launchctl"):
        return launchd(command, home, variables)
    if shutil.which("systemctl") and run(("systemctl", "--user", "show-environment")):
        return systemd(command, port, home, variables)
    return None


def systemd(command: Sequence[str], port: int, home: Path, variables: Mapping[str, str]) -> Service:
    """Return a socket and a service of the user's systemd."""
    folder = Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
    socket = (
        "[Unit]\nDescription=Port of the Sightline server\n\n"
        f"[Socket]\nListenStream=127.0.0.1:{port}\nNoDelay=true\n\n[Install]\nWantedBy=sockets.target\n"
    )
    own = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in _environment(variables).items())
    service = (
        "[Unit]\nDescription=Sightline server\nRequires=sightline.socket\nAfter=sightline.socket\n\n"
        f"[Service]\nType=notify\nExecStart={' '.join(map(_quoted, command))}\n{own}WorkingDirectory=%h\n"
        "Restart=on-failure\nRestartSec=1\nUMask=0077\n"
    )
    systemctl = ("systemctl", "--user")
    return Service(
        "systemd", {folder / "sightline.socket": socket, folder / "sightline.service": service},
        (
            (*systemctl, "daemon-reload"), (*systemctl, "enable", "sightline.socket"),
            (*systemctl, "stop", "sightline.service"), (*systemctl, "restart", "sightline.socket"),
        ),
        ((*systemctl, "disable", "--now", "sightline.socket"), (*systemctl, "stop", "sightline.service")),
        ((*systemctl, "daemon-reload"),),
    )  # fmt: skip


def launchd(command: Sequence[str], home: Path, variables: Mapping[str, str]) -> Service:
    """Return an agent of launchd, which starts the server at login and again when it ends."""
    file = home / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    facts = {
        "Label": _LABEL, "ProgramArguments": list(command), "RunAtLoad": True, "KeepAlive": True,
        "WorkingDirectory": str(home), "EnvironmentVariables": _environment(variables),
        "StandardErrorPath": str(home / "Library" / "Logs" / "sightline.log"),
    }  # fmt: skip
    domain = f"gui/{os.getuid()}"
    return Service(
        "launchd", {file: plistlib.dumps(facts).decode()},
        (("launchctl", "bootout", f"{domain}/{_LABEL}"), ("launchctl", "bootstrap", domain, str(file))),
        (("launchctl", "bootout", f"{domain}/{_LABEL}"),),
    )  # fmt: skip


def run(command: Sequence[str]) -> bool:
    """Run a command of the system. Return whether it succeeded."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what the server needs of the session's variables: where sessions are kept, and the way out."""
    names = ("SIGHTLINE_HOME", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE")
    return {name: variables[name] for name in names if variables.get(name)}


def _quoted(word: str) -> str:
    """Return a word as systemd reads it back."""
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$"), ("\n", "\\n")):
        word = word.replace(mark, escaped)
    return f'"{word}"'
