"""No shape of text makes an append, a sweep or a digest slow: four times the text, at most six times the CPU time."""

import json
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.apps.app import App, Element
from sightline.errors import NotShorter
from sightline.imports.detection import conversations
from sightline.imports.harness_text import command_words, divided
from sightline.imports.importer import Imported, import_into
from sightline.imports.originals import read_back
from sightline.imports.source import Source
from sightline.log.stores.session_folder import Folder
from sightline.testing import calling
from sightline.values.items import Lod

SHAPES: dict[str, str] = {  # what is repeated
    "one run after an address": "x", "blanks": " ", "tabs": "a\t", "dashes": "-", "dots": ".", "dotted": "a.",
    "folders": "/a", "colons": "a:", "pairs": "k=1 ", "brackets": "[", "objects": '{"a":', "quotes": '"',
    "escapes": '\\"', "digits": "1", "hex": "deadbeef", "base64": "QUJD/+", "sentences": "You must not. ",
    "negations": "don't ", "chinese": "不要修改数据库", "chinese sentences": "请不要。", "code spans": "`a` ",
    "tags": "<a><b>", "addresses": "http://a.b/", "names": "aB_c", "stars": "*a", "errors": "Error: ",
    "times": "12:30:45 ", "traces": 'File "a.py", line 3 ', "tables": "|a", "mails": "a@b.",
    "lines": "\n", "reminders": "<system-reminder>", "qualified": "a::b",
}  # fmt: skip
SMALL, FACTOR, MOST = 16_000, 4, 6.0
DENSE = {"lines": 64_000}  # of these it takes more characters until they do not fit
NOISE = 0.02  # seconds: what is quicker says nothing
LINES = 5_000  # of a text of a megabyte
PROSE = "The pump in the cellar was repaired in spring and has run since then without a fault, so we leave it as it is."


def long_text(shape: str, size: int) -> str:
    start = "see http://a.b/c " if shape == "one run after an address" else ""
    return start + SHAPES[shape] * (size // len(SHAPES[shape])) + "z"  # else the blanks at the end may be left out


class Board(App):
    """A window with one line."""

    name = "board"

    def view(self, lod: Lod) -> list[Element]:
        return [Element(id="1", text="one")]


def called(session: Session, tool: str, arguments: dict[str, str], output: str) -> None:
    session.user("Look.")
    session.reply(calling((tool, arguments)))
    session.tool_result(session.open_calls[0].id, output)


def opened(session: Session, text: str) -> None:
    session.windows.register(Board)
    session.windows.open("board", text)


WAYS: dict[str, Callable[[Session, str], object]] = {
    "user": lambda session, text: session.user(text),
    "reply": lambda session, text: (session.user("Look."), session.reply(text)),
    "result": lambda session, text: called(session, "read_file", {"path": "a.py"}, text),
    "output": lambda session, text: called(session, "bash", {"command": "make"}, text),
    "argument": lambda session, text: called(session, "bash", {"command": text}, "ok"),
    "path": lambda session, text: called(session, "read_file", {"path": text}, "ok " * 300),
    "window": opened,
}


def cost(way: str, text: str) -> float:
    """The seconds of CPU that a text takes on its way in and through a sweep, a search, an index line and a digest."""
    session = Session(MemoryStore("s"))
    start = process_time()
    WAYS[way](session, text)
    if session.items.table()[-1].kind.name != "USER":
        session.user("And what about a.b?")
    session.compose(Budget(3_000, output=500))
    session.reply("Fine.")
    session.user("And now?")
    session.compose(Budget(1_500, output=200))
    for _ in range(6):
        session.reply("So it is.")
        session.user("Go on.")
    with suppress(NotShorter):
        session.summaries.compact()
    list(divided(text))
    command_words(f"<command-name>{text}")
    return process_time() - start


@pytest.mark.slow(
    "addresses",
    "base64",
    "brackets",
    "chinese",
    "chinese sentences",
    "colons",
    "dotted",
    "errors",
    "escapes",
    "folders",
    "hex",
    "lines",
    "mails",
    "names",
    "negations",
    "one run after an address",
    "pairs",
    "qualified",
    "quotes",
    "sentences",
    "stars",
    "tables",
    "tabs",
    "tags",
    "times",
    "traces",
)
@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_text(shape: str, soak: bool) -> None:
    at = list(SHAPES).index(shape)
    few = {*(list(WAYS)[(at + step) % len(WAYS)] for step in (0, 3)), *(["path"] if shape == "folders" else [])}
    for way in WAYS if soak else sorted(few):
        texts = [long_text(shape, DENSE.get(shape, SMALL) * n) for n in (1, FACTOR)]
        small, large = (cost(way, text) for text in texts)
        if large > MOST * max(small, NOISE):  # once more, because something else may have been in the way
            small, large = (min(before, cost(way, text)) for before, text in zip((small, large), texts, strict=True))
        assert large <= MOST * max(small, NOISE), f"{shape} as {way}: {small:.3f} s, then {large:.3f} s"


def asking_cost(lines: int) -> float:
    """The seconds of CPU that it takes to look for what a log of so many lines speaks of, given as a question."""
    session = Session(MemoryStore("s"))
    session.user("The pump is repaired.")
    session.reply("Good.")
    text = "\n".join(f"2024-05-01 12:00:10 ERROR worker-{n} request /api/v1/orders/{n} failed" for n in range(lines))
    start = process_time()
    session.user(text)
    session.compose(Budget(2_000), ask=True)
    return process_time() - start


@pytest.mark.slow
def test_time_grows_with_the_question() -> None:
    """A log that was pasted has names in every line, and each is looked at where it stands."""
    small, large = (min(asking_cost(lines) for _ in range(2)) for lines in (200, 200 * FACTOR))
    assert large <= MOST * max(small, NOISE), f"{small:.3f} s, then {large:.3f} s"


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_megabyte_takes_as_long_as_any_other(shape: str, soak: bool) -> None:
    """About as many seconds of CPU as prose of the same size, on whatever machine."""
    at = list(SHAPES).index(shape)
    text = "\n".join([long_text(shape, 200)] * LINES)
    prose = "\n".join([PROSE] * (len(text) // len(PROSE)))
    for way in WAYS if soak else [list(WAYS)[at % 4]]:
        usual = max(cost(way, prose), NOISE)
        assert any(cost(way, text) <= MOST * usual for _ in range(2)), f"{shape} as {way}"


def _line(kind: str, uuid: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message = {"role": kind, "content": content, **({"id": more.pop("id"), "model": "m"} if "id" in more else {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message} | more


def compactions(count: int, *, kept: bool) -> list[dict[str, object]]:
    """A log of Claude Code that was compacted so often. `kept`: each left the last message as it was."""
    rows, parent = list[dict[str, object]](), None
    for at in range(count):
        rows.append(_line("user", f"u{at}", parent, f"say {at}"))
        rows.append(_line("assistant", f"a{at}", f"u{at}", [{"type": "text", "text": "ok"}], id=f"m{at}"))
        facts = {"trigger": "auto", "preservedSegment": {"headUuid": f"a{at}" if kept else f"none{at}"}}
        rows.append({"type": "system", "subtype": "compact_boundary", "uuid": f"b{at}", "parentUuid": None,
                     "logicalParentUuid": f"a{at}", "sessionId": "s", "compactMetadata": facts})  # fmt: skip
        rows.append(_line("user", f"s{at}", f"b{at}", "summary", isCompactSummary=True))
        parent = f"s{at}"
    return rows


def one_message(count: int) -> list[dict[str, object]]:
    """A log in which one message makes so many calls, each with its result."""
    rows, parent = [_line("user", "u", None, "go")], "u"
    for at in range(count):
        call = {"type": "tool_use", "id": f"c{at}", "name": "Read", "input": {"file_path": "f" * 80 + str(at)}}
        rows.append(_line("assistant", f"a{at}", parent, [call], id="m"))
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": f"{at} " * 50}
        rows.append(_line("user", f"r{at}", f"a{at}", [result]))
        parent = f"a{at}"
    return rows


def dangling(count: int) -> list[dict[str, object]]:
    """A log whose links lead out of it, through lines that are of no message."""
    rows = [_line("user", "u", None, "go")]
    rows += [{"type": "progress", "uuid": f"p{at}", "parentUuid": f"p{at - 1}" if at else "gone", "sessionId": "s"}
             for at in range(count)]  # fmt: skip
    rows += [{"type": "progress", "uuid": f"q{at}", "parentUuid": f"p{count - 1}", "sessionId": "s"}
             for at in range(count)]  # fmt: skip
    return [*rows, _line("user", "last", "away", "and on")]


def rolled_back(count: int) -> list[dict[str, object]]:
    """A rollout of Codex in which each second turn was taken back."""
    rows: list[dict[str, object]] = [{"type": "session_meta", "payload": {"id": "t"}}]
    for at in range(count):
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"say {at}"}]}
        rows.append({"type": "response_item", "payload": said})
        if at % 2:
            rows.append({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}})
    return rows


LOGS: dict[str, Callable[[int], list[dict[str, object]]]] = {
    "compactions": lambda count: compactions(count, kept=True),
    "compactions of which nothing is found": lambda count: compactions(count, kept=False),
    "one message": one_message,
    "dangling": dangling,
    "rolled back": rolled_back,
}


def steps_of(run: Callable[[], object]) -> int:
    """Count the calls of functions, ours and built in, and the rounds of generators that this takes."""
    steps = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS)
def test_an_import_is_linear(log: str, tmp_path: Path) -> None:
    """Four times the lines take at most five times the steps, and as many bytes."""
    costs = []
    for count in (60, 240):
        data = "\n".join(map(json.dumps, LOGS[log](count))).encode()
        folder = Folder.at(tmp_path / str(count))
        [conversation] = conversations(Source("log.jsonl", data=data))
        done = list[Imported]()

        def bring_in(folder: Folder = folder, own: Any = conversation, done: list[Imported] = done) -> None:
            done.append(import_into(folder, own, tmp_path))

        steps = steps_of(bring_in)
        costs.append((steps, folder.file(done[0].session).stat().st_size))
        with closing(folder.open(done[0].session)) as store:
            store.refresh()
            assert [json.loads(line) for line in read_back(store)] == LOGS[log](count)
    (few_steps, few_bytes), (many_steps, many_bytes) = costs
    assert many_steps <= 5 * few_steps, costs
    assert many_bytes <= 5 * few_bytes, costs
