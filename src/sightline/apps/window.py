"""An open app in a session: one id, one document, and how the model sees it."""

from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Struct

from sightline.apps.actions import CLOSE, Action, actions_of
from sightline.apps.app import App, Options
from sightline.apps.builder import Builder, Content
from sightline.apps.context import Context, Round, Version
from sightline.apps.document import Document
from sightline.apps.elements import every, xml, xml_attributes, xml_text
from sightline.clock import Clock
from sightline.items import Lod
from sightline.wording import say

Form = Literal["xml", "markdown"]
"""How windows are written for the model: ContextUI's XML, or DocUI's Markdown with anchors."""

FORMS: tuple[Form, ...] = get_args(Form)


class Look(NamedTuple):
    """In which language windows are shown, and how they are written."""

    locale: str = "en"
    form: Form = "xml"


class Outcome(Struct, frozen=True, omit_defaults=True):
    """What came of opening, acting on or closing a window. An app's action may return one.

    reason: empty where it went well, else one of unknown app, unknown window, unknown action, stale, out of view,
    reference, bad parameters, not closable, failed. ways: what could be done instead.
    """

    success: bool
    message: str = ""
    reason: str = ""
    window: str = ""
    summary: str = ""
    closes: bool = False
    data: Any = None
    ways: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message if not self.ways else f"{self.message}\n→ {', '.join(self.ways)}"


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
        self._drawn: tuple[Content, str] | None = None
        if kept is not None:
            self.document.rounds, self.place = kept.rounds, kept.place
            self.saved = msgspec.json.encode(kept.state)
            self.noted = (self.document.version, self.document.lod)

    def show_as(self, look: Look) -> None:
        """Show it like this from now on."""
        if look != self.look:
            self.look = look
            self.document.rerender(self._builder())

    def _builder(self) -> Builder:
        app = self.app
        redact = app.redact if type(app).redact is not App.redact else None
        return Builder(lambda _, lod: app.page(lod), self.actions, redact=redact, locale=self.look.locale)

    def context(self) -> Context:
        """What it shows now, as a value."""
        context = self.document.context()
        self.past.update(context.anchors)
        return context

    def render(self) -> str:
        """What the model sees. Made again only after something changed."""
        self.context()
        content = self.document.content()
        if self._drawn is None or self._drawn[0] is not content:
            draw = self._xml if self.look.form == "xml" else self._markdown
            self._drawn = (content, draw(content))
        return self._drawn[1]

    def _xml(self, content: Content) -> str:
        if self.options.compact:
            said = " ".join(element.text for element in every(content.page.elements) if element.text)
            return f"<Window{xml_attributes({'id': self.id, 'compact': 'true'})}>{xml_text(said)}</Window>"
        lod = {"lod": self.document.lod.name.lower()} if self.document.lod is not self.own_lod else {}
        lines = [f"<Window{xml_attributes({'id': self.id, **lod})}>"]
        lines.append(f"  <Description>{xml_text(self.app.redact(self.app.describe(self.look.locale)))}</Description>")
        inside = [line for element in content.page.elements for line in xml(element, "    ")]
        lines += ["  <Content>", *inside, "  </Content>"] if inside else ["  <Content></Content>"]
        if self.actions:
            lines += ["  <Actions>", *map(self._xml_action, self.actions.values()), "  </Actions>"]
        return "\n".join([*lines, "</Window>"])

    def _xml_action(self, action: Action) -> str:
        attributes = {"id": action.id, **({"params": action.params} if action.params else {})}
        return f"    <action{xml_attributes(attributes)}>{xml_text(action.said(self.look.locale))}</action>"

    def _markdown(self, content: Content) -> str:
        begin, end = (say(key, self.look.locale, id=self.id) for key in ("window", "window end"))
        return f"{begin}\n{content.text}\n{end}"


class Gone(Struct, frozen=True):
    """A window that cannot be shown: its app is not there, or cannot read what it saved. Shown as such."""

    id: str
    why: str
    place: int = 0

    def render(self) -> str:
        """What the model sees."""
        attributes = xml_attributes({"id": self.id})
        return f"<Window{attributes}>\n  <Description>{xml_text(self.why)}</Description>\n</Window>"


def offered(app: type[App], options: Options) -> dict[str, Action]:
    """What can be done in a window of this app."""
    if options.compact:
        return {}
    return {**actions_of(app), **({CLOSE.id: CLOSE} if options.closable else {})}
