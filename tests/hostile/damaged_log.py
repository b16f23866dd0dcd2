"""The log of a session with everything in it, in a file or in a database, to be damaged again and again."""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from postgres_server import PostgresServer
from sightline import Budget, PostgresStores, Session
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.log.stores import Stores
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking, WordCounter, numbered_ids
from sightline.values.items import Kind

BUDGET = Budget(window=900, recall=0.1)
ROOMY = Budget(window=20_000)


def call(name: str, id_: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def answer(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 2500, "completion_tokens": 10}
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    return {"choices": [{"message": message}], "usage": usage}


def live(session: Session) -> None:
    """Every kind of line that a session writes."""
    session.system("Be brief.")
    session.tools([{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}])
    window = session.windows.open("todo")
    session.windows.show("clock")
    for turn in range(5):
        item = session.user(f"Question {turn}: pay 100 for module_{turn}.py. Never pay more than {turn}00.")
        session.compose(BUDGET)
        path, more = f"module_{turn}.py", " ".join(f"argument_{turn}_{n}" for n in range(250))
        session.reply(answer("I look.", call("read", f"a{turn}", path=path), call("read", f"b{turn}", path=more)))
        session.tool_result(f"a{turn}", "\n".join(f"value_{turn}_{n} = compute({n}, {n})" for n in range(60)))
        session.tool_result(f"b{turn}", f"ERROR: no file {turn}", error="failed")
        session.compose(BUDGET)
        session.reply(answer("", call("read", f"c{turn}", path=path)))
        session.tool_result(f"c{turn}", f"the same {turn}")
        session.reply(answer(f"Answer {turn}. " + "It computes the values of the step. " * 20))
        session.windows.act(window, "add", text=f"task {turn}")
        if turn == 1:
            session.items.pin(item)
            session.windows.close("clock", summary="it was late")
        elif turn == 2:
            session.items.recall("module_0.py pay")
            session.items.collapse(item)
            session.remember({"goal": "pay"})
            session.configure(locale="zh")
            session.configure(locale="en")
    session.summaries.compact(BUDGET)
    session.compose(BUDGET)
    session.summaries.undo()
    session.compose(ROOMY)
    session.summaries.compact(ROOMY)
    with session.fork(item) as fork:
        fork.user("Another way.")
        fork.compose(BUDGET)
        fork.reply(answer("Indeed."))


class Sample:
    """The log of such a session and its index."""

    is_database = False

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        options: dict[str, Any] = {"token_counter": WordCounter(), "ids": numbered_ids(), "clock": Ticking()}
        with Session.new(stores=stores, session_id="s", apps=("todo",), **options) as session:
            live(session)
        self.lines = self._read()
        self.entries = [entries.decode(line) for line in self.lines]
        self.kinds: dict[str, list[int]] = defaultdict(list)
        for at, entry in enumerate(self.entries):
            self.kinds[entry.subtype or ("summary" if entry.is_compact_summary else entry.type)].append(at)

    def write(self, lines: list[bytes], *, indexed: bool = False, unseen: bool = True) -> None:
        """Make these the log, with the index that the whole log had, or none.

        `unseen`: the file system does not tell that the log has changed, as when a disk fails.
        """
        raise NotImplementedError

    def offset(self, lines: list[bytes], at: int) -> int:
        """The place of a line, as repairs name it."""
        raise NotImplementedError

    def resumed(self, branch: str | None = None) -> Session:
        """The session, opened again on the branch that was written to last, or on this one."""
        options: dict[str, Any] = {"token_counter": WordCounter(), "clock": Ticking(1_800_000_000_000)}
        return Session.resume("s", stores=self.stores, apps=("todo",), branch=branch, **options)

    def whole_texts(self, lines: list[bytes]) -> list[str]:
        """What the lines say that are as they were."""
        known = set(self.lines)
        found = [entries.decode(line) for line in lines if line in known]
        return [text for entry in found if (text := said(entry))]

    def _read(self) -> list[bytes]:
        raise NotImplementedError


class FileSample(Sample):
    """In a file."""

    def __init__(self, root: Path) -> None:
        self.path = Folder(root, root).file("s")
        super().__init__(Folder(root, root))
        status = self.path.stat()
        self.times = (status.st_atime_ns, status.st_mtime_ns)
        self.index = self.path.with_suffix(".idx").read_bytes()

    def write(self, lines: list[bytes], *, indexed: bool = False, unseen: bool = True) -> None:
        """Write the file."""
        for suffix in (".idx", ".search", ".torn"):
            self.path.with_suffix(suffix).unlink(missing_ok=True)
        self.path.write_bytes(b"".join(lines))
        if unseen:
            os.utime(self.path, ns=self.times)
        if indexed:
            self.path.with_suffix(".idx").write_bytes(self.index)

    def offset(self, lines: list[bytes], at: int) -> int:
        """The bytes before it."""
        return sum(map(len, lines[:at]))

    def _read(self) -> list[bytes]:
        return self.path.read_bytes().splitlines(keepends=True)


class DatabaseSample(Sample):
    """In a PostgreSQL. Nothing tells that a row was changed. `run` is what somebody else does to the tables."""

    is_database = True

    def __init__(self, server: PostgresServer) -> None:
        self.placed = PostgresStores(server.url())
        self._server, schema = server, self.placed.database.address.schema
        self._schema = schema
        super().__init__(self.placed)
        self._row = self.run("SELECT lines, bytes, tips FROM {s}.session")[0]
        self._derived = self.run("SELECT tenant, session, name, data FROM {s}.derived WHERE name = 'columns'")

    def run(self, sql: str, *values: object) -> list[Any]:
        """Run a statement behind our back."""
        with self._server.connect() as admin:
            done = admin.execute(sql.replace("{s}", self._schema).encode(), values)
            return done.fetchall() if done.description else []

    def write(self, lines: list[bytes], *, indexed: bool = False, unseen: bool = True) -> None:
        """Write the rows. The session's own row is what it was."""
        with self._server.connect() as admin, admin.transaction():

            def run(sql: str, *values: object) -> None:
                admin.execute(sql.replace("{s}", self._schema).encode(), values)

            key = admin.execute(f"SELECT tenant, session FROM {self._schema}.session".encode()).fetchone()
            assert key is not None
            run("UPDATE {s}.session SET lines = %s, bytes = %s, tips = %s", *self._row)
            run("DELETE FROM {s}.derived")
            run("DELETE FROM {s}.entry")
            numbered = "unnest(%b::bytea[]) WITH ORDINALITY AS line (data, place)"
            run(f"INSERT INTO {{s}}.entry SELECT %s, %s, place, data FROM {numbered}", *key, lines)
            for row in self._derived if indexed else ():
                run("INSERT INTO {s}.derived VALUES (%s, %s, %s, %b)", *row)

    def offset(self, lines: list[bytes], at: int) -> int:
        """The lines before it."""
        return at

    def _read(self) -> list[bytes]:
        store = self.placed.open("s")
        store.refresh()
        return [line.data for line in store.scan()]


def said(entry: Entry) -> str:
    """The text of a message that is one text."""
    parts = entries.parts_of(entry) if entries.kind_of(entry) in (Kind.USER, Kind.SYSTEM, Kind.SUMMARY) else ()
    return getattr(parts[0], "text", "") if len(parts) == 1 else ""
