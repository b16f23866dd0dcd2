"""The base class of apps."""

from collections.abc import Iterable, Mapping
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from sightline.apps.elements import Element, Page
from sightline.errors import BadInput, InvalidSourceData
from sightline.values.decoders import convert
from sightline.values.items import Lod
from sightline.values.pattern import pattern

if TYPE_CHECKING:
    from sightline.apps.host import Host

_NAME = pattern(r"[a-z][a-z0-9_]*")


class Options(Struct, frozen=True, omit_defaults=True):
    """How a window behaves.

    closable: the model may close it. compact: one line, no actions. append: a change moves it to the end of the
    conversation, in layouts that show windows at their place in it. important: when the windows' token budget is short,
    it is shown at a lower level after the others. pinned: never shown at a lower level. lod: the level it is opened at.
    plain: its texts alone, a line each, without actions, as a system message: for what only the program itself writes.
    form: how it is written, "xml" or "markdown"; empty: as the session's settings say. out: it is open and only named.
    held: its level was set by the program or the user, and the model cannot change it. asked: the model set it.
    """

    closable: bool = True
    compact: bool = False
    append: bool = False
    important: bool = True
    pinned: bool = False
    lod: Lod = Lod.FULL
    plain: bool = False
    form: Literal["", "xml", "markdown"] = ""
    out: bool = False
    held: bool = False
    asked: bool = False


class App:
    """Something that a model sees as a window and acts on.

    A subclass has a `name`, a docstring that says what it is for, methods marked with `@action`, and `view`. Its public
    attributes are its data: they are saved after every action and restored when the session is resumed.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""  # the heading of its page; without one, its name
    zh: ClassVar[str] = ""  # what it is for, in Chinese
    single: ClassVar[bool] = False  # at most one window, whose id is the app's name
    options: ClassVar[Options] = Options()
    shareable: ClassVar[bool] = False  # all sessions of a project may share one window of it: its data are all it needs

    # Of its host an app uses: project, folders, clock, locale, events, apps, all, open, call, changed.
    host: "Host"
    target: str = ""  # what it was opened for, such as a file

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.name and not _NAME.fullmatch(cls.name):
            raise BadInput(f"app name {cls.name!r}: use small letters, digits and '_', beginning with a letter")

    # ------------------------------------------------------------------ methods to override

    def view(self, lod: Lod) -> Page | Iterable[Element]:
        """Return what it shows at this level. It reads only the app's data: no clock, no file, nothing random."""
        raise NotImplementedError

    def opened(self) -> None:
        """Called once, before it is first shown; `target` says what for. Raise Refused if it cannot be opened."""

    def refresh(self) -> bool:
        """Read what changed outside, before each model call. Return whether anything did. Cheap if nothing did."""
        return False

    def closed(self) -> None:
        """Called when its window is closed."""

    def redact(self, text: str) -> str:
        """Remove from a text what the model must not see. Every text passes through here before it is shown."""
        return text

    def save(self) -> Any:
        """Return the app's data as JSON values."""
        return msgspec.to_builtins({name: value for name, value in vars(self).items() if is_data(name)})

    def restore(self, state: Any) -> None:
        """Set the data that `save` returned, converted to the types that the class declares for them."""
        if not isinstance(state, Mapping):
            raise InvalidSourceData(f"{self.name}: what was saved is no object but {state!r}")
        declaring = [kind for kind in reversed(type(self).__mro__) if kind not in (object, App)]
        hints = {name: hint for kind in declaring for name, hint in get_annotations(kind, eval_str=True).items()}
        for name, value in state.items():
            setattr(self, name, convert(value, hints[name]) if name in hints else value)

    def says(self, en: str, zh: str) -> str:
        """Return the text in the session's language."""
        return zh if self.host.locale == "zh" else en

    # ------------------------------------------------------------------ called by the host

    def page(self, lod: Lod) -> Page:
        """Return what `view` shows at this level, as a page."""
        view = self.view(lod)
        page = view if isinstance(view, Page) else Page(self.title or self.name, tuple(view or ()))
        page = msgspec.structs.replace(page, elements=tuple(page.elements))
        if wrong := [element for element in page.elements if not isinstance(element, Element)]:
            raise InvalidSourceData(f"view() of {self.name} gives a Page or Elements; this is none: {wrong[0]!r}")
        return page

    @classmethod
    def describe(cls, locale: str = "en") -> str:
        """Return what it is for: the first paragraph of its docstring, or `zh`."""
        own = cls.zh if locale == "zh" else ""
        return own or " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


def is_data(name: str) -> bool:
    """Return whether an attribute of this name belongs to an app's data, which are saved."""
    return not name.startswith("_") and name not in ("host", "target")
