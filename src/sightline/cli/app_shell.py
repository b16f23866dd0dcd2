"""An app as a person uses it: what a typed line means, what it does, and what is seen then."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.cells import cell_len

from sightline.apps import anchors, registry
from sightline.apps.actions import Parameter, actions_of, nearest
from sightline.apps.app import App
from sightline.apps.context import AnchorType, to_json
from sightline.apps.outcome import Outcome
from sightline.apps.resolve import UnavailableAction, resolve_action
from sightline.apps.window import FORMS as SENT_AS
from sightline.apps.window import AppWindow
from sightline.cli.phrases import Words
from sightline.errors import BadInput, SightlineError
from sightline.files.folders import configured
from sightline.log.stores.memory import MemoryStore
from sightline.session.session import Session
from sightline.values.items import Lod
from sightline.values.settings import Settings

LEVELS = tuple(lod.name.lower() for lod in Lod)
FORMS = (*SENT_AS, "json")
_NAME = re.compile(r"([^\W\d]\w*)=")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')(?=\s|$)""", re.DOTALL)
_BARE = re.compile(r"(?:[^\s\\]|\\.|\\$)*", re.DOTALL)
_SPACE = re.compile(r"\s*")
_ESCAPES = {"n": "\n", "t": "\t"}  # in double quotes: texts of several lines must be typed on one
_BUTTONS = 24  # listed by `help`; the view shows them all


# ---------------------------------------------------------------------- what a line means


class Word(NamedTuple):
    """One word of a line; `name` where it is written `name=text`."""

    text: str
    name: str = ""


class Line(NamedTuple):
    """What was typed: an action, a button's key or a marker as it is shown, and what stands behind it."""

    head: str
    words: tuple[Word, ...] = ()


class BadLine(BadInput):
    """A line that cannot be read: a quote without its partner."""

    def __init__(self, quote: str, column: int) -> None:
        self.quote, self.column = quote, column
        super().__init__(f"the {quote} at column {column} has no partner before a space")


def parsed(line: str) -> Line:
    r"""The line in words. A quote opens at the beginning of a word or after `name=` only: `don't` is a word.

    Backslash takes the next character as it is; in double quotes `\n` and `\t` are a line break and a tab; in single
    quotes everything is as it is. Raises BadLine.
    """
    if marker := _marker(line):
        return Line(marker.strip(), tuple(_words(line, len(marker))))
    first, *rest = [*_words(line, 0), Word("")]
    return Line(f"{first.name}={first.text}" if first.name else first.text, tuple(rest[:-1]))


def _marker(line: str) -> str:
    """The marker that the line begins with, `[button:toggle-1]`, or nothing."""
    ends = (found.end() for found in re.finditer(r"\](?=\s|$)", line)) if line.lstrip().startswith("[") else ()
    return next((line[:end] for end in ends if anchors.read(line[:end]) is not None), "")


def _words(line: str, at: int) -> Iterator[Word]:
    while (at := _skipped(_SPACE, line, at)) < len(line):
        named = _NAME.match(line, at)
        at = named.end() if named else at
        end, text = _value(line, at)
        yield Word(text, named[1] if named else "")
        at = end


def _value(line: str, at: int) -> tuple[int, str]:
    """Where the word that begins here ends, and what it says."""
    if line[at : at + 1] not in ('"', "'"):
        end = _skipped(_BARE, line, at)
        return end, re.sub(r"\\(.)", r"\1", line[at:end], flags=re.DOTALL)
    quoted = _QUOTED.match(line, at)
    if quoted is None:
        raise BadLine(line[at], at + 1)
    if quoted[1] is None:
        return quoted.end(), quoted[2]
    return quoted.end(), re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[1], flags=re.DOTALL)


def _skipped(pattern: re.Pattern[str], line: str, at: int) -> int:
    found = pattern.match(line, at)
    return found.end() if found else at


def arguments(parameters: Sequence[Parameter], words: Sequence[Word]) -> dict[str, str]:
    """Words by parameter: named ones as named, the others in order, the last parameter taking all that are left.

    Raises:
        BadInput: words for which there is no parameter.
    """
    named = {word.name: word.text for word in words if word.name}
    free = [each.name for each in parameters if each.name not in named]
    said = [word.text for word in words if not word.name]
    if said and not free:
        raise BadInput(" ".join(said))
    if len(said) > len(free):
        said[len(free) - 1 :] = [" ".join(said[len(free) - 1 :])]
    return named | dict(zip(free, said, strict=False))


# ---------------------------------------------------------------------- opening one


def loaded(name: str) -> type[App]:
    """The app of this name, or in this Python file, its actions known to be sound.

    Raises:
        BadInput: there is none, or it cannot be loaded.
    """
    if name.endswith(".py"):
        return _in_file(Path(name))
    known = registry.names()
    if name not in known:
        likely = ", ".join(nearest(name, known))
        raise BadInput(f"no app {name!r}; is it one of {likely}? `sightline apps` lists those there are")
    try:
        kind = registry.app(name)
        actions_of(kind)
    except SightlineError:
        raise
    except Exception as error:  # whatever a package does when it is imported; ours may lack an optional one
        raise BadInput(f"app {name!r} cannot be loaded: {error!r}") from error
    return kind


def _in_file(path: Path) -> type[App]:
    """The app that a file defines; of several, the last. Raises BadInput."""
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BadInput(f"no file {str(path)!r}")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # type hints are looked up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the file does when it is run
        raise BadInput(f"{path} cannot be loaded: {error!r}") from error
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, App) and each.name]
    own = [each for each in found if each.__module__ == path.stem]
    if not own:
        raise BadInput(f"{path} defines no app: a subclass of sightline.apps.App with a name")
    actions_of(own[-1])
    return own[-1]


def session_with(name: str, project: str, locale: str, form: str) -> Session:
    """A session in memory in which this app, and every other that can be loaded, may be opened. Raises BadInput.

    Its apps show what they would show a model of this project, and nothing that lies outside.
    """
    settings = Settings(locale=locale, windows=form if form in SENT_AS else SENT_AS[0])
    folders = configured(Path(project))
    session = Session(MemoryStore(), settings=settings, apps=[loaded(name)], project=project, folders=folders)
    for other in (each for each in registry.names() if each not in session.windows.apps):
        with suppress(SightlineError):  # `sightline apps` says why; this one can be used without it
            session.windows.register(loaded(other))
    return session


def open_window(session: Session, name: str, target: str, level: str | None) -> str:
    """Open it there, at its own level or this one. Raises Refused or BadInput where it does not open."""
    name = next(iter(session.windows.apps)) if name.endswith(".py") else name
    options: dict[str, Any] = {"lod": Lod[level.upper()]} if level else {}
    try:
        return session.windows.open(name, target, **options)
    except SightlineError:
        raise
    except Exception as error:  # an app's own mistake
        raise BadInput(f"app {name!r} does not open: {error!r}") from error


# ---------------------------------------------------------------------- using it


class View(NamedTuple):
    """What a window shows now. `text` is what a model is sent, to the byte; as JSON, the context on the wire."""

    window: str
    level: str
    form: str
    text: str
    tokens: int
    context: Any


class Answer(NamedTuple):
    """What came of a line. `acted`: it was an app that answered; `moved`: something else is looked at now."""

    outcome: Outcome
    acted: bool = False
    moved: bool = False
    note: str = ""


class Desk:
    """The windows of a session, and the one that a person is at. `window` is empty once all are closed."""

    def __init__(self, session: Session, window: str, form: str, words: Words) -> None:
        self.session, self.window, self.form, self.words = session, window, form, words
        self.over = False
        self.commands: dict[str, Callable[[str], Answer]] = {
            "level": self._level,
            "as": self._as,
            "windows": self._list,
            "window": self._go,
            "help": self._help,
            "quit": self._quit,
            "exit": self._quit,
        }

    def view(self) -> View | None:
        """What the window shows now, found as composing finds it; None where none is open."""
        session = self.session
        shown = session.windows.shown(sys.maxsize, lambda _, text: session.count(text))
        window = session.windows.window(self.window)
        if window is None:
            return None
        context = to_json(window.context())
        text = msgspec.json.format(context, indent=2).decode() if self.form == "json" else shown[window.id]
        level = window.document.lod.name.lower()
        return View(window.id, level, self.form, text, session.count(text), msgspec.json.decode(context))

    def do(self, line: str) -> Answer:
        """Do what the line says. Nothing is raised: what cannot be done is said, with what can."""
        try:
            said = parsed(line)
        except BadLine as bad:
            return self._failed("bad quote", quote=bad.quote, column=bad.column)
        if not said.head:
            return Answer(Outcome(True), moved=True)
        if not self.window:
            return self._failed("no window left")
        if said.head in self.commands:
            return self.commands[said.head](" ".join(word.text for word in said.words))
        return self._act(said)

    def _act(self, said: Line) -> Answer:
        before = self._ids()
        left = self._left(said.head)
        try:
            params = arguments(left, said.words) if left is not None else {}  # the host says why there is no such thing
        except BadInput as error:
            return self._failed("too many words", name=said.head, words=error)
        outcome = self.session.windows.act(self.window, said.head, **params)
        opened = [each for each in self._ids() if each not in before]
        note = self.words("has opened", ids=", ".join(opened), first=opened[0]) if opened else ""
        if self.window in self._ids():
            return Answer(outcome, acted=True, note=note)
        self.window = next(reversed(self._ids()), "")
        self.over = not self.window
        return Answer(outcome, acted=True, moved=True, note=self.words("all closed") if self.over else note)

    def _left(self, head: str) -> list[Parameter] | None:
        """What is left to fill in of an action, a button or a marker; None for what is not there."""
        try:
            action, given = resolve_action(self._window(), head, {}, self.words.language)
        except UnavailableAction:
            return None
        return [each for each in action.parameters if not given.get(each.name)]

    def _window(self) -> AppWindow:
        window = self.session.windows.window(self.window)
        assert window is not None  # `do` answers before, once all are closed
        return window

    def _ids(self) -> list[str]:
        return [window.id for window in self.session.windows.all()]

    # ------------------------------------------------------------------ the prompt's own words

    def _failed(self, key: str, **values: Any) -> Answer:
        return Answer(Outcome(False, self.words(key, **values), "bad line"))

    def _level(self, name: str) -> Answer:
        if name not in LEVELS:
            return self._failed("choose", word="level", choices="|".join(LEVELS))
        self.session.windows.lod(self.window, Lod[name.upper()])
        return Answer(Outcome(True, window=self.window), moved=True)

    def _as(self, form: str) -> Answer:
        if form not in FORMS:
            return self._failed("choose", word="as", choices="|".join(FORMS))
        self.form = form
        if form in SENT_AS:
            self.session.configure(windows=form)
        return Answer(Outcome(True, window=self.window), moved=True)

    def _list(self, _: str) -> Answer:
        here = [f"{'*' if each == self.window else ' '} {each}" for each in self._ids()]
        return Answer(Outcome(True, "\n".join(here), window=self.window))

    def _go(self, given: str) -> Answer:
        ids = self._ids()
        matching = [given] if given in ids else [each for each in ids if given and each.startswith(given)]
        if len(matching) != 1:
            return self._failed("choose", word="window", choices="|".join(matching or ids))
        self.window = matching[0]
        return Answer(Outcome(True, window=self.window), moved=True)

    def _quit(self, _: str) -> Answer:
        self.over = True
        return Answer(Outcome(True))

    def _help(self, _: str) -> Answer:
        words, locale = self.words, self.words.language
        actions = [(f"{each.id} {each.params}", each.label_in(locale)) for each in self._window().actions.values()]
        buttons = self._buttons()
        more = " …" if len(buttons) > _BUTTONS else ""
        own = [
            (f"level {'|'.join(LEVELS)}", words("help level")),
            (f"as {'|'.join(FORMS)}", words("help as")),
            ("windows, window ID", words("help window")),
            ("help, quit", words("help quit")),
        ]
        pressed = [words("help buttons", keys=", ".join(buttons[:_BUTTONS]) + more)] if buttons else []
        lines = [words("help how"), *aligned(actions), *pressed, words("help besides"), *aligned(own)]
        return Answer(Outcome(True, "\n".join(lines)))

    def _buttons(self) -> list[str]:
        """What the things that are shown offer."""
        found = self._window().context().anchors.items()
        return [key for key, anchor in found if anchor.target and anchor.type is not AnchorType.REFERENCE]

    # ------------------------------------------------------------------ completion

    def completions(self, before: str, word: str) -> list[str]:
        """How a word that begins so may go on, behind what stands before it in the line."""
        head = next(iter(before.split()), "")
        found = [each for each in self._possible(head, word) if each.startswith(word)]
        return [found[0] + " "] if len(found) == 1 and not found[0].endswith("=") else found

    def _possible(self, head: str, word: str) -> list[str]:
        if not head:
            keys = [*self._window().actions, *self._buttons()]
            return [f"[button:{key}]" for key in keys] if word.startswith("[") else [*keys, *self.commands]
        own = {"level": LEVELS, "as": FORMS, "window": self._ids()}
        if head in self.commands:
            return list(own.get(head, ()))
        left = self._left(head) or []
        named = [f"{each.name}={choice}" for each in left for choice in each.choices or ("",)]
        return [*(choice for each in left[:1] for choice in each.choices), *named]


def aligned(rows: Sequence[tuple[str, ...]], indent: int = 2) -> list[str]:
    """Rows under each other in columns as wide as they need, the last one left to the terminal to wrap."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    cells = ([text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)] for row in rows)
    return [(" " * indent + "  ".join(row)).rstrip() for row in cells]
