"""State instead of dialogue: schemas, merging what was found, and what a session then shows."""

import datetime
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import BadInput, Budget, Session, Settings, UnknownItem
from sightline.plan.strategies import strategy
from sightline.plan.strategies.entities import Entities, merged
from sightline.plan.strategies.state_schema import problem, schema_of
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, plain_text

SHORT = {"destination": "string", "date": "string"}
SCHEMA = schema_of({
    "type": "object",
    "properties": {
        "destination": {"type": "string"},
        "date": {"type": "string", "format": "date"},
        "class": {"enum": ["economy", "business"]},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "stops": {"type": "array", "items": {"type": "string"}},
        "passenger": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
    },
    "additionalProperties": False,
})  # fmt: skip


def made(**config: Any) -> Session:
    settings = Settings(strategy="entities", config={"schema": SHORT} | config)
    return Session(
        MemoryStore("s"), settings=settings, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids()
    )


def texts(session: Session, window: int = 1_000) -> list[str]:
    messages = session.compose(Budget(window, recall=0)).openai()["messages"]
    return [each["content"][0]["text"] if isinstance(each["content"], list) else each["content"] for each in messages]


# ------------------------------------------------------------------ schemas


class Passenger(msgspec.Struct):
    name: str
    age: int | None = None


class Booking(msgspec.Struct):
    destination: str
    date: datetime.date
    passenger: Passenger | None = None


class Flight(pydantic.BaseModel):
    destination: str
    date: datetime.date
    passenger: dict[str, int] | None = None


@pytest.mark.accepts(280)
def test_a_schema_can_be_given_in_short() -> None:
    """The document's own form: each field and its type; objects inside are given the same way."""
    assert schema_of(SHORT) == {
        "type": "object",
        "properties": {"destination": {"type": "string"}, "date": {"type": "string"}},
        "additionalProperties": False,
    }
    nested = schema_of({"type": "string", "who": {"name": "string"}, "when": {"type": "string", "format": "date"}})
    assert nested["properties"]["type"] == {"type": "string"}
    assert nested["properties"]["who"]["properties"] == {"name": {"type": "string"}}
    assert nested["properties"]["when"] == {"type": "string", "format": "date"}


@pytest.mark.accepts(280)
@pytest.mark.parametrize("type_", [Booking, Flight])
def test_a_schema_can_be_a_type(type_: Any) -> None:
    """A msgspec or a pydantic type: fields, formats and types inside hold."""
    made = Entities(schema=type_)
    state, refused = made.merged({}, {"destination": "Oslo", "date": "2026-05-01"})
    assert (state, refused) == ({"destination": "Oslo", "date": "2026-05-01"}, {})
    assert made.merged(state, {"date": "tomorrow"}).refused == {"date": "'tomorrow' is no date"}
    assert made.merged(state, {"passenger": {"age": "old"}}).refused.keys() == {"passenger.age"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "no fields"), ({"date": "sometime"}, "schema.date is 'sometime'; choose one of string, integer"),
        ({"type": "object", "properties": {"a": {"not": {}}}}, r"schema\.a says 'not', which is not checked here"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, r"schema\.a\.type is 'text'"),
        ({"$ref": "#/$defs/A"}, "which it does not define"), ({"a": {"type": "string", "pattern": "("}}, "pattern"),
        ({"a": 3}, r"schema\.a is 3"), ("string", "JSON Schema or a type"), (int, "schema is that of an object"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_kept_is_refused(wrong: Any, told: str) -> None:
    """When it is loaded, by path: keywords that are not checked, unknown types, references to nothing."""
    with pytest.raises(BadInput, match=told):
        schema_of(wrong)


@pytest.mark.parametrize(
    ("node", "good", "bad"),
    [
        ({"type": "integer"}, [1, 2.0, -3], [1.5, "1", True, None, float("nan")]),
        ({"type": "number"}, [1, 1.5], ["1", False, float("inf")]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", True, 2]),
        ({"const": 1}, [1], [2, True]),
        ({"type": "string", "format": "date-time"}, ["2026-05-01T10:00:00Z"], ["2026-05-01 noon"]),
        ({"type": "string", "format": "email"}, ["a@b.org"], ["a@b", "a b@c.org"]),
        ({"type": "string", "format": "uri"}, ["https://a.org/b"], ["a.org"]),
        ({"type": "string", "format": "uuid"}, ["12345678-1234-5678-1234-567812345678"], ["1234"]),
        ({"type": "string", "format": "color"}, ["red"], []),
        ({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a"}, ["ab"], ["a", "abcd", "bc", "\ud800a"]),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 2}, [2, 8], [0, 9, 3]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2, "uniqueItems": True}, [[], [1, 2]],
         [[1, 2, 3], ["1"], [1, 1], "12"]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5, None]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, [1.5], [1, "a"]),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}], "type": "integer"}, [1, 3], [0, 4]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, [{}, {"a": "b"}], [{"a": 1}, {"b": 1}, []]),
        ({"type": "object"}, [{"x": 1}], [1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "1"}, {1: 1}]),
        (True, [1, None], []), (False, [], [1]),
    ],
)  # fmt: skip
@pytest.mark.accepts(284)
def test_values_are_checked(node: Any, good: list[Any], bad: list[Any]) -> None:
    """Types, choices, formats, ranges, lists and objects, as JSON Schema has them."""
    for value in good:
        assert problem(node, value, {}) == "", value
    for value in bad:
        assert problem(node, value, {}), value


# ------------------------------------------------------------------ merging


@pytest.mark.accepts(284)
def test_later_values_overwrite_and_what_is_not_mentioned_stays() -> None:
    """Field by field, inside objects too; a list is replaced."""
    state = {"destination": "Rome", "stops": ["Pisa"], "passenger": {"name": "A", "age": 3}}
    found = {"destination": "Oslo", "stops": ["Bonn"], "passenger": {"age": 4}, "seats": 2}
    assert merged(SCHEMA, state, found) == (
        {"destination": "Oslo", "stops": ["Bonn"], "passenger": {"name": "A", "age": 4}, "seats": 2},
        {},
    )
    assert state["destination"] == "Rome"


@pytest.mark.accepts(284)
def test_a_wrong_value_is_refused_and_the_old_one_kept() -> None:
    """Each by its path and why; the good ones beside it are taken."""
    state = {"date": "2026-05-01", "seats": 2}
    found = {"date": "soon", "seats": 20, "class": "first", "colour": "red", "destination": "Oslo",
             "passenger": {"age": "old", "name": "A"}, "stops": "Bonn"}  # fmt: skip
    after, refused = merged(SCHEMA, state, found)
    assert after == {"date": "2026-05-01", "seats": 2, "destination": "Oslo", "passenger": {"name": "A"}}
    assert refused == {
        "date": "'soon' is no date",
        "seats": "20 is out of range",
        "class": "'first' is none of 'economy', 'business'",
        "colour": "no such field",
        "passenger.age": "'old' is no integer",
        "stops": "'Bonn' is no array",
    }


@pytest.mark.accepts(284)
def test_null_says_nothing_unless_it_is_to_erase() -> None:
    """Extractors fill with nulls what was not mentioned; where the configuration says so, a null forgets."""
    assert merged(SCHEMA, {"seats": 2}, {"seats": None, "date": None}) == ({"seats": 2}, {})
    assert merged(SCHEMA, {"seats": 2}, {"seats": None}, null_erases=True) == ({}, {})


@pytest.mark.parametrize("found", ["no JSON", 3, None, [1], b"[]", object()])
@pytest.mark.accepts(284)
def test_what_is_no_object_changes_nothing(found: Any) -> None:
    """Whatever a model says, the state is as it was, and the refusal is told."""
    state, refused = merged(SCHEMA, {"seats": 2}, found)
    assert state == {"seats": 2}
    assert list(refused) == [""]


def test_what_was_found_may_be_text_or_typed() -> None:
    """JSON text, a msgspec object, a pydantic object of which only what was set counts."""
    assert merged(SCHEMA, {}, '{"seats": 3}').state == {"seats": 3}
    assert merged(schema_of(Passenger), {}, Passenger("A", 3)).state == {"name": "A", "age": 3}
    flight = Flight(destination="Oslo", date=datetime.date(2026, 5, 1))
    assert merged(schema_of(Flight), {}, flight).state == {"destination": "Oslo", "date": "2026-05-01"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@pytest.mark.accepts(284)
@given(
    st.lists(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), json_values, max_size=4), max_size=4)
)
def test_whatever_is_found_the_state_matches_the_schema(found: list[dict[str, Any]]) -> None:
    """And it can be written down, and no field once known is lost."""
    state: dict[str, Any] = {}
    for each in found:
        after = merged(SCHEMA, state, each).state
        assert after.keys() >= state.keys()
        state = after
        assert problem(SCHEMA, state, SCHEMA) == ""
        assert msgspec.json.decode(msgspec.json.encode(state)) == state


# ------------------------------------------------------------------ in a session


@pytest.mark.accepts(282, 283)
def test_the_state_and_the_question_are_sent_and_nothing_else() -> None:
    """System, the state as JSON, the question, and the tool calls that are open on it."""
    session = made()
    session.system("book flights")
    session.user("I want to fly to Oslo")
    session.remember({"destination": "Oslo"})
    state = '[what is known so far]\n{"destination":"Oslo"}'
    assert texts(session) == ["book flights", state, "I want to fly to Oslo"]
    session.reply("When?")
    session.user("on the first of May")
    session.remember({"destination": "Oslo", "date": "2026-05-01"})
    state = '[what is known so far]\n{"destination":"Oslo","date":"2026-05-01"}'
    assert texts(session) == ["book flights", state, "on the first of May"]
    session.assistant([Call("a", "search", {"to": "OSL"})])
    session.tool_result("a", "SK 7 at noon")
    sent = session.compose(Budget(1_000, recall=0))
    assert [message.role for message in sent.body] == ["user", "user", "assistant", "tool"]
    assert session.receipt is not None
    assert session.receipt.reason == ""  # a tool's answer only adds


def test_a_changed_state_is_a_sweep_of_its_own() -> None:
    """The receipt names the reason; what was said stays in the log."""
    session = made()
    session.user("to Oslo")
    session.compose(Budget(1_000, recall=0))
    session.remember({"destination": "Oslo"})
    session.compose(Budget(1_000, recall=0))
    assert session.receipt is not None
    assert session.receipt.reason == "sweep: state"
    assert len(session.items) == 1


def test_many_tool_calls_give_way_oldest_first() -> None:
    """The state and the question hold; of the open turn the newest exchanges are shown that fit."""
    session = made()
    session.remember({"destination": "Oslo"})
    session.user("find it")
    for n in range(20):
        session.assistant([Call(f"c{n}", "search", {"n": n})])
        session.tool_result(f"c{n}", "word " * 20)
    shown = texts(session, 200)
    assert shown[0].endswith('{"destination":"Oslo"}')
    assert shown[1] == "find it"
    assert 2 < len(shown) < 20


@pytest.mark.accepts(280, 287)
def test_the_configuration_is_checked_when_it_is_loaded() -> None:
    """Without a schema, or with a bad one, there is no such strategy."""
    assert isinstance(strategy("entities", {"schema": SHORT}), Entities)
    for wrong in ({}, {"schema": "x"}, {"schema": {"a": "b"}}, {"schema": SHORT, "more": 1}):
        with pytest.raises(BadInput, match="strategy 'entities' does not take this configuration"):
            strategy("entities", wrong)


# ------------------------------------------------------------------ what was not read yet


def test_nothing_is_forgotten_before_it_was_read() -> None:
    """Without a state, and for what was said after the last message that it accounts for, the dialogue is sent."""
    session = made()
    first = session.user("to Oslo")
    session.assistant("when?")
    assert texts(session) == ["to Oslo", "when?"]
    session.user("tomorrow")
    session.assistant("how many?")
    session.remember({"destination": "Oslo"}, read=first)
    session.user("two")
    shown = texts(session)
    assert shown[0].endswith('{"destination":"Oslo"}')
    assert shown[1:] == ["tomorrow", "how many?", "two"]
    assert [plain_text(item.parts) for item in session.unread] == ["when?", "tomorrow", "how many?", "two"]
    session.remember(session.state)  # all was read, and nothing more found
    assert texts(session)[1:] == ["two"]
    assert session.unread == []


@pytest.mark.parametrize("has_state", [False, True])
def test_what_was_not_read_is_not_forgotten_by_compacting_it(has_state: bool) -> None:
    """Its summary stands for it until the messages themselves were read."""
    session = made()
    first = session.user("to Oslo")
    session.assistant("when?")
    if has_state:
        session.remember({"destination": "Oslo"}, read=first)
    for n in range(4):
        session.user(f"no, rather to Bergen, I think, for the reason {n}, which is a long one")
        session.assistant("so be it")
    session.summaries.compact(Budget(1_000, recall=0), model=lambda _: "They want to go to Bergen now, not to Oslo.")
    session.user("book it")
    shown = str(session.compose(Budget(1_000, recall=0)).openai())
    assert "Bergen now" in shown
    assert "the reason 0" not in shown
    session.remember({"destination": "Bergen"})
    assert "Bergen now" not in str(session.compose(Budget(1_000, recall=0)).openai())
    assert texts(session)[1:] == ["book it"]


def test_a_state_of_a_fork_does_not_reach_the_branch_it_came_from() -> None:
    """On each branch the state holds that accounts for most of it."""
    session = made()
    first = session.user("to Oslo")
    session.assistant("when?")
    session.user("on friday")
    session.remember({"destination": "Oslo", "date": "friday"})
    fork = session.fork(at=first)
    assert fork.state == {}
    assert [plain_text(item.parts) for item in fork.unread] == ["to Oslo"]
    fork.remember({"destination": "Oslo"}, read=first)
    session.refresh()
    assert session.state == {"destination": "Oslo", "date": "friday"}
    assert session.unread == []


def test_a_state_belongs_to_the_message_it_was_found_in() -> None:
    """A branch that begins after that message knows it, also if it was remembered later; one before it does not."""
    session = made()
    first = session.user("to Oslo")
    reply = session.assistant("when?")
    session.user("tomorrow")
    session.remember({"destination": "Oslo"}, read=first)
    assert session.fork(at=reply).state == {"destination": "Oslo"}
    later = made()
    opening = later.user("hello")
    asked = later.user("to Oslo")
    later.remember({"destination": "Oslo"}, read=asked)
    assert later.fork(at=opening).state == {}


def test_only_an_item_of_the_branch_can_have_been_read() -> None:
    """Anything else is refused, and the state stays."""
    session = made()
    session.user("to Oslo")
    with pytest.raises(UnknownItem):
        session.remember({"destination": "Oslo"}, read=99)
    assert session.state == {}
