"""What the log has of ADK: the state and events of one session, and the sessions of an app. Both are annotations."""

from typing import Any

from sightline.session.session import Session

NOTE = "google-adk"  # the name of the annotations
Json = dict[str, Any]


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
