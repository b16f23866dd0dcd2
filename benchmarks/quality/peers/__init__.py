"""Peers from PyPI as composers of this benchmark: each in an environment and a process of its own, offline.

peers.available(("haystack", "strands"))   # what runs here, by version, and why the others do not
made = peers.composer("haystack")()        # a class, made once for each session
made.start("session 1")
made.compose(history, query, 8000)
"""

import atexit
import os
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environment import CACHE, ROOT, Environment, Missing, Peers

Message = dict[str, Any]


class Kind(NamedTuple):
    """Where a composer's name leads: the module that speaks for it, and the way it composes there."""

    module: str
    package: str
    way: str


KINDS = {
    "lc_trim": Kind("langchain", "langchain", "trim"),
    "lc_trim_plain": Kind("langchain", "langchain", "trim_plain"),
    "lc_summary": Kind("langchain", "langchain", "summary"),
    "lc_summary_all": Kind("langchain", "langchain", "summary_all"),
    "openai_agents": Kind("openai_agents", "openai-agents", "trimmer"),
    "pydantic_ai": Kind("pydantic_ai", "pydantic-ai-harness", "tiered"),
    "haystack": Kind("haystack", "haystack-ai", "window"),
    "haystack_prune": Kind("haystack", "haystack-ai", "prune"),
    "strands": Kind("strands", "strands-agents", "window"),
    "headroom": Kind("headroom", "headroom-ai", "compress"),
    "foveance": Kind("foveance", "foveance", "allocate"),
    "astromesh": Kind("astromesh", "astromesh-context", "engine"),
    "astromesh_loop": Kind("astromesh", "astromesh-context", "loop"),
    "cliffcompaction": Kind("cliffcompaction", "cliffcompaction", "engine"),
    "contextgc": Kind("contextgc", "contextgc", "compile"),
}
NAMES: tuple[str, ...] = tuple(KINDS)

COUNTER = "splintr-rs"  # ours: where a peer lets one plug a tokenizer in, it counts as the benchmark does
OFFLINE = {
    "PYTHONPATH": str(ROOT / "src"),  # for the counter; nothing else of ours is used there
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_TELEMETRY": "off",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}


class WhyNot(str):
    """Why a peer is left out."""


class Peer:
    """One session with a peer. `name` is set by `composer`."""

    name = ""
    _serial = count(1)

    def __init__(self) -> None:
        self.seconds = 0.0  # of the last compose, inside the peer's process: without the pipe, without changing form
        self.model_calls = 0  # that it would have made so far, had it a model
        self.failure = ""  # why the last request could not be made; it is empty then
        self._session = 0
        self._sent = 0

    def start(self, session_id: object) -> None:  # noqa: ARG002 - what the harness calls it does not matter to a peer
        """Begin a session, and forget the one before."""
        self.close()
        self._session, self._sent, self.model_calls = next(Peer._serial), 0, 0
        self._ask("start", way=KINDS[self.name].way)

    def compose(self, history: Sequence[Message], query: str, budget: int) -> list[Message]:
        """What the peer sends. The history extends that of the call before.

        Raises:
            Missing: the peer cannot be had, or its process has ended.
        """
        if not self._session or len(history) < self._sent:
            self.start("")
        new, self._sent = [_plain(message) for message in history[self._sent :]], len(history)
        found = self._ask("compose", new=new, query=query, budget=budget)
        self.seconds, self.model_calls = found["seconds"], found["model_calls"]
        self.failure = found.get("failure", "")
        return [history[each] if isinstance(each, int) else each for each in found["messages"]]

    def recovers(self, values: Sequence[str]) -> list[bool]:
        """Which of these values the model could bring back now, by what the last request tells it to ask for."""
        return list(self._ask("recovers", values=list(values)))

    def close(self) -> None:
        """Let the peer forget the session. Its process stays, for the next one."""
        if self._session:
            self._ask("end")
            self._session = 0

    def _ask(self, do: str, **arguments: Any) -> Any:
        return _process(KINDS[self.name].module).ask(do, session=self._session, **arguments)


def composer(name: str) -> type[Peer]:
    """A composer as the harness knows it: a class, made once for each session. Raises KeyError for an unknown name."""
    if name not in KINDS:
        raise KeyError(f"unknown peer {name!r}; choose among {', '.join(NAMES)}")
    return type(f"Peer_{name}", (Peer,), {"name": name, "__doc__": f"One session with {name}."})


def available(names: Iterable[str] = NAMES) -> dict[str, str]:
    """The version of each peer that runs here, and `WhyNot` for the others. Installs what is not there yet."""
    return {name: _version(KINDS[name]) for name in names}


def environment(name: str) -> Environment:
    """Where a peer is installed."""
    module, package, _ = KINDS[name]
    pins = Path(__file__).parent / "pins" / f"{module}.txt"
    speaking = f"{__name__}.{module}"
    return Environment(CACHE / "bench-peers" / module, (package, COUNTER), pins, speaking, OFFLINE)


def close() -> None:
    """Let the processes end."""
    for process in _processes.values():
        process.close()
    _processes.clear()


_processes: dict[tuple[int, str], Peers] = {}  # by our process and module: a fork must not talk into its parent's pipes


def _process(module: str) -> Peers:
    key = (os.getpid(), module)
    if key not in _processes:
        if not any(pid == os.getpid() for pid, _ in _processes):
            _processes.clear()
            atexit.register(close)
        name = next(name for name, kind in KINDS.items() if kind.module == module)
        _processes[key] = Peers(environment(name))
    return _processes[key]


def _version(kind: Kind) -> str:
    try:
        return str(_process(kind.module).ask("version", way=kind.way))
    except Missing as missing:
        return WhyNot(str(missing))


def _plain(message: Message) -> Message:
    """A message as a provider takes it: when it was said, and what the data call it, are no part of it."""
    return {key: value for key, value in message.items() if key not in ("ts", "id")}
