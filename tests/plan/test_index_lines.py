"""The lines that say what is left out."""

import json

import pytest

from sightline import MemoryStore, Session, Settings
from sightline.plan.index_lines import FoundWords, IndexLines
from sightline.plan.notices import EngineNotices
from sightline.plan.view import LeftOut
from sightline.testing import WordCounter
from sightline.values.tokens import TokenCounter, counter


@pytest.mark.parametrize(("locale", "user", "program"), [("en", "user: ", "program: "), ("zh", "用户：", "程序：")])
def test_an_index_line_says_who_spoke_in_the_language_of_the_session(locale: str, user: str, program: str) -> None:
    """What a program wrote is not the user's."""
    session = Session(MemoryStore("t"), settings=Settings(locale=locale), token_counter=WordCounter())
    said = session.user("What is on quay nine?"), session.note("The depot is closed.")
    timeline = session.log.timeline
    units = [timeline.unit[timeline.row(item) or 0] for item in said]
    left_out = LeftOut(2, 20, units[0], units[1])
    assert index_lines(session, left_out) == [f"- {user}What is on quay nine?", f"- {program}The depot is closed."]
    session.tools([])  # with `expand`, a line begins with the handle
    lines = [f"#{said[0]} {user}What is on quay nine?", f"#{said[1]} {program}The depot is closed."]
    assert index_lines(session, left_out) == lines


WORDS = WordCounter()


def index_lines(session: Session, left_out: LeftOut, limit: int = 1_000) -> list[str]:
    """The lines for all that is left out."""
    text, _ = EngineNotices(session.log, 10_000).marker(left_out, (), limit)
    return text.split("\n")[1:]


def calls(
    *each: tuple[str, dict[str, str], str], token_counter: TokenCounter | None = WORDS
) -> tuple[Session, LeftOut]:
    """A session of calls with their results, all of which are left out."""
    session = Session(MemoryStore("calls"), token_counter=token_counter)
    for number, (name, arguments, result) in enumerate(each):
        session.reply({"role": "assistant", "tool_calls": [call(f"c{number}", name, arguments)]})
        session.tool_result(f"c{number}", result)
    units = session.log.timeline.unit
    return session, LeftOut(2 * len(each), 1_000, units[0], units[-1])


def call(call_id: str, name: str, arguments: dict[str, str]) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


CODE = "def load_berth(): pass\ndef count_berth(): pass\ndef {}(): pass\n# of the harbour, and of what else there is\n"


def test_an_index_line_names_no_value_that_a_newer_one_names() -> None:
    """So each line says something of its own. A short result is said as it is, and none looks like no result."""
    session, left_out = calls(
        ("bash", {"command": "make one"}, "order_4711 of berth_12"),
        ("bash", {"command": "make two"}, "order_4711 of berth_12"),
        ("read", {"path": "a.py"}, CODE.format("sell_berth")),
        ("read", {"path": "b.py"}, CODE.format("lend_berth")),
        ("read", {"path": "c.py"}, CODE.format("lend_berth")),
    )
    assert index_lines(session, left_out) == [
        "- bash make one → order_4711 of berth_12",
        "- bash make two → order_4711 of berth_12",
        "- read a.py → def load_berth(): pass sell_berth",
        "- read b.py → def load_berth(): pass",
        "- read c.py → def load_berth(): pass count_berth lend_berth",
    ]


def test_units_of_which_the_same_is_said_share_an_index_line() -> None:
    """At the place of the newest, with all handles; without handles it says how many."""
    told = [
        ("todo", {"list": "one"}, "The list was changed."),
        ("bash", {"command": "make"}, "test failed"),
        ("bash", {"command": "make test"}, "failed"),
        ("todo", {"list": "two"}, "The list was changed."),
    ]
    session, left_out = calls(*told)
    lines = ["- bash make → test failed", "- bash make test → failed", "- todo → The list was changed. (×2)"]
    assert index_lines(session, left_out) == lines
    assert index_lines(session, left_out, 10) == ["- todo → The list was changed."]
    session.tools([])
    assert index_lines(session, left_out)[-1] == "#2 #8 todo → #9 The list was changed."


@pytest.mark.parametrize("limit", [200, 500, 900])
def test_index_lines_keep_their_limit(limit: int) -> None:
    """Also of values that take more tokens together than each by itself."""
    numbers = [f"{100 + 37 * at % 900}" for at in range(900)]
    each = [("count", {"id": f"x{at}"}, " ".join(numbers[at : at + 25])) for at in range(0, 900, 25)]
    session, left_out = calls(*each, token_counter=None)
    lines = index_lines(session, left_out, limit)
    assert 0.5 * limit < counter().count("\n".join(lines)) <= limit


def test_only_what_has_room_is_looked_at() -> None:
    """A sweep that leaves out the same answer a thousand times looks at as many as the limit has tokens."""
    session, left_out = calls(*[("bash", {"command": "squeue"}, "still running")] * 1_000)
    units = iter(range(left_out.last, left_out.first - 1, -1))
    [line] = IndexLines(session.log, FoundWords(), lambda _: "", handles=False).within(50, units)
    looked_at = left_out.last - next(units)
    assert line == f"- bash squeue → still running (×{looked_at})"
    assert 40 < looked_at <= 50


def test_one_index_line_has_the_whole_of_a_long_path() -> None:
    """The first to be read. Paths of which another one has the end are whole everywhere."""
    deep, other = "/home/ada/harbour/src/berths/list.py", "/home/ada/copy/src/berths/list.py"
    session, left_out = calls(
        ("read", {"path": deep}, "load_berth"), ("read", {"path": deep}, "sell_berth"), ("edit", {"path": deep}, "ok")
    )
    assert index_lines(session, left_out) == [
        f"- read {deep} → load_berth", "- read …/berths/list.py → sell_berth", "- edit …/berths/list.py → ok"
    ]  # fmt: skip
    session, left_out = calls(
        ("read", {"path": deep}, "lend_berth"), ("read", {"path": other}, "load_berth"), ("edit", {"path": deep}, "ok")
    )
    assert index_lines(session, left_out)[-1] == f"- edit {deep} → ok"
    address = "https://prod.example/api/v1/orders"
    session, left_out = calls(("get", {"url": address}, "ok"), ("delete", {"url": address}, "gone"))
    assert index_lines(session, left_out)[-1] == f"- delete {address} → gone"


def test_what_was_said_and_what_was_called_are_never_taken_for_the_same() -> None:
    """A tool may be named like a speaker."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    session.user("delete nothing")
    session.reply({"role": "assistant", "tool_calls": [call("c", "user:", {"command": "delete"})]})
    session.tool_result("c", "nothing")
    units = session.log.timeline.unit
    lines = index_lines(session, LeftOut(3, 20, units[0], units[-1]))
    assert lines == ["- user: delete nothing", "- \\user: delete → nothing"]
