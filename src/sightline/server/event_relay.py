"""Events between the servers of one database, by its LISTEN and NOTIFY: whoever follows one server sees them all.

Nothing depends on it. A session that another server wrote to is read on before it is used, whether there was an event
or not. Events that may have been missed are replaced by `reset`: whoever follows reads everything anew.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections import deque
from contextlib import closing, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import Struct

from sightline.errors import StoreError
from sightline.log.stores import PlacedStores
from sightline.log.stores.postgres import PostgresStores
from sightline.log.stores.postgres_database import Database, Failed, Lost
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
_PAUSE = 1.0  # seconds before a lost database is tried again

_log = logging.getLogger("sightline.server")


class _Message(Struct, array_like=True):
    """An event of a server."""

    origin: str
    event: Event


def relay_of(stores: PlacedStores | None, hub: Hub) -> "EventRelay | None":
    """The relay of a server's events; None if its sessions are in files, where a server is alone."""
    return EventRelay(stores.database, hub) if isinstance(stores, PostgresStores) else None


class EventRelay:
    """Sends the events of one hub to the servers of the same database and tenant, and hands theirs to the hub."""

    def __init__(self, database: Database, hub: Hub) -> None:
        self._database, self._hub = database, hub
        place = f"{database.address.schema}/{database.address.tenant}".encode()
        self.channel = f"sightline_{blake2b(place, digest_size=12).hexdigest()}"  # tenants have channels of their own
        self._origin = secrets.token_hex(8)
        self._waiting: deque[Event] = deque()
        self._wake, self._stopped = threading.Condition(), False
        self.listening = threading.Event()  # set while events of others arrive
        self._threads = [
            threading.Thread(target=work, name=f"sightline events {name}", daemon=True)
            for name, work in (("out", self._send), ("in", self._listen))
        ]

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def start(self) -> None:
        """Begin to send and to listen. Nothing is waited for."""
        self._hub.on_publish = self.put
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End. What is not sent yet is dropped."""
        self._hub.on_publish = None
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def put(self, event: Event) -> None:
        """Send an event soon. Returns at once."""
        if event.kind in _LOCAL:
            return
        with self._wake:
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting.clear()
                event = Event("reset")
            self._waiting.append(event)
            self._wake.notify_all()

    # ------------------------------------------------------------------ out

    def _send(self) -> None:
        sql = b"SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"
        while events := self._next():
            try:
                self._database.run(sql, (self.channel, [self._encoded(event) for event in events]))
            except (Lost, Failed, StoreError) as error:
                _log.warning("events of this server are not told to others: %s", error)
                with self._wake:
                    self._waiting.appendleft(Event("reset"))
                    self._wake.wait_for(lambda: self._stopped, _PAUSE)

    def _next(self) -> list[Event]:
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

    def _listen(self) -> None:
        is_first = True
        while not self._stopped:
            try:
                with closing(self._database.connect()) as connection:
                    connection.execute(f"LISTEN {self.channel}".encode())
                    if not is_first:
                        self._hub.publish(Event("reset"))
                    is_first = False
                    self.listening.set()
                    self._receive(connection)
            except Exception as error:
                if not self._stopped:
                    _log.warning("events of other servers are not received: %s", error)
                    time.sleep(_PAUSE)
            finally:
                self.listening.clear()

    def _receive(self, connection: "Connection[Any]") -> None:
        while not self._stopped:
            for told in connection.notifies(timeout=_LISTEN_SECONDS):
                with suppress(msgspec.DecodeError):  # of another version
                    message = decode_json(told.payload, _Message)
                    if message.origin != self._origin:
                        self._hub.receive(message.event)
