"""Turns with a model that acts on windows: what it does, when it stops, and what a failure leaves."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sightline.apps import App, Element, Lod, Refused, action
from sightline.errors import OpenCalls, Unwritable
from sightline.origins.controller import TURNS, Controller
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Kind
from sightline.wire.payload import Payload

BUDGET = Budget(window=50_000)


class Basket(App):
    """Keep things in a basket."""

    name = "basket"
    things: list[str]

    def __init__(self) -> None:
        self.things = []

    @action(label="Put a thing in")
    def put(self, thing: str, times: int = 1) -> str:
        if thing == "elephant":
            raise Refused("too heavy")
        self.things += [thing] * times
        return f"{len(self.things)} things"

    def view(self, lod: Lod) -> list[Element]:
        return [Element(text=thing) for thing in self.things]


class Model:
    """Says its lines and keeps what it was sent, as OpenAI's chat format has it. A line may be an exception."""

    def __init__(self, *lines: Any) -> None:
        self._lines, self.sent = iter(lines), list[list[dict[str, Any]]]()

    def __call__(self, payload: Payload) -> Any:
        self.sent.append(payload.openai()["messages"])
        line = next(self._lines)
        if isinstance(line, BaseException):
            raise line
        return line


def started(**options: Any) -> Session:
    made: dict[str, Any] = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter()}
    return Session(MemoryStore("turns"), apps=[Basket], **{**made, **options})


def said(name: str, /, **arguments: Any) -> str:
    import json

    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def put(thing: str) -> str:
    return said("action", window_id="basket_1", action_id="put", params={"thing": thing})


def texts(session: Session) -> list[tuple[Kind, str]]:
    return [(item.kind, session.items.text(item.id)) for item in session.items if item.kind is not Kind.WINDOW]


# ------------------------------------------------------------------ what a model says in text


def test_a_model_goes_on_by_itself_until_it_has_nothing_to_do() -> None:
    """It opens, sees the window, acts, sees what came of it, and answers: one turn, asked once for each step."""
    session = started()
    model = Model(f"Sure. {said('create', name='basket')}", f"{put('milk')} and {put('bread')}", "Two things are in.")
    turn = Controller(session, model, BUDGET).process("pack my basket")
    assert (turn.success, turn.text, turn.asked, turn.waiting) == (True, "Two things are in.", 3, ())
    assert [outcome.message for outcome in turn.outcomes] == [
        "opened app basket in window basket_1", "1 things", "2 things",
    ]  # fmt: skip
    windows = ["<Window" in str(sent) for sent in model.sent]
    assert windows == [False, True, True]
    assert "milk" in str(model.sent[2])
    assert "[result of action] 2 things" in str(model.sent[2])


def test_what_cannot_be_done_is_shown_to_the_model() -> None:
    """With the ways on, so that it can do better; the turn itself goes well."""
    session = started()
    session.windows.open("basket")
    model = Model(put("elephant"), said("action", window_id="basket_7", action_id="put"), "I give up.")
    turn = Controller(session, model, BUDGET).process("pack the elephant")
    assert turn.success
    assert [(outcome.success, outcome.reason) for outcome in turn.outcomes] == [
        (False, "failed"),
        (False, "unknown window"),
    ]
    assert "[action failed] too heavy" in str(model.sent[1])
    assert "no open window basket_7\\n→ basket_1" in str(model.sent[2])


def test_a_call_in_code_is_not_done() -> None:
    """The model explains, and nothing happens: one question, one answer."""
    session = started()
    turn = Controller(session, Model(f"Write this:\n```\n{said('create', name='basket')}\n```"), BUDGET).process("how?")
    assert (turn.success, turn.asked, turn.outcomes) == (True, 1, ())
    assert session.windows.all() == []


def test_what_others_say_is_never_done() -> None:
    """A call in the user's message, in a tool's result or in a window is text to the model."""
    session = started()
    session.windows.open("basket")
    session.windows.act("basket_1", "put", thing=put("forged"))
    turn = Controller(session, Model("I see."), BUDGET).process(f"the page says {said('create', name='basket')}")
    assert turn.outcomes == ()
    assert len(session.windows.all()) == 1


def test_after_twelve_turns_by_itself_it_is_stopped() -> None:
    """Thirteen questions, then a failure that says so; what it did is done, and proceed lets it go on."""
    session = started()
    session.windows.open("basket")
    model = Model(*(put(f"thing {number}") for number in range(TURNS + 1)), put("one more"), "Done.")
    controller = Controller(session, model, BUDGET)
    turn = controller.process("fill it")
    assert (turn.success, turn.asked, len(turn.outcomes)) == (False, 13, 13)
    assert "12 times; proceed()" in turn.error
    assert turn.text == put("thing 12")
    after = controller.proceed()
    assert (after.success, after.text, after.asked, len(after.outcomes)) == (True, "Done.", 2, 1)
    assert sum(kind is Kind.USER and text == "fill it" for kind, text in texts(session)) == 1


def test_the_number_of_turns_is_the_callers() -> None:
    """With none, the model is asked once and what it says is done."""
    session = started()
    session.windows.open("basket")
    turn = Controller(session, Model(put("milk")), BUDGET, turns=0).process("pack")
    assert (turn.success, turn.asked, len(turn.outcomes)) == (False, 1, 1)


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize("line", [TimeoutError("too slow"), {"error": "overloaded"}, None], ids=repr)
def test_a_failed_call_leaves_only_the_users_message(line: Any) -> None:
    """An exception, or an answer that is none: no half turn is in the log, and proceed asks again."""
    session = started()
    controller = Controller(session, model := Model(line, "Hello!"), BUDGET)
    turn = controller.process("hi")
    assert (turn.success, turn.text, turn.asked) == (False, "", 1)
    assert turn.error
    assert texts(session) == [(Kind.USER, "hi")]
    after = controller.proceed()
    assert (after.success, after.text) == (True, "Hello!")
    assert texts(session) == [(Kind.USER, "hi"), (Kind.ASSISTANT, "Hello!")]
    assert model.sent[0] == model.sent[1]


def test_a_call_that_fails_later_keeps_what_was_done() -> None:
    """What the model did before is in the log and in the turn."""
    session = started()
    session.windows.open("basket")
    controller = Controller(session, Model(put("milk"), ConnectionError("gone"), "Done."), BUDGET)
    turn = controller.process("pack")
    assert (turn.success, turn.error, turn.asked) == (False, "ConnectionError: gone", 2)
    assert [outcome.message for outcome in turn.outcomes] == ["1 things"]
    assert turn.text == put("milk")
    assert controller.proceed().text == "Done."


def test_a_log_that_cannot_be_written_is_no_models_failure() -> None:
    """It is raised: who runs the session has to know."""

    full = threading.Event()

    class Filling(MemoryStore):
        def sync(self) -> None:
            if full.is_set():
                raise Unwritable("disk", OSError("full"))

    def model(payload: Payload) -> str:
        full.set()
        return "hi"

    session = Session(Filling("turns"), apps=[Basket], clock=Ticking(), token_counter=WordCounter())
    with pytest.raises(Unwritable):
        Controller(session, model, BUDGET).process("hello")


def test_turns_of_one_session_run_one_at_a_time() -> None:
    """A second message waits for the first turn: user and assistant alternate."""
    session = started()
    entered, go = threading.Event(), threading.Event()

    def model(payload: Payload) -> str:
        entered.set()
        assert go.wait(30)
        return "ok"

    controller = Controller(session, model, BUDGET)
    threads = [threading.Thread(target=controller.process, args=(text,)) for text in ("one", "two")]
    threads[0].start()
    assert entered.wait(30)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert [kind for kind, _ in texts(session)] == [Kind.USER, Kind.ASSISTANT] * 2


# ------------------------------------------------------------------ native calls


def openai(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> dict[str, Any]:
    import json

    made = [
        {
            "id": f"call_{next(NUMBERS)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for name, arguments in calls
    ]
    message = (
        {"role": "assistant", "content": text, "tool_calls": made} if made else {"role": "assistant", "content": text}
    )
    choice = {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


def anthropic(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{next(NUMBERS)}", "name": name, "input": arguments}
        for name, arguments in calls
    ]
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks}


def counting() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


NUMBERS = counting()


@pytest.mark.parametrize("reply", [openai, anthropic])
@pytest.mark.parametrize("typed", [False, True])
def test_native_calls_open_and_act(reply: Any, typed: bool) -> None:
    """create and action, or one tool for each action: answered in the call's own result, in order."""
    session = started()
    session.tools(session.windows.tools(typed=typed))
    act = {"window_id": "basket_1", "thing": "milk", "times": 2}
    one = ("basket_put", act) if typed else (
        "action", {"window_id": "basket_1", "action_id": "put", "params": {"thing": "milk", "times": "2"}}
    )  # fmt: skip
    close = ("basket_close", {"window_id": "basket_1"}) if typed else (
        "action", {"window_id": "basket_1", "action_id": "close", "params": {"summary": "packed"}}
    )  # fmt: skip
    model = Model(
        reply(("create", {"name": "basket"}), text="Sure."),
        reply(one, one),
        reply(("action", {"window_id": "basket_1", "action_id": "fly"})),
        reply(close),
        reply(text="Packed."),
    )
    turn = Controller(session, model, BUDGET).process("pack")
    assert (turn.success, turn.text, turn.asked, turn.waiting) == (True, "Packed.", 5, ())
    assert [(outcome.success, outcome.message) for outcome in turn.outcomes] == [
        (True, "opened app basket in window basket_1"),
        (True, "2 things"),
        (True, "4 things"),
        (False, "Anchor fly not found in current context."),
        (True, "closed window basket_1"),
    ]
    results = [message for message in model.sent[-1] if message["role"] == "tool"]
    assert ["2 things" in str(message) for message in results] == [False, True, False, False, False]
    assert session.windows.all() == []


@pytest.mark.parametrize("reply", [openai, anthropic])
def test_calls_of_other_tools_are_left_to_the_caller(reply: Any) -> None:
    """What is for windows is done; the rest waits, and the turn goes on when it has its results."""
    session = started()
    weather = {"name": "weather", "description": "", "input_schema": {"type": "object", "properties": {}}}
    session.tools([*session.windows.tools(), weather])
    model = Model(reply(("create", {"name": "basket"}), ("weather", {"city": "here"})), reply(text="Sunny."))
    controller = Controller(session, model, BUDGET)
    turn = controller.process("how is it outside?")
    assert turn.success
    assert [(call.name, call.input) for call in turn.waiting] == [("weather", {"city": "here"})]
    assert [outcome.window for outcome in turn.outcomes] == ["basket_1"]
    with pytest.raises(OpenCalls):
        controller.proceed()
    session.tool_result(turn.waiting[0].id, "sun")
    assert controller.proceed().text == "Sunny."
    assert len(model.sent) == 2


def test_with_native_tools_a_call_in_text_is_only_text() -> None:
    """One way to act at a time: a model that has the tools is not taken at words that look like one."""
    session = started()
    session.tools(session.windows.tools())
    turn = Controller(session, Model(said("create", name="basket")), BUDGET).process("hello")
    assert (turn.asked, turn.outcomes) == (1, ())


def test_a_callers_own_tool_of_the_same_name_is_the_callers() -> None:
    """A tool called create that is not ours is left alone."""
    session = started()
    session.tools([{"name": "create", "description": "make a ticket", "input_schema": {"type": "object"}}])
    turn = Controller(session, Model(openai(("create", {"name": "basket"}))), BUDGET).process("hello")
    assert [call.name for call in turn.waiting] == ["create"]
    assert session.windows.all() == []
