"""Running the model's calls: side by side, each within its time, and none of them able to break the turn."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from sightline.agent.tools import Tool
from sightline.errors import SightlineError, ToolFailed
from sightline.values.items import Call

_LOG = logging.getLogger("sightline.agent")


class Output(NamedTuple):
    """What came of a call. `failed`: the value says why."""

    call: Call
    value: Any
    failed: bool = False


class Toolbox:
    """The agent's tools by every name they answer to."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)
        self._named = {name: tool for tool in tools for name in (*tool.aliases, tool.name)}

    async def run(self, call: Call, given: Sequence[str] = ()) -> Output:
        """Do what a call says. Raises nothing but what cancels it. `given`: all tools that the model was told of."""
        tool = self._named.get(call.name)
        try:
            if tool is None:
                raise ToolFailed(_unknown(call.name, given or [each.name for each in self.tools]))
            arguments = _arguments(call, tool)
            return Output(call, await _answered(tool, arguments))
        except SightlineError as error:
            return Output(call, str(error), failed=True)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Output(call, f"{call.name} was cancelled from within", failed=True)
        except (Exception, SystemExit) as error:  # a tool is somebody else's code: what it raises is its result
            _LOG.warning("tool %s failed: %s", call.name, error, exc_info=True)
            return Output(call, f"{type(error).__name__}: {error}", failed=True)


async def _answered(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """What it answers within its time. A TimeoutError that it raises before is its own."""
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


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"there is no tool {name!r}{meant} There are: {', '.join(known) or 'none'}"


def _arguments(call: Call, tool: Tool) -> Mapping[str, Any]:
    arguments = {} if call.input is None and not call.raw else call.input
    if not isinstance(arguments, dict):
        raise ToolFailed(
            f"the arguments of {call.name} must be one JSON object, not {(call.raw or str(arguments))[:200]!r}"
        )
    if missing := [name for name in tool.definition.schema.get("required", ()) if name not in arguments]:
        raise ToolFailed(f"{call.name} lacks {', '.join(missing)}")
    return arguments
