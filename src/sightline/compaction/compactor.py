"""One session's compactions: what to cover, who summarises it, what is written down, and what that hides."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as with_changes
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from msgspec import Struct

from sightline import files, log, wire
from sightline.branches import Compaction
from sightline.compaction.asking import instruction, summary_in
from sightline.compaction.loss import Loss, loss
from sightline.compaction.passage import passage
from sightline.composer import Composer
from sightline.digest import digest
from sightline.errors import BadInput, SightlineError, UnknownItem
from sightline.items import Call, Kind, Message, Role, Text, plain_text
from sightline.journal import Journal
from sightline.log import CompactMetadata
from sightline.notes import CompactNote, UncompactNote
from sightline.payload import Payload
from sightline.plan import Budget, body_unit, messages_of, oldest
from sightline.timeline import BY_RULE
from sightline.wording import say

Summarizer = Callable[[Payload], Any]
"""Sends a payload to a model and gives its answer: text, or an SDK's response object."""

RETAINED = 0.2  # of the messages shown: the newest stay as they are
RETAINED_IN_NEED = 0.3  # where no summary could be had
SECONDS = 120.0  # that a model may take
_DIGEST = 0.1  # of the limit: what a digest may take
_SUMMARY = 0.25  # of the limit: a longer summary is no summary
_ANSWER = 4000  # tokens of the window left for the model's answer
_FAILURES = 3  # in a row, after which no model is asked of our own accord
_TOO_LITTLE = "there is too little conversation to compact: go on, and try again later"
_FAILED = "[Automatic compaction failed; using fallback]"


class Compacted(Struct, frozen=True, omit_defaults=True):
    """What a compaction did."""

    success: bool  # whether it was done as asked: by the model, or by rule where there is none
    summary: str
    trigger: str
    pre_tokens: int
    post_tokens: int
    boundary: int  # its seq: what `uncompact` takes
    covered: tuple[str, str]  # ids of the first and last item that the summary stands for
    messages: int  # how many there were
    files: tuple[str, ...] = ()  # shown to the model as they are now
    error: str = ""  # why the model's answer was not taken
    loss: Loss = Loss()


class Job(NamedTuple):
    """A compaction that has been decided on and not yet made."""

    before: Payload
    budget: Budget
    request: Payload
    files: tuple[str, ...]
    first: int  # units, all that the summary stands for
    last: int
    trigger: str


class NoSummary(SightlineError):
    """A model's answer that cannot stand for a conversation."""


class Compactor:
    """Compacts the branch that a composer stands on. Who calls it holds the session's lock, except around `asked`."""

    def __init__(self, journal: Journal, composer: Composer) -> None:
        self._journal, self._composer = journal, composer
        self._failures = 0

    def job(self, budget: Budget, trigger: str, cover: tuple[int, int] | None = None) -> Job:
        """What a compaction would cover now, and the request for a summary of it.

        Raises:
            BadInput: there is too little to compact.
        """
        before = self._composer.preview(budget)
        first, last = cover or self._range(before, budget, RETAINED)
        reader, apart = self._journal.reader, cover is not None and self._composer.summarises_apart
        seen = before
        if apart:
            seen, last = passage(reader, self._composer.view(budget), before, first, last)
        named = () if apart else files.important_files(seen.body)
        shown = files.read_files([file.path for file in named], self._journal.where.cwd)
        room = budget.window - budget.output - seen.tokens - _ANSWER
        text, paths = instruction(shown, room=room, count=reader.counter.count, locale=reader.locale)
        request = with_changes(seen, tail=(Message(Role.USER, (Text(text),)),))
        return Job(before, budget, request, tuple(paths), first, last, trigger)

    @property
    def given_up(self) -> bool:
        """Whether models failed so often in a row that none is asked of our own accord, until one that is asked for
        succeeds.
        """
        return self._failures >= _FAILURES

    def superseded(self, job: Job) -> bool:
        """Whether what a job was to cover has been covered meanwhile."""
        held = self._journal.timeline.more.compacted(self._journal.path)
        return any(each.first <= job.first and job.last <= each.last for each in held)

    def _range(self, payload: Payload, budget: Budget, share: float) -> tuple[int, int]:
        """The units up to the newest share of the messages, which stay."""
        found = oldest(self._composer.view(budget), payload.plan, share)
        if found is None:
            raise BadInput(_TOO_LITTLE)
        return found

    def _kind(self, unit: int) -> Kind:
        return Kind(self._journal.timeline.kind[self._journal.timeline.unit_row[unit]])

    # ------------------------------------------------------------------ the model

    def asked(self, job: Job, model: Summarizer, seconds: float) -> str | Exception:
        """The model's summary, or why there is none. Waits for the model at most so long; never raises."""
        answers: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=_ask, args=(model, job.request, answers), daemon=True).start()
        try:
            answer = answers.get(timeout=seconds)
            found: str | Exception = answer if isinstance(answer, Exception) else self._checked(answer, job)
        except Empty:
            found = NoSummary(f"the model gave no answer within {seconds:g} seconds")
        except Exception as error:  # an answer of no form that we know: what reading it raises is the reason
            found = error
        self._failures = self._failures + 1 if isinstance(found, Exception) else 0
        return found

    def _checked(self, answer: Any, job: Job) -> str:
        if isinstance(answer, bytes):
            raise NoSummary("the model's answer is bytes, not text")
        text = answer if isinstance(answer, str) else plain_text(wire.read_reply(answer).parts)
        summary = summary_in(text)
        tokens, most = self._journal.reader.counter.count(summary), int(_SUMMARY * job.before.plan.limit)
        if not summary:
            raise NoSummary("the model's answer is empty")
        if not any(map(str.isalnum, summary)):
            raise NoSummary("the model's answer has no words")
        if tokens > most:
            raise NoSummary(f"the model's answer has {tokens:,} tokens; a summary may have {most:,}")
        if tokens >= self._stands(job.first, job.last):
            raise NoSummary(f"the model's answer of {tokens:,} tokens is no shorter than what it stands for")
        return summary

    # ------------------------------------------------------------------ writing it down

    def finish(self, job: Job, summary: str | Exception | None) -> Compacted:
        """Write down a compaction: by the model's summary, by the digest where there is no model, by both in need.

        Raises:
            BadInput: there is too little to say anything about. Nothing was written, nor with these:
            Conflict, StoreError
        """
        error = str(summary) or type(summary).__name__ if isinstance(summary, Exception) else ""
        first, last = job.first, job.last
        if error:  # a few more stay, unless that would be nearly all of them
            first, last = oldest(self._composer.view(job.budget), job.before.plan, RETAINED_IN_NEED) or (first, last)
        by_rule = "" if isinstance(summary, str) else self._digest(job, first, last)
        texts = [summary] if isinstance(summary, str) else [by_rule]
        if error:
            texts.insert(0, _fallback(self._messages(job.before, last), error))
        used = job.files if isinstance(summary, str) else ()
        by_model = isinstance(summary, str)
        if not any(texts):
            raise BadInput(_TOO_LITTLE)
        boundary = self._write(job, (first, last), [text for text in texts if text], used, by_model=by_model)
        after = self._composer.preview(job.budget, command="command: compact")
        found = self._loss(job.before, after)
        self._journal.annotate((log.LOSS, found))
        self._journal.store.sync()
        timeline = self._journal.timeline
        return Compacted(
            success=not error,
            summary=texts[0],
            trigger=job.trigger,
            pre_tokens=job.before.tokens,
            post_tokens=after.tokens,
            boundary=boundary,
            covered=(timeline.id(timeline.unit_row[first]), timeline.id(timeline.unit_row[last])),
            messages=self._count(first, last),
            files=used,
            error=error,
            loss=found,
        )

    def _write(
        self, job: Job, covered: tuple[int, int], texts: Sequence[str], used: Sequence[str], *, by_model: bool
    ) -> int:
        journal, timeline = self._journal, self._journal.timeline
        rows = [timeline.unit_row[unit] for unit in covered]
        uuids = (journal.reader.entry(rows[0]).uuid, journal.reader.entry(rows[1]).uuid)
        note = CompactNote(timeline.seq[rows[0]], timeline.seq[rows[1]], uuids)
        pre, reader = job.before.tokens, journal.reader
        boundary = journal.drafts.boundary(note, CompactMetadata(job.trigger, pre))
        view, plan = self._composer.view(job.budget), job.before.plan
        hidden = sum(view.unit_tokens(unit, plan.lods) for unit in plan if covered[0] <= unit <= covered[1])
        around = reader.counter.count(say("summary", reader.locale)) + reader.profile.message_tokens
        post = max(0, pre - hidden) + sum(reader.counter.count(text) + around for text in texts)
        metadata = CompactMetadata(job.trigger, pre, post, list(used))
        flags = 0 if by_model else BY_RULE
        made = journal.append([boundary, *(journal.drafts.summary(text, metadata, flags=flags) for text in texts)])
        unit = timeline.unit[made[1][0]]
        return next(each.seq for each in timeline.more.compactions if unit in each.summaries)

    def _digest(self, job: Job, first: int, last: int) -> str:
        """What the rules make of the units, going on from the summaries among them."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = [timeline.unit_row[unit] for each in self._inside(first, last) for unit in each.summaries]
        before = "\n\n".join(text for text in map(reader.text, rows) if not text.startswith(_FAILED))
        items = [reader.item(row) for unit in self._untold(first, last) for row in timeline.rows_of(unit)]
        tokens = min(int(_DIGEST * job.before.plan.limit), self._tokens(first, last) // 2)
        return digest(items, tokens=tokens, count=reader.counter.count, locale=reader.locale, before=before)

    def _units(self, first: int, last: int) -> list[int]:
        timeline = self._journal.timeline
        if first > last:
            return []
        rows = timeline.unit_row[first], timeline.unit_row[last] + 1
        units = timeline.units_between(self._journal.path, *rows)
        return [unit for unit in units if body_unit(timeline, unit) and self._kind(unit) is not Kind.SUMMARY]

    def _inside(self, first: int, last: int) -> list[Compaction]:
        """The compactions that hold, of which a new one of these units takes the place."""
        held = self._journal.timeline.more.compacted(self._journal.path)
        return [each for each in held if first <= each.first and each.last <= last]

    def _untold(self, first: int, last: int) -> list[int]:
        """The units that no summary stands for yet."""
        held = self._inside(first, last)
        return [unit for unit in self._units(first, last) if not any(each.first <= unit <= each.last for each in held)]

    def _tokens(self, first: int, last: int) -> int:
        full = self._journal.timeline.unit_full
        return sum(full[unit] for unit in self._units(first, last))

    def _stands(self, first: int, last: int) -> int:
        """Tokens of what stands for these units now: they themselves, or the summary of them that there is."""
        summaries = [unit for each in self._inside(first, last) for unit in each.summaries]
        return sum(self._journal.timeline.unit_full[unit] for unit in (*self._untold(first, last), *summaries))

    def _count(self, first: int, last: int) -> int:
        return sum(messages_of(self._journal.timeline, unit) for unit in self._units(first, last))

    def _messages(self, payload: Payload, last: int) -> int:
        """How many messages stay after this unit."""
        stay = [unit for unit in payload.plan if unit > last and self._kind(unit) is not Kind.SUMMARY]
        return sum(messages_of(self._journal.timeline, unit) for unit in stay)

    def _loss(self, before: Payload, after: Payload) -> Loss:
        now = map(_readable, (*after.system, *after.body, *after.tail))
        return loss(map(_readable, before.body), self._binding(), "\n".join(now))

    def _binding(self) -> list[str]:
        """What the user said on this branch that sets a rule or names a task."""
        timeline, path = self._journal.timeline, self._journal.path
        rows = [row for row in timeline.more.binding if path.holds(timeline.branch[row], row)]
        return [self._journal.reader.text(row) for row in rows]

    # ------------------------------------------------------------------ undoing it

    def undo(self, boundary: int | None = None) -> int:
        """A compaction holds no longer: the last one, or that of this boundary. Its seq.

        Raises:
            UnknownItem: no such compaction holds on this branch.
        """
        held = [each.seq for each in self._journal.timeline.more.compacted(self._journal.path)]
        if not held or (boundary is not None and boundary not in held):
            raise UnknownItem(f"compaction {boundary}" if boundary is not None else "compaction")
        seq = held[-1] if boundary is None else boundary
        self._journal.annotate((log.UNCOMPACT, UncompactNote(seq)))
        return seq


def _ask(model: Summarizer, request: Payload, answers: "SimpleQueue[Any]") -> None:
    try:
        answers.put(model(request))
    except Exception as error:  # whatever a model raises is an answer: no summary
        answers.put(error)
    except BaseException as error:  # somebody's way to end a thread: it ends this one, and nobody waits for it
        answers.put(NoSummary(str(error) or type(error).__name__))


def _fallback(messages: int, error: str) -> str:
    """The document's words for a compaction without a summary."""
    return (
        f"{_FAILED}\n\n"
        f"An error occurred during compaction. Retained the latest {messages} messages (~30%).\n\n"
        f"Error: {error}\n\n"
        "The conversation can continue, but consider retrying with /compact."
    )


def _readable(message: Message) -> str:
    """All that can be read in a message: what it says, and what its calls are given."""
    given = [text for part in message.parts if isinstance(part, Call) for text in (part.name, *_leaves(part.input))]
    return "\n".join([plain_text(message.parts), *given])


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a JSON value."""
    match value:
        case dict():
            yield from (text for inner in value.values() for text in _leaves(inner))
        case list() | tuple():
            yield from (text for inner in value for text in _leaves(inner))
        case None:
            pass
        case _:
            yield str(value)
