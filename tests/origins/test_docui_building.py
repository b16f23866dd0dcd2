"""The DocUI document: building, freezing, versions, and what holds whatever happens."""

import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from docui_notebook import (
    BUTTON,
    FORM,
    FULL,
    GIST,
    REFERENCE,
    SUMMARY,
    VERSION,
    Counted,
    built,
    document,
    happened,
    minimum,
    notebook,
    notes,
    source,
)
from hypothesis import example, given
from hypothesis import strategies as st

import sightline as sl
from sightline.origins.docui import (
    AnchorInfo,
    AnchorType,
    Builder,
    Context,
    ContextVersion,
    Document,
    Element,
    IContextBuilder,
    LodLevel,
    LodState,
    Page,
    VersionMismatchError,
    from_json,
    to_json,
)
from sightline.testing import MemoryStore

# ------------------------------------------------------------------ building


@pytest.mark.accepts(90, 93)
def test_build_takes_data_level_and_history() -> None:
    """The document's three arguments give a context; without history there is none in it."""
    builder: IContextBuilder = Builder(notebook)
    history = (happened(),)
    context = builder.build(source(notes("one"), major=4), LodState(FULL, minor=2, patch=1), history)
    assert isinstance(context, Context)
    assert context.history == history
    assert context.header.version == ContextVersion(4, 2, 1)
    assert context.state.current_lod is FULL
    assert builder.build(source(notes("one")), LodState(FULL), None).history is None


@pytest.mark.slow
@pytest.mark.accepts(91, 92)
def test_a_build_depends_on_nothing_but_its_arguments() -> None:
    """Another process, hash seed, time zone and environment make the same bytes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import docui_notebook as t; "
        "data = t.source(t.notes('b', 'a', custom={'z': 1, 'a': {'y': [1.5, None]}}, focus='entry-2')); "
        "sys.stdout.buffer.write(t.to_json(t.Builder(t.notebook).build(data, t.LodState(t.FULL), (t.happened(),))))"
    )

    def made(seed: str, zone: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LANG": zone}
        here = str(Path(__file__).parent)
        return subprocess.run(
            [sys.executable, "-c", code, here], env=environment, check=True, capture_output=True
        ).stdout

    here = built(notes("b", "a", custom={"z": 1, "a": {"y": [1.5, None]}}, focus="entry-2"), FULL, (happened(),))
    assert made("1", "Asia/Shanghai") == made("2", "America/Lima") == to_json(here)


@pytest.mark.accepts(92)
def test_a_build_changes_none_of_its_arguments() -> None:
    """Even a renderer that takes apart what it is handed leaves the source data as they were."""

    def careless(value: Any, lod: LodLevel) -> Page:
        value["entries"].pop()
        value["seen"] = True
        value["pair"][1]["x"] = 2
        return Page("x")

    value = {**notes("one", "two"), "pair": ({}, {"x": 1})}
    history = [happened()]
    before, then = deepcopy(value), list(history)
    context = Builder(careless).build(source(value), LodState(FULL), tuple(history))
    assert "could not" not in context.content
    assert value == before
    assert history == then


@pytest.mark.accepts(94)
def test_history_never_changes_content() -> None:
    """Contexts that differ in history alone have the same content, byte for byte."""
    without, one = built(notes("a")), built(notes("a"), history=(happened("[button:x]", "# y"),))
    assert one.content == without.content
    assert one.history != without.history
    shown = document()
    before = shown.context().content
    shown.record(happened())
    assert shown.context().content is before


@pytest.mark.accepts(95)
@given(st.permutations(["entries", "focus", "custom", "b", "a"]), st.permutations(["z", "y", "x", "1"]))
def test_the_order_of_a_dictionary_does_not_matter(outer: list[str], inner: list[str]) -> None:
    """Data put together in another order give the same bytes, even if a renderer goes through them as they come."""

    def listing(value: Any, lod: LodLevel) -> Page:
        [deep] = value["deep"]
        names = [*value["all"], *deep[0], *deep[1]]
        return Page("x", tuple(Element(text=f"{name!r}") for name in names), None, {"all": list(value["all"])})

    def data(outer: list[str], inner: list[str]) -> Any:
        return {"all": dict.fromkeys(outer, 1), "deep": [(dict.fromkeys(inner, 1), {1: 0, "1": 0})]}

    mixed = {**data(outer, inner), "deep": [(dict.fromkeys(inner, 1), {"1": 0, 1: 0})]}
    one, other = (
        Builder(listing).build(source(value), LodState(FULL), None)
        for value in (data(sorted(outer), sorted(inner)), mixed)
    )
    assert "error" not in one.state.custom  # two equal error pages would show nothing
    assert one.state.custom["all"] == tuple(sorted(outer))
    assert to_json(one) == to_json(other)


# ------------------------------------------------------------------ freezing


@pytest.mark.accepts(96)
def test_app_and_session_are_fixed() -> None:
    """Whatever changes, the header names the same app and session."""
    shown = document(session="sess-7")
    said = {shown.context().header.session_id}
    shown.change({**notes("x"), "appId": "evil", "sessionId": "other"})
    said.add(shown.context().header.session_id)
    shown.switch(GIST)
    assert {*said, shown.context().header.session_id} == {"sess-7"}
    assert shown.context().header.app_id == "notebook"


@pytest.mark.accepts(97)
def test_the_level_stays_until_it_is_switched() -> None:
    """No change of data, history or anchors moves the level; a switch does."""
    shown = document(lod=SUMMARY)
    shown.change(notes("x"))
    shown.record(happened())
    shown.executed()
    assert shown.context().state.current_lod is SUMMARY
    shown.switch(FULL)
    shown.change(notes("y"))
    assert shown.context().state.current_lod is FULL


@pytest.mark.accepts(98, 99, 100, 103, 139)
def test_content_is_rendered_once_for_each_state() -> None:
    """Only a change of data or level renders: asking again, a round, an anchor used or registered do not."""
    render = Counted()
    shown = document(render)
    first = shown.context()
    assert shown.context() is first
    shown.record(happened())
    shown.context()
    shown.executed()
    shown.context()
    shown.register("app_more", BUTTON)
    assert shown.context().content is first.content
    assert render.calls == 1
    shown.change(notes("three"))
    assert "three" in shown.context().content
    assert render.calls == 2
    shown.switch(GIST)
    assert "[GIST]" in shown.context().content
    assert render.calls == 3
    shown.switch(GIST)
    shown.context()
    assert render.calls == 3


@pytest.mark.accepts(101)
def test_using_or_registering_an_anchor_makes_the_anchors_anew() -> None:
    """A registered anchor is there in the next context; once something was executed it is offered no more."""
    shown = document()
    before = shown.context()
    shown.register("app_more", FORM)
    more = shown.context()
    assert dict(more.anchors) == {**before.anchors, "app_more": FORM}
    shown.executed()
    assert shown.context() is not more
    assert shown.context().anchors == before.anchors
    assert "app_more" in more.anchors


@pytest.mark.accepts(101)
def test_an_executed_action_makes_new_anchors_and_a_reference_does_not(tmp_path: Path) -> None:
    """C-001-15: using a button gives a new context; pressing a reference is no operation and leaves the old one."""
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        window = session.windows.open("todo")
        window = session.windows.window("todo_1")
        session.windows.act("todo_1", "add", text="milk")
        first = window.context()
        assert session.windows.act("todo_1", "1").reason == "reference"
        assert window.context() is first
        assert session.windows.act("todo_1", "delete-1").success
        assert "delete-1" in first.anchors
        assert "delete-1" not in window.context().anchors


@pytest.mark.accepts(102)
def test_a_round_makes_the_history_anew() -> None:
    """A new round stands last in the next context's history and in no earlier one."""
    shown = document()
    assert shown.context().history is None
    shown.record(happened("a"))
    one = shown.context()
    shown.record(happened("b"))
    assert [each.action for each in shown.context().history or ()] == ["a", "b"]
    assert [each.action for each in one.history or ()] == ["a"]


@pytest.mark.accepts(104)
def test_earlier_contexts_stay_what_they_were() -> None:
    """C-001-8: every kind of change gives a new context and leaves the bytes of those handed out before."""
    value = notes("one", custom={"seen": []})
    shown = document(value=value)
    given_out: list[tuple[Context, bytes]] = []

    def take() -> None:
        given_out.append((shown.context(), to_json(shown.context())))

    take()
    for step in (
        lambda: shown.register("app_more", BUTTON),
        lambda: shown.record(happened()),
        shown.executed,
        lambda: shown.switch(SUMMARY),
        lambda: value["custom"]["seen"].append(1) or shown.change(),
        lambda: shown.rerender(Builder(lambda value, lod: Page("other"))),
    ):
        step()
        take()
    assert len({id(context) for context, _ in given_out}) == len(given_out) == 7
    assert all(to_json(context) == then for context, then in given_out)


@pytest.mark.accepts(105)
def test_sessions_share_nothing_frozen() -> None:
    """Two sessions with one builder and one value each render for themselves and change for themselves."""
    render = Counted()
    builder = Builder(render)
    options = {"app_id": "notebook", "clock": lambda: 0, "value": notes("one")}
    one, two = (Document(builder, session_id=name, **options) for name in ("s1", "s2"))
    assert one.context().content == two.context().content
    assert render.calls == 2
    one.change(notes("secret"))
    one.register("app_more", BUTTON)
    one.record(happened())
    assert "secret" in one.context().content
    assert "secret" not in two.context().content
    assert (two.context().history, two.context().header.version) == (None, VERSION)
    assert "app_more" not in two.context().anchors


# ------------------------------------------------------------------ versions


versions = st.builds(ContextVersion, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@pytest.mark.accepts(106, 107, 111)
def test_each_kind_of_change_raises_its_number() -> None:
    """Data raise Major, the level Minor, the rendering Patch; the lower numbers begin again at 0."""
    shown = document()
    seen = [shown.context().header.version]
    for step in (
        lambda: shown.switch(SUMMARY),
        lambda: shown.rerender(Builder(notebook)),
        lambda: shown.switch(GIST),
        lambda: shown.rerender(Builder(notebook)),
        lambda: shown.change(notes("x")),
        lambda: shown.rerender(Builder(notebook)),
    ):
        step()
        seen.append(shown.context().header.version)
    assert [(each.major, each.minor, each.patch) for each in seen] == [
        (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1), (2, 0, 0), (2, 0, 1),
    ]  # fmt: skip


@pytest.mark.accepts(107)
def test_another_language_is_a_change_of_rendering(tmp_path: Path) -> None:
    """A window shown in another language has the same data and level: only Patch is raised, and it is drawn anew."""
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        session.windows.open("todo")
        window = session.windows.window("todo_1")
        before = window.context()
        session.windows.show_as("zh", "markdown")
        after = window.context()
    assert (before.header.version, after.header.version) == (VERSION, ContextVersion(1, 0, 1))
    assert "添加条目" in after.content
    assert "添加条目" not in before.content


@pytest.mark.accepts(112, 115)
@given(versions, versions)
def test_compatibility_is_an_equivalence_of_majors(one: ContextVersion, other: ContextVersion) -> None:
    """Reflexive, symmetric, and nothing but Major counts."""
    assert one.is_compatible_with(one)
    assert one.is_compatible_with(other) is other.is_compatible_with(one) is (one.major == other.major)


@pytest.mark.accepts(109)
@given(versions, versions)
def test_content_is_reused_for_equal_major_and_minor(one: ContextVersion, other: ContextVersion) -> None:
    """C-001-1: the second predicate, which the cache asks, wants both numbers equal."""
    assert one.can_reuse_content(other) is ((one.major, one.minor) == (other.major, other.minor))


@pytest.mark.accepts(109)
def test_a_compatible_version_of_another_level_is_rendered() -> None:
    """Going to another level and back renders each time, though every version is compatible with the first."""
    render = Counted()
    shown = document(render)
    first = shown.context().header.version
    for lod in (SUMMARY, FULL):
        shown.switch(lod)
        assert f"[{lod.name}]" in shown.context().content
        assert shown.context().header.version.is_compatible_with(first)
    assert render.calls == 3


@pytest.mark.accepts(110, 127)
def test_a_version_cannot_be_set() -> None:
    """C-001-2: not through an attribute, the data, a request or what a page says."""
    shown = document(value=notes("x", version={"major": 99, "minor": 9, "patch": 9}, major=99, header={"version": 99}))
    shown.change({**notes("y"), "version": "99.0.0", "Version": 99, "major": 0, "custom": {"version": {"major": 99}}})
    assert shown.context().header.version == ContextVersion(2, 0, 0)
    with pytest.raises(AttributeError):
        shown.version = ContextVersion(0, 0, 0)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        shown.lod = GIST  # type: ignore[misc]
    with pytest.raises(VersionMismatchError):
        shown.check(ContextVersion(99, 0, 0))
    assert shown.context().header.version == ContextVersion(2, 0, 0)


@pytest.mark.accepts(127)
def test_a_version_in_a_request_does_nothing_to_the_header(tmp_path: Path) -> None:
    """A version among the parameters is refused; the header is as it was."""
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        session.windows.open("todo")
        before = session.windows.window("todo_1").context().header
        assert not session.windows.act("todo_1", "add", text="milk", version="99.0.0").success
        assert session.windows.window("todo_1").context().header == before


# ------------------------------------------------------------------ invariants


words = st.sampled_from(["", "milk", "[button:delete]", "**[entry-1]**", "[FULL] x", "概览", "a|b", "```", "\ud800"])
ids = st.sampled_from(["entry-1", "entry-2", "a", "expand-a", "名"])
entry = st.fixed_dictionaries({"title": words}, optional={"id": ids, "text": words})
customs = st.none() | st.dictionaries(words, st.none() | st.integers(-9, 9) | st.lists(words, max_size=2), max_size=2)
values = (
    st.fixed_dictionaries({"entries": st.lists(entry, max_size=4)}, optional={"focus": ids, "custom": customs})
    | st.none()
    | st.just({"entries": None})
    | words
)
rounds = st.none() | st.lists(st.builds(happened, words, words), max_size=3).map(tuple)
steps = st.one_of(
    st.tuples(st.just("change"), values.filter(lambda value: value is not None)),
    st.tuples(st.just("switch"), st.sampled_from(LodLevel)),
    st.tuples(st.just("record"), st.builds(happened, words, words)),
    st.tuples(st.just("register"), ids),
    st.tuples(st.just("executed"), st.none()),
    st.tuples(st.just("rerender"), st.none()),
)


def taken(shown: Document, step: str, given: Any) -> None:
    match step:
        case "register":
            shown.register(given, BUTTON)
        case "executed":
            shown.executed()
        case "rerender":
            shown.rerender(Builder(notebook))
        case _:
            getattr(shown, step)(given)


@pytest.mark.accepts(91, 118, 119)
@given(values, st.sampled_from(LodLevel), rounds)
def test_building_twice_gives_equal_contexts(value: Any, lod: LodLevel, history: Any) -> None:
    """Invariants 1 and 4: equal inputs, even copies, give equal contexts with the minimum fields, whatever the data."""
    one = Builder(notebook).build(source(value), LodState(lod), history)
    two = Builder(notebook).build(source(deepcopy(value)), LodState(lod), deepcopy(history))
    assert one == two
    assert to_json(one) == to_json(two)
    assert from_json(to_json(one)) == one
    minimum(one)


@pytest.mark.accepts(77, 96, 103, 104, 110, 118, 119)
@given(st.lists(steps, max_size=8))
def test_the_invariants_hold_through_any_life(life: list[tuple[str, Any]]) -> None:
    """Idempotent, Major never falls, one timestamp to a version, minimum fields whole, what was frozen stays."""
    render = Counted()
    shown = document(render)
    seen: list[tuple[Context, bytes]] = [(shown.context(), to_json(shown.context()))]
    drawn = 1
    for step, given_ in life:
        before = shown.context()
        drawn = render.calls
        taken(shown, step, given_)
        after = shown.context()
        assert shown.context() is after
        assert after.header.version.major - before.header.version.major == (step == "change")
        assert after.header.version >= before.header.version
        assert (after.header.app_id, after.header.session_id) == ("notebook", "sess-001")
        if after.header.version == before.header.version:
            assert (after.header, after.content) == (before.header, before.content)
            assert render.calls == drawn
        minimum(after)
        seen.append((after, to_json(after)))
    assert all(to_json(context) == then for context, then in seen)


@pytest.mark.accepts(119, 122)
@given(st.lists(entry, max_size=5), st.lists(ids, max_size=3))
@example([{"id": "a", "title": ""}, {"id": "expand-a", "title": ""}], [])  # a button and an entry of the same name
def test_anchor_keys_are_unique_and_the_first_holds(entries: list[dict[str, Any]], more: list[str]) -> None:
    """Invariant 3: a key means on all its occurrences what its first declaration said."""
    shown = document(value={"entries": entries})
    expected: dict[str, AnchorInfo] = {}
    names = [each["id"] for each in entries if "id" in each]
    for name in names:
        for command in ("expand", "delete"):
            expected.setdefault(f"{command}-{name}", AnchorInfo(AnchorType.BUTTON, (), name))
    for name in names:  # declared after all that can be done
        expected.setdefault(name, REFERENCE)
    for name in more:
        shown.register(name, FORM)
        expected.setdefault(name, FORM)
    assert shown.context().anchors == expected
