"""Elements: what they refuse, how they look in Markdown and in XML, and that a filter reaches all of them."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps.elements import Element, Page, markdown, redact_page, walk, xml, xml_attributes
from sightline.errors import InvalidSourceData
from sightline.values.items import Lod

GIST, SUMMARY, FULL = Lod
anything = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["</item>", "<Window id='x'>", "]]>", "<![CDATA[", "<!--", "&amp;", "&#0;", "\x00\x1b", "\ud800", "\ufffe",
     "a\r\nb", '" x="', "'"]
)  # fmt: skip


def offer(element: Element, name: str) -> str:
    return f"[button:{name}]"


def lines(*elements: Element) -> list[str]:
    """The Markdown of a page below its heading."""
    return markdown(Page("T", elements), offer).split("\n")[2:]


def parsed(element: Element) -> ElementTree.Element:
    return ElementTree.fromstring("\n".join(xml(element, "")))


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("tag", ["", "1a", "a b", "a>", "é", "a:b", "-a", "a\n", "<a"])
def test_a_tag_is_an_xml_name(tag: str) -> None:
    """A tag or attribute that could not stand in XML is refused when the element is made."""
    with pytest.raises(InvalidSourceData, match="XML name"):
        Element(tag=tag)
    with pytest.raises(InvalidSourceData, match="XML name"):
        Element(attributes={tag: "x"})


@pytest.mark.parametrize("name", ["a b", "a]", "[a", "*", "a\n", "a/b", '"', "a=b"])
def test_ids_and_actions_are_names(name: str) -> None:
    """An id or action that no marker could name is refused."""
    with pytest.raises(InvalidSourceData, match="id or action"):
        Element(id=name)
    with pytest.raises(InvalidSourceData, match="id or action"):
        Element(id="x", actions=(name,))
    with pytest.raises(InvalidSourceData, match="id or action"):
        Element(id="x", actions=("",))


def test_names_of_any_script_are_ids() -> None:
    """Letters are letters."""
    assert Element(id="条目-1:a.b_c").id == "条目-1:a.b_c"


@pytest.mark.parametrize("name", ["id", "lod", "tags", "actions"])
def test_an_attribute_cannot_stand_for_the_elements_own(name: str) -> None:
    """What XML says of an element is what its anchors say."""
    with pytest.raises(InvalidSourceData, match=name):
        Element(attributes={name: "x"})


def test_an_attribute_is_text() -> None:
    """A number or truth is refused when the element is made, not when it is drawn."""
    with pytest.raises(InvalidSourceData, match="done=True"):
        Element(attributes={"done": True})  # type: ignore[dict-item]


def test_an_action_needs_something_it_is_done_to() -> None:
    """An element that offers actions has an id."""
    with pytest.raises(InvalidSourceData, match="needs an id"):
        Element(text="x", actions=("delete",))


# ------------------------------------------------------------------ Markdown


def test_the_heading_and_what_is_below() -> None:
    """A page begins with its title, one line; without elements that is all."""
    assert markdown(Page("My\n# notes "), offer) == "# My # notes"
    assert markdown(Page("T", (Element(text="a"),)), offer) == "# T\n\n- a"


def test_an_element_is_one_line_in_a_fixed_order() -> None:
    """Label, id, text, tags, actions."""
    full = Element(id="e", text="a  b\nc", tags=("x", "y `z`"), actions=("open", "drop"))
    assert lines(full) == ["- **[e]** a b c `x` `y z` [button:open] [button:drop]"]
    assert lines(Element()) == ["-"]


def test_an_entry_shows_its_level_and_as_much_of_its_body() -> None:
    """GIST: the beginning in the same line; SUMMARY and FULL: quoted lines below."""
    body = "first line\n\nsecond " + "x" * 80
    [gist] = lines(Element(id="e", text="t", body=body, lod=GIST, actions=("open",)))
    assert gist == f"[GIST] **[e]** t — _first line second {'x' * 41}…_ [button:open]"
    assert len(gist.split("_")[1]) == 60
    for lod in (SUMMARY, FULL):
        expected = [f"[{lod.name}] **[e]** t", "> first line", ">", f"> second {'x' * 80}"]
        assert lines(Element(id="e", text="t", body=body, lod=lod)) == expected


def test_children_are_indented_below_their_parent() -> None:
    """Depth by depth, bodies with them."""
    deep = Element(text="deep", body="b")
    tree = Element(text="top", body="b", children=(Element(text="mid", children=(deep,)),))
    assert lines(tree) == ["- top", "  > b", "  - mid", "    - deep", "      > b"]
    assert [each.text for each in walk([tree])] == ["top", "mid", "deep"]


def test_a_table_has_a_heading_and_escaped_bars() -> None:
    """Each row is one line; a bar in a cell is escaped, and so are backslashes that would undo that."""
    table = (("name", "size"), ("a|b", "1\n2"), (r"c\|d", ""), (r"e\\|f", "g\\"))
    assert lines(Element(text="t", table=table))[1:] == [
        "  | name | size |", "  | --- | --- |", r"  | a\|b | 1 2 |", r"  | c\\\|d |  |", r"  | e\\\\\|f | g\ |",
    ]  # fmt: skip


@given(st.lists(st.lists(anything, min_size=2, max_size=2).map(tuple), min_size=1, max_size=3))
def test_a_cell_ends_at_no_bar_of_its_own(rows: list[tuple[str, str]]) -> None:
    """Read as GitHub's tables are, every row has as many cells as were put in."""
    for line in lines(Element(text="t", table=tuple(rows)))[1:]:
        assert len(re.findall(r"(?:\\.|[^|\\])*\|", line.strip().removeprefix("|"))) == 2


@given(st.lists(st.sampled_from(["`", "```", "`````", "a", "\n", " ", "~~~", "[button:x]"]), max_size=12).map("".join))
def test_a_fence_is_longer_than_any_backticks_in_it(code: str) -> None:
    """Source text stands between fences that nothing in it can close, each line as it is."""
    _, opening, *inside, closing = lines(Element(text="t", body="x" + code, code="py thon"))
    fence = closing.strip()
    assert opening == f"  {fence}python"
    assert len(fence) >= 3
    assert set(fence) == {"`"}
    assert fence not in "".join(inside)
    assert "\n".join(line[2:] for line in inside).replace("\\[", "[") == "x" + code


def test_source_text_keeps_its_spaces() -> None:
    """Indentation and empty lines of code are kept; of other text they are not."""
    body = "def f():\n    return 1\n\n# end"
    fenced = ["  ```py", "  def f():", "      return 1", "  ", "  # end", "  ```"]
    assert lines(Element(text="f", body=body, code="py"))[1:] == fenced
    assert lines(Element(text="f", body=body))[1:] == ["  > def f():", "  > return 1", "  >", "  > # end"]


# ------------------------------------------------------------------ XML


def test_an_element_without_more_is_one_line() -> None:
    """The document's sample: a tag, an id, a text."""
    assert list(xml(Element(id="1", text="买菜"), "  ")) == ['  <item id="1">买菜</item>']
    [full] = xml(Element(tag="entry", id="e", lod=GIST, tags=("a", "b"), actions=("open",), attributes={"n": "1"}), "")
    assert full == '<entry id="e" lod="gist" tags="a, b" actions="open" n="1"></entry>'


def test_an_element_with_more_has_children() -> None:
    """Title, body, rows and children are elements of their own."""
    made = parsed(
        Element(text="t", body="b\nc", table=(("x", "y"), ("1", "2")), children=(Element(tag="sub", text="s"),))
    )
    assert [(each.tag, each.text) for each in made] == [
        ("title", "t"), ("body", "b\nc"), ("row", "x | y"), ("row", "1 | 2"), ("sub", "s"),
    ]  # fmt: skip


def test_a_gist_is_short_in_xml_too() -> None:
    """The body of an entry at GIST is its beginning, in one line."""
    made = parsed(Element(text="t", body="one\ntwo " + "x" * 90, lod=GIST))
    assert len(made[1].text or "") == 60
    assert (made[1].text or "").startswith("one two xxx")


@given(anything, st.sampled_from([None, *Lod]))
def test_xml_is_well_formed_and_says_what_was_said(text: str, lod: Lod | None) -> None:
    """Any text anywhere gives XML of exactly our elements, and a parser reads the text back from it."""
    child = Element(tag="sub", text=text, attributes={"note": text}, tags=(text,))
    whole = Element(id="e", text=text, body=text, code=text, lod=lod, tags=(text,), table=((text,),), children=(child,))
    seen = re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    read = seen.replace("\r\n", "\n").replace("\r", "\n")  # as every XML reader does
    made = parsed(whole)
    tags = [*(["title", "body"] if text else []), "row", "sub"]
    assert [each.tag for each in made.iter()] == ["item", *tags]
    assert made.find("sub").text in (read, None)  # type: ignore[union-attr]
    assert made.find("sub").attrib["note"] == seen  # type: ignore[union-attr]
    assert made.find("row").text in (read, None)  # type: ignore[union-attr]
    if text and lod is not GIST:
        assert made.find("body").text == read  # type: ignore[union-attr]
    "\n".join(xml(whole, "")).encode()


@given(st.dictionaries(st.sampled_from(["a", "b", "c-d", "e.f"]), anything))
def test_attributes_hold_any_text(attributes: dict[str, str]) -> None:
    """Quotes, line ends and tabs come back from an attribute as they were."""
    made = ElementTree.fromstring(f"<x{xml_attributes(attributes)}/>")
    keep = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert made.attrib == {name: keep.sub("\ufffd", value) for name, value in attributes.items()}


# ------------------------------------------------------------------ redaction


def test_a_filter_sees_every_text() -> None:
    """Nothing of a page but the names in an app's code is shown unfiltered, at any depth, in either form."""
    inner = Element(id="k", text="k", body="k", code="k", tags=("k",), table=(("k",),), attributes={"note": "k"})
    page = Page(
        "k", (Element(text="k", children=(Element(text="x", children=(inner,)),)),), "k", {"k": ["k", {"a": "k"}]}
    )
    filtered = redact_page(page, lambda text: text.replace("k", "?"))
    shown = markdown(filtered, offer) + "".join(line for each in filtered.elements for line in xml(each, ""))
    assert "k" not in shown
    assert filtered.focus == "_"
    assert filtered.custom == {"?": ["?", {"a": "?"}]}
    assert "k" in markdown(page, offer)


@pytest.mark.parametrize(("mask", "left"), [("***", "a-___"), ("[x]", "a-_x_"), ("", "a-"), ("ok", "a-ok")])
def test_a_filtered_id_is_still_an_id(mask: str, left: str) -> None:
    """Whatever a filter puts in place of a part of a name, actions are still offered on it, and the focus follows."""
    page = Page("t", (Element(id="a-s3", actions=("open",)), Element(id="s3", actions=("open",))), "a-s3")
    filtered = redact_page(page, lambda text: text.replace("s3", mask))
    assert filtered.elements[0].id == filtered.focus == left
    assert filtered.elements[1].id
