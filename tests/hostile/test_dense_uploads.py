"""Small files that would fill the machine: what is unpacked of them, and what it becomes in memory, is bounded."""

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Tried

from sightline.errors import BadInput
from sightline.imports import source
from sightline.imports.detection import conversations
from sightline.imports.source import Source, is_dense

SIZE = 24_000_000  # bytes of a document, which gzip packs into some 23 kB
MULTIPLE = 4  # of the unpacked size: it is read, joined and looked at, but not decoded

BOMBS: dict[str, Callable[[int], bytes]] = {
    "lists in a list": lambda size: b"[" + b"[]," * (size // 3) + b"[]]",
    "objects in a list": lambda size: b"[" + b"{}," * (size // 3) + b"{}]",
    "members of objects": lambda size: b"[" + b'{"a":0},' * (size // 8) + b"{}]",
    "in a message": lambda size: b'[{"role":"user","content":[' + b"[]," * (size // 3) + b"[]]}]",
    "in one line of many": lambda size: b'{"role":"user","content":"hi"}\n[' + b"[]," * (size // 3) + b"[]]\n",
    "over many lines": lambda size: b"[\n" + b"[],[],[],[],\n" * (size // 13) + b"[]]",
    "numbers": lambda size: b"[" + b"1," * (size // 2) + b"1]",
    "between strings": lambda size: b"[" + b'"","",[],[],' * (size // 12) + b'""]',
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_memory_is_a_small_multiple_of_the_unpacked_size(bomb: str, tmp_path: Path, tried: Tried) -> None:
    """It is refused with a sentence that helps, and until then takes little."""
    file = tmp_path / "upload.json.gz"
    size = SIZE // 4
    file.write_bytes(gzip.compress(BOMBS[bomb](size), 9))
    assert file.stat().st_size < size // 100
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="jq -c"):
            list(conversations(Source(file, most=1 << 30)))
        assert tracemalloc.get_traced_memory()[1] < MULTIPLE * size
    finally:
        tracemalloc.stop()
    tried("bytes of dense files", size)


@pytest.mark.parametrize("bomb", BOMBS)
def test_nothing_of_a_dense_file_is_decoded(bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest piece that is decoded is one that may hold anything."""
    decoded: list[int] = []
    decode = source.decode_mended
    monkeypatch.setattr(source, "_SPARSE", 2_000)
    monkeypatch.setattr(source, "decode_mended", lambda data, kind: decoded.append(len(data)) or decode(data, kind))
    monkeypatch.setattr("sightline.imports.detection.decode_mended", lambda *_: pytest.fail("a document was decoded"))
    with pytest.raises(BadInput, match="little but brackets and commas"):
        list(conversations(Source("upload.json", data=BOMBS[bomb](100_000))))
    assert max(decoded, default=0) <= 2_000


@pytest.mark.slow
def test_what_is_allowed_takes_a_bounded_multiple() -> None:
    """The densest documents that pass, as objects: measured, so that the weights hold."""
    pad = b'"' + b"x" * 14 + b'",'
    for unit, count in ((b"[]," + pad, 100_000), (b'{"a":[' + pad + pad + b"0]},", 60_000)):
        data = b"[" + unit * count + b"0]"
        tracemalloc.start()
        try:
            value = json.loads(data)
            taken = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert value
        assert is_dense(data) or taken < 20 * len(data)


def test_long_texts_with_many_brackets_are_no_bombs() -> None:
    """Code, tables and JSON inside strings are what recordings are made of."""
    text = json.dumps({"rows": [{"a": 1, "b": [1, 2, 3]}] * 100})
    messages = [{"role": "user", "content": text + '\\" [[[,,,'} for _ in range(1_000)]
    short = [{"role": "user", "content": "hi"} for _ in range(80_000)]
    for value in (messages, short, [{"role": "user", "content": [{"type": "text", "text": "hi"}]}] * 60_000):
        data = json.dumps(value, separators=(",", ":")).encode()
        assert len(data) > 2 << 20
        assert not is_dense(data)
