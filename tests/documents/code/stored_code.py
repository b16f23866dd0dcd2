"""What tests of the code store need: a clock, another process, and everything that is in a store."""

import json
import subprocess
import sys
from pathlib import Path

from sightline.documents.code.store import CodeStore, Saved

WRITER = Path(__file__).with_name("code_writer.py")


class Ticking:
    """A clock that goes one second further each time it is asked."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def child(mode: str, *arguments: object) -> "subprocess.Popen[str]":
    """Another process."""
    command = [sys.executable, str(WRITER), mode, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> object:
    """What it answered."""
    answer, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(answer)


def contents(store: CodeStore) -> dict[tuple[str, int], tuple[Saved, str]]:
    """Every version, what is known of it and its code."""
    versions = [each for code in store.list() for each in store.versions(code.code_id)]
    return {(each.code_id, each.version): (each, store.read(each.code_id, each.version)) for each in versions}
