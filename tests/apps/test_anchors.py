"""Anchors in text: the grammar of a marker, which entry it stands in, and what it resolves to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps.anchors import Marker, escaped, key, marker, markers, read, resolve
from sightline.apps.context import Anchor, AnchorType

BUTTON = Anchor(AnchorType.BUTTON, ())
FORM = Anchor(AnchorType.FORM, ("text", "at"))
REFERENCE = Anchor(AnchorType.REFERENCE, ())

names = st.text(st.sampled_from("abzAZ09_-.:名é"), min_size=1, max_size=6)
words = st.text(st.characters(exclude_characters='"[]\\', exclude_categories=["Z", "C"]), max_size=6)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[button:expand]", Marker("button", "expand", {})),
        ("  [button:expand]\n", Marker("button", "expand", {})),
        ("[ref:entry-1]", Marker("ref", "entry-1", {})),
        ("[fold:a]", Marker("fold", "a", {})),
        ("[expand:a]", Marker("expand", "a", {})),
        ("[form:add text=milk]", Marker("form", "add", {"text": "milk"})),
        ("[form:add text=]", Marker("form", "add", {"text": ""})),
        ("[form:add text= at=3]", Marker("form", "add", {"text": "", "at": "3"})),
        ('[form:add text="two words"  at=3]', Marker("form", "add", {"text": "two words", "at": "3"})),
        ('[form:add text="a ] b [ c"]', Marker("form", "add", {"text": "a ] b [ c"})),
        (r'[form:add text="say \"hi\" \\ now"]', Marker("form", "add", {"text": r'say "hi" \ now'})),
        ('[form:add text="x at=9" at=1]', Marker("form", "add", {"text": "x at=9", "at": "1"})),
        ("[form:q expr=a=b]", Marker("form", "q", {"expr": "a=b"})),
        ("[form:加 文本=牛奶]", Marker("form", "加", {"文本": "牛奶"})),
    ],
)
def test_a_marker_is_read(text: str, found: Marker) -> None:
    """Kind, name and fields; a value in quotes may hold anything but a line's end."""
    assert read(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "expand", "[expand]", "[button:]", "[button: expand]", "[Button:expand]", "[link:x]", r"\[button:expand]",
     "[button:expand", "button:expand]", "[button:a b]", "[form:add text]", "[form:add text=a b]", '[form:add text="a]',
     "[form:add text=[x]]", "[button:a][button:b]", "[button:a] now", '[form:add text="a\nb"]', "[button:a\n]"],
)  # fmt: skip
def test_what_is_no_marker_is_not_read(text: str) -> None:
    """Anything but one whole marker is text."""
    assert read(text) is None


@pytest.mark.slow
@given(names, st.dictionaries(names, words | st.text(st.characters(exclude_characters="\n\r"), max_size=8), max_size=3))
def test_any_value_can_be_written_in_quotes(name: str, values: dict[str, str]) -> None:
    """What is quoted with backslashes before quotes and backslashes is read back as it was."""
    quoted = [f'{each}="{value.translate({34: chr(92) + chr(34), 92: chr(92) * 2})}"' for each, value in values.items()]
    assert read(f"[form:{' '.join([name, *quoted])}]") == Marker("form", name, values)


@pytest.mark.parametrize(
    ("anchor", "text"),
    [(BUTTON, "[button:go]"), (FORM, "[form:go text= at=]"), (REFERENCE, "[ref:go]")],
)
def test_an_anchor_is_written_as_it_is_read(anchor: Anchor, text: str) -> None:
    """A form shows its parameters to fill in; what is written resolves to what it was written for."""
    assert marker(anchor, "go") == text
    found = read(text)
    assert found is not None
    assert tuple(found.values) == anchor.params
    assert resolve(found, {"go": anchor}) == "go"


def test_markers_know_their_entry() -> None:
    """A marker stands in the last entry named, on its line or below it, until an empty line or the next entry."""
    content = "\n".join([
        "# Notes [button:top]", "", "[FULL] **[one]** title [button:a] [form:b x=1]", "> text", "  [button:c]",
        "- **[two]** title [button:a]", "", "- Add [form:add text=]", r"\**[three]** [button:d]",
    ])  # fmt: skip
    assert [(each.name, each.entry) for each in markers(content)] == [
        ("top", ""), ("a", "one"), ("b", "one"), ("c", "one"), ("a", "two"), ("add", ""), ("d", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "entry", "found"),
    [
        ("[button:expand]", "one", "expand-one"),
        ("[button:expand]", "two", "expand"),  # nothing on this entry: the one on all
        ("[button:expand]", "", "expand"),
        ("[expand:one]", "", "expand-one"),
        ("[expand:one]", "two", "expand-one"),
        ("[expand:two]", "one", None),
        ("[fold:one]", "", None),
        ("[button:expand-one]", "", "expand-one"),
        ("[form:edit text=x]", "one", "edit-one"),
        ("[button:edit]", "one", "edit-one"),  # a button is a form without parameters
        ("[ref:one]", "", "one"),
        ("[ref:one]", "two", "one"),
        ("[ref:expand]", "one", None),
        ("[ref:expand-one]", "", None),
        ("[button:one]", "", None),
        ("[button:wipe]", "one", None),
    ],
)
def test_a_marker_resolves_to_a_key_of_the_registry(text: str, entry: str, found: str | None) -> None:
    """The command on its entry, else the command; `ref` never means what can be executed, and nothing else a ref."""
    registry = {"expand": BUTTON, "expand-one": BUTTON, "edit-one": FORM, "one": REFERENCE}
    said = read(text)
    assert said is not None
    assert resolve(said, registry, entry) == found
    assert resolve(said._replace(entry=entry), registry) == found


def test_a_key_names_the_command_and_its_target() -> None:
    """The registry's rule: the command, and what it is done to."""
    assert (key("expand", "entry-1"), key("close"), key("close", "")) == ("expand-entry-1", "close", "close")


@pytest.mark.parametrize(
    "text", ["a [b] c", "[link](x)", "**bold**", "[Button:x]", "[FULLY]", "x[0]", "[button]", "**a[0]**"]
)
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    """Escaping touches nothing but markers, labels and entries."""
    assert escaped(text) == text


@pytest.mark.parametrize("text", ["[button:pay]", "see [form:add text=x] here", "[ref:entry-1]", "a\n[expand:b]"])
def test_an_escaped_text_holds_no_marker(text: str) -> None:
    """The same text would be one if it were ours."""
    assert list(markers(text))
    assert not list(markers(escaped(text)))
