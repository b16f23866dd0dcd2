"""The token that the callers of a server must show (see `safety`): chosen by the user, made at each start, or kept."""

import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sightline.errors import BadInput
from sightline.files.private_files import make_directory

TOKEN_FILE = "server-token"  # in the folder where sessions are stored
TOKEN_VARIABLE = "SIGHTLINE_TOKEN"
PATH_PREFIX = "/token/"  # before a token that is the beginning of a path
_HASHED = "sha256:"
_LEAST_TOKEN = 16  # characters of one that a user has chosen


class Token(NamedTuple):
    """The token of a server: its hash, and the token itself if it is known here.

    One that was made just now is shown. One that the user has chosen is not, so that no log has it.
    """

    hashed: str
    text: str = ""
    is_new: bool = False

    @property
    def shown(self) -> str:
        """The token if it is to be shown, else nothing."""
        return self.text if self.is_new else ""


def find_token(host: str, folder: Path, variables: Mapping[str, str]) -> Token:
    """Return the token of a server that begins to listen at this host.

    It is the one that the user has put into `SIGHTLINE_TOKEN`. Without that, a server on a loopback address has a new
    one at each start, and any other the one that is kept in this folder (see `load_or_create_token`, which also says
    what is raised).
    """
    if chosen := variables.get(TOKEN_VARIABLE, "").strip():
        if len(chosen) < _LEAST_TOKEN or not _is_plain(chosen):
            raise BadInput(
                f"{TOKEN_VARIABLE} needs {_LEAST_TOKEN} or more letters, digits, - and _; without it one is made"
            )
        return Token(hash_token(chosen), chosen)
    return make_token() if is_loopback(host) else load_or_create_token(folder)


def make_token() -> Token:
    """Return a new token that is kept nowhere."""
    token = secrets.token_urlsafe(32)
    return Token(hash_token(token), token, is_new=True)


def _is_plain(text: str) -> bool:
    """Whether a text needs no escape in an address."""
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def load_or_create_token(folder: Path) -> Token:
    """Return the token that is kept in this folder, or make one. Only its hash is kept, readable by its owner.

    Delete the file to have a new one made.

    Raises:
        BadInput: the file is there and holds no hash of a token.
        OSError: it cannot be read or written.
    """
    file = folder / TOKEN_FILE
    with suppress(FileNotFoundError):
        return Token(_read_hash(file))
    make_directory(folder)
    made_now = make_token()
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # another server was started at the same time, and shows its own
        return Token(_read_hash(file))
    with os.fdopen(made, "w", encoding="ascii") as opened:
        opened.write(made_now.hashed + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    return made_now


def _read_hash(file: Path) -> str:
    text = file.read_bytes()[:200].decode("ascii", "replace").strip()
    digest = text.removeprefix(_HASHED)
    if not text.startswith(_HASHED) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise BadInput(f"{file} holds no hash of a token; delete it, and the next start makes a new token")
    return text


def hash_token(token: str) -> str:
    """Return what is kept of a token. It is random and long, so it needs no salt and no slow function."""
    return _HASHED + sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach a server that listens at this address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def opens_models(host: str, upstreams: Iterable[str]) -> bool:
    """Whether the paths of the proxy need no token: only this machine reaches them, and no key is added to requests.

    A user or a password in an upstream's address would be sent with the requests of anybody.
    """
    return is_loopback(host) and not any("@" in urlsplit(address).netloc for address in upstreams)
