"""The facade most users hold: append what happened, compose what the model sees. What few use is imported late."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from sightline import wire
from sightline.apps.app import App
from sightline.apps.host import Host
from sightline.apps.protocols import Windows
from sightline.apps.shared_windows import SharedLogs, close_logs, window_log
from sightline.compose.turn import Composer
from sightline.errors import BadInput, Conflict
from sightline.files.folders import PROJECT, Folders, resolve_folders
from sightline.files.project import place
from sightline.log import entries
from sightline.log.annotations import ReceiptNote, StateNote, ToolsNote
from sightline.log.columns import LABELLED, NONE, REPLACING
from sightline.log.entries import Entry
from sightline.log.journal import Journal
from sightline.log.stores import Repairs, Store, Stores, check_store
from sightline.log.stores.jsonl import Fsync
from sightline.plan.strategy import Planner
from sightline.plan.view import Budget
from sightline.recall.recall import Recall
from sightline.session import accept, journal_file
from sightline.session.attention import own_tools
from sightline.session.calls import Answered, Calls
from sightline.session.items import Items
from sightline.session.lookups import Annotation, compose_all, find_system, read_annotations, read_unread
from sightline.session.receipts import Receipts
from sightline.session.sent_windows import Snapshot, sent_windows
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.items import Call, Item, Message, Role
from sightline.values.lock import locked
from sightline.values.settings import Settings, changes
from sightline.values.tokens import TokenCounter
from sightline.wire.payload import Payload

if TYPE_CHECKING:
    from sightline.session.reply_stream import ReplyStream
    from sightline.session.summaries import Summaries

T = TypeVar("T")
_ATTEMPTS = 3  # at composing up to the newest entry while other writers keep appending


class Session:
    """One conversation: its log, and the payloads composed from it.

    Made by `open`, `new` or `resume`, which keep the log in a file of the project's folder or in other `stores`, or
    over one store. `items` are what was said on this branch, `windows` the apps and their windows, `summaries` the
    compactions, `receipts` what was sent, `log` all entries, with columns to look them up by.
    Apps and summaries read files of `folders` only. Links in those paths are resolved once, when the session is made.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        store: Store | Journal,
        *,
        settings: Settings | None = None,
        apps: Iterable[type[App] | str] = (),
        windows: Windows | None = None,
        strategy: Planner | Sequence[Planner | str] | None = None,
        token_counter: TokenCounter | None = None,
        clock: Clock = wall_clock,
        ids: Ids = nanoid,
        project: str | Path = ".",
        folders: Folders = PROJECT,
        shared: SharedLogs | None = None,
    ) -> None:
        if isinstance(store, Journal):
            self.log = store
        else:
            check_store(store)
            accept.check_settings(settings or Settings())
            counter = accept.check_counter(token_counter)
            self.log = Journal(
                store, clock=clock, ids=ids, settings=settings, token_counter=counter, where=place(project)
            )
        planner = accept.check_strategy(strategy)
        for name, several in (("apps", apps), ("folders", folders)):
            if isinstance(several, str):
                raise BadInput(f"{name} are several, such as {name}=[{several!r}]")
        folders = resolve_folders(Path(project), folders)
        self._options: dict[str, Any] = {"windows": windows, "strategy": planner, "clock": clock}
        self._options |= {"project": project, "folders": folders, "shared": accept.check_shared(shared)}
        self._lock = threading.RLock()
        self._resumed = False  # an earlier run may have left calls without results
        self._inspects = self._closed = False  # closing it writes nothing; it is closed
        self.windows = Host(
            window_log(self.log, self._options["shared"]), session_id=self.id, clock=clock, project=Path(project),
            folders=folders, elsewhere=windows, lock=self._lock,
        )  # fmt: skip
        self.windows.register(*apps)
        self._recall = Recall(self.log, self.windows.text_at)
        self._composer = Composer(self.log, self._recall, clock=clock, host=self.windows, custom=planner)
        self.items = Items(self.log, self._recall, self._composer, self.windows, self._lock)
        self.receipts = Receipts(self.log)
        self._calls = Calls(self.log, self.items.attention.answer, self.windows, self.refresh)

    # ------------------------------------------------------------------ open and close

    @classmethod
    def open(
        cls,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        stores: Stores | None = None,
        fsync: Fsync | None = None,
        **options: Any,
    ) -> "Session":
        """Open the newest session of this project, or a new one if there is none.

        Settings that differ from the session's own are changed as by `configure`. Other options as for `new`.
        """
        stores = journal_file.find_stores(stores, project, root, fsync)
        if not (sessions := stores.sessions()):
            return cls.new(project, stores=stores, **options)
        settings: Settings | None = options.pop("settings", None)
        session = cls.resume(sessions[0], project, stores=stores, **options)
        if settings is not None:
            with session._closing_on_error():
                session.configure(**changes(session.settings, settings))
        return session

    @classmethod
    def new(
        cls,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        stores: Stores | None = None,
        session_id: str | None = None,
        settings: Settings | None = None,
        fsync: Fsync | None = None,
        **options: Any,
    ) -> "Session":
        """Begin a session in this project's folder, or in other stores. It is stored when the first entry is written.

        Without settings, the strategy is the one that the project's `sightline.toml`, `pyproject.toml` or
        `plugin.json` chooses, else `focus`.

        Raises:
            BadSessionId: the id is no plain file name.
            BadInput: a session of this id exists, or settings name something that does not.
        """
        stores = journal_file.find_stores(stores, project, root, fsync)
        options = journal_file.share_windows(options, stores, project)
        return cls._over(journal_file.begin_journal(stores, project, session_id, settings, options), project, options)

    @classmethod
    def resume(
        cls,
        session_id: str,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        stores: Stores | None = None,
        branch: str | None = None,
        fsync: Fsync | None = None,
        **options: Any,
    ) -> "Session":
        """Open an earlier session on its current branch, or on another one.

        Calls that it left without a result may still be answered. The next `compose` gives up on those that are not.

        Raises:
            BadSessionId, SessionNotFound: no such session.
        """
        stores = journal_file.find_stores(stores, project, root, fsync)
        options = journal_file.share_windows(options, stores, project)
        session = journal_file.resume_with(
            stores, project, session_id, options, lambda made: cls._over(made, project, options)
        )
        if branch is not None:
            with session._closing_on_error():
                session.log.switch(branch)
                session._composer.begin()
        session._resumed = True
        return session

    @classmethod
    def inspect(cls, session_id: str, project: str | Path = ".", **options: Any) -> "Session":
        """Open a session that another program may be running, to look at it. Opening and closing it write nothing.

        Windows look as in the last payload, because their apps do not run here. Methods that append still append.
        Options and errors as for `resume`.
        """
        windows: dict[str, Snapshot] = {}
        session = cls.resume(session_id, project, windows=windows, **options)
        session._inspects = True
        with session._closing_on_error():
            windows |= sent_windows(session.receipt, session.log.blobs)
        return session

    @classmethod
    def _over(cls, journal: Journal, project: str | Path, options: Mapping[str, Any]) -> "Session":
        try:
            session_options = {name: options[name] for name in journal_file.SESSION_OPTIONS if name in options}
            return cls(journal, project=project, **session_options)
        except BaseException:
            journal.close(writes=False)
            raise

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        """Close the store, and write nothing, if this fails: the caller gets no session that could be closed."""
        try:
            yield
        except BaseException:
            self.log.close(writes=False)
            raise

    @locked
    def fork(self, at: str | int, *, name: str | None = None, keep_summaries: bool = False) -> "Session":
        """Begin a branch of the same log after this item, 0: before all, and return a session that writes to it.

        This session stays on its own branch. A call and its results stay together: the branch begins after them.
        A `name` begins with a letter and has up to 40 letters, digits, - _ . and /; without one it is a random id.
        With `keep_summaries` the branch has also the summaries made after this item, if they cover nothing after it.

        Raises:
            UnknownItem: no such item on this branch.
            OpenCalls: its calls still wait for results.
            BadInput: no branch may have this name, or one has it.
        """
        self._calls.end_imported()
        row = self.items.row(at) if at != 0 else NONE
        return self._beside(self.log.forked(row, name, keep_summaries=keep_summaries))

    @locked
    def on_branch(self, name: str) -> "Session":
        """Return a session that writes to another branch of the same log. Raises BadInput if there is none."""
        session = self._beside(self.log.reopened())
        with session._closing_on_error():
            session.log.switch(name)
            session._composer.begin()
        return session

    def _beside(self, journal: Journal) -> "Session":
        made = Session._over(journal, self._options["project"], self._options | {"apps": self.windows.apps.values()})
        made._calls.imported, made.windows.in_text = self._calls.imported, self.windows.in_text
        return made

    @locked
    def close(self) -> None:
        """Make everything durable and close the files. A second call does nothing.

        Afterwards what was said can still be read, and what would write raises SessionClosed. `Session.resume` opens
        the session again.
        """
        if self._closed:
            return
        self._closed = True
        if "summaries" in vars(self):
            self.summaries.close()
        try:
            self._recall.close()
        finally:
            self.log.close(writes=not self._inspects)
            close_logs(self._options["shared"])

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ facts

    @cached_property
    def summaries(self) -> "Summaries":
        """The compactions: make one, undo one, look at them. Made when first used, because few sessions have any."""
        from sightline.compaction.compactor import Compactor
        from sightline.session.summaries import Summaries

        compactor = Compactor(self.log, self._composer, self.windows.folders)
        summaries = Summaries(compactor, self._composer, self.items, self._lock)
        if self._closed:
            summaries.close()
        return summaries

    @property
    def id(self) -> str:
        """The session's id."""
        return self.log.store.session_id

    @property
    def branch(self) -> str:
        """The name of the branch this session writes to; empty for the first one."""
        return self.log.branch_name

    @property
    def branches(self) -> list[str]:
        """The names of all branches of the log; the first one's is empty."""
        return [branch.name for branch in self.log.timeline.branches]

    @property
    def settings(self) -> Settings:
        """How the session is kept and composed."""
        return self.log.settings

    @property
    def repairs(self) -> Repairs:
        """What was repaired and what is damaged in the log; empty for a healthy one."""
        return self.log.repairs

    @property
    def receipt(self) -> ReceiptNote | None:
        """What was decided and sent last on this branch; None before the first call."""
        return self._composer.receipt

    @property
    def budget(self) -> Budget | None:
        """The budget of the last payload; after resuming, one with as many tokens. None before the first call."""
        return self._composer.budget

    @property
    def size(self) -> int:
        """How many entries the log holds, on all branches."""
        return self.log.store.tips.seq

    @property
    def length(self) -> int:
        """How many bytes of the log are known, on all branches."""
        return self.log.store.tips.size

    @property
    def damaged(self) -> int:
        """How many lines of the log cannot be read and are ignored."""
        return len(self.log.timeline.damaged)

    @property
    @locked
    def open_calls(self) -> list[Call]:
        """The model's calls that wait for a result."""
        return self.log.open_calls()

    @property
    def answered(self) -> list[Answered]:
        """The calls of the last reply that the session itself answered."""
        return self._calls.answered

    @property
    def state(self) -> dict[str, Any]:
        """What the strategy remembers on this branch; `remember` changes it."""
        return self.log.state

    def count(self, text: str) -> int:
        """Count the tokens of a text as this session does."""
        return self.log.reader.counter.count(text)

    # ------------------------------------------------------------------ append what happened

    @locked
    def system(self, text: str, *, replace: bool = False) -> str:
        """Add a system prompt. The same text again changes nothing, so a program may call this at every start.

        Before the first call it is part of the payload's head. Later it stays at its place in the conversation or,
        with `replace`, replaces the whole system prompt.
        """
        if (row := find_system(self.log, text, replace=replace)) is not None:
            return self.log.timeline.id(row)
        return self._append_message(Message(Role.SYSTEM, accept.read_content(text)), flags=REPLACING if replace else 0)

    def user(self, content: accept.Content) -> str:
        """Add a user message: text, bytes, or content parts in any provider's form. Return the item's id."""
        return self._append_message(Message(Role.USER, accept.read_content(content)))

    def assistant(self, content: accept.Content) -> str:
        """Add an assistant message that came from no model call."""
        return self._append_message(Message(Role.ASSISTANT, accept.read_content(content, "assistant")))

    def note(self, content: accept.Content, *, system: bool = False) -> str:
        """Add a message of the program to the model, at its place in the conversation. It is never the user's words.

        It is sent with the user role; with `system`, with the system role, and is then shortened last.
        """
        role = Role.SYSTEM if system else Role.USER
        return self._append_message(Message(role, accept.read_content(content)), flags=LABELLED)

    @locked
    def reply(self, reply: Any, *, extra_tokens: int | None = 0, stopped: bool = False, _attempts: int = 1) -> str:
        """Add the model's reply: an SDK's response object, its JSON, or plain text. Durable when this returns.

        The usage it reports corrects how tokens are counted in later calls. `extra_tokens` are tokens of the request
        that were not in the payload; None if another model than usual counted. Calls of `expand`, `recall`, `look` and
        of windows are answered at once; `open_calls` are those left for you.
        `stopped`: it did not come to its end. Its text is kept, and marked as stopped; a call that it made is not.
        """
        message = accept.check_message(accept.read_with(wire.read_reply, reply))
        receipt = self._composer.receipt.number if self._composer.receipt else 0
        item_id = self._calls.append_reply(message, receipt, stopped=stopped, attempts=_attempts)
        if item_id and message.usage is not None and extra_tokens is not None:
            self._composer.observe(message.usage, extra_tokens)
        self.log.store.sync()
        if not stopped:
            self._calls.answer_own(resumed=self._resumed)
            self._calls.answer_in_text(message)
        return item_id

    def streamed(self, stream: Iterable[T]) -> "ReplyStream[T]":
        """Pass on the chunks of an SDK's stream, and add the reply when it ends, as `reply` does. See `ReplyStream`."""
        from sightline.session.reply_stream import ReplyStream

        return ReplyStream(self, stream)

    @locked
    def answer_own_calls(self) -> list[Call]:
        """Answer the model's calls of our tools. Return the calls left for you."""
        self._calls.answer_own(resumed=self._resumed)
        return self.log.open_calls()

    @locked
    def tool_result(self, call_id: str, output: Any, *, error: bool | str = False) -> str:
        """Add a tool's result: text, bytes, content parts, or any JSON value.

        One that comes after `interrupt` gave up on its call is kept as a message with the user role.

        Raises:
            UnknownCall: the model made no such call, or the call has its result already.
        """
        if isinstance(call_id, Call):
            raise BadInput("a result names its call by id: pass call.id, not the call")
        failure = error if isinstance(error, str) else "failed" if error else ""
        return self._calls.append_result(call_id, accept.read_output(output), failure)

    @locked
    def interrupt(self) -> int:
        """Give up on the calls that wait: each gets a result that says so. Return how many there were."""
        return self._calls.interrupt()

    @locked
    def add(self, message: Message) -> str:
        """Add one neutral message. A result whose call is not in the log is kept, labelled as such."""
        drafts, _ = self.log.drafted([accept.check_message(message)])
        return self._append(drafts[0])

    @locked
    def extend(
        self, messages: Sequence[Any], *, in_place: bool = False, is_reply: bool = False, note: Any = None
    ) -> list[str]:
        """Import a message list in OpenAI chat, Responses or Anthropic form, LangChain messages, or neutral messages.

        Calls without a result are given up on when somebody speaks next. Those of the last message wait: their results
        may come in the next list, or by `tool_result`; if they have not come, `compose` gives up on them.
        The list is written as one batch. With `in_place`, its system messages stay where they are, instead of being the
        system prompt. With `is_reply`, it begins with the model's reply, as for `reply`. `note`: of a `History`.

        Raises:
            BadInput: a message that cannot be read, by its index. Nothing of the list is added then.
        """
        flags = LABELLED if in_place else 0
        before, drafts, places = self._calls.draft_list(accept.read_list(messages), flags, note)
        said = drafts[0].message if is_reply and drafts else None
        if is_reply and drafts and self._composer.receipt is not None:
            drafts[0] = replace(drafts[0], receipt=self._composer.receipt.number)
        rows = self.log.append([*before, *drafts])[len(before) :]
        if said is not None and said.usage is not None:
            self._composer.observe(said.usage)
        return [self.log.timeline.id(rows[at][0]) for at in places]

    @locked
    def tools(self, definitions: Sequence[Any], *, recall: bool = True) -> None:
        """Set the tools of later calls, in any form; with `recall`, also ours. The same tools again change nothing."""
        read, encoded = accept.read_tools(definitions, own_tools(self.strategy) if recall else ())
        digest = blake2b(encoded.encode(), digest_size=16).hexdigest()
        if self.log.tools.hash != digest:
            self.log.annotate((entries.TOOLS, ToolsNote(digest, self.count(encoded), read)))

    # ------------------------------------------------------------------ compose what the model sees

    @locked
    def compose(self, budget: Budget, *, ask: bool = False) -> Payload:
        """Compose the messages of the next model call. What was decided is durable when this returns.

        With `ask`, for one question and no later turn, recalled passages may take all the free tokens.

        Raises:
            OpenCalls: the model's calls still wait for results.
            PinnedOverflow: what may not be shortened is larger than the budget.
        """
        accept.check_budget(budget)
        if self._resumed:
            self.interrupt()  # calls that an earlier run left without a result
            self._calls.give_up_in_text()
            self._resumed = False
        self._calls.end_imported()
        for _ in range(_ATTEMPTS):
            with suppress(Conflict):  # others appended meanwhile: their entries belong in this payload
                return self._composer.compose(budget, ask)
        return self._composer.compose(budget, ask, if_unchanged=False)

    @locked
    def preview(self, budget: Budget) -> Payload:
        """Compose as `compose` would now, without recall and without calls that wait. Nothing is written.

        Raises:
            PinnedOverflow: what may not be shortened is larger than the budget.
        """
        return self._composer.preview(accept.check_budget(budget))

    @locked
    def transcript(self) -> Payload:
        """Compose everything that was said on this branch, in full and whatever its size: for export."""
        return compose_all(self.log)

    @locked
    def overflowed(self, input_tokens: int | None = None, *, extra_tokens: int = 0) -> None:
        """Say that the provider refused the last payload as too long: count more strictly, and sweep at the next call.

        `input_tokens` is what the provider says it counted, if it says so. `extra_tokens` as for `reply`.
        """
        self._composer.overflowed(input_tokens, extra_tokens)

    # ------------------------------------------------------------------ settings and storage

    @locked
    def configure(self, /, **changed: Any) -> None:
        """Change any of the settings but `encoding`, such as the strategy. The next call is a sweep.

        `reductions` are those that may be used to fit the budget: "gists", "windows", "summaries", "trim".

        Raises:
            BadInput: a setting that does not exist, or `encoding`, which a log keeps for life.
        """
        changeable = [name for name in Settings.__struct_fields__ if name not in ("format", "encoding")]
        if unknown := [name for name in changed if name not in changeable]:
            raise BadInput(f"cannot change {', '.join(unknown)}; choose among {', '.join(changeable)}")
        settings = accept.check_settings(replace(self.settings, **changed))
        if settings == self.settings:
            return
        self.log.annotate((entries.SETTINGS, settings))
        self.log.configure(settings)
        self._composer.configure()

    @locked
    def remember(self, state: Mapping[str, Any], *, read: str | int | None = None) -> None:
        """Replace what the strategy remembers. `read`: the last user message that it accounts for; by default all.

        Raises:
            BadInput: it is no JSON object, or not what the strategy's schema allows.
            UnknownItem: `read` is no item of this branch.
        """
        journal = self.log
        row = len(journal.timeline) - 1 if read is None else self.items.row(read)
        note = StateNote(accept.check_state(state), 0 if read is None else journal.timeline.seq[row])
        if note.state != journal.state or row >= journal.timeline.rows_read(journal.path):
            self._composer.check_state(state)
            journal.annotate((entries.STATE, note))

    @property
    def unread(self) -> list[Item]:
        """The dialogue that the strategy's state does not account for: user and assistant messages, oldest first.

        It begins with the assistant's message that the first unread user message answers. Empty, if all was read.
        """
        return read_unread(self.log)

    @property
    def strategy(self) -> Planner:
        """What decides which items the model sees: the object that was passed in, or the one of the settings."""
        return self._composer.custom or self._composer.strategy

    @locked
    def annotate(self, name: str, value: Any) -> None:
        """Append an annotation of your own, which Sightline ignores. Raises BadInput for the name of one of its own."""
        accept.check_annotation(name, value)
        self.log.annotate((name, value))

    @locked
    def annotations(self, name: str, start: int = 0) -> list[Annotation]:
        """Return the annotations of this name on all branches, oldest first, those after the first `start` bytes."""
        return list(read_annotations(self.log.store, name, start))

    @locked
    def refresh(self) -> None:
        """Read what other writers have appended, after a Conflict."""
        if self.log.refresh():
            self._composer.begin()

    def flush(self) -> None:
        """Return when everything appended so far survives a power cut."""
        self.log.store.sync()

    def _append(self, draft: Entry) -> str:
        return self.log.timeline.id(self.log.append([draft])[0][0])

    @locked
    def _append_message(self, message: Message, *, flags: int = 0) -> str:
        return self._append(self.log.drafts.message(message, flags=flags))
