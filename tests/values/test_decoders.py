"""Types that several threads read for the first time at once, and JSON with half a character."""

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sightline.values.decoders import decode_mended, mend_escapes

SOURCE = Path(__file__).parents[2] / "src" / "sightline"
PROGRAM = """
import sys
from threading import Barrier, Thread

import msgspec
from sightline.values.decoders import convert, decode_json, decode_msgpack

sys.setswitchinterval(1e-6)
NAMES = ("first", "a", "b", "last")
INNER = {"first": [1, 2], "last": [3]}
GIVEN = {f"part{at}": INNER for at in range(6)}
JSON, PACKED = msgspec.json.encode(GIVEN), msgspec.msgpack.encode(GIVEN)
WAYS = [
    lambda kind: decode_json(JSON, kind),
    lambda kind: decode_msgpack(PACKED, kind),
    lambda kind: convert(GIVEN, kind),
]
whole = []


def read(kind, way, together):
    together.wait()
    whole.append(way(kind).part5.last == [3])


for number in range(150):
    parts = [
        msgspec.defstruct(f"Part{number}x{at}", [(name, "list[int] | None", None) for name in NAMES])
        for at in range(6)
    ]
    kind = msgspec.defstruct(f"Whole{number}", [(f"part{at}", part) for at, part in enumerate(parts)])
    together = Barrier(9)
    threads = [Thread(target=read, args=(kind, WAYS[at % 3], together)) for at in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(whole), all(whole))
"""


@pytest.mark.slow
def test_threads_may_use_a_type_for_the_first_time_at_once() -> None:
    """The process survives, and every thread reads the whole value. With msgspec alone it ends by a fault of memory."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1350 True\n", "")


@pytest.mark.slow
def test_types_are_read_by_our_decoders_only() -> None:
    """Nothing else asks msgspec to read a type: that is safe only as long as one thread does."""
    found = {
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "values" / "decoders.py" and "msgspec" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and _reads_a_type(node)
    }
    assert found == set(), "use sightline.values.decoders"


def _reads_a_type(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name in ("msgspec.json.decode", "msgspec.msgpack.decode"):
        return any(each.arg == "type" for each in call.keywords)
    return name == "msgspec.convert" or (name.startswith("msgspec.") and name.endswith(".Decoder") and bool(call.args))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb'"a \ud83d"', "a \ufffd"), (rb'"\udE00 b"', "\ufffd b"), (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
    ],
)  # fmt: skip
def test_half_a_character_is_read_as_none(written: bytes, read: str) -> None:
    """Only an escape without its other half is replaced, by as many bytes; what is no JSON stays an error."""
    assert decode_mended(written, str) == read
    assert len(mend_escapes(written)) == len(written)
    with pytest.raises(msgspec.DecodeError):
        decode_mended(written[:-1], str)
