"""What an app's author writes: a class with a few methods."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline.apps.elements import Element, Page
from sightline.apps.events import Event, Events
from sightline.apps.outcome import Outcome
from sightline.errors import BadInput, InvalidSourceData
from sightline.files.folders import Folders
from sightline.values.clock import Clock
from sightline.values.items import Call, Lod

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Options(Struct, frozen=True, omit_defaults=True):
    """How a window behaves.

    closable: the model may close it. compact: one line, no actions. append: a change moves it to the end of the
    conversation, where windows stand in their place. important: when room is short, shown at a lower level after the
    others. pinned: never at a lower level. lod: the level it is opened at.
    """

    closable: bool = True
    compact: bool = False
    append: bool = False
    important: bool = True
    pinned: bool = False
    lod: Lod = Lod.FULL


class App:
    """Something that a model sees as a window and acts on.

    A subclass has a `name`, a docstring that says what it is for, methods marked with `@action`, and `view`. Its public
    attributes are its source data: they are saved after every action and restored when the session is resumed.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""  # the heading of what it shows; without one, its name
    zh: ClassVar[str] = ""  # what it is for, in Chinese
    single: ClassVar[bool] = False  # one window at most, whose id is the app's name
    options: ClassVar[Options] = Options()

    host: "Hosting"  # who opened it
    target: str = ""  # what it was opened for, as whoever opened it said

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.name and not _NAME.fullmatch(cls.name):
            raise BadInput(f"app name {cls.name!r}: use small letters, digits and '_', beginning with a letter")

    # ------------------------------------------------------------------ what a subclass may say

    def view(self, lod: Lod) -> Page | Iterable[Element]:
        """What it shows at this level. Reads its own data and nothing else: no clock, no file, no chance."""
        raise NotImplementedError

    def opened(self) -> None:
        """Called once, before it is first shown; `target` says what for. Raise Refused to stay closed."""

    def refresh(self) -> bool:
        """Take in what changed outside, before it is shown. Whether anything did; keep it cheap where nothing did."""
        return False

    def closed(self) -> None:
        """Called when its window is closed."""

    def redact(self, text: str) -> str:
        """Every text passes through here before it is shown anywhere: take out what the model must not see."""
        return text

    def save(self) -> Any:
        """The source data, as JSON values."""
        return msgspec.to_builtins({name: value for name, value in vars(self).items() if is_data(name)})

    def restore(self, state: Any) -> None:
        """The inverse of `save`. Values are converted to the types that the class declares for them."""
        if not isinstance(state, Mapping):
            raise InvalidSourceData(f"{self.name}: what was saved is no object but {state!r}")
        hints = _declared(type(self))
        for name, value in state.items():
            setattr(self, name, msgspec.convert(value, hints[name]) if name in hints else value)

    def says(self, en: str, zh: str) -> str:
        """The one of two texts that is in the session's language."""
        return zh if self.host.locale == "zh" else en

    # ------------------------------------------------------------------ what the framework asks

    def page(self, lod: Lod) -> Page:
        """What it shows at this level, whole."""
        shown = self.view(lod)
        page = shown if isinstance(shown, Page) else Page(self.title or self.name, tuple(shown or ()))
        page = replace(page, elements=tuple(page.elements))
        if wrong := [each for each in page.elements if not isinstance(each, Element)]:
            raise InvalidSourceData(f"view() of {self.name} gives a Page or Elements; this is none: {wrong[0]!r}")
        return page

    @classmethod
    def describe(cls, locale: str = "en") -> str:
        """What it is for: the first paragraph of its docstring, or its Chinese twin."""
        if locale == "zh" and cls.zh:
            return cls.zh
        return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


class Opened(Protocol):
    """A window of an app."""

    id: str
    app: App


class Hosting(Protocol):
    """What an app may ask of whoever opened it."""

    project: Path
    folders: Folders  # of the project, in which an app may look
    clock: Clock
    events: Events[Event]

    @property
    def locale(self) -> str:
        """The session's language."""
        ...

    @property
    def apps(self) -> Mapping[str, type[App]]:
        """The apps that can be opened."""
        ...

    def all(self) -> Sequence[Opened]:
        """The windows that are open."""
        ...

    def open(self, name: str, target: str = "") -> str:
        """Open an app. Raises UnknownApp, Refused."""
        ...

    def call(self, call: Call) -> Outcome:
        """Do what the model would do by this call. Nothing is raised."""
        ...

    def changed(self, app: App) -> bool:
        """Say that an app's data have changed by themselves: what it shows and the log follow. Whether it is shown."""
        ...


def _declared(app: type[App]) -> dict[str, Any]:
    """The types that a subclass declares for its attributes."""
    kinds = [kind for kind in reversed(app.__mro__) if kind not in (object, App)]
    return {name: hint for kind in kinds for name, hint in inspect.get_annotations(kind, eval_str=True).items()}


def is_data(name: str) -> bool:
    """Whether an attribute of this name belongs to an app's data: what is saved."""
    return not name.startswith("_") and name not in ("host", "target")
