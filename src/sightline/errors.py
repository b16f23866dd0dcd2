"""All errors that Sightline raises on purpose.

SightlineError
├── BadInput                an argument cannot be used; the message says what is accepted
│   ├── BadSessionId        the id is no plain file name
│   ├── UnknownItem         no item of this id on the branch
│   │   └── NothingCompacted   there is no compaction to undo
│   ├── NotShorter          a summary would be no shorter than what it replaces, so nothing is compacted
│   ├── UnknownCall         a result for a call that is not pending
│   ├── BadCodeId           the id is not allowed for a piece of code
│   ├── UnknownCode         no piece of code of this id
│   └── NoModel             no model is configured, and none was found on this machine
├── OpenCalls               tool calls still have no result
├── PinnedOverflow          what may not be reduced is larger than the token budget
├── StrategyError           a strategy broke a rule that every plan must keep
├── AppError                an app or its window
│   ├── Refused             an action cannot be done; raised by apps
│   ├── UnknownApp          no app of this name is registered
│   ├── InvalidSourceData   the data of an app cannot be shown
│   ├── VersionMismatch     a context was built from other data than the app has now
│   ├── AnchorConflict      two anchors have the same name; the first one is used
│   └── ContextTooLarge     an app does not fit even at its lowest level of detail
├── ModelError              a call of the model failed
│   ├── ModelBusy           it may work later: rate limit, server error, lost connection, timeout
│   ├── ModelRefused        it would fail again: no permission, no such model, an invalid request
│   └── ContextOverflow     the request is longer than the context window
├── ToolFailed              a tool could not do its work; raised by tools
└── StoreError              the log could not be read or written
    ├── Conflict            another writer appended first; refresh and try again
    ├── Damaged             a line of the log can no longer be read
    ├── Locked              the lock of a file could not be had in time
    ├── SessionClosed       a closed session takes nothing more; resume it
    ├── SessionNotFound     no session of this id in this project
    ├── Unconfirmed         the database was lost while it wrote; refresh shows whether it did
    ├── Unsynced            what was written may not survive a power cut; do not send it again
    └── Unwritable          the disk refused: full, read-only, no permission
"""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress


class SightlineError(Exception):
    """The root. Catch this to catch every error of Sightline and no other."""


class BadInput(SightlineError, ValueError):
    """An argument cannot be used."""


class BadSessionId(BadInput):
    """A session id must be a plain file name."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"session id {session_id!r} is refused: use 1 to 128 letters, digits, '-', '_' or '.', the first no '.'"
        )


class UnknownItem(BadInput, KeyError):
    """No item of this id on the current branch."""

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        super().__init__(
            f"no item #{item_id} on this branch; `sightline sessions show`, or session.items in Python, lists the ids"
        )

    __str__ = Exception.__str__  # KeyError would show the repr


class NotShorter(BadInput):
    """A summary would be no shorter than what it replaces, so nothing is compacted."""


class UnknownCall(BadInput):
    """A tool result for a call that is not pending."""

    def __init__(self, call_id: str, waiting: Sequence[str]) -> None:
        self.call_id, self.waiting = call_id, tuple(waiting)
        super().__init__(
            f"no call {call_id!r} waits for a result on this branch: it was never made, or has its result already; "
            f"waiting are: {', '.join(map(repr, waiting)) or 'none'}; say anything else with session.user()"
        )


class BadCodeId(BadInput):
    """An id that is not allowed for a piece of code."""

    def __init__(self, code_id: str) -> None:
        self.code_id = code_id
        super().__init__(
            f"code id {code_id[:80]!r} is refused: it is 'code_' and up to 120 letters, digits or '_', "
            "such as code_sales_analysis"
        )


class UnknownCode(BadInput):
    """No piece of code has this id."""

    def __init__(self, code_id: str, known: Sequence[str]) -> None:
        self.code_id, self.known = code_id, tuple(known)
        super().__init__(f"no code {code_id!r}; there are: {', '.join(known) or 'none'}")


class NoModel(BadInput):
    """No model is configured, and none was found on this machine."""


class OpenCalls(SightlineError):
    """Tool calls still have no result, so no provider would accept the messages."""

    def __init__(self, call_ids: Sequence[str]) -> None:
        self.call_ids = tuple(call_ids)
        super().__init__(
            f"calls without a result: {', '.join(map(repr, call_ids))}; "
            "add them with session.tool_result(call_id, output), or give up on them with session.interrupt()"
        )


class PinnedOverflow(SightlineError):
    """What may not be reduced is larger than the token budget."""

    def __init__(self, pinned: Sequence[str], short_by: int) -> None:
        self.pinned, self.short_by = tuple(pinned), short_by
        super().__init__(
            f"what may not be reduced exceeds the budget by {short_by} tokens: {', '.join(pinned)}; "
            "unpin or shorten one of them, or compose with a larger window"
        )


class StrategyError(SightlineError):
    """A strategy broke a rule that every plan must keep."""


class AppError(SightlineError):
    """An error of an app or one of its windows."""


class Refused(AppError):
    """An action cannot be done. Apps raise it, and the model sees the message."""


class UnknownApp(AppError, BadInput):
    """No app of this name is registered."""

    def __init__(self, name: str, known: Sequence[str], *, registered: bool = True) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(
            f"no app {name!r}; {'registered' if registered else 'installed'} are: {', '.join(known) or 'none'}; "
            "session.windows.register(App) adds one"
        )


class InvalidSourceData(AppError):
    """The data of an app cannot be shown."""


class VersionMismatch(AppError):
    """What is shown was built from other data than the app has now."""

    def __init__(self, held: str, now: str) -> None:
        self.held, self.now = held, now
        super().__init__(f"version {held} is out of date, the newest is {now}: build it again")


class AnchorConflict(AppError):
    """Two anchors have the same name. The first one is used."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"an anchor {key!r} is registered already; the first one holds")


class ContextTooLarge(AppError):
    """An app does not fit even at its lowest level of detail."""

    def __init__(self, app_id: str, tokens: int, limit: int) -> None:
        self.app_id, self.tokens, self.limit = app_id, tokens, limit
        super().__init__(
            f"{app_id} needs {tokens:,} tokens at its lowest level, and {limit:,} are allowed; "
            "let its GIST say less, or allow more"
        )


class ModelError(SightlineError):
    """A call of the model failed."""


class ModelBusy(ModelError):
    """The call may work later. `retry_after`: seconds to wait, if the provider says so."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        self.why, self.retry_after = why, retry_after
        super().__init__(why)


class ModelRefused(ModelError):
    """The call would fail again."""


class ContextOverflow(ModelError):
    """The request is longer than the context window. `input_tokens`: its length, if the provider says so."""

    def __init__(self, why: str, input_tokens: int | None = None) -> None:
        self.why, self.input_tokens = why, input_tokens
        super().__init__(why)


class ToolFailed(SightlineError):
    """A tool could not do its work. Tools raise it, and the model sees the message."""


class StoreError(SightlineError):
    """The log could not be read or written."""


class Conflict(StoreError):
    """Another writer appended to this branch first. Nothing was written."""

    def __init__(self, branch: str, expected: str | None, found: str | None) -> None:
        self.branch, self.expected, self.found = branch, expected, found
        super().__init__(
            f"another writer appended to branch {branch!r} first (expected head {expected}, found {found}); "
            "call session.refresh() to take its entries in, then try again"
        )


class Damaged(StoreError):
    """A line of the log can no longer be read."""

    def __init__(self, session_id: str, place: str) -> None:
        self.session_id, self.place = session_id, place
        super().__init__(
            f"the log of {session_id!r} is damaged at {place}; "
            "resume the session anew: the line is then used as it is now, or passed over if it cannot be read; "
            "session.repairs names it, and it stays in the file"
        )


class Locked(StoreError):
    """The lock of a file could not be had in time: others hold it. Nothing was written."""

    def __init__(self, path: str, seconds: float, holder: str) -> None:
        self.path, self.seconds, self.holder = path, seconds, holder
        super().__init__(
            f"cannot write {path}: could not get its lock within {seconds:g} seconds, because of "
            f"{holder or 'another process'}; nothing was written: let that process go on or end it, then try again"
        )


def resume_call(session_id: str, project: str = "") -> str:
    """Return the call that opens a session. It names the project, unless that is the current folder or not known."""
    named = f", project={project!r}" if _is_other(project) else ""
    return f"Session.resume({session_id!r}{named})"


def list_command(project: str = "") -> str:
    """Return the command that lists the sessions of a project. It names the project as `resume_call` does."""
    return f"sightline --project {shlex.quote(project)} sessions" if _is_other(project) else "sightline sessions"


def _is_other(project: str) -> bool:
    """Whether a project is known and not the current folder, which may be gone."""
    with suppress(OSError):
        return bool(project) and os.path.abspath(project) != os.getcwd()  # noqa: PTH100, PTH109 - pathlib is slow to import
    return True


class SessionClosed(StoreError):
    """The session was closed. Nothing was written."""

    def __init__(self, session_id: str, project: str = "") -> None:
        self.session_id, self.project = session_id, project
        super().__init__(f"session {session_id!r} is closed; {resume_call(session_id, project)} opens it again")


class SessionNotFound(StoreError):
    """No session of this id in this project."""

    def __init__(self, session_id: str, where: str, project: str = "") -> None:
        self.session_id, self.project = session_id, project
        super().__init__(f"no session {session_id!r} in {where}; `{list_command(project)}` lists those there are")


class Unconfirmed(StoreError):
    """The connection was lost while something was written, so nobody knows whether it is stored."""

    def __init__(self, where: str, why: str) -> None:
        self.where, self.why = where, why
        super().__init__(
            f"the connection to {where} was lost while it wrote: {why}; whether this append was kept is not known: "
            "call session.refresh() when the database is back and look before you send it again"
        )


class Unsynced(StoreError):
    """Everything is written, but the disk did not confirm it, so a power cut may still take it."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"cannot sync {path}: {why}; it is written and can be read, but may not survive a power cut: "
            "do not send it again; session.flush() tries the sync again"
        )


DELETED = "was deleted while it was open"  # the reason of an `Unwritable` after which a session is opened anew


class Unwritable(StoreError):
    """The disk refused. What was already stored is untouched."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        kept = "nothing of this append was kept, what was stored before is intact: "
        todo = "make room or allow this user to write there, then try again"
        if str(why).endswith(DELETED):
            kept, todo = (
                "nothing of this append was kept: ",
                "resume the session, if there is one of its id, or begin it anew",
            )
        super().__init__(f"cannot write {path}: {why}; {kept}{todo}")


class NothingCompacted(UnknownItem):
    """There is no compaction to undo."""

    def __init__(self) -> None:
        SightlineError.__init__(self, "nothing is compacted on this branch, so there is nothing to undo")
        self.item_id = ""
