"""How much of an MCP server's tools and results is taken.

Definitions of tools are sent with every request and never shortened, so too many of them would leave no room for the
conversation. What is left out is named, because a user who misses a tool must know why.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from sightline.agent.tools import Tool
from sightline.agent.tools.schema import say
from sightline.values.tokens import Exact

MOST_TOOLS = 100  # of all servers: some providers take 128 in a request, and the agent has its own
MOST_LISTED = 1_000  # in one list of tools, because each takes time to check
MOST_TOKENS = 40_000  # of all definitions: a hundred of usual size
SHARE = 4  # and no more than a quarter of the context window
LONGEST_DESCRIPTION = 4_000  # characters; the rest is cut
LARGEST_SCHEMA = 20_000  # characters of JSON; a tool with a larger one is left out
DEEPEST_SCHEMA = 32  # lists and objects within each other
MOST_BLOCKS = 1_000  # of a result; each takes time to check
_CUT = " […]"
_MOST_NAMED = 5  # tools that a warning names


def cut_lists(result: Any) -> int:
    """Cut the lists of a server's answer, in place, before each of their entries is checked. Return the tools lost."""
    if not isinstance(result, dict):
        return 0
    if isinstance(blocks := result.get("content"), list) and (lost := len(blocks) - MOST_BLOCKS) > 0:
        blocks[MOST_BLOCKS:] = [{"type": "text", "text": f"[+{lost} blocks]"}]
    if isinstance(tools := result.get("tools"), list) and (lost := len(tools) - MOST_LISTED) > 0:
        del tools[MOST_LISTED:]
        return lost
    return 0


class CutStream:
    """A stream of messages, as the SDK reads it, in which long lists are cut. `lose` gets the number of tools lost."""

    def __init__(self, stream: Any, lose: Callable[[int], None]) -> None:
        self._stream, self._lose = stream, lose

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> "CutStream":
        return self

    async def __anext__(self) -> Any:
        received = await anext(self._stream)
        self._lose(cut_lists(getattr(getattr(received, "message", None), "result", None)))
        return received

    async def __aenter__(self) -> "CutStream":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


def cut_description(text: str) -> str:
    """Return a description that is not too long."""
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - len(_CUT)] + _CUT


def is_schema_taken(schema: dict[str, Any]) -> bool:
    """Whether a schema is small enough to be sent with every request."""
    try:
        return len(msgspec.json.encode(schema)) <= LARGEST_SCHEMA and _depth(schema) <= DEEPEST_SCHEMA
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False


def fitting(tools: Sequence[Tool], tokens: int = MOST_TOKENS) -> tuple[list[Tool], list[str]]:
    """Return the tools of servers that have room, and the names of the others.

    The servers take turns, so that one with many tools leaves room for the others.
    """
    count, room, kept, left_out = Exact().count, tokens, set[str](), []
    for tool in _in_turns(tools):
        definition = tool.definition
        schema = msgspec.json.encode(definition.schema).decode()
        size = count(definition.name) + count(definition.description) + count(schema) + 10  # with what frames it
        if size <= room and len(kept) < MOST_TOOLS:
            room -= size
            kept.add(tool.name)
        else:
            left_out.append(tool.name)
    return [tool for tool in tools if tool.name in kept], left_out


def not_offered(names: Sequence[str], locale: str, unnamed: int = 0) -> str:
    """Return what a user is told about tools that are not offered because their definitions have no room."""
    count, some = len(names) + unnamed, listed(names)
    return say("tools not offered", locale, count=count, some=some)


def listed(names: Sequence[str]) -> str:
    """Return the first of these names."""
    return ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")


def _in_turns(tools: Sequence[Tool]) -> Iterator[Tool]:
    """Yield the first tool of each server, then the second of each, and so on."""
    servers: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        servers[tool.name.partition("__")[0]].append(tool)
    for turn in zip_longest(*servers.values()):
        yield from (tool for tool in turn if tool is not None)


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)
