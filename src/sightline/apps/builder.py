"""Builds a context from source data, level and history. Pure: the same three give the same bytes."""

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline.apps import anchors as grammar
from sightline.apps.actions import Action
from sightline.apps.context import Anchor, AnchorType, Context, Header, Round, State, Version
from sightline.apps.elements import Element, Page, markdown, redact_page, walk
from sightline.apps.guard import log_failure, valid_text
from sightline.errors import AnchorConflict
from sightline.values.items import Lod
from sightline.values.phrases import say

HIDDEN = "…"  # shown instead of a text whose redaction failed

logger = logging.getLogger("sightline")


class SourceData(Struct, frozen=True):
    """An app's data, with what only the framework knows: the app, the session, the version and its time."""

    app_id: str
    session_id: str
    major: int
    at: datetime
    value: Any = None


class LodState(Struct, frozen=True):
    """The level at which it is shown, and how often that was changed."""

    lod: Lod
    minor: int = 0
    patch: int = 0


class ContextBuilder(Protocol):
    """Builds contexts. It reads only its arguments and changes none of them."""

    def build(self, data: SourceData, lod: LodState, history: tuple[Round, ...] | None) -> Context:
        """Return the context of this data at this level."""


class Content(Struct, frozen=True):
    """The part of a context that is rendered once for each state of the data and each level."""

    page: Page
    text: str
    anchors: dict[str, Anchor]
    failed: bool = False  # the data could not be rendered, and the page says why


class Builder:
    """Builds contexts from what a render function shows."""

    def __init__(
        self,
        render: Callable[[Any, Lod], Page],
        actions: Mapping[str, Action] | None = None,
        *,
        redact: Callable[[str], str] | None = None,
        locale: str = "en",
    ) -> None:
        """`actions`: those of the whole window. `redact` sees every text before it is shown anywhere."""
        self._render, self._locale = render, locale
        self._redact = _guard(redact) if redact is not None else None
        self._actions = actions or {}

    def build(self, data: SourceData, lod: LodState, history: tuple[Round, ...] | None) -> Context:
        """Return the context of this data at this level. If the data cannot be rendered, the context says so."""
        return self.assemble(data, lod, self.content(data, lod), history)

    def content(self, data: SourceData, lod: LodState) -> Content:
        """Return the page, its text and its anchors, which do not depend on the history."""
        try:
            return self._content(self._page(data, lod.lod), lod.lod)
        except Exception as error:  # whatever an app does, the session goes on
            log_failure(f"{data.app_id} cannot be shown", error)
            why = valid_text(f"{type(error).__name__}: {error}")
            element = Element(tag="error", text=say("app fails", self._locale), body=why)
            page = self._redacted(Page(data.app_id, (element,), None, {"error": why}))
            return replace(self._content(page, lod.lod), failed=True)

    def assemble(self, data: SourceData, lod: LodState, content: Content, history: tuple[Round, ...] | None) -> Context:
        """Return the context of this content with this history."""
        if history is not None:
            history = tuple(Round(self.clean(each.action), self.clean(each.result), each.timestamp) for each in history)
        return Context(
            header=Header(data.app_id, data.session_id, Version(data.major, lod.minor, lod.patch), data.at),
            state=State(lod.lod, content.page.focus, content.page.custom),
            content=content.text,
            anchors=content.anchors,
            history=history,
        )

    def clean_anchor(self, key: str, anchor: Anchor) -> tuple[str, Anchor]:
        """Return an anchor from outside the page, redacted."""
        params, target = tuple(map(self.clean, anchor.params)), anchor.target and self.clean(anchor.target)
        return self.clean(key), Anchor(anchor.type, params, target)

    def clean(self, text: str) -> str:
        """Return a text as it may be shown: redacted, and valid Unicode."""
        return valid_text(self._redact(text) if self._redact is not None else text)

    def _page(self, data: SourceData, lod: Lod) -> Page:
        page = self._render(_sort_keys(data.value), lod)
        custom = msgspec.json.decode(msgspec.json.encode(page.custom))  # a copy, and only what JSON can hold
        present = any(element.id == page.focus for element in walk(page.elements))
        page = replace(page, custom=custom, focus=page.focus if present else None)
        return self._redacted(page)

    def _redacted(self, page: Page) -> Page:
        return redact_page(page, self._redact) if self._redact is not None else page

    def _content(self, page: Page, lod: Lod) -> Content:
        return Content(page, self._text(page, lod), self._anchors(page))

    def _text(self, page: Page, lod: Lod) -> str:
        text = markdown(page, lambda element, name: grammar.marker(self._element_anchor(element, name), name))
        markers = {each.id: grammar.marker(_window_anchor(each), each.id) for each in self._actions.values()}
        offered = [f"- {each.label_in(self._locale)} {markers[each.id]}" for each in self._actions.values()]
        if lod is Lod.GIST and markers:
            offered = [" ".join(markers.values())]  # only the levels above say what each is for
        return valid_text("\n".join([text, "", *offered]) if offered else text)

    def _anchors(self, page: Page) -> dict[str, Anchor]:
        """Return the anchors, each key once. The first of two anchors with the same key is used."""
        found: dict[str, Anchor] = {}
        for key, anchor in self._all_anchors(page):
            if key in found:
                logger.warning("%s", AnchorConflict(key))
            else:
                found[key] = anchor
        return found

    def _all_anchors(self, page: Page) -> Iterator[tuple[str, Anchor]]:
        for each in self._actions.values():
            yield each.id, _window_anchor(each)
        elements = [element for element in walk(page.elements) if element.id]
        for element in elements:
            for name in element.actions:
                yield grammar.key(name, element.id), self._element_anchor(element, name)
        for element in elements:  # after all actions, because an action goes before a reference with the same key
            yield element.id, Anchor(AnchorType.REFERENCE, ())

    def _element_anchor(self, element: Element, name: str) -> Anchor:
        """Return the anchor of an action on an element, whose id is the first parameter."""
        action = self._actions.get(name)
        params = tuple(each.name for each in action.parameters[1:] if each.required) if action else ()
        return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params, element.id)


def _window_anchor(action: Action) -> Anchor:
    """Return the anchor of an action of the whole window."""
    params = tuple(each.name for each in action.parameters)
    return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params)


def _sort_keys(value: Any) -> Any:
    """Copy plain data with sorted keys, so that equal data are rendered equally."""
    match value:
        case dict():
            return {key: _sort_keys(value[key]) for key in sorted(value, key=lambda key: (str(key), str(type(key))))}
        case list():
            return [_sort_keys(each) for each in value]
        case _ if type(value) is tuple:
            return tuple(map(_sort_keys, value))
        case _:
            return value


def _guard(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Wrap a redaction so that a text is hidden if it fails, because the text may hold what must not be shown."""

    def guarded(text: str) -> str:
        try:
            redacted_text = redact(text)
        except Exception as error:  # an app's own code
            log_failure("a text could not be redacted and is left out", error)
            return HIDDEN
        return redacted_text if isinstance(redacted_text, str) else HIDDEN

    return guarded
