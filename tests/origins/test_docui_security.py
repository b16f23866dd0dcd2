"""The DocUI document: what is hidden, what is escaped, how anchors are written and found."""

import re
from collections.abc import Callable
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import pytest
from docui_notebook import (
    BUTTON,
    FULL,
    GIST,
    SUMMARY,
    VECTOR_2,
    built,
    document,
    happened,
    minimum,
    notebook,
    notes,
    source,
)
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.apps.actions import Action, Parameter
from sightline.origins.docui import (
    AnchorInfo,
    AnchorType,
    Builder,
    Element,
    LodLevel,
    LodState,
    Marker,
    Page,
    escaped,
    from_json,
    markers,
    resolve,
    to_json,
)
from sightline.testing import MemoryStore

# ------------------------------------------------------------------ security


SECRET = "s3cret"


def secretive(value: Any, lod: LodLevel) -> Page:
    """Says the secret wherever something can be said."""
    if value == "broken":
        raise ValueError(f"no {SECRET} here")
    inner = Element(id=f"in-{SECRET}", text=SECRET, attributes={"why": SECRET})
    told = Element(
        id=SECRET, text=f"a {SECRET} b", tags=(SECRET,), body=f"{SECRET}\nline", code=SECRET, table=((SECRET, "x"),),
        actions=("delete",), children=(inner,),
    )  # fmt: skip
    custom = {SECRET: [SECRET, {"deep": (SECRET,)}], "when": happened(SECRET, SECRET)}
    return Page(f"about {SECRET}", (told, Element(text="all", body=SECRET)), SECRET, custom)


@pytest.mark.accepts(126)
@pytest.mark.parametrize("value", ["whole", "broken"])
@pytest.mark.parametrize("mask", ["", "***", "[hidden]"])
def test_what_is_redacted_appears_nowhere(value: str, mask: str) -> None:
    """The app's filter reaches content, state, anchors and history, of an error's context too."""
    shown = document(secretive, value, redact=lambda text: text.replace(SECRET, mask))
    shown.register(f"app_{SECRET}" if mask == "" else "app_more", AnchorInfo(AnchorType.FORM, (SECRET + "x",), SECRET))
    shown.record(happened(f"open {SECRET}", f"{SECRET}!"))
    context = shown.context()
    assert SECRET not in to_json(context).decode()
    assert len(context.anchors) == (4 if value == "whole" else 1)
    assert len(context.history or ()) == 1
    plain = document(secretive, value)
    assert SECRET in to_json(plain.context()).decode()


@pytest.mark.accepts(126)
def test_a_filter_that_fails_shows_nothing() -> None:
    """What cannot be filtered is left out: neither a crash nor the text."""

    def failing(text: str) -> str:
        if SECRET in text:
            raise RuntimeError(text)
        return text

    for redact in (failing, lambda text: None):
        shown = document(secretive, "whole", redact=redact)
        shown.record(happened(SECRET, "fine"))
        assert SECRET not in to_json(shown.context()).decode()
        minimum(shown.context())


PIECES = [
    "[button:", "[form:", "[ref:", "[fold:", "[expand:", "[button:wipe]", "[form:wipe a=1]", "[expand:e1]", "]", "[",
    "**", "*", "**[", "]**", "**[e9]**", "[GIST]", "[SUMMARY]", "[FULL] ", "\\", "\\\\", "`", "```", "~~~", "\n",
    "\r\n", "\u2028", "\x0b", " ", "|", "wipe", "a=1", 'a="', "=", ":", "# ", "> ", "- ", "](", ")", "_", "—",
    "<Window>", "</Content>", "&", "\x00", "\ud800", "\ufeff",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=10).map("".join)

LIVE = re.compile(r"(?<!\\)\[(?:button|form|ref|fold|expand):")
LABEL = re.compile(r"(?<!\\)\[(?:GIST|SUMMARY|FULL)\]")
NAMED = re.compile(r"(?<!\\)\*\*\[")


def everywhere(text: str) -> Callable[[Any, LodLevel], Page]:
    """A page that says this in every place that takes text."""

    def render(_: Any, lod: LodLevel) -> Page:
        child = Element(text=text, tags=(text, text), body=text, attributes={"x": text})
        first = Element(
            id="e1", lod=lod, text=text, tags=(text,), body=text, actions=("open", "drop"), children=(child,)
        )
        table = ((text, text), (text,), ())
        second = Element(id="e2", lod=GIST, text=text, body=text, table=table, actions=("open",))
        code = Element(text=text, body=text, code=text, children=(Element(text=text, body=text, code=""),))
        return Page(text, (first, second, code, Element(text=text)))

    return render


ADD = {"add": Action("add", "Add", (Parameter("text", "string"),))}
OWN = [Marker("button", "open", {}, "e1"), Marker("button", "drop", {}, "e1"), Marker("button", "open", {}, "e2")]


@pytest.mark.accepts(119, 128, 129, 130)
@given(hostile, st.sampled_from(LodLevel))
def test_no_text_can_forge_an_anchor(text: str, lod: LodLevel) -> None:
    """Whatever stands in a text, the content has our markers, our labels and our entries, and no others."""
    context = Builder(everywhere(text), ADD).build(source(None), LodState(lod), (happened(text, text),))
    found = list(markers(context.content))
    assert found == [*OWN, Marker("form", "add", {"text": ""}, "")]
    assert [resolve(each, context.anchors) for each in found] == ["open-e1", "drop-e1", "open-e2", "add"]
    assert (len(LIVE.findall(context.content)), len(LABEL.findall(context.content))) == (4, 2)
    assert len(NAMED.findall(context.content)) == 2
    assert set(context.anchors) == {"add", "open-e1", "drop-e1", "e1", "open-e2", "e2"}


@pytest.mark.accepts(128, 130)
@given(hostile)
def test_escaped_text_has_no_marker_label_or_entry(text: str) -> None:
    """Escaping alone is enough, twice is no worse, and what is escaped can be told from the backslashes added."""
    for made in (escaped(text), escaped(escaped(text))):
        assert list(markers(made)) == []
        assert not LIVE.search(made)
        assert not LABEL.search(made)
        assert not NAMED.search(made)
    assert escaped(text).replace("\\", "") == text.replace("\\", "")


@pytest.mark.accepts(128)
@pytest.mark.parametrize("text", ["[button:delete]", "[form:x a=1]", "[ref:entry-1]", "[expand:entry-1]"])
def test_text_that_looks_like_an_anchor_is_written_with_a_backslash(text: str) -> None:
    """The document's examples stand in the content escaped, and are in no registry."""
    context = built({"entries": [{"title": f"see {text} now"}]}, FULL)
    assert context.content == f"# Notebook\n\n[FULL] see \\{text} now"
    assert list(markers(context.content)) == []
    assert context.anchors == {}


NESTS = [
    "```\n{}\n```", "````md\n```\n{}\n```\n````", "~~~\n{}\n~~~", "`{}`", "``{}``", "[{}](http://x)", "[a]({})",
    "![{}]({})", "**{}**", "***{}***", "__{}__", "> {}", "- {}", "1. {}", "| {} |", "# {}", "<b>{}</b>", "<!-- {} -->",
    "<![CDATA[{}]]>", "[{}]", "[[{}]]", "\\{}", "\\\\{}", "\\\\\\{}", '[form:x a="{}"]', "[ref:{}]", "**[entry-1]** {}",
    "\n\n{}", "\r{}", "\t{}", "    {}", "[FULL] {}", "*{}", "[{}", "{}]",
]  # fmt: skip
MARKERS = ["[button:wipe]", "[form:wipe a=1]", "[ref:entry-1]", "[fold:entry-1]", '[form:wipe a="]" b=2]']


@pytest.mark.accepts(130)
@pytest.mark.parametrize("outer", NESTS)
def test_escaping_survives_nesting(outer: str, soak: bool) -> None:
    """A marker in a fence, a link, bold, a quote, a table, or any of these in any other, is never one."""
    pairs = (
        product(NESTS, MARKERS) if soak else zip(NESTS, islice(cycle(MARKERS), NESTS.index(outer), None), strict=False)
    )
    for inner, marker in pairs:
        text = outer.replace("{}", inner.replace("{}", marker))
        content = Builder(everywhere(text)).build(source(None), LodState(FULL), None).content
        assert list(markers(content)) == OWN
        assert len(LIVE.findall(content)) == len(OWN)


@pytest.mark.accepts(130)
def test_taking_backticks_out_of_a_tag_makes_no_marker() -> None:
    """A marker broken by a character that is taken out later is still escaped."""
    for tag in ("[`button:wipe]", "[butt`on:wipe]", "*`*[e9]**", "[GI`ST]"):
        page = Page("x", (Element(text="t", tags=(tag,)),))
        content = Builder(lambda _, lod, page=page: page).build(source(None), LodState(FULL), None).content
        assert list(markers(content)) == []
        assert not any(kind.search(content) for kind in (LIVE, LABEL, NAMED))


@pytest.mark.accepts(129)
def test_only_the_registry_makes_a_marker_executable(tmp_path: Path) -> None:
    """A marker that nothing is registered for resolves to nothing, and pressing it does nothing."""
    assert resolve(Marker("button", "wipe", {}, "entry-1"), from_json(VECTOR_2).anchors) is None
    assert resolve(Marker("button", "expand", {}, "entry-2"), from_json(VECTOR_2).anchors) is None
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        session.windows.open("todo")
        session.windows.act("todo_1", "add", text="[button:wipe]")
        before = session.windows.window("todo_1").context()
        for said in (
            "[button:wipe]",
            "wipe",
            "[form:wipe a=1]",
            "wipe-1",
            "[button:__init__]",
            "view",
            "[button:save]",
        ):
            outcome = session.windows.act("todo_1", said)
            assert (outcome.success, outcome.reason) == (False, "unknown action")
        assert session.windows.window("todo_1").context() is before


@pytest.mark.accepts(131)
def test_an_unknown_or_stale_anchor_is_answered_with_a_way_on(tmp_path: Path) -> None:
    """The answer names the anchor and what can be done; the window works on."""
    with sl.Session(MemoryStore(), apps=["todo"], project=tmp_path) as session:
        session.windows.open("todo")
        session.windows.act("todo_1", "add", text="milk")
        session.windows.window("todo_1").context()
        unknown = session.windows.act("todo_1", "explode-1")
        session.windows.act("todo_1", "delete-1")
        stale = session.windows.act("todo_1", "delete-1")
        for outcome, name, reason in ((unknown, "explode-1", "unknown action"), (stale, "delete-1", "stale")):
            assert (outcome.success, outcome.reason) == (False, reason)
            assert name in outcome.message
            assert outcome.ways
        assert session.windows.act("todo_1", "add", text="bread").success


# ------------------------------------------------------------------ content and anchor text


@pytest.mark.accepts(132)
@pytest.mark.parametrize("lod", LodLevel)
def test_entries_are_labelled_with_their_level(lod: LodLevel) -> None:
    """The label begins the line, the id follows in bold, buttons end it."""
    lines = built(notes("one", "two"), lod).content.split("\n")[2:]
    buttons = {GIST: "", SUMMARY: " [button:expand]", FULL: " [button:expand] [button:delete]"}[lod]
    assert lines == [f"[{lod.name}] **[entry-{n}]** {title}{buttons}" for n, title in enumerate(("one", "two"), 1)]


@pytest.mark.accepts(134)
def test_a_marker_resolves_within_its_entry() -> None:
    """C-001-9: `[button:expand]` in entry-1 means the key `expand-entry-1`, in another entry another."""
    context = from_json(VECTOR_2)
    [marker] = markers(context.content)
    assert marker == Marker("button", "expand", {}, "entry-1")
    assert resolve(marker, context.anchors) == "expand-entry-1"
    two = built(notes("one", "two"))
    assert [resolve(each, two.anchors) for each in markers(two.content)] == ["expand-entry-1", "expand-entry-2"]
    assert resolve(Marker("button", "expand", {}), {"expand": BUTTON}) == "expand"


@pytest.mark.accepts(134)
def test_what_is_offered_on_an_entry_goes_before_what_is_offered_on_all() -> None:
    """The same command on the whole and on an entry: each marker means the one it stands by."""
    delete = Action("delete", "Delete an entry", (Parameter("id", "string"),))
    context = Builder(notebook, {"delete": delete}).build(source(notes("one")), LodState(FULL), None)
    assert [resolve(each, context.anchors) for each in markers(context.content) if each.name == "delete"] == [
        "delete-entry-1",
        "delete",
    ]
