"""The document's `/compact` command."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from sightline.compaction import prompt
from sightline.origins.clawdcode.compaction import CompactionOptions, CompactionResult, ContextCompressor, Summarizer
from sightline.origins.clawdcode.manager import ContextManager

LEAST_MESSAGES = 2


class CommandSession(Struct):
    messages: list[Any]


class CommandConfig(Struct, frozen=True):
    """The program's settings; empty where there are none."""

    current_model: str = ""
    max_context_tokens: int = 0


class CommandContext(Struct):
    """What a command works with. With a `manager` it compacts the manager's session and writes to its file."""

    session_context: CommandSession | None = None
    config: CommandConfig = CommandConfig()
    summarizer: Summarizer | None = None
    project_dir: str = "."
    manager: ContextManager | None = None
    locale: str = "zh"  # of what the user reads: the document's language


class CommandResult(Struct, frozen=True):
    """What a command tells the user."""

    type: Literal["success", "warning", "error"]
    content: str


class SlashCommand(Struct, frozen=True):
    name: str
    description: str
    handler: Callable[[Sequence[str], CommandContext], Awaitable[CommandResult]]
    aliases: tuple[str, ...] = ()


async def _handle(_: Sequence[str], context: CommandContext) -> CommandResult:
    compacted = await asyncio.to_thread(_compact, context)
    if compacted is None:
        return CommandResult("error", prompt.too_little(context.locale))
    if context.manager is None and context.session_context is not None:
        # Here, not in the thread, because a cancelled command changes nothing. The result of a fallback is used too:
        # the report says that the newest were kept.
        context.session_context.messages = compacted.compacted_messages
    return report(compacted, context.locale)


def _compact(context: CommandContext) -> CompactionResult | None:
    """Compact the manager's session or, without one, a copy of the list. Return None if there is too little."""
    if context.manager is not None:
        current = context.manager.get_context()
        if current is None or len(current.layers.conversation.messages) < LEAST_MESSAGES:
            return None
        return context.manager.compress_current_context("manual")
    session = context.session_context
    if session is None or len(session.messages) < LEAST_MESSAGES:
        return None
    options = CompactionOptions(
        trigger="manual",
        model_name=context.config.current_model or "gpt-4",
        max_context_tokens=context.config.max_context_tokens or 128_000,
        summarizer=context.summarizer,
        project_dir=context.project_dir,
    )
    return ContextCompressor(options).compress_now(session.messages)


def report(result: CompactionResult, locale: str = "zh") -> CommandResult:
    """Return what the user reads about a compaction; in Chinese the document's own words."""
    if not result.success:
        return CommandResult("warning", prompt.fallback_report(result.error or "", locale))
    facts = prompt.facts(result.pre_tokens, result.post_tokens, result.files_included, locale)
    return CommandResult("success", f"{prompt.done(locale)}\n\n{facts}")


compact_command = SlashCommand("compact", "手动压缩上下文，生成总结并节省 token", _handle, ("c",))
