"""What a project's own `sightline.toml` may do before the user has approved it: nothing outside the project.

A cloned folder can contain a file that starts programs, sends the conversation or the keys of this shell to any
address, makes requests to other services of this machine, loads a file into this process, lets the model write, run
Python or use more of the machine, or opens folders and files outside the project. Such a file is used once the user has
approved it. If the file or what it reaches changes, the user is asked again.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from sightline.agent.config import Config, ToolSettings, usual_places, with_fallbacks
from sightline.agent.models.anthropic import AnthropicModel
from sightline.agent.models.endpoint import Endpoint, bare_address
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.tools.files.folders import printable
from sightline.errors import Unwritable
from sightline.log.stores.disk import make_directory

FILE = "trusted.json"
_FOLDER = "folder"  # stands where a file has its fingerprint
_DEFAULT = ToolSettings()
_LONGEST_LABEL, _LONGEST_VALUE = 60, 300  # characters: what is asked must stay on the screen
_PROTOCOLS = {  # the keys that the body of a request has besides the options
    "openai": (OpenAiModel.protocol, "model, messages, tools, max_tokens, stream, stream_options"),
    "anthropic": (AnthropicModel.protocol, "model, system, messages, tools, max_tokens, stream"),
}
_WORD = re.compile(r"[\w .+-]{0,64}")  # neither an address nor a path
_MOST_ATTEMPTS, _MOST_SECONDS = 10, 3600.0  # each attempt may cost money, and nothing is heard while it lasts
_HARMLESS = frozenset(  # options that change how a model answers: not what it is told, how often, or who keeps it
    {
        "temperature", "top_p", "top_k", "top_a", "min_p", "typical_p", "tfs_z", "seed", "stop",
        "max_tokens", "max_completion_tokens", "n_predict", "num_predict", "num_ctx",
        "presence_penalty", "frequency_penalty", "repeat_penalty", "repetition_penalty", "repeat_last_n",
        "mirostat", "mirostat_eta", "mirostat_tau", "dynatemp_range", "cache_prompt",
        "reasoning_effort", "verbosity", "think", "parallel_tool_calls", "user",
    }
)  # fmt: skip
_SECRET_KEY = re.compile(r"(?i)key|token|secret|pass|auth|sig|code")  # names of a query's values that are not shown


def reaches(config: Config, project: str | Path, env: Mapping[str, str]) -> list[str]:
    """Return what the file does outside the project, in a few words, without secrets; if nothing, it needs no trust."""
    found = [*_servers(config, Path(project)), *_models(config, env), *_tools(config, Path(project))]
    return list(dict.fromkeys(map(printable, found)))  # so that no text looks like another line, or like the question


def _servers(config: Config, project: Path) -> Iterator[str]:
    for label, server in config.mcp.items():
        target = shlex.join([server.command, *server.args]) if server.command else _with_query(server.url)
        variables = f" (env {', '.join(server.env)})" if server.env else ""
        yield f"mcp.{_short(label)}: {target}{variables}{_programs([server.command, *server.args], project)}"


def _programs(words: Sequence[str], project: Path) -> str:
    """Return the files of the project that a command names, each with a digest: one that changed is asked about."""
    found = []
    for word in filter(None, words):
        with suppress(OSError, ValueError):  # it is no file, or it cannot be read
            real = (project / word).resolve()
            if real.is_file() and real.is_relative_to(project.resolve()):
                found.append(f"{word} {sha256(real.read_bytes()).hexdigest()[:12]}")
    return f" (in this project: {', '.join(found)})" if found else ""


def _with_query(url: str) -> str:
    """Return an address that may be shown, with its query, in which values that may be secret are hidden."""
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # no address: it cannot be used either
        pairs = []
    shown = [(name, "***" if _SECRET_KEY.search(name) else value) for name, value in pairs]
    return bare_address(url) + (f"?{urlencode(shown, safe='*/:')}" if shown else "")


def _models(config: Config, env: Mapping[str, str]) -> Iterator[str]:
    for label, endpoint in config.models.items():
        for each in with_fallbacks(endpoint, config, env):
            name = f"models.{_short(each.label or f'{label}.fallback')}"
            if each.provider == "local":
                yield f"{name}: gguf → {_file(Path(each.gguf).resolve())}"
            elif request := _request(each, env):
                yield f"{name}: {request}"


def _file(real: Path) -> str:
    """Return a file's path, size and time, so that another file in its place is asked about again."""
    try:
        state = real.stat()
        when = datetime.fromtimestamp(state.st_mtime)
    except (OSError, ValueError, OverflowError):  # it does not exist; its time is none
        return str(real)
    return f"{real} ({state.st_size:,} bytes, {when})"


def _request(endpoint: Endpoint, env: Mapping[str, str]) -> str:
    """Return which request is made there, with everything in it but the values of secrets; empty: a usual one.

    Usual is one to a known provider with its key, or without any to the port and path of a known model server on this
    machine, with options that only change how the model answers. A key of the file's own and headers decide whose
    account gets the conversation. Other options can make a server call another, keep what it is sent, or cost much.
    """
    usual = [place.key_env for place in usual_places(endpoint.base_url, env)]
    sent = []
    if endpoint.key is not None and env.get(endpoint.key_env) != endpoint.key.reveal():
        sent.append("key")
    elif endpoint.key is not None and endpoint.key_env not in usual:
        sent.append(f"${endpoint.key_env}")
    if endpoint.headers:
        sent.append(f"headers {' '.join(endpoint.headers)}")
    if endpoint.attempts > _MOST_ATTEMPTS:
        sent.append(f"attempts {endpoint.attempts}")
    if not endpoint.seconds <= _MOST_SECONDS:
        sent.append(f"seconds {endpoint.seconds}")
    is_usual = bool(usual) or endpoint.at_known_server
    if is_usual and not sent and all(_is_harmless(*option) for option in endpoint.options.items()):
        return ""
    if endpoint.options:
        # Each cut by itself, so that a long one hides no other.
        shown = (
            f"{_json(_short(name))}:{_short(_json(value), _LONGEST_VALUE)}" for name, value in endpoint.options.items()
        )
        sent.append(f"options {{{','.join(shown)}}}")
    protocol, keys = _PROTOCOLS[endpoint.provider]
    return ", ".join([f"POST {bare_address(protocol.url(endpoint))}", *sent, f"body {{{keys}}}"])


def _is_harmless(name: str, value: Any) -> bool:
    if name == "stop":  # where an answer ends: any texts
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return name in _HARMLESS and (is_word or isinstance(value, bool | int | float))


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _short(text: str, longest: int = _LONGEST_LABEL) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _tools(config: Config, project: Path) -> Iterator[str]:
    for name in ("run_python", "run_shell", "edit"):
        if getattr(config.tools, name):
            yield f"tools.{name}: true"
    for name in ("python_seconds", "python_memory_mb"):
        if not (asked := getattr(config.tools, name)) <= getattr(_DEFAULT, name):  # also NaN
            yield f"tools.{name}: {asked}"
    if not config.tools.seconds <= _MOST_SECONDS:
        yield f"tools.seconds: {config.tools.seconds}"
    for glob in config.tools.readable:
        yield f"tools.readable: {glob} (keys and secrets)"
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
        self._write(_approval(config, reached))

    def _write(self, approved: dict[str, str]) -> None:
        known = self._approved() | approved
        new = self._file.with_suffix(".new")
        try:
            make_directory(self._file.parent)
            new.write_bytes(msgspec.json.format(msgspec.json.encode(known)))
            new.replace(self._file)
        except OSError as error:
            raise Unwritable(str(self._file), error.strerror or str(error)) from error

    def holds_folder(self, project: str | Path) -> bool:
        """Whether the user trusts the folder itself, so that its instructions for agents are read."""
        return self._approved().get(_folder_key(project)) == _FOLDER

    def add_folder(self, project: str | Path) -> None:
        """Trust the folder itself. What its sightline.toml reaches is not approved by that. Raises Unwritable."""
        if not self.holds_folder(project):
            self._write({_folder_key(project): _FOLDER})

    def _approved(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}  # no file is approved


def _folder_key(project: str | Path) -> str:
    return f"{Path(project).resolve()}/"  # no file's path ends so


def _approval(config: Config, reached: Sequence[str]) -> dict[str, str]:
    """Return the fingerprint of a project's own file and of what it reaches, by the file's path.

    If the file is a link, it is the path of the link, because the file's folders are relative to that.
    """
    file = Path(config.file)
    fingerprint = sha256(ascii((config.digest, *reached)).encode()).hexdigest()
    return {str(file.parent.resolve() / file.name): fingerprint}
