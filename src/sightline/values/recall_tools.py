"""The tools by which a model brings earlier text back and says what it wants to see, as definitions."""

from collections.abc import Iterable

from sightline.values.items import ToolDefinition

LEVELS = ("gist", "summary", "full", "out")
"""The levels of detail that a model can ask for; `out`: only named, or not at all."""

LOOK = ToolDefinition(
    "look",
    "Set how much you see of an item (#412), lines of it (#412:40-80), a file or a window: full shows all of it now, "
    "summary and gist shorten it later, out hides it. Says what it costs and what is left.",
    {
        "type": "object",
        "properties": {"target": {"type": "string"}, "level": {"type": "string", "enum": [*LEVELS]}},
        "required": ["target", "level"],
    },
)

# `Attention.answer` answers their calls.
RECALL_TOOLS = (
    ToolDefinition(
        "expand",
        "Show an item of this conversation that was shortened or left out, in full. Shortened texts name their handle, "
        "such as #412. Long items come in pages; ask for the next with start.",
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "the handle, such as #412"},
                "start": {"type": "integer", "description": "first line to show, counted from 1"},
                "lines": {"type": "integer", "description": "how many lines to show"},
                "grep": {
                    "type": "string",
                    "description": "show only the lines that contain this text, with their numbers",
                },
            },
            "required": ["id"],
        },
    ),
    ToolDefinition(
        "recall",
        "Search what was said and done earlier in this conversation, also what is no longer shown. "
        "Gives the best matching passages with their handles. Of very long items only parts are searched: "
        "expand with grep looks through one.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "what to look for"}},
            "required": ["query"],
        },
    ),
    LOOK,
)
RECALL_NAMES = frozenset(tool.name for tool in RECALL_TOOLS)


def offered(tools: Iterable[ToolDefinition]) -> frozenset[str]:
    """The names of those of ours that are among these tools: nothing tells a model to call one that it has not."""
    return frozenset(tool.name for tool in tools if tool in RECALL_TOOLS)
