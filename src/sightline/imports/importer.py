"""Imports conversations into sessions: a line at a time, nothing twice, and whatever is new if a source has grown."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sightline import wire
from sightline.errors import BadInput, SessionNotFound
from sightline.imports.conversation import ClearedResults, Compaction, Conversation, Step, Turn, Use, check_speaks
from sightline.imports.originals import ImportNote, SourceNote, StepTexts, import_notes
from sightline.log import AGENT, LABELLED, Journal, entries
from sightline.log.annotations import CLEARED, CompactNote, PinNote, ToolsNote
from sightline.log.entries import CompactMetadata, Entry
from sightline.log.stores import Stores, as_placed
from sightline.plan.strategies.project_choice import chosen
from sightline.session import accept
from sightline.session.journal_file import begin_journal, resume_with
from sightline.values.clock import known_milliseconds, wall_clock
from sightline.values.items import Kind, Result, Role, Text, Usage
from sightline.values.phrases import say
from sightline.values.settings import Settings

_BATCH = 1 << 20  # bytes of a source that are written at once: what a crash may cost is read again
_MOST_COPIES = 1000  # conversations that begin alike and differ later


class Imported(NamedTuple):
    """What an import did."""

    session: str
    kind: str
    name: str
    state: str  # "new", "grown", "unchanged"
    lines: int  # of the source, those that are not blank
    added: int  # lines that were new
    messages: int  # added to the conversation
    types: dict[str, int]  # how many of the new lines are of each type
    uses: dict[str, dict[Use, int]]  # of each type, how many became what
    usage: Usage | None  # of the whole source
    project: str = "."  # whose session it is


def import_into(
    stores: Stores,
    conversation: Conversation,
    project: str | Path = ".",
    *,
    settings: Settings | None = None,
    check: Callable[[], None] = lambda: None,
    **options: Any,
) -> Imported:
    """Import a conversation as a session of its own, or what is new in it. Every line of the source is in the log.

    Importing the same source again changes nothing. `settings` and `options` are those of `Session.new`; without
    settings the profile is that of the source's provider. `check` is called before each batch is written: what it
    raises ends the import, and what was written stays.

    Raises:
        BadInput: it holds no messages, a message cannot be read, or lines that were imported have changed since.
    """
    key, imported = _known(stores, conversation)
    kind, name, usage = conversation.kind, conversation.name, conversation.usage
    if imported is not None and imported.complete:
        return Imported(key, kind, name, "unchanged", imported.lines, 0, 0, {}, {}, usage, str(project))
    if imported is None:
        check_speaks(conversation)
        journal = begin_journal(stores, project, key, settings or _settings(project, conversation), options)
    else:
        journal = resume_with(stores, project, key, options, lambda made: made)
    before = _written(stores, key) if imported is not None else 0.0  # later, if somebody went on with the session here
    with closing(journal):
        writer = _Writer(journal, conversation, imported, check)
        writer.write()
        # Before the journal is closed, because what it keeps beside the log then belongs to this time of the log.
        _date(stores, key, max(writer.newest or conversation.modified, before))
    state, types = "new" if imported is None else "grown", dict(writer.types.most_common())
    uses = {kind: dict(writer.uses[kind]) for kind in types}
    added = sum(types.values())
    return Imported(key, kind, name, state, writer.lines, added, writer.messages, types, uses, usage, str(project))


def named_project(conversation: Conversation) -> str:
    """Return the folder that a conversation names as its project; empty if it names none."""
    return next((turn.cwd for step in conversation.steps() for turn in step.turns if turn.cwd), "")


def _settings(project: str | Path, conversation: Conversation) -> Settings:
    choice, profile = chosen(project), conversation.profile or Settings().profile
    return Settings(strategy=choice.name, config=choice.config, profile=profile)


def _written(stores: Stores, key: str) -> float:
    """Return when a session was written to last, in seconds since 1970; 0 where that is not known."""
    return placed.look(key).seconds if (placed := as_placed(stores)) is not None else 0.0


def _date(stores: Stores, key: str, seconds: float) -> None:
    """Have a session count as written to when its talk was, not when it was imported; 0: that is not known."""
    if seconds and (placed := as_placed(stores)) is not None:  # other stores know no times
        placed.date(key, min(seconds, wall_clock() / 1000))  # a clock may have been wrong


class _Known(NamedTuple):
    """What a session has of a source: its lines up to one, with their digest; `complete` if that is all of them."""

    line: int
    digest: Any
    lines: int
    complete: bool


def _known(stores: Stores, conversation: Conversation) -> tuple[str, _Known | None]:
    """Return the id of a conversation's session, and what it has of it already; None if there is no such session.

    Raises BadInput if what was imported differs from the source as it is now.
    """
    for number in range(1, _MOST_COPIES):
        key = conversation.key if number == 1 else f"{conversation.key}-{number}"
        try:
            with closing(stores.open(key)) as store:
                store.refresh()
                notes = [*import_notes(store)]
        except SessionNotFound:
            return key, None
        if not notes:
            raise BadInput(f"session {key!r} exists and was not imported; `sightline sessions delete {key}` deletes it")
        if (imported := _compared(conversation, notes)) is not None:
            return key, imported
        if conversation.kind != "messages":
            raise BadInput(
                f"{conversation.name} is not the file that was imported as session {key!r}: lines have changed since. "
                f"`sightline sessions delete {key}` deletes that session, then it can be imported anew"
            )
    raise BadInput(f"{conversation.name}: {_MOST_COPIES} conversations begin in the same way")


def _compared(conversation: Conversation, notes: Sequence[ImportNote]) -> _Known | None:
    """Return how much of a source has been imported; None if the two differ."""
    marks = {note.lines: note.digest for note in notes}
    digest, count, line = blake2b(digest_size=16), 0, 0
    done, done_count, done_line = digest.copy(), 0, 0
    torn = b""
    for source_line in conversation.lines():
        if source_line.is_torn:
            torn = source_line.data
            break
        digest.update(source_line.data + b"\n")
        count, line = count + 1, source_line.number
        if line in marks:
            if marks[line] != digest.hexdigest():
                return None
            done, done_count, done_line = digest.copy(), count, line
    if not done_line:
        return None
    is_older = max(marks) > line  # a copy from before the last import
    is_same = done_line == line and torn in (b"", notes[-1].torn)
    return _Known(done_line, done, done_count, is_older or is_same)


class _Writer:
    """Writes what is new of one conversation to a journal, a batch at a time."""

    def __init__(
        self, journal: Journal, conversation: Conversation, imported: _Known | None, check: Callable[[], None]
    ) -> None:
        self._journal, self._conversation, self._check = journal, conversation, check
        self._done = imported.line if imported is not None else 0
        self._digest = imported.digest if imported is not None else blake2b(digest_size=16)
        self.lines = imported.lines if imported is not None else 0
        self._torn = b""
        self.messages = self._size = self._last = 0
        self.types: Counter[str] = Counter()  # of the lines that were new
        self.uses: defaultdict[str, Counter[Use]] = defaultdict(Counter)
        self._steps: list[Step] = []
        self._spoken = len(journal.timeline) > 0  # somebody else than the system
        self.newest = 0.0  # when the newest message that was written now was said, in seconds since 1970; 0: not known
        self._rows: list[int] = []  # of the branch, as far as they were looked at
        self._row_at: dict[str, int] = {}  # uuid → its place among them
        self._again = ""  # ends the uuids of messages that another branch has too

    def write(self) -> None:
        """Write the tools, and every step after what is known."""
        if not self._done and self._conversation.tools:
            self._write_tools()
        after = self._rejoin() if self._done else 0
        for step in self._conversation.steps(after):
            if step.compaction is not None or step.cleared is not None:
                self._flush()  # so that the rows before it are known
            self._steps.append(step)
            self._size += sum(len(line.data) for line in step.lines)
            if step.compaction is not None or self._size > _BATCH:
                self._flush()
        self._flush(is_last=True)
        self._journal.store.sync()

    def _write_tools(self) -> None:
        read = wire.read_tools(self._conversation.tools)
        encoded = msgspec.json.encode(read)
        tokens = self._journal.reader.counter.count(encoded.decode())
        digest = blake2b(encoded, digest_size=16).hexdigest()
        self._journal.annotate((entries.TOOLS, ToolsNote(digest, tokens, read)))

    def _flush(self, *, is_last: bool = False) -> None:
        """Write the steps so far as one batch: entries, the lines that they come from, and how far it came.

        `is_last`: all of the source is written with it, so its file is noted with its size.
        """
        turns = [turn for step in self._steps for turn in step.turns]
        made = iter(self._entries(turns))
        drafts: list[Entry] = []
        for step in self._steps:
            if step.cleared is not None:
                drafts += self._cleared(step.cleared)
            own = [next(made) for _ in step.turns]
            if step.compaction is not None:
                own += self._compaction(step.compaction)
            drafts += own
            drafts += (self._journal.drafts.annotation(entries.SOURCE, note) for note in self._kept(step, own))
        self.messages += len(turns)
        if drafts or (is_last and self._conversation.mark is not None):
            self._check()
            drafts.append(self._journal.drafts.annotation(entries.IMPORT, self._progress(is_last=is_last)))
            self._journal.append(drafts)
        self._steps, self._size = [], 0

    def _kept(self, step: Step, made: list[Entry]) -> Iterator[SourceNote]:
        active, aside = StepTexts(made), StepTexts(())
        for line in step.lines:
            if line.number > self._done:  # on another branch they are kept already
                self.lines += 1
                if line.is_torn:
                    self._torn = line.data
                else:
                    self._digest.update(line.data + b"\n")
                    self._last = line.number
                self.types[line.type] += 1
                self.uses[line.type][line.use] += 1
                yield (active if self._conversation.is_active(line.number) else aside).note(line)

    def _progress(self, *, is_last: bool) -> ImportNote:
        source, mark = self._conversation, self._conversation.mark
        if mark is not None and not is_last:
            mark = replace(mark, size=0)  # if it ends here, the rest is still new
        name, lines = Path(source.name).name, max(self._last, self._done)
        digest = self._digest.hexdigest()
        return ImportNote(source.kind, name, lines, digest, source.envelope, source.is_list, self._torn, mark)

    def _entries(self, turns: list[Turn]) -> list[Entry]:
        drafts, _ = self._journal.drafted([accept.check_message(turn.message) for turn in turns])
        return [self._entry(turn, draft) for turn, draft in zip(turns, drafts, strict=True)]

    def _entry(self, turn: Turn, draft: Entry) -> Entry:
        is_system = turn.message.role is Role.SYSTEM
        labelled = self._spoken if is_system else turn.by_program
        self._spoken = self._spoken or not (is_system or turn.by_program)
        self.newest = max(self.newest, (known_milliseconds(turn.timestamp) or 0) / 1000)
        return replace(
            draft,
            uuid=f"{turn.uuid}{self._again}" if turn.uuid else draft.uuid,
            timestamp=_time(turn.timestamp) or draft.timestamp,
            cwd=turn.cwd or draft.cwd,
            git_branch=turn.git_branch or draft.git_branch,
            flags=draft.flags | (LABELLED if labelled else 0),
        )

    def _cleared(self, cleared: ClearedResults) -> Iterator[Entry]:
        """Yield a mark for each result that the log's agent took out, or its provider, and that has none."""
        timeline, reader = self._journal.timeline, self._journal.reader
        begin = max((timeline.unit_row[each.last] + 1 for each in timeline.compactions), default=0)
        rows = [row for row in self._rows_so_far() if row >= begin and timeline.kind[row] == Kind.RESULT]
        marked = {mark.row for mark in timeline.marks if mark.what == CLEARED}
        for place, row in enumerate(rows):
            results = (part for part in reader.item(row).parts if isinstance(part, Result))
            if row not in marked and (place < cleared.oldest or any(part.id in cleared.calls for part in results)):
                yield self._journal.drafts.annotation(entries.PIN, PinNote(timeline.id(row), CLEARED, AGENT))

    def _compaction(self, compaction: Compaction) -> list[Entry]:
        metadata = CompactMetadata(compaction.trigger, compaction.pre_tokens, compaction.post_tokens)
        drafts = self._journal.drafts
        made = [
            drafts.boundary(self._covered(compaction.kept_from), metadata),
            drafts.summary(compaction.summary, metadata),
        ]
        return [replace(draft, timestamp=_time(compaction.timestamp) or draft.timestamp) for draft in made]

    def _covered(self, kept_from: str) -> CompactNote:
        """Return what a compaction covers: everything before it, or before the first message that it left alone."""
        timeline, at = self._journal.timeline, 0
        if kept_from:
            rows = self._rows_so_far()
            at = self._row_at.get(kept_from, 0)
        if not at:
            return CompactNote()
        first, last = rows[0], rows[at - 1]
        return CompactNote(timeline.seq[first], timeline.seq[last], (self._uuid(first), self._uuid(last)))

    def _rows_so_far(self) -> list[int]:
        """Return the rows of the branch, and note where each uuid is. Only those that are new are read."""
        timeline, begin = self._journal.timeline, self._rows[-1] + 1 if self._rows else 0
        for row in timeline.rows_on(self._journal.path, range(begin, len(timeline))):
            self._row_at[self._uuid(row)] = len(self._rows)
            self._rows.append(row)
        return self._rows

    def _uuid(self, row: int) -> str:
        return self._journal.reader.entry(row).uuid.removesuffix(self._again)

    # ------------------------------------------------------------------ what was taken back since

    def _rejoin(self) -> int:
        """Return the line after which to go on: the last one, unless something before it was taken back since.

        Then a branch begins before that, so that what was imported stays.
        """
        made = self._lines_with_entries()
        if all(map(self._conversation.is_active, made)):
            return self._done
        rows = self._last_rows(made)
        gone = next((line for line, _ in rows if not self._conversation.is_active(line)), None)
        if gone is None:
            return self._done
        stay = [(line, row) for line, row in rows if line < gone]
        journal = self._journal
        waiting = [call for open_call in journal.open_calls() if (call := journal.waiting(open_call.id)) is not None]
        if waiting:
            text = Text(say("interrupted", journal.settings.locale))
            results = (Result(call.id, (text,), "interrupted", call.name) for call in waiting)
            journal.append([journal.drafts.result(made, call) for made, call in zip(results, waiting, strict=True)])
        if not stay:
            return self._done  # nothing that could be shared: what is new follows
        name = journal.fork(stay[-1][1])
        journal.switch(name)
        self._again = f"~{name}"
        return stay[-1][0]

    def _lines_with_entries(self) -> dict[int, tuple[str, ...]]:
        """Return the lines that made entries, on any branch, with the uuids of these."""
        notes = (line.data for line in self._journal.store.scan() if b'"subtype":"source"' in line.data)
        source_notes = (entries.decode_data(entries.decode(data), SourceNote) for data in notes)
        return {note.line: note.of for note in source_notes if note.of}

    def _last_rows(self, made: dict[int, tuple[str, ...]]) -> list[tuple[int, int]]:
        """Return those of the lines that the current branch shows, each with the last row that it made."""
        journal, timeline = self._journal, self._journal.timeline
        at = {self._uuid(row): row for row in timeline.rows_on(journal.path, range(len(timeline)))}
        rows = ((line, [at[uuid] for uuid in uuids if uuid in at]) for line, uuids in made.items())
        return sorted((line, max(line_rows)) for line, line_rows in rows if line_rows)


def _time(text: str) -> str:
    """Return a time as it is; nothing if it is none."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text
