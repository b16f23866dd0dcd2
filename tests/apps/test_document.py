"""A document: one app's context in one session, frozen region by region."""

import logging
from typing import Any

import pytest

from sightline.apps.actions import Action, Parameter
from sightline.apps.anchors import markers, resolve
from sightline.apps.context import Anchor, AnchorType, Context, Round, Version, to_json
from sightline.apps.document import HIDDEN, Builder, Document, LodState, SourceData
from sightline.apps.elements import Element, Page
from sightline.errors import BadInput, ContextTooLarge
from sightline.testing import Ticking
from sightline.values.items import Lod

GIST, SUMMARY, FULL = Lod
BUTTON = Anchor(AnchorType.BUTTON, ())
FORM = Anchor(AnchorType.FORM, ("text",))


def listed(value: Any, lod: Lod) -> Page:
    """One element a line; at GIST how many."""
    if lod is GIST:
        return Page("List", (Element(text=f"{len(value)} items"),))
    return Page("List", tuple(Element(id=str(n), text=each, actions=("drop",)) for n, each in enumerate(value, 1)))


def document(value: Any = ("a", "b"), *, builder: Builder | None = None, **more: Any) -> Document:
    options = {"app_id": "list", "session_id": "s", "clock": Ticking(), **more}
    return Document(builder or Builder(listed), value=value, **options)


def done(action: str = "drop", result: str = "dropped") -> Round:
    return Round(action, result, document().context().header.timestamp)


def size(context: Context) -> int:
    return len(context.content) + sum(len(each.result) for each in context.history or ())


def test_nothing_is_rendered_before_somebody_asks() -> None:
    """Changes that nobody looked at between cost nothing."""
    calls: list[Any] = []
    shown = document(builder=Builder(lambda value, lod: calls.append(value) or Page("x")))
    for number in range(5):
        shown.change([number])
    assert calls == []
    shown.context()
    assert calls == [[4]]


def test_a_value_may_become_nothing() -> None:
    """None is a value like any other; without one, what the document holds has changed by itself."""
    shown = document(builder=Builder(lambda value, lod: Page(repr(value))), value=[1])
    shown.change()
    assert shown.context().content == "# [1]"
    shown.change(None)
    assert shown.context().content == "# None"


def test_a_document_goes_on_where_it_was() -> None:
    """Resumed with a version and a level, the numbers rise from there."""
    shown = document(version=Version(7, 2, 1), lod=SUMMARY)
    assert shown.context().header.version == Version(7, 2, 1)
    shown.switch(FULL)
    assert shown.version == Version(7, 3, 0)
    shown.change()
    assert shown.version == Version(8, 0, 0)


def test_what_is_registered_stands_after_what_is_declared() -> None:
    """It is offered until something is used or changes."""
    shown = document(["a"])
    shown.register("app_more", BUTTON)
    shown.register("app_form", FORM)
    assert list(shown.context().anchors) == ["drop-1", "1", "app_more", "app_form"]
    shown.record(done())
    assert "app_more" in shown.context().anchors
    for end in (shown.executed, lambda: shown.switch(SUMMARY), shown.change, lambda: shown.rerender(Builder(listed))):
        shown.register("app_more", BUTTON)
        end()
        assert "app_more" not in shown.context().anchors


@pytest.mark.parametrize("key", ["", "a b", "a]", "[button:x]", "a\nb"])
def test_a_key_that_no_marker_could_name_is_refused(key: str) -> None:
    """Nothing is registered that nobody could press."""
    shown = document()
    with pytest.raises(BadInput, match="anchor"):
        shown.register(key, BUTTON)


def test_actions_on_all_are_listed_below() -> None:
    """Each with its label and a form of its own; the same command on an element leaves out what the element says."""
    index = Parameter("index", "int")
    actions = {
        "drop": Action("drop", "Drop one", (index, Parameter("why", "string", required=False)), zh="丢弃"),
        "move": Action("move", "Move one", (index, Parameter("to", "int"))),
        "clear": Action("clear", "Clear"),
    }

    def render(value: Any, lod: Lod) -> Page:
        return Page("List", (Element(id="1", text="a", actions=("drop", "move", "clear")),))

    data = SourceData("list", "s", 1, done().timestamp)
    english, chinese = (
        Builder(render, actions, locale=locale).build(data, LodState(FULL), None) for locale in ("en", "zh")
    )
    assert english.content.split("\n")[2:] == [
        "- **[1]** a [button:drop] [form:move to=] [button:clear]",
        "",
        "- Drop one [form:drop index= why=]",
        "- Move one [form:move index= to=]",
        "- Clear [button:clear]",
    ]
    assert "- 丢弃 [form:drop index= why=]" in chinese.content
    assert [resolve(each, english.anchors) for each in markers(english.content)] == [
        "drop-1", "move-1", "clear-1", "drop", "move", "clear",
    ]  # fmt: skip


def test_the_history_is_filtered_and_valid() -> None:
    """What a round says passes the filter, and what is no valid text is replaced."""
    shown = document(builder=Builder(listed, redact=lambda text: text.replace("key", "…")))
    shown.record(done("use key", "key \ud800"))
    [said] = shown.context().history or ()
    assert (said.action, said.result) == ("use …", "… ?")
    assert shown.rounds[0].action == "use key"


def test_text_that_is_not_valid_is_shown_all_the_same() -> None:
    """A lone surrogate in the data, in an error or in a round breaks no JSON."""
    shown = document(["a \ud800 b"])
    assert "a ? b" in shown.context().content
    to_json(shown.context())

    def failing(value: Any, lod: Lod) -> Page:
        raise ValueError("\ud800")

    to_json(document(builder=Builder(failing)).context())


def test_an_error_context_keeps_what_can_be_done() -> None:
    """An app whose data cannot be shown can still be acted on as a whole: that may mend it."""
    add = Action("add", "Add", (Parameter("text", "string"),))

    def failing(value: Any, lod: Lod) -> Page:
        raise KeyError("items")

    shown = document(builder=Builder(failing, {"add": add}), lod=GIST)
    context = shown.context()
    assert context.content == "\n".join([
        "# list", "", "- this app could not show its data", "  > KeyError: 'items'", "", "[form:add text=]",
    ])  # fmt: skip
    assert context.state.custom == {"error": "KeyError: 'items'"}
    assert context.state.current_lod is GIST
    assert list(context.anchors) == ["add"]
    assert shown.content().failed


def test_an_error_is_rendered_once_too(caplog: pytest.LogCaptureFixture) -> None:
    """Data that cannot be shown are tried again when they have changed, not every time somebody looks."""
    calls: list[Any] = []

    def failing(value: Any, lod: Lod) -> Page:
        calls.append(value)
        raise ValueError("no")

    shown = document(builder=Builder(failing))
    with caplog.at_level(logging.WARNING, "sightline"):
        shown.context()
        shown.record(done())
        shown.context()
    assert len(calls) == 1
    [said] = [each.getMessage() for each in caplog.records]
    assert said.startswith("list cannot be shown\nTraceback")
    assert said.endswith("ValueError: no\n")


def test_a_filter_that_fails_hides_the_text() -> None:
    """The rest is shown, and nobody sees what could not be filtered."""

    def redact(text: str) -> str:
        if "key" in text:
            raise RuntimeError("cannot say")
        return text

    shown = document(["fine", "the key"], builder=Builder(listed, redact=redact))
    assert shown.context().content.split("\n")[2:] == [
        "- **[1]** fine [button:drop]",
        f"- **[2]** {HIDDEN} [button:drop]",
    ]


def test_what_fits_is_not_touched() -> None:
    """Nothing is rendered again, nothing lowered, where there is room."""
    shown = document()
    shown.record(done())
    whole = shown.context()
    assert shown.fit(size(whole), size) is whole


def test_fitting_lowers_no_further_than_it_must() -> None:
    """The highest level that fits without history is kept, with the newest rounds that fit beside it."""

    def render(value: Any, lod: Lod) -> Page:
        return Page("x" * {FULL: 998, SUMMARY: 298, GIST: 8}[lod])

    shown = document(builder=Builder(render))
    for number in range(4):
        shown.record(done(str(number), "r" * 100))
    context = shown.fit(550, size)
    assert (context.state.current_lod, size(context)) == (SUMMARY, 500)
    assert [each.action for each in context.history or ()] == ["2", "3"]
    assert shown.version == Version(1, 1, 0)
    context = shown.fit(299, size)
    assert (context.state.current_lod, size(context)) == (GIST, 210)
    with pytest.raises(ContextTooLarge) as caught:
        shown.fit(9, size)
    assert (caught.value.app_id, caught.value.tokens, caught.value.limit) == ("list", 10, 9)
    assert size(shown.context()) == 210


def test_rounds_from_before_are_kept_within_the_limit() -> None:
    """A history taken over from an earlier run is cut like one that grew here."""
    shown = document(rounds=2)
    shown.rounds = tuple(done(str(number)) for number in range(5))
    shown.record(done("5"))
    assert [each.action for each in shown.context().history or ()] == ["4", "5"]
