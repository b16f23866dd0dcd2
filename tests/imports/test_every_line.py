"""Whole logs of Claude Code and Codex: every line is accounted for and given back, and they say what is documented.

In `make test` with two made-up logs that have every type of line; at full size with every recorded one there is.
"""

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import documented
import log_samples
import pytest
from documented import Said, joined, squeezed

from sightline import MemoryStores, Settings
from sightline.imports.conversation import Conversation, Use
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into
from sightline.imports.originals import read_back
from sightline.imports.source import Source
from sightline.values.items import Call, Opaque, Result, Text, plain_text

DATA = Path(os.environ.get("SIGHTLINE_DATA", Path(__file__).parents[3] / "shared" / "data"))
CLAUDE, CODEX = log_samples.as_file(log_samples.CLAUDE), log_samples.as_file(log_samples.CODEX)


def imported(data: bytes) -> tuple[Conversation, Imported, list[bytes]]:
    """A file's conversation, what importing it said, and the lines that the export gives back."""
    [found] = conversations(Source("log.jsonl", data=data))
    stores = MemoryStores()
    done = import_into(stores, found, settings=Settings())
    store = stores.open(done.session)
    store.refresh()
    return found, done, [*read_back(store)]


def check(data: bytes) -> Imported:
    """Check every promise on one file; return what importing it said."""
    lines = documented.values(data)
    found, done, back = imported(data)
    counted = Counter({use: sum(uses.get(use, 0) for uses in done.uses.values()) for use in Use})
    assert counted.total() == sum(done.types.values()) == done.lines == len(lines)
    assert [documented.values(line) for line in back] == [[line] for line in lines]
    is_claude = found.kind == "Claude Code"
    assert said(found, lines) == (documented.claude_said(lines) if is_claude else documented.codex_said(lines))
    assert found.usage == (documented.claude_usage(lines) if is_claude else documented.codex_usage(lines))
    return done


def said(found: Conversation, lines: list[Any]) -> list[Said]:
    """What the import shows since the last compaction, and its summary, without the lines of the harness."""
    harness = {
        line["uuid"] for line in lines
        if isinstance(line, dict) and "uuid" in line and (line.get("isMeta") or line["type"] == "attachment")
    }  # fmt: skip
    pieces: list[Said] = []
    for step in found.steps():
        if step.compaction is not None:
            pieces = [("user", squeezed(step.compaction.summary))]
        for turn in step.turns:
            if turn.uuid.partition(".")[0] not in harness and not turn.uuid.endswith(":1.1"):
                pieces += [each for part in turn.message.parts for each in _pieces(turn.message.role, part)]
    return joined(pieces)


def _pieces(role: str, part: Any) -> Iterator[Said]:
    match part:
        case Text():
            yield str(role), squeezed(part.text)
        case Call():
            yield "call", part.id, part.name
        case Result():
            yield "result", part.id, squeezed(plain_text(part.parts))
        case Opaque():
            return


@pytest.mark.parametrize(
    ("data", "uses"),
    [(CLAUDE, log_samples.CLAUDE_USES), (CODEX, log_samples.CODEX_USES)],
    ids=["Claude Code", "Codex"],
)
def test_a_log_with_every_type_of_line(data: bytes, uses: dict[str, int]) -> None:
    """Each line is read as one thing, the export has its JSON, the conversation and the usage are those documented."""
    done = check(data)
    counted: Counter[str] = Counter()
    for each in done.uses.values():
        counted.update(each)
    assert counted == uses


@pytest.mark.parametrize("data", [CLAUDE, CODEX], ids=["Claude Code", "Codex"])
def test_what_the_checks_would_notice(data: bytes) -> None:
    """A line of the conversation or of the usage less is seen, so the checks can fail."""
    lines = documented.values(data)
    found, _, _ = imported(data)
    is_claude = found.kind == "Claude Code"
    told: Callable[[list[Any]], list[Said]] = documented.claude_said if is_claude else documented.codex_said
    used = documented.claude_usage if is_claude else documented.codex_usage
    fewer = [lines[:at] + lines[at + 1 :] for at in range(len(lines))]
    assert sum(said(found, lines) != told(each) for each in fewer) >= 3
    assert any(found.usage != used(each) for each in fewer)


def test_an_item_of_no_known_form_is_said_to_be_unknown() -> None:
    """It is in the file and not in the conversation: the count tells, and the line is kept."""
    lines = [*log_samples.CODEX[:4], {"type": "response_item", "payload": {"type": "function_call", "name": 3}}]
    _, done, back = imported(log_samples.as_file(lines))
    assert done.uses["response_item/function_call"] == {Use.UNKNOWN: 1}
    assert len(back) == len(lines)


# ---------------------------------------------------------------------- recorded logs, at full size


def recorded() -> Iterator[tuple[str, bytes]]:
    """Every recorded log there is. Those in an archive have lost their envelopes, which are put back."""
    for path in sorted((DATA / "claude_code_sessions").glob("*.jsonl")):
        yield path.name, path.read_bytes()
    for path in sorted((DATA / "entire_sessions").glob("c[lo]*_[0-9]*.jsonl.gz")):
        if path.name.startswith("compactions"):
            continue  # no logs: messages before and after a summary
        restore = restored_claude if path.name.startswith("claude") else restored_codex
        with gzip.open(path) as file:
            for number, line in enumerate(file):
                record = json.loads(line)
                yield f"{path.name} {number}", log_samples.as_file([*restore(record["id"], record["rows"])])


def restored_claude(id_: str, rows: list[Any]) -> Iterator[Any]:
    """Lines as Claude Code writes them: linked in their order, usage and model in the message, compactions marked."""
    parent = None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    for row in rows:
        message = {**row["message"], "role": row["type"], "model": row.get("model")}
        if "usage" in row:
            message["usage"] = dict(zip(names, row["usage"], strict=True))
        more = {key: row[key] for key in ("isMeta", "isCompactSummary") if key in row}
        if row.get("isCompactSummary"):
            boundary = f"before {row['uuid']}"
            yield {
                "type": "system", "subtype": "compact_boundary", "uuid": boundary, "parentUuid": None,
                "logicalParentUuid": parent, "sessionId": id_, "compactMetadata": {"trigger": "auto", "preTokens": 1},
            }  # fmt: skip
            parent = boundary
        parent, before = row["uuid"], parent
        yield {
            "type": row["type"], "uuid": row["uuid"], "parentUuid": before, "sessionId": id_,
            "timestamp": row["timestamp"], "message": message, **more,
        }  # fmt: skip


def restored_codex(id_: str, rows: list[Any]) -> Iterator[Any]:
    """Lines as Codex writes them: items and usage in their envelopes."""
    for row in rows:
        time = row.get("timestamp") or "2026-04-11T16:08:16.093Z"
        match row:
            case {"type": "session_meta", "base_instructions": text}:
                yield {"timestamp": time, "type": "session_meta",
                       "payload": {"id": id_, "base_instructions": {"text": text}}}  # fmt: skip
            case {"type": "item", "item": item}:
                yield {"timestamp": time, "type": "response_item", "payload": item}
            case {"type": "usage", "usage": used}:
                info = {"type": "token_count", "info": {"last_token_usage": used}}
                yield {"timestamp": time, "type": "event_msg", "payload": info}
            case _:
                yield {"timestamp": time, "type": row["type"], "payload": row}


@pytest.mark.soak
def test_every_recorded_log(tried: Callable[[str, int], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is accounted for and given back; conversation and usage are those documented. Counts are printed."""
    counted: Counter[tuple[str, str]] = Counter()
    files = lines = 0
    for name, data in recorded():
        try:
            done = check(data)
        except Exception as error:
            error.add_note(name)
            raise
        files, lines = files + 1, lines + done.lines
        for kind, uses in done.uses.items():
            counted.update({(kind, str(use)): count for use, count in uses.items()})
    with capsys.disabled():
        print("\n" + "\n".join(f"{count:7,} {kind}: {use}" for (kind, use), count in sorted(counted.items())))
    tried("recorded logs", files)
    tried("recorded lines", lines)


def test_half_a_character_loses_no_line() -> None:
    """The escape of an emoji that was cut in two is shown as U+FFFD, and the line is given back byte for byte."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "cut \ud83d, whole \U0001f600"}
    lines = [
        {"type": role, "uuid": own, "parentUuid": parent, "sessionId": "s", "message": {"role": role, "content": said}}
        for role, own, parent, said in (
            ("user", "u1", None, "Look."), ("assistant", "a1", "u1", [call]), ("user", "u2", "a1", [result]),
            ("assistant", "a2", "u2", "Done."),
        )
    ]  # fmt: skip
    written = [json.dumps(line).encode() for line in lines]
    found, done, back = imported(b"\n".join(written) + b"\n")
    turns = [turn for step in found.steps() for turn in step.turns]
    results = [part for turn in turns for part in turn.message.parts if isinstance(part, Result)]
    assert [plain_text(each.parts) for each in results] == ["cut \ufffd, whole \U0001f600"]
    assert (done.messages, sum(uses.get(Use.UNREADABLE, 0) for uses in done.uses.values())) == (4, 0)
    assert back[2].rstrip(b"\n") == written[2]
    assert [json.loads(line) for line in back] == lines


@pytest.mark.parametrize(
    "data", [rb'[{"role":"user","content":"\ud800 lone"}]', b'{"role":"user","content":"\\ud800 lone"}']
)
def test_half_a_character_in_a_list_of_messages(data: bytes) -> None:
    """It is a conversation like others, as one document or line by line."""
    [found] = conversations(Source("list.json", data=data))
    [turn] = [turn for step in found.steps() for turn in step.turns]
    assert plain_text(turn.message.parts) == "\ufffd lone"
