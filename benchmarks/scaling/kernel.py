"""A small kernel for simulations of queues: a clock, tasks, signals, and cores that do one piece of work at a time.

A task is a generator. It yields seconds to sleep, or a `Signal` to wait for. Everything is decided by the order of the
events, so a run with the same seed is the same on every machine.
"""

import heapq
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

Steps = Generator[Any, Any, Any]


class Kernel:
    """The clock, and what happens next."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0

    def call(self, seconds: float, act: Callable[[Any], None], value: Any = None) -> None:
        """Do something after so many seconds."""
        self._count += 1
        heapq.heappush(self._queue, (self.now + seconds, self._count, act, value))

    def start(self, steps: Steps) -> "Task":
        """Begin a task at once."""
        task = Task(self, steps)
        self.call(0.0, task.step)
        return task

    def run(self, until: float) -> None:
        """Let time pass."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            self.now, _, act, value = heapq.heappop(queue)
            act(value)
        self.now = until


class Signal:
    """Something that happens once, with a value. Whoever waits for it goes on then."""

    __slots__ = ("_waiting", "is_fired", "value")

    def __init__(self) -> None:
        self.is_fired, self.value = False, None
        self._waiting: list[Callable[[Any], None]] = []

    def fire(self, value: Any = None) -> None:
        """Let it happen. A second time changes nothing."""
        if not self.is_fired:
            self.is_fired, self.value = True, value
            waiting, self._waiting = self._waiting, []
            for act in waiting:
                act(value)

    def then(self, act: Callable[[Any], None]) -> None:
        """Do something when it happens."""
        if self.is_fired:
            act(self.value)
        else:
            self._waiting.append(act)


class Task:
    """A generator that runs as time passes."""

    __slots__ = ("_is_stopped", "_kernel", "_steps")

    def __init__(self, kernel: Kernel, steps: Steps) -> None:
        self._kernel, self._steps, self._is_stopped = kernel, steps, False

    def step(self, value: Any = None) -> None:
        """Go on to the next thing that it waits for."""
        if self._is_stopped:
            return
        try:
            wanted = self._steps.send(value)
        except StopIteration:
            return
        if isinstance(wanted, Signal):
            wanted.then(self.step)
        else:
            self._kernel.call(wanted, self.step)

    def stop(self) -> None:
        """End it where it is, as a killed process ends."""
        self._is_stopped = True


class Cores:
    """Some cores: work waits in the order in which it came until one is free."""

    def __init__(self, kernel: Kernel, number: int) -> None:
        self._kernel, self._free = kernel, number
        self._waiting: deque[tuple[float, Signal]] = deque()
        self.used = 0.0  # seconds

    def work(self, seconds: float) -> Signal:
        """Do work of so many seconds. The signal is its end."""
        done = Signal()
        if self._free:
            self._free -= 1
            self._begin(seconds, done)
        else:
            self._waiting.append((seconds, done))
        return done

    def _begin(self, seconds: float, done: Signal) -> None:
        self.used += seconds
        self._kernel.call(seconds, self._end, done)

    def _end(self, done: Signal) -> None:
        if self._waiting:
            self._begin(*self._waiting.popleft())
        else:
            self._free += 1
        done.fire()


class Interpreter:
    """A Python process on some cores: it uses one of them at a time, and gives each of its threads a turn."""

    def __init__(self, cores: Cores, turn: float) -> None:
        self._cores, self._turn = cores, turn
        self._waiting: deque[tuple[float, Signal]] = deque()
        self._is_busy = False

    def work(self, seconds: float) -> Signal:
        """Do work of so many seconds. The signal is its end."""
        done = Signal()
        self._waiting.append((seconds, done))
        if not self._is_busy:
            self._next(None)
        return done

    def _next(self, _: object) -> None:
        self._is_busy = bool(self._waiting)
        if not self._is_busy:
            return
        seconds, done = self._waiting.popleft()
        piece = min(seconds, self._turn)
        if seconds > piece:
            self._waiting.append((seconds - piece, done))
            self._cores.work(piece).then(self._next)
        else:
            self._cores.work(piece).then(done.fire)
            done.then(self._next)


class Places:
    """A number of places, such as the connections of a pool."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[Signal] = deque()

    def take(self) -> Signal:
        """Wait for a place. `leave` gives it back."""
        taken = Signal()
        if self._free:
            self._free -= 1
            taken.fire()
        else:
            self._waiting.append(taken)
        return taken

    def leave(self) -> None:
        """Give a place back."""
        if self._waiting:
            self._waiting.popleft().fire()
        else:
            self._free += 1
