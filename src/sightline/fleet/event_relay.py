"""Events between the servers of one database, by its LISTEN and NOTIFY: whoever follows one server sees them all.

Each tenant has a channel and a hub of its own. One connection and two threads of a process serve all of them.

Nothing depends on it. A session that another server wrote to is read on before it is used, whether there was an event
or not. Events that may have been missed are replaced by `reset`: whoever follows reads everything anew.

A server listens only to channels that somebody follows, because each listener costs the database work at each event of
each server: see docs/scaling.md.
"""

import logging
import secrets
import threading
import time
from collections import deque
from contextlib import closing, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import StoreError
from sightline.fleet.database import Database, Failed, Lost
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores import PlacedStores
from sightline.server.events import Event, Hub
from sightline.values.decoders import decode_json

if TYPE_CHECKING:
    from typing import Any

    from psycopg import Connection

_LOCAL = frozenset({"listed", "import", "reset"})  # kinds that concern one server alone
_MOST_BYTES = 7_000  # of one event: the database takes 8,000
_MOST_WAITING = 1_000  # events; more are replaced by one reset
_AT_ONCE = 100
_LISTEN_SECONDS = 0.5  # after which a listener looks whether it should end
_LINGER = 60.0  # seconds that a server goes on listening when nobody follows any more
_WARN_SECONDS = 60.0  # between two warnings that say the same
_PAUSE = 1.0  # seconds before a lost database is tried again

_log = logging.getLogger("sightline.server")


class _Told(NamedTuple):
    """An event that is to be sent."""

    channel: str
    event: Event


class _Message(Struct, array_like=True):
    """An event of a server."""

    origin: str
    event: Event


def relay_of(stores: PlacedStores | None) -> "EventRelay | None":
    """The relay of a server's events; None if its sessions are in files, where a server is alone."""
    return EventRelay(stores.database) if isinstance(stores, PostgresStores) else None


class EventRelay:
    """Sends the events of hubs to the servers of the same database and tenant, and hands theirs to the tenant's hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._origin = secrets.token_hex(8)
        self._hubs: dict[str, Hub] = {}  # by channel
        self._waiting: deque[_Told] = deque()
        self._wake, self._stopped = threading.Condition(), False
        self._warned_at: dict[str, float] = {}  # when each thing was said last, in seconds
        self._follows = 0  # how often somebody has begun to follow
        self.listening = threading.Event()  # set while events of others arrive for all who follow
        self._threads = [
            threading.Thread(target=work, name=f"sightline events {name}", daemon=True)
            for name, work in (("out", self._send), ("in", self._listen))
        ]

    def channel(self, tenant: str) -> str:
        """Return the channel of a tenant."""
        place = f"{self._database.address.schema}/{tenant}".encode()
        return f"sightline_{blake2b(place, digest_size=12).hexdigest()}"

    def start(self) -> None:
        """Begin to send, and to listen when somebody follows. Nothing is waited for."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End. What is not sent yet is dropped."""
        with self._wake:
            for hub in self._hubs.values():
                hub.on_publish = hub.on_follow = None
            self._stopped = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def join(self, hub: Hub, tenant: str = "") -> None:
        """Send the events of a hub from now on, and hand those of others to it soon.

        `tenant`: whose they are; empty: that of the database's address.
        """
        channel = self.channel(tenant or self._database.address.tenant)
        with self._wake:
            self._hubs[channel] = hub
        hub.on_publish, hub.on_follow = lambda event: self._put(channel, event), self._notice_follower

    def leave(self, hub: Hub) -> None:
        """Have nothing more to do with a hub."""
        hub.on_publish = hub.on_follow = None
        with self._wake:
            for channel in [channel for channel, other in self._hubs.items() if other is hub]:
                del self._hubs[channel]

    def _put(self, channel: str, event: Event) -> None:
        """Send an event soon. Returns at once."""
        if event.kind in _LOCAL:
            return
        with self._wake:
            if len(self._waiting) >= _MOST_WAITING:
                lost = {told.channel for told in self._waiting} | {channel}
                self._waiting.clear()
                self._waiting.extend(_Told(lost_channel, Event("reset")) for lost_channel in lost)
            else:
                self._waiting.append(_Told(channel, event))
            self._wake.notify_all()

    # ------------------------------------------------------------------ out

    def _send(self) -> None:
        sql = b"SELECT pg_notify(channel, payload) FROM unnest(%s::text[], %s::text[]) AS told (channel, payload)"
        while told := self._next():
            channels = [message.channel for message in told]
            try:
                self._database.run(sql, (channels, [self._encoded(message.event) for message in told]))
            except (Lost, Failed, StoreError) as error:
                self._warn("events of this server are not told to others: %s", error)
                with self._wake:
                    self._waiting.extendleft(_Told(channel, Event("reset")) for channel in {*channels})
                    self._wake.wait_for(lambda: self._stopped, _PAUSE)

    def _warn(self, text: str, error: Exception) -> None:
        """Say once a minute what does not work: it is tried again every few seconds, for as long as an outage lasts."""
        now = time.monotonic()
        if now - self._warned_at.get(text, -_WARN_SECONDS) >= _WARN_SECONDS:
            self._warned_at[text] = now
            _log.warning(text, error)

    def _next(self) -> list[_Told]:
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._stopped)
            if self._stopped:
                return []
            return [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]

    def _encoded(self, event: Event) -> str:
        data = msgspec.json.encode(_Message(self._origin, event))
        if len(data) > _MOST_BYTES:
            data = msgspec.json.encode(_Message(self._origin, Event(event.kind, event.session, event.branch)))
        return data.decode()

    # ------------------------------------------------------------------ in

    def _notice_follower(self) -> None:
        with self._wake:
            self._follows += 1
            self.listening.clear()
            self._wake.notify_all()

    def _is_followed(self) -> bool:
        """Wait until somebody follows. False: the relay was closed."""
        with self._wake:
            self._wake.wait_for(lambda: self._stopped or any(hub.followers for hub in self._hubs.values()))
        return not self._stopped

    def _listen(self) -> None:
        while self._is_followed():
            try:
                with closing(self._database.connect()) as connection:
                    self._receive(connection)
            except Exception as error:
                if not self._stopped:
                    self._warn("events of other servers are not received: %s", error)
                    time.sleep(_PAUSE)
            finally:
                self.listening.clear()

    def _receive(self, connection: "Connection[Any]") -> None:
        """Hand on what arrives, until nobody has followed for a while."""
        followed: dict[str, float] = {}  # channel that is listened to → when somebody followed it last
        while not self._stopped:
            with self._wake:
                hubs = dict(self._hubs)
                follows = self._follows
            now = time.monotonic()
            for channel in [channel for channel, hub in hubs.items() if hub.followers]:
                if channel not in followed:
                    connection.execute(f"LISTEN {channel}".encode())
                    hubs[channel].receive(Event("reset"))  # what others did before this was not heard
                followed[channel] = now
            for channel in [name for name, last in followed.items() if name not in hubs or now > last + _LINGER]:
                connection.execute(f"UNLISTEN {channel}".encode())
                del followed[channel]
            if not followed:
                return
            with self._wake:
                if follows == self._follows:
                    self.listening.set()
            for told in connection.notifies(timeout=_LISTEN_SECONDS):
                with suppress(msgspec.DecodeError):  # of another version
                    message = decode_json(told.payload, _Message)
                    hub = self._hubs.get(told.channel)  # none if it has just left
                    if message.origin != self._origin and hub is not None:
                        hub.receive(message.event)
