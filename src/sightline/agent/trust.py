"""What a project's own `sightline.toml` may do before the user has approved it: nothing outside the project.

A cloned folder can contain a file that starts programs, sends the conversation or the keys of this shell to any
address, makes requests to other services of this machine, loads a file into this process, lets the model write, run
Python or use more of the machine, or opens folders and files outside the project. Such a file is used once the user has
approved it. If the file or what it reaches changes, the user is asked again.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from msgspec.structs import replace

from sightline.agent.config import Config, ToolSettings, usual_places, with_fallbacks
from sightline.agent.models.anthropic import AnthropicModel
from sightline.agent.models.endpoint import Endpoint, bare_address
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.tools.files.folders import printable
from sightline.errors import BadInput, Unwritable
from sightline.files.private_files import locked_in_place, make_directory
from sightline.plan.strategies import files_of
from sightline.plan.strategies.project_choice import chosen
from sightline.values.clock import wall_clock
from sightline.values.decoders import decode_json
from sightline.values.phrases import Phrases, texts

FILE = "trusted.json"
_FOLDER, _NOT_FOLDER = "folder", "not the folder"  # stand where a file has its fingerprint
_SAY = Phrases(texts("trust"))  # what a file can do outside the project, in the reader's language
# Variables that decide which program or code runs. Their values are shown; those of others may be secrets.
_DECIDING = re.compile(
    r"PATH|LD_(?:PRELOAD|LIBRARY_PATH|AUDIT|ORIGIN_PATH)|DYLD_\w+|GCONV_PATH|HOME|SHELL|ENV|IFS|PS4|ZDOTDIR|SHELLOPTS"
    r"|BASH_ENV|BASH_FUNC_.+|PROMPT_COMMAND|PYTHON(?:PATH|STARTUP|HOME|USERBASE|BREAKPOINT|WARNINGS|PYCACHEPREFIX)"
    r"|NODE_(?:OPTIONS|PATH)|RUBY(?:OPT|LIB)|GEM_(?:HOME|PATH)|PERL(?:5OPT|5LIB|5DB|LIB)|LUA_(?:C?PATH|INIT)\w*|PHPRC"
    r"|PHP_INI_SCAN_DIR|CLASSPATH|_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|JAVA_HOME|DOTNET_STARTUP_HOOKS"
    r"|GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|EXTERNAL_DIFF|EDITOR|PAGER|ASKPASS|TEMPLATE_DIR)|EDITOR|VISUAL|PAGER|BROWSER"
    r"|RUSTC_WRAPPER|CARGO_\w+|DOCKER_HOST|OPENSSL_CONF|LESSOPEN|MAKEFLAGS|GO(?:PROXY|FLAGS|PATH|ROOT)|MAVEN_OPTS"
    r"|(?i:(?:npm_config|pip|uv|yarn|bun|deno|rustup|gradle|git_config|ssl_cert)_\w+|git_config\w*|\w+_proxy)"
)
_LOGIN = re.compile(r"//[^/@\s]+@")  # in an address
_PATHS_END = re.compile(r"[\s:;,='\"]+")
_DEFAULT = ToolSettings()
_LONGEST_LABEL, _LONGEST_VALUE = 60, 300  # characters: what is asked must stay on the screen
_PROTOCOLS = {  # the keys that the body of a request has besides the options
    "openai": (OpenAiModel.protocol, "model, messages, tools, max_tokens, stream, stream_options"),
    "anthropic": (AnthropicModel.protocol, "model, system, messages, tools, max_tokens, stream"),
}
_WORD = re.compile(r"[\w .+-]{0,64}")  # neither an address nor a path
_MOST_ATTEMPTS, _MOST_SECONDS = 10, 3600.0  # each attempt may cost money, and nothing is heard while it lasts
_MOST_ROUNDS = 100  # for one question: each may cost money
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


class Reach(NamedTuple):
    """One thing that a file does outside the project. `kind`: what it is; `detail`: where the file says so, and how."""

    kind: str
    detail: str

    def line(self, locale: str = "en") -> str:
        """Return it for people, in one line without secrets."""
        # A later version may have written a kind that is not in the table.
        return _SAY(self.kind, locale, detail=self.detail) if self.kind in _SAY else self.detail


def reaches(config: Config, project: str | Path, env: Mapping[str, str]) -> list[Reach]:
    """Return what the file does outside the project, without secrets; if nothing, it needs no trust."""
    folder = Path(project)
    all_reaches = [*_servers(config, folder), *_models(config, env), *_tools(config, folder), *_strategies(folder)]
    # Printable, so that no text looks like another line, or like the question.
    return list(dict.fromkeys(Reach(kind, printable(detail)) for kind, detail in all_reaches))


def named(config: Config, project: str | Path) -> Config:
    """Return the configuration with the file that is approved: without a `sightline.toml`, the one with a strategy."""
    return config if config.file else replace(config, file=chosen(project).file)


def _servers(config: Config, project: Path) -> Iterator[Reach]:
    for label, server in config.mcp.items():
        name = f"mcp.{_short(label)}"
        if not server.command:
            yield Reach("server", f"{name}: {_with_query(server.url)}")
            continue
        deciding = {
            key: value.reveal()
            for key, value in server.env.items()
            if _DECIDING.fullmatch(key) and (key.endswith("ASKPASS") or not _SECRET_KEY.search(key))
        }
        hidden = {key: _LOGIN.sub("//***@", value) for key, value in deciding.items()}
        settings = [f"{key}={shlex.quote(hidden[key])}" if key in deciding else key for key in server.env]
        variables = f" (env {', '.join(settings)})" if settings else ""
        command = [server.command, *server.args]
        named = [word for value in (*command, *deciding.values()) for word in _PATHS_END.split(value)]
        programs = _programs(list(dict.fromkeys([*command, *named])), project)
        yield Reach("program", f"{name}: {shlex.join([server.command, *server.args])}{variables}{programs}")


def _programs(words: Sequence[str], project: Path) -> str:
    """Return the files of the project that a command names, each with a digest: one that changed is asked about."""
    files = []
    for word in filter(None, words):
        with suppress(OSError, ValueError):  # it is no file, or it cannot be read
            real = (project / word).resolve()
            if real.is_file() and real.is_relative_to(project.resolve()):
                files.append(f"{word} {sha256(real.read_bytes()).hexdigest()[:32]}")
    return f" (in this project: {', '.join(files)})" if files else ""


def _with_query(url: str) -> str:
    """Return an address that may be shown, with its query, in which values that may be secret are hidden."""
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # no address: it cannot be used either
        pairs = []
    query = [(name, "***" if _SECRET_KEY.search(name) else value) for name, value in pairs]
    return bare_address(url) + (f"?{urlencode(query, safe='*/:')}" if query else "")


def _models(config: Config, env: Mapping[str, str]) -> Iterator[Reach]:
    for label, endpoint in config.models.items():
        for model in with_fallbacks(endpoint, config, env):
            name = f"models.{_short(model.label or f'{label}.fallback')}"
            if model.provider == "local":
                yield Reach("gguf", f"{name}: gguf → {_file(Path(model.gguf).resolve())}")
            elif request := _request(model, env):
                yield Reach("request", f"{name}: {request}")


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
        options = (
            f"{_json(_short(name))}:{_short(_json(value), _LONGEST_VALUE)}" for name, value in endpoint.options.items()
        )
        sent.append(f"options {{{','.join(options)}}}")
    protocol, keys = _PROTOCOLS[endpoint.provider]
    return ", ".join([f"POST {bare_address(protocol.url(endpoint))}", *sent, f"body {{{keys}}}"])


def _is_harmless(name: str, value: Any) -> bool:
    if name == "stop":  # where an answer ends: any texts
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return name in _HARMLESS and (is_word or isinstance(value, bool | int | float))


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _short(text: str, longest: int = _LONGEST_LABEL) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _tools(config: Config, project: Path) -> Iterator[Reach]:
    for name in ("run_python", "run_shell", "edit"):
        if getattr(config.tools, name):
            yield Reach(name, f"tools.{name}: true")
    for name in ("python_seconds", "python_memory_mb"):
        if not (limit := getattr(config.tools, name)) <= getattr(_DEFAULT, name):  # also NaN
            yield Reach("limits", f"tools.{name}: {limit}")
    if config.chat.rounds > _MOST_ROUNDS:
        yield Reach("rounds", f"chat.rounds: {config.chat.rounds}")
    if not config.tools.seconds <= _MOST_SECONDS:
        yield Reach("limits", f"tools.seconds: {config.tools.seconds}")
    for name in config.tools.apps:
        yield Reach("app", f"tools.apps: {name} → {_code(project / name)}")
    for glob in config.tools.readable:
        yield Reach("readable", f"tools.readable: {glob}")
    for folder in config.tools.folders:
        if _outside(real := (project / folder).resolve(), project):
            yield Reach("folder", f"tools.folders: {folder} → {real}")


def _strategies(project: Path) -> Iterator[Reach]:
    with suppress(BadInput):  # whoever begins a session is told what is wrong with the choice
        choice = chosen(project)
        for name in files_of(choice.name):
            yield Reach("strategy", f"{Path(choice.file).name}: {name} → {_code(project / name)}")


def _code(path: Path) -> str:
    """Return where a file of code really is, with a digest of it: one that changed is asked about again."""
    real = path.resolve()
    with suppress(OSError):  # it is no file: loading it says so
        return f"{real} {sha256(real.read_bytes()).hexdigest()[:32]}"
    return str(real)


def _outside(real: Path, project: Path) -> bool:
    return not real.is_relative_to(project.resolve())


class _Approval(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user said, and when. `reaches`: what a file did then."""

    fingerprint: str
    since: int = 0  # milliseconds since 1970; 0: not known
    reaches: tuple[Reach, ...] = ()


class Trust(NamedTuple):
    """What the user has said about a folder, once: for `sightline trust`."""

    folder: str
    since: int  # milliseconds since 1970; 0: not known
    file: str  # the name of the file that is approved; empty: it is about the folder's instructions for agents
    reaches: tuple[Reach, ...] = ()  # what the file did then
    reads_texts: bool = False  # its instructions for agents are read; if not, the user has said no


class Trusted:
    """What the user has approved: files, by path, content and what they reached then; folders; and what was refused."""

    def __init__(self, home: Path, clock: Callable[[], int] = wall_clock) -> None:
        self._file, self._clock = home / FILE, clock

    def holds(self, config: Config, reached: Sequence[Reach]) -> bool:
        """Whether the user has approved this file, as it was read, and everything that it reaches."""
        path, fingerprint = _fingerprint(config, reached)
        return self._says(path) == fingerprint

    def add(self, config: Config, reached: Sequence[Reach]) -> None:
        """Approve this file, as it was read, as long as it reaches the same. Raises Unwritable."""
        path, fingerprint = _fingerprint(config, reached)
        self._note(path, fingerprint, reached)

    def holds_folder(self, project: str | Path) -> bool:
        """Whether the user trusts the folder itself, so that its instructions for agents are read."""
        return self._says(_folder_key(project)) == _FOLDER

    def refuses_folder(self, project: str | Path) -> bool:
        """Whether the user was asked about the folder's instructions for agents, and said no."""
        return self._says(_folder_key(project)) == _NOT_FOLDER

    def add_folder(self, project: str | Path) -> bool:
        """Trust the folder itself; return whether that is new. What its sightline.toml reaches is not approved by that.

        Raises Unwritable.
        """
        return self._set_folder(project, _FOLDER)

    def refuse_folder(self, project: str | Path) -> bool:
        """Remember that the folder's instructions for agents are not to be read. Raises Unwritable."""
        return self._set_folder(project, _NOT_FOLDER)

    def listing(self) -> list[Trust]:
        """Return all that the user has said, by folder."""
        trusts = []
        for path, approval in self._approvals().items():
            folder, _, name = path.rpartition("/")
            reads = approval.fingerprint == _FOLDER
            trusts.append(Trust(folder or "/", approval.since, name, approval.reaches, reads))
        return sorted(trusts)

    def withdraw(self, folder: str | Path) -> bool:
        """Forget all that was said about a folder; return whether there was anything. Raises Unwritable."""
        real = str(Path(folder).resolve())
        with self._locked():
            approvals = self._approvals()
            kept = {path: approval for path, approval in approvals.items() if (path.rpartition("/")[0] or "/") != real}
            if len(kept) < len(approvals):
                self._write(kept)
        return len(kept) < len(approvals)

    def _set_folder(self, project: str | Path, fingerprint: str) -> bool:
        key = _folder_key(project)
        is_new = self._says(key) != fingerprint
        if is_new:
            self._note(key, fingerprint)
        return is_new

    def _says(self, key: str) -> str:
        approval = self._approvals().get(key)
        return approval.fingerprint if approval is not None else ""

    def _note(self, key: str, fingerprint: str, reached: Sequence[Reach] = ()) -> None:
        with self._locked():
            self._write(self._approvals() | {key: _Approval(fingerprint, self._clock(), tuple(reached))})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else changes the file meanwhile. Raises Unwritable."""
        try:
            make_directory(self._file.parent)
            with locked_in_place(self._file.with_suffix(".lock"), os.O_CREAT):
                yield
        except OSError as error:
            raise Unwritable(str(self._file), error.strerror or str(error)) from error

    def _write(self, approvals: Mapping[str, _Approval]) -> None:
        new = self._file.with_suffix(".new")
        try:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(approvals)))
            new.replace(self._file)
        except OSError as error:
            raise Unwritable(str(self._file), error.strerror or str(error)) from error

    def _approvals(self) -> dict[str, _Approval]:
        try:
            stored = decode_json(self._file.read_bytes(), dict[str, str | _Approval])
        except (OSError, msgspec.DecodeError):
            return {}  # nothing is approved
        return {key: _Approval(approval) if isinstance(approval, str) else approval for key, approval in stored.items()}


def _folder_key(project: str | Path) -> str:
    real = str(Path(project).resolve())
    return real if real.endswith("/") else f"{real}/"  # no file's path ends so


def _fingerprint(config: Config, reached: Sequence[Reach]) -> tuple[str, str]:
    """Return the path of a project's own file, and the fingerprint of it and of what it reaches.

    If the file is a link, it is the path of the link, because the file's folders are relative to that. The English
    lines count, so that the language of the screen changes nothing.
    """
    file = Path(config.file)
    lines = [reach.line() for reach in reached]
    return str(file.parent.resolve() / file.name), sha256(ascii((config.digest, *lines)).encode()).hexdigest()


def is_allowed(config: Config, project: str | Path, home: Path, env: Mapping[str, str]) -> bool:
    """Whether a project's file does nothing outside the project, or the user has approved it as it is now."""
    reached = reaches(config, project, env)
    return not reached or Trusted(home).holds(named(config, project), reached)
