"""The DocUI document: the context as a value, its three vectors, the fields that are always there."""

import json
from datetime import datetime, timedelta, timezone
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from docui_notebook import (
    AT,
    BUTTON,
    EXPAND,
    FORM,
    FULL,
    GIST,
    LATER,
    SUMMARY,
    VECTOR_1,
    VECTOR_2,
    VERSION,
    built,
    document,
    happened,
    notebook,
    notes,
    source,
)
from msgspec.structs import fields, replace

import sightline as sl
from sightline.apps.actions import Action, Parameter
from sightline.errors import BadInput
from sightline.origins.docui import (
    AnchorInfo,
    AnchorType,
    Builder,
    Context,
    ContextHeader,
    ContextState,
    ContextVersion,
    Element,
    LodLevel,
    LodState,
    Page,
    SourceData,
    from_json,
    to_json,
)
from sightline.testing import MemoryStore

# ------------------------------------------------------------------ structure


@pytest.mark.accepts(73, 74, 75, 78)
def test_the_values_have_the_documents_fields() -> None:
    """The records have exactly the document's fields, and just those it calls optional have a default."""
    declared = {
        kind: {each.encode_name: each.required for each in fields(kind)}
        for kind in (Context, ContextHeader, ContextState, AnchorInfo, ContextVersion)
    }
    assert declared == {
        Context: {"header": True, "state": True, "content": True, "anchors": True, "history": False},
        ContextHeader: {"appId": True, "sessionId": True, "version": True, "timestamp": True},
        ContextState: {"currentLod": True, "focusId": False, "custom": False},
        AnchorInfo: {"type": True, "params": True, "target": False},
        ContextVersion: {"major": True, "minor": True, "patch": True},
    }


@pytest.mark.accepts(73, 86)
@pytest.mark.parametrize("kind", [Context, ContextHeader, ContextState, AnchorInfo, ContextVersion])
def test_a_missing_field_is_refused(kind: type) -> None:
    """No record is made without one of its required fields."""
    whole = {
        Context: {
            "header": ContextHeader("a", "s", VERSION, AT), "state": ContextState(GIST), "content": "", "anchors": {},
        },
        ContextHeader: {"app_id": "a", "session_id": "s", "version": VERSION, "timestamp": AT},
        ContextState: {"current_lod": GIST},
        AnchorInfo: {"type": AnchorType.BUTTON, "params": ()},
        ContextVersion: {"major": 1, "minor": 0, "patch": 0},
    }[kind]  # fmt: skip
    kind(**whole)
    for missing in whole:
        with pytest.raises(TypeError, match=missing):
            kind(**{name: value for name, value in whole.items() if name != missing})


@pytest.mark.accepts(86, 113, 114, 115, 116, 117)
@pytest.mark.parametrize("vector", [VECTOR_1, VECTOR_2])
def test_a_field_missing_in_json_is_refused(vector: str) -> None:
    """JSON that lacks a required field, or has null for it, is no context; one that lacks an optional one is."""
    required = [
        ("header",), ("header", "appId"), ("header", "sessionId"), ("header", "version"), ("header", "timestamp"),
        ("header", "version", "major"), ("header", "version", "minor"), ("header", "version", "patch"),
        ("state",), ("state", "currentLod"), ("content",), ("anchors",),
    ]  # fmt: skip
    for *path, last in required:
        for change in (lambda held, name: held.pop(name), lambda held, name: held.update({name: None})):
            data = json.loads(vector)
            held = data
            for name in path:
                held = held[name]
            change(held, last)
            with pytest.raises(BadInput):
                from_json(json.dumps(data))
    data = json.loads(vector)
    del data["history"], data["state"]["focusId"], data["state"]["custom"]
    assert from_json(json.dumps(data)).history is None


@pytest.mark.accepts(76)
def test_content_is_one_string() -> None:
    """Content is Markdown text, not a structure around it."""
    context = built(notes("one"))
    assert type(context.content) is str
    assert json.loads(to_json(context))["content"] == context.content
    assert context.content.startswith("# Notebook\n\n")
    with pytest.raises(BadInput, match="content"):
        replace(context, content={"markdown": "# Notebook"})


@pytest.mark.accepts(77, 91)
def test_the_timestamp_is_an_input() -> None:
    """The timestamp is the moment of the version: the same for every build of it, another for the next."""
    shown = document()
    first = shown.context()
    shown.record(happened())
    again = shown.context()
    assert again is not first
    assert again.header == first.header
    shown.change(notes("three"))
    assert shown.context().header.timestamp > first.header.timestamp
    assert Builder(notebook).build(source(notes("a"), at=LATER), LodState(FULL), None).header.timestamp == LATER


@pytest.mark.accepts(74)
def test_a_timestamp_has_an_offset() -> None:
    """A moment without offset is refused, in code and in JSON; any offset is kept."""
    with pytest.raises(BadInput, match="offset"):
        ContextHeader("a", "s", VERSION, datetime(2025, 12, 10))
    with pytest.raises(BadInput, match="offset"):
        from_json(VECTOR_1.replace("10:00:00Z", "10:00:00"))
    east = datetime(2025, 12, 10, 18, 0, tzinfo=timezone(timedelta(hours=8)))
    context = replace(from_json(VECTOR_1), header=ContextHeader("a", "s", VERSION, east))
    assert json.loads(to_json(context))["header"]["timestamp"] == "2025-12-10T18:00:00+08:00"
    assert from_json(to_json(context)) == context


@pytest.mark.accepts(78, 83)
def test_an_anchor_says_its_type_its_parameters_and_its_target() -> None:
    """The registry maps an id to type, params and target; params is a list of names."""
    add = Action("add", "Add", (Parameter("title", "string"), Parameter("text", "string", required=False)))
    context = Builder(notebook, {"add": add}).build(source(notes("one")), LodState(SUMMARY), None)
    assert json.loads(to_json(context))["anchors"] == {
        "add": {"type": "Form", "params": ["title", "text"], "target": None},
        "expand-entry-1": {"type": "Button", "params": [], "target": "entry-1"},
        "entry-1": {"type": "Reference", "params": [], "target": None},
    }


@pytest.mark.accepts(79)
def test_history_lists_the_rounds() -> None:
    """Each round has action, result and timestamp, in JSON too."""
    context = built(notes("one"), history=(happened("expand", "expanded"), happened("fold", "folded")))
    assert json.loads(to_json(context))["history"] == [
        {"action": "expand", "result": "expanded", "timestamp": "2025-12-10T10:00:00Z"},
        {"action": "fold", "result": "folded", "timestamp": "2025-12-10T10:00:00Z"},
    ]
    assert from_json(to_json(context)) == context


@pytest.mark.accepts(80, 81)
def test_the_enumerations_are_the_documents() -> None:
    """Three types of anchor, three levels in rising detail."""
    assert [each.value for each in AnchorType] == ["Button", "Form", "Reference"]
    assert [each.name.title() for each in LodLevel] == ["Gist", "Summary", "Full"]
    assert GIST < SUMMARY < FULL
    for lod, word in zip(LodLevel, ("Gist", "Summary", "Full"), strict=True):
        context = replace(from_json(VECTOR_1), state=ContextState(lod))
        assert json.loads(to_json(context))["state"]["currentLod"] == word
        assert from_json(to_json(context)) == context


@pytest.mark.accepts(82, 83)
@pytest.mark.parametrize(
    ("type_", "params"), [(AnchorType.BUTTON, ("a",)), (AnchorType.REFERENCE, ("a",)), (AnchorType.FORM, ())]
)
def test_only_a_form_has_parameters(type_: AnchorType, params: tuple[str, ...]) -> None:
    """A button or reference with parameters, or a form without any, is refused."""
    with pytest.raises(BadInput, match="Form"):
        AnchorInfo(type_, params)


@pytest.mark.accepts(82)
def test_a_button_runs_a_form_wants_its_parameters_a_reference_does_nothing(tmp_path: Path) -> None:
    """What each type of anchor promises is what happens when it is used."""
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        session.windows.open("todo")
        assert "text" in session.windows.act("todo_1", "[form:add]").message
        assert session.windows.act("todo_1", "[form:add text=milk]").success
        refused = session.windows.act("todo_1", "1")
        assert (refused.success, refused.reason) == (False, "reference")
        assert session.windows.act("todo_1", "toggle-1").success
        kinds = {key: anchor.type for key, anchor in session.windows.window("todo_1").context().anchors.items()}
    assert (kinds["add"], kinds["toggle-1"], kinds["1"]) == ("Form", "Button", "Reference")


@pytest.mark.accepts(84)
def test_the_focus_is_on_something_that_is_there() -> None:
    """A focus on an element that is not shown is no focus; one on a nested element is."""
    assert built(notes("one", focus="entry-1")).state.focus_id == "entry-1"
    assert built(notes("one", focus="entry-9")).state.focus_id is None
    inner = Page("x", (Element(text="outer", children=(Element(id="deep"),)),), "deep")
    assert Builder(lambda _, lod: inner).build(source(None), LodState(FULL), None).state.focus_id == "deep"


@pytest.mark.accepts(85, 104)
def test_the_values_cannot_be_changed() -> None:
    """No field of a context can be assigned, no mapping or list in it changed, whoever made it."""
    custom: dict[str, Any] = {"open": ["a"], "more": {"deep": 1}}
    anchors = {"expand-entry-1": EXPAND}
    context = Context(
        ContextHeader("a", "s", VERSION, AT), ContextState(GIST, None, custom), "", anchors, (happened(),)
    )
    before = to_json(context)
    for value in (context, context.header, context.header.version, context.state, EXPAND, happened()):
        for each in fields(type(value)):
            with pytest.raises(AttributeError):
                setattr(value, each.name, None)
    for change in (
        lambda: context.anchors.update({}),
        lambda: context.anchors.__setitem__("x", BUTTON),
        lambda: context.state.custom.__setitem__("x", 1),
        lambda: context.state.custom["more"].__setitem__("x", 1),
        lambda: context.state.custom["open"].append("b"),
        lambda: FORM.params.append("b"),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    custom["open"].append("b")
    custom["more"]["deep"] = 2
    anchors.clear()
    assert to_json(context) == before


@pytest.mark.accepts(85)
def test_equal_contents_are_equal() -> None:
    """Contexts made of equal parts compare equal; each part tells two apart."""
    first, second = from_json(VECTOR_2), from_json(VECTOR_2)
    assert first is not second
    assert first == second
    others = [
        replace(first, content="x"),
        replace(first, anchors={}),
        replace(first, history=(happened(),)),
        replace(first, state=ContextState(FULL, "entry-1")),
        replace(first, header=replace(first.header, session_id="sess-003")),
    ]
    assert all(one != other for one, other in combinations([first, *others], 2))
    assert AnchorInfo(AnchorType.FORM, ["text"]) == FORM  # type: ignore[arg-type]


# ------------------------------------------------------------------ the test vectors


@pytest.mark.accepts(87, 88, 89, 76)
@pytest.mark.parametrize("vector", [VECTOR_1, VECTOR_2])
def test_vectors_1_and_2_round_trip(vector: str) -> None:
    """The document's samples are read and written back to equal JSON, name for name in their order, nulls kept."""
    context = from_json(vector)
    assert json.loads(to_json(context)) == json.loads(vector)
    assert json.dumps(json.loads(to_json(context))) == json.dumps(json.loads(vector))
    assert from_json(to_json(context)) == context


@pytest.mark.accepts(88, 132)
def test_vector_1_is_what_the_builder_makes() -> None:
    """One entry without an id at SUMMARY gives the document's minimal context."""
    context = built({"entries": [{"title": "Entry 1"}]})
    assert context == from_json(VECTOR_1)
    assert json.loads(to_json(context)) == json.loads(VECTOR_1)


@pytest.mark.accepts(89, 132, 133)
def test_vector_2_is_what_the_builder_makes() -> None:
    """One entry with an expand button at SUMMARY gives the document's context with anchors, content included."""
    value = notes("PipeMux 概览", focus="entry-1")
    data = source(value, at=LATER, session="sess-002")
    context = Builder(notebook).build(data, LodState(SUMMARY, minor=1), None)
    assert context.content == "# Notebook\n\n[SUMMARY] **[entry-1]** PipeMux 概览 [button:expand]"
    assert context == from_json(VECTOR_2)
    assert json.dumps(json.loads(to_json(context))) == json.dumps(json.loads(VECTOR_2))


@pytest.mark.accepts(106, 108)
def test_vector_3() -> None:
    """A version is compatible with one of another Minor and not with one of another Major."""
    v1, v2, v3 = ContextVersion(1, 0, 0), ContextVersion(1, 1, 0), ContextVersion(2, 0, 0)
    assert v1.is_compatible_with(v2) is True
    assert v1.is_compatible_with(v3) is False
    assert (v3.major, v2.minor, v1.patch) == (2, 1, 0)
    for part in ("major", "minor", "patch"):  # whole numbers
        vector = json.loads(VECTOR_1)
        vector["header"]["version"][part] = 1.5
        with pytest.raises(BadInput, match=part):
            from_json(json.dumps(vector))


@pytest.mark.accepts(87)
@pytest.mark.parametrize(
    "wrong",
    ["", "null", "[]", '"x"', "{}", "{", "[" * 100_000, VECTOR_1.replace('"Summary"', '"Everything"'),
     VECTOR_1.replace('"Summary"', "1"), VECTOR_1.replace('"Summary"', "[]"), VECTOR_2.replace('"Button"', '"button"'),
     VECTOR_1.replace('"major": 1', '"major": "1"'), VECTOR_1.replace('"notebook"', '""'), "\ud800"],
)  # fmt: skip
def test_json_that_is_no_context_is_refused(wrong: str) -> None:
    """Whatever is not a context's JSON gives one error that says so."""
    with pytest.raises(BadInput):
        from_json(wrong)


@pytest.mark.accepts(136)
def test_fields_of_a_later_version_are_passed_over() -> None:
    """Unknown fields at any depth are tolerated when reading."""
    data = json.loads(VECTOR_2)
    for held in (data, data["header"], data["header"]["version"], data["state"], data["anchors"]["entry-1"]):
        held["sinceVersion2"] = {"x": [1]}
    assert from_json(json.dumps(data)) == from_json(VECTOR_2)


# ------------------------------------------------------------------ the minimum set of fields


@pytest.mark.accepts(113, 114, 115)
@pytest.mark.parametrize(
    "wrong",
    [{"app_id": ""}, {"app_id": None}, {"session_id": ""}, {"session_id": None}, {"version": None},
     {"version": "1.0.0"}, {"version": (1, 0, 0)}, {"timestamp": None}, {"timestamp": "2025-12-10T10:00:00Z"}],
)  # fmt: skip
def test_a_header_without_its_fields_is_refused(wrong: dict[str, Any]) -> None:
    """Empty or null where the document wants a value is no header."""
    whole = {"app_id": "notebook", "session_id": "sess-001", "version": VERSION, "timestamp": AT}
    ContextHeader(**whole)
    with pytest.raises(BadInput):
        ContextHeader(**{**whole, **wrong})


@pytest.mark.accepts(113, 114)
@pytest.mark.parametrize("data", [SourceData("", "s", 1, AT), SourceData("a", "", 1, AT)])
def test_a_nameless_app_or_session_builds_nothing(data: SourceData) -> None:
    """A builder makes no context, not even an error's, that does not say whose it is."""
    with pytest.raises(BadInput, match="app and its session"):
        Builder(notebook).build(data, LodState(FULL), None)


@pytest.mark.accepts(116)
@pytest.mark.parametrize("lod", [None, "Summary", 1, "nothing"])
def test_a_state_without_a_level_is_refused(lod: Any) -> None:
    """The level is one of the three, never null and never only a word for one."""
    with pytest.raises(BadInput, match="level"):
        ContextState(lod)


@pytest.mark.accepts(117)
def test_anchors_may_be_empty_and_never_null() -> None:
    """A context without anchors has an empty mapping."""
    context = built({"entries": []})
    assert context.anchors == {}
    assert json.loads(to_json(context))["anchors"] == {}
    with pytest.raises(BadInput, match="anchors"):
        replace(context, anchors=None)
