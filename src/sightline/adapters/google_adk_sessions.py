"""The session service of Google's ADK: every event as it was given, kept in the log of its session.

Each session of ADK is one of Sightline, whose id is `app.user.session`. Its events are annotations there, beside the
messages that the plug-in follows. The state of an app and of its users, and which sessions it has, are annotations of a
session of their own, whose id is `google-adk.app`.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions import Session as AdkSession
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from sightline.adapters import google_adk_messages
from sightline.follow.conversations import Conversations, Sessions
from sightline.follow.history import History
from sightline.log import retry_on_conflict
from sightline.session.session import Session
from sightline.values.finish import finish
from sightline.values.settings import Settings
from sightline.wire import common

NOTE = "google-adk"  # the name of the annotations: the state and events of a session, and the sessions of an app
Json = dict[str, Any]
_R = TypeVar("_R")


def name_of(app_name: str, user_id: str, session_id: str) -> str:
    """Return the name of the conversation of a session: no two have the same."""
    parts = (app_name, user_id, session_id)
    return "/".join(map(repr, parts)) if any("." in part or not part for part in parts) else ".".join(parts)


class KeptSession:
    """What the log has of one session of ADK: its state and its events as JSON, and when the last one came."""

    def __init__(self, session: Session) -> None:
        self.exists, self.updated, self._read = False, 0.0, 0
        self.state: Json = {}
        self.events: list[Json] = []
        self.read(session)

    def read(self, session: Session) -> None:
        """Read what is new."""
        start, self._read = self._read, session.length
        for _, _, value in session.annotations(NOTE, start):
            match value:
                case {"create": dict(state), "when": float(when) | int(when)}:
                    self.exists, self.state, self.events, self.updated = True, dict(state), [], float(when)
                case {"event": dict(event), "delta": dict(delta)}:
                    self.state |= delta
                    self.events.append(event)
                    self.updated = float(event.get("timestamp") or 0)
                case {"delete": _}:
                    self.exists, self.state, self.events = False, {}, []


class KeptApp:
    """The sessions of one app, and the state that they share."""

    def __init__(self, session: Session) -> None:
        self.app: Json = {}
        self.users: dict[str, Json] = {}
        self.sessions: dict[tuple[str, str], None] = {}  # user and id, in the order in which they were created
        self._read = 0  # bytes of the log
        self.read(session)

    def read(self, session: Session) -> None:
        """Read what is new."""
        start, self._read = self._read, session.length
        for _, _, value in session.annotations(NOTE, start):
            user, session_id = str(value.get("user", "")), str(value.get("session", ""))
            self.app |= value.get("app_state") or {}
            if delta := value.get("user_state"):
                self.users.setdefault(user, {}).update(delta)
            if value.get("created"):
                self.sessions[user, session_id] = None
            if value.get("deleted"):
                self.sessions.pop((user, session_id), None)


class SightlineSessionService(BaseSessionService):  # type: ignore[misc]
    """A `BaseSessionService` of ADK that loses no event. A deleted session is gone for ADK, and stays in the log."""

    def __init__(self, sessions: Sessions = ".", *, settings: Settings | None = None) -> None:
        """`sessions`: where they are kept: a project's folder, `Stores`, or a function that opens a session by its id.

        `settings` are those of new sessions.
        """
        self.conversations = Conversations(sessions, settings=settings, wire=google_adk_messages, program="google-adk")
        self._kept: WeakKeyDictionary[History, KeptSession] = WeakKeyDictionary()
        self._directories: WeakKeyDictionary[History, KeptApp] = WeakKeyDictionary()

    def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        self.conversations.close()

    # ------------------------------------------------------------------ the protocol of ADK

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> AdkSession:
        """Create a session. Raises AlreadyExistsError."""
        made = (session_id or "").strip() or str(uuid.uuid4())

        def create() -> AdkSession:
            with self._use(app_name, user_id, made) as (history, kept):
                if kept.exists:
                    raise AlreadyExistsError(f"Session with id {made} already exists.")
                own, note = _scopes(state or {})
                self._note_shared(app_name, {"user": user_id, "session": made, "created": True, **note})
                self._append(history, kept, {"create": own, "when": time.time()})
                return self._session(app_name, user_id, made, kept, [])

        return await self._run(create)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> AdkSession | None:
        """Return a session with its events, or those that the configuration asks for; None if there is none."""
        session_id = session_id.strip() if session_id else session_id

        def get() -> AdkSession | None:
            if (user_id, session_id) not in self._directory(app_name).sessions:
                return None
            with self._use(app_name, user_id, session_id) as (_, kept):
                session = self._session(app_name, user_id, session_id, kept, _chosen(kept.events, config))
                return session if kept.exists else None

        return await self._run(get)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all, without their events; the one that was used last at the end."""

        def find() -> ListSessionsResponse:
            sessions = []
            for user, session_id in self._directory(app_name).sessions:
                if user_id is None or user == user_id:
                    with self._use(app_name, user, session_id) as (_, kept):
                        sessions.append(self._session(app_name, user, session_id, kept, []))
            sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
            return ListSessionsResponse(sessions=sessions)

        return await self._run(find)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, for ADK. The log keeps it."""
        session_id = session_id.strip() if session_id else session_id

        def delete() -> None:
            if (user_id, session_id) not in self._directory(app_name).sessions:
                return
            with self._use(app_name, user_id, session_id) as (history, kept):
                self._append(history, kept, {"delete": True})
                self._note_shared(app_name, {"user": user_id, "session": session_id, "deleted": True})

        await self._run(delete)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Json:
        """Return the state of a user, without the prefix of its names."""
        return await self._run(lambda: _copy(self._directory(app_name).users.get(user_id, {})))

    async def append_event(self, session: AdkSession, event: Event) -> Event:
        """Append an event. It is durable when this returns.

        Raises SessionNotFoundError, and StaleSessionError if others have appended to it since this session was read.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)

        def append() -> bool:
            with self._use(session.app_name, session.user_id, session.id) as (history, kept):
                if not kept.exists:
                    raise SessionNotFoundError(f"Session {session.id} not found.")
                dumped = common.valid(event.model_dump(mode="json", by_alias=True, exclude_none=True))
                if dumped in kept.events[-1:]:
                    return False  # it was given again
                if kept.updated > session.last_update_time:
                    raise StaleSessionError(
                        "others have appended to this session since it was read: get it again before you append"
                    )
                own, note = _scopes((event.actions.state_delta or {}) if event.actions else {})
                if note:
                    self._note_shared(session.app_name, {"user": session.user_id, **note})
                self._append(history, kept, {"event": dumped, "delta": own}, alone=True)
                return True

        if await self._run(append):
            self._commit_event_to_session(session, event)
            session.last_update_time = event.timestamp
        return event

    # ------------------------------------------------------------------ the log

    async def _run(self, work: Callable[[], _R]) -> _R:
        return await finish(asyncio.to_thread(work))

    @contextmanager
    def _use(self, app_name: str, user_id: str, session_id: str) -> Iterator[tuple[History, KeptSession]]:
        with self.conversations.use(name_of(app_name, user_id, session_id)) as history:
            history.session.refresh()
            if (kept := self._kept.get(history)) is None:
                kept = self._kept[history] = KeptSession(history.session)
            kept.read(history.session)
            yield history, kept

    def _append(self, history: History, kept: KeptSession, note: Json, *, alone: bool = False) -> None:
        def refresh() -> None:
            count = len(kept.events)
            history.session.refresh()
            kept.read(history.session)
            if alone and len(kept.events) != count:
                raise StaleSessionError("others have just appended to this session: get it again before you append")

        retry_on_conflict(lambda: history.session.annotate(NOTE, note), refresh)
        history.session.flush()
        kept.read(history.session)

    def _directory(self, app_name: str) -> KeptApp:
        with self.conversations.use(f"google-adk.{app_name}") as history:
            history.session.refresh()
            if (directory := self._directories.get(history)) is None:
                directory = self._directories[history] = KeptApp(history.session)
            directory.read(history.session)
            return directory

    def _note_shared(self, app_name: str, note: Json) -> None:
        with self.conversations.use(f"google-adk.{app_name}") as history:
            retry_on_conflict(lambda: history.session.annotate(NOTE, note), history.session.refresh)
            history.session.flush()

    def _session(
        self, app_name: str, user_id: str, session_id: str, kept: KeptSession, events: list[Json]
    ) -> AdkSession:
        shared = self._directory(app_name)
        state = _copy(kept.state)
        state |= {State.APP_PREFIX + key: value for key, value in _copy(shared.app).items()}
        state |= {State.USER_PREFIX + key: value for key, value in _copy(shared.users.get(user_id, {})).items()}
        made = [Event.model_validate_json(msgspec.json.encode(event)) for event in events]
        return AdkSession(
            app_name=app_name, user_id=user_id, id=session_id, state=state, events=made, last_update_time=kept.updated
        )


def _scopes(state: Json) -> tuple[Json, Json]:
    """Return the part of a state that is the session's, and a note of what is the app's and the user's."""
    plain: Json = common.valid(to_jsonable_python(state, serialize_unknown=True))
    own: Json = {}
    note: Json = {}
    for key, value in plain.items():
        if key.startswith(State.APP_PREFIX):
            note.setdefault("app_state", {})[key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            note.setdefault("user_state", {})[key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            own[key] = value
    return own, note


def _chosen(events: list[Json], config: GetSessionConfig | None) -> list[Json]:
    if config is None:
        return events
    if config.num_recent_events is not None:
        events = events[-config.num_recent_events :] if config.num_recent_events else []
    if (after := config.after_timestamp) is not None:
        last_before = max(
            (at for at, event in enumerate(events) if float(event.get("timestamp") or 0) < after), default=-1
        )
        events = events[last_before + 1 :]
    return events


def _copy(state: Json) -> Json:
    copied: Json = msgspec.json.decode(msgspec.json.encode(state))
    return copied
