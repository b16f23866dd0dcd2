"""A project's settings for models, tools and chat: `sightline.toml`, then the environment.

    model = "fast"                      # which of the models below; or a [model] table of its own
    [models.fast]
    name = "gpt-5.6-terra"
    fallback = ["ollama/qwen3"]
    [models.house]
    base_url = "http://gpu.example:8000/v1"
    name = "qwen3-32b"
    key_env = "HOUSE_KEY"
    [tools]
    folders = ["data", "src"]
    run_python = true
    run_shell = true
    edit = true
    [mcp.files]
    command = "mcp-server-files"
    args = ["data"]
    [chat]
    locale = "zh"

The strategy is in the same file; `sightline.plan.strategies.project_choice` reads it.
"""

import os
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sightline.agent.models.endpoint import Endpoint, bare_address, checked_address
from sightline.agent.models.secret import Secret
from sightline.apps.window import FORMS
from sightline.errors import BadInput
from sightline.files.project import read_beginning
from sightline.plan.strategies.project_choice import KEYS as CHOICE_KEYS
from sightline.plan.strategies.project_choice import OTHER_KEYS, check_keys
from sightline.providers.catalog import FAMILIES, OWN_KEY, PLACES, PROVIDERS, Place, place_of
from sightline.values.decoders import convert
from sightline.values.phrases import LOCALES

FILE = "sightline.toml"
MODEL_VARIABLE = "SIGHTLINE_MODEL"  # a model for this shell, in any form that --model takes
OURS = frozenset({"model", "messages", "system", "tools", "stream"})  # of a request: `options` cannot replace them
_MOST_BYTES = 1 << 20  # of the file: nobody writes a longer one by hand
READABLE_VARIABLE = "SIGHTLINE_READABLE"  # patterns as in [tools] readable, separated as in PATH
T = TypeVar("T", bound=msgspec.Struct)


class ToolSettings(msgspec.Struct, frozen=True):
    """Which tools the agent has, and what they may do."""

    only: tuple[str, ...] = ()  # the tools, "apps" among them; empty: all
    folders: tuple[str, ...] = (".",)  # in which files may be read, relative to the project's directory
    readable: tuple[str, ...] = ()  # patterns of files there that are read although they hold keys or secrets
    edit: bool = False  # whether the app `editor` is available, which writes files there
    apps: tuple[str, ...] = ()  # Python files, each with an app, relative to the project's directory
    shared: tuple[str, ...] = ()  # apps of which all sessions of the project share one window; `Session` reads it
    run_python: bool = False
    run_shell: bool = False  # with the limits of Python
    python_seconds: float = 30.0
    python_memory_mb: int = 1024  # numpy and pandas alone reserve half of it
    seconds: float = 60.0  # that any other tool may take


class McpServer(msgspec.Struct, frozen=True):
    """A server of tools: a command to start, or an address. `env`: secret variables for the command."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, Secret] = {}
    url: str = ""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("say either command, with args and env, or url")


class ChatSettings(msgspec.Struct, frozen=True):
    """How `sightline chat` begins. Empty: the default."""

    locale: str = ""
    strategy: str = ""
    rounds: int = 0  # how often a model may ask for tools before it answers; 0: as often as an `Agent` lets it
    windows: str = "xml"  # how those of apps are written, in new chats

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise ValueError("rounds is at least 1")
        if self.locale not in ("", *LOCALES):
            raise ValueError(f"unknown locale; choose one of {', '.join(LOCALES)}")
        if self.windows not in FORMS:
            raise ValueError(f"windows are written as one of {', '.join(FORMS)}, not {self.windows!r}")


class Config(msgspec.Struct, frozen=True):
    """A project's settings. `model` is the label of the chosen model; empty: none is chosen."""

    models: dict[str, Endpoint] = {}
    model: str = ""
    tools: ToolSettings = ToolSettings()
    mcp: dict[str, McpServer] = {}
    chat: ChatSettings = ChatSettings()
    file: str = ""  # its path; empty: there is none
    digest: str = ""  # of the file's real path and of the bytes that were read


def read_config(project: str | Path, env: Mapping[str, str]) -> Config:
    """Return the configuration of the project in this directory, with keys from this environment.

    Raises:
        BadInput: names the file, the key and the choices there are, and never a secret.
    """
    file = Path(project) / FILE
    if not file.is_file():
        return Config()
    try:
        real = file.resolve(strict=True)
        data = read_beginning(real, _MOST_BYTES)  # once, because exactly these bytes are trusted later
        if len(data) > _MOST_BYTES:
            raise BadInput(f"{file} has more than {_MOST_BYTES:,} bytes, so it is not read")
        table = tomllib.loads(data.decode())
    except (OSError, ValueError, RecursionError) as error:  # not readable, no text, no TOML, nested too deep
        raise BadInput(f"{file} cannot be read as TOML: {error}") from error
    return replace(from_tables(table, str(file), env), digest=sha256(os.fsencode(real) + b"\0" + data).hexdigest())


def from_tables(table: Mapping[str, Any], where: str, env: Mapping[str, str]) -> Config:
    """Return the configuration in the tables of a `sightline.toml`.

    Raises:
        BadInput: names `where`, the key and the choices there are, and never a secret.
    """
    check_keys(table, (*CHOICE_KEYS, *OTHER_KEYS), where)
    models = {
        label: _endpoint(model_table, f"{where} [models.{label}]", label, env, Path(where).parent)
        for label, model_table in _tables(table, "models", where)
    }
    model = table.get("model", "")
    if isinstance(model, Mapping):
        models = {"model": _endpoint(model, f"{where} [model]", "model", env, Path(where).parent), **models}
        model = "model"
    config = Config(
        models=models,
        model=model,
        tools=_struct(table.get("tools", {}), ToolSettings, f"{where} [tools]"),
        mcp={name: _struct(mcp, McpServer, f"{where} [mcp.{name}]") for name, mcp in _tables(table, "mcp", where)},
        chat=_struct(table.get("chat", {}), ChatSettings, f"{where} [chat]"),
        file=where,
    )
    return _consistent(config, env)


def endpoint_of(text: str, config: Config, env: Mapping[str, str]) -> Endpoint:
    """Return the model that a text names, as `--model` takes it.

    It is a label of the configuration; `provider/name`; an address and a name; a path to a .gguf file; or a name that
    can only be one provider's.

    Raises:
        BadInput: it names none; the message tells the forms there are.
    """
    text = text.strip()
    if text in config.models:
        return config.models[text]
    if text.lower().endswith(".gguf"):
        # Tools as JSON, and no summaries, because its abilities are not known; [models.NAME] can tell them.
        return Endpoint(Path(text).stem, "local", gguf=str(Path(text).expanduser()), native=False, capable=False)
    if text.startswith(("http://", "https://")):
        return _address_endpoint(text, env)
    place, slash, name = text.partition("/")
    if slash and name and place in PLACES:
        return at_place(place, name, env)
    if place := next((place for start, place in FAMILIES.items() if text.startswith(start)), ""):
        return at_place(place, text, env)
    labels = f"{', '.join(config.models)} ([models] of {config.file}), " if config.models else ""
    raise BadInput(
        f"no model {text!r}; write {labels}PROVIDER/NAME with one of {', '.join(PLACES)}, "
        "'http://HOST:PORT/v1 NAME', or the path of a .gguf file"
    )


def with_fallbacks(endpoint: Endpoint, config: Config, env: Mapping[str, str]) -> list[Endpoint]:
    """Return the model and its fallbacks, each once, without the fallbacks' own fallbacks."""
    endpoints = [endpoint]
    for other in endpoint.fallback:
        fallback = endpoint_of(other, config, env)
        endpoints += [fallback] if fallback not in endpoints else []
    return endpoints


def at_place(place_name: str, name: str, env: Mapping[str, str]) -> Endpoint:
    """Return a model at one of the known places. `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` are used."""
    place = PLACES[place_name]
    return Endpoint(
        name,
        place.provider,
        base_url=checked_address(_address(place, env), place_name, login=True),
        key=_key_in(place.key_env, env),
        key_env=place.key_env,
    )


def usual_places(base_url: str, env: Mapping[str, str]) -> list[Place]:
    """Return the known places with this address, which may come from this environment."""
    address = base_url.rstrip("/")
    return [place for place in PLACES.values() if address in (place.base_url, _address(place, env).rstrip("/"))]


def _address(place: Place, env: Mapping[str, str]) -> str:
    return env.get(place.key_env.replace("_API_KEY", "_BASE_URL")) or place.base_url


def _address_endpoint(text: str, env: Mapping[str, str]) -> Endpoint:
    address, _, name = text.partition(" ")
    checked_address(address, "the model's address", login=True)
    if not name.strip():
        bare = bare_address(address)
        raise BadInput(f"which model at {bare}? write '{bare} NAME'; GET {bare}/models lists them")
    place, variable = place_of(address), _usual_variable(address)
    provider = place.provider if place else "openai"
    return Endpoint(name.strip(), provider, base_url=address, key=_key_in(variable, env), key_env=variable)


# ---------------------------------------------------------------------- the tables


def _endpoint(table: Any, where: str, label: str, env: Mapping[str, str], folder: Path) -> Endpoint:
    endpoint = _struct(table, Endpoint, where)
    provider = table.get("provider") or ("local" if endpoint.gguf else "openai")
    if provider not in (*PROVIDERS, *PLACES):
        raise BadInput(f"{where}: unknown provider; choose one of {', '.join(dict.fromkeys([*PROVIDERS, *PLACES]))}")
    local = provider == "local"
    if local and not endpoint.gguf:
        raise BadInput(f"{where}: a local model needs gguf, the path of its file")
    if not local and not endpoint.name:
        raise BadInput(f"{where}: name is missing, the model's name as its provider has it")
    # Not `seconds <= 0`, because seconds may be NaN.
    if min(endpoint.window, endpoint.output) < 0 or not endpoint.seconds > 0 or endpoint.attempts < 1:
        raise BadInput(f"{where}: window and output are at least 0, seconds above 0, attempts at least 1")
    if ours := [name for name in endpoint.options if name.casefold() in OURS]:  # some servers ignore the case of names
        raise BadInput(f"{where}: options cannot replace {ours[0]!r}, which is Sightline's part of a request")
    place = PLACES.get(provider)
    if endpoint.base_url:
        base_url = checked_address(endpoint.base_url, where)
    else:
        base_url = checked_address(_address(place, env), where, login=True) if place else ""
    usual = place.key_env if place and not endpoint.base_url else _usual_variable(base_url)
    if endpoint.base_url and endpoint.at_known_server:
        usual = ""  # as at its address in PLACES: whatever listens there gets a key only if it is named
    own_key = endpoint.key if endpoint.key != Secret("") else None
    variable = "" if own_key else endpoint.key_env or usual
    return replace(
        endpoint,
        name=endpoint.name or Path(endpoint.gguf).stem,
        provider=place.provider if place else provider,
        label=label,
        base_url=base_url,
        key=own_key or _key_in(variable, env),
        key_env=variable,
        key_said=f"`key` of {where}" if own_key else f"`key_env` of {where}" if endpoint.key_env else "",
        native=table.get("native", not local),
        capable=table.get("capable", not local),
        gguf=str(folder / Path(endpoint.gguf).expanduser()) if endpoint.gguf else "",
    )


def _key_in(variable: str, env: Mapping[str, str]) -> Secret | None:
    return Secret(env[variable]) if env.get(variable) else None


def _usual_variable(base_url: str) -> str:
    """Return the variable of the key if none is given. A key is sent to no other address than its provider's."""
    place = place_of(base_url)
    return place.key_env if place else (OWN_KEY if base_url else "")


def _consistent(config: Config, env: Mapping[str, str]) -> Config:
    """Return the configuration. Its model and all fallbacks must exist; a model in --model's form is added."""
    if not isinstance(config.model, str):
        raise BadInput(f"{config.file}: model is a name or a table")
    if config.model and config.model not in config.models:
        chosen = _named(config.model, config, env, "model")
        config = replace(config, models={config.model: replace(chosen, label=config.model), **config.models})
    for label, endpoint in config.models.items():
        for other in endpoint.fallback:
            _named(other, config, env, f"[models.{label}] fallback")
    return config


def _named(text: str, config: Config, env: Mapping[str, str], key: str) -> Endpoint:
    try:
        if text not in config.models and text.startswith(("http://", "https://")):
            checked_address(text.partition(" ")[0], "the model's address")  # a file's holds no user or password
        return endpoint_of(text, config, env)
    except BadInput as error:
        raise BadInput(f"{config.file}: {key}: {error}") from error


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[tuple[str, Any]]:
    tables = table.get(key, {})
    if not isinstance(tables, Mapping):
        raise BadInput(f"{where}: {key} holds tables: write [{key}.NAME]")
    return list(tables.items())


def _struct(table: Any, kind: type[T], where: str) -> T:
    if not isinstance(table, Mapping):
        raise BadInput(f"{where} is a table")
    check_keys(table, [name for name in kind.__struct_fields__ if name not in ("label", "key_said")], where)
    try:
        return convert(table, kind, dec_hook=_secret)
    except msgspec.ValidationError as error:  # the message has the types and the place, not the value
        raise BadInput(f"{where}: {error}") from None


def _secret(_: type, value: Any) -> Secret:
    try:
        return Secret(convert(value, str))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None  # then msgspec adds the place
