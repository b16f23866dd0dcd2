"""Actions: what an app's methods become, what registration refuses, and what arguments are taken for."""

import math
from typing import Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import App, Element, Host, Lod, action
from sightline.apps.actions import CLOSE, Action, Parameter, actions_of, bind, nearest
from sightline.errors import BadInput, Refused
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking


class Plain(App):
    """Shows nothing."""

    name = "plain"

    def view(self, lod: Lod) -> list[Element]:
        return []


class Everything(Plain):
    """Has a parameter of every kind."""

    name = "everything"

    @action(label="Do all of it", zh="全部")
    def all_of_it(
        self,
        text: str,
        count: int,
        share: float,
        loud: bool,
        mode: Literal["fast", "slow"],
        note: str | None = None,
        most: int = 7,
        old: Optional[str] = None,  # noqa: UP045
    ) -> str:
        """Do all of it at once.

        Further words are for people.
        """
        return ""

    @action()
    def wave(self) -> None:
        """Wave a hand."""

    @action()
    def nod_twice(self) -> None: ...


def host() -> Host:
    return Session(MemoryStore(), clock=Ticking()).windows


def test_hints_become_parameters() -> None:
    """In the order they are written: types by the document's names, a question mark where one may be left out."""
    whole = actions_of(Everything)["all_of_it"]
    assert whole.params == (
        "text:string, count:int, share:float, loud:bool, mode:fast|slow, note:string?, most:int?, old:string?"
    )
    assert whole.schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "share": {"type": "number"},
            "loud": {"type": "boolean"}, "mode": {"type": "string", "enum": ["fast", "slow"]},
            "note": {"type": "string"}, "most": {"type": "integer"}, "old": {"type": "string"},
        },
        "required": ["text", "count", "share", "loud", "mode"],
        "additionalProperties": False,
    }  # fmt: skip


def test_docstrings_become_descriptions_and_labels() -> None:
    """A label that is not given is the docstring's first sentence, or the name in words; in Chinese where asked."""
    found = actions_of(Everything)
    assert list(found) == ["all_of_it", "wave", "nod_twice"]
    assert [each.label for each in found.values()] == ["Do all of it", "Wave a hand", "Nod twice"]
    assert found["all_of_it"].about == "Do all of it at once."
    assert (found["all_of_it"].label_in("zh"), found["wave"].label_in("zh"), CLOSE.label_in("zh")) == (
        "全部",
        "Wave a hand",
        "关闭",
    )


def test_an_action_is_a_tool_of_its_own() -> None:
    """Named for its app, it also takes the window's id."""
    tool = actions_of(Everything)["wave"].tool("everything")
    assert (tool.name, tool.description) == ("everything_wave", "Wave a hand.")
    assert tool.schema["required"] == ["window_id"]
    assert list(tool.schema["properties"]) == ["window_id"]


def test_actions_of_a_base_come_first() -> None:
    """A subclass adds its own, and an overridden one keeps its place."""

    class More(Everything):
        """More of it."""

        name = "more"

        @action(label="Again")
        def wave(self) -> None: ...

        @action()
        def bow(self) -> None: ...

    assert [(each.id, each.label) for each in actions_of(More).values()] == [
        ("all_of_it", "Do all of it"), ("wave", "Again"), ("nod_twice", "Nod twice"), ("bow", "Bow"),
    ]  # fmt: skip


# ------------------------------------------------------------------ what registration refuses


def no_hint(self: Any, text) -> None: ...  # type: ignore[no-untyped-def]
def a_list(self: Any, texts: list[str]) -> None: ...
def numbers(self: Any, which: Literal[1, 2]) -> None: ...
def either(self: Any, value: str | int) -> None: ...
def many(self: Any, *texts: str) -> None: ...
def named(self: Any, **texts: str) -> None: ...
def by_place(self: Any, text: str, /) -> None: ...
def taken(self: Any, window_id: str) -> None: ...
def capital(self: Any, Text: str) -> None: ...  # noqa: N803
def chinese(self: Any, 文本: str) -> None: ...  # noqa: N803, PLC2401
def unknown(self: Any, text: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def awaited(self: Any, text: str) -> None: ...


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (no_hint, "'text' has no type hint"), (a_list, "use str, int"), (numbers, "Literal of words"),
        (either, "'value'"), (many, "name each parameter"), (named, "name each parameter"),
        (by_place, "name each parameter"), (taken, "'window_id'"), (capital, "small letters"),
        (chinese, "small letters"), (unknown, "Nowhere"), (awaited, "plain method"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)  # fmt: skip
def test_a_parameter_that_no_model_could_be_told_about_is_refused(method: Any, why: str) -> None:
    """When the app is registered, by the action's name and with what to write instead; nothing is registered then."""
    app = type("Bad", (Plain,), {"name": "bad", "act": action()(method)})
    apps = host()
    with pytest.raises(BadInput, match=why) as raised:
        apps.register(app)
    assert "action 'act' of Bad" in str(raised.value)
    assert "bad" not in apps.apps


@pytest.mark.parametrize("name", ["close", "Add", "_hidden", "添加"])
def test_a_name_that_no_model_could_say_is_refused(name: str) -> None:
    """Also `close`, which every window has of its own."""

    def nothing(self: Any) -> None: ...

    with pytest.raises(BadInput, match="choose another name"):
        host().register(type("Bad", (Plain,), {"name": "bad", name: action()(nothing)}))


def test_two_actions_that_would_be_one_tool_are_refused() -> None:
    """`a` with `b_c` and `a_b` with `c` are both `a_b_c`: the second app is told so."""

    def nothing(self: Any) -> None: ...

    apps = host()
    apps.register(type("A", (Plain,), {"name": "a", "b_c": action()(nothing)}))
    with pytest.raises(BadInput, match="a_b_c"):
        apps.register(type("Ab", (Plain,), {"name": "a_b", "c": action()(nothing)}))
    apps.register(apps.apps["a"])  # the same one again is no other
    assert list(apps.apps) == ["a"]


@pytest.mark.parametrize(
    "what",
    [Plain(), "nowhere", int, type("Nameless", (App,), {})],
    ids=["an instance", "an unknown name", "another class", "no name"],
)
def test_what_is_no_app_is_refused(what: Any) -> None:
    """An instance, an unknown name, another class, an app without a name."""
    with pytest.raises(BadInput):
        host().register(what)


# ------------------------------------------------------------------ what arguments are taken for


def one(kind: str, **more: Any) -> Action:
    return Action("act", "Act", (Parameter("value", kind, **more),))


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        ("int", 3, 3), ("int", "3", 3), ("int", " -12 ", -12), ("int", 3.0, 3), ("int", "+4", 4),
        ("float", 1, 1.0), ("float", "1.5", 1.5), ("float", "2e3", 2000.0), ("float", 0.25, 0.25),
        ("bool", True, True), ("bool", "true", True), ("bool", "False", False), ("bool", 0, False), ("bool", "1", True),
        ("string", "x", "x"), ("string", 3, "3"), ("string", "", ""), ("string", 1.5, "1.5"),
    ],
)  # fmt: skip
def test_numbers_and_truths_may_come_as_text(kind: str, given: Any, taken: Any) -> None:
    """Models write them so."""
    value = bind(one(kind), {"value": given}, "en")["value"]
    assert value == taken
    assert type(value) is type(taken)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("int", "3.5"), ("int", 3.5), ("int", True), ("int", "three"), ("int", ""), ("int", [3]), ("int", "1" * 40),
        ("int", "３"), ("int", math.inf), ("float", "x"), ("float", True), ("float", {}), ("float", "nan"),
        ("float", math.inf), ("float", 10**400), ("bool", "yes"), ("bool", 2), ("bool", []), ("string", ["x"]),
        ("string", {"x": 1}),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused(kind: str, given: Any) -> None:
    """By the parameter's name and the type it has, in the session's language."""
    with pytest.raises(Refused, match=f"parameter value must be {kind}"):
        bind(one(kind), {"value": given}, "en")
    with pytest.raises(Refused, match=f"参数 value 必须是 {kind}"):
        bind(one(kind), {"value": given}, "zh")


def test_a_choice_is_one_of_its_words() -> None:
    """Another word is refused, with the words there are."""
    mode = one("string", choices=("fast", "slow"))
    assert bind(mode, {"value": "slow"}, "en") == {"value": "slow"}
    with pytest.raises(Refused, match=r"fast\|slow"):
        bind(mode, {"value": "Slow"}, "en")


def test_what_is_missing_or_unknown_is_refused() -> None:
    """By name; null is the same as not given."""
    for arguments in ({}, {"value": None}):
        with pytest.raises(Refused, match="missing required parameter: value"):
            bind(one("int"), arguments, "en")
    with pytest.raises(Refused, match="unknown parameter: valeu; there are: value:int"):
        bind(one("int"), {"valeu": 3}, "en")
    with pytest.raises(Refused, match="缺少必需参数: value"):
        bind(one("int"), {}, "zh")


def test_what_may_be_left_out_is_what_the_method_says() -> None:
    """A default holds; where there is only `| None`, it is None."""

    class Chooses(Plain):
        """Takes what it is given."""

        name = "chooses"

        @action()
        def choose(self, note: str | None, most: int = 7, mode: Literal["a"] | None = None) -> str:
            return f"{note} {most} {mode}"

    session = Session(MemoryStore(), apps=[Chooses], clock=Ticking())
    session.windows.open("chooses")
    assert session.windows.act("chooses_1", "choose").message == "None 7 None"
    assert session.windows.act("chooses_1", "choose", note="x", most=None, mode="a").message == "x 7 a"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=2)
)


@given(kind=st.sampled_from(["string", "int", "float", "bool"]), value=_JSON)
def test_whatever_comes_is_taken_or_refused(kind: str, value: Any) -> None:
    """A value of the declared type, or Refused: never another error, never another type."""
    types = {"string": str, "int": int, "float": float, "bool": bool}
    try:
        taken = bind(one(kind), {"value": value}, "en")["value"]
    except Refused:
        return
    assert type(taken) is types[kind]


def test_what_was_meant_is_offered_first() -> None:
    """Names like the one that was said, else all there are."""
    assert nearest("ad", ["add", "delete"]) == ["add"]
    assert nearest("zzz", ["add", "delete"]) == ["add", "delete"]
