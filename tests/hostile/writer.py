"""A program that talks to a session and says on a pipe, after each call that returned, what is stored now.

Its parent kills it at any moment. ROOT is a folder, or the address of a database. Run as

    writer.py talk ROOT ID SEED        turns of a conversation with tools, without end
    writer.py share ROOT ID NAME COUNT what several writers of one branch can do, COUNT times (0: without end)
    writer.py nursery ROOT             forks a talker per line "ID SEED ACKS MICROSECONDS" of its input, kills it after
                                       so many acknowledgements and that pause, and prints what was acknowledged
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any

from sightline.errors import Conflict
from sightline.fleet.address import is_address
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores.session_folder import Folder
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter

BUDGET = Budget(window=1500)  # words: small enough for sweeps
Say = Callable[[dict[str, Any]], None]


def opened(root: str, session_id: str, fsync: str = "turn") -> Session:
    """The session, made if it is not there."""
    if is_address(root):
        stores, own = PostgresStores(root), {"token_counter": WordCounter()}
        begin = Session.resume if stores.has(session_id) else Session.new
        return begin(session_id=session_id, stores=stores, **own)
    options: dict[str, Any] = {"root": root, "token_counter": WordCounter(), "fsync": fsync}
    if Folder(root, root).file(session_id).exists():
        return Session.resume(session_id, root, **options)
    return Session.new(root, session_id=session_id, **options)


def acknowledged(session: Session, item_id: str) -> dict[str, Any]:
    """The entry of an item that was just accepted."""
    row = session.log.timeline.row(item_id)
    assert row is not None
    entry = session.log.reader.entry(row)
    return {"uuid": entry.uuid, "seq": entry.seq}


def reply(random: Random, calls: list[str]) -> dict[str, Any]:
    """A model's answer, with these calls."""
    tool_calls = [
        {"id": call, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": f"{call}.py"})}}
        for call in calls
    ]
    text = "answer " * random.randrange(1, 60)
    return {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": tool_calls}}]}


def talk(session: Session, say: Say, random: Random) -> Iterator[None]:
    """One turn per step: a question, payloads, answers with calls, results, now and then something else."""

    def composed() -> None:
        say({"receipt": session.compose(BUDGET).hash})

    for turn in count():
        asked = session.user(f"question {turn} " + "word " * random.randrange(1, 40))
        say(acknowledged(session, asked))
        composed()
        calls = [f"call{turn}_{number}_{random.randrange(1 << 30)}" for number in range(random.randrange(1, 4))]
        say(acknowledged(session, session.reply(reply(random, calls)).partition(".")[0]))
        for call in calls:
            output = "line of output\n" * random.choice((3, 30, 3000, 60_000))
            say(acknowledged(session, session.tool_result(call, output)))
        composed()
        say(acknowledged(session, session.reply(reply(random, []))))
        match random.randrange(4):
            case 0:
                session.items.pin(asked)
            case 1:
                session.items.expand(asked)
            case 2:
                session.log.save_index()
            case _:
                session.flush()
        yield


def insist(session: Session, action: Callable[[], str]) -> tuple[str, int]:
    """Do it until no other writer is in the way; what it gave, and how often one was."""
    for conflicts in count():
        try:
            return action(), conflicts
        except Conflict:
            session.refresh()
    raise AssertionError("unreachable")


def share(session: Session, say: Say, name: str, turns: int) -> None:
    """Write among others: messages, which may conflict, and annotations, which may not."""
    for turn in range(turns) if turns else count():
        text = f"{name} says {turn}"
        item, conflicts = insist(session, lambda text=text: session.user(text))  # type: ignore[misc]
        say({**acknowledged(session, item), "text": text, "conflicts": conflicts})
        session.items.pin(item)
        session.items.unpin(item)
        if turn % 5 == 0:
            say({"receipt": session.compose(BUDGET).hash})
            item, _ = insist(session, lambda: session.reply(f"{name} was heard"))
            say(acknowledged(session, item))


def sayer(fd: int) -> Say:
    """Says things as lines on this pipe, each with one write."""
    return lambda what: (os.write(fd, json.dumps(what).encode() + b"\n"), None)[1]


def fork_and_kill(root: str, session_id: str, seed: int, acks: int, microseconds: int) -> list[dict[str, Any]]:
    """One life of a talker: what it had said when it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        say = sayer(writer)
        try:
            for _ in talk(opened(root, session_id, Random(seed).choice(("turn", "always"))), say, Random(seed)):
                pass
        except BaseException:
            say({"error": traceback.format_exc()})
        os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        lines = [said.readline() for _ in range(acks)]
        time.sleep(microseconds / 1e6)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines += said.readlines()
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def main(mode: str, root: str, *rest: str) -> None:
    """See above."""
    if mode == "nursery":
        for line in sys.stdin:
            session_id, *numbers = line.split()
            print(json.dumps(fork_and_kill(root, session_id, *map(int, numbers))), flush=True)
        return
    say = sayer(sys.stdout.fileno())
    session = opened(root, rest[0])
    if mode == "talk":
        for _ in talk(session, say, Random(int(rest[1]))):
            pass
    else:
        say({"ready": True})
        share(session, say, rest[1], int(rest[2]))
        session.close()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
