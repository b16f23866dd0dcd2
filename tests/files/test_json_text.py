"""Changes in a JSON text: what is asked for, in the way the text is written, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadInput
from sightline.files.json_text import JsonText

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
STYLES = st.sampled_from([
    {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")},
    {"indent": 1, "ensure_ascii": False},
])  # fmt: skip


@pytest.mark.slow
@given(OBJECTS, st.text(), VALUES, STYLES)
def test_what_was_added_is_there_and_gone_again(before: dict[str, Any], key: str, value: Any, style: Any) -> None:
    """Any JSON in any style: everything else is as it was, and a removal gives back every byte."""
    before.pop(key, None)
    text = json.dumps(before, **style)
    added = JsonText(text).add((), key, value)
    assert added.value == {**before, key: value}
    assert added.remove((key,)).text == text


@pytest.mark.slow
@given(st.lists(VALUES, max_size=4), VALUES, STYLES)
def test_an_element_is_added_to_a_list(before: list[Any], value: Any, style: Any) -> None:
    """At its end, and it can be removed again."""
    text = json.dumps({"list": before}, **style)
    added = JsonText(text).add(("list",), None, value)
    assert added.value == {"list": [*before, value]}
    assert added.remove(("list", len(before))).text == text


@pytest.mark.slow
@given(OBJECTS, VALUES, STYLES)
def test_a_value_is_replaced(before: dict[str, Any], value: Any, style: Any) -> None:
    """And with the earlier one in its place the text says the same as before."""
    before["key"] = "old"
    text = json.dumps(before, **style)
    changed = JsonText(text).replace(("key",), value)
    assert changed.value == {**before, "key": value}
    assert changed.replace(("key",), "old").text == text


@pytest.mark.slow
@given(OBJECTS, STYLES, st.data())
def test_any_member_can_be_removed(before: dict[str, Any], style: Any, data: st.DataObject) -> None:
    """The rest keeps its order."""
    before["key"] = 1
    name = data.draw(st.sampled_from(sorted(before)))
    left = JsonText(json.dumps(before, **style)).remove((name,))
    assert left.value == {key: value for key, value in before.items() if key != name}
    assert list(left.value) == [key for key in before if key != name]


def test_it_is_written_as_the_text_is() -> None:
    """Tabs, line ends of Windows, a byte order mark, a list on one line."""
    text = '\ufeff{\r\n\t"a": [1, 2]\r\n}\r\n'
    assert JsonText(text).add((), "b", {"c": 1}).text == (
        '\ufeff{\r\n\t"a": [1, 2],\r\n\t"b": {\r\n\t\t"c": 1\r\n\t}\r\n}\r\n'
    )
    assert JsonText(text).add(("a",), None, 3).text == '\ufeff{\r\n\t"a": [1, 2, 3]\r\n}\r\n'


def test_of_a_key_that_is_there_twice_the_last_one_counts() -> None:
    """As for whoever reads the file."""
    assert JsonText('{"a": 1, "a": 2}').replace(("a",), 3).text == '{"a": 1, "a": 3}'


def test_half_a_character_is_escaped() -> None:
    """No file could hold it."""
    JsonText("{}").add((), "a", json.loads('"\\ud800"')).text.encode()


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"a": 1,}', "{} {}", '{"a": NaN}', '{"a": 1} // note', "[" * 9999]
)
def test_what_is_no_json_object_is_refused(text: str) -> None:
    """With a reason, never with a traceback."""
    with pytest.raises(BadInput):
        JsonText(text)


COMMENTED = '{\n  // "mine": {\n  "a": 1, /* , } */\n  "address": "http://x//y", // last\n}\n'


def test_comments_stay_and_commas_behind_a_last_value() -> None:
    """A member that is added and taken out again leaves every byte as it was; what is within a string is no comment."""
    text = JsonText(COMMENTED, comments=True)
    assert text.value == {"a": 1, "address": "http://x//y"}
    added = text.add((), "b", {"c": 1})
    assert added.value == {**text.value, "b": {"c": 1}}
    assert added.text.replace('  "b": {\n    "c": 1\n  },\n', "") == COMMENTED
    assert added.remove(("b",)).text == COMMENTED
    with pytest.raises(BadInput):
        JsonText(COMMENTED)


def test_a_comment_in_an_object_without_members_stays() -> None:
    """What is added stands before it."""
    added = JsonText("{\n  // nothing yet\n}\n", comments=True).add((), "a", 1)
    assert added.value == {"a": 1}
    assert "// nothing yet" in added.text
