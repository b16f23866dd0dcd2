"""The strategies, found by name: ours, those of installed packages, and pipes of several."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.plan.pipe import Pipe, check_names
from sightline.plan.strategy import Planner, is_planner
from sightline.values.decoders import convert
from sightline.values.foreign_code import load_installed, offers, types_in_file

STRATEGIES = {"focus": "Focus", "sliding": "Sliding", "summary": "Summary", "entities": "Entities", "rounds": "Rounds"}
"""Our own: the module of each, which is imported when it is chosen, and its class."""

GROUP = "sightline.strategies"
"""The entry point group in which a package offers strategies of its own: a name, and a class or a function that makes
one from keyword arguments."""


_loaded: dict[str, Any] = {}  # the strategies in files of projects, by the path under which a project names each


def load_file(project: str | Path, file: str) -> None:
    """Let `strategy` find the strategy in a Python file of a project, by the path under which the project names it.

    This runs the file: ask the user first. Of several strategies in it the last counts.

    Raises:
        BadInput: there is no such file, it fails, or it has no strategy.
    """
    path = Path(project) / file
    own = types_in_file(path, f"sightline_strategy_{path.stem}")
    kinds = [kind for kind in own if callable(getattr(kind, "plan", None)) and hasattr(kind, "name")]
    if not kinds:
        raise BadInput(f"{path} defines no strategy: a class with a name and a method plan(view)")
    _loaded[file] = kinds[-1]


def files_of(name: str | Sequence[str]) -> list[str]:
    """The files of a project that a strategy or a pipe needs, as the project names them."""
    return [stage for stage in ((name,) if isinstance(name, str) else name) if stage.endswith(".py")]


def is_known(name: str) -> bool:
    """Whether `strategy` finds a strategy of this name now; one in a file is found when the file was loaded."""
    return name in _loaded or (not files_of(name) and name in names())


def strategy(name: str | Sequence[str], config: Mapping[str, Any] | None = None) -> Planner:
    """The strategy of this name with this configuration, whose keys may also be in camelCase.

    Several names are a pipe, whose configuration has that of each stage by its name.

    Raises:
        BadInput: there is no such strategy, it does not take this configuration, or two stages contradict each other.
    """
    if not isinstance(name, str):
        return pipe(name, config)
    kind, options = kind_of(name), dict(config or {})
    typed = _has_typed_config(kind)
    try:
        made: Planner = convert(_in_snake_case(options, kind), kind) if typed else kind(**options)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        takes = f"; it takes {', '.join(_choices(name)) or 'nothing'}" if typed else ""
        raise BadInput(f"strategy {name!r} does not take this configuration: {error}{takes}") from error
    if not is_planner(made):
        raise BadInput(f"strategy {name!r} has no method plan(view), or no name: {made!r} is no strategy")
    return made


def pipe(stages: Sequence[str | Planner], config: Mapping[str, Any] | None = None) -> Planner:
    """The pipe of these stages, each a name or a strategy itself; one stage is that strategy. Raises BadInput."""
    configs = dict(config or {})
    if not stages:
        raise BadInput(
            "a pipe needs at least one strategy, and this list is empty; without `strategy` the usual one is used"
        )
    if isinstance(stages, str) or not all(isinstance(stage, str) or is_planner(stage) for stage in stages):
        raise BadInput(f"a pipe is a list of strategies, each a name or an object with plan(view), not {stages!r}")
    if unknown := [key for key in configs if key not in stages]:
        raise BadInput(f"a pipe's configuration is by stage: {unknown[0]!r} is none of {', '.join(map(str, stages))}")
    if wrong := [key for key, value in configs.items() if not isinstance(value, Mapping)]:
        raise BadInput(f"the configuration of stage {wrong[0]!r} is an object, not {configs[wrong[0]]!r}")
    check_names([stage if isinstance(stage, str) else stage.name for stage in stages])  # it matters more than a setting
    made = [strategy(stage, configs.get(stage)) if isinstance(stage, str) else stage for stage in stages]
    return made[0] if len(made) == 1 else Pipe(made)


def names() -> list[str]:
    """The names of all strategies: ours, then those of installed packages."""
    return [*STRATEGIES, *sorted({offer.name for offer in offers(GROUP)} - {*STRATEGIES})]


def config_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a strategy's configuration; empty if its type does not tell. Raises BadInput."""
    kind = kind_of(name)
    return dict(msgspec.json.schema(kind)["$defs"][kind.__name__]) if _has_typed_config(kind) else {}


def _choices(name: str) -> Iterator[str]:
    """The keys of a strategy's configuration, with what a key may be if these are few words."""
    for key, field in config_schema(name).get("properties", {}).items():
        yield f"{key} ({' or '.join(field['enum'])})" if "enum" in field else key


def kind_of(name: str) -> Any:
    """The class or function that makes strategies of this name. Raises BadInput."""
    if name in _loaded:
        return _loaded[name]
    if files_of(name):
        raise BadInput(
            f"strategy {name!r} is code of its project, which has not been loaded: `sightline chat` there asks whether "
            f"you allow it; a program calls sightline.plan.strategies.load_file(project, {name!r})"
        )
    if name in STRATEGIES:
        return getattr(import_module(f"sightline.plan.strategies.{name}"), STRATEGIES[name])
    if (offered := load_installed(GROUP, "a strategy", name)) is None:
        raise BadInput(
            f"unknown strategy {name!r}; choose one of {', '.join(names())}; to add one, see docs/strategies.md"
        )
    return offered[0]


def _has_typed_config(kind: Any) -> bool:
    """Whether the configuration's fields and their types are known, so that they can be checked."""
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or hasattr(kind, "__dataclass_fields__"))


def _fields(kind: Any) -> list[str]:
    return [*(kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else kind.__dataclass_fields__)]


def _in_snake_case(config: dict[str, Any], kind: Any) -> dict[str, Any]:
    """The configuration with camelCase keys renamed to the fields' names. Raises BadInput for a key given twice."""
    fields = _fields(kind)
    snake = {key: re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower() for key in config}
    renamed = {key: snake[key] for key in config if key not in fields and snake[key] in fields}
    if twice := [key for key, name in renamed.items() if name in config]:
        raise BadInput(f"{twice[0]} and {renamed[twice[0]]} are the same; say it once")
    return {renamed.get(key, key): value for key, value in config.items()}
