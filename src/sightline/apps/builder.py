"""source data, level, history → context. Pure: the same three give the same context, down to its timestamp."""

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
from sightline.apps.elements import Element, Page, markdown, redacted, walk
from sightline.apps.guard import log_failure, valid_text
from sightline.errors import AnchorConflict
from sightline.values.items import Lod
from sightline.values.phrases import say

HIDDEN = "…"  # stands for a text of which nobody could say what of it may be shown

logger = logging.getLogger("sightline")


class SourceData(Struct, frozen=True):
    """What an app holds, and what only the framework says: whose it is, of which version, since when."""

    app_id: str
    session_id: str
    major: int
    at: datetime
    value: Any = None


class LodState(Struct, frozen=True):
    """At which level it is shown, and how often that was changed."""

    lod: Lod
    minor: int = 0
    patch: int = 0


class ContextBuilder(Protocol):
    """Makes contexts. It reads nothing but its arguments and changes none of them."""

    def build(self, data: SourceData, lod: LodState, history: tuple[Round, ...] | None) -> Context:
        """The context of this data at this level."""
        ...


class Content(Struct, frozen=True):
    """The region that is rendered once for each state of the data and each level."""

    page: Page
    text: str
    anchors: dict[str, Anchor]
    failed: bool = False  # the data could not be rendered: the page says why


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
        """`actions`: what can be done with it as a whole. `redact` sees every text before it is shown anywhere."""
        self._render, self._locale = render, locale
        self._redact = _guarded(redact) if redact is not None else None
        self._actions = actions or {}

    def build(self, data: SourceData, lod: LodState, history: tuple[Round, ...] | None) -> Context:
        """The context of this data at this level. Data that cannot be rendered give one that says so."""
        return self.assembled(data, lod, self.content(data, lod), history)

    def content(self, data: SourceData, lod: LodState) -> Content:
        """The page, its text and its anchors: what no history changes."""
        try:
            page = self._page(data, lod.lod)
            return Content(page, self._text(page, lod.lod), dict(self._anchors(page)))
        except Exception as error:  # whatever an app does, the session goes on
            log_failure(f"{data.app_id} cannot be shown", error)
            return self._failed(data, lod.lod, error)

    def assembled(
        self, data: SourceData, lod: LodState, content: Content, history: tuple[Round, ...] | None
    ) -> Context:
        """The context of this content, with this history."""
        if history is not None:
            history = tuple(Round(self.clean(each.action), self.clean(each.result), each.timestamp) for each in history)
        return Context(
            header=Header(data.app_id, data.session_id, Version(data.major, lod.minor, lod.patch), data.at),
            state=State(lod.lod, content.page.focus, content.page.custom),
            content=content.text,
            anchors=content.anchors,
            history=history,
        )

    def declared(self, key: str, anchor: Anchor) -> tuple[str, Anchor]:
        """An anchor that stands in no page, as it may be shown."""
        target = anchor.target and self.clean(anchor.target)
        return self.clean(key), Anchor(anchor.type, tuple(map(self.clean, anchor.params)), target)

    def clean(self, text: str) -> str:
        """A text as it may be shown: redacted, and valid."""
        return valid_text(self._redact(text) if self._redact is not None else text)

    def _page(self, data: SourceData, lod: Lod) -> Page:
        page = self._render(_ordered(data.value), lod)
        custom = msgspec.json.decode(msgspec.json.encode(page.custom))  # as it is now, and as the wire can carry it
        present = any(element.id == page.focus for element in walk(page.elements))
        page = replace(page, custom=custom, focus=page.focus if present else None)  # what is not there has no focus
        return redacted(page, self._redact) if self._redact is not None else page

    def _text(self, page: Page, lod: Lod) -> str:
        text = markdown(page, lambda element, name: grammar.marker(self._on(element, name), name))
        actions = self._actions.values()
        markers = [grammar.marker(_whole(each), each.id) for each in actions]
        if lod is Lod.GIST:
            offered = [" ".join(markers)] if markers else []  # what each is for is said at the levels above
        else:
            offered = [
                f"- {each.label_in(self._locale)} {marker}" for each, marker in zip(actions, markers, strict=True)
            ]
        return valid_text("\n".join([text, "", *offered]) if offered else text)

    def _anchors(self, page: Page) -> Iterator[tuple[str, Anchor]]:
        """Each key once: the first one holds."""
        taken = set()
        for key, anchor in self._declared(page):
            if key in taken:
                logger.warning("%s", AnchorConflict(key))
            else:
                taken.add(key)
                yield key, anchor

    def _declared(self, page: Page) -> Iterator[tuple[str, Anchor]]:
        for each in self._actions.values():
            yield each.id, _whole(each)
        elements = [element for element in walk(page.elements) if element.id]
        for element in elements:
            for name in element.actions:
                yield grammar.key(name, element.id), self._on(element, name)
        for element in elements:  # what can be done goes before what is only pointed at
            yield element.id, Anchor(AnchorType.REFERENCE, ())

    def _on(self, element: Element, name: str) -> Anchor:
        """An action on an element: the element is its first parameter."""
        action = self._actions.get(name)
        params = tuple(each.name for each in action.parameters[1:] if each.required) if action else ()
        return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params, element.id)

    def _failed(self, data: SourceData, lod: Lod, error: Exception) -> Content:
        why = valid_text(f"{type(error).__name__}: {error}")
        page = Page(
            data.app_id, (Element(tag="error", text=say("app fails", self._locale), body=why),), None, {"error": why}
        )
        page = redacted(page, self._redact) if self._redact is not None else page
        return Content(page, self._text(page, lod), dict(self._anchors(page)), failed=True)


def _whole(action: Action) -> Anchor:
    """An action on all of it."""
    params = tuple(each.name for each in action.parameters)
    return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params)


def _ordered(value: Any) -> Any:
    """A copy of plain data in one order, however they were put together."""
    match value:
        case dict():
            return {key: _ordered(value[key]) for key in sorted(value, key=lambda key: (str(key), str(type(key))))}
        case list():
            return [_ordered(each) for each in value]
        case _ if type(value) is tuple:
            return tuple(map(_ordered, value))
        case _:
            return value


def _guarded(redact: Callable[[str], str]) -> Callable[[str], str]:
    """A redaction that fails shows nothing: better than what it was to take out."""

    def guarded(text: str) -> str:
        try:
            held = redact(text)
        except Exception as error:  # an app's own code
            log_failure("a text could not be redacted and is left out", error)
            return HIDDEN
        return held if isinstance(held, str) else HIDDEN

    return guarded
