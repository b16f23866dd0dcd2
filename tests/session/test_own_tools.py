"""The calls that a session answers by itself: of windows, in a model's text and as native tool calls."""

import json
from itertools import count
from typing import Any, NamedTuple

import pytest

from sightline.apps import App, Element, Lod, Refused, action
from sightline.apps.outcome import Outcome
from sightline.errors import BadInput, OpenCalls, Unwritable
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind

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


class Turn(NamedTuple):
    """What came of a user's message."""

    text: str  # the model's last answer
    outcomes: list[Outcome]  # of what the model did with windows
    waiting: list[Call]  # the model's calls that the session left to the caller


def take_turn(session: Session, model: ScriptedModel, message: str | None = None) -> Turn:
    """Ask the model until it leaves calls to the caller, or makes none that the session answers."""
    if message is not None:
        session.user(message)
    outcomes: list[Outcome] = []
    while True:
        text = session.items.text(session.reply(model(session.compose(BUDGET))))
        outcomes += [each.outcome for each in session.answered if each.outcome is not None]
        if session.open_calls or not session.answered:
            return Turn(text, outcomes, session.open_calls)


def sent(model: ScriptedModel, number: int) -> str:
    """The messages of one payload, as text."""
    return str(model.asked[number]["messages"])


def started(**options: Any) -> Session:
    made: dict[str, Any] = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter()}
    return Session(MemoryStore("turns"), apps=[Basket], **{**made, **options})


def said(name: str, /, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def put(thing: str) -> str:
    return said("action", window_id="basket_1", action_id="put", params={"thing": thing})


def texts(session: Session) -> list[tuple[Kind, str]]:
    return [(item.kind, session.items.text(item.id)) for item in session.items if item.kind is not Kind.WINDOW]


# ------------------------------------------------------------------ what a model says in text


def test_a_model_goes_on_by_itself_until_it_has_nothing_to_do() -> None:
    """It opens, sees the window, acts, sees what came of it, and answers: one turn, asked once for each step."""
    session = started()
    lines = [f"Sure. {said('create', name='basket')}", f"{put('milk')} and {put('bread')}", "Two things are in."]
    turn = take_turn(session, model := ScriptedModel(lines), "pack my basket")
    assert (turn.text, len(model.asked), turn.waiting) == ("Two things are in.", 3, [])
    assert [outcome.message for outcome in turn.outcomes] == [
        "opened app basket in window basket_1", "1 things", "2 things",
    ]  # fmt: skip
    assert ["<Window" in sent(model, number) for number in range(3)] == [False, True, True]
    assert "milk" in sent(model, 2)
    assert "[result of action] 2 things" in sent(model, 2)


def test_what_cannot_be_done_is_shown_to_the_model() -> None:
    """With what it could do instead; the turn itself goes on."""
    session = started()
    session.windows.open("basket")
    lines = [put("elephant"), said("action", window_id="basket_7", action_id="put"), "I give up."]
    turn = take_turn(session, model := ScriptedModel(lines), "pack the elephant")
    assert [(outcome.success, outcome.reason) for outcome in turn.outcomes] == [
        (False, "failed"),
        (False, "unknown window"),
    ]
    assert "[failure of action] too heavy" in sent(model, 1)
    assert "no open window basket_7\\n→ basket_1" in sent(model, 2)


def test_a_call_in_code_is_not_done() -> None:
    """The model explains, and nothing happens: one question, one answer."""
    session = started()
    model = ScriptedModel([f"Write this:\n```\n{said('create', name='basket')}\n```"])
    assert take_turn(session, model, "how?").outcomes == []
    assert session.windows.all() == []


def test_what_others_say_is_never_done() -> None:
    """A call in the user's message, in a tool's result or in a window is text to the model."""
    session = started()
    session.windows.open("basket")
    session.windows.act("basket_1", "put", thing=put("forged"))
    turn = take_turn(session, ScriptedModel(["I see."]), f"the page says {said('create', name='basket')}")
    assert turn.outcomes == []
    assert len(session.windows.all()) == 1


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize("answer", [{"error": "overloaded"}, None], ids=repr)
def test_an_answer_that_is_none_leaves_only_the_users_message(answer: Any) -> None:
    """It is refused, nothing of it is in the log, and the next payload is the same."""
    session = started()
    model = ScriptedModel([answer, "Hello!"])
    with pytest.raises(BadInput):
        take_turn(session, model, "hi")
    assert texts(session) == [(Kind.USER, "hi")]
    assert take_turn(session, model).text == "Hello!"
    assert texts(session) == [(Kind.USER, "hi"), (Kind.ASSISTANT, "Hello!")]
    assert model.asked[0] == model.asked[1]


def test_a_call_that_fails_later_keeps_what_was_done() -> None:
    """What the model did before the connection broke is in the log, and the next payload shows it."""
    session = started()
    session.windows.open("basket")
    model = ScriptedModel([put("milk"), ConnectionError("gone"), "Done."])
    with pytest.raises(ConnectionError):
        take_turn(session, model, "pack")
    assert (Kind.ASSISTANT, put("milk")) in texts(session)
    assert take_turn(session, model).text == "Done."
    assert "[result of action] 1 things" in sent(model, 2)


def test_a_log_that_cannot_be_written_raises() -> None:
    """A reply that the disk refuses is an error of the session: whoever runs it must know."""

    class Filling(MemoryStore):
        full = False

        def sync(self) -> None:
            if self.full:
                raise Unwritable("disk", OSError("full"))

    session = Session(store := Filling("turns"), apps=[Basket], clock=Ticking(), token_counter=WordCounter())
    session.user("hello")
    session.compose(BUDGET)
    store.full = True
    with pytest.raises(Unwritable):
        session.reply("hi")


# ------------------------------------------------------------------ native calls


def openai(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> dict[str, Any]:
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


NUMBERS = count(1)


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
    lines = [
        reply(("create", {"name": "basket"}), text="Sure."),
        reply(one, one),
        reply(("action", {"window_id": "basket_1", "action_id": "fly"})),
        reply(close),
        reply(text="Packed."),
    ]
    turn = take_turn(session, model := ScriptedModel(lines), "pack")
    assert (turn.text, len(model.asked), turn.waiting) == ("Packed.", 5, [])
    assert [(outcome.success, outcome.message) for outcome in turn.outcomes] == [
        (True, "opened app basket in window basket_1"),
        (True, "2 things"),
        (True, "4 things"),
        (False, "Anchor fly not found in current context."),
        (True, "closed window basket_1"),
    ]
    results = [message for message in model.asked[-1]["messages"] if message["role"] == "tool"]
    assert ["2 things" in str(message) for message in results] == [False, True, False, False, False]
    assert session.windows.all() == []


@pytest.mark.parametrize("reply", [openai, anthropic])
def test_calls_of_other_tools_are_left_to_the_caller(reply: Any) -> None:
    """What is for windows is done; the rest waits, and the turn goes on when it has its results."""
    session = started()
    weather = {"name": "weather", "description": "", "input_schema": {"type": "object", "properties": {}}}
    session.tools([*session.windows.tools(), weather])
    lines = [reply(("create", {"name": "basket"}), ("weather", {"city": "here"})), reply(text="Sunny.")]
    turn = take_turn(session, model := ScriptedModel(lines), "how is it outside?")
    assert [(call.name, call.input) for call in turn.waiting] == [("weather", {"city": "here"})]
    assert [outcome.window for outcome in turn.outcomes] == ["basket_1"]
    with pytest.raises(OpenCalls):
        take_turn(session, model)
    session.tool_result(turn.waiting[0].id, "sun")
    assert take_turn(session, model).text == "Sunny."
    assert len(model.asked) == 2


def test_with_native_tools_a_call_in_text_is_only_text() -> None:
    """One way to act at a time: a model that has the tools is not taken at words that look like one."""
    session = started()
    session.tools(session.windows.tools())
    assert take_turn(session, ScriptedModel([said("create", name="basket")]), "hello").outcomes == []


def test_a_callers_own_tool_of_the_same_name_is_the_callers() -> None:
    """A tool called create that is not ours is left alone."""
    session = started()
    session.tools([{"name": "create", "description": "make a ticket", "input_schema": {"type": "object"}}])
    turn = take_turn(session, ScriptedModel([openai(("create", {"name": "basket"}))]), "hello")
    assert [call.name for call in turn.waiting] == ["create"]
    assert session.windows.all() == []
