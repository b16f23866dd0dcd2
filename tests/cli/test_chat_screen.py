"""What is shown while a question is answered."""

import re
from io import StringIO

import pytest
from rich.console import Console

from sightline.agent.events import (
    Answer,
    Event,
    PayloadComposed,
    ReplyReceived,
    RetryScheduled,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from sightline.cli.chat.screen import Screen
from sightline.cli.chat.status import Status, money, status_line
from sightline.cli.phrases import Phrases
from sightline.documents.structured_response import Action, StructuredResponse
from sightline.values.items import Call


class Clock:
    """Seconds, by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(*events: object, language: str = "en", terminal: bool = False) -> str:
    """What stays on the screen after these events."""
    out, clock = StringIO(), Clock()
    console = Console(file=out, width=80, height=24, force_terminal=terminal, color_system=None, highlight=False)
    screen = Screen(console, Phrases(language, "chat"), clock, lambda text: text.replace("<code_ref>", "«"))
    with screen.answering():
        for event in events:
            clock.now += 0.5
            screen.show(event)  # type: ignore[arg-type]
    return out.getvalue()


READ = Call("c1", "file_reader", {"path": "data.csv"})
DONE = ReplyReceived("m", "1", None, None)


def test_an_answer_is_shown_once_and_whole() -> None:
    """Piece by piece or not, with its tags resolved, and not again when the Answer comes."""
    text = "# Title\n\nOne <code_ref>x\n\n- two\n"
    pieces = [TextDelta(text[at : at + 3]) for at in range(0, len(text), 3)]
    screen = shown(*pieces, DONE, Answer(True, text))
    assert screen.count("Title") == screen.count("One «x") == screen.count("two") == 1


def test_thinking_is_not_shown() -> None:
    """Only what is said for the user is."""
    assert "hmm" not in shown(TextDelta("hmm", thinking=True), TextDelta("yes"), DONE, Answer(True, "yes"))


@pytest.mark.parametrize("text", ['{"a": 1}', '```json\n{"a": 1}\n```'])
def test_json_is_shown_as_any_other_words(text: str) -> None:
    """Where it is the answer, once; also where it stands before a call, and where it is cut off."""
    assert shown(TextDelta(text), DONE, Answer(True, text)).count('{"a": 1}') == 1
    assert '{"a": 1}' in shown(
        TextDelta(text), DONE, ToolStarted(READ), ToolFinished(READ, "a,b"), PayloadComposed(9, 99, 0, "")
    )
    assert '{"a": 1}' in shown(TextDelta(text))


def test_tools_are_one_line_each() -> None:
    """Name, what it is about, how it went, how long it took."""
    screen = shown(
        TextDelta("Let me look."),
        DONE,
        ToolStarted(READ),
        ToolFinished(READ, "a,b"),
        TextDelta("Done."),
        DONE,
        Answer(True, "Done."),
    )
    assert "✓ file_reader data.csv  0.5 s" in screen
    assert screen.index("Let me look.") < screen.index("file_reader") < screen.index("Done.")
    failed = shown(ToolStarted(READ), ToolFinished(READ, "no such\nfile", "failed"), Answer(True, ""))
    assert "✗ file_reader data.csv  failed: no such file" in failed


def test_while_a_call_runs_it_is_named() -> None:
    """Of several at once one that still runs; when none does, the model thinks."""
    out, other = StringIO(), Call("c2", "search_files", {"query": "milk"})
    screen = Screen(Console(file=out, width=80, height=24, force_terminal=True), Phrases("en", "chat"), Clock())

    def moving(event: Event) -> str:
        screen.show(event)
        out.truncate(0)
        screen.refresh()
        return out.getvalue()

    with screen.answering():
        moving(ToolStarted(READ))
        assert "search_files" in moving(ToolStarted(other))
        assert "file_reader data.csv" in moving(ToolFinished(other, "none"))
        assert "thinking" in moving(ToolFinished(READ, "a,b"))


@pytest.mark.parametrize(("text", "well"), [
    ("[exit status 0]\n42", True), ("[退出状态 0]", True), ("[exit status 1]\n[errors]\nNameError", False),
    ("[退出状态 1]", False), ("[stopped after 5 s]", False),
])  # fmt: skip
def test_a_program_that_failed_is_a_failed_call(text: str, well: bool) -> None:
    """Though the tool did what it should; what another tool's result begins with means nothing."""
    run = Call("c1", "run_python", {"code_id": "code_sum"})
    assert ("✓ run_python code_sum" in shown(ToolStarted(run), ToolFinished(run, text))) == well
    assert (
        "✗ run_python code_sum  failed: [" in shown(ToolStarted(run), ToolFinished(run, text), language="en")
    ) != well
    assert "✓ file_reader" in shown(ToolStarted(READ), ToolFinished(READ, "[exit status 1]"))


@pytest.mark.parametrize(("name", "given", "about"), [
    ("action", {"window_id": "todo_1", "action_id": "add", "params": {"text": "milk"}}, "todo_1 add"),
    ("create", {"name": "editor", "target": "notes.txt"}, "editor notes.txt"),
    ("search_files", {"path": ".", "query": "milk"}, "milk"),
    ("create", {}, ""), ("action", {"path": "x.txt"}, "x.txt"), ("action", ["odd"], ""),
])  # fmt: skip
def test_a_call_of_a_window_says_what_is_done(name: str, given: object, about: str) -> None:
    """The window and its action; the app and what it is opened for; what is looked for."""
    call = Call("c1", name, given)
    assert f"✓ {name} {about}".rstrip() + "  0.5 s" in shown(ToolStarted(call), ToolFinished(call, "done"))


def test_seconds_are_told_to_a_tenth() -> None:
    """As people say them."""
    assert "again in 0.6 s (attempt 2)" in shown(RetryScheduled("m", "503", 0.586417, 2))


@pytest.mark.parametrize(("language", "said"), [("en", "running? again in 2 s"), ("zh", "running? 2 秒后")])
def test_a_reason_may_be_a_question(language: str, said: str) -> None:
    """Nothing stands behind its question mark."""
    assert said in shown(RetryScheduled("m", "is its server running?", 2.0, 2), language=language)


@pytest.mark.parametrize("why", ["503", "m-1: 503", "m-1 was silent"])
def test_a_model_that_is_asked_again_is_named_once(why: str) -> None:
    """Whether the reason names it or not."""
    assert shown(RetryScheduled("m-1", why, 2.0, 2)).strip().startswith("m-1")
    assert shown(RetryScheduled("m-1", why, 2.0, 2)).count("m-1") == 1


def test_what_was_cut_off_is_not_shown_as_said() -> None:
    """A model that is asked again says it again; the line says why, and after how long."""
    screen = shown(
        TextDelta("half a wo"),
        RetryScheduled("m", "503", 2.0, 2),
        TextDelta("whole words"),
        DONE,
        Answer(True, "whole words"),
    )
    assert "half" not in screen
    assert "m: 503; again in 2 s (attempt 2)" in screen
    assert "whole words" in screen
    assert "asking other instead" in shown(RetryScheduled("m", "503", 0, 2, "other"))


def test_a_failed_answer_says_why_and_how_to_go_on() -> None:
    """In red on a terminal, in both languages."""
    assert "The answer failed: no connection" in shown(Answer(False, error="no connection"))
    assert "/retry" in shown(Answer(False, error="没有连接"), language="zh")


def test_what_stands_beside_an_answer_is_shown() -> None:
    """What could be asked next, and what went wrong, such as code that could not be saved."""
    response = StructuredResponse(action=Action(recommended_questions=("And in May?",)))
    screen = shown(Answer(True, "The report.", response=response, warnings=("code id 'code_a-b' is refused",)))
    assert "you could ask: And in May?" in screen
    assert "code id 'code_a-b' is refused" in screen


def test_a_sweep_is_told() -> None:
    """When levels change the reader is told in a dim line; other calls say nothing."""
    assert "older steps shortened (budget full)" in shown(PayloadComposed(900, 1000, 0, "sweep: forced"))
    assert shown(PayloadComposed(900, 1000, 800, "")).strip() == ""


@pytest.mark.parametrize("event", [
    TextDelta("\x1b[2Jx"), ToolFinished(Call("c", "t\x1b[2J", {"path": "\x1b[2J"}), "\x1b[2J", "failed"),
    Answer(False, error="\x1b[2J"), Answer(True, "", warnings=("\x1b[2J",)),
    RetryScheduled("m\x1b[2J", "\x1b[2J", 1, 2), Answer(True, "&#27;[2J"),
])  # fmt: skip
def test_nothing_that_is_said_acts_on_the_terminal(event: object) -> None:
    """Not the model's words, a tool's name, its result, nor a provider's message."""
    assert "\x1b[2J" not in shown(event)


def test_on_a_terminal_the_unfinished_part_moves_and_then_stays() -> None:
    """What is finished is printed for good; the cursor comes back at the end."""
    screen = shown(TextDelta("One.\n\nTwo"), DONE, Answer(True, "One.\n\nTwo"), terminal=True)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    assert plain.index("answering") < plain.rindex("One.") < plain.rindex("Two")
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l")


def test_the_status_line() -> None:
    """Model, room, what is reused, cost, session, strategy; what is not known is a dash."""
    words = Phrases("en", "chat")
    new = Status("gpt", None, 120_000, None, None, "V1StGXR8_Z5jdHi6B-myT", "focus")
    assert status_line(new, words) == "gpt · –/120k ░░░░░░░░ · cached – · cost – · V1StGXR8 · focus"
    used = new._replace(tokens=60_000, reused=45_000, cost=0.0123)
    assert status_line(used, words) == "gpt · 60k/120k ████░░░░ 50% · cached 75% · cost 0.0123 · V1StGXR8 · focus"
    assert status_line(used, words, plain=True).isascii()
    assert "缓存 75%" in status_line(used, Phrases("zh", "chat"))
    assert (money(None), money(12.345)) == ("–", "12.35")


def test_where_there_is_little_room_the_status_line_says_less() -> None:
    """Whole parts go, what matters least first; only a model's name is ever cut."""
    words = Phrases("en", "chat")
    used = Status("gpt-5-mini", 60_000, 120_000, 45_000, 0.0123, "V1StGXR8_Z5jdHi6B-myT", "focus")
    assert status_line(used, words, width=100) == status_line(used, words)
    assert status_line(used, words, width=56) == "gpt-5-mini · 60k/120k 50% · cached 75% · cost 0.0123"
    assert status_line(used, words, width=50) == "gpt-5-mini · 60k/120k 50% · cost 0.0123"
    assert status_line(used, words, width=25) == "gpt-5-mini · 60k/120k 50%"
    assert status_line(used, words, width=10) == "gpt-5-min…"
