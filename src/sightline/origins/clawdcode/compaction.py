"""The document's compaction: a summary takes the place of all but the newest messages.

Lists go in and lists come out; nothing is written here. The summary is made by a plain callable; whatever goes wrong
with it, the result is the document's fallback and never an exception.
"""

import asyncio
import threading
import unicodedata
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sightline.clock import Clock, Ids, nanoid, wall_clock
from sightline.compaction.asking import summary_in
from sightline.errors import SightlineError
from sightline.origins.clawdcode.counting import TokenCounter, message_tokens
from sightline.origins.clawdcode.files import FileAnalyzer
from sightline.origins.clawdcode.filters import filter_orphan_tool_messages, split_system
from sightline.origins.clawdcode.messages import SUMMARY, chat_of
from sightline.origins.clawdcode.request import Request, summary_request
from sightline.origins.clawdcode.values import ContextMessage, Trigger
from sightline.tokens import TokenCounter as Counter
from sightline.wording import check_locale

Summarizer = Callable[[Request], str]
"""Asks a model: request messages in OpenAI's form in, its answer out. It may raise, and it may take too long."""

SMALL_TOKENS = 1000  # a summary in nine sections has a size of its own: up to this it may exceed what it stands for
MOST_ERROR = 2000  # characters of an error that are shown: some carry whole pages

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


class NoSummary(SightlineError):
    """The summarizer gave nothing that can stand for the conversation."""


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
        said = str(error) or type(error).__name__
        said = said if len(said) <= MOST_ERROR else f"{said[:MOST_ERROR]}…"
        text = (
            "[Automatic compaction failed; using fallback]\n\n"
            f"An error occurred during compaction. Retained the latest {len(candidates)} messages (~30%).\n\n"
            f"Error: {said}\n\n"
            "The conversation can continue, but consider retrying with /compact."
        )
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
    """What the summarizer answers in its time. It has a thread of its own, so that one that hangs holds up nobody."""
    summarizer = options.summarizer
    if summarizer is None:
        raise NoSummary("no summarizer was given")
    outcome: list[Any] = []

    def ask() -> None:
        try:
            outcome.append(summarizer(request))
        except BaseException as error:  # also what would end the thread: the conversation goes on
            outcome.append(error)

    thread = threading.Thread(target=ask, name="sightline-summary", daemon=True)
    thread.start()
    thread.join(options.seconds)
    match outcome:
        case []:
            raise NoSummary(f"no summary within {options.seconds:g} seconds")
        case [BaseException() as error]:
            raise NoSummary(str(error) or type(error).__name__) from error
        case [str(answer)]:
            return answer
        case _:
            raise NoSummary(f"the summarizer gave no text but {type(outcome[0]).__name__}")


def _checked(summary: str, messages: Sequence[Any], options: CompactionOptions) -> str:
    """The summary, if it can stand for these messages. Raises NoSummary."""
    if not summary:
        raise NoSummary("the summary is empty")
    tokens = (options.token_counter or TokenCounter.get_encoding(options.model_name)).count(summary)
    if options.most_tokens is not None and tokens > options.most_tokens // 2:
        raise NoSummary(f"the summary has {tokens} tokens and must not have more than {options.most_tokens // 2}")
    if tokens > max(SMALL_TOKENS, _count(messages, options)):
        raise NoSummary(f"the summary is larger than the conversation: {tokens} tokens")
    if _is_foreign(summary, messages):
        raise NoSummary("the summary is in a language that the conversation does not use")
    return summary


_OURS = frozenset({"LATIN", "CJK", "FULLWIDTH", "MODIFIER", "MATHEMATICAL"})  # of the languages we ask in


def _is_foreign(summary: str, messages: Sequence[Any]) -> bool:
    """Whether most of a summary is in a script that neither the request nor the conversation has a letter of."""
    letters = [letter for letter in summary if letter.isalpha()]
    strange = [letter for letter in letters if not letter.isascii() and _script(letter) not in _OURS]
    if len(strange) * 2 <= len(letters):
        return False
    said = {letter for message in messages for letter in str(chat_of(message)) if not letter.isascii()}
    known = {_script(letter) for letter in said if letter.isalpha()}
    return sum(_script(letter) not in known for letter in strange) * 2 > len(letters)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
