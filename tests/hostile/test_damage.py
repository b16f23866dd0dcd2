"""One line of a log is damaged: every kind of line, in every way. The session opens, says so, and goes on."""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from checks import check_openai, recount
from damaged_log import BUDGET, ROOMY, DatabaseSample, FileSample, Sample, answer, said

from sightline import Session
from sightline.errors import BadInput, Damaged, StoreError
from sightline.log import entries
from sightline.log.stores.session_folder import Folder
from sightline.testing import WordCounter
from sightline.values.items import Kind

EACH = 1  # damages of each kind of line, in each way
SOAK_EACH = 100
ATTEMPTS = 4  # to open it: a line that was changed after it was indexed is found when it is read

Tried = Callable[[str, int], None]


@pytest.fixture(scope="module", params=["file", "database"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """In each store."""
    if request.param == "file":
        yield FileSample(tmp_path_factory.mktemp("damage"))
        return
    made = DatabaseSample(request.getfixturevalue("postgres"))
    yield made
    made.placed.close()


@contextmanager
def silence() -> Iterator[None]:
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def go_on(session: Session) -> None:
    """Everything that a program does next: all of it works."""
    session.interrupt()
    for budget in (BUDGET, ROOMY):
        session.user("Go on.")
        payload = session.compose(budget)
        assert payload.plan.tokens <= payload.plan.limit
        assert recount(session, payload) <= payload.plan.limit
        check_openai(json.loads(payload.json("openai")))
        session.reply(answer("I do."))
    opened = session.windows.open("todo")
    assert session.windows.act(opened, "add", text="more").success
    for window in session.windows.live():
        session.windows.act(window, "add", text="again")
        session.windows.close(window)
    try:
        session.summaries.compact(BUDGET)
        list(session.summaries)
        assert session.summaries.losses is not None
    except BadInput:  # too little to compact
        pass
    session.user("And on.")
    session.compose(BUDGET)
    session.items.search("module_3.py pay")
    list(session.receipts)
    list(session.receipts.verify())
    session.receipts.damaged_lines()


def survive(sample: Sample, lines: list[bytes], *, may_refuse: bool = False) -> None:
    """Open and go on, after at most a few times `Damaged`; and what was not damaged is there."""
    for _ in range(ATTEMPTS):
        try:
            with sample.resumed() as session:
                go_on(session)
                reader, timeline = session.log.reader, session.log.timeline
                texts = {said(reader.entry(row)) for row in range(len(timeline))}
                assert [text for text in sample.whole_texts(lines) if text not in texts] == []
            return
        except Damaged:
            continue
        except StoreError:
            if may_refuse:
                return
            raise
    raise AssertionError("damaged for good")


# ---------------------------------------------------------------------- ways to damage a line

VALUES = (None, -1, 0, 5, 7, 1 << 70, 10**30, 1.5, 1e300, "", "x", "2026-01-01T90:00:00Z", [], {}, [[]], {"a": 1}, True)


def flip_bit(line: bytes, random: Random) -> bytes:
    at = random.randrange(len(line) - 1)
    return line[:at] + bytes([line[at] ^ 1 << random.randrange(7)]) + line[at + 1 :]


def change_digit(line: bytes, random: Random) -> bytes:
    """A number that is not what it was, and a line that can be read."""
    at = random.choice([found.start() for found in re.finditer(rb"\d", line)])
    return line[:at] + str(random.randrange(10)).encode() + line[at + 1 :]


def cut_out(line: bytes, random: Random) -> bytes:
    at = random.randrange(len(line) - 1)
    return line[:at] + line[at + random.randrange(1, 20) :].rstrip(b"\n") + b"\n"


def truncate(line: bytes, random: Random) -> bytes:
    return line[: random.randrange(1, len(line) - 1)] + b"\n"


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value, with every key or index of it."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def exchange(line: bytes, random: Random) -> bytes:
    """Any value of a line becomes one of another type or size. The line has no checksum, as another tool writes it."""
    value = json.loads(line)
    value.pop("crc", None)
    found = list(places(value))
    inner = list(places(value["data"])) if isinstance(value.get("data"), dict | list) else []
    container, key = random.choice(inner if inner and random.random() < 0.7 else found)
    container[key] = random.choice(VALUES)
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


WAYS = (flip_bit, change_digit, cut_out, truncate, exchange)
KINDS = (
    "settings", "system", "tools", "window", "user", "receipt", "rendition", "assistant", "tool_use", "tool_result",
    "pin", "recall", "state", "compact_boundary", "summary", "loss", "uncompact", "head",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_line_stops_nothing(sample: Sample, kind: str, soak: bool, tried: Tried) -> None:
    """Whatever happened to it: the session opens, composes within its budget, acts, and goes on."""
    seed = int.from_bytes(os.urandom(4)) if soak else 18
    print(f"seed {seed}")
    random, each = Random(f"{seed} {kind}"), SOAK_EACH if soak else EACH
    ways = WAYS if soak or not sample.is_database else random.sample(WAYS, 1)  # what is done about it is the same
    with silence():
        for way in ways:
            for number in range(each):
                lines = list(sample.lines)
                at = random.choice(sample.kinds[kind])
                lines[at] = way(lines[at], random)
                sample.write(lines, indexed=random.random() < 0.5)
                try:
                    survive(sample, lines, may_refuse=way is exchange and kind == "settings")
                except BaseException as error:
                    error.add_note(f"{way.__name__} {number} of line {at}: {lines[at]!r}")
                    raise
    tried("damaged lines", len(ways) * each)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [1e300, {"a": 1}, "uodo_1"])
def test_a_window_is_changed_after_it_was_indexed(sample: Sample, wrong: Any) -> None:
    """Its place is known then, and what stands there is no window any more: that is found out when it is shown."""
    for at in sample.kinds["window"]:
        lines, value = list(sample.lines), json.loads(sample.lines[at])
        value.pop("crc", None)
        value["data"]["id"] = wrong
        lines[at] = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        with silence():
            sample.write(lines, indexed=True)
            survive(sample, lines)


# ---------------------------------------------------------------------- annotations that nobody could have written


def unchecked(line: bytes) -> bytes:
    """The line without its checksum, as older versions and other tools write it."""
    return re.sub(rb',"crc":"[0-9a-f]{8}"}\n$', b"}\n", line)


def last(sample: Sample, kind: str, having: bytes) -> int:
    """The last line of a kind that has these bytes."""
    return next(at for at in reversed(sample.kinds[kind]) if having in sample.lines[at])


IMPOSSIBLE = {
    "window level": ("window", rb'"lod":\d', b'"lod":7'),
    "window time": ("window", rb'T\d\d(:\d\d:\d\d.000Z"])', rb"T90\1"),
    "window version": ("window", rb'"version":\[\d+', b'"version":[-1'),
    "rendition level": ("rendition", rb'("data":\[\["[\d.]+"),[01]', rb"\1,2"),
    "receipt limit": ("receipt", rb'"limit":\d+', b'"limit":-9'),
    "receipt number": ("receipt", rb'("data":{"number"):\d+', rb"\1:-9"),
    "receipt level": ("receipt", rb'("lods":{"[\d.]+"):\d', rb"\1:7"),
    "receipt factor": ("receipt", rb'"factor":[\d.]+', b'"factor":0.0'),
    "tools size": ("tools", rb'"tokens":\d+', b'"tokens":-9'),
}


@pytest.mark.slow(
    "database-receipt factor",
    "database-receipt level",
    "database-receipt limit",
    "database-receipt number",
    "database-rendition level",
    "database-tools size",
    "database-window level",
    "database-window time",
    "database-window version",
    "file-window level",
    "file-window version",
)
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_annotation_that_nobody_could_have_written_is_damage(sample: Sample, case: str) -> None:
    """It is named, has no effect, and everything goes on. The same line as it was written is no damage."""
    kind, found, instead = IMPOSSIBLE[case]
    at = next(at for at in reversed(sample.kinds[kind]) if re.search(found, sample.lines[at]))
    for line, is_damage in ((sample.lines[at], False), (re.sub(found, instead, sample.lines[at]), True)):
        lines = [*sample.lines[:at], unchecked(line), *sample.lines[at + 1 :]]
        sample.write(lines)
        with silence(), sample.resumed() as session:
            assert session.repairs.damaged == ([sample.offset(lines, at)] if is_damage else [])
            assert session.receipts.damaged_lines() == ([at + 1] if is_damage else [])
            assert session.repairs.changed == []
            if is_damage:
                go_on(session)


def test_a_window_keeps_what_its_readable_notes_say(sample: Sample) -> None:
    """The note of the last action is lost with what it changed, the actions before it are not."""
    at = last(sample, "window", b"task 4")
    broken = sample.lines[at].replace(b'"lod":2', b'"lod":7')
    for line, tasks in ((sample.lines[at], 5), (broken, 4)):
        sample.write([*sample.lines[:at], unchecked(line), *sample.lines[at + 1 :]])
        with silence(), sample.resumed("main") as session:
            window = session.windows.get("todo_1")
            assert window is not None
            assert window.render().count("task ") == tasks
            assert session.windows.act("todo_1", "add", text="task more").success


# ---------------------------------------------------------------------- checksums


def test_every_line_has_a_checksum(sample: Sample) -> None:
    assert all(re.search(rb',"crc":"[0-9a-f]{8}"}\n$', line) and entries.is_intact(line) for line in sample.lines)


def test_any_changed_byte_fails_the_checksum(sample: Sample) -> None:
    """Also in the checksum itself. A line without one, or spelt by another tool without one, is fine."""
    line, random = sample.lines[9], Random(18)
    end = line.index(b',"crc":"')
    for at in (*random.sample(range(end), 50), *range(end + 8, len(line) - 3)):
        for byte in {line[at] ^ 1, ord("0"), ord("a")} - {line[at], ord('"')}:
            assert not entries.is_intact(line[:at] + bytes([byte]) + line[at + 1 :])
    assert entries.is_intact(unchecked(line))
    assert entries.is_intact(json.dumps(json.loads(unchecked(line))).encode() + b"\n")
    assert not entries.is_intact(json.dumps(json.loads(line)).encode() + b"\n")  # its writer did not know of it
    assert entries.decode(unchecked(line)) == entries.decode(line)


HOW = ["whole", "changed", "changed, without a checksum", "changed after it was indexed", "changed unseen"]


@pytest.mark.parametrize("how", HOW)
def test_a_changed_text_is_kept_marked_and_reported(sample: Sample, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """`pay 100` became `pay 900`: it is what the log says now, so it is shown, and whoever opens the log is told.

    Unseen by the file system, it is told when the line is first read. Nothing is raised, and it is told once.
    """
    at = last(sample, "user", b"Question 3: pay 100")
    line = sample.lines[at] if how == "whole" else sample.lines[at].replace(b"pay 100", b"pay 900")
    lines = [*sample.lines[:at], unchecked(line) if "without" in how else line, *sample.lines[at + 1 :]]
    unseen = "unseen" in how or (sample.is_database and "indexed" in how)  # no time of a row tells that it has changed
    sample.write(lines, indexed=unseen or "indexed" in how, unseen=unseen)
    amount = 100 if how == "whole" else 900
    is_reported = how not in ("whole", "changed, without a checksum")
    offsets = [sample.offset(lines, at)] if is_reported else []
    for opening in (1, 2):  # the second with the index that closing has written, if it has
        caplog.clear()
        with sample.resumed() as session:
            if opening == 1:
                assert session.repairs.changed == ([] if unseen else offsets)
            for _ in range(2):
                shown = [
                    item.id for item in session.items if f"Question 3: pay {amount}" in session.items.text(item.id)
                ]
                assert shown == [str(sample.entries[at].seq)]
            assert session.repairs.changed == offsets
            assert session.repairs.damaged == []
            assert session.receipts.changed_lines() == ([at + 1] if is_reported else [])
            assert [item.id for item in session.items.table() if item.changed] == (shown if is_reported else [])
        said = [line for line in caplog.messages if "has changed since it was written" in line]
        assert len(said) == (is_reported and (opening == 1 or unseen))


UNDESCRIBED = {
    "a text that is larger now": ("user", b"Question 3: pay 100", b"Ques ion 3: pay 100"),
    "a result of another call": ("tool_result", b'"id":"a3"', b'"id":"a9"'),
    "a call of another id": ("assistant", b'"id":"a3"', b'"id":"a9"'),
}


@pytest.mark.slow("database-a call of another id")
@pytest.mark.parametrize("case", UNDESCRIBED)
def test_a_line_that_the_index_no_longer_describes_is_used_when_the_session_is_resumed(
    sample: Sample, case: str
) -> None:
    """Payloads planned with the index would exceed their budget, or have a result without its call."""
    kind, was, now = UNDESCRIBED[case]
    at = last(sample, kind, was)
    lines = [*sample.lines[:at], sample.lines[at].replace(was, now.ljust(len(was))), *sample.lines[at + 1 :]]
    assert len(lines[at]) == len(sample.lines[at])
    sample.write(lines, indexed=True)
    with silence():
        with sample.resumed() as session:
            if not session.repairs.changed:  # opening may have read it, and so have read the whole log anew
                with pytest.raises(Damaged, match="resume the session anew"):
                    [session.items.text(item.id) for item in session.items]
        with sample.resumed() as session:
            [session.items.text(item.id) for item in session.items]
            assert len(session.repairs.changed) == 1
        sample.write(lines, indexed=True)
        survive(sample, lines)


def test_the_numbers_of_a_changed_line_are_not_believed(sample: Sample) -> None:
    """Its tokens are counted again, its number follows from the line before it, and a batch is not cut for it."""
    at = last(sample, "user", b"Question 3: pay 100")
    entry = sample.entries[at]
    wrong = re.sub(rb'"seq":\d+', b'"seq":912345', sample.lines[at])
    wrong = re.sub(rb'"tokens":\[\d+\]', b'"tokens":[1]', wrong)
    assert wrong.count(b"912345") == wrong.count(b"[1]") == 1
    sample.write([*sample.lines[:at], wrong, *sample.lines[at + 1 :]])
    with silence(), sample.resumed() as session:
        assert session.items.info(str(entry.seq)).full == entry.tokens[0]
        later = [each.seq for each in sample.entries[at + 1 :] if entries.kind_of(each) is Kind.USER]
        assert {str(seq) for seq in later} <= {session.log.timeline.id(row) for row in range(len(session.log.timeline))}
    end = max(at for at, each in enumerate(sample.entries) if each.batch is not None and each.batch[0] == each.batch[1])
    line = re.sub(rb'"batch":\[(\d+),\d+\]', rb'"batch":[\1,9]', sample.lines[end])
    sample.write([*sample.lines[:end], line])
    with silence(), sample.resumed() as session:
        assert session.repairs.torn_bytes == 0
        assert len(session.repairs.changed) == 1


@pytest.mark.slow
def test_a_changed_bit_in_the_last_line_takes_nothing_else_with_it(tmp_path: Path, soak: bool, tried: Tried) -> None:
    """Of an import of 40 messages, acknowledged as one batch, 39 stay whatever happened to the last, and are read."""
    with Session.new(tmp_path, root=tmp_path, session_id="s", token_counter=WordCounter()) as session:
        session.user("Here they are.")
        session.extend([{"role": "user", "content": f"message {number}"} for number in range(40)])
    path = Folder(tmp_path, tmp_path).file("s")
    whole = path.read_bytes()
    first = whole[:-1].rindex(b"\n") + 1
    random, times = Random(18), 2000 if soak else 40
    bits = [(at, 1 << random.randrange(8)) for at in random.sample(range(first, len(whole)), min(times, 250))]
    for at, bit in [*bits, *((len(whole) - 1, 1 << each) for each in range(8))]:
        for suffix in (".idx", ".search", ".torn"):
            path.with_suffix(suffix).unlink(missing_ok=True)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with silence(), Session.resume("s", tmp_path, root=tmp_path, token_counter=WordCounter()) as session:
            texts = [session.items.text(item.id) for item in session.items]
            assert texts[:40] == ["Here they are.", *(f"message {number}" for number in range(39))]
            assert session.repairs.torn_bytes == 0
            named = range(key := whole.rindex(b',"crc":"'), key + len(b',"crc":"'))  # without it there is no checksum
            assert at in named or session.repairs.damaged or session.repairs.changed
    tried("damaged lines", len(bits) + 8)


def test_a_session_that_met_damage_does_not_hide_it_from_the_next(sample: Sample) -> None:
    """Its columns are of the log as it was, so closing it must not index them: it would be damaged for ever."""
    at = last(sample, "user", b"Question 3: pay 100")
    sample.write(
        [*sample.lines[:at], sample.lines[at].replace(b"pay 100", b"pay 900"), *sample.lines[at + 1 :]], indexed=True
    )
    with silence():
        with sample.resumed() as session:
            session.user("This is new, and would be indexed.")
            assert session.repairs.changed == []
            assert len([session.items.text(item.id) for item in session.items]) > 10
            assert len(session.repairs.changed) == 1
        with sample.resumed() as session:
            assert len(session.repairs.changed) == 1
