"""Tells what the user wrote from what a harness put in the place of the user's words."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

_INSERTED = ("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "environment_context")
# Texts that a harness puts before, after or between the user's own words.
_REMINDER = re.compile("(" + "|".join(f"<{name}>.*?</{name}>" for name in _INSERTED) + ")", re.DOTALL)
_LOOKED_AT = 4_000  # characters in which a command is looked for
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_WRITTEN = re.compile(
    r"\s*(?:<(?:local-command-|command-(?:name|message|args|contents)|bash-(?:std|input)"
    r"|ide_(?:opened_file|selection|diagnostics)|system-reminder|task-notification"
    r"|user-prompt-submit-hook|environment_context|user_instructions|permissions instructions|collaboration_mode"
    r"|turn_aborted|user_shell_command|subagent_notification|skill>|model_switch|personality_spec|INSTRUCTIONS>)"
    r"|# AGENTS\.md instructions|\[Request interrupted by user|Caveat: The messages below were generated)"
)
"""How texts begin that coding agents write themselves: reminders, command output, the environment, project rules."""


def is_harness_text(text: str) -> bool:
    """Whether a text begins as only a harness writes."""
    return _WRITTEN.match(text) is not None


def command_words(text: str) -> str:
    """Return the command that a person typed, with its arguments, of a text by which a harness tells of it; else ""."""
    found = (pattern.search(text[:_LOOKED_AT]) for pattern in (_COMMAND, _ARGUMENTS))
    return " ".join(each[1] for each in found if each is not None and each[1])


def divided(content: Any) -> Iterator[tuple[bool, list[Any]]]:
    """Yield the content blocks of a message in runs: whether a harness wrote them, and the blocks.

    A text is divided where a reminder begins and ends. A content that is text is one block.
    """
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    pieces = [(_is_by_harness(piece), piece) for block in blocks for piece in _pieces(block)]
    for by_harness, run in groupby(pieces, key=lambda piece: piece[0]):
        yield by_harness, [block for _, block in run]


def _pieces(block: Any) -> list[Any]:
    text = _text(block)
    if _REMINDER.search(text) is None or (is_harness_text(text) and not _REMINDER.sub("", text).strip()):
        return [block]
    return [{**block, "text": piece} for piece in _REMINDER.split(text) if piece.strip()]


def _is_by_harness(block: Any) -> bool:
    return is_harness_text(_text(block))


def _text(block: Any) -> str:
    match block:
        case {"text": str(text)}:
            return text
        case _:
            return ""
