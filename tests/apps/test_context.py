"""The context as a value: what it refuses, what it keeps, what becomes of it on the wire."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps.context import (
    Anchor,
    AnchorType,
    Context,
    Header,
    Round,
    State,
    Version,
    freeze,
    from_json,
    to_json,
)
from sightline.errors import BadInput
from sightline.values.items import Lod

AT = datetime(2025, 12, 10, 10, 0, tzinfo=UTC)

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.text(min_size=1, max_size=8)
moments = st.datetimes(timezones=st.just(UTC))
anchors = st.one_of(
    st.builds(Anchor, st.sampled_from([AnchorType.BUTTON, AnchorType.REFERENCE]), st.just(()), st.none() | names),
    st.builds(Anchor, st.just(AnchorType.FORM), st.lists(names, min_size=1, max_size=3).map(tuple), st.none() | names),
)
contexts = st.builds(
    Context,
    st.builds(Header, names, names, st.builds(Version, *[st.integers(0, 2**40)] * 3), moments),
    st.builds(
        State, st.sampled_from(Lod), st.none() | names, st.none() | st.dictionaries(st.text(), plain, max_size=3)
    ),
    st.text(),
    st.dictionaries(names, anchors, max_size=3),
    st.none() | st.lists(st.builds(Round, st.text(), st.text(), moments), max_size=3).map(tuple),
)


def context(**more: Any) -> Context:
    whole = {"header": Header("a", "s", Version(1, 0, 0), AT), "state": State(Lod.FULL), "content": "", "anchors": {}}
    return Context(**{**whole, **more})


@pytest.mark.slow
@given(contexts)
def test_the_wire_loses_nothing(made: Context) -> None:
    """Any context is read back equal from its JSON, and written again to the same bytes."""
    again = from_json(to_json(made))
    assert again == made
    assert to_json(again) == to_json(made)
    assert from_json(to_json(made).decode()) == made


@given(plain)
def test_what_is_frozen_is_the_same_data(value: Any) -> None:
    """Freezing changes the kinds of containers and nothing in them."""

    def thawed(held: Any) -> Any:
        if isinstance(held, tuple):
            return [thawed(each) for each in held]
        return {name: thawed(each) for name, each in held.items()} if hasattr(held, "items") else held

    assert thawed(freeze(value)) == value


def test_a_context_keeps_what_it_was_made_of() -> None:
    """Lists are taken as what they hold then: changing them later changes no context."""
    history = [Round("a", "b", AT)]
    params = ["text"]
    made = context(history=history, anchors={"add": Anchor(AnchorType.FORM, params)})  # type: ignore[arg-type]
    history.clear()
    params.clear()
    assert made.history == (Round("a", "b", AT),)
    assert made.anchors["add"].params == ("text",)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: context(header=None), "header"),
        (lambda: context(state={"currentLod": "Full"}), "state"),
        (lambda: context(content=None), "content"),
        (lambda: context(anchors=None), "anchors"),
        (lambda: context(anchors=[("a", "b")]), "anchors"),
        (lambda: Anchor("Button", ()), "Button, Form, Reference"),  # type: ignore[arg-type]
        (lambda: Anchor(AnchorType.FORM, ()), "a Form has parameters"),
        (lambda: Header("a", "s", Version(1, 0, 0), datetime(2025, 1, 1)), "2025-12-10T10:00:00Z"),
        (lambda: State(None), "GIST, SUMMARY or FULL"),  # type: ignore[arg-type]
    ],
)
def test_a_refusal_says_what_is_wanted(make: Any, said: str) -> None:
    """What is no context is refused when it is made, with what would be one."""
    with pytest.raises(BadInput, match=said):
        make()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("state", "currentLod"), "Huge", "Gist, Summary, Full"),
        (("header", "version", "major"), 1.5, r"\$\.header\.version\.major"),
        (("header", "timestamp"), "yesterday", r"\$\.header\.timestamp"),
        (("anchors", "x"), {"type": "Form", "params": []}, "a Form has parameters"),
        (("anchors", "x"), {"type": "Link", "params": []}, "Link"),
        (("content",), 7, r"\$\.content"),
        (("history",), {"1": {}}, r"\$\.history"),
    ],
)
def test_json_that_is_wrong_is_refused_where_it_is_wrong(path: tuple[str, ...], value: Any, said: str) -> None:
    """The message names the place or the value."""
    data = json.loads(to_json(context()))
    held = data
    for name in path[:-1]:
        held = held[name]
    held[path[-1]] = value
    with pytest.raises(BadInput, match=said):
        from_json(json.dumps(data))


def test_versions_are_ordered() -> None:
    """A later version is greater, part by part."""
    first = Version(1, 0, 0)
    assert first < first.after_rerender() < first.after_switch() < first.after_change()
    assert first.after_switch().after_rerender().after_switch() == Version(1, 2, 0)
    assert first.after_switch().after_rerender().after_change() == Version(2, 0, 0)
