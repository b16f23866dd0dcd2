"""A writer that is killed at any moment loses nothing it was told is stored."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from stored import Acks, check, child, heard
from tests.conftest import Tried

FORKED = 50
LIVES = 10  # of one session, each ended by a kill
SPAWNED = 5
SOAK_SPAWNED = 200


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, "Nursery"]]:
    """One process that forks talkers: a fork of this one would take its threads' locks along."""
    root = tmp_path_factory.mktemp("killed")
    nursery = Nursery(root)
    yield root, nursery
    nursery.close()


class Nursery:
    """See `writer.py`."""

    def __init__(self, root: Path) -> None:
        self._process = child("nursery", root)

    def life(self, session_id: str, seed: int, acks: int, microseconds: int) -> Acks:
        """Let a talker live until it has said so much, and a moment longer. What it said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{session_id} {seed} {acks} {microseconds}\n".encode())
        self._process.stdin.flush()
        (said,) = heard([self._process.stdout.readline()])
        assert isinstance(said, list)
        return said

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FORKED // LIVES))
def test_a_session_survives_kill_after_kill(nursery: tuple[Path, Nursery], number: int, tried: Tried) -> None:
    """After each of ten kills nothing acknowledged in any life is lost, and the session goes on."""
    root, forker = nursery
    random = Random(number)
    acks: Acks = []
    for life in range(LIVES):
        acks += forker.life(f"s{number}", number * 100 + life, random.randrange(12), random.randrange(4000))
        check(root, f"s{number}", acks, clean_end=random.random() < 0.5)
    tried("kills of writers", LIVES)


def kill_spawned(root: Path, session_id: str, seed: int) -> Acks:
    """One life of a talker in a process of its own."""
    random = Random(seed)
    talker = child("talk", root, session_id, seed)
    assert talker.stdout is not None
    lines = [talker.stdout.readline() for _ in range(random.randrange(1, 15))]
    time.sleep(random.random() / 250)
    talker.kill()
    lines += talker.stdout.readlines()
    talker.communicate()
    return heard(lines)


def test_a_spawned_writer_may_be_killed_too(tmp_path: Path, tried: Tried) -> None:
    """The same with processes that share nothing with anybody, one session through all their lives."""
    acks: Acks = []
    for seed in range(SPAWNED):
        acks += kill_spawned(tmp_path, "spawned", seed)
        check(tmp_path, "spawned", acks)
    assert acks
    tried("kills of writers", SPAWNED)


@pytest.mark.soak
@pytest.mark.parametrize("session", range(SOAK_SPAWNED // 20))
def test_several_writers_killed_among_each_other(tmp_path: Path, session: int, tried: Tried) -> None:
    """Of three writers of one branch some are killed while others write on; twenty kills per session."""
    random = Random(session)
    acks: Acks = []
    check_started(tmp_path)
    for _ in range(5):
        writers = [child("share", tmp_path, "shared", f"w{random.randrange(1 << 30)}", 0) for _ in range(4)]
        for writer in writers:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(random.randrange(2, 30))]
            time.sleep(random.random() / 200)
            writer.kill()
            lines += writer.stdout.readlines()
            writer.communicate()
            acks += heard(lines)
        check(tmp_path, "shared", [ack for ack in acks if "ready" not in ack], clean_end=random.random() < 0.5)
    tried("kills of writers", 20)


def check_started(root: Path) -> None:
    """A session for several writers, which none of them begins."""
    from sightline.session.session import Session
    from sightline.testing import WordCounter

    session = Session.new(root, session_id="shared", root=root, token_counter=WordCounter())
    session.user("Begin.")
    session.close()
