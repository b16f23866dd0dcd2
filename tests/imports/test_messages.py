"""Lists of messages: every form people have, one conversation per line, folders, archives, and what is refused."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from sightline import BadInput, MemoryStores, Session, Settings
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into
from sightline.imports.originals import read_back
from sightline.imports.source import Source
from sightline.log.stores import Stores
from sightline.values.items import plain_text

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "look " * 30},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "text of x"},
    {"role": "assistant", "content": "done"},
]  # fmt: skip
ANTHROPIC = {
    "model": "claude-x",
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "read", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "look " * 30},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "text of x"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ],
}
LANGCHAIN = [
    {"type": "system", "content": "Be brief.", "additional_kwargs": {}, "response_metadata": {}},
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
     "kwargs": {"content": "look " * 30, "type": "human"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "read", "args": {"path": "x"}, "id": "c1"}]}},
    {"type": "tool", "content": "text of x", "tool_call_id": "c1", "status": "success"},
    {"type": "AIMessageChunk", "content": "done"},
]  # fmt: skip
KINDS = ["SYSTEM", "USER", "ASSISTANT", "CALL", "RESULT", "ASSISTANT"]


def of(value: Any) -> Source:
    return Source("x.json", data=value if isinstance(value, bytes) else json.dumps(value).encode())


def lines(*values: Any) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


def imported(value: Any, stores: Stores, **options: Any) -> list[Imported]:
    return [import_into(stores, found, settings=Settings()) for found in conversations(of(value), **options)]


def given_back(stores: Stores, session_id: str) -> bytes:
    store = stores.open(session_id)
    store.refresh()
    return b"".join(read_back(store))


@pytest.mark.parametrize(
    "value", [CHAT, {"messages": CHAT, "id": "7"}, ANTHROPIC, LANGCHAIN, lines(*CHAT), lines(*LANGCHAIN)]
)
def test_every_form_is_imported_and_given_back(value: Any) -> None:
    """As a document or by lines: the same items, and the source as it was."""
    stores = MemoryStores()
    [done] = imported(value, stores)
    with Session.resume(done.session, stores=stores) as session:
        assert [item.kind.name for item in session.items] == KINDS
        assert plain_text(session.items[session.items.table()[-1].id].parts) == "done"
    back = given_back(stores, done.session)
    if isinstance(value, bytes):
        assert [json.loads(each) for each in back.splitlines()] == [json.loads(each) for each in value.splitlines()]
    else:
        assert json.loads(back) == value
    assert imported(value, stores)[0].state == "unchanged"
    assert len(stores.sessions()) == 1


def test_a_list_that_has_grown_adds_its_new_messages() -> None:
    """Another one that begins alike and goes on otherwise is another conversation."""
    stores = MemoryStores()
    [first] = imported(CHAT[:4], stores)
    [grown] = imported(CHAT, stores)
    assert (grown.session, grown.state, grown.added) == (first.session, "grown", 1)
    [other] = imported([*CHAT[:2], {"role": "assistant", "content": "no"}], stores)
    assert other.state == "new"
    assert other.session != first.session
    assert [imported(value, stores)[0].state for value in (CHAT, CHAT[:4])] == ["unchanged", "unchanged"]


def test_one_conversation_per_line_is_a_session_each() -> None:
    """Also if one is the beginning of another; `line` chooses one."""
    data = lines({"messages": CHAT[:2]}, {"messages": CHAT}, CHAT[1:])
    stores = MemoryStores()
    assert [done.messages for done in imported(data, stores)] == [2, 5, 4]
    assert len(stores.sessions()) == 3
    assert [done.state for done in imported(data, stores, line=2)] == ["unchanged"]
    with pytest.raises(BadInput, match="no conversation number 4"):
        imported(data, stores, line=4)


def test_a_folder_gives_its_conversations_and_names_the_other_files(tmp_path: Path) -> None:
    """In all folders below it, compressed ones too."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(CHAT))
    (tmp_path / "notes.txt").write_text("no candidate")
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(lines(*CHAT)))
    refused: list[str] = []
    found = [*conversations(tmp_path, refuse=lambda name, _: refused.append(Path(name).name))]
    assert [Path(each.name).name for each in found] == ["a.json", "b.jsonl.gz"]
    assert refused == ["package.json"]
    assert [Path(each.name).name for each in conversations(tmp_path, line=2)] == ["b.jsonl.gz"]
    (empty := tmp_path / "none").mkdir()
    with pytest.raises(BadInput, match=r"no file in .* is a conversation"):
        [*conversations(empty)]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"id":"a","question":"what?"}', r"an object with the keys \['id', 'question'\]"),
        (lines({"id": "a", "question": "what?"}, {"id": "b", "question": "why?"}), "line 1: found an object with"),
        (lines({"type": "event", "name": "x"}, {"type": "event", "name": "y"}), r"line 1: found"),
        (b"name,age\nann,7\n", "line 1 is no JSON: 'name,age'"),
        (b"", "is empty"),
        (b"\x28\xb5\x2f\xfd....", "zstd -d"),
        (gzip.compress(lines(*CHAT) * 50, mtime=0)[:60], "damaged or cut off"),
        (lines(*CHAT, {"role": "nobody", "content": "x"}), "line 6: found role 'nobody'"),
        (lines({"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count"}}), "token_count ×1"),
    ],
)
def test_what_is_no_conversation_is_refused_with_what_was_found(data: bytes, told: str) -> None:
    """Never read as an empty one, and nothing is written."""
    stores = MemoryStores()
    with pytest.raises(BadInput, match=told):
        imported(data, stores)
    assert stores.sessions() == []


def test_a_document_that_would_fill_the_memory_is_refused() -> None:
    """With a way out; the same messages by lines are read."""
    data = json.dumps(CHAT, indent=1).encode()
    with pytest.raises(BadInput, match=r"more than 300 bytes.*jq -c"):
        [*conversations(Source("x", data=data, longest=300))]
    assert [*conversations(Source("x", data=lines(*CHAT), longest=300))]


def test_standard_input_is_read_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found out what it is, then it is read."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines(*CHAT))))
    [found] = conversations("-")
    assert len([*found.steps()]) == 3


def test_an_import_that_was_killed_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """After any batch: what was written is not written again."""
    monkeypatch.setattr("sightline.imports.importer._BATCH", 1)
    whole, stores = MemoryStores(), MemoryStores()
    [done] = imported(lines(*CHAT), whole)
    [found] = conversations(of(lines(*CHAT)))
    steps = found.steps

    def dies(after: int = 0) -> Any:
        yield next(iter(steps(after)))
        raise KeyboardInterrupt

    found.steps = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        import_into(stores, found, settings=Settings())
    assert imported(lines(*CHAT), stores)[0].state in ("new", "grown")
    assert given_back(stores, done.session) == given_back(whole, done.session)
