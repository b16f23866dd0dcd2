"""Peers of the quality benchmark: what goes over the pipe, and what becomes of a peer that fails. None is installed."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from benchmarks.environment import ROOT, Environment, Missing, Peers
from benchmarks.quality import peers
from benchmarks.quality.peers.server import Server

HISTORY = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello", "ts": "2025-03-01", "id": "x"},
    {"role": "assistant", "content": "Hello to you"},
    {"role": "user", "content": "And now?"},
]
ENDS = {
    "last": "Keeps the system message and the last one.",
    "loud": "Prints, and shouts the last message.",
    "broken": "Cannot compose.",
    "online": "Asks somebody elsewhere.",
}

# A peer of our own, in a process of its own: what a package from PyPI would be.
MODULE = """
import socket
from benchmarks.quality.peers.server import serve

class Last:
    model_calls = 0
    def __init__(self):
        self.history = []
    def add(self, messages):
        self.history += messages
    def compose(self, query, budget):
        self.model_calls += 1
        return [dict(self.history[0]), dict(self.history[-1])]
    def messages(self, composed):
        return composed

class Loud(Last):
    def compose(self, query, budget):
        print("not an answer")
        return [{**self.history[-1], "content": self.history[-1]["content"].upper()}]

class Broken(Last):
    def compose(self, query, budget):
        raise ValueError("too small: " + str(budget))

class Online(Last):
    def compose(self, query, budget):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

if __name__ == "__main__":
    serve("msgspec", {"last": Last, "loud": Loud, "broken": Broken, "online": Online})
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The peer's ways as composers, in an environment that is ready: this one's interpreter under another name."""
    (tmp_path / "a_peer.py").write_text(MODULE)
    home, pins = tmp_path / "env", tmp_path / "pins.txt"
    (home / "bin").mkdir(parents=True)
    pins.write_text("nothing==1\n")
    (home / ".ready").write_text(pins.read_text())
    (home / "bin" / "python").symlink_to(sys.executable)
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "src"), *sys.path[1:]])}
    made = Environment(home, ("nothing",), pins, "a_peer", paths)
    for way in ENDS:
        monkeypatch.setitem(peers.KINDS, way, peers.Kind("a_peer", "nothing", way))
    monkeypatch.setattr(peers, "environment", lambda name: made)
    yield
    peers.close()


def test_what_is_unchanged_comes_back_as_it_was(installed: None) -> None:
    """A message that the peer left alone is the history's own, with all it carries; only new messages are sent."""
    peer = peers.composer("last")()
    peer.start("one")
    first = peer.compose(HISTORY[:2], "Hello", 8000)
    assert [message is HISTORY[at] for at, message in enumerate(first)] == [True, True]
    second = peer.compose(HISTORY, "And now?", 8000)
    assert second == [HISTORY[0], HISTORY[3]]
    assert peer.model_calls == 2
    assert peer.seconds > 0


def test_sessions_are_apart(installed: None) -> None:
    """Two sessions of one process know nothing of each other, and a session that begins again knows nothing."""
    one, two = peers.composer("last")(), peers.composer("last")()
    one.start("one")
    two.start("two")
    one.compose(HISTORY, "", 8000)
    assert two.compose(HISTORY[:1], "", 8000) == [HISTORY[0], HISTORY[0]]
    one.start("again")
    assert one.compose(HISTORY[:2], "", 8000) == HISTORY[:2]
    assert one.model_calls == 1


def test_what_a_peer_prints_is_no_answer(installed: None) -> None:
    """Words on its output do not disturb the pipe; a changed message comes back changed."""
    peer = peers.composer("loud")()
    peer.start("one")
    assert peer.compose(HISTORY, "", 8000) == [{"role": "user", "content": "AND NOW?"}]


def test_a_request_that_cannot_be_made_is_an_empty_one(installed: None) -> None:
    """A peer that raises gives no request and a reason, and goes on with the next call."""
    peer = peers.composer("broken")()
    peer.start("one")
    assert peer.compose(HISTORY, "", 900) == []
    assert peer.failure == "ValueError: too small: 900"


def test_peers_are_offline(installed: None) -> None:
    """No connection leaves the machine."""
    peer = peers.composer("online")()
    peer.start("one")
    assert peer.compose(HISTORY, "", 8000) == []
    assert "peers run offline" in peer.failure


def test_a_peer_that_does_not_run_is_left_out_with_the_reason(installed: None) -> None:
    """What fails on a first try is no version but a reason; the others of its environment run."""
    found = peers.available(["last", "online"])
    assert found["last"] == version("msgspec")
    assert isinstance(found["online"], peers.WhyNot)
    assert "peers run offline" in found["online"]


def test_a_process_that_ends_is_a_reason(tmp_path: Path) -> None:
    """A module that is not there ends its process: asking says so."""
    home, pins = tmp_path / "env", tmp_path / "pins.txt"
    (home / "bin").mkdir(parents=True)
    pins.write_text("nothing==1\n")
    (home / ".ready").write_text(pins.read_text())
    (home / "bin" / "python").symlink_to(sys.executable)
    process = Peers(Environment(home, ("nothing",), pins, "no_such_module"))
    with pytest.raises(Missing, match="ended"):
        process.ask("version", way="any")
    process.close()


def test_an_unknown_request_is_answered() -> None:
    """The peers' side says what it cannot do, and stays."""
    server = Server("msgspec", {})
    assert "AttributeError" in server.answer('{"do": "dance"}')["error"]
    assert server.answer('{"do": "end", "session": 7}') == {"ok": None}


@pytest.mark.parametrize("name", peers.NAMES)
def test_every_peer_has_a_module_and_its_versions(name: str) -> None:
    """Each is spoken for by a file that says in its docstring how it is used, and pinned with all it pulls in."""
    found = peers.environment(name)
    module = Path(peers.__file__).with_name(f"{peers.KINDS[name].module}.py").read_text()
    pinned = {line.partition("==")[0].lower() for line in found.pins.read_text().splitlines()}
    assert found.module.endswith(peers.KINDS[name].module)
    assert f'"{peers.KINDS[name].way}"' in module
    assert module.startswith('"""')
    assert {package.lower() for package in found.packages} <= pinned


def test_only_known_names_are_composers() -> None:
    """A misspelt name is told at once, with the names there are."""
    with pytest.raises(KeyError, match="lc_trim"):
        peers.composer("lc_trimm")
