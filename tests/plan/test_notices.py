"""The constraints that a plan hides: where they stand, and what is kept for them."""

import json

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.compose import render
from sightline.plan.notices import EngineNotices
from sightline.plan.view import LeftOut
from sightline.testing import WordCounter
from sightline.values.items import plain_text

RULE = "Never change quay.py."


def told(*rules: str) -> Session:
    """A session that begins with these and goes on for a while."""
    session = Session(MemoryStore("notices"), token_counter=WordCounter())
    for rule in rules:
        session.user(rule)
    for number in range(40):
        session.assistant(f"step {number} " + "done " * 20)
        session.user(f"then step {number + 1} " + "next " * 20)
    return session


@pytest.mark.parametrize("place", ["history", "question"])
def test_a_layout_says_where_hidden_constraints_stand(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first message, or right before the question."""
    monkeypatch.setitem(render.LAYOUTS, "stable", render.Layout("stable", constraints=place))
    session = told("hello there", f"{RULE} {'so on ' * 80}")
    body = [plain_text(message.parts) for message in session.compose(Budget(600, recall=0.0)).body]
    [at] = [at for at, text in enumerate(body) if RULE in text]
    assert at == (0 if place == "history" else len(body) - 2)


def test_tokens_are_kept_only_for_the_constraints_there_are() -> None:
    """Nothing without one, as much as they need with a few, and never more than a quarter or 400 tokens."""
    none, one, many = told("hello"), told(RULE), told(*(f"Never change quay{number}.py." for number in range(300)))
    assert EngineNotices(none.log, 1_000).preface_limit == 0
    assert 0 < EngineNotices(one.log, 1_000).preface_limit < 50
    assert EngineNotices(many.log, 1_000).preface_limit == 400
    assert EngineNotices(many.log, 4_000).preface_limit == 1_000


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


def index_lines(session: Session, left_out: LeftOut, limit: int = 1_000) -> list[str]:
    """The lines for all that is left out."""
    text, _ = EngineNotices(session.log, 10_000).marker(left_out, (), limit)
    return text.split("\n")[1:]


def calls(*each: tuple[str, dict[str, str], str]) -> tuple[Session, LeftOut]:
    """A session of calls with their results, all of which are left out."""
    session = Session(MemoryStore("calls"), token_counter=WordCounter())
    for number, (name, arguments, result) in enumerate(each):
        session.reply({"role": "assistant", "tool_calls": [call(f"c{number}", name, arguments)]})
        session.tool_result(f"c{number}", result)
    units = session.log.timeline.unit
    return session, LeftOut(2 * len(each), 1_000, units[0], units[-1])


def call(call_id: str, name: str, arguments: dict[str, str]) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def test_an_index_line_names_no_value_that_a_newer_one_names() -> None:
    """So each line says something of its own. What is odd in a result is not one of its values."""
    session, left_out = calls(
        ("bash", {"command": "make one"}, "order_4711 of berth_12 is late"),
        ("bash", {"command": "make two"}, "order_4711 of berth_34 is paid"),
        ("read", {"path": "a.py"}, "load_berth count_berth"),
        ("read", {"path": "b.py"}, "count_berth sell_berth"),
    )
    assert index_lines(session, left_out) == [
        "- bash make one → order_4711 of berth_12 is late",
        "- bash make two → order_4711 of berth_34 is paid",
        "- read a.py → load_berth",
        "- read b.py → count_berth sell_berth",
    ]


def test_of_index_lines_that_say_the_same_only_the_newest_is_there() -> None:
    """With room for the older ones that say something else."""
    session, left_out = calls(
        ("todo", {"id": "x"}, "The list was changed."),
        ("bash", {"command": "make test"}, "3 passed"),
        ("todo", {"id": "x"}, "The list was changed."),
    )
    assert index_lines(session, left_out) == ["- bash make test → 3 passed", "- todo x → The list was changed."]
    assert index_lines(session, left_out, 12) == ["- todo x → The list was changed."]


def test_one_index_line_has_the_whole_of_a_long_path() -> None:
    """The first to be read. Of two paths with the same end each is whole everywhere."""
    deep, other = "/home/ada/harbour/src/berths/list.py", "/home/ada/copy/src/berths/list.py"
    session, left_out = calls(
        ("read", {"path": deep}, "load_berth"), ("read", {"path": deep}, "sell_berth"), ("edit", {"path": deep}, "ok")
    )
    assert index_lines(session, left_out) == [
        f"- read {deep} → load_berth", "- read …/berths/list.py → sell_berth", "- edit …/berths/list.py → ok"
    ]  # fmt: skip
    session, left_out = calls(("read", {"path": other}, "lend_berth"), ("read", {"path": deep}, "load_berth"))
    assert index_lines(session, left_out) == [f"- read {other} → lend_berth", f"- read {deep} → load_berth"]
