"""`python -m benchmarks.scaling.simulation`: a fleet of servers on some databases, under load, while parts of it fail.

Times of service are those that were measured; see `Costs`. The protocol of the append is that of the store, retries
and doubts included. After a run `Fleet.faults` compares what everybody was told with what is in the logs.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from benchmarks.scaling.database_model import LOST, SOUND, Line, Log, ModelDatabase, Network, Rules
from benchmarks.scaling.kernel import Cores, Interpreter, Kernel, Places, Signal, Steps, Task

PATIENCE, PAUSE = 30.0, 0.1  # seconds, as in `fleet/database.py`
GIVE_UP = 30.0  # seconds after which a silent connection is given up: `tcp_user_timeout` of an address
RETRY = 0.2  # seconds after which a client asks another server


class Costs(NamedTuple):
    """What one turn takes, in seconds of CPU unless said otherwise. The defaults were measured on two cores."""

    server: float = 0.012
    append: float = 0.00023  # of the database
    read: float = 0.0001
    notify: float = 0.00005
    listener: float = 0.0000075  # of the database, for each listener
    other: float = 0.0023  # of the clients and the model's server, where they share the machine
    flush: float = 0.0017  # time, not CPU
    round_trip: float = 0.0005  # time
    reads: int = 1  # of a turn of a session that this server knows
    reads_moved: int = 7  # more of them, and CPU of the server, if another server has written to the session
    moved: float = 0.004
    turn: float = 0.005  # for which a Python process uses a core before another of its threads does


class Shape(NamedTuple):
    """How large the fleet is, and what it is asked for."""

    servers: int = 1
    databases: int = 1
    database_cores: int = 8
    talks: int = 24  # conversations of one server
    think: float = 0.0  # mean seconds between an answer and the next question
    model: float = 0.0  # seconds until the model has answered
    moves: bool = False  # each turn of a conversation goes to another server
    shared_cores: int = 0  # everything runs on one machine with so many cores; 0: each server has its own
    pool: int = 10
    listeners: int = 0  # servers of one database whose events somebody follows


class Failure(NamedTuple):
    """Something that happens."""

    at: float
    kind: str  # "server": one is killed; "database": it crashes; "network": it stands still
    which: int
    seconds: float  # until it is there again


class Unwritten(Exception):
    """The database was away for longer than our patience."""


class Server:
    """One process: what it knows of sessions is gone when it is killed."""

    def __init__(self, fleet: "Fleet", number: int) -> None:
        self._fleet, self._number = fleet, number
        self._tasks: dict[Task, Signal] = {}
        self.is_up = True
        self._begin()

    def _begin(self) -> None:
        fleet = self._fleet
        cores = fleet.machine or Cores(fleet.kernel, 1)
        self.process = Interpreter(cores, fleet.costs.turn)
        self._pools = [Places(fleet.shape.pool) for _ in fleet.databases]
        self.known: dict[int, int] = {}  # how many lines of a session it has read
        self.is_up = True

    def ask(self, session: int, history: Sequence[tuple[object, ...]]) -> Signal:
        """Answer a request, which has the whole conversation. The signal is the answer; LOST: the server was killed."""
        answer = Signal()
        steps = self._turn(session, history, answer)
        task = self._fleet.kernel.start(steps)
        self._tasks[task] = answer
        answer.then(lambda _: self._end(task))
        return answer

    def _end(self, task: Task) -> None:
        self._tasks.pop(task, None)

    def kill(self, seconds: float) -> None:
        """End at once, and begin anew after a while."""
        self.is_up = False
        for task, answer in list(self._tasks.items()):
            task.stop()
            answer.fire(LOST)
        self._tasks.clear()
        self._fleet.kernel.call(seconds, lambda _: self._begin())

    def _turn(self, session: int, history: Sequence[tuple[object, ...]], answer: Signal) -> Steps:
        fleet, costs = self._fleet, self._fleet.costs
        yield self.process.work(costs.server / 2)
        try:
            yield from self._read(session)
            yield from self._bring(session, history)
            yield from self._append(session, ("receipt", next(fleet.numbers)))
        except Unwritten:
            pass  # the request is passed on; the next one brings what is missing
        if fleet.shape.model:
            yield fleet.shape.model
        said = ("answer", session, next(fleet.numbers))
        yield self.process.work(costs.server / 2)
        try:
            yield from self._bring(session, [*history, said])
            yield from self._statement(session, costs.notify + costs.listener * fleet.shape.listeners)
        except Unwritten:
            pass
        answer.fire(said)

    def _read(self, session: int) -> Steps:
        """Look whether another server has written to a session. If so, read it on."""
        costs = self._fleet.costs
        before = self.known.get(session)
        for _ in range(costs.reads):
            yield from self._refresh(session)
        if self.known[session] != before:
            yield self.process.work(costs.moved)
            for _ in range(costs.reads_moved):
                yield from self._refresh(session)

    def _bring(self, session: int, history: Sequence[tuple[object, ...]]) -> Steps:
        """Add what the log does not have of a conversation, after the last thing that it has of it."""
        while True:
            at, head = self._fleet.log(session).match(history, self.known.get(session, 0))
            lines = []
            for content in history[at:]:
                lines.append(Line(next(self._fleet.numbers), head, content))
                head = lines[-1].uuid
            if not lines or (yield from self._write(session, lines)):
                return
            yield from self._refresh(session)

    def _append(self, session: int, content: tuple[object, ...]) -> Steps:
        """Add an entry that has no place in the conversation."""
        while not (yield from self._write(session, [Line(next(self._fleet.numbers), -1, content)])):
            yield from self._refresh(session)

    def _refresh(self, session: int) -> Steps:
        found = yield from self._statement(session, self._fleet.costs.read)
        if found is LOST:
            raise Unwritten
        self.known[session] = found

    def _write(self, session: int, lines: list[Line]) -> Steps:
        """As `PostgresStore._write`: True if the lines are there, False if there are others. Raises Unwritten."""
        fleet, first = self._fleet, self.known.get(session, 0)
        is_unknown, end = False, fleet.kernel.now + PATIENCE
        while (done := (yield from self._try(session, fleet.costs.append, first, lines))) in (LOST, None):
            is_unknown = is_unknown or done is LOST
            if fleet.kernel.now >= end:
                fleet.note("unconfirmed" if is_unknown else "unwritable", lines)
                raise Unwritten
            yield PAUSE
        if not done and is_unknown and fleet.rules.confirms:
            size = yield from self._statement(session, fleet.costs.read)
            if size is LOST:
                fleet.note("unconfirmed", lines)
                raise Unwritten
            done = size > first and fleet.log(session).lines[first] == lines[0]  # it was done before
        if done:
            self.known[session] = first + len(lines)
        fleet.note("acknowledged" if done else "refused", lines)
        return done

    def _statement(self, session: int, cpu: float) -> Steps:
        """A read. It is tried again while the database is away; LOST when our patience ends."""
        end = self._fleet.kernel.now + PATIENCE
        while (found := (yield from self._try(session, cpu))) in (LOST, None):
            if self._fleet.kernel.now >= end:
                return LOST
            yield PAUSE
        return found

    def _try(self, session: int, cpu: float, first: int = -1, lines: Sequence[Line] = ()) -> Steps:
        """Send a statement once. LOST: the connection was lost; None: there was none."""
        at = session % len(self._pools)
        database, pool = self._fleet.databases[at], self._pools[at]
        yield pool.take()
        try:
            if not database.is_up:
                return None
            answer = database.send(cpu, session, first, lines)
            if self._fleet.network.is_still:
                self._fleet.kernel.call(GIVE_UP, lambda _: answer.fire(LOST))
            return (yield answer)
        finally:
            pool.leave()


class Fleet:
    """The whole: servers, databases, clients, and what happens to them."""

    def __init__(
        self, shape: Shape, costs: Costs, failures: Sequence[Failure] = (), *, rules: Rules = SOUND, seed: int = 1
    ) -> None:
        self.shape, self.costs, self.rules = shape, costs, rules
        self.kernel, self.random, self.numbers = Kernel(), Random(seed), count(1)
        self.machine = Cores(self.kernel, shape.shared_cores) if shape.shared_cores else None
        self.network = Network(self.kernel, costs.round_trip)
        self.databases = [
            ModelDatabase(
                self.kernel, self.machine or Cores(self.kernel, shape.database_cores), self.network, costs.flush,
                rules, seed + at,
            )
            for at in range(shape.databases)
        ]  # fmt: skip
        self.servers = [Server(self, at) for at in range(shape.servers)]
        self.latencies: list[tuple[float, float]] = []  # when an answer came, and how long it took
        self.retries = 0
        self._noted: dict[str, list[int]] = {}
        self._histories: dict[int, list[tuple[object, ...]]] = {}
        for session in range(shape.servers * shape.talks):
            self.kernel.start(self._client(session))
        for failure in failures:
            self.kernel.call(failure.at, lambda _, failure=failure: self._fail(failure))  # type: ignore[misc]

    def run(self, seconds: float) -> "Fleet":
        """Let time pass."""
        self.kernel.run(seconds)
        return self

    def note(self, what: str, lines: Sequence[Line]) -> None:
        """Remember what a writer was told about lines."""
        self._noted.setdefault(what, []).extend(line.uuid for line in lines)

    def told(self, what: str) -> int:
        """How many lines a writer was told this about."""
        return len(self._noted.get(what, ()))

    def log(self, session: int) -> Log:
        """The log of a session."""
        return self.databases[session % len(self.databases)].log(session)

    def _client(self, session: int) -> Steps:
        shape, history = self.shape, self._histories.setdefault(session, [])
        if shape.think:
            yield self._until_first()
        for turn in count():
            history.append(("question", session, turn))
            begun = self.kernel.now
            server = session + (turn if shape.moves else 0)
            while (said := (yield from self._ask(server, session, history))) is LOST:
                self.retries += 1
                server += 1
                yield RETRY
            history.append(said)
            self.latencies.append((self.kernel.now, self.kernel.now - begun))
            if shape.think:
                yield self.random.expovariate(1 / shape.think)

    def _until_first(self) -> float:
        """Seconds until the first question of a conversation that has gone on for long before we look."""
        shape = self.shape
        is_answered = self.random.random() * (shape.think + shape.model) < shape.model
        rest = self.random.random() * shape.model if is_answered else 0.0  # of the model's time for the one before
        return rest + self.random.expovariate(1 / shape.think)

    def _ask(self, server: int, session: int, history: list[tuple[object, ...]]) -> Steps:
        asked = self.servers[server % len(self.servers)]
        if not asked.is_up:
            return LOST
        if self.machine is not None:
            yield self.machine.work(self.costs.other)
        return (yield asked.ask(session, list(history)))

    def _fail(self, failure: Failure) -> None:
        if failure.kind == "server":
            self.servers[failure.which % len(self.servers)].kill(failure.seconds)
        elif failure.kind == "database":
            self.databases[failure.which % len(self.databases)].crash(failure.seconds)
        else:
            self.network.stand_still(failure.seconds)
            if failure.seconds > GIVE_UP:
                for database in self.databases:
                    self.kernel.call(GIVE_UP, lambda _, each=database: each.break_connections())  # type: ignore[misc]

    # ------------------------------------------------------------------ what must hold

    def faults(self) -> Counter[str]:
        """What is wrong with the logs. Nothing may be."""
        found: Counter[str] = Counter()
        there: Counter[int] = Counter()
        for database in self.databases:
            for lines in (log.lines for log in database.logs.values()):
                there.update(line.uuid for line in lines)
                said = Counter((line.parent, line.content) for line in lines)
                answers = Counter(line.content for line in lines if line.content[0] == "answer")
                found["said twice in one place"] += sum(number - 1 for number in said.values())
                found["answer logged twice"] += sum(number - 1 for number in answers.values())
                known = {0, -1}
                for line in lines:
                    found["before its parent"] += line.parent not in known
                    known.add(line.uuid)
        found["line twice"] = sum(number - 1 for number in there.values())
        found["acknowledged and lost"] = sum(not there[uuid] for uuid in self._noted.get("acknowledged", ()))
        refused = set(self._noted.get("unwritable", ())) | set(self._noted.get("refused", ()))
        found["refused and written"] = sum(bool(there[uuid]) for uuid in refused)
        return +found

    def unlogged(self) -> int:
        """How many answers that a client has are not in the log, as a path from its beginning. For quiet fleets."""
        missing = 0
        for session, history in self._histories.items():
            log, answered = self.log(session), history[: len(history) - len(history) % 2]
            missing += len(answered) - log.match(answered, len(log.lines))[0]
        return missing
