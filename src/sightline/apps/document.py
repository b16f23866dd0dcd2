"""What an app shows: a context built from source data, level and history, and the versioned document that keeps it.

Building is pure: the same three give the same bytes. A document rebuilds each part only when it was invalidated.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from sightline.apps import anchors as grammar
from sightline.apps.actions import Action, Parameter
from sightline.apps.context import Anchor, AnchorType, Context, Header, Round, State, Version
from sightline.apps.elements import Element, Page, markdown, redact_page, walk
from sightline.apps.guard import log_failure, valid_text
from sightline.errors import AnchorConflict, BadInput, ContextTooLarge, VersionMismatch
from sightline.values.clock import Clock
from sightline.values.items import Lod
from sightline.values.logger import log_warning
from sightline.values.phrases import say

HIDDEN = "…"  # shown instead of a text whose redaction failed
ROUNDS = 20  # the most in a context's history; the oldest are dropped first


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
        types: bool = False,
    ) -> None:
        """`actions`: those of the whole window. `redact` sees every text before it is shown anywhere.

        `types`: forms say the types of their parameters, and which are optional.
        """
        self._render, self._locale, self._types = render, locale, _types if types else lambda _: ""
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
            history = tuple(
                Round(self.clean(earlier.action), self.clean(earlier.result), earlier.timestamp) for earlier in history
            )
        return Context(
            header=Header(data.app_id, data.session_id, Version(data.major, lod.minor, lod.patch), data.at),
            state=State(lod.lod, content.page.focus, content.page.custom),
            content=content.text,
            anchors=content.anchors,
            history=history,
        )

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
        text = markdown(page, self._offer)
        markers = {
            action.id: grammar.marker(_window_anchor(action), action.id) + self._types(action.parameters)
            for action in self._actions.values()
        }
        offered = [f"- {action.label_in(self._locale)} {markers[action.id]}" for action in self._actions.values()]
        if lod is Lod.GIST and markers:
            offered = [" ".join(markers.values())]  # only the levels above say what each is for
        return valid_text("\n".join([text, "", *offered]) if offered else text)

    def _offer(self, element: Element, name: str) -> str:
        """Return how an action on an element is written."""
        anchor, action = self._element_anchor(element, name), self._actions.get(name)
        parameters = action.parameters[1:] if action and anchor.type is AnchorType.FORM else ()
        return grammar.marker(anchor, name) + self._types(parameters)

    def _anchors(self, page: Page) -> dict[str, Anchor]:
        """Return the anchors, each key once. The first of two anchors with the same key is used."""
        elements = [element for element in walk(page.elements) if element.id]
        pairs = [(action.id, _window_anchor(action)) for action in self._actions.values()]
        pairs += [
            (grammar.key(name, element.id), self._element_anchor(element, name))
            for element in elements
            for name in element.actions
        ]
        # After all actions, because an action goes before a reference with the same key.
        pairs += [(element.id, Anchor(AnchorType.REFERENCE, ())) for element in elements]
        anchors: dict[str, Anchor] = {}
        for key, anchor in pairs:
            if key in anchors:
                log_warning("%s", AnchorConflict(key))
            else:
                anchors[key] = anchor
        return anchors

    def _element_anchor(self, element: Element, name: str) -> Anchor:
        """Return the anchor of an action on an element, whose id is the first parameter."""
        action = self._actions.get(name)
        params = tuple(parameter.name for parameter in action.parameters[1:] if parameter.required) if action else ()
        return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params, element.id)


def _types(parameters: Iterable[Parameter]) -> str:
    """Return the types of parameters, behind a marker: ` (text:string, index:int?)`. A `?` marks an optional one."""
    types = ", ".join(map(str, parameters))
    return f" ({types})" if types else ""


def _window_anchor(action: Action) -> Anchor:
    """Return the anchor of an action of the whole window."""
    params = tuple(parameter.name for parameter in action.parameters)
    return Anchor(AnchorType.FORM if params else AnchorType.BUTTON, params)


def _sort_keys(value: Any) -> Any:
    """Copy plain data with sorted keys, so that equal data are rendered equally."""
    match value:
        case dict():
            return {key: _sort_keys(value[key]) for key in sorted(value, key=lambda key: (str(key), str(type(key))))}
        case list():
            return [_sort_keys(inner) for inner in value]
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


# ------------------------------------------------------------------ the versioned document


class Document:
    """The context of one app in one session.

    `change` and `switch` invalidate the content, `register` and `executed` the anchors, `record` the history.
    A context that was returned before never changes.
    """

    def __init__(
        self,
        builder: Builder,
        *,
        app_id: str,
        session_id: str,
        clock: Clock,
        value: object = None,
        lod: Lod = Lod.FULL,
        version: Version | None = None,
        rounds: int = ROUNDS,
    ) -> None:
        """`rounds`: the most in the history. `version`: the one with which an earlier run ended."""
        self._builder, self._clock, self._most_rounds = builder, clock, rounds
        self._app_id, self._session_id, self._value = app_id, session_id, value
        self._version, self._lod = version or Version(1, 0, 0), lod
        self._rounds: tuple[Round, ...] = ()
        self._registered: dict[str, Anchor] = {}  # by `register`
        self._at = self._now()
        self._content: tuple[Version, Content] | None = None
        self._context: Context | None = None

    @property
    def version(self) -> Version:
        """The version of what is shown. Only the methods that invalidate something change it."""
        return self._version

    @property
    def lod(self) -> Lod:
        """The level it is shown at."""
        return self._lod

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The history, the newest last."""
        return self._rounds

    @rounds.setter
    def rounds(self, rounds: tuple[Round, ...]) -> None:
        self._rounds, self._context = rounds[-self._most_rounds :] if self._most_rounds else (), None

    def context(self) -> Context:
        """Return what is shown now. It is the same object until something is invalidated."""
        if self._context is None:
            data, lod = self._inputs()
            built = self._builder.assemble(data, lod, self.content(), self.rounds or None)
            self._context = replace(built, anchors={**built.anchors, **self._registered}) if self._registered else built
        return self._context

    def content(self) -> Content:
        """Return page, text and anchors, which are rendered once for each version of data and level."""
        if self._content is None or not self._content[0].can_reuse_content(self.version):
            self._content = (self.version, self._builder.content(*self._inputs()))
        return self._content[1]

    def content_at(self, lod: Lod) -> Content:
        """Return what it would show at another level, without changing anything."""
        data, own = self._inputs()
        return self._builder.content(data, replace(own, lod=lod))

    def clean(self, text: str) -> str:
        return self._builder.clean(text)

    def _inputs(self) -> tuple[SourceData, LodState]:
        data = SourceData(self._app_id, self._session_id, self.version.major, self._at, self._value)
        return data, LodState(self.lod, self.version.minor, self.version.patch)

    # ------------------------------------------------------------------ invalidation

    def change(self, value: object = UNSET) -> None:
        """Tell that the data have changed: to this value, or inside the value."""
        self._value = self._value if value is UNSET else value
        self._move(self.version.after_change())

    def switch(self, lod: Lod) -> None:
        """Show it at this level from now on."""
        if lod is not self.lod:
            self._lod = lod
            self._move(self.version.after_switch())

    def rerender(self, builder: Builder) -> None:
        """Render the same data in another way from now on, for example in another language."""
        self._builder, self._content = builder, None
        self._move(self.version.after_rerender())

    def _move(self, version: Version) -> None:
        self._version, self._at, self._context, self._registered = version, self._now(), None, {}

    def record(self, round_: Round) -> None:
        self.rounds = (*self.rounds, round_)

    def executed(self) -> None:
        """Tell that a button or a form was used: what was registered is dropped."""
        self._registered, self._context = {}, None

    def register(self, key: str, anchor: Anchor) -> None:
        """Add an anchor until the next change. If the key is taken, nothing is added and a warning is logged.

        Raises:
            BadInput: a key that no marker could have.
        """
        target = anchor.target and self.clean(anchor.target)
        key, anchor = self.clean(key), Anchor(anchor.type, tuple(map(self.clean, anchor.params)), target)
        if not grammar.NAME.fullmatch(key):
            raise BadInput(f"anchor {key!r}: use letters, digits, '_', '-', '.' and ':'")
        if key in self.context().anchors:
            log_warning("%s", AnchorConflict(key))
            return
        self._registered[key], self._context = anchor, None

    # ------------------------------------------------------------------ checks

    def check(self, seen: Version) -> None:
        """Raise VersionMismatch if the data have changed since this version was seen."""
        if not seen.is_compatible_with(self.version):
            raise VersionMismatch(dotted(seen), dotted(self.version))

    def fit(self, limit: int, tokens: Callable[[Context], int]) -> Context:
        """Lower the level until the context fits, and return it. The lower level remains.

        History is dropped before content: the level is the highest that fits without history. Then the oldest rounds
        are dropped until the rest fits, too.

        Raises:
            ContextTooLarge: it does not fit at its lowest level without history.
        """
        while (needed := tokens(replace(self.context(), history=None))) > limit:
            if self.lod is Lod.GIST:
                raise ContextTooLarge(self._app_id, needed, limit)
            self.switch(Lod(self.lod - 1))
        while tokens(self.context()) > limit and self.rounds:
            self.rounds = self.rounds[1:]
        return self.context()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock() / 1000, UTC)


def dotted(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"
