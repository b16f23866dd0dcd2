"""The peers' side: a process of its own environment, one JSON request per line, one line of answer for each.

Each peer's module calls `serve` with its ways of composing. Nothing it does may reach the network.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from time import perf_counter
from typing import Any, Protocol

from benchmarks.quality.messages import Message, identity

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Composer(Protocol):
    """One session of a peer. What is its own form of a message is made in `add` and taken apart in `messages`:
    a program that uses the peer would hold its form all along, so only `compose` is timed."""

    def add(self, messages: list[Message]) -> None:
        """Take in what was said since the last call."""
        ...

    def compose(self, query: str, budget: int) -> Any:
        """What the peer would send."""
        ...

    def messages(self, composed: Any) -> list[Message]:
        """The same as chat messages."""
        ...


class Session:
    """A composer, and the history it was given, to name unchanged messages by their place in it."""

    def __init__(self, composer: Composer) -> None:
        self.composer = composer
        self.places: dict[Any, int] = {}
        self.length = 0

    def compose(self, new: list[Message], query: str, budget: int) -> dict[str, Any]:
        """What is sent now: a place in the history for a message that is as it was, else the message."""
        for place, message in enumerate(new, self.length):
            self.places[identity(message)] = place
        self.length += len(new)
        self.composer.add(new)
        begun = perf_counter()
        composed = self.composer.compose(query, budget)
        seconds = perf_counter() - begun
        messages = self.composer.messages(composed)
        sent = [self.places.get(identity(message), message) for message in messages]
        return {"messages": sent, "seconds": seconds, "model_calls": getattr(self.composer, "model_calls", 0)}


class Server:
    """The sessions of one environment."""

    def __init__(self, package: str, ways: Mapping[str, Callable[[], Composer]]) -> None:
        self.package, self.ways = package, ways
        self.sessions: dict[int, Session] = {}

    def version(self, way: str) -> str:
        """What is installed, after one call: a peer that cannot run here says so now."""
        Session(self.ways[way]()).compose(_hello(), "How are you?", 1000)
        return version(self.package)

    def start(self, session: int, way: str) -> None:
        """Begin a session."""
        self.sessions[session] = Session(self.ways[way]())

    def compose(self, session: int, new: list[Message], query: str, budget: int) -> dict[str, Any]:
        """Compose in a session. A request that the peer cannot make is an empty one, which counts as invalid."""
        try:
            return self.sessions[session].compose(new, query, budget)
        except Exception as error:
            return {
                "messages": [],
                "seconds": 0.0,
                "model_calls": 0,
                "failure": f"{type(error).__name__}: {error}"[:500],
            }

    def recovers(self, session: int, values: list[str]) -> list[bool]:
        """Which values a model could bring back. A peer that can bring something back has a method `recovered`."""
        recovered = getattr(self.sessions[session].composer, "recovered", lambda: "")()
        return [value in recovered for value in values]

    def end(self, session: int) -> None:
        """Forget a session."""
        self.sessions.pop(session, None)

    def answer(self, line: str) -> dict[str, Any]:
        """Answer a request. If a peer fails, the answer says so and the run goes on."""
        request = json.loads(line)
        try:
            return {"ok": getattr(self, request.pop("do"))(**request)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:500]}


def serve(package: str, ways: Mapping[str, Callable[[], Composer]]) -> None:
    """Answer requests until there are no more."""
    _stay_offline()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what a library prints must not be taken for an answer
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    server = Server(package, ways)
    for line in sys.stdin:
        print(json.dumps(server.answer(line)), file=answers, flush=True)


def _stay_offline() -> None:
    """Refuse every connection that leaves this machine."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo" and arguments[0] not in LOOPBACK:
            raise OSError("peers run offline")
        if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in LOOPBACK:
            raise OSError("peers run offline")

    sys.addaudithook(refuse)


def _hello() -> list[Message]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look at it."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "It is there."},
        {"role": "assistant", "content": "It is there."},
        {"role": "user", "content": "How are you?"},
    ]
