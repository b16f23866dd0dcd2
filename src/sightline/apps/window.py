"""An open app in a session: one id, one document, and how the model sees it."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Struct

from sightline.apps.actions import CLOSE, Action, actions_of
from sightline.apps.anchors import escaped
from sightline.apps.app import App, Options
from sightline.apps.builder import Builder, Content
from sightline.apps.context import Context, Round, Version
from sightline.apps.document import Document
from sightline.apps.elements import Element, Page, every, xml, xml_attributes, xml_text
from sightline.apps.guard import quietly
from sightline.errors import InvalidSourceData
from sightline.values.clock import Clock
from sightline.values.items import Lod
from sightline.values.phrases import say

Form = Literal["xml", "markdown"]
"""How windows are written for the model: ContextUI's XML, or DocUI's Markdown with anchors."""

FORMS: tuple[Form, ...] = get_args(Form)


class Look(NamedTuple):
    """In which language windows are shown, and how they are written."""

    locale: str = "en"
    form: Form = "xml"


class Kept(Struct, frozen=True):
    """A window as the log has it."""

    app: str
    target: str = ""
    options: Options | None = None
    state: Any = UNSET
    version: Version | None = None
    lod: Lod | None = None
    rounds: tuple[Round, ...] = ()
    place: int = 0  # where in the log its last note stands


class AppWindow:
    """A window of an app. `document` is what it shows; `saved` what the log knows of the app's data."""

    def __init__(
        self,
        window_id: str,
        app: App,
        options: Options,
        look: Look,
        *,
        session_id: str,
        clock: Clock,
        kept: Kept | None,
    ) -> None:
        """New, or as it was kept."""
        self.id, self.app, self.options = window_id, app, options
        self.actions = offered(type(app), options)
        self.own_lod = options.lod  # the level it goes back to when it is acted on
        self.look = look
        self.document = Document(
            self._builder(),
            app_id=app.name,
            session_id=session_id,
            clock=clock,
            lod=kept.lod if kept is not None and kept.lod is not None else options.lod,
            version=kept.version if kept is not None else None,
        )
        self.saved = b""
        self.noted: tuple[Version, Lod] | None = None  # what the log last said of it
        self.place = 0  # where the log said it
        self.past: set[str] = set()  # anchors it has offered
        self._drawn: tuple[Content, Lod, str] | None = None
        self._whole: tuple[tuple[int, int, Lod], str] | None = None  # drawn at its own level, and of what
        if kept is not None:
            self.document.rounds, self.place = kept.rounds, kept.place
            self.saved = msgspec.json.encode(kept.state)
            self.noted = (self.document.version, self.document.lod)

    def show_as(self, look: Look) -> None:
        """Show it like this from now on."""
        if look != self.look:
            self.look = look
            self.document.rerender(self._builder())

    @property
    def noted_lod(self) -> Lod:
        """The level that the log last said it is shown at."""
        return self.noted[1] if self.noted is not None else self.document.lod

    def shows_more_than_noted(self) -> bool:
        """Whether it shows something new since the log last said so; switching to and fro is nothing new."""
        now = self.document.version
        if self.noted is None:
            return True
        return (self.noted[0].major, self.noted[0].patch, self.noted[1]) != (now.major, now.patch, self.document.lod)

    def _builder(self) -> Builder:
        app = self.app
        redact = app.redact if type(app).redact is not App.redact else None
        return Builder(lambda _, lod: self._page(lod), self.actions, redact=redact, locale=self.look.locale)

    def _page(self, lod: Lod) -> Page:
        page = self.app.page(lod)
        for element in every(page.elements):
            if unknown := [name for name in element.actions if name not in self.actions and not self.options.compact]:
                there = ", ".join(self.actions)
                raise InvalidSourceData(f"element {element.id!r} offers {unknown[0]!r}, no action; there are: {there}")
        return page

    def context(self) -> Context:
        """What it shows now, as a value."""
        context = self.document.context()
        self.past.update(context.anchors)
        return context

    def render(self) -> str:
        """What the model sees. Made again only after something changed."""
        self.context()
        content = self.document.content()
        if self._drawn is None or self._drawn[0] is not content or self._drawn[1] is not self.own_lod:
            self._drawn = (content, self.own_lod, self._draw(content, self.document.lod))
        return self._drawn[2]

    def whole(self) -> str:
        """What it would show at its own level. Nothing changes by that."""
        version = self.document.version
        of = (version.major, version.patch, self.own_lod)
        if self._whole is None or self._whole[0] != of:
            self._whole = (of, self._draw(self.document.content_at(self.own_lod), self.own_lod))
        return self._whole[1]

    def _draw(self, content: Content, lod: Lod) -> str:
        draw = self._xml if self.look.form == "xml" else self._markdown
        drawn = quietly(lambda: draw(content, lod), f"{self.id} cannot be drawn")  # elements nested without end, say
        return drawn or Gone(self.id, say("app fails", self.look.locale)).render()

    def about(self) -> str:
        """What the app is for, as it may be shown."""
        return self.document.clean(quietly(lambda: self.app.describe(self.look.locale)) or self.app.name)

    def _xml(self, content: Content, lod: Lod) -> str:
        if self.options.compact:
            return compact_xml(self.id, content.page.elements)
        actions = self.actions.values()
        if lod is Lod.GIST:
            return gist_xml(self.id, content.page.elements, actions)
        more = {"lod": lod.name.lower()} if lod is not self.own_lod else {}
        return window_xml(self.id, self.about(), content.page.elements, actions, locale=self.look.locale, more=more)

    def _markdown(self, content: Content, _: Lod) -> str:
        begin, end = (say(key, self.look.locale, id=self.id) for key in ("window", "window end"))
        if self.options.compact:
            return f"{begin} {escaped(one_line(content.page.elements))}"
        return f"{begin}\n{content.text}\n{end}"


class Gone(Struct, frozen=True):
    """A window that cannot be shown: its app is not there, or cannot read what it saved. Shown as such."""

    id: str
    why: str
    place: int = 0
    locale: str = "en"

    def render(self) -> str:
        """What the model sees."""
        return window_xml(self.id, self.why, (), (CLOSE,), locale=self.locale)


# ---------------------------------------------------------------------- ContextUI's XML


def window_xml(
    window_id: str,
    about: str,
    elements: Iterable[Element],
    actions: Iterable[Action],
    *,
    locale: str = "en",
    more: Mapping[str, str] | None = None,
    meta: Iterable[Element] = (),
) -> str:
    """A window: what it is for, what it shows, what can be done. Well-formed, whatever the texts say."""
    lines = [f"<Window{xml_attributes({'id': window_id, **(more or {})})}>"]
    lines += [line for element in meta for line in xml(element, "  ")]
    lines.append(f"  <Description>{xml_text(about)}</Description>")
    inside = [line for element in elements for line in xml(element, "    ")]
    lines += ["  <Content>", *inside, "  </Content>"] if inside else ["  <Content></Content>"]
    if offers := [_xml_action(action, locale) for action in actions]:
        lines += ["  <Actions>", *offers, "  </Actions>"]
    return "\n".join([*lines, "</Window>"])


def gist_xml(window_id: str, elements: Iterable[Element], actions: Iterable[Action]) -> str:
    """A window in a few words: what it shows at this level, and how its actions are called, not what each is for."""
    inside = [line for element in elements for line in xml(element, "  ")]
    calls = xml_text(", ".join(map(usage, actions)))
    offers = [f"  <Actions>{calls}</Actions>"] if calls else []
    return "\n".join([f"<Window{xml_attributes({'id': window_id, 'lod': 'gist'})}>", *inside, *offers, "</Window>"])


def compact_xml(window_id: str, elements: Iterable[Element]) -> str:
    """A window in one line: its texts, and nothing to be done."""
    return f"<Window{xml_attributes({'id': window_id, 'compact': 'true'})}>{xml_text(one_line(elements))}</Window>"


def one_line(elements: Iterable[Element]) -> str:
    """The texts of elements, in one line."""
    return " ".join(word for element in every(elements) for word in element.text.split())


def _xml_action(action: Action, locale: str) -> str:
    attributes = {"id": action.id, **({"params": action.params} if action.params else {})}
    return f"    <action{xml_attributes(attributes)}>{xml_text(action.said(locale))}</action>"


def usage(action: Action) -> str:
    """How an action is called."""
    return f"{action.id}({action.params})"


_RESERVED = frozenset(name for name in vars(App) if not name.startswith("_")) | {"host"}


def offered(app: type[App], options: Options) -> dict[str, Action]:
    """What can be done in a window of this app."""
    if options.compact:
        return {}
    return {**actions_of(app, _RESERVED), **({CLOSE.id: CLOSE} if options.closable else {})}
