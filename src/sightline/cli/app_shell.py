"""An app as a person uses it: how a typed line is read, what it does, and what the window shows then."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sightline.apps import anchors, registry
from sightline.apps.actions import Parameter, actions_of, nearest
from sightline.apps.app import App
from sightline.apps.context import AnchorType, to_json
from sightline.apps.outcome import Outcome
from sightline.apps.resolve import UnavailableAction, resolve_action
from sightline.apps.window import FORMS as SENT_AS
from sightline.apps.window import AppWindow
from sightline.cli.phrases import Phrases
from sightline.cli.render import align
from sightline.errors import BadInput, SightlineError
from sightline.files.folders import configured
from sightline.log.stores.memory import MemoryStore
from sightline.session.session import Session
from sightline.values.foreign_code import types_in_file
from sightline.values.items import Lod
from sightline.values.recall_tools import LEVELS
from sightline.values.settings import Settings

FORMS = (*SENT_AS, "json")
_WORD = re.compile(
    r"""\s*(?:(?P<name>[^\W\d]\w*)=)?+
    (?: "(?P<double>(?:[^"\\]|\\.)*)"(?=\s|$)
      | '(?P<single>[^']*)'(?=\s|$)
      | (?P<quote>["'])  # without its partner
      | (?P<bare>(?:[^\s\\]|\\.|\\$)*)
    )""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}  # in double quotes: texts of several lines must be typed on one
_BUTTONS = 24  # listed by `help`; the view shows them all


# ---------------------------------------------------------------------- reading a line


class Word(NamedTuple):
    """One word of a line; `name` if it is written `name=text`."""

    text: str
    name: str = ""


class BadLine(BadInput):
    """A line that cannot be read: a quote without its partner."""

    def __init__(self, quote: str, column: int) -> None:
        self.quote, self.column = quote, column
        super().__init__(f"the {quote} at column {column} has no partner before a space")


def parse_line(line: str) -> tuple[str, tuple[Word, ...]]:
    r"""Split a line into its head, which is an action, a button's key or a marker, and the words after it.

    A quote opens only at the beginning of a word or after `name=`: `don't` is a word.

    Backslash takes the next character as it is; in double quotes `\n` and `\t` are a line break and a tab; in single
    quotes everything is as it is. Raises BadLine.
    """
    ends = [bracket.end() for bracket in re.finditer(r"\](?=\s|$)", line)] if line.lstrip().startswith("[") else []
    for end in ends:
        if anchors.read(line[:end]) is not None:  # a marker, such as `[button:toggle-1]`
            return line[:end].strip(), tuple(_words(line, end))
    first, *rest = [*_words(line, 0), Word("")]
    return f"{first.name}={first.text}" if first.name else first.text, tuple(rest[:-1])


def _words(line: str, at: int) -> Iterator[Word]:
    for match in _WORD.finditer(line, at):
        double, single, bare = match["double"], match["single"], match["bare"]
        if match["quote"]:
            raise BadLine(match["quote"], match.end())
        if double is not None:
            yield Word(_ESCAPED.sub(lambda escaped: _ESCAPES.get(escaped[1], escaped[1]), double), match["name"] or "")
        elif match[0].strip():  # not the blanks at the end
            yield Word(_ESCAPED.sub(r"\1", bare) if single is None else single, match["name"] or "")


def arguments(parameters: Sequence[Parameter], words: Sequence[Word]) -> dict[str, str]:
    """Assign words to parameters: named ones by name, the others in order. The last parameter takes all that are left.

    Raises:
        BadInput: words for which there is no parameter.
    """
    named = {word.name: word.text for word in words if word.name}
    free = [parameter.name for parameter in parameters if parameter.name not in named]
    unnamed = [word.text for word in words if not word.name]
    if unnamed and not free:
        raise BadInput(" ".join(unnamed))
    if len(unnamed) > len(free):
        unnamed[len(free) - 1 :] = [" ".join(unnamed[len(free) - 1 :])]
    return named | dict(zip(free, unnamed, strict=False))


# ---------------------------------------------------------------------- opening an app


def load_app(name: str) -> type[App]:
    """Return the app of this name, or in this Python file, after checking its actions.

    Raises:
        BadInput: there is no such app, or it cannot be loaded.
    """
    if name.endswith(".py"):
        return _load_file(Path(name))
    names = registry.names()
    if name not in names:
        likely = ", ".join(nearest(name, names))
        raise BadInput(f"no app {name!r}; is it one of {likely}? `sightline apps` lists those there are")
    try:
        kind = registry.app(name)
        actions_of(kind)
    except SightlineError:
        raise
    except Exception as error:  # a package may raise anything when it is imported; ours may lack an optional one
        raise BadInput(f"app {name!r} cannot be loaded: {error!r}") from error
    return kind


def _load_file(path: Path) -> type[App]:
    """Return the app that a file defines; of several, the last. Raises BadInput."""
    own = [kind for kind in types_in_file(path, path.stem) if issubclass(kind, App) and kind.name]
    if not own:
        raise BadInput(f"{path} defines no app: a subclass of sightline.apps.App with a name")
    actions_of(own[-1])
    return own[-1]


def open_session(name: str, project: str, locale: str, form: str) -> Session:
    """Return a session in memory in which this app and every other one can be opened. Raises BadInput.

    Its apps show what they would show a model in this project, and nothing outside it.
    """
    settings = Settings(locale=locale, windows=form if form in SENT_AS else SENT_AS[0])
    session = Session(
        MemoryStore(), settings=settings, folders=configured(Path(project)), apps=[load_app(name)], project=project
    )
    for other in (app_name for app_name in registry.names() if app_name not in session.windows.apps):
        with suppress(SightlineError):  # `sightline apps` says why; this app works without that one
            session.windows.register(load_app(other))
    return session


def open_window(session: Session, name: str, target: str, level: str | None) -> str:
    """Open the app, at this level of detail or its own, and return the window's id. Raises Refused, BadInput."""
    name = next(iter(session.windows.apps)) if name.endswith(".py") else name
    options: dict[str, Any] = {"out": True} if level == "out" else {"lod": Lod[level.upper()]} if level else {}
    try:
        return session.windows.open(name, target, **options)
    except SightlineError:
        raise
    except Exception as error:  # an app's own mistake
        raise BadInput(f"app {name!r} does not open: {error!r}") from error


# ---------------------------------------------------------------------- using it


class View(NamedTuple):
    """What a window shows now. `text` is what a model is sent, to the byte; as JSON, the window's context."""

    window: str
    level: str
    form: str
    text: str
    tokens: int
    context: Any


class Reply(NamedTuple):
    """The result of a line. `acted`: an app answered; `moved`: another window or view is shown now."""

    outcome: Outcome
    acted: bool = False
    moved: bool = False
    note: str = ""


class AppShell:
    """The windows of a session, and the one that is shown. `window` is empty once all are closed."""

    def __init__(self, session: Session, window: str, form: str, words: Phrases) -> None:
        self.session, self.window, self.form, self.words = session, window, form, words
        self.over = False
        self.commands: dict[str, Callable[[str], Reply]] = {
            "level": self._level,
            "as": self._as,
            "windows": self._list,
            "window": self._go,
            "help": self._help,
            "quit": self._quit,
            "exit": self._quit,
        }

    def view(self) -> View | None:
        """Return what the window shows now, as it would be composed; None if no window is open."""
        session = self.session
        texts = session.windows.shown(sys.maxsize, lambda _, text: session.count(text))
        window = session.windows.window(self.window)
        if window is None:
            return None
        context = to_json(window.context())
        is_json = self.form == "json"
        text = msgspec.json.format(context, indent=2).decode() if is_json else texts.get(window.id, "")
        form = self.form if is_json else window.options.form or window.style.form
        level, tokens = window.document.lod.name.lower(), session.count(text)
        return View(window.id, level, form, text, tokens, msgspec.json.decode(context))

    def run(self, line: str) -> Reply:
        """Run a line. It raises nothing: a reply says what cannot be done, and what can."""
        try:
            head, words = parse_line(line)
        except BadLine as bad:
            return self._failure("bad quote", quote=bad.quote, column=bad.column)
        if not head:
            return Reply(Outcome(True), moved=True)
        if not self.window:
            return self._failure("no window left")
        if head in self.commands:
            return self.commands[head](" ".join(word.text for word in words))
        return self._act(head, words)

    def _act(self, head: str, words: Sequence[Word]) -> Reply:
        before = self._ids()
        parameters = self._open_parameters(head)
        try:
            params = arguments(parameters, words) if parameters is not None else {}  # if None, `act` says why
        except BadInput as error:
            return self._failure("too many words", name=head, words=error)
        outcome = self.session.windows.act(self.window, head, **params)
        if outcome.reason == "unknown action":  # what a model is told of it speaks of anchors
            outcome = replace(outcome, message=self.words("no action", id=self.window, name=head))
        opened = [id_ for id_ in self._ids() if id_ not in before]
        note = self.words("has opened", ids=", ".join(opened), first=opened[0]) if opened else ""
        if self.window in self._ids():
            return Reply(outcome, acted=True, note=note)
        self.window = next(reversed(self._ids()), "")
        self.over = not self.window
        return Reply(outcome, acted=True, moved=True, note=self.words("all closed") if self.over else note)

    def _open_parameters(self, head: str) -> list[Parameter] | None:
        """Return the parameters that an action, a button or a marker still needs; None if there is no such thing."""
        try:
            action, filled = resolve_action(self._window(), head, {}, self.words.language)
        except UnavailableAction:
            return None
        return [parameter for parameter in action.parameters if not filled.get(parameter.name)]

    def _window(self) -> AppWindow:
        window = self.session.windows.window(self.window)
        assert window is not None  # because `run` replies earlier once all are closed
        return window

    def _ids(self) -> list[str]:
        return [window.id for window in self.session.windows.all()]

    # ------------------------------------------------------------------ commands of the shell

    def _failure(self, key: str, **values: Any) -> Reply:
        return Reply(Outcome(False, self.words(key, **values), "bad line"))

    def _level(self, name: str) -> Reply:
        if name not in LEVELS:
            return self._failure("choose", word="level", choices="|".join(LEVELS))
        self.session.windows.lod(self.window, name, by="user")
        return Reply(Outcome(True, window=self.window), moved=True)

    def _as(self, form: str) -> Reply:
        if form not in FORMS:
            return self._failure("choose", word="as", choices="|".join(FORMS))
        self.form = form
        if form in SENT_AS:
            self.session.windows.show_as(self.words.language, form, window_id=self.window)
        return Reply(Outcome(True, window=self.window), moved=True)

    def _list(self, _: str) -> Reply:
        listed = "\n".join(f"{'*' if id_ == self.window else ' '} {id_}" for id_ in self._ids())
        return Reply(Outcome(True, listed, window=self.window))

    def _go(self, wanted: str) -> Reply:
        ids = self._ids()
        matching = [wanted] if wanted in ids else [id_ for id_ in ids if wanted and id_.startswith(wanted)]
        if len(matching) != 1:
            return self._failure("choose", word="window", choices="|".join(matching or ids))
        self.window = matching[0]
        return Reply(Outcome(True, window=self.window), moved=True)

    def _quit(self, _: str) -> Reply:
        self.over = True
        return Reply(Outcome(True))

    def _help(self, _: str) -> Reply:
        words, locale = self.words, self.words.language
        actions = [
            (f"{action.id} {action.params}", action.label_in(locale)) for action in self._window().actions.values()
        ]
        buttons = self._buttons()
        more = " …" if len(buttons) > _BUTTONS else ""
        own = [
            (f"level {'|'.join(LEVELS)}", words("help level")),
            (f"as {'|'.join(FORMS)}", words("help as")),
            ("windows, window ID", words("help window")),
            ("help, quit", words("help quit")),
        ]
        pressed = [words("help buttons", keys=", ".join(buttons[:_BUTTONS]) + more)] if buttons else []
        lines = [words("help how"), *align(actions), *pressed, words("help besides"), *align(own)]
        return Reply(Outcome(True, "\n".join(lines)))

    def _buttons(self) -> list[str]:
        """Return the keys of the buttons that are shown."""
        anchors = self._window().context().anchors.items()
        return [key for key, anchor in anchors if anchor.target and anchor.type is not AnchorType.REFERENCE]

    # ------------------------------------------------------------------ completion

    def completions(self, before: str, word: str) -> list[str]:
        """Return completions of a word, after what stands before it in the line."""
        head = next(iter(before.split()), "")
        matching = [choice for choice in self._possible(head, word) if choice.startswith(word)]
        return [matching[0] + " "] if len(matching) == 1 and not matching[0].endswith("=") else matching

    def _possible(self, head: str, word: str) -> list[str]:
        if not head:
            keys = [*self._window().actions, *self._buttons()]
            return [f"[button:{key}]" for key in keys] if word.startswith("[") else [*keys, *self.commands]
        choices = {"level": LEVELS, "as": FORMS, "window": self._ids()}
        if head in self.commands:
            return list(choices.get(head, ()))
        parameters = self._open_parameters(head) or []
        named = [f"{parameter.name}={choice}" for parameter in parameters for choice in parameter.choices or ("",)]
        return [*(choice for parameter in parameters[:1] for choice in parameter.choices), *named]
