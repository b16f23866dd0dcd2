"""Opens apps in windows, acts on them, closes them, and finds them again after a restart."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sightline.apps import fitting, registry
from sightline.apps.actions import CLOSE, Action, bound, nearest
from sightline.apps.app import App, Options
from sightline.apps.apps import Apps
from sightline.apps.calls import ACTION, CREATE, parameters
from sightline.apps.context import Round, Version
from sightline.apps.events import Event, Events
from sightline.apps.failing import complain, quietly, valid
from sightline.apps.outcome import Outcome
from sightline.apps.reach import Declined, known, meant
from sightline.apps.record import Record, Window, Windows
from sightline.apps.window import AppWindow, Gone, Kept, Look, usage
from sightline.clock import Clock
from sightline.errors import BadInput, InvalidSourceData, Refused, UnknownApp, VersionMismatch
from sightline.items import Call, Lod, ToolDefinition
from sightline.wording import say


class Host:
    """The apps of one session and their windows. A session has one: `session.host`."""

    def __init__(
        self, record: Record, *, session_id: str, clock: Clock, project: Path, elsewhere: Windows | None = None
    ) -> None:
        """`elsewhere`: where windows are found that this host did not open."""
        self._record, self._session_id, self.clock, self.project = record, session_id, clock, project
        self._elsewhere = elsewhere
        self.apps = Apps()
        self.events: Events[Event] = Events()
        self._look = Look()
        self._windows: dict[str, AppWindow | Gone] = {}

    # ------------------------------------------------------------------ apps

    def register(self, *apps: type[App] | str) -> None:
        """Let these apps be opened: classes, or names of those that ship or are installed.

        Raises:
            UnknownApp: no installed app has this name.
            BadInput: what is no app, or one whose actions no model could be told about.
        """
        for each in apps:
            self.apps.add(registry.app(each) if isinstance(each, str) else each)

    def tools(self, *, typed: bool = False) -> tuple[ToolDefinition, ...]:
        """What a model with native tool calls is given: `create` and `action`; typed, also one tool for each action.

        They depend on the registered apps alone, so that opening and closing windows changes no prompt's head.
        """
        each = [action.tool(app) for app, action in self.apps.typed().values()] if typed else []
        return (CREATE, ACTION, *each)

    def instructions(self) -> str:
        """What a model without native tool calls is told, in the session's language."""
        names = "\n".join(f"- {name}: {app.describe(self.locale)}" for name, app in self.apps.items())
        return say("how to act", self.locale, apps=names)

    # ------------------------------------------------------------------ windows

    def show_as(self, locale: str, form: str) -> None:
        """Show every window in this language and written this way from now on."""
        self._look = Look(locale, "markdown" if form == "markdown" else "xml")
        for window in self._windows.values():
            if isinstance(window, AppWindow):
                window.show_as(self._look)

    @property
    def locale(self) -> str:
        """The session's language."""
        return self._look.locale

    def get(self, window_id: str) -> Window | None:
        """An open window, as it is now."""
        window = self._windows.get(window_id)
        if window is not None and window.place >= self._record.place(window_id):
            return window
        kept = self._record.kept(window_id)  # it was not opened here, or another writer has changed it
        if kept is not None and kept.app in self.apps:
            window = self._windows[window_id] = self._restored(window_id, kept)
            return window
        found = self._elsewhere.get(window_id) if self._elsewhere is not None else None
        if found is None and kept is not None:
            return Gone(window_id, say("app gone", self.locale, name=kept.app), locale=self.locale)
        return found

    def live(self) -> Sequence[str]:
        """The ids of all open windows, also of those that this host did not open."""
        return self._record.live()

    def window(self, window_id: str) -> AppWindow | None:
        """An open window of one of the registered apps; None for any other."""
        found = self.get(window_id) if window_id in self._record.live() else None
        return found if isinstance(found, AppWindow) else None

    def windows(self) -> list[AppWindow]:
        """The open windows of registered apps, in the order they were opened."""
        return [window for window_id in self._record.live() if (window := self.window(window_id)) is not None]

    def open(self, name: str, target: str = "", **options: Any) -> AppWindow:
        """Open an app in a new window; one that has only one window is shown again where it is.

        Raises:
            UnknownApp: no such app is registered.
            Refused: the app does not open for this target.
            BadInput: an option that windows do not have.
        """
        kind = self._app(name)
        try:
            chosen = replace(kind.options, **options)
        except TypeError as error:
            raise BadInput(f"{error}; windows have {', '.join(Options.__struct_fields__)}") from error
        self._record.catch_up()
        if kind.single and (found := self.window(name)) is not None:
            return found
        app = self._made(kind, target)
        app.opened()
        window_id = name if kind.single else self._new_id(name)
        window = self._window(window_id, app, chosen)
        window.saved = _saved(app)
        own, state = chosen if chosen != kind.options else None, msgspec.json.decode(window.saved)
        kept = Kept(name, target, own, state, window.document.version)
        seq = self._record.opened(window_id, kept)
        self._noted(window)
        self._windows[window_id] = window
        self._tell(Event("opened", seq, window_id, name, target=target))
        return window

    def close(self, window_id: str, summary: str = "") -> None:
        """Close a window of this host."""
        summary = valid(summary)
        window, kept = self.window(window_id), self._record.kept(window_id)
        self._windows.pop(window_id, None)
        seq = self._record.closed(window_id, summary)
        if window is not None:
            quietly(window.app.closed)
        if kept is not None:
            self._tell(Event("closed", seq, window_id, kept.app, summary=summary))

    def lod(self, window_id: str, lod: Lod) -> None:
        """Show a window at this level from now on. Raises BadInput for one that is not open here."""
        window = self.window(window_id)
        if window is None:
            raise BadInput(f"no open window {window_id!r} of a registered app; open are: {self._open_ids()}")
        window.own_lod, window.options = lod, replace(window.options, lod=lod)
        window.document.switch(lod)
        self._changed(window, window.saved, None)

    def shown(self, room: int, tokens: Callable[[str], int]) -> dict[str, str]:
        """What every open window shows now, in all within so many tokens; pinned ones as they are, whatever they need.

        A window that is gone shows nothing. What is shown at a lower level stays there, once `note` has written that
        down, until it is acted on.
        """
        self.refresh()
        live = {window_id: window for window_id in self._record.live() if (window := self.get(window_id)) is not None}
        ours = [window for window in live.values() if isinstance(window, AppWindow)]
        for window in ours:
            window.document.switch(window.noted_lod)  # an earlier look at less room decided nothing
        free = [each for each in live if each not in {window.id for window in ours if window.options.pinned}]
        texts = {window_id: valid(window.render()) for window_id, window in live.items()}
        over = sum(tokens(texts[each]) for each in free) - room
        if over <= 0:
            return texts
        fitting.lower(ours, over, tokens)
        texts = {window_id: valid(window.render()) for window_id, window in live.items()}
        over = sum(tokens(texts[each]) for each in free) - room
        return texts | fitting.hidden({each: texts[each] for each in free}, over, tokens, self.locale)

    def refresh(self) -> None:
        """Let every open app take in what changed outside."""
        for window in self.windows():
            if quietly(window.app.refresh, f"{window.id} cannot refresh"):
                window.document.change()

    def changed(self, app: App) -> bool:
        """Say that an app's data have changed by themselves: what it shows and the log follow. Whether it is shown."""
        window = next((window for window in self.windows() if window.app is app), None)
        if window is not None:
            window.document.change()
            self.note()  # at once: a session may end before it is composed again
        return window is not None

    def note(self) -> None:
        """Write down which windows show something new since the log last said so."""
        for window in self.windows():
            if window.shows_more_than_noted():
                changed = window.noted is not None and window.noted[0].major != window.document.version.major
                seq = self._changed(window, _saved_or(window), None, moved=changed and window.options.append)
                self._tell(Event("refreshed", seq, window.id, window.app.name))

    # ------------------------------------------------------------------ acting

    def act(
        self, window_id: str, action_id: str, params: Mapping[str, Any] | None = None, *, seen: Version | None = None
    ) -> Outcome:
        """Do something in a window: an action by its id, or an anchor by its key or as it is written.

        Nothing is raised: what cannot be done is said in the outcome, with what can. An action that fails leaves the
        app's data as they were. `seen`: the version that whoever acts has looked at.
        """
        self._record.catch_up()
        window = self.window(window_id)
        if window is None:
            return self._act_on_none(window_id, action_id, params or {})
        try:
            if seen is not None:
                window.document.check(seen)
            action, given = meant(window, action_id, params or {}, self.locale)
            values = bound(action, given, self.locale)
        except Declined as declined:
            return declined.outcome(window_id)
        except VersionMismatch:
            message = say("stale anchor", self.locale, name=action_id)
            return Outcome(False, message, "stale", window_id, ways=known(window, action_id))
        except Refused as refused:
            return Outcome(False, str(refused), "bad parameters", window_id, ways=(usage(action),))
        return self._closed(window_id, values) if action is CLOSE else self._run(window, action, values)

    def _closed(self, window_id: str, values: Mapping[str, Any]) -> Outcome:
        self.close(window_id, values.get("summary", ""))
        return Outcome(True, say("closed", self.locale, id=window_id), window=window_id, closes=True)

    def _act_on_none(self, window_id: str, action_id: str, params: Mapping[str, Any]) -> Outcome:
        """What is shown without its app can at least be closed."""
        gone = window_id in self._record.live() and isinstance(self.get(window_id), Gone)
        if gone and action_id == CLOSE.id:
            return self._closed(window_id, {"summary": str(params.get("summary") or "")})
        return self._no_window(window_id)

    def _run(self, window: AppWindow, action: Action, values: dict[str, Any]) -> Outcome:
        held, before = dict(vars(window.app)), _saved_or(window)  # with what it took in since it was last noted
        done, saved, fresh = self._outcome(window, action, values)
        clean = window.document.clean
        outcome = replace(done, message=clean(done.message), summary=clean(done.summary))
        if outcome.success:
            window.document.switch(window.own_lod)  # the model is looking at it
            if fresh or saved != window.saved:
                window.document.change()
            window.document.executed()
        else:
            saved = before
            vars(window.app).clear()
            vars(window.app).update(held)
            quietly(lambda: window.app.restore(msgspec.json.decode(before)))
        at = datetime.fromtimestamp(self.clock() / 1000, UTC)
        told = outcome.summary or outcome.message
        window.document.record(round_ := Round(action.id, told, at))
        seq = self._changed(window, saved, round_, moved=outcome.success and window.options.append)
        self._tell(Event("acted", seq, window.id, window.app.name, outcome.success, action.id, summary=told))
        if outcome.closes:
            self.close(window.id, outcome.summary)
        return outcome

    def _outcome(self, window: AppWindow, action: Action, values: dict[str, Any]) -> "_Done":
        """What the app answers, and its data where that went well."""
        try:
            answer = getattr(window.app, action.id)(**values)
            fresh = bool(quietly(window.app.refresh))  # what it did may have changed something outside
            saved = _saved(window.app)
        except (Refused, InvalidSourceData) as refused:
            return _Done(Outcome(False, str(refused), "failed", window.id))
        except Exception as error:  # an app's mistake is told, not raised: the conversation goes on
            complain(f"{window.id}.{action.id} failed", error)
            return _Done(Outcome(False, f"{type(error).__name__}: {error}", "failed", window.id))
        if not isinstance(answer, Outcome):
            answer = Outcome(True, str(answer) if answer is not None else say("done", self.locale))
        reason = "" if answer.success else answer.reason or "failed"
        return _Done(replace(answer, window=window.id, reason=reason), saved, fresh)

    # ------------------------------------------------------------------ the model's calls

    def answers(self, call: Call) -> bool:
        """Whether a call is for a window here."""
        if call.name in (CREATE.name, ACTION.name):
            return bool(self.apps)
        return call.name in self.apps.typed()

    def call(self, call: Call) -> Outcome:
        """Do what the model says: open an app, or act on a window. Nothing is raised."""
        arguments = call.input if isinstance(call.input, dict) else {}
        if call.name == CREATE.name:
            return self._create(str(arguments.get("name") or "launcher"), str(arguments.get("target") or ""))
        if not self.answers(call):
            message = say("no such call", self.locale, name=call.name)
            return Outcome(False, message, "unknown action", ways=(CREATE.name, ACTION.name))
        window_id, action_id = arguments.get("window_id"), arguments.get("action_id")
        params, app = parameters(arguments), ""
        if call.name != ACTION.name:
            app, action = self.apps.typed()[call.name]
            action_id = action.id
            params = {name: value for name, value in arguments.items() if name != "window_id"}
        if not isinstance(window_id, str) or not isinstance(action_id, str) or not window_id or not action_id:
            return Outcome(False, say("call lacks ids", self.locale), "bad parameters", ways=self._reachable(app))
        window = self.window(window_id) if app else None
        if window is not None and window.app.name != app:
            return self._no_window(window_id, app)
        return self.act(window_id, action_id, params)

    def _create(self, name: str, target: str) -> Outcome:
        try:
            window = self.open(name, target)
        except UnknownApp:
            message = say("app unknown", self.locale, name=name)
            return Outcome(False, message, "unknown app", ways=tuple(nearest(name, list(self.apps))))
        except Exception as error:  # an app that does not open is told like one that does not act
            return Outcome(False, say("open fails", self.locale, why=valid(str(error))), "failed")
        return Outcome(True, say("opened", self.locale, name=name, id=window.id), window=window.id)

    # ------------------------------------------------------------------ the log

    def _changed(self, window: AppWindow, saved: bytes, round_: Round | None, *, moved: bool = False) -> int:
        document, own = window.document, type(window.app).options
        kept = Kept(
            window.app.name,
            options=window.options if window.options != own else None,
            state=msgspec.json.decode(saved) if saved != window.saved else UNSET,
            version=document.version,
            lod=document.lod,
        )
        seq = self._record.changed(window.id, kept, round_, moved)
        window.saved = saved
        self._noted(window)
        return seq

    def _noted(self, window: AppWindow) -> None:
        window.noted = (window.document.version, window.document.lod)
        window.place = self._record.place(window.id)

    def _restored(self, window_id: str, kept: Kept) -> AppWindow | Gone:
        kind = self.apps[kept.app]
        options = kept.options or kind.options
        try:
            app = self._made(kind, kept.target)
            app.restore(kept.state)
        except Exception as error:  # another version of the app wrote it: what was saved stays as it is
            complain(f"{window_id} cannot be restored", error)
            why = say("not restored", self.locale, name=kept.app, why=valid(str(error)))
            return Gone(window_id, why, kept.place, self.locale)
        return self._window(window_id, app, options, kept)

    def _window(self, window_id: str, app: App, options: Options, kept: Kept | None = None) -> AppWindow:
        return AppWindow(window_id, app, options, self._look, session_id=self._session_id, clock=self.clock, kept=kept)

    # ------------------------------------------------------------------ small parts

    def _tell(self, event: Event) -> None:
        """Tell everybody; after a restart, also the open windows that nobody has looked at yet."""
        self.windows()
        self.events.publish(event)

    def _app(self, name: str) -> type[App]:
        if name not in self.apps:
            raise UnknownApp(name, list(self.apps))
        return self.apps[name]

    def _made(self, kind: type[App], target: str) -> App:
        app = kind()
        app.host, app.target = self, target
        return app

    def _new_id(self, name: str) -> str:
        number = 1
        while self._record.taken(f"{name}_{number}"):
            number += 1
        return f"{name}_{number}"

    def _open_ids(self) -> tuple[str, ...]:
        return tuple(window.id for window in self.windows())

    def _reachable(self, app: str = "") -> tuple[str, ...]:
        """The windows that can be acted on, of one app or all; where there is none, how to open one."""
        found = [window.id for window in self.windows() if app in ("", window.app.name)]
        return tuple(found or (f"create({name})" for name in ([app] if app else self.apps)))

    def _no_window(self, window_id: str, app: str = "") -> Outcome:
        message = say("no window", self.locale, id=window_id)
        return Outcome(False, message, "unknown window", window_id, ways=self._reachable(app))


class _Done(NamedTuple):
    """What came of an action: the app's answer, its data, and whether something outside is new."""

    outcome: Outcome
    saved: bytes = b""
    fresh: bool = False


def _saved(app: App) -> bytes:
    """An app's data, as the log keeps them. Raises InvalidSourceData."""
    try:
        return msgspec.json.encode(app.save())
    except Exception as error:  # whatever an app's own save() does
        how = "override save() and restore(), or begin the name of what is not to be kept with '_'"
        raise InvalidSourceData(f"{app.name} cannot be saved: {error}; {how}") from error


def _saved_or(window: AppWindow) -> bytes:
    """A window's data as they are now; as the log has them where they cannot be saved."""
    saved: bytes | None = quietly(lambda: _saved(window.app))
    return window.saved if saved is None else saved
