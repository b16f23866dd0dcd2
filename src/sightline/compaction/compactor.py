"""One session's compactions: what to cover, who summarises it, what is written down, and what that hides."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace as with_changes
from typing import Any, NamedTuple

from msgspec import Struct

from sightline import wire
from sightline.compaction.loss import Loss, loss
from sightline.compaction.oldest_part import passage
from sightline.compaction.prompt import NoSummary, asked, check_words, error_text, fallback, instruction, summary_in
from sightline.compose.turn import Composer
from sightline.errors import BadInput, Conflict, NothingCompacted
from sightline.files import mentions as files
from sightline.files.folders import PROJECT, Folders
from sightline.log import entries
from sightline.log.annotations import CompactNote, UncompactNote
from sightline.log.branches import Compaction
from sightline.log.columns import BY_RULE, NOTICE
from sightline.log.entries import CompactMetadata, Entry
from sightline.log.journal import Journal
from sightline.plan.budget import Budget
from sightline.plan.view import body_unit, messages_of, oldest
from sightline.shorten.digest import digest
from sightline.values.items import Call, Kind, Message, Role, Text, plain_text
from sightline.values.phrases import say
from sightline.wire.payload import Payload

logger = logging.getLogger("sightline")

Summarizer = Callable[[Payload], Any]
"""Sends a payload to a model and gives its answer: text, or an SDK's response object."""

RETAINED = 0.2  # of the messages shown: the newest stay as they are
RETAINED_IN_NEED = 0.3  # where no summary could be had
SECONDS = 120.0  # that a model may take
_DIGEST = 0.1  # of the limit: what a digest may take in any case
_PAGE = 3_000  # tokens it may take of the room that the compaction frees: in a small window it is most of what is left
_SUMMARY = 0.25  # of the limit: a longer summary is no summary
_LEAST, _LONG = 12, 2000  # tokens: so short an answer to so long a conversation is a refusal, not a summary
_ATTEMPTS = 3  # of writing while others write
_ANSWER = 4000  # tokens of the window left for the model's answer
_FAILURES = 3  # in a row, after which no model is asked of our own accord for a while
_PASSED_OVER = 10  # times that a summary is wanted until one is asked again
_TOO_LITTLE = (
    "there is too little conversation to compact: go on, and try again later; to have the last compaction made again, "
    "undo it first with session.summaries.undo()"
)
_OFF = (
    "summaries are switched off in this session; session.configure(reductions=(…, 'summaries')) allows them again, "
    "and with them the compactions there are"
)


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


class _Summary(NamedTuple):
    text: str
    flags: int


class Compactor:
    """Compacts the branch that a composer stands on. Who calls it holds the session's lock, except around `asked`."""

    def __init__(self, journal: Journal, composer: Composer, folders: Folders = PROJECT) -> None:
        """`folders`: those of the project whose files a summary may be made from."""
        self._journal, self._composer, self._folders = journal, composer, folders
        self._failures = self._passed_over = 0
        self._error = ""

    def job(self, budget: Budget, trigger: str, cover: tuple[int, int] | None = None) -> Job:
        """What a compaction would cover now, and the request for a summary of it.

        Raises:
            BadInput: there is too little to compact, or summaries are switched off.
        """
        if "summaries" not in self._journal.settings.reductions:
            raise BadInput(_OFF)
        before = self._composer.preview(budget)
        first, last = cover or self._range(before, budget, RETAINED)
        reader, apart = self._journal.reader, cover is not None and self._composer.summarises_apart
        seen = before
        if apart:
            seen, last = passage(reader, self._composer.view(budget), before, first, last)
        named = () if apart else files.important_files(seen.body)
        shown = files.read_files([file.path for file in named], self._journal.where.cwd, folders=self._folders)
        count, room = reader.counter.count, before.plan.limit - seen.tokens - _ANSWER
        text, paths = instruction(shown, room=room, count=count, locale=reader.locale)
        tokens = seen.tokens + count(text) + reader.profile.message_tokens
        request = with_changes(seen, tail=(Message(Role.USER, (Text(text),)),), tokens=tokens)
        return Job(before, budget, request, tuple(paths), first, last, trigger)

    def passes_over(self) -> bool:
        """Whether a model that failed so often in a row is not asked this time; every now and then it is."""
        if self._failures < _FAILURES:
            return False
        self._passed_over += 1
        return self._passed_over % _PASSED_OVER != 0

    @property
    def error(self) -> str:
        """Why the last summary could not be had; empty where it could."""
        return self._error

    def superseded(self, job: Job) -> bool:
        """Whether what a job was to cover has been covered meanwhile."""
        held = self._journal.timeline.compacted(self._journal.path)
        return any(each.first <= job.first and job.last <= each.last for each in held)

    def _range(self, payload: Payload, budget: Budget, share: float) -> tuple[int, int]:
        """The units up to the newest share of the messages, which stay."""
        found = oldest(self._composer.view(budget), payload.plan, share)
        if found is None:
            raise BadInput(_TOO_LITTLE)
        return found

    # ------------------------------------------------------------------ the model

    def summary(self, job: Job, model: Summarizer, seconds: float) -> str | Exception:
        """The model's summary, or why there is none. Waits for the model at most so long; never raises."""
        try:
            found: str | Exception = self._checked(asked(model, job.request, seconds), job)
        except Exception as error:  # also what reading an answer of no known form raises
            found = error
        if isinstance(found, Exception) and job.trigger == "auto":  # nobody waits for it who could be told
            logger.warning("%s: no summary: %s", self._journal.store.session_id, found)
        self._failures = self._failures + 1 if isinstance(found, Exception) else 0
        self._error = str(found) if isinstance(found, Exception) else ""
        return found

    def _checked(self, answer: Any, job: Job) -> str:
        if isinstance(answer, bytes):
            raise NoSummary("the model's answer is bytes, not text")
        match wire.why_ended(answer):
            case "length":
                raise NoSummary("the model's answer was cut off; give it more room for its answer")
            case "refused":
                raise NoSummary("the model refused to answer")
        text = answer if isinstance(answer, str) else plain_text(wire.read_reply(answer).parts)
        summary = summary_in(text)
        tokens, most = self._journal.reader.counter.count(summary), int(_SUMMARY * job.before.plan.limit)
        check_words(summary, (plain_text(message.parts) for message in job.before.body))
        stands_for = self._stands(job.first, job.last)
        if tokens < _LEAST and stands_for > _LONG:
            raise NoSummary(f"the model's answer of {tokens:,} tokens says too little to stand for {stands_for:,}")
        if tokens > most:
            raise NoSummary(f"the model's answer has {tokens:,} tokens; a summary may have {most:,}")
        if tokens >= stands_for:
            raise NoSummary(f"the model's answer of {tokens:,} tokens is no shorter than what it stands for")
        return summary

    # ------------------------------------------------------------------ writing it down

    def finish(self, job: Job, summary: str | Exception | None) -> Compacted:
        """Write down a compaction: by the model's summary, by the digest where there is no model, by both in need.

        Raises:
            BadInput: there is too little to say anything about. Nothing was written, nor with these:
            Conflict, StoreError
        """
        error = error_text(summary) if isinstance(summary, Exception) else ""
        first, last = job.first, job.last
        if error:  # a few more stay, unless that would be nearly all of them
            first, last = oldest(self._composer.view(job.budget), job.before.plan, RETAINED_IN_NEED) or (first, last)
        texts = self._texts(job, (first, last), summary, error)
        if not texts:
            raise BadInput(_TOO_LITTLE)
        used = job.files if isinstance(summary, str) else ()
        boundary = self._write(job, (first, last), texts, used)
        after = self._composer.preview(job.budget, command="command: compact")
        found = self._loss(job.before, after)
        self._journal.annotate((entries.LOSS, found))
        self._journal.store.sync()
        timeline = self._journal.timeline
        return Compacted(
            success=not error,
            summary=texts[0].text,
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

    def _texts(
        self, job: Job, covered: tuple[int, int], summary: str | Exception | None, error: str
    ) -> list["_Summary"]:
        """What stands for these units: the model's words and a digest of what it did not see, or a digest of all."""
        untold = self._untold(*covered)
        if isinstance(summary, str):
            unseen = [unit for unit in untold if unit not in job.request.plan]
            digests = [self._digest(job, unseen, [])] if unseen else []
            return [_Summary(summary, 0), *(_Summary(text, BY_RULE) for text in digests if text)]
        held = [unit for each in self._inside(*covered) for unit in each.summaries]
        by_rule = self._digest(job, untold, held)
        notice = fallback(self._messages(job.before, covered[1]), error) if error else ""
        texts = [_Summary(notice, BY_RULE | NOTICE), _Summary(by_rule, BY_RULE)]
        return [each for each in texts if each.text]

    def _write(self, job: Job, covered: tuple[int, int], texts: Sequence["_Summary"], used: Sequence[str]) -> int:
        journal, timeline = self._journal, self._journal.timeline
        rows = [timeline.unit_row[unit] for unit in covered]
        uuids = (journal.reader.entry(rows[0]).uuid, journal.reader.entry(rows[1]).uuid)
        note = CompactNote(timeline.seq[rows[0]], timeline.seq[rows[1]], uuids)
        pre, reader = job.before.tokens, journal.reader
        boundary = journal.drafts.boundary(note, CompactMetadata(job.trigger, pre))
        view, plan = self._composer.view(job.budget), job.before.plan
        hidden = sum(view.unit_tokens(unit, plan.lods) for unit in plan if covered[0] <= unit <= covered[1])
        around = reader.counter.count(say("summary", reader.locale)) + reader.profile.message_tokens
        post = max(0, pre - hidden) + sum(reader.counter.count(each.text) + around for each in texts)
        metadata = CompactMetadata(job.trigger, pre, post, list(used))
        summaries = [journal.drafts.summary(each.text, metadata, flags=each.flags) for each in texts]
        made = self._appended([boundary, *summaries])
        unit = timeline.unit[made[1][0]]
        return next(each.seq for each in timeline.compactions if unit in each.summaries)

    def _appended(self, drafts: Sequence[Entry]) -> list[range]:
        """Written after whatever others have said meanwhile: what it covers is fixed, and still there."""
        for _ in range(_ATTEMPTS):
            with suppress(Conflict):
                return self._journal.append(drafts)
            self._journal.store.refresh()
            self._journal.catch_up()
        return self._journal.append(drafts)

    def _digest(self, job: Job, units: Sequence[int], summaries: Sequence[int]) -> str:
        """What the rules make of units, going on from these summaries of earlier ones."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = [timeline.unit_row[unit] for unit in summaries]
        before = "\n\n".join(reader.text(row) for row in rows if not timeline.state[row] & NOTICE)
        items = [reader.item(row) for unit in units for row in timeline.rows_of(unit)]
        full = sum(timeline.unit_full[unit] for unit in (*units, *summaries))
        tokens = min(max(int(_DIGEST * job.before.plan.limit), min(_PAGE, self._freed(job))), full // 2)
        return digest(items, tokens=tokens, count=reader.counter.count, locale=reader.locale, before=before)

    def _freed(self, job: Job) -> int:
        """Tokens up to between a sweep's target and its trigger, once what is covered is no longer shown."""
        view, plan = self._composer.view(job.budget), job.before.plan
        stay = [unit for unit in plan if not job.first <= unit <= job.last]
        shown = sum(view.unit_tokens(unit, plan.lods) for unit in stay)
        return int((job.budget.target + job.budget.trigger) / 2 * (plan.limit - plan.fixed)) - shown

    def _units(self, first: int, last: int) -> list[int]:
        timeline = self._journal.timeline
        if first > last:
            return []
        rows = timeline.unit_row[first], timeline.unit_row[last] + 1
        units = timeline.units_between(self._journal.path, *rows)
        return [
            unit
            for unit in units
            if body_unit(timeline, unit) and self._journal.timeline.unit_kind(unit) is not Kind.SUMMARY
        ]

    def _inside(self, first: int, last: int) -> list[Compaction]:
        """The compactions that hold, of which a new one of these units takes the place."""
        held = self._journal.timeline.compacted(self._journal.path)
        return [each for each in held if first <= each.first and each.last <= last]

    def _untold(self, first: int, last: int) -> list[int]:
        """The units that no summary stands for yet."""
        held = self._inside(first, last)
        return [unit for unit in self._units(first, last) if not any(each.first <= unit <= each.last for each in held)]

    def _stands(self, first: int, last: int) -> int:
        """Tokens of what stands for these units now: they themselves, or the summary of them that there is."""
        summaries = [unit for each in self._inside(first, last) for unit in each.summaries]
        return sum(self._journal.timeline.unit_full[unit] for unit in (*self._untold(first, last), *summaries))

    def _count(self, first: int, last: int) -> int:
        return sum(messages_of(self._journal.timeline, unit) for unit in self._units(first, last))

    def _messages(self, payload: Payload, last: int) -> int:
        """How many messages stay after this unit."""
        stay = [
            unit for unit in payload.plan if unit > last and self._journal.timeline.unit_kind(unit) is not Kind.SUMMARY
        ]
        return sum(messages_of(self._journal.timeline, unit) for unit in stay)

    def _loss(self, before: Payload, after: Payload) -> Loss:
        now = map(_readable, (*after.system, *after.body, *after.tail))
        return loss(map(_readable, before.body), self._binding(), "\n".join(now))

    def _binding(self) -> list[str]:
        """What the user said on this branch that sets a rule or names a task."""
        timeline, path = self._journal.timeline, self._journal.path
        rows = [row for row in timeline.constraints if path.holds(timeline.branch[row], row)]
        return [self._journal.reader.text(row) for row in rows]

    # ------------------------------------------------------------------ undoing it

    def check_covered(self, row: int) -> None:
        """Raises NothingCompacted for an item that no summary stands for."""
        unit = self._journal.timeline.unit[row]
        held = self._journal.timeline.compacted(self._journal.path)
        if not any(each.first <= unit <= each.last for each in held):
            raise NothingCompacted

    def undo(self) -> None:
        """The last compaction of this branch holds no longer. Raises NothingCompacted."""
        held = self._journal.timeline.compacted(self._journal.path)
        if not held:
            raise NothingCompacted
        self._journal.annotate((entries.UNCOMPACT, UncompactNote(held[-1].seq)))


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
