"""`look`: the model says how much it wants to see of an item, of lines, of a file, of a window."""

import re
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.compose.verify import verify
from sightline.testing import WordCounter
from sightline.values.items import Call, Kind, Lod, Message, Role, Text, ToolDefinition, plain_text
from sightline.wire.payload import Payload

BUDGET = Budget(8_000, recall=0)
RULE = "Never touch the file prod.db."


def numbered(name: str, lines: int = 80) -> str:
    return "\n".join(f"{number}→line {number} of {name} has words" for number in range(1, lines + 1))


def session_with(files: int = 3, **options: object) -> Session:
    """A session in which so many files were read, and then the user said to go on."""
    session = Session(MemoryStore("s"), token_counter=WordCounter(), **options)  # type: ignore[arg-type]
    session.tools([*session.windows.tools()])
    session.system("You help with code.")
    session.user(RULE)
    session.compose(BUDGET)
    for at in range(files):
        session.assistant([Call(f"r{at}", "Read", {"file_path": f"/src/f{at}.py"})])
        session.tool_result(f"r{at}", numbered(f"f{at}"))
    session.user("Go on.")
    session.compose(BUDGET)
    return session


@pytest.fixture
def session() -> Session:
    return session_with(apps=["todo"])


def look(session: Session, target: str, level: str) -> str:
    """The model's call of `look`, and the answer that it gets."""
    session.add(Message(Role.ASSISTANT, (Call(f"l{session.size}", "look", {"target": target, "level": level}),)))
    assert not session.answer_own_calls()
    return plain_text(session.answered.pop().result.parts)


def results(session: Session) -> list[str]:
    """The ids of what the files' reads gave."""
    return [item.id for item in session.items if item.kind is Kind.RESULT][:3]


def swept(session: Session) -> Payload:
    """The payload after something that is a sweep in any case."""
    session.configure(
        reductions=("gists", "windows", "trim", "summaries")[: 3 + (len(session.settings.reductions) < 4)]
    )
    return session.compose(BUDGET)


def levels(payload: Payload) -> dict[str, Lod]:
    return {line.id: line.lod for line in payload.plan.lines()}


def test_less_takes_effect_at_the_next_sweep_and_the_receipt_says_who_asked(session: Session) -> None:
    """Until then nothing that was sent changes. Then the items are as the model asked, and `verify` holds."""
    first, second, third = results(session)
    before = session.compose(BUDGET)
    answers = [look(session, f"#{first}", "gist"), look(session, second, "out"), look(session, f"#{third}", "summary")]
    told = re.fullmatch(
        rf"\[#{first} gist from the next sweep on: (\d+) tokens instead of 480, ([\d,]+) left now\]", answers[0]
    )
    assert told is not None
    assert int(told[1]) < 100
    assert answers[1].startswith(f"[#{second} out from the next sweep on: 0 tokens instead of 482, ")
    between = session.compose(BUDGET)
    assert list(between.body)[: len(before.body)] == list(before.body)
    assert session.receipt is not None
    assert session.receipt.asked == {}
    payload = swept(session)
    assert levels(payload)[first] is Lod.GIST
    assert second not in levels(payload)
    assert levels(payload)[third] is Lod.SUMMARY
    assert session.receipt.asked == {first: "gist", second: "out", third: "summary"}
    whys = {line.id: line.why for line in payload.plan.lines()}
    assert whys[first] == whys[third] == "asked for by the model"
    assert f"#{second}" in payload.plan.marker  # by its handle it can be brought back
    assert all(check.good for check in verify(session.log))


def test_more_is_new_text_at_the_end_with_what_it_costs_and_what_is_left(session: Session) -> None:
    """What the model hid comes back when it asks: as the answer, and no later sweep hides the item for it."""
    hidden = results(session)[1]
    look(session, hidden, "out")
    sent = swept(session)
    answer = look(session, f"#{hidden}", "full")
    head = re.match(rf"\[#{hidden} full: (\d+) tokens, ([\d,]+) left\]\n", answer)
    assert head is not None
    assert int(head[1]) >= 480
    assert answer.endswith(numbered("f1"))
    payload = session.compose(BUDGET)
    assert list(payload.body)[: len(sent.body)] == list(sent.body)
    assert session.receipt.reason == ""
    swept(session)
    assert session.receipt.asked == {}
    assert look(session, results(session)[0], "full").startswith(f"[#{results(session)[0]} is shown as full already: ")


def test_asking_again_for_what_holds_keeps_it(session: Session) -> None:
    """The answer is that it is so already, and later sweeps leave it so."""
    first, second, _ = results(session)
    look(session, first, "out")
    look(session, second, "gist")
    swept(session)
    assert look(session, first, "out").startswith(f"[#{first} is shown as out already: ")
    assert look(session, second, "gist").startswith(f"[#{second} is shown as gist already: ")
    payload = swept(session)
    assert first not in levels(payload)
    assert levels(payload)[second] is Lod.GIST


def test_after_a_resume_it_knows_what_is_hidden(tmp_path: Path) -> None:
    """What the last payload showed is read from the log, also before the first payload of this process."""
    session = Session.open(tmp_path, root=tmp_path / "r", token_counter=WordCounter())
    session.tools([])
    session.user("Read it.")
    session.assistant([Call("r", "Read", {"file_path": "/a.py"})])
    session.tool_result("r", numbered("a"))
    session.user("Go on.")
    session.compose(BUDGET)
    [hidden] = results(session)
    look(session, hidden, "out")
    assert hidden not in levels(swept(session))
    session.close()
    session = Session.resume(session.id, tmp_path, root=tmp_path / "r", token_counter=WordCounter())
    assert look(session, hidden, "full").endswith(numbered("a"))
    session.compose(BUDGET)
    assert session.receipt is not None
    assert session.receipt.reason == ""
    assert all(check.good for check in verify(session.log))


def test_lines_of_an_item_are_shown_and_its_level_stays(session: Session) -> None:
    """Lines are shown in full only. To look at them takes nothing back of what was asked of the whole."""
    item = results(session)[0]
    look(session, item, "gist")
    swept(session)
    answer = look(session, f"#{item}:3-5", "full")
    assert answer.splitlines()[2:] == numbered("f0").splitlines()[2:5]
    assert look(session, f"#{item} lines 3-5", "gist") == (
        f"[#{item} stays as it is: lines can be shown in full; other levels are for the whole]"
    )
    assert levels(swept(session))[item] is Lod.GIST


def test_a_file_is_all_that_was_read_of_it_with_the_changes_since() -> None:
    """In full it is the file's text as it is now. Less of it lowers every result about it."""
    session = session_with(2)
    session.assistant(
        [Call("e", "Edit", {"file_path": "/src/f0.py", "old_string": "line 4 of f0 has words", "new_string": "new"})]
    )
    session.tool_result("e", "ok")
    first, second = results(session)[:2]
    session.compose(BUDGET)
    assert look(session, "f0.py", "summary").startswith("[/src/f0.py summary from the next sweep on: ")
    assert levels(swept(session))[first] is Lod.SUMMARY
    answer = look(session, "/src/f0.py:3-5", "full").splitlines()
    assert answer[1] == "[lines 3–5; last known 80; as read and changed so far]"
    assert answer[2:] == ["line 3 of f0 has words", "new", "line 5 of f0 has words"]
    assert look(session, "src/f1.py", "full") == f"[/src/f1.py is shown in full already: #{second}]"
    assert look(session, "f0.py:900-901", "full") == "[/src/f0.py: none of these lines was read; the last known is 80]"


def test_a_file_that_the_model_hid_is_not_among_the_files_in_work() -> None:
    """After a forced sweep one text shows the files in work, but not one that the model wanted out."""
    files = {}
    for hides in (False, True):
        session = session_with(3)
        if hides:
            look(session, "f0.py", "out")
        session.user("Look at line 7 of f0, of f1 and of f2.")
        session.compose(Budget(1_500, recall=0))
        texts = "\n".join(session.items.text(item.id) for item in session.items if item.kind is Kind.RECALL)
        files[hides] = {name for name in ("f0.py", "f1.py", "f2.py") if name in texts}
    assert "f0.py" in files[False]
    assert "f0.py" not in files[True]
    assert "f1.py" in files[True]


def test_a_short_answer_put_out_does_not_hide_the_file_that_it_is_about() -> None:
    session = session_with(3)
    changed = {"file_path": "/src/f0.py", "old_string": "line 7 of f0 has words", "new_string": "line 7 is new"}
    session.assistant([Call("e", "Edit", changed)])
    answer = session.tool_result("e", "The file was updated. " + "ok " * 30)
    session.compose(BUDGET)
    look(session, answer, "out")
    session.user("Look at line 7 of f0, of f1 and of f2.")
    session.compose(Budget(1_500, recall=0))
    texts = "\n".join(session.items.text(item.id) for item in session.items if item.kind is Kind.RECALL)
    assert "f0.py" in texts


def test_a_window_takes_a_level_at_once(session: Session) -> None:
    """Windows stand behind the prefix, so the next call shows it so; a level of the host's stays."""
    session.windows.open("todo")
    session.windows.act("todo_1", "add", text="buy milk")
    session.compose(BUDGET)
    answer = look(session, "todo_1", "gist")
    assert re.fullmatch(r"\[window todo_1 gist from the next call on: \d+ tokens, [\d,]+ left\]", answer)
    payload = session.compose(BUDGET)
    assert 'lod="gist"' in payload.shown_windows["todo_1"]
    assert session.receipt.asked == {"todo_1": "gist"}
    assert look(session, "todo_1", "out").startswith("[window todo_1 out from the next call on: 0 tokens")
    session.windows.lod("todo_1", "full")
    assert "was set by the program or the user" in look(session, "todo_1", "gist")
    session.compose(BUDGET)
    assert session.receipt.asked == {}


def test_a_closed_window_is_shown_as_it_was(session: Session) -> None:
    """Its handle is a target like any other."""
    session.windows.open("todo")
    session.windows.act("todo_1", "add", text="buy milk")
    session.windows.close("todo_1")
    handle = re.search(
        r"last state (#\d+)", "\n".join(session.items.text(item.id) for item in session.items)
    ) or pytest.fail("no handle")
    session.compose(BUDGET)
    for level in ("full", "gist"):
        assert "buy milk" in look(session, handle[1], level)
    assert "is shown as out already" in look(session, handle[1], "out")


@pytest.mark.parametrize("level", ["gist", "summary", "out"])
def test_host_and_user_outrank_the_model(session: Session, level: str) -> None:
    """System items, tools, pins, the last message, what was laid down and what the host raised stay; it is said why."""
    first, second, _ = results(session)
    session.items.pin(first)
    session.items.expand(second, now=True)
    ids = {session.items.text(item.id): item.id for item in session.items if item.kind in (Kind.SYSTEM, Kind.USER)}
    why = {
        ids["You help with code."]: "it is part of the system prompt",
        ids[RULE]: "it has what the user laid down",
        ids["Go on."]: "it is the user's last message",
        first: "it is pinned",
        second: "the program or the user set its level",
    }
    for item, reason in why.items():
        assert look(session, item, level) == f"[#{item} stays as it is: {reason}]"
    assert look(session, "create", level) == "[create stays as it is: tools are always there in full]"
    payload = swept(session)
    assert set(levels(payload).values()) == {Lod.FULL}
    assert session.receipt.asked == {}


def test_the_model_does_not_undo_what_the_host_collapsed(session: Session) -> None:
    """An item that the program or the user wants as a gist stays one, whatever the model asks for."""
    first, second, _ = results(session)
    session.items.collapse(first)
    session.items.collapse(second)
    for item, level in ((first, "out"), (second, "summary")):
        assert look(session, item, level) == f"[#{item} stays as it is: the program or the user set its level]"
    look(session, first, "full")
    payload = swept(session)
    assert levels(payload)[first] is levels(payload)[second] is Lod.GIST


@pytest.mark.parametrize("does", ["expand", "collapse"])
def test_what_the_host_set_does_not_go_out_with_its_result(does: str) -> None:
    """A message, its calls and their results go out together, so what the host said of one of them holds for all."""
    session = session_with(0)
    session.assistant([Text("The plan. " * 80), Call("a", "Read", {"file_path": "/a.py"})])
    session.tool_result("a", numbered("a"))
    session.compose(BUDGET)
    [result] = results(session)
    plan = next(item.id for item in session.items if item.kind is Kind.ASSISTANT)
    if does == "expand":
        session.items.expand(plan, now=True)
    else:
        session.items.collapse(plan)
    session.compose(BUDGET)
    assert look(session, result, "out").endswith("stays as it is: the program or the user set its level]")
    assert look(session, result, "gist").startswith(f"[#{result} gist from the next sweep on: ")
    assert {plan, result} <= levels(swept(session)).keys()


def test_results_of_one_message_go_out_together() -> None:
    """A call is never without its result. Until all results of a message are to go, those that are become gists."""
    session = session_with(0)
    session.assistant([Call("a", "Read", {"file_path": "/a.py"}), Call("b", "Read", {"file_path": "/b.py"})])
    session.tool_result("a", numbered("a"))
    session.tool_result("b", numbered("b"))
    session.compose(BUDGET)
    one, other = results(session)
    assert look(session, one, "out").endswith(f"\n[it stands with #{other}; until these are out too, it is a gist]")
    assert levels(swept(session))[one] is Lod.GIST
    assert levels(swept(session))[other] is Lod.FULL
    assert "is shown as gist already" in look(session, one, "gist")  # so it is not to go out any more
    assert f"it stands with #{one}" in look(session, other, "out")
    assert look(session, one, "out").startswith(f"[#{one} out")
    assert "stands with" not in look(session, other, "out")
    assert not {one, other} & levels(swept(session)).keys()


def test_what_goes_out_counts_its_call() -> None:
    """A large call goes out with its result, also where that is empty, and its tokens are in the answer."""
    for result in ("", "fine then"):
        session = session_with(0)
        session.assistant([Call("w", "Write", {"file_path": "/m.py", "content": numbered("m", 300)})])
        session.tool_result("w", result)
        session.user("Go on.")
        session.compose(BUDGET)
        [row] = results(session)
        before = re.search(r"out from the next sweep on: 0 tokens instead of ([\d,]+)", look(session, row, "out"))
        assert before is not None
        assert int(before[1].replace(",", "")) > 1_000
        assert row not in levels(swept(session))


def test_a_preview_between_parallel_results_does_not_hide_the_second() -> None:
    """What was marked is read again after each new result, because it can stand with one that is to go out."""
    session = session_with(0)
    session.assistant([Call("a", "Read", {"file_path": "/a.py"}), Call("b", "Read", {"file_path": "/b.py"})])
    session.tool_result("a", numbered("a"))
    session.items.answer(Call("x", "look", {"target": results(session)[0], "level": "out"}))
    session.preview(BUDGET)
    session.tool_result("b", numbered("b"))
    session.user("Go on.")
    payload = swept(session)
    assert results(session)[1] in levels(payload)


def test_what_cannot_be_is_said() -> None:
    """No such thing, several of the name, no shorter form, a strategy that lowers nothing, a switch that is off."""
    session = session_with(1)
    assert look(session, "", "full").startswith("[look needs a target and a level")
    assert look(session, "#4", "large").startswith("[look needs a target and a level")
    assert look(session, "#999", "full").startswith("[nothing here is called #999")
    note = session.note("short")
    assert look(session, note, "gist") == f"[#{note} stays as it is: it has no shorter form]"
    session.assistant([Call("x", "Read", {"file_path": "/other/f0.py"})])
    session.tool_result("x", "1→x")
    assert look(session, "f0.py", "full") == "[several files are called so; name one of them: /src/f0.py, /other/f0.py]"
    [first, *_] = results(session)
    session.configure(reductions=("trim",))
    assert look(session, first, "gist") == f"[#{first} stays as it is: this way of shortening is switched off]"
    session.configure(strategy="sliding")
    session.compose(BUDGET)
    assert "shows an item whole or not at all" in look(session, first, "gist")


def test_a_target_of_many_blanks_is_refused() -> None:
    """It names nothing, and the answer does not repeat all of it."""
    answer = look(session_with(0), f"a{' ' * 30_000}b", "full")
    assert answer.startswith("[nothing here is called a  ")
    assert len(answer) < 250


@pytest.mark.parametrize("lines", [":3-5", " lines 3-5", "  line  3 – 5", "\tlines 3- 5"])
def test_lines_are_written_in_several_ways(lines: str) -> None:
    """A number may stand after a colon or a word, with blanks between."""
    answer = look(session_with(1), f"/src/f0.py{lines}", "gist")
    assert answer == "[/src/f0.py stays as it is: lines can be shown in full; other levels are for the whole]"


def test_it_is_offered_where_levels_are_obeyed() -> None:
    """A strategy that shows items whole or not at all has nothing to obey: its head stays as it was."""
    for strategy, offered in (("focus", True), ("sliding", False), ("rounds,focus", True), ("rounds", False)):
        session = Session(MemoryStore("s"), settings=Settings(strategy=strategy if "," not in strategy else "focus"))
        if "," in strategy:
            session = Session(MemoryStore("s"), strategy=strategy.split(","))
        session.tools([])
        session.user("Hello.")
        assert ("look" in [tool.name for tool in session.compose(BUDGET).tools]) is offered, strategy


def test_a_tool_of_the_program_with_this_name_is_the_programs() -> None:
    """Our tool does not join then, and its calls wait for the program; so do calls where no tools were told."""
    own = ToolDefinition("look", "Looks out of the window.")
    for tools in ([own], None):
        session = Session(MemoryStore("s"), token_counter=WordCounter())
        if tools is not None:
            session.tools(tools)
        session.user("Look.")
        session.add(Message(Role.ASSISTANT, (Call("c", "look", {"target": "#1", "level": "full"}),)))
        assert [call.name for call in session.answer_own_calls()] == ["look"]


def test_it_speaks_chinese() -> None:
    """The answers are in the session's language."""
    session = session_with(1, settings=Settings(locale="zh"))
    assert "自下次整理起为 gist" in look(session, results(session)[0], "gist")
