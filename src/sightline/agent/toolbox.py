"""The model's calls and the tools that they run. A call has a time limit, and no tool can break the turn."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, count
from typing import Any, NamedTuple

from sightline.agent.tools import Tool
from sightline.errors import SightlineError, ToolFailed
from sightline.values.items import Call

MOST_CALLS = 6  # that are run of one response
_LOG = logging.getLogger("sightline.agent")


class Output(NamedTuple):
    """What a call returned. `failed`: the value says why."""

    value: Any
    failed: bool = False


class Toolbox:
    """The agent's tools, by their names and aliases."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)
        self._named = {name: tool for tool in tools for name in (*tool.aliases, tool.name)}

    async def run(self, call: Call, offered: Sequence[str] = ()) -> Output:
        """Run a call. Only a cancellation is raised. `offered`: the names of all tools that the model was sent."""
        tool = self._named.get(call.name)
        try:
            if tool is None:
                names = offered or [own.name for own in self.tools]
                near = get_close_matches(call.name, names, n=1)
                meant = f"; did you mean {near[0]}?" if near else "."
                raise ToolFailed(f"there is no tool {call.name!r}{meant} There are: {', '.join(names) or 'none'}")
            return Output(await _run(tool, _arguments(call, tool)))
        except SightlineError as error:
            return Output(str(error), failed=True)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Output(f"{call.name} was cancelled from within", failed=True)
        except (Exception, SystemExit) as error:  # a tool is other people's code: what it raises is its result
            _LOG.warning("tool %s failed: %s", call.name, error, exc_info=True)
            return Output(f"{type(error).__name__}: {error}", failed=True)


async def _run(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """Return the tool's result within its time limit. A TimeoutError that it raises earlier is its own."""
    try:
        async with asyncio.timeout(tool.seconds) as time:
            return await tool.run(arguments)
    except TimeoutError:
        if not time.expired():
            raise
        raise ToolFailed(
            f"{tool.name} took longer than {tool.seconds:g} seconds and was told to stop; "
            "its answer is lost, and what it began may be done or not"
        ) from None


def _arguments(call: Call, tool: Tool) -> Mapping[str, Any]:
    arguments = {} if call.input is None and not call.raw else call.input
    if not isinstance(arguments, dict):
        raise ToolFailed(
            f"the arguments of {call.name} must be one JSON object, not {(call.raw or str(arguments))[:200]!r}"
        )
    for name in arguments.keys() & tool.renamed.keys():
        if arguments.keys().isdisjoint({tool.renamed[name]}):
            arguments = {tool.renamed.get(key, key) if key == name else key: arguments[key] for key in arguments}
    if missing := [name for name in tool.definition.schema.get("required", ()) if name not in arguments]:
        raise ToolFailed(f"{call.name} lacks {', '.join(missing)}")
    return arguments


def unique_call_ids(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a reply whose calls have different ids, because some servers give all calls of a tool the same id."""
    match raw:
        case {"choices": [{"message": {"tool_calls": [*calls]} as message} as choice, *rest]}:
            return raw | {"choices": [choice | {"message": message | {"tool_calls": _with_unique_ids(calls)}}, *rest]}
        case {"content": [*blocks], "role": "assistant"}:
            return raw | {"content": _with_unique_ids(blocks)}
        case _:
            return raw


def _with_unique_ids(calls: list[Any]) -> list[Any]:
    seen: set[str] = set()
    unique = []
    for call in calls:
        match call:
            case {"id": str(call_id)}:
                own = next(name for name in chain([call_id], (f"{call_id}_{n}" for n in count(2))) if name not in seen)
                seen.add(own)
                unique.append(call | {"id": own})
            case _:
                unique.append(call)
    return unique
