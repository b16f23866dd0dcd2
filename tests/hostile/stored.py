"""What must hold of a log after anything happened to its writers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from writer import opened

from sightline.compose.verify import verify
from sightline.log import entries as log
from sightline.log.journal import Journal
from sightline.log.stores import Store
from sightline.log.stores.jsonl import JsonlStore
from sightline.log.stores.session_folder import Folder
from sightline.plan.view import Budget
from sightline.testing import WordCounter
from sightline.values.clock import nanoid, wall_clock

WRITER = Path(__file__).with_name("writer.py")
Acks = list[dict[str, Any]]


def child(mode: str, root: Path | str, *arguments: object) -> "subprocess.Popen[bytes]":
    """A writer of its own process, from scratch."""
    command = [sys.executable, str(WRITER), mode, str(root), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def heard(lines: list[bytes]) -> Acks:
    """What a writer said; a line that it was killed in says nothing."""
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def file_of(root: Path, session_id: str) -> Path:
    """The session's log."""
    return Folder(root, root).file(session_id)


def entries_in(path: Path) -> list[log.Entry]:
    """Every line of the file; each must be an entry."""
    return [log.decode(line) for line in path.read_bytes().splitlines(keepends=True)]


def check(root: Path, session_id: str, acks: Acks, *, clean_end: bool = True) -> None:
    """Nothing acknowledged is lost, the log is whole and dense, every payload can be made again, the session goes on.

    With `clean_end` the session is closed, which leaves an index; else it is only let go of.
    """
    assert not [ack["error"] for ack in acks if "error" in ack]
    session = opened(str(root), session_id)
    assert session.repairs.damaged == []
    path = file_of(root, session_id)
    if path.exists():  # killed before it said anything
        check_log(path, acks)
    session.user("Go on.")
    assert session.compose(Budget(window=1500)).hash
    session.reply("I do.")
    if clean_end:
        session.close()
    else:
        session.log.store.close()


def check_log(path: Path, acks: Acks) -> None:
    """Everything acknowledged is in the log at its place; seqs are dense; batches complete; payloads the same again."""
    check_entries(entries_in(path), acks)
    check_payloads(JsonlStore(path, read=False))


def check_payloads(store: Store) -> None:
    """Every payload is the same again."""
    journal = Journal(store, clock=wall_clock, ids=nanoid, token_counter=WordCounter())
    assert [payload for payload in verify(journal) if not payload.good] == []
    journal.store.close()


def check_entries(entries: list[log.Entry], acks: Acks) -> None:
    """Everything acknowledged is among the entries at its place; seqs are dense; batches complete."""
    seqs = {entry.uuid: entry.seq for entry in entries}
    hashes = {json.loads(bytes(entry.data))["hash"] for entry in entries if entry.subtype == log.RECEIPT}
    assert [ack for ack in acks if "uuid" in ack and seqs.get(ack["uuid"]) != ack["seq"]] == []
    assert [ack for ack in acks if "receipt" in ack and ack["receipt"] not in hashes] == []
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert len(seqs) == len(entries)
    check_batches(entries)


def check_batches(entries: list[log.Entry]) -> None:
    """Every batch is whole, and stands together."""
    batches = iter(entry.batch for entry in entries)
    for first in batches:
        if first is not None:
            assert first[0] == 1
            assert [next(batches) for _ in range(first[1] - 1)] == [(i, first[1]) for i in range(2, first[1] + 1)]
