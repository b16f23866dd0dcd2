"""A window: an open app in a session, with an id, a document and the text that the model sees."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Struct

from sightline.apps.actions import CLOSE, Action, actions_of
from sightline.apps.anchors import escaped
from sightline.apps.app import App, Options
from sightline.apps.calls import ACTION, action_tool, create_tool
from sightline.apps.context import Context, Round, Version
from sightline.apps.document import Builder, Content, Document
from sightline.apps.elements import Element, Page, walk, without_actions, xml, xml_attributes, xml_text
from sightline.apps.guard import attempt
from sightline.errors import BadInput, InvalidSourceData
from sightline.values.clock import Clock
from sightline.values.escape import escape
from sightline.values.items import Lod, Text, ToolDefinition
from sightline.values.phrases import say
from sightline.wire.common import text_part

if TYPE_CHECKING:
    from sightline.apps.window_log import WindowLog

# How windows are written for the model: ContextUI's XML, DocUI's Markdown with anchors, or the content alone. A window
# is paid for at every call, so in the last form its actions are told once, by the tool that does them.
Form = Literal["xml", "markdown", "brief"]

FORMS: tuple[Form, ...] = get_args(Form)


class WindowStyle(NamedTuple):
    """In which language windows are shown, and how they are written."""

    locale: str = "en"
    form: Form = "xml"


class SavedWindow(Struct, frozen=True):
    """A window as the log has it."""

    app: str
    target: str = ""
    options: Options | None = None
    state: Any = UNSET
    version: Version | None = None
    lod: Lod | None = None
    rounds: tuple[Round, ...] = ()
    log_offset: int = 0  # of its newest note in the log
    shared: bool = False  # its data are in a log of its own
    sent: Version | None = None  # the version that this session noted last, if others may have changed it since
    origin: str = ""  # the item of an earlier window, if these are still its data


class AppWindow:
    """A window of an app. `document` is what it shows; `logged_data` the app's data as the log has them."""

    def __init__(
        self,
        window_id: str,
        app: App,
        options: Options,
        style: WindowStyle,
        log: "WindowLog",
        *,
        session_id: str,
        clock: Clock,
        saved: SavedWindow | None,
    ) -> None:
        """Make a new window, or the one that was saved. `log` says what other writers have done with it since."""
        self.id, self.app, self.options, self._log = window_id, app, options, log
        self.actions = window_actions(type(app), options)
        self.own_lod = options.lod  # the level it returns to when it is acted on
        self.style = style
        self.document = Document(
            self._builder(),
            app_id=app.name,
            session_id=session_id,
            clock=clock,
            lod=saved.lod if saved is not None and saved.lod is not None else options.lod,
            version=saved.version if saved is not None else None,
        )
        self.logged_data, self.log_offset = b"", 0
        self.logged = (self.document.version, self.document.lod)  # in its newest note, which is at `log_offset`
        self.past_anchors: set[str] = set()  # every anchor it has offered
        self._rendered: tuple[Content, Lod, str] | None = None
        self._own_level: tuple[tuple[int, int, Lod], str] | None = None  # rendered at its own level, and of what
        if saved is not None:
            self.document.rounds, self.log_offset = saved.rounds, saved.log_offset
            self.logged_data = msgspec.json.encode(saved.state)
            self.logged = (saved.sent or self.document.version, self.document.lod)

    def show_as(self, style: WindowStyle, form: Literal["", "xml", "markdown"] | None = None) -> None:
        """Show it in this style; with a `form`, written that way whatever the style says, and "" as it says."""
        form = self.options.form if form is None else form
        if style != self.style or form != self.options.form:
            self.style, self.options = style, msgspec.structs.replace(self.options, form=form)
            self.document.rerender(self._builder())

    def _builder(self) -> Builder:
        redact = self.app.redact if type(self.app).redact is not App.redact else None
        return Builder(
            lambda _, lod: self._page(lod), self.actions, redact=redact, locale=self.style.locale, types=True
        )

    def _page(self, lod: Lod) -> Page:
        page = self.app.page(lod)
        for element in walk(page.elements):
            if unknown := [name for name in element.actions if name not in self.actions and has_actions(self.options)]:
                there = ", ".join(self.actions)
                raise InvalidSourceData(f"element {element.id!r} offers {unknown[0]!r}, no action; there are: {there}")
        return page

    def context(self) -> Context:
        """Return what it shows, as a value.

        Raises:
            VersionMismatch: another writer has changed or closed it since; the host has it as it is now.
        """
        self._log.check(self.id, self.log_offset, self.document.version)
        context = self.document.context()
        self.past_anchors.update(context.anchors)
        return context

    def render(self) -> str:
        """Return what the model sees, rendered again only after a change. Raises VersionMismatch like `context`."""
        self.context()
        content = self.document.content()
        if self._rendered is None or self._rendered[0] is not content or self._rendered[1] is not self.own_lod:
            self._rendered = (content, self.own_lod, self._render(content, self.document.lod))
        return self._rendered[2]

    def render_own_level(self) -> str:
        """Return what it would show at its own level, without changing anything."""
        version = self.document.version
        key = (version.major, version.patch, self.own_lod)
        if self._own_level is None or self._own_level[0] != key:
            self._own_level = (key, self._render(self.document.content_at(self.own_lod), self.own_lod))
        return self._own_level[1]

    def render_whole(self, *, is_open: bool) -> str:
        """Return all that it shows, or showed when it was closed, without actions: no copy of it is acted on."""
        content = self.document.content_at(Lod.FULL)
        more = {} if is_open else {"closed": "true"}
        elements = tuple(without_actions(content.page.elements))
        return window_xml(self.id, self._about(), elements, (), locale=self.style.locale, more=more)

    def _about(self) -> str:
        return self.document.clean(attempt(lambda: self.app.describe(self.style.locale)) or self.app.name)

    def _render(self, content: Content, lod: Lod) -> str:
        forms = {"xml": self._xml, "markdown": self._markdown, "brief": self._brief}
        render = forms[self.options.form or self.style.form]
        if self.options.plain:
            render = _plain
        text = attempt(lambda: render(content, lod), f"{self.id} cannot be drawn")  # elements nested too deeply, say
        return text or UnavailableWindow(self.id, say("app fails", self.style.locale)).render()

    def _xml(self, content: Content, lod: Lod) -> str:
        elements, actions = content.page.elements, self.actions.values()
        if self.options.compact:  # in one line: its texts, without actions
            start = xml_attributes({"id": self.id, "compact": "true"})
            return f"<Window{start}>{xml_text(_one_line(elements))}</Window>"
        if lod is Lod.GIST:
            return _gist_xml(self.id, elements, actions)
        more = {"lod": lod.name.lower()} if lod is not self.own_lod else {}
        return window_xml(self.id, self._about(), elements, actions, locale=self.style.locale, more=more)

    def _brief(self, content: Content, lod: Lod) -> str:
        more = {"lod": lod.name.lower()} if lod is not self.own_lod else {}
        lines = [line for element in content.page.elements for line in xml(element, "", actions=False)]
        return "\n".join([f"<Window{xml_attributes({'id': self.id, **more})}>", *lines, "</Window>"])

    def _markdown(self, content: Content, _: Lod) -> str:
        begin, end = (say(key, self.style.locale, id=self.id) for key in ("window", "window end"))
        if self.options.compact:
            return f"{begin} {escaped(_one_line(content.page.elements))}"
        return f"{begin}\n{escape(content.text)}\n{end}"


class UnavailableWindow(Struct, frozen=True):
    """A window whose app is not registered, or cannot read its saved data. It shows the reason and can be closed."""

    id: str
    why: str
    log_offset: int = 0
    locale: str = "en"

    def render(self) -> str:
        return window_xml(self.id, self.why, (), (CLOSE,), locale=self.locale)


# ------------------------------------------------------------------ ContextUI's XML


def window_xml(
    window_id: str,
    about: str,
    elements: Iterable[Element],
    actions: Iterable[Action],
    *,
    locale: str = "en",
    more: Mapping[str, str] | None = None,
) -> str:
    """Return a window as XML: its purpose, content and actions. It is well-formed whatever the texts hold."""
    start = xml_attributes({"id": window_id, **(more or {})})
    lines = [f"<Window{start}>", f"  <Description>{xml_text(about)}</Description>"]
    inside = [line for element in elements for line in xml(element, "    ")]
    lines += ["  <Content>", *inside, "  </Content>"] if inside else ["  <Content></Content>"]
    offers = []
    for action in actions:
        attributes = {"id": action.id, **({"params": action.params} if action.params else {})}
        offers.append(f"    <action{xml_attributes(attributes)}>{xml_text(action.label_in(locale))}</action>")
    lines += ["  <Actions>", *offers, "  </Actions>"] if offers else []
    return "\n".join([*lines, "</Window>"])


def _gist_xml(window_id: str, elements: Iterable[Element], actions: Iterable[Action]) -> str:
    """Return a window at GIST: its content, and how its actions are called, but not what each is for."""
    lines = [line for element in elements for line in xml(element, "  ")]
    if calls := xml_text(", ".join(map(usage, actions))):
        lines.append(f"  <Actions>{calls}</Actions>")
    return "\n".join([f"<Window{xml_attributes({'id': window_id, 'lod': 'gist'})}>", *lines, "</Window>"])


def _plain(content: Content, _: Lod) -> str:
    return "\n".join(element.text for element in walk(content.page.elements))


def _one_line(elements: Iterable[Element]) -> str:
    return " ".join(word for element in walk(elements) for word in element.text.split())


def usage(action: Action) -> str:
    """Return how an action is called: `add(text:string)`."""
    return f"{action.id}({action.params})"


def window_tools(apps: Iterable[type[App]], style: WindowStyle) -> tuple[ToolDefinition, ...]:
    """Return the tools by which a model opens these apps, and acts on windows that are shown in this style."""
    apps, locale = list(apps), style.locale
    create = create_tool({app.name: app.describe(locale) for app in apps})
    if style.form != "brief":
        return create, ACTION
    actions = {app.name: window_actions(app, app.options).values() for app in apps}
    told = {
        app: "; ".join(f"{usage(action)} {action.label_in(locale)}" for action in own) for app, own in actions.items()
    }
    return create, action_tool(told)


def check_id(window_id: str) -> str:
    """Return a window's id. Raises BadInput if it is no valid text."""
    if not isinstance(window_id, str) or not isinstance(text_part(window_id), Text):
        raise BadInput(f"a window's id is valid text, not {window_id!r}")
    return window_id


_RESERVED = frozenset(name for name in vars(App) if not name.startswith("_")) | {"host"}


def window_actions(app: type[App], options: Options) -> dict[str, Action]:
    closing = {CLOSE.id: CLOSE} if options.closable else {}
    return actions_of(app, _RESERVED) | closing if has_actions(options) else {}


def has_actions(options: Options) -> bool:
    """Return whether a window with these options offers actions."""
    return not (options.compact or options.plain)
