"""What a project's own `sightline.toml` may do before the user has approved it: nothing outside the project.

A cloned folder can contain a file that starts programs, sends the conversation or the keys of this shell to any
address, lets the model write, run Python or use more of the machine, or opens folders and files outside the project.
Such a file is used once the user has approved it. If the file or what it reaches changes, the user is asked again.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from sightline.agent.config import Config, ToolSettings, usual_places, with_fallbacks
from sightline.agent.models.catalog import OWN_KEY
from sightline.agent.models.endpoint import Endpoint, bare_address
from sightline.agent.tools.files.folders import printable
from sightline.errors import Unwritable
from sightline.log.stores.disk import make_directory

FILE = "trusted.json"
_DEFAULT = ToolSettings()


def reaches(config: Config, project: str | Path, env: Mapping[str, str]) -> list[str]:
    """Return what the file does outside the project, in a few words, without secrets; if nothing, it needs no trust."""
    found = [*_servers(config), *_models(config, Path(project), env), *_tools(config, Path(project))]
    return list(dict.fromkeys(map(printable, found)))  # so that no text looks like another line, or like the question


def _servers(config: Config) -> Iterator[str]:
    for name, server in config.mcp.items():
        target = shlex.join([server.command, *server.args]) if server.command else bare_address(server.url)
        variables = f" (env {', '.join(server.env)})" if server.env else ""
        yield f"mcp.{name}: {target}{variables}"


def _models(config: Config, project: Path, env: Mapping[str, str]) -> Iterator[str]:
    for label, endpoint in config.models.items():
        for each in with_fallbacks(endpoint, config, env):
            name = f"models.{each.label or f'{label}.fallback'}"
            if each.provider == "local":
                if _outside(real := Path(each.gguf).resolve(), project):
                    yield f"{name}: gguf → {real}"
            elif (sent := _sent_besides(each, env)) is not None:
                yield f"{name}: {', '.join(sent)}{' ' * bool(sent)}→ {each.address}"


def _sent_besides(endpoint: Endpoint, env: Mapping[str, str]) -> list[str] | None:
    """Return what is sent there besides the conversation; None if the file changes nothing.

    That includes a key of the file's own and headers, because they decide whose account gets the conversation. An
    option that is a table or a list can name other services that a provider calls. On this machine, where any user may
    run a server, it is keys and headers.
    """
    usual = [place.key_env for place in usual_places(endpoint.base_url, env)]
    if endpoint.on_this_machine:
        usual.append(OWN_KEY)
    sent = []
    if endpoint.key is not None and env.get(endpoint.key_env) != endpoint.key.reveal():
        sent.append("key")
    elif endpoint.key is not None and endpoint.key_env not in usual:
        sent.append(f"${endpoint.key_env}")
    if endpoint.headers:
        sent.append(f"headers {' '.join(endpoint.headers)}")
    if not endpoint.on_this_machine and (
        wide := [name for name, value in endpoint.options.items() if isinstance(value, dict | list)]
    ):
        sent.append(f"options {' '.join(wide)}")
    return sent if sent or not usual else None


def _tools(config: Config, project: Path) -> Iterator[str]:
    for name in ("run_python", "edit"):
        if getattr(config.tools, name):
            yield f"tools.{name}: true"
    for name in ("python_seconds", "python_memory_mb"):
        if not (asked := getattr(config.tools, name)) <= getattr(_DEFAULT, name):  # also NaN
            yield f"tools.{name}: {asked}"
    for folder in config.tools.folders:
        if _outside(real := (project / folder).resolve(), project):
            yield f"tools.folders: {folder} → {real}"


def _outside(real: Path, project: Path) -> bool:
    return not real.is_relative_to(project.resolve())


class Trusted:
    """The files that the user has approved: by path, by content, and by what they reached then."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE

    def holds(self, config: Config, reached: Sequence[str]) -> bool:
        """Whether the user has approved this file, as it was read, and everything that it reaches."""
        [(path, fingerprint)] = _approval(config, reached).items()
        return self._approved().get(path) == fingerprint

    def add(self, config: Config, reached: Sequence[str]) -> None:
        """Approve this file, as it was read, as long as it reaches the same. Raises Unwritable."""
        known = self._approved() | _approval(config, reached)
        new = self._file.with_suffix(".new")
        try:
            make_directory(self._file.parent)
            new.write_bytes(msgspec.json.format(msgspec.json.encode(known)))
            new.replace(self._file)
        except OSError as error:
            raise Unwritable(str(self._file), error.strerror or str(error)) from error

    def _approved(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}  # no file is approved


def _approval(config: Config, reached: Sequence[str]) -> dict[str, str]:
    """Return the fingerprint of a project's own file and of what it reaches, by the file's path.

    If the file is a link, it is the path of the link, because the file's folders are relative to that.
    """
    file = Path(config.file)
    fingerprint = sha256(ascii((config.digest, *reached)).encode()).hexdigest()
    return {str(file.parent.resolve() / file.name): fingerprint}
