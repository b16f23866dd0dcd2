"""Small files that would fill the machine: what is unpacked of them, and what it becomes in memory, is bounded."""

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from in_process import InProcess
from tests.conftest import Tried

from sightline.errors import BadInput
from sightline.imports import source
from sightline.imports.detection import conversations
from sightline.imports.source import Source, is_dense
from sightline.server.access_token import hash_token
from sightline.server.app import create_app
from sightline.server.config import Config

SIZE = 24_000_000  # bytes of a document, which gzip packs into some 23 kB
MULTIPLE = 4  # of the unpacked size: it is read, joined and looked at, but not decoded

BOMBS: dict[str, Callable[[int], bytes]] = {
    "lists in a list": lambda size: b"[" + b"[]," * (size // 3) + b"[]]",
    "objects in a list": lambda size: b"[" + b"{}," * (size // 3) + b"{}]",
    "members of objects": lambda size: b"[" + b'{"a":0},' * (size // 8) + b"{}]",
    "in a message": lambda size: b'[{"role":"user","content":[' + b"[]," * (size // 3) + b"[]]}]",
    "in one line of many": lambda size: b'{"role":"user","content":"hi"}\n[' + b"[]," * (size // 3) + b"[]]\n",
    "over many lines": lambda size: b"[\n" + b"[],[],[],[],\n" * (size // 13) + b"[]]",
    "messages without a word": lambda size: b"[" + b'{"role":"user","content":""},' * (size // 29) + b"{}]",
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
    monkeypatch.setattr(source, "SPARSE", 2_000)
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


@pytest.mark.parametrize("place", ["content", "messages", "tools", "metadata", "after a known request"])
@pytest.mark.parametrize("bomb", ["lists in a list", "members of objects"])
def test_a_dense_request_is_not_decoded(bomb: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes up as it came, and is counted as not logged; with --require-log it is refused."""
    monkeypatch.setattr("sightline.imports.source.SPARSE", 2_000)
    monkeypatch.setattr("sightline.server.proxy.SPARSE", 2_000)
    dense = BOMBS[bomb](20_000)
    message = b'{"role":"user","content":%s}' % (dense if place == "content" else b'"Hello"')
    more = message if place != "messages" else b"[],".join([b"[],"] * 5_000) + message
    known = b'{"model":"m","messages":[{"role":"user","content":"Hello"}'
    body = b'{"model":"m","%s":%s,"messages":[%s]}' % (place.encode(), dense, more)
    if place == "after a known request":
        body = known + b',{"role":"assistant","content":"Yes."},{"role":"user","content":%s}]}' % dense
    through = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"size": len(request.content)}))
    told = {"folder": tmp_path, "root": tmp_path / "logs", "upstreams": {"openai": "http://up.invalid/v1"}}
    for requires in (False, True):
        config = Config(**told, token_hash=hash_token("t" * 40), require_log=requires)  # type: ignore[arg-type]
        server = InProcess(app := create_app(config, transport=through))
        server.start()
        headers = {"authorization": "Bearer any", "content-type": "application/json"}
        server.post("/v1/chat/completions", known + b"]}", headers)
        with monkeypatch.context() as patch:
            for name in ("parse", "RecentRequests.match"):
                patch.setattr(f"sightline.server.proxy.{name}", lambda *_: pytest.fail("a request was decoded"))
            answer = server.post("/v1/chat/completions", body, headers)
        assert answer.status_code == (400 if requires else 200)
        assert requires or answer.json() == {"size": len(body)}
        assert app.state.totals.unlogged == (0 if requires else 1)
        server.stop()


def test_what_speaks_mcp_takes_no_large_bodies(tmp_path: Path) -> None:
    """Its own reader decodes what comes, and a question is short."""
    told = {"folder": tmp_path, "root": tmp_path / "logs", "token_hash": hash_token("t" * 40)}
    server = InProcess(create_app(Config(**told)))  # type: ignore[arg-type]
    server.start()
    headers = {"x-sightline-token": "t" * 40, "content-type": "application/json"}
    assert server.post("/api/mcp", BOMBS["lists in a list"](3 << 20), headers).status_code == 413
    server.stop()


def test_long_texts_with_many_brackets_are_no_bombs() -> None:
    """Code, tables and JSON inside strings are what recordings are made of."""
    text = json.dumps({"rows": [{"a": 1, "b": [1, 2, 3]}] * 100})
    messages = [{"role": "user", "content": text + '\\" [[[,,,'} for _ in range(1_000)]
    short = [{"role": "user", "content": "hi"} for _ in range(80_000)]
    for value in (messages, short, [{"role": "user", "content": [{"type": "text", "text": "hi"}]}] * 60_000):
        data = json.dumps(value, separators=(",", ":")).encode()
        assert len(data) > 2 << 20
        assert not is_dense(data)
