"""What a project's own `sightline.toml` may do before anybody has looked at it: nothing that reaches beyond it.

A cloned folder can hold a file that starts programs, sends the keys of this shell to an address of its choice, or opens
folders outside of it. Such a file is obeyed once somebody has said so; when it changes, it is asked about again.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from sightline.agent.config import Config
from sightline.agent.models.endpoint import Endpoint, bare_address
from sightline.agent.models.known import place_of
from sightline.errors import Unwritable

FILE = "trusted.json"


def reaches(config: Config, project: str | Path) -> list[str]:
    """What the file does beyond the project, each in a few words; nothing: it needs no trust."""
    return [*_servers(config), *_keys(config), *_tools(config, Path(project))]


def _servers(config: Config) -> Iterator[str]:
    for name, server in config.mcp.items():
        said = " ".join([server.command, *server.args]) if server.command else bare_address(server.url)
        yield f"mcp.{name}: {said}"


def _keys(config: Config) -> Iterator[str]:
    for label, endpoint in config.models.items():
        if endpoint.key_env and endpoint.key is not None and not _usual(endpoint):
            yield f"models.{label}: ${endpoint.key_env} → {endpoint.address}"


def _usual(endpoint: Endpoint) -> bool:
    """Whether the key goes where keys of that name go, or nowhere."""
    place = place_of(endpoint.base_url)
    return endpoint.on_this_machine or (place is not None and place.key_env == endpoint.key_env)


def _tools(config: Config, project: Path) -> Iterator[str]:
    if config.tools.run_python:
        yield "tools.run_python: true"
    inside = project.resolve()
    for folder in config.tools.folders:
        if not (project / folder).resolve().is_relative_to(inside):
            yield f"tools.folders: {folder}"


class Trusted:
    """The files that somebody has looked at, by path and content."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE

    def __contains__(self, config: Config) -> bool:
        return self._known().get(_path(config)) == _digest(config)

    def add(self, config: Config) -> None:
        """Obey this file from now on, as it is. Raises Unwritable."""
        known = self._known() | {_path(config): _digest(config)}
        new = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(msgspec.json.format(msgspec.json.encode(known)))
            new.replace(self._file)
        except OSError as error:
            raise Unwritable(str(self._file), error.strerror or str(error)) from error

    def _known(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}  # nobody is trusted


def _path(config: Config) -> str:
    return str(Path(config.file).resolve())


def _digest(config: Config) -> str:
    return sha256(Path(config.file).read_bytes()).hexdigest()
