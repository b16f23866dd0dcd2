"""Some rows of an Excel file as CSV.

The file is opened in a process of its own, with bounded memory and time, because the size of compressed data is known
only after it is unpacked, and the size that the file declares may be wrong.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from sightline.agent.tools.in_thread import ending_with
from sightline.values.decoders import convert, decode_json

MEMORY = 1 << 30  # of the process that opens the file
SECONDS = 20.0  # 200,000 cells take 0.2
MOST_UNPACKED = 100 << 20  # bytes that an .xlsx may declare to contain
MOST_ENTRIES = 2000  # files inside it: one for each sheet and picture
LARGEST = 50 << 20  # of the file itself

_CHILD = Path(__file__).with_name("excel_worker.py")


class Unreadable(Exception):
    """The file cannot be read: the reason ("missing" library, "bomb", "large", "slow", "sheet", "broken"), a detail."""


class Sheet(msgspec.Struct, frozen=True):
    """Rows `first` to `last` of `rows` of one sheet, the header not counted, as CSV under the header."""

    names: tuple[str, ...]  # of all sheets
    name: str
    columns: tuple[str, ...]
    rows: int
    first: int
    last: int
    text: str


def sheet(file: BinaryIO, size: int, name: str | int, start: int, rows: int, most_bytes: int) -> Sheet:
    """Return rows of one sheet, which is given by its name or by its number from 0. Raises Unreadable."""
    if size > LARGEST:
        raise Unreadable("large", str(LARGEST >> 20))
    request = {
        "sheet": name,
        "start": start,
        "rows": rows,
        "most_bytes": most_bytes,
        "memory": MEMORY,
        "seconds": int(SECONDS) + 1,
        "most_unpacked": MOST_UNPACKED,
        "most_entries": MOST_ENTRIES,
    }
    answer = _ask_worker(file, request)
    if "error" in answer:
        raise Unreadable(answer["error"], answer.get("detail", ""))
    return convert(answer, Sheet)


def _ask_worker(file: BinaryIO, request: dict[str, Any]) -> dict[str, Any]:
    """Return the worker's answer. The process gets the open file, and of our environment only the library paths."""
    file.seek(0)
    command = [sys.executable, "-P", "-S", str(_CHILD), msgspec.json.encode(request).decode()]
    libraries = os.pathsep.join(path for path in sys.path if path and Path(path).is_dir())
    with subprocess.Popen(
        command,
        stdin=file.fileno(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": libraries},
    ) as child:
        try:
            with ending_with(child.kill):
                said, _ = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Unreadable("slow", f"{SECONDS:g}") from None
        finally:
            child.kill()
    try:
        return decode_json(said, dict[str, Any])
    except msgspec.DecodeError:  # it ended early: a library stops the process when it runs out of memory
        raise Unreadable("large", str(MEMORY >> 20)) from None
