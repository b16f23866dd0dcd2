"""The document's compaction of message lists: a summary replaces all but the newest messages.

Lists go in and lists come out; nothing is written here. The request for the summary is the core's: the conversation as
a session composes it within the model's context window, and the core's instruction after it. Whatever goes wrong, the
result is the document's fallback and never an exception.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sightline.compaction.prompt import (
    NoSummary,
    ask_model,
    check_words,
    error_text,
    fallback,
    instruction,
    summary_in,
)
from sightline.errors import BadInput, PinnedOverflow
from sightline.files.folders import PROJECT
from sightline.files.mentions import MOST_FILES, MOST_LINES, FileReference, important_files, read_files
from sightline.log.stores.memory import MemoryStore
from sightline.origins.clawdcode.messages import (
    SUMMARY,
    TokenCounter,
    chat_of,
    count_messages,
    filter_orphan_tool_messages,
    is_summary,
    readable,
    split_system,
)
from sightline.origins.clawdcode.values import ContextMessage, Trigger
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter as Counter
from sightline.wire.payload import Payload

# Messages in OpenAI's form.
Request = list[dict[str, Any]]
# Asks a model: takes the request, returns the answer. It may raise, and it may take too long.
Summarizer = Callable[[Request], str]

ANSWER_TOKENS = 8000  # of the context window: kept free for the summary
EARLIER = 0.5  # of the tokens for the conversation: earlier summaries that do not fit are cut to this
SMALL_TOKENS = 1000  # up to this a summary may be larger than what it replaces, because its nine sections have a size

T = TypeVar("T")


class CompactionOptions(Struct, frozen=True, kw_only=True):
    """How a list is compacted."""

    trigger: Trigger = "manual"
    model_name: str = "gpt-4"
    max_context_tokens: int = 128_000
    actual_pre_tokens: int | None = None  # the provider's count of the list
    summarizer: Summarizer | None = None
    project_dir: str | Path = "."  # files are read from here and nowhere else
    seconds: float = 60.0  # how long the summarizer may take
    locale: str = "en"  # of the request
    retain_percent: float = 0.2
    most_tokens: int | None = None  # of the compacted list; a summary may take half of them
    token_counter: Counter | None = None  # counts instead of the model's vocabulary
    clock: Clock = wall_clock
    ids: Ids = nanoid

    @property
    def counter(self) -> Counter:
        return self.token_counter or TokenCounter.get_encoding(self.model_name)

    def size_before(self, messages: Sequence[Any]) -> int:
        """Return the tokens of these messages: the provider's count if there is one."""
        return count_messages(messages, self.counter) if self.actual_pre_tokens is None else self.actual_pre_tokens


class CompactionResult(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The compacted list. `error` says why it is the fallback."""

    success: bool
    summary: str
    pre_tokens: int
    post_tokens: int
    files_included: list[str]
    compacted_messages: list[Any]
    error: str | None = None


class FileAnalyzer:
    """Finds the files that a conversation is about, and reads them."""

    MAX_FILES = MOST_FILES
    MAX_LINES_PER_FILE = MOST_LINES

    @staticmethod
    def analyze_files(messages: Iterable[Any]) -> list[FileReference]:
        """List the files these messages name: modified first, then more mentions, then more recent; at most MAX_FILES.

        Messages that cannot be read are skipped.
        """
        return important_files(map(readable, messages), FileAnalyzer.MAX_FILES)

    @staticmethod
    async def read_files_content(
        paths: Iterable[str], project_dir: str | Path = ".", *, allow_outside: bool = False
    ) -> dict[str, str]:
        """Read the first MAX_LINES_PER_FILE lines of each file of the project, by path.

        A longer file ends with the line "[... truncated ...]". What cannot be read is left out.
        """
        return await asyncio.to_thread(read_files, paths, project_dir, folders=None if allow_outside else PROJECT)


class CompactionService:
    """Compacts message lists, in OpenAI's form or of `ContextMessage`s."""

    THRESHOLD_PERCENT = 0.8
    RETAIN_PERCENT = 0.2
    FALLBACK_RETAIN_PERCENT = 0.3

    @staticmethod
    async def compact(messages: Sequence[Any], options: CompactionOptions) -> CompactionResult:
        """Do what `compact_now` does, in a thread."""
        return await asyncio.to_thread(CompactionService.compact_now, messages, options)

    @staticmethod
    def compact_now(messages: Sequence[Any], options: CompactionOptions) -> CompactionResult:
        """Return the summary followed by the newest messages, unchanged. If anything fails, return the fallback."""
        pre_tokens = options.size_before(messages)
        try:
            paths = [file.path for file in FileAnalyzer.analyze_files(messages)]
            summary, files = _summary(messages, paths, options)
            compacted = _compacted(summary, messages, options.retain_percent, options)
            post_tokens = count_messages(compacted, options.counter)
            return CompactionResult(True, summary, pre_tokens, post_tokens, files, compacted)
        except Exception as error:
            return CompactionService.fallback_compact(messages, options, pre_tokens, error)

    @staticmethod
    def fallback_compact(
        messages: Sequence[Any], options: CompactionOptions, pre_tokens: int, error: object
    ) -> CompactionResult:
        """Return a message that says that there is no summary, followed by a few more of the newest messages."""
        share, why = CompactionService.FALLBACK_RETAIN_PERCENT, error_text(error)
        text = fallback(len(newest(messages, share)), why)
        compacted = _compacted(text, messages, share, options)
        return CompactionResult(False, text, pre_tokens, count_messages(compacted, options.counter), [], compacted, why)


class ContextCompressor:
    """Compacts a whole conversation: system messages stay in front, `CompactionService` compacts the rest."""

    def __init__(self, options: CompactionOptions | None = None) -> None:
        self.options = options or CompactionOptions()

    async def compress(self, messages: Sequence[Any]) -> CompactionResult:
        """Do what `compress_now` does, in a thread."""
        return await asyncio.to_thread(self.compress_now, messages)

    def compress_now(self, messages: Sequence[Any]) -> CompactionResult:
        """Return the compacted conversation and the sizes of all of it.

        With `most_tokens` the oldest retained messages are dropped until the conversation fits. The newest message and
        the system messages stay.
        """
        options = replace(self.options, actual_pre_tokens=self.options.size_before(messages))
        system, others = split_system(messages)
        result = CompactionService.compact_now(others, options)
        summary, *retained = result.compacted_messages
        if options.most_tokens is not None:
            excess = count_messages([*system, summary, *retained], options.counter) - options.most_tokens
            while excess > 0 and len(retained) > 1:
                excess -= count_messages([retained.pop(0)], options.counter)
            retained = filter_orphan_tool_messages(retained)
        compacted = [*system, summary, *retained]
        return replace(result, compacted_messages=compacted, post_tokens=count_messages(compacted, options.counter))


def newest(messages: Sequence[T], share: float) -> list[T]:
    """Return the newest messages: this share of them, rounded up, in exact arithmetic."""
    count = int((Decimal(str(share)) * len(messages)).to_integral_value(ROUND_CEILING))
    return list(messages[len(messages) - min(max(count, 0), len(messages)) :])


def _compacted(summary: str, messages: Sequence[Any], share: float, options: CompactionOptions) -> list[Any]:
    """Return the summary, as a message of the same form as the others, and this share of the newest messages."""
    first: Any = {"id": options.ids(), "role": "user", "content": summary, "metadata": {SUMMARY: True}}
    if messages and isinstance(messages[-1], ContextMessage):
        first = ContextMessage(first["id"], "user", summary, options.clock(), first["metadata"])
    return [first, *filter_orphan_tool_messages(newest(messages, share))]


# ---------------------------------------------------------------------- the summary


def summary_request(
    messages: Sequence[Any], paths: Sequence[str], options: CompactionOptions
) -> tuple[Request, list[str]]:
    """Return the request for a summary of these messages and files: the core's, within the model's context window.

    With it, return the paths of the files that could be read. It shows as much of them as fits.

    Earlier summaries among them are shown whole, because nothing else is left of what they cover. If they do not fit,
    both ends of each are shown.

    Raises:
        BadInput: the core does not have the options' locale, or the context window is too small for such a request.
    """
    window, count = options.max_context_tokens, options.counter.count
    budget = Budget(window, output=min(ANSWER_TOKENS, window // 2), recall=0)
    plain, _ = instruction({}, max_tokens=0, count=count, locale=options.locale)
    try:
        try:
            payload = _preview(messages, plain, options, budget)
        except PinnedOverflow:
            fitting = _cut_summaries(messages, max(1, int(EARLIER * (window - budget.output - count(plain)))), count)
            payload = _preview(fitting, plain, options, budget)
    except PinnedOverflow as error:
        raise BadInput(
            f"a context window of {window} tokens is too small to ask for this summary, by {error.short_by} tokens: "
            "use a model with a larger one (max_context_tokens), or leave the system messages out"
        ) from error
    files = read_files(paths, options.project_dir)
    free_tokens = payload.plan.limit - payload.tokens + count(plain)
    text, _ = instruction(files, max_tokens=free_tokens, count=count, locale=options.locale)
    return [*payload.openai()["messages"][:-1], {"role": "user", "content": text}], list(files)


def _preview(messages: Sequence[Any], plain: str, options: CompactionOptions, budget: Budget) -> Payload:
    """Return these messages, composed with this instruction after them. Raises BadInput, PinnedOverflow."""
    settings = Settings(locale=options.locale, config={"keep": 0})  # each message may be shortened, the newest too
    session = Session(MemoryStore(), settings=settings, token_counter=options.counter, project=options.project_dir)
    for message in messages:
        item = session.add(readable(message))
        if is_summary(message):
            session.items.pin(item)  # nothing else is left of what it covers
    session.interrupt()
    session.user(plain)  # so that the last user message, which is shown whole, is none of the conversation
    return session.preview(budget)


def _cut_summaries(messages: Sequence[Any], most: int, count: Callable[[str], int]) -> list[Any]:
    """Return the messages, with the earlier summaries among them cut to their shares of so many tokens."""
    texts = {at: str(chat_of(message)["content"]) for at, message in enumerate(messages) if is_summary(message)}
    total = max(1, sum(map(count, texts.values())))
    cut = {at: _both_ends(text, most * count(text) // total, count) for at, text in texts.items()}
    return [
        {"role": "user", "content": cut[at], "metadata": {SUMMARY: True}} if at in cut else message
        for at, message in enumerate(messages)
    ]


def _both_ends(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return the beginning and the end of a text within so many tokens; all of it if it fits."""
    chars = len(text)
    while (needed := count(text)) > tokens and chars > 1:
        chars = min(chars - 1, chars * tokens // needed)
        text = f"{text[: 2 * chars // 3]}\n[…]\n{text[len(text) - chars // 3 :]}"
    return text


def _summary(messages: Sequence[Any], paths: Sequence[str], options: CompactionOptions) -> tuple[str, list[str]]:
    """Return the summarizer's summary, and the files that were read for it. Raises NoSummary if there is none."""
    if options.summarizer is None:
        raise NoSummary("no summarizer was given")
    request, files = summary_request(messages, paths, options)
    answer = ask_model(options.summarizer, request, options.seconds)
    if not isinstance(answer, str):
        raise NoSummary(f"the summarizer gave no text but {type(answer).__name__}")
    summary = summary_in(answer)
    check_words(summary, (str(chat_of(message)) for message in messages))
    tokens = options.counter.count(summary)
    if options.most_tokens is not None and tokens > options.most_tokens // 2:
        raise NoSummary(f"the summary has {tokens} tokens and must not have more than {options.most_tokens // 2}")
    if tokens > max(SMALL_TOKENS, count_messages(messages, options.counter)):
        raise NoSummary(f"the summary is larger than the conversation: {tokens} tokens")
    return summary, files
