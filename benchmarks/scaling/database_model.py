"""A model of the database for the simulation: rows, locks, flushes that many commits share, crashes, a slow network.

An append is what the store's statement is: the row of the session is locked, it must have as many lines as the writer
says, and the lines are there when the log is flushed. A statement that is on its way arrives though its sender is dead.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from benchmarks.scaling.kernel import Cores, Kernel, Signal, Steps, Task

LOST = object()  # the answer when the connection was lost


class Line(NamedTuple):
    """An entry of a log. `content` is what was said: it may be there once below one parent."""

    uuid: int
    parent: int  # uuid; 0: none
    content: tuple[object, ...]


class Log:
    """The lines of a session. What somebody has read of it is a number of lines: it only grows."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self.lines: list[Line] = []
        self._places: dict[tuple[int, tuple[object, ...]], int] = {}  # by parent and content
        self.add(lines)

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines."""
        for at, line in enumerate(lines, start=len(self.lines)):
            self._places.setdefault((line.parent, line.content), at)
        self.lines.extend(lines)

    def match(self, history: Sequence[tuple[object, ...]], size: int) -> tuple[int, int]:
        """How much of a conversation the first `size` lines have, from its beginning, and the uuid of its last line."""
        parent = 0
        for at, content in enumerate(history):
            if self._places.get((parent, content), size) >= size:
                return at, parent
            parent = self.lines[self._places[parent, content]].uuid
        return len(history), parent


class Rules(NamedTuple):
    """What the append relies on. Each can be taken away, to see that the checks of the simulation notice it."""

    compares: bool = True  # the statement does nothing if the session has other lines already
    confirms: bool = True  # after a lost connection the writer looks whether the lines are its own
    flushes: bool = True  # a commit is acknowledged when it is on the disk


SOUND = Rules()


class Network:
    """Between servers and databases. While it stands still, nothing arrives and nothing is lost."""

    def __init__(self, kernel: Kernel, round_trip: float) -> None:
        self._kernel, self._half, self._clear_at = kernel, round_trip / 2, 0.0

    def stand_still(self, seconds: float) -> None:
        """Nothing arrives for so long."""
        self._clear_at = self._kernel.now + seconds

    def carry(self, act: Callable[[object], None], value: object = None) -> None:
        """Do something on the other side."""
        self._kernel.call(self._half + max(0.0, self._clear_at - self._kernel.now), act, value)

    @property
    def is_still(self) -> bool:
        """Whether nothing arrives now."""
        return self._clear_at > self._kernel.now


class ModelDatabase:
    """The logs of sessions."""

    def __init__(self, kernel: Kernel, cores: Cores, network: Network, flush: float, rules: Rules, seed: int) -> None:
        self._kernel, self._network, self._flush_seconds, self._rules = kernel, network, flush, rules
        self.cores = cores
        self._random = Random(seed)
        self.logs: dict[int, Log] = {}
        self._locks: dict[int, Signal] = {}
        self._open: dict[Signal, None] = {}  # answers that somebody waits for
        self._flushing: list[Callable[[], None]] = []  # what is there when the flush is done
        self._to_flush: list[tuple[Callable[[], None], Signal]] = []
        self._unflushed: list[tuple[int, int]] = []  # sessions and their lines that a crash takes back
        self._epoch, self._up_at = 0, 0.0
        self.flushes = self.statements = 0

    def log(self, session: int) -> "Log":
        """The log of a session."""
        if session not in self.logs:
            self.logs[session] = Log()
        return self.logs[session]

    @property
    def is_up(self) -> bool:
        """Whether it takes connections."""
        return self._kernel.now >= self._up_at

    def crash(self, seconds: float) -> None:
        """Lose all connections and what is not on the disk. It, or the one that takes over, is there after a while."""
        self._epoch += 1
        self._up_at = self._kernel.now + seconds
        if self._flushing and self._random.random() < 0.5:  # the disk had it, and nobody was told
            for apply in self._flushing:
                apply()
        self._flushing.clear()
        self._to_flush.clear()
        for session, size in reversed(self._unflushed):
            self.logs[session] = Log(self.logs[session].lines[:size])
        self._unflushed.clear()
        locks, self._locks = self._locks, {}
        for each in (*locks.values(), *self._open):
            each.fire(LOST)
        self._open.clear()

    def break_connections(self) -> None:
        """Have those who wait for an answer give up. What they sent arrives all the same."""
        for each in list(self._open):
            each.fire(LOST)
        self._open.clear()

    def send(self, cpu: float, session: int, first: int = -1, lines: Sequence[Line] = ()) -> Signal:
        """Send a statement: an append of lines after the first so many, else a read of the log.

        The answer is whether the lines were added, how many lines the log has, or LOST.
        """
        answer = Signal()
        self._open[answer] = None
        steps = self._execute(self._epoch, cpu, session, first, lines, answer)
        self._network.carry(Task(self._kernel, steps).step)
        return answer

    def _execute(
        self, epoch: int, cpu: float, session: int, first: int, lines: Sequence[Line], answer: Signal
    ) -> Steps:
        if epoch != self._epoch:  # it came by a connection that died with the server
            return
        self.statements += 1
        yield self.cores.work(cpu)
        if first < 0:
            if epoch == self._epoch:
                self._answer(answer, len(self.log(session).lines))
            return
        while epoch == self._epoch and (held := self._locks.get(session)) is not None:
            yield held
        if epoch != self._epoch:
            return
        log = self.log(session)
        if self._rules.compares and len(log.lines) != first:
            self._answer(answer, False)
            return
        self._locks[session] = lock = Signal()

        def apply() -> None:
            log.add(lines)

        if self._rules.flushes:
            yield self._flush(apply)
        else:
            self._unflushed.append((session, len(log.lines)))
            apply()
            self._flush(self._unflushed.clear)
        if epoch == self._epoch:
            del self._locks[session]
            lock.fire()
            self._answer(answer, True)

    def _answer(self, answer: Signal, value: object) -> None:
        def give(_: object) -> None:
            self._open.pop(answer, None)
            answer.fire(value)

        self._network.carry(give)

    def _flush(self, apply: Callable[[], None]) -> Signal:
        """Write the log to the disk. Commits that come while it is written go with the next flush, all at once."""
        done = Signal()
        self._to_flush.append((apply, done))
        if not self._flushing:
            self._begin_flush()
        return done

    def _begin_flush(self) -> None:
        group, self._to_flush = self._to_flush, []
        self._flushing = [apply for apply, _ in group]
        epoch = self._epoch
        self.flushes += 1

        def end(_: object) -> None:
            if epoch != self._epoch:
                return
            for apply in self._flushing:
                apply()
            self._flushing = []
            if self._to_flush:
                self._begin_flush()
            for _, done in group:
                done.fire()

        self._kernel.call(self._flush_seconds, end)
