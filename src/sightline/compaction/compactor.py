"""One session's compactions: what to cover, the model's summary of it, writing it down, and undoing it.

`digest_units` makes a summary without a model, `oldest_part` the payload for a model that sees only what it summarises.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sightline import wire
from sightline.compaction.loss import Loss, loss, outputs, readable_text
from sightline.compaction.prompt import (
    NOTICE_CHARS,
    ask_model,
    check_words,
    error_text,
    fallback,
    instruction,
    no_summary,
    not_shorter,
    summary_in,
)
from sightline.compose.render import ComposeInputs, layout, render
from sightline.compose.turn import Composer
from sightline.errors import BadInput, NothingCompacted, NotShorter, PinnedOverflow
from sightline.files import mentions as files
from sightline.files.folders import PROJECT, Folders
from sightline.log import entries
from sightline.log.annotations import CompactNote, UncompactNote
from sightline.log.columns import BY_RULE, NOTICE, Compaction, Path, Timeline
from sightline.log.journal import Journal, laid_down, retry_on_conflict
from sightline.log.levels import Reader
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sliding import begins_turn
from sightline.plan.view import Budget, Notices, View, body_units, messages_of, oldest, said_units
from sightline.shorten.sample import encodable
from sightline.values.items import Kind, Message, Role, Text, plain_text
from sightline.values.phrases import say
from sightline.wire.payload import Payload

logger = logging.getLogger("sightline")

Summarizer = Callable[[Payload], Any]
"""Sends a payload to a model and returns its answer: text, or an SDK's response object."""

RETAINED = 0.2  # of the messages shown: the newest ones, which are not covered
RETAINED_IN_NEED = 0.3  # the same, if the model gave no summary
SECONDS = 120.0  # that a model may take
_DIGEST = 0.1  # of the token limit: a digest may always have this
_DIGEST_TOKENS = 3_000  # that a digest may have of what is free: most of a small window
_FILL = 0.9  # of the body's tokens: a digest fills a small window up to here
_MOST = 0.75  # of that: the units that are not covered give way to a digest up to here
_SUMMARY = 0.25  # of the token limit: a longer summary is no summary
_LEAST_TOKENS, _LONG_TOKENS = 12, 2000  # so short an answer to so long a conversation is a refusal, not a summary
_COMMAND = "command: compact"  # why the next call is a sweep
_ATTEMPTS = 3  # to write while others write, before one more that may raise
_PART = 0.8  # of the token limit, for the part that a model sees by itself; the rest is for the request and the answer
_ANSWER_TOKENS = 4000  # of the context window, left free for the model's answer
_FAILURES = 3  # in a row; after these, most background summaries are not tried
_EVERY = 10  # of those wanted then, one in so many is tried
_TOO_LITTLE = (
    "there is too little conversation to compact: go on, and try again later; to have the last compaction made again, "
    "undo it first with session.summaries.undo()"
)
_OFF = (
    "summaries are switched off in this session; session.configure(reductions=(…, 'summaries')) allows them again, "
    "and with them the compactions there are"
)


class UnitRange(NamedTuple):
    """The units from `first` to `last` on one branch."""

    timeline: Timeline
    path: Path
    first: int
    last: int

    def units(self) -> list[int]:
        """Return the units of the body except summaries."""
        timeline = self.timeline
        return said_units(timeline, self.path, timeline.unit_row[self.first], timeline.unit_row[self.last] + 1)

    def next_speaker(self) -> Kind | None:
        """Return who speaks first after the range: the user, or the assistant without a call; None if nobody does."""
        timeline = self.timeline
        for unit in body_units(timeline, self.path, timeline.unit_row[self.last] + 1):
            if timeline.is_users_own(timeline.unit_row[unit]):
                return Kind.USER
            if timeline.unit_kind(unit) is Kind.ASSISTANT and timeline.unit_rows[unit] == 1:
                return Kind.ASSISTANT
        return None

    def compactions(self) -> list[Compaction]:
        """Return the compactions in force inside the range. A compaction of the whole range replaces them."""
        return [
            compaction
            for compaction in self.timeline.compacted(self.path)
            if self.first <= compaction.first and compaction.last <= self.last
        ]

    def summaries(self) -> list[int]:
        """Return the units with the summaries of these compactions."""
        return [unit for compaction in self.compactions() for unit in compaction.summaries]

    def not_summarised(self) -> list[int]:
        """Return the units that no summary covers yet."""
        inside = self.compactions()
        return [unit for unit in self.units() if not any(unit in compaction for compaction in inside)]


class Compacted(Struct, frozen=True, omit_defaults=True):
    """What a compaction did."""

    success: bool  # whether the summary is what was asked for: the model's, or a digest if no model was given
    summary: str
    trigger: str
    pre_tokens: int
    post_tokens: int
    boundary: int  # the seq of its boundary entry
    covered: tuple[str, str]  # ids of the first and last item that the summary covers
    messages: int  # how many messages these are
    files: tuple[str, ...] = ()  # shown to the model as they are now
    error: str = ""  # why the model's answer was not used
    loss: Loss = Loss()


class Job(NamedTuple):
    """A compaction that is decided and not yet made."""

    before: Payload
    budget: Budget
    request: Payload
    files: tuple[str, ...]
    first: int  # the units that the summary will cover
    last: int
    trigger: str
    replaced: int  # tokens that a summary of these units would replace, so it must have fewer


class Superseded(BadInput):
    """Another process has made this background summary meanwhile. Nothing was written."""

    def __init__(self) -> None:
        super().__init__("these messages have a summary by now: nothing is to be done")


class Compactor:
    """Compacts the composer's branch: `job`, then `summary` if there is a model, then `finish`.

    The caller holds the session's lock, except during `summary`, which waits for the model.
    """

    def __init__(self, journal: Journal, composer: Composer, folders: Folders = PROJECT) -> None:
        """`folders`: those of the project whose files may be shown to the model."""
        self._journal, self._composer, self._folders = journal, composer, folders
        self._failures = self._skipped = 0
        self.error = ""  # why the last summary could not be had from its model; empty if it could

    # ------------------------------------------------------------------ what to cover

    def job(self, budget: Budget, trigger: str, cover: tuple[int, int] | None = None) -> Job:
        """Decide which units to cover now, unless `cover` says so, and make the request for a summary of them.

        Raises:
            BadInput: there is too little to compact, or summaries are switched off.
        """
        if "summaries" not in self._journal.settings.reductions:
            raise BadInput(_OFF)
        reader, seen = self._journal.reader, self._composer.preview(budget)
        before, units = seen, cover or oldest(self._composer.view(budget), seen.plan, RETAINED, least=1)
        if units is None:
            raise BadInput(_TOO_LITTLE)
        first, last = units
        named = []
        if cover is not None and self._composer.summarises_apart:
            seen, last = oldest_part(reader, self._composer.view(budget), before, first, last)
        else:
            named = [file.path for file in files.important_files(seen.body)]
        texts = files.read_files(named, self._journal.where.cwd, folders=self._folders)
        count, free_tokens = reader.counter.count, before.plan.limit - seen.tokens - _ANSWER_TOKENS
        programs = [plain_text(message.parts) for message in seen.body if self._is_by_program(message)]
        text, paths = instruction(texts, max_tokens=free_tokens, count=count, locale=reader.locale, programs=programs)
        tokens = seen.tokens + count(text) + reader.profile.message_tokens
        request = replace(seen, tail=(Message(Role.USER, (Text(text),)),), tokens=tokens)
        covered = self._range(first, last)
        # Whoever says what to cover may mean units that are left out, and where nothing was sent yet, as of a session
        # that was imported, no payload has to shrink: then a summary is measured by their full text.
        is_sent = cover is None and self._composer.payload is not None
        replaced = (self._freed if is_sent else self._replaced)(before, budget, covered)
        return Job(before, budget, request, tuple(paths), first, last, trigger, replaced)

    def _is_by_program(self, message: Message) -> bool:
        """Return whether a message of a payload has the user's role, and a program wrote it."""
        timeline = self._journal.timeline
        row = timeline.row(message.id) if message.id and message.role is Role.USER else None
        return row is not None and timeline.is_by_program(row)

    def passes_over(self) -> bool:
        """Return whether to skip a background summary, because the model failed too often in a row."""
        if self._failures < _FAILURES:
            return False
        self._skipped += 1
        return self._skipped % _EVERY != 0

    def superseded(self, job: Job) -> bool:
        """Return whether another compaction covers the job's units by now."""
        return any(other.first <= job.first and job.last <= other.last for other in self._in_force())

    def _in_force(self) -> list[Compaction]:
        return self._journal.timeline.compacted(self._journal.path)

    # ------------------------------------------------------------------ the model's summary

    def summary(self, job: Job, model: Summarizer, seconds: float) -> str | Exception:
        """Return the model's summary, or why there is none. Waits for the model at most so long; never raises."""
        try:
            summary = self._check(ask_model(model, job.request, seconds, self._journal.reader.locale), job)
        except Exception as error:  # also what is raised by reading an answer of no known form
            if job.trigger == "auto":  # nobody waits for it who could be told
                logger.warning("%s: no summary: %s", self._journal.store.session_id, error)
            self._failures += 1
            self.error = error_text(error)
            return error
        self._failures, self.error = 0, ""
        return summary

    def _check(self, answer: Any, job: Job) -> str:
        """Return the summary in a model's answer. Raises NoSummary if it cannot replace what it covers."""
        locale = self._journal.reader.locale
        if isinstance(answer, bytes):
            raise no_summary("bytes", locale)
        match wire.why_ended(answer):
            case "length":
                raise no_summary("cut off", locale)
            case "refused":
                raise no_summary("refused", locale)
        summary = summary_in(answer if isinstance(answer, str) else plain_text(wire.read_reply(answer).parts))
        tokens, most = self._journal.reader.counter.count(summary), int(_SUMMARY * job.before.plan.limit)
        check_words(summary, (plain_text(message.parts) for message in job.before.body), locale)
        if tokens < _LEAST_TOKENS and job.replaced > _LONG_TOKENS:
            raise no_summary("says little", locale, tokens=tokens, replaced=job.replaced)
        if tokens > most:
            raise no_summary("too long", locale, tokens=tokens, most=most)
        if self._added([summary]) >= job.replaced:
            raise no_summary("not shorter", locale, tokens=tokens)
        return summary

    def _replaced(self, before: Payload, budget: Budget, covered: UnitRange) -> int:
        """Return the tokens that a summary of these units replaces: theirs in full, and those of earlier summaries.

        Without those that are shown all the same: of units in every plan, and of constraints that will be quoted.
        """
        view, plan = self._composer.view(budget), before.plan
        units = {*covered.not_summarised(), *covered.summaries()} - view.must_show
        quoted = view.notices.preface({*plan} - units, plan.lods, "")[1]
        return view.full_tokens(units) - max(0, quoted - plan.preface_tokens)

    def _freed(self, before: Payload, budget: Budget, covered: UnitRange) -> int:
        """Return how many tokens fewer than `before` the next payload has without these units, and without a summary.

        What it quotes of their constraints is not free.
        """
        return before.tokens - self._without(budget, covered).tokens

    def _without(self, budget: Budget, covered: UnitRange, limit: int | None = None) -> Plan:
        """Return the plan of the next payload without these units and without a summary of them, in this limit."""
        view, hidden = self._composer.view(budget, _COMMAND), Compaction(0, 0, 0, 0, covered.first, covered.last)
        in_force = [*(compaction for compaction in view.compactions if not hidden.covers(compaction)), hidden]
        back = [unit for unit in view.back if unit not in hidden]
        view = replace(view, compactions=in_force, back=back, limit=view.limit if limit is None else limit)
        return self._composer.decide(view)[1]

    def _added(self, texts: Iterable[str]) -> int:
        """Return the tokens of these texts as summaries in a payload."""
        reader = self._journal.reader
        framing = reader.counter.count(say("summary", reader.locale)) + reader.profile.message_tokens
        return sum(reader.counter.count(text) + framing for text in texts)

    def _range(self, first: int, last: int) -> UnitRange:
        return UnitRange(self._journal.timeline, self._journal.path, first, last)

    # ------------------------------------------------------------------ writing it down

    def finish(self, job: Job, summary: str | Exception | None) -> Compacted:
        """Write a compaction: with the model's summary, with a digest if no model was asked, with a digest and a notice
        if the model failed.

        Raises:
            NotShorter: a digest would be no shorter than what it replaces. Nothing was written, nor with these:
            Conflict, StoreError
            Superseded: another process was faster to make a background summary.
        """
        summary = encodable(summary) if isinstance(summary, str) else summary
        error = error_text(summary) if isinstance(summary, Exception) else ""
        job = self._retaining_more(job) if error else job
        covered = self._range(job.first, job.last)
        texts, used = self._texts(job, covered, summary), job.files if isinstance(summary, str) else ()
        is_shorter = isinstance(summary, str) or self._added(text for text, _ in texts) < job.replaced
        if not texts or not is_shorter:
            raise NotShorter(not_shorter(self._journal.reader.locale, error))
        boundary = self._write(job, covered, texts, used)
        after = self._composer.preview(job.budget, _COMMAND)
        hidden = self._loss(job.before, after)
        facts = entries.CompactMetadata(job.trigger, job.before.tokens, after.tokens, list(used))
        self._journal.append([replace(self._journal.drafts.annotation(entries.LOSS, hidden), compact_metadata=facts)])
        self._journal.store.sync()
        timeline = self._journal.timeline
        return Compacted(
            success=not error,
            summary=texts[0][0],
            trigger=job.trigger,
            pre_tokens=job.before.tokens,
            post_tokens=after.tokens,
            boundary=boundary,
            covered=(timeline.id(timeline.unit_row[job.first]), timeline.id(timeline.unit_row[job.last])),
            messages=self._count_messages(covered.units()),
            files=used,
            error=error,
            loss=hidden,
        )

    def _retaining_more(self, job: Job) -> Job:
        """Return the job with a few messages fewer to cover, unless nearly all would be retained then."""
        units = oldest(self._composer.view(job.budget), job.before.plan, RETAINED_IN_NEED)
        first, last = units or (job.first, job.last)
        freed = self._freed(self._composer.preview(job.budget), job.budget, self._range(first, last))
        return job._replace(first=first, last=last, replaced=freed)

    def _texts(self, job: Job, covered: UnitRange, summary: str | Exception | None) -> list[tuple[str, int]]:
        """Return the texts that replace the covered units, and their flags.

        They are the model's summary, and a digest of what the model was not shown. Without a summary it is a digest of
        all, after an error behind the notice that the model gave no summary.
        """
        units = covered.not_summarised()
        if isinstance(summary, str):
            unseen = [unit for unit in units if unit not in job.request.plan]
            texts = [(summary, 0), (self._digest(job, covered, unseen, [], [summary]) if unseen else "", BY_RULE)]
        else:
            timeline, notice = self._journal.timeline, ""
            if summary is not None:
                later = [unit for unit in job.before.plan if unit > covered.last]
                retained = [unit for unit in later if timeline.unit_kind(unit) is not Kind.SUMMARY]
                notice = fallback(self._count_messages(retained), error_text(summary, NOTICE_CHARS))
            page = self._digest(job, covered, units, covered.summaries(), [notice] if notice else [])
            texts = [(notice, BY_RULE | NOTICE), (page, BY_RULE)]
        return [(text, flags) for text, flags in texts if text]

    def _digest(
        self, job: Job, covered: UnitRange, units: Sequence[int], summaries: Sequence[int], others: Sequence[str]
    ) -> str:
        """Return a digest of covered units that continues these summaries of earlier ones.

        With the `others` that replace these units it is shorter than what they replace; "" if no line is.
        """
        most = min(self._digest_tokens(job, covered), job.replaced - self._added([*others, ""]) - 1)
        return digest_units(self._journal, covered, units, summaries, most)

    def _digest_tokens(self, job: Job, covered: UnitRange) -> int:
        """Return how many tokens a digest may have: a share of the limit, or most of what is free in a small window.

        Free is what is left by the constraints that are quoted, and by the units that are not covered, when a sweep
        fits these into what the digest leaves.
        """
        plan = job.before.plan
        share, room = int(_DIGEST * plan.limit), int(_FILL * (plan.limit - plan.fixed))
        try:
            others = self._without(job.budget, covered, limit=plan.fixed + room - int(_MOST * room))
        except PinnedOverflow:
            return share
        quoted = self._composer.view(job.budget).notices.preface({*others}, others.lods, "")[1]
        unquoted = room - quoted - self._added([""])
        free = unquoted - (others.tokens - plan.fixed - others.preface_tokens)
        return min(max(share, min(_DIGEST_TOKENS, free)), unquoted)

    def _tokens(self, job: Job, units: Iterable[int]) -> int:
        """Return the tokens of these units, as the payload before the compaction shows them."""
        view = self._composer.view(job.budget)
        return sum(view.unit_tokens(unit, job.before.plan.lods) for unit in units)

    def _count_messages(self, units: Iterable[int]) -> int:
        return sum(messages_of(self._journal.timeline, unit) for unit in units)

    def _write(self, job: Job, covered: UnitRange, texts: Sequence[tuple[str, int]], used: Sequence[str]) -> int:
        """Append the boundary and the summaries. Return the boundary's seq."""
        journal, timeline, reader = self._journal, self._journal.timeline, self._journal.reader
        first, last = timeline.unit_row[covered.first], timeline.unit_row[covered.last]
        note = CompactNote(timeline.seq[first], timeline.seq[last], (reader.entry(first).uuid, reader.entry(last).uuid))
        drafts = [journal.drafts.boundary(note, entries.CompactMetadata(job.trigger, job.before.tokens))]
        # With these texts in the place of the covered units the payload will be so large.
        hidden = self._tokens(job, [unit for unit in job.before.plan if covered.first <= unit <= covered.last])
        expected = max(0, job.before.tokens - hidden) + self._added(text for text, _ in texts)
        metadata = entries.CompactMetadata(job.trigger, job.before.tokens, expected, list(used))
        drafts += [journal.drafts.summary(text, metadata, flags=flags) for text, flags in texts]

        def refresh() -> None:
            journal.refresh()
            if job.trigger == "auto" and self.superseded(job):
                raise Superseded

        # What it covers is fixed and still there, so it is written after what others wrote.
        rows = retry_on_conflict(lambda: journal.append(drafts), refresh, attempts=_ATTEMPTS + 1)
        unit = timeline.unit[rows[1][0]]
        return next(compaction.seq for compaction in timeline.compactions if unit in compaction.summaries)

    def _loss(self, before: Payload, after: Payload) -> Loss:
        """Return what is no longer shown, constraints among it that the user set anywhere on this branch."""
        rows = [*self._journal.reader.constraint_rows(self._journal.path)][::-1]
        shown_text = "\n".join(map(readable_text, (*after.system, *after.body, *after.tail)))
        text, said = self._journal.reader.text, [message for message in before.body if self._is_said(message)]
        originals = (text(row) for unit in before.plan for row in before.plan.timeline.rows_of(unit))
        by_model = [laid for laid in laid_down(self._journal) if laid.found and not laid.revoked][::-1]
        marked = {laid.sentence: laid.marked(laid.sentence, self._journal.reader.locale) for laid in by_model}
        return loss(map(readable_text, before.body), map(text, rows), shown_text, originals, outputs(said), marked)

    def _is_said(self, message: Message) -> bool:
        """Whether a message shows what somebody said, or a tool, and not what we made of it."""
        timeline = self._journal.timeline
        row = timeline.row(message.id) if message.id else None
        return row is not None and timeline.kind[row] not in (Kind.SUMMARY, Kind.RECALL)

    # ------------------------------------------------------------------ undoing it

    def check_covered(self, row: int) -> None:
        """Raises NothingCompacted for an item that no summary covers."""
        unit = self._journal.timeline.unit[row]
        if not any(unit in compaction for compaction in self._in_force()):
            raise NothingCompacted

    def undo(self) -> None:
        """Undo the last compaction of this branch. Raises NothingCompacted."""
        if not (in_force := self._in_force()):
            raise NothingCompacted
        self._journal.annotate((entries.UNCOMPACT, UncompactNote(in_force[-1].seq)))


def digest_units(
    journal: Journal, covered: UnitRange, units: Sequence[int], summaries: Sequence[int], most: int
) -> str:
    """Return a digest of some covered units, in at most this many tokens and half of theirs; "" if no line fits.

    It continues the summaries of earlier units.
    """
    from sightline.shorten.digest import as_notes, digest  # takes 7 ms, and few sessions are compacted

    timeline, reader = journal.timeline, journal.reader
    rows = [timeline.unit_row[unit] for unit in summaries]
    before = "\n\n".join(
        reader.text(row) if timeline.state[row] & BY_RULE else as_notes(reader.text(row))
        for row in rows
        if not timeline.state[row] & NOTICE
    )
    items = [reader.item(row) for unit in units for row in timeline.rows_of(unit)]
    full = sum(timeline.unit_full[unit] for unit in (*units, *summaries))
    ends, then, count = not _asks_later(journal, covered), covered.next_speaker(), reader.counter.count
    tokens = min(most, full // 2)
    return digest(items, tokens=tokens, count=count, locale=reader.locale, before=before, ends=ends, then=then)


def _asks_later(journal: Journal, covered: UnitRange) -> bool:
    """Whether the user asks for something after these units, so that nothing in them is the current request."""
    from sightline.shorten.digest.speech import is_request

    timeline, reader = journal.timeline, journal.reader
    later = (row for row in range(len(timeline) - 1, -1, -1) if timeline.unit[row] > covered.last)
    said = (row for row in timeline.rows_on(journal.path, later) if timeline.kind[row] == Kind.USER)
    return any(not timeline.is_by_program(row) and is_request(reader.text(row)) for row in said)


def oldest_part(reader: Reader, view: View, around: Payload, first: int, last: int) -> tuple[Payload, int]:
    """Show the units from first to last, and summaries that cover some of them, behind the head of another payload.

    Return the payload, and the last unit that it shows.

    A model must have seen what its summary covers. So units that the conversation's own payloads leave out are shown
    too, large items are shortened, and if all that does not fit, the part ends with an earlier turn.
    """
    for end in _possible_ends(view, first, last):
        inside = [compaction for compaction in view.compactions if first <= compaction.first and compaction.last <= end]
        part = replace(  # the conversation as if it had only these units
            view, budget=replace(view.budget, trigger=_PART, target=_PART), last=None,
            new=_units(view, first, end), compactions=inside, pinned=frozenset(), asked=-1, wanted={}, back=(),
            command="passage", notices=Notices(),
        )  # fmt: skip
        plan = Focus().plan(part)
        if set(plan).issuperset(part.candidates()):
            break
    rendered = render(reader, plan, layout("stable"), ComposeInputs())
    return replace(around, body=rendered.body, tail=(), breakpoints=(), plan=plan, tokens=plan.tokens), end


def _possible_ends(view: View, first: int, last: int) -> Iterator[int]:
    """Yield the wished end, then the ends of earlier turns, the latest first."""
    yield last
    units = [
        unit for unit in _units(view, first, last) if not any(unit in compaction for compaction in view.compactions)
    ]
    starts = [at for at, unit in enumerate(units) if at and begins_turn(view.timeline, unit)]
    yield from (units[at - 1] for at in reversed(starts))


def _units(view: View, first: int, last: int) -> list[int]:
    return UnitRange(view.timeline, view.path, first, last).units()
