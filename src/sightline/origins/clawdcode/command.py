"""The `/compact` command."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from msgspec import Struct, field

from sightline.origins.clawdcode.compaction import CompactionOptions, CompactionResult, ContextCompressor, Summarizer
from sightline.origins.clawdcode.manager import ContextManager
from sightline.values.phrases import LOCALES, check_locale

DEFAULT_MODEL = "gpt-4"
DEFAULT_WINDOW = 128_000
LEAST_MESSAGES = 2

_WORDS = {
    "description": (
        "Compact the context by hand: make a summary and save tokens",
        "手动压缩上下文，生成总结并节省 token",
    ),
    "too short": ("There is not enough conversation to compact", "没有足够的对话历史需要压缩"),
    "done": (
        "✅ Compaction done!\n\nTokens: {pre} → {post} ({change}%)\nFiles included: {files}",
        "✅ 压缩完成！\n\nToken 变化: {pre} → {post} ({change}%)\n包含文件: {files}",
    ),
    "no files": ("none", "无"),
    "fallback": (
        "⚠️ Compaction used the fallback\n\n{error}\n\nThe newest 30% of the messages were kept.",
        "⚠️ 压缩使用降级策略\n\n{error}\n\n已保留最近 30% 的消息。",
    ),
}


class CommandSession(Struct):
    """The conversation a command works on."""

    messages: list[Any]


class CommandConfig(Struct, frozen=True):
    """The program's settings; empty where there are none."""

    current_model: str = ""
    max_context_tokens: int = 0


class CommandContext(Struct):
    """What a command is given. With a `manager` it works on the manager's session and leaves its traces in the file."""

    session_context: CommandSession | None = None
    config: CommandConfig = CommandConfig()
    summarizer: Summarizer | None = None
    project_dir: str = "."
    manager: ContextManager | None = None


class CommandResult(Struct, frozen=True):
    """What a command tells the user."""

    type: Literal["success", "warning", "error"]
    content: str


Handler = Callable[[Sequence[str], CommandContext], Awaitable[CommandResult]]


class SlashCommand(Struct, frozen=True):
    """A command as the user types it."""

    name: str
    description: str
    handler: Handler
    aliases: tuple[str, ...] = field(default=())


def compact_command_in(locale: str) -> SlashCommand:
    """`/compact`, speaking this language. Raises BadInput for one we do not speak."""
    check_locale(locale)

    async def handler(_: Sequence[str], context: CommandContext) -> CommandResult:
        if context.manager is not None:
            result = await _compacted_by(context.manager)
        else:
            result = await _compacted(context)
        return CommandResult("error", _say("too short", locale)) if result is None else told(result, locale)

    return SlashCommand("compact", _say("description", locale), handler, ("c",))


async def _compacted_by(manager: ContextManager) -> CompactionResult | None:
    held = manager.get_context()
    if held is None or len(held.layers.conversation.messages) < LEAST_MESSAGES:
        return None
    return await asyncio.to_thread(manager.compress_current_context, "manual")


async def _compacted(context: CommandContext) -> CompactionResult | None:
    session = context.session_context
    if session is None or len(session.messages) < LEAST_MESSAGES:
        return None
    options = CompactionOptions(
        trigger="manual",
        model_name=context.config.current_model or DEFAULT_MODEL,
        max_context_tokens=context.config.max_context_tokens or DEFAULT_WINDOW,
        summarizer=context.summarizer,
        project_dir=context.project_dir,
    )
    result = await ContextCompressor(options).compress(session.messages)
    session.messages = result.compacted_messages  # of a fallback too: it says that it kept the newest
    return result


def told(result: CompactionResult, locale: str) -> CommandResult:
    """What the user reads about a compaction."""
    if not result.success:
        return CommandResult("warning", _say("fallback", locale, error=result.error))
    files = ", ".join(result.files_included) or _say("no files", locale)
    change = _change(result.pre_tokens, result.post_tokens)
    sizes = {"pre": result.pre_tokens, "post": result.post_tokens, "change": change}
    return CommandResult("success", _say("done", locale, **sizes, files=files))


def _change(pre: int, post: int) -> str:
    """How much smaller it got, in percent with one decimal and its sign. Of nothing, nothing."""
    less = Decimal(pre - post) * 100 / pre if pre else Decimal(0)
    return f"{'-' if less >= 0 else '+'}{abs(less).quantize(Decimal('0.1'), ROUND_HALF_UP)}"


def _say(key: str, locale: str, **values: Any) -> str:
    return _WORDS[key][LOCALES.index(locale)].format(**values)


compact_command = compact_command_in("zh")
