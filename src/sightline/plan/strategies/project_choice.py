"""The strategy that a project has chosen: in `sightline.toml`, `pyproject.toml`, `plugin.json` or `agent.json`.

The first of these files that names one counts. If none does, it is `focus`.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sightline.errors import BadInput
from sightline.plan.pipe import check_names
from sightline.plan.strategies import config_schema, files_of, is_known, names, strategy
from sightline.values.decoders import decode_json
from sightline.values.settings import strategy_name

DEFAULT = "focus"
WITHOUT_A_CHOICE = "sliding"  # for a plugin.json that names no strategy

FILES = ("sightline.toml", "pyproject.toml", "plugin.json", "agent.json")  # in the order in which they are asked
KEYS = ("strategy", "config")
OTHER_KEYS = ("model", "models", "tools", "mcp", "chat")  # the agent reads these from the same file

IDS = {
    "std-sliding-window-strategy": "sliding",
    "std-summarization-strategy": "summary",
    "std-entity-extraction-strategy": "entities",
}
"""The ids of the standard strategies in a `plugin.json`, which may also use the name of any other strategy."""


class Choice(NamedTuple):
    """A strategy's name, its configuration, and the file that names it; empty if no file does.

    The name and the configuration of a pipe are as in `Settings`. `task_goal`: what every payload is to show, if the
    file says so.
    """

    name: str | tuple[str, ...]
    config: dict[str, Any]
    file: str = ""
    task_goal: str = ""

    @property
    def title(self) -> str:
        """The name, for people."""
        return strategy_name(self.name)


def chosen(project: str | Path = ".") -> Choice:
    """The strategy of the project in this directory.

    Raises:
        BadInput: a file cannot be read or names what does not exist; says the file, the key and the valid choices.
    """
    for name in FILES:
        file = Path(project) / name
        if file.is_file() and (choice := _read(file)) is not None:
            if absent := [own for own in files_of(choice.name) if not (Path(project) / own).is_file()]:
                raise BadInput(
                    f"{file}: the strategy {absent[0]!r} is no file here; its path is relative to the project"
                )
            return choice
    return Choice(DEFAULT, {})


def strategy_files(project: str | Path = ".") -> list[str]:
    """The Python files of a project that its choice names; none if it cannot be read: who needs it is told why."""
    with suppress(BadInput):
        return files_of(chosen(project).name)
    return []


def shared_apps(project: str | Path = ".") -> frozenset[str]:
    """The apps of which all sessions of a project share one window: `[tools] shared` in its `sightline.toml`.

    Raises:
        BadInput: the file cannot be read, or has no names there.
    """
    file = Path(project) / FILES[0]
    tools = _toml(file).get("tools") if file.is_file() else None
    shared = tools.get("shared", []) if isinstance(tools, Mapping) else []
    if not isinstance(shared, list) or not all(isinstance(name, str) for name in shared):
        raise BadInput(f'{file}: tools.shared are names of apps, such as ["notebook"], not {shared!r}')
    return frozenset(shared)


def from_plugin(plugin: Mapping[str, Any], where: str = "plugin.json") -> Choice:
    """The strategy that a `plugin.json` chooses. Without `contextStrategy` it is the sliding window.

    A list is a pipe, each stage a name or such an object. `taskGoal` stands in an object, or beside `contextStrategy`.

    Raises:
        BadInput: says `where`, the key and the valid choices.
    """
    wanted = plugin.get("contextStrategy")
    if wanted is not None and not isinstance(wanted, list | Mapping):
        raise BadInput(f"{where}: contextStrategy is an object, or a list of objects and names, not {wanted!r}")
    if not isinstance(plugin.get("id"), str) or not plugin["id"]:
        raise BadInput(f'{where}: "id" must be the agent\'s id, as text')
    goal = _goal(plugin, f"{where}: taskGoal")
    if wanted is None:
        return Choice(WITHOUT_A_CHOICE, {}, where, goal)
    if isinstance(wanted, list):
        ids = [stage.get("pluginId") if isinstance(stage, Mapping) else stage for stage in wanted]
        _check_together([IDS.get(one, one) for one in ids if isinstance(one, str)], where, "contextStrategy")
        stages = [_plugin_stage(stage, where, f"contextStrategy[{at}]") for at, stage in enumerate(wanted)]
        choice = _join(stages, where, "contextStrategy")
    else:
        choice = _plugin_stage(wanted, where, "contextStrategy")
    return choice._replace(task_goal=choice.task_goal or goal)


def _goal(holder: Mapping[str, Any], key: str) -> str:
    if not isinstance(goal := holder.get("taskGoal", ""), str):
        raise BadInput(f"{key} is text, not {goal!r}")
    return goal


def _plugin_stage(wanted: Any, where: str, key: str) -> Choice:
    """One strategy of a `plugin.json`: an object or, in a list, also a name."""
    if isinstance(wanted, str):
        return _check_choice(wanted, None, where, key, IDS)
    if not isinstance(wanted, Mapping):
        raise BadInput(f"{where}: {key} is an object or the name of a strategy, not {wanted!r}")
    check_keys(wanted, ("type", "pluginId", "config", "taskGoal"), f"{where}: {key}")
    goal = _goal(wanted, f"{where}: {key}.taskGoal")
    if wanted.get("type") != "plugin":
        raise BadInput(f'{where}: {key}.type is {wanted.get("type")!r}; the only one is "plugin"')
    choice = _check_choice(wanted.get("pluginId"), wanted.get("config"), where, f"{key}.pluginId", IDS)
    return choice._replace(task_goal=goal)


def _check_together(stages: Sequence[str], where: str, key: str) -> None:
    """Raise BadInput if stages contradict each other: that comes before what is wrong with one of them."""
    try:
        check_names(stages)
    except BadInput as error:
        raise BadInput(f"{where}: {key}: {error}") from error


def _join(stages: Sequence[Choice], where: str, key: str) -> Choice:
    """The pipe of these stages; one is the strategy itself. Raises BadInput if two contradict each other."""
    if len(stages) == 1:
        return stages[0]
    configs = {str(stage.name): stage.config for stage in stages if stage.config}
    pipe_names = tuple(str(stage.name) for stage in stages)
    try:
        if all(map(is_known, pipe_names)):
            strategy(pipe_names, configs)
    except BadInput as error:
        raise BadInput(f"{where}: {key}: {error}") from error
    return Choice(pipe_names, configs, where, next(filter(None, (stage.task_goal for stage in stages)), ""))


def from_agent(agent: Mapping[str, Any], where: str = "agent.json") -> Choice | None:
    """The strategy that an `agent.json` names by its id in `cognition.context_strategy.type`. None if it names none.

    Raises:
        BadInput: says `where`, the key and the valid choices.
    """
    cognition = agent.get("cognition")
    wanted = _object(cognition, "context_strategy", where) if isinstance(cognition, Mapping) else None
    if wanted is None:
        return None
    check_keys(wanted, ("type", "config"), f"{where}: cognition.context_strategy")
    return _check_choice(wanted.get("type"), wanted.get("config"), where, "cognition.context_strategy.type", IDS)


def from_table(table: Mapping[str, Any], where: str) -> Choice | None:
    """The strategy of a TOML table: `strategy = "summary"` and `[config]`, or `[strategy]` with `name` and `config`.

    `strategy = ["rounds", "summary"]` is a pipe, with the configuration of each stage in `[config.summary]`.

    Raises:
        BadInput: says `where`, the key and the valid choices.
    """
    check_keys(table, (*KEYS, *OTHER_KEYS), where)
    wanted = table.get("strategy")
    if wanted is None:
        if "config" in table:
            raise BadInput(f'{where}: config without a strategy; say strategy = "…" too')
        return None
    if isinstance(wanted, list):
        return _table_pipe(wanted, table.get("config"), where)
    if not isinstance(wanted, Mapping):
        return _check_choice(wanted, table.get("config"), where, "strategy")
    check_keys(wanted, ("name", "config"), f"{where}: strategy")
    if "config" in table:
        raise BadInput(f"{where}: config stands beside strategy and inside it; say it once")
    return _check_choice(wanted.get("name"), wanted.get("config"), where, "strategy.name")


def _table_pipe(stages: Sequence[Any], config: Any, where: str) -> Choice:
    """The pipe of a TOML table."""
    if config is not None and not isinstance(config, Mapping):
        raise BadInput(f"{where}: config is an object, not {config!r}")
    configs = dict(config or {})
    _check_together([stage for stage in stages if isinstance(stage, str)], where, "strategy")
    check_keys(configs, [str(stage) for stage in stages], f"{where}: config of {strategy_name(stages)}")
    return _join([_check_choice(name, configs.get(name), where, "strategy") for name in stages], where, "strategy")


# ---------------------------------------------------------------------- the files


def _read(file: Path) -> Choice | None:
    match file.name:
        case "sightline.toml":
            return from_table(_toml(file), str(file))
        case "pyproject.toml":
            tool = _toml(file).get("tool")
            table = tool.get("sightline") if isinstance(tool, Mapping) else None
            return from_table(table, f"{file} [tool.sightline]") if isinstance(table, Mapping) else None
        case "plugin.json":
            plugin = _json(file, "contextStrategy")
            is_ours = isinstance(plugin.get("id"), str) or "contextStrategy" in plugin
            return from_plugin(plugin, str(file)) if is_ours else None  # other programs have files of this name too
        case _:
            return from_agent(_json(file, "context_strategy"), str(file))


def _toml(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # not readable, no text, no TOML, nested too deep
        raise BadInput(f"{file} cannot be read as TOML: {error}") from error


def _json(file: Path, key: str) -> dict[str, Any]:
    """The JSON object in a file; empty if it is none and this key is not in it: other programs have such files too."""
    content = b""
    try:
        content = file.read_bytes()
        return decode_json(content, dict[str, Any])
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        if key.encode() in content:
            raise BadInput(f"{file} cannot be read as JSON: {error}") from error
        return {}


def _object(parent: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any] | None:
    value = parent.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise BadInput(f"{where}: {key} is an object, not {value!r}")
    return value


def check_keys(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Raise BadInput for the first key that is not allowed."""
    if unknown := [key for key in table if key not in allowed]:
        raise BadInput(f"{where}: unknown key {unknown[0]!r}; choose among {', '.join(allowed)}")


def _check_choice(name: Any, config: Any, where: str, key: str, ids: Mapping[str, str] | None = None) -> Choice:
    """The choice, after checking that the strategy exists and takes this configuration.

    One in a file of the project is checked when the file was loaded: only who may run it can know.
    """
    ids = ids or {}
    if not isinstance(name, str) or not (name in ids or is_known(name) or files_of(name)):
        there = ", ".join([*ids, *names()])
        raise BadInput(f"{where}: {key} is {name!r}; choose one of {there}, or a file such as my_strategy.py")
    if config is not None and not isinstance(config, Mapping):
        raise BadInput(f"{where}: config is an object, not {config!r}")
    if files_of(name) and not is_known(name):
        return Choice(name, dict(config or {}), where)
    try:
        strategy(ids.get(name, name), config)
    except BadInput as error:
        raise BadInput(f"{where}: {_in_keys_of_file(str(error), ids.get(name, name), config or {}, key)}") from error
    return Choice(ids.get(name, name), dict(config or {}), where)


def _in_keys_of_file(message: str, name: str, config: Mapping[str, Any], key: str) -> str:
    """An error about a configuration, with its keys as the file spells them, and where in the file they are."""
    before, _, last = key.rpartition(".")
    message = message.replace("$.", f"{before}.config." if before else "config.")
    for field in config_schema(name).get("properties", {}) if last == "pluginId" or config else ():
        camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), field)
        if camel != field and (last == "pluginId" or camel in config):
            message = re.sub(rf"\b{field}\b", camel, message)
    return message
