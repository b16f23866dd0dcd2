"""The facade most users hold: append what happened, compose what the model sees."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline import wire
from sightline.apps.app import App
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.apps.protocols import Windows
from sightline.apps.window_log import WindowLog
from sightline.compaction.background import Background
from sightline.compaction.compactor import SECONDS, Compacted, Compactor, Job, Summarizer
from sightline.compose.turn import Composer
from sightline.errors import BadInput, Conflict, UnknownCall, UnknownItem
from sightline.files.folders import PROJECT, Folders, resolve_folders
from sightline.files.project import place
from sightline.log import entries
from sightline.log.annotations import PinNote, ReceiptNote, ToolsNote, WindowNote
from sightline.log.columns import LABELLED, REPLACING, WHOLE
from sightline.log.drafts import PendingCall
from sightline.log.entries import Entry
from sightline.log.journal import Journal
from sightline.log.stores import Repairs, Store
from sightline.log.stores.jsonl import Fsync
from sightline.log.stores.session_folder import Folder
from sightline.plan.budget import Budget
from sightline.plan.strategy import Strategy
from sightline.recall.recall import RECALL_TOOLS, Found, Recall
from sightline.session import accept
from sightline.session import open as opening
from sightline.session.own_tools import Answered, Answers
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.items import Call, Item, Message, Part, Result, Role, Text
from sightline.values.phrases import say
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter
from sightline.wire.payload import Payload

_ATTEMPTS = 3  # of composing what busy writers have said up to the end, before their latest words may wait


class Session:
    """One conversation: its log, and the payloads composed from it.

    Made by `open`, `new` or `resume`, which keep the log in a file of the project's folder; or over any store. Apps and
    summaries show files of `folders`, which are those of the project or any others, and nothing else. Where the folders
    are is found out once: whatever becomes a link later leads into none of them.
    """

    def __init__(
        self,
        store: Store | Journal,
        *,
        settings: Settings | None = None,
        apps: Iterable[type[App] | str] = (),
        windows: Windows | None = None,
        strategy: Strategy | None = None,
        token_counter: TokenCounter | None = None,
        clock: Clock = wall_clock,
        ids: Ids = nanoid,
        project: str | Path = ".",
        folders: Folders = PROJECT,
    ) -> None:
        if isinstance(store, Journal):
            self._journal = store
        else:
            accept.checked_settings(settings or Settings())
            self._journal = Journal(
                store, clock=clock, ids=ids, settings=settings, token_counter=token_counter, where=place(project)
            )
        accept.check_strategy(strategy)
        if isinstance(apps, str):
            raise BadInput(f"apps are several, such as apps=[{apps!r}]")
        if isinstance(folders, str):
            raise BadInput(f"folders are several, such as folders=[{folders!r}]")
        folders = resolve_folders(Path(project), folders)
        self._options: dict[str, Any] = {
            "windows": windows, "strategy": strategy, "clock": clock, "project": project, "folders": folders,
        }  # fmt: skip
        self._lock = threading.RLock()
        self._resumed = False  # an earlier run may have left calls without results
        self._recall = Recall(self._journal)
        self.host = Host(
            WindowLog(self._journal), session_id=self.id, clock=clock, project=Path(project), folders=folders,
            elsewhere=windows,
        )  # fmt: skip
        self.host.register(*apps)
        self._composer = Composer(self._journal, self._recall, clock=clock, host=self.host, custom=strategy)
        self._compactor = Compactor(self._journal, self._composer, self.host.folders)
        self._background = Background(self._compactor, self._composer, self._lock)
        self._answers = Answers(self._journal, self._recall, self.host)
        self.answered: list[Answered] = []  # the calls of the last reply that were for us

    # ------------------------------------------------------------------ where sessions come from

    @classmethod
    def open(cls, project: str | Path = ".", *, root: str | Path | None = None, **options: Any) -> "Session":
        """The newest session of this project, or a new one where there is none.

        Settings that differ from the session's own are changed as by `configure`. Other options as for `new`.
        """
        sessions = Folder(project, root).sessions()
        if not sessions:
            return cls.new(project, root=root, **options)
        settings: Settings | None = options.pop("settings", None)
        session = cls.resume(sessions[0], project, root=root, **options)
        if settings is not None and settings != session.settings:
            wanted, now = msgspec.structs.asdict(settings), msgspec.structs.asdict(session.settings)
            session.configure(**{name: wanted[name] for name in wanted if wanted[name] != now[name]})
        return session

    @classmethod
    def new(
        cls,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        session_id: str | None = None,
        settings: Settings | None = None,
        fsync: Fsync = "turn",
        **options: Any,
    ) -> "Session":
        """A new session in this project's folder. Its file is made when something is first said.

        Without settings, the strategy is the one that the project's `sightline.toml`, `pyproject.toml` or `plugin.json`
        chooses, else `focus`.

        Raises:
            BadSessionId: an id that is no plain file name.
            BadInput: a session of this id exists, or settings name something that does not.
        """
        return cls._over(opening.begun(project, root, session_id, settings, fsync, options), project, options)

    @classmethod
    def resume(
        cls,
        session_id: str,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        branch: str | None = None,
        fsync: Fsync = "turn",
        **options: Any,
    ) -> "Session":
        """An earlier session, as it was: on its current branch, or another one.

        Calls that it left open may still be answered; those that are not are given up on by the next `compose`.

        Raises:
            BadSessionId, SessionNotFound: no such session.
        """
        session = opening.resumed(
            project, root, session_id, fsync, options, lambda made: cls._over(made, project, options)
        )
        if branch is not None:
            session._journal.switch(branch)
            session._composer.begin()
        session._resumed = True
        return session

    @classmethod
    def _over(cls, journal: Journal, project: str | Path, options: Mapping[str, Any]) -> "Session":
        try:
            return cls(journal, project=project, **{name: options[name] for name in opening.OWN if name in options})
        except BaseException:
            journal.store.close()
            raise

    def close(self) -> None:
        """Make everything durable and let go of the files. A closed session can be resumed."""
        with self._lock:
            self._background.close()
            self._recall.close()
            self._journal.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ what it is

    @property
    def id(self) -> str:
        """The session's id."""
        return self._journal.store.session_id

    @property
    def branch(self) -> str:
        """The name of the branch this session writes to; empty for the first one."""
        return self._journal.branch_name

    @property
    def branches(self) -> list[str]:
        """All branches of the log, the first one's name being empty."""
        return [branch.name for branch in self._journal.timeline.branches]

    @property
    def settings(self) -> Settings:
        """How the session is kept and composed."""
        return self._journal.settings

    @property
    def repairs(self) -> Repairs:
        """What opening a damaged log did; empty for a healthy one."""
        return self._journal.store.repairs

    @property
    def receipt(self) -> ReceiptNote | None:
        """What was decided and sent last on this branch; None before the first call."""
        return self._composer.last

    @property
    def faults(self) -> list[str]:
        """The results that the agent fetched again because they had been shortened: what shortening cost."""
        timeline, path = self._journal.timeline, self._journal.path
        return [timeline.id(row) for row in timeline.faults if path.holds(timeline.branch[row], row)]

    def count(self, text: str) -> int:
        """Tokens of a text, alone, as this session counts them."""
        return self._journal.reader.counter.count(text)

    @property
    def open_calls(self) -> list[Call]:
        """The model's calls that wait for a result."""
        return self._composer.open_calls()

    def __len__(self) -> int:
        """Items on this branch."""
        return sum(1 for _ in self._rows())

    def items(self) -> Iterator[Item]:
        """Every item of this branch, in order, in full."""
        for row in self._rows():
            with self._lock:
                item = self._journal.reader.item(row)
            yield item

    def item(self, item_id: str | int) -> Item:
        """One item, byte for byte as it was accepted. Raises UnknownItem."""
        with self._lock:
            return self._journal.reader.item(self._row(item_id))

    def text(self, item_id: str | int) -> str:
        """What an item says, in full. Raises UnknownItem."""
        with self._lock:
            return self._journal.reader.text(self._row(item_id))

    def _rows(self) -> Iterator[int]:
        timeline, path = self._journal.timeline, self._journal.path
        with self._lock:  # while another thread appends, the newest row may not be whole
            count = len(timeline)
        return (row for row in range(count) if path.holds(timeline.branch[row], row))

    def _row(self, item_id: str | int) -> int:
        row = self._journal.row(str(item_id))
        if row is None:
            raise UnknownItem(str(item_id).removeprefix("#"))
        return row

    # ------------------------------------------------------------------ what happened

    def system(self, text: str, *, replace: bool = False) -> str:
        """Say how the model is to behave. The same text again changes nothing: a program may say it at every start.

        Before the first call it stands in the head; later it stays at its place in the conversation, or, with
        `replace`, takes the place of all that the head said.
        """
        with self._lock:
            journal, timeline = self._journal, self._journal.timeline
            rows = timeline.head_rows(journal.path) if replace else list(reversed(timeline.systems))
            said = [row for row in rows if journal.path.holds(timeline.branch[row], row)]
            if replace:
                said = said if len(said) == 1 else []
            for row in said:
                if journal.reader.text(row) == text:
                    return timeline.id(row)
            return self._say(Message(Role.SYSTEM, accept.parts(text)), flags=REPLACING if replace else 0)

    def user(self, content: accept.Content) -> str:
        """Add what the user says: text, bytes, or a list of content parts in any provider's form. The item's id."""
        return self._say(Message(Role.USER, accept.parts(content)))

    def assistant(self, content: accept.Content) -> str:
        """Add an assistant's message that came from no model call."""
        return self._say(Message(Role.ASSISTANT, accept.parts(content, "assistant")))

    def note(self, content: accept.Content) -> str:
        """Add what the program tells the model: shown in the user's place, never taken for the user's words."""
        return self._say(Message(Role.USER, accept.parts(content)), flags=LABELLED)

    def reply(self, reply: Any, *, extra_tokens: int | None = 0) -> str:
        """Add the model's answer: an SDK's response object, its JSON, or plain text. Durable when it returns.

        The usage it reports corrects how tokens are counted in later calls. `extra_tokens` are tokens of the request
        that were not in the payload; None if another model than usual counted. Calls of `expand`, `recall` and of
        windows are answered at once; `open_calls` are those left for you.
        """
        with self._lock:
            message = accept.checked(accept.read(wire.read_reply, reply))
            item_id = self._say(message, receipt=self._composer.last.number if self._composer.last else 0)
            if message.usage is not None and extra_tokens is not None:
                self._composer.observe(message.usage, extra_tokens)
            self._journal.store.sync()
            self.answered.clear()
            self.answer_own_calls()
            for answered in self._answers.in_text(message):
                self._once_more(partial(self._tell, answered))
            return item_id

    def _once_more(self, write: Callable[[], object]) -> None:
        """Write what came of a call: where others wrote since the reply, after them. Nothing is done or said twice."""
        try:
            write()
        except Conflict:
            self.refresh()
            write()

    def _tell(self, answered: Answered) -> None:
        """Say what came of a call that the model made in its text."""
        self.note([self._answers.told(answered)])
        self.answered.append(answered)

    def tool_result(self, call_id: str, output: Any, *, error: bool | str = False) -> str:
        """Add what a tool answered: text, bytes, content parts, or any JSON value.

        A result that comes after `interrupt` gave up on its call is kept as a message of the user's side.

        Raises:
            UnknownCall: the model made no such call, or it has its result already.
        """
        with self._lock:
            word = error if isinstance(error, str) else "failed" if error else ""
            parts: Any = accept.output_parts(output)
            call = self._journal.waiting(call_id)
            if call is None:
                return self._late(call_id, parts)
            return self._append([self._journal.drafts.result(Result(call_id, parts, word), call)])[0]

    def _late(self, call_id: str, parts: tuple[Part, ...]) -> str:
        interrupted = self._journal.timeline.interrupted
        if call_id not in interrupted:
            raise UnknownCall(call_id, [call.id for call in self.open_calls])
        label = Text(say("late", self.settings.locale, name=interrupted[call_id] or call_id))
        item_id = self._say(Message(Role.USER, (label, *parts)), flags=LABELLED)
        interrupted.pop(call_id, None)  # it has come
        return item_id

    def interrupt(self) -> int:
        """Give up on the calls that wait: each gets a result that says so. How many there were."""
        with self._lock:
            drafts = self._given_up([self._waiting(call.id) for call in self.open_calls])
            if drafts:
                self._journal.append(drafts)
            return len(drafts)

    def _give_up_what_an_earlier_run_left(self) -> None:
        self.interrupt()
        for answered in self._answers.left_in_text():
            self._tell(answered)
        self._resumed = False

    def _given_up(self, calls: Sequence[PendingCall]) -> list[Entry]:
        text = Text(say("interrupted", self.settings.locale))
        results = [Result(call.id, (text,), "interrupted", call.name) for call in calls]
        return [self._journal.drafts.result(result, call) for result, call in zip(results, calls, strict=True)]

    def _waiting(self, call_id: str) -> PendingCall:
        call = self._journal.waiting(call_id)
        if call is None:
            raise UnknownCall(call_id, [call.id for call in self.open_calls])
        return call

    def add(self, message: Message) -> str:
        """Add one neutral message. A result whose call is not in the log is kept, and shown as what it is."""
        with self._lock:
            drafts, _ = self._journal.drafted([accept.checked(message)])
            return self._append(drafts)[0]

    def extend(self, messages: Sequence[Any]) -> list[str]:
        """Import a message list in OpenAI chat, Responses or Anthropic form. Calls without a result are given up on.

        The list is written as one: all of it is in the log, or nothing.

        Raises:
            BadInput: a message that cannot be read, by its index. Nothing of the list is added then.
        """
        neutral = [accept.checked(message) for message in accept.read(wire.read_messages, messages)]
        with self._lock:
            drafts, unanswered = self._journal.drafted(neutral)
            ids = self._append([*drafts, *self._given_up(unanswered)]) if drafts else []
            self.interrupt()  # calls from before the list
            self._recall.index_import(len(neutral))
            return ids[: len(neutral)]

    def tools(self, definitions: Sequence[Any], *, recall: bool = True) -> None:
        """The tools of the calls to come, in any provider's form; with `recall`, also `expand` and `recall`.

        Saying the same tools again changes nothing.
        """
        with self._lock:
            read = accept.read(wire.read_tools, definitions)
            taken = accept.check_names(read)
            read += tuple(tool for tool in RECALL_TOOLS if recall and tool.name not in taken)
            try:
                encoded = msgspec.json.encode(read)
            except UnicodeEncodeError as error:
                raise BadInput(f"a tool's name and description are valid text: {error}") from error
            digest = blake2b(encoded, digest_size=16).hexdigest()
            if self._journal.tools.hash != digest:
                tokens = self._journal.reader.counter.count(encoded.decode())
                self._journal.annotate((entries.TOOLS, ToolsNote(digest, tokens, read)))

    def _say(self, message: Message, *, flags: int = 0, receipt: int = 0) -> str:
        with self._lock:
            return self._append([self._journal.drafts.message(message, flags=flags, receipt=receipt)])[0]

    def _append(self, drafts: Sequence[Entry]) -> list[str]:
        return [self._journal.timeline.id(rows[0]) for rows in self._journal.append(drafts)]

    # ------------------------------------------------------------------ windows

    def open_window(self, name: str, target: str = "", **options: Any) -> str:
        """Open an app in a window: shown from the next call on, always as it is then. The window's id.

        Options: closable, compact, append, important, pinned, lod.

        Raises:
            UnknownApp: `session.host` knows no such app.
            Refused: the app does not open for this target.
        """
        with self._lock:
            return self.host.open(name, target, **options).id

    def act(self, window_id: str, action_id: str, /, **params: Any) -> Outcome:
        """Do something in a window, as the model does. What cannot be done is said in the outcome, with what can."""
        with self._lock:
            return self.host.act(window_id, action_id, params)

    def window(self, window_id: str) -> None:
        """Show a live window from here on: the log holds its id, never its text."""
        with self._lock:
            self._journal.annotate((entries.WINDOW, WindowNote(accept.checked_window_id(window_id))))

    def close_window(self, window_id: str, summary: str = "") -> None:
        """Show it no longer. Every reference to it is obsolete."""
        with self._lock:
            self.host.close(accept.checked_window_id(window_id), summary)

    # ------------------------------------------------------------------ bringing back, holding on, going another way

    def expand(
        self,
        item_id: str | int,
        *,
        start: int = 1,
        lines: int | None = None,
        grep: str | None = None,
        now: bool = False,
    ) -> str:
        """Bring an item back: its lines stand at the end of the conversation from the next call on. The lines.

        With `now` it rises in place instead, by a sweep at the next call. Raises UnknownItem.
        """
        with self._lock:
            row = self._row(item_id)
            accept.check_range(start, lines, grep)
            page = self._recall.page(row, start, lines, grep, self._page_tokens())
            if now:
                self._mark(row, "raise")
            elif page.note.sources:
                self._journal.append([self._journal.drafts.recall(page.note)])
            return page.text

    def recall(self, query: str, *, tokens: int = 2000) -> list[Found]:
        """Find earlier passages that match and bring the best back, within this many tokens. What was found."""
        with self._lock:
            found = self._recall.search(accept.checked_query(query))
            note = self._recall.note(query, tokens)
            if note is not None:
                self._journal.append([self._journal.drafts.recall(note)])
            return found

    def search(self, query: str, limit: int = 6) -> list[Found]:
        """Find earlier passages that match. Nothing is written."""
        with self._lock:
            return self._recall.search(accept.checked_query(query), limit)

    def pin(self, item_id: str | int) -> None:
        """Show an item in full in every payload from now on. Raises UnknownItem."""
        with self._lock:
            self._mark(self._row(item_id), "pin")

    def unpin(self, item_id: str | int) -> None:
        """Let a pinned item be reduced again, from the next sweep on. Raises UnknownItem."""
        with self._lock:
            self._mark(self._row(item_id), "unpin")

    def collapse(self, item_id: str | int) -> None:
        """Show an item as its gist from the next sweep on. Raises UnknownItem; BadInput while it is pinned."""
        with self._lock:
            row = self._row(item_id)
            if self._journal.timeline.marked(self._journal.path).get(row) == "pin":
                raise BadInput(f"item #{item_id} is pinned; session.unpin({str(item_id)!r}) lets go of it first")
            self._mark(row, "collapse")

    def _mark(self, row: int, what: str) -> None:
        self._journal.annotate((entries.PIN, PinNote(self._journal.timeline.id(row), what)))

    def answer_own_calls(self) -> list[Call]:
        """Answer the model's calls of `expand`, `recall` and of windows. The calls that are left for you to answer."""
        with self._lock:
            for call in self.open_calls:
                if (answered := self._answers.to(call, self._page_tokens(), again=self._resumed)) is not None:
                    self._once_more(partial(self._answer, answered.result))
                    self.answered.append(answered)
            return self.open_calls

    def _answer(self, result: Result) -> None:
        self._append([self._journal.drafts.result(result, self._waiting(result.id), flags=WHOLE)])

    def _page_tokens(self) -> int:
        return self._recall.page_tokens(self.receipt.limit if self.receipt else None)

    def fork(self, at: str | int) -> "Session":
        """Go another way after this item: a new branch of the same log, and a session that writes to it.

        This session stays on its own branch. A call and its results stay together: the branch begins after them.

        Raises:
            UnknownItem: no such item on this branch.
            OpenCalls: its calls still wait for results.
        """
        with self._lock:
            name = self._journal.fork(self._row(at))
            journal = self._journal.reopened()
            journal.switch(name)
            return Session(journal, apps=self.host.apps.values(), **self._options)

    # ------------------------------------------------------------------ compacting

    @property
    def wants_summary(self) -> bool:
        """Whether the strategy would like the oldest part summarised by now: who owns a model calls `compact`."""
        with self._lock:
            budget = self._composer.budget
            return budget is not None and self._composer.wanted(budget) is not None

    def compact(
        self, budget: Budget | None = None, *, model: Summarizer | None = None, seconds: float = SECONDS
    ) -> Compacted:
        """Put a summary in the place of the oldest messages, from the next call on. What it did, and what it hides.

        `model` makes the summary, on the payload it has just seen and one question more; without one it is a digest
        made by rule. If the model fails, a digest takes its place and `success` is False. Rules that the user set
        stay, word for word. `budget` is the last one composed for, unless given.

        Raises:
            BadInput: there is too little to compact, or no budget to compact for.
        """
        if model is not None:
            accept.check_model(model, seconds)
        with self._lock:
            job = self._compactor.job(self._known_budget(budget), "manual")
        summary = self._compactor.summary(job, model, seconds) if model is not None else None
        with self._lock:
            return self._compactor.finish(job, summary)

    def compaction(self, budget: Budget | None = None) -> Job:
        """What `compact` would cover now, and what it would ask a model. Nothing is written. Raises BadInput."""
        with self._lock:
            return self._compactor.job(self._known_budget(budget), "manual")

    def compact_in_background(self, model: Summarizer, *, seconds: float = SECONDS) -> bool:
        """Have the oldest part summarised while the conversation goes on, if the strategy wants that. Whether it began.

        The summary enters at the next sweep. One is made at a time; if the model fails, nothing changes and the next
        call of this tries again; after three failures in a row only every tenth does. `summary_error` says why.
        """
        accept.check_model(model, seconds)
        return self._background.begin(model, seconds)

    @property
    def summary_error(self) -> str:
        """Why the last summary could not be had from its model; empty where it could."""
        return self._compactor.error

    def wait(self, seconds: float | None = None) -> None:
        """Return when background work is done, or after so many seconds."""
        self._background.wait(seconds)

    def uncompact(self, item_id: str | int | None = None) -> None:
        """Show again what the last compaction covers, or only this item of it, by a sweep at the next call.

        Raises:
            UnknownItem: no such item; NothingCompacted, which is one, where nothing is compacted.
        """
        with self._lock:
            if item_id is None:
                self._compactor.undo()
            else:
                row = self._row(item_id)
                self._compactor.check_covered(row)
                self._mark(row, "raise")

    def _known_budget(self, budget: Budget | None) -> Budget:
        known = budget or self._composer.budget
        if known is None:
            raise BadInput("nothing has been composed yet: say for which budget, as in compact(Budget(window=128_000))")
        return accept.checked_budget(known)

    # ------------------------------------------------------------------ how it is kept

    def configure(self, **changes: Any) -> None:
        """Change locale, layout, strategy, config, profile, windows or reductions. They act at the next call, a sweep.

        `reductions` are those that may be used to make things fit: "gists", "windows", "summaries", "trim".

        Raises:
            BadInput: a setting that does not exist, or `encoding`, which a log keeps for life.
        """
        changeable = ("locale", "layout", "strategy", "config", "profile", "windows", "reductions")
        if unknown := [name for name in changes if name not in changeable]:
            raise BadInput(f"cannot change {', '.join(unknown)}; choose among {', '.join(changeable)}")
        with self._lock:
            settings = accept.checked_settings(replace(self.settings, **changes))
            if settings == self.settings:
                return
            self._journal.annotate((entries.SETTINGS, settings))
            self._journal.configure(settings)
            self._composer.configure()
            self._composer.command = "settings changed"

    @property
    def state(self) -> dict[str, Any]:
        """What the strategy remembers on this branch."""
        return self._journal.state

    def remember(self, state: Mapping[str, Any]) -> None:
        """Let the strategy remember this from now on, in place of what it remembered.

        Raises:
            BadInput: it is no JSON object, or not what the strategy's schema allows.
        """
        with self._lock:
            if accept.checked_state(state) != self._journal.state:
                self._composer.check_state(state)
                self._journal.annotate((entries.STATE, state))

    def refresh(self) -> None:
        """Take in what other writers have appended, after a Conflict."""
        with self._lock:
            self._journal.store.refresh()
            self._journal.catch_up()
            self._composer.begin()

    def flush(self) -> None:
        """Return when everything said so far survives a power cut."""
        self._journal.store.sync()

    # ------------------------------------------------------------------ what the model sees

    def compose(self, budget: Budget, *, ask: bool = False) -> Payload:
        """The messages for the next model call. What was decided and sent is durable when it returns.

        With `ask`, one question and no later turn, recalled pieces may take all the free room.

        Raises:
            OpenCalls: the model's calls still wait for results.
            PinnedOverflow: what may not be reduced is larger than the budget.
        """
        with self._lock:
            if self._resumed:
                self._give_up_what_an_earlier_run_left()
            for _ in range(_ATTEMPTS):
                with suppress(Conflict):  # others wrote while this was decided: what they said belongs in it
                    return self._composer.compose(accept.checked_budget(budget), ask)
            return self._composer.compose(accept.checked_budget(budget), ask, if_unchanged=False)

    def preview(self, budget: Budget) -> Payload:
        """What `compose` would give now, without recalling anything and without calls that still wait. Writes nothing.

        Raises:
            PinnedOverflow: what may not be reduced is larger than the budget.
        """
        with self._lock:
            return self._composer.preview(accept.checked_budget(budget))

    def overflowed(self, input_tokens: int | None = None, *, extra_tokens: int = 0) -> None:
        """The provider refused the last payload as too long: count more strictly, and sweep at the next call.

        `input_tokens` is what the provider says it counted, if it says so. `extra_tokens` are tokens of the request
        that were not in the payload, as for `reply`.
        """
        with self._lock:
            self._composer.overflowed(input_tokens, extra_tokens)
