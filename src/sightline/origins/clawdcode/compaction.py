"""The document's compaction: a summary takes the place of all but the newest messages.

Lists go in and lists come out; nothing is written here. The summary is made by a plain callable; whatever goes wrong
with it, the result is the document's fallback and never an exception.
"""

import asyncio
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sightline.compaction.prompt import NoSummary, ask_model, check_words, error_text, fallback, summary_in
from sightline.origins.clawdcode.counting import TokenCounter, message_tokens
from sightline.origins.clawdcode.files import FileAnalyzer
from sightline.origins.clawdcode.filters import filter_orphan_tool_messages, split_system
from sightline.origins.clawdcode.messages import SUMMARY, chat_of
from sightline.origins.clawdcode.request import Request, summary_request
from sightline.origins.clawdcode.values import ContextMessage, Trigger
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.phrases import check_locale
from sightline.values.tokens import TokenCounter as Counter

Summarizer = Callable[[Request], str]
"""Asks a model: request messages in OpenAI's form in, its answer out. It may raise, and it may take too long."""

SMALL_TOKENS = 1000  # a summary in nine sections has a size of its own: up to this it may exceed what it stands for

T = TypeVar("T")


class CompactionOptions(Struct, frozen=True, kw_only=True):
    """How a list is compacted."""

    trigger: Trigger = "manual"
    model_name: str = "gpt-4"
    max_context_tokens: int = 128_000
    actual_pre_tokens: int | None = None  # what the provider says the list has
    summarizer: Summarizer | None = None
    project_dir: str | Path = "."  # files are read from here and nowhere else
    seconds: float = 60.0  # the summarizer's time
    locale: str = "en"  # of the request
    retain_percent: float = 0.2
    most_tokens: int | None = None  # what the compacted list may have; a summary takes half of it at most
    token_counter: Counter | None = None  # counts in place of the model's
    clock: Clock = wall_clock
    ids: Ids = nanoid


class CompactionResult(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What became of a list. `error` says why it is the fallback."""

    success: bool
    summary: str
    pre_tokens: int
    post_tokens: int
    files_included: list[str]
    compacted_messages: list[Any]
    error: str | None = None


class CompactionService:
    """Compacts message lists, in OpenAI's form or of `ContextMessage`s."""

    THRESHOLD_PERCENT = 0.8
    RETAIN_PERCENT = 0.2
    FALLBACK_RETAIN_PERCENT = 0.3

    @staticmethod
    async def compact(messages: Sequence[Any], options: CompactionOptions) -> CompactionResult:
        """What `compact_now` gives, without holding up the event loop."""
        return await asyncio.to_thread(CompactionService.compact_now, messages, options)

    @staticmethod
    def compact_now(messages: Sequence[Any], options: CompactionOptions) -> CompactionResult:
        """The summary of the list, and behind it the newest messages, unchanged. If anything fails, the fallback."""
        pre_tokens = options.actual_pre_tokens
        if pre_tokens is None:
            pre_tokens = _count(messages, options)
        try:
            paths = [file.path for file in FileAnalyzer.analyze_files(messages)]
            contents = FileAnalyzer.read_now(paths, options.project_dir)
            request = summary_request(
                messages, contents, max_context_tokens=options.max_context_tokens, locale=check_locale(options.locale)
            )
            summary = _checked(summary_in(_answer(request, options)), messages, options)
            retained = filter_orphan_tool_messages(newest(messages, options.retain_percent))
            compacted = [_summary_message(summary, messages, options), *retained]
            return CompactionResult(True, summary, pre_tokens, _count(compacted, options), paths, compacted)
        except Exception as error:
            return CompactionService.fallback_compact(messages, options, pre_tokens, error)

    @staticmethod
    def fallback_compact(
        messages: Sequence[Any], options: CompactionOptions, pre_tokens: int, error: object
    ) -> CompactionResult:
        """Without a summary: the newest messages, a few more of them, behind a message that says so."""
        candidates = newest(messages, CompactionService.FALLBACK_RETAIN_PERCENT)
        said = error_text(error)
        text = fallback(len(candidates), said)
        compacted = [_summary_message(text, messages, options), *filter_orphan_tool_messages(candidates)]
        return CompactionResult(False, text, pre_tokens, _count(compacted, options), [], compacted, said)


class ContextCompressor:
    """Compacts a whole conversation: its system messages stay, in front, and the rest is the service's."""

    def __init__(self, options: CompactionOptions | None = None) -> None:
        self.options = options or CompactionOptions()

    async def compress(self, messages: Sequence[Any]) -> CompactionResult:
        """What `compress_now` gives, without holding up the event loop."""
        return await asyncio.to_thread(self.compress_now, messages)

    def compress_now(self, messages: Sequence[Any]) -> CompactionResult:
        """The compacted conversation; sizes are of all of it. With `most_tokens` the oldest that were retained give way
        until it fits; the newest message and the system's stay.
        """
        options, most = self.options, self.options.most_tokens
        system, others = split_system(messages)
        given = _count(messages, options) if options.actual_pre_tokens is None else options.actual_pre_tokens
        result = CompactionService.compact_now(others, replace(options, actual_pre_tokens=given))
        summary, *retained = result.compacted_messages
        if most is not None:
            retained = _fitting(retained, most - _count([*system, summary], options), options)
        compacted = [*system, summary, *retained]
        return replace(result, compacted_messages=compacted, post_tokens=_count(compacted, options))


def newest(messages: Sequence[T], share: float) -> list[T]:
    """The newest messages: this share of them, rounded up, in exact arithmetic."""
    count = int((Decimal(str(share)) * len(messages)).to_integral_value(ROUND_CEILING))
    return list(messages[len(messages) - min(max(count, 0), len(messages)) :])


def _fitting(retained: list[T], room: int, options: CompactionOptions) -> list[T]:
    """The newest of these that fit, and the newest in any case."""
    first = len(retained)
    while first > 0:
        room -= _count(retained[first - 1 : first], options)
        if room < 0 and first < len(retained):
            break
        first -= 1
    return filter_orphan_tool_messages(retained[first:])


def _count(messages: Sequence[Any], options: CompactionOptions) -> int:
    counting = options.token_counter or TokenCounter.get_encoding(options.model_name)
    return sum(message_tokens(message, counting) for message in messages)


def _summary_message(text: str, messages: Sequence[Any], options: CompactionOptions) -> Any:
    """The summary as a message of the same form as the others."""
    if messages and isinstance(messages[-1], ContextMessage):
        return ContextMessage(options.ids(), "user", text, options.clock(), {SUMMARY: True})
    return {"id": options.ids(), "role": "user", "content": text, "metadata": {SUMMARY: True}}


# ---------------------------------------------------------------------- the summarizer's answer


def _answer(request: Request, options: CompactionOptions) -> str:
    """What the summarizer answers in its time."""
    if options.summarizer is None:
        raise NoSummary("no summarizer was given")
    answer = ask_model(options.summarizer, request, options.seconds)
    if not isinstance(answer, str):
        raise NoSummary(f"the summarizer gave no text but {type(answer).__name__}")
    return answer


def _checked(summary: str, messages: Sequence[Any], options: CompactionOptions) -> str:
    """The summary, if it can stand for these messages. Raises NoSummary."""
    check_words(summary, (str(chat_of(message)) for message in messages))
    tokens = (options.token_counter or TokenCounter.get_encoding(options.model_name)).count(summary)
    if options.most_tokens is not None and tokens > options.most_tokens // 2:
        raise NoSummary(f"the summary has {tokens} tokens and must not have more than {options.most_tokens // 2}")
    if tokens > max(SMALL_TOKENS, _count(messages, options)):
        raise NoSummary(f"the summary is larger than the conversation: {tokens} tokens")
    return summary
