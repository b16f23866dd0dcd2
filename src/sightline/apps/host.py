"""Opens apps in windows, acts on them, closes them, and finds them again after a restart."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sightline.apps import doing, registry, window_budget
from sightline.apps.actions import CLOSE, Action, bound
from sightline.apps.app import App, Options
from sightline.apps.apps import Apps
from sightline.apps.calls import ACTION, CREATE, LAUNCHER, create_tool
from sightline.apps.context import Round
from sightline.apps.events import Event, Events
from sightline.apps.guard import complain, quietly, told_by, valid
from sightline.apps.outcome import Outcome
from sightline.apps.protocols import Done, Record, Window, Windows
from sightline.apps.resolve import Declined, meant
from sightline.apps.state import chosen, give_back, held, saved, saved_or
from sightline.apps.window import AppWindow, Gone, Kept, Look, usage
from sightline.errors import BadInput, Conflict, InvalidSourceData, Refused, UnknownApp
from sightline.files.folders import PROJECT, Folders
from sightline.values.clock import Clock
from sightline.values.items import Call, Lod, Text, ToolDefinition
from sightline.values.lock import locked
from sightline.values.phrases import say
from sightline.wire.common import text_part

_ATTEMPTS = 3  # to open a window while others write


class Host:
    """The apps of one session and their windows: `session.windows`."""

    def __init__(
        self,
        record: Record,
        *,
        session_id: str,
        clock: Clock,
        project: Path,
        folders: Folders = PROJECT,
        elsewhere: Windows | None = None,
        lock: "RLock | None" = None,
    ) -> None:
        """`elsewhere`: where windows are found that this host did not open. `lock`: that of the session."""
        self._lock = lock or RLock()
        self._record, self._session_id, self.clock = record, session_id, clock
        self.project, self.folders = project, folders
        self._elsewhere = elsewhere
        self.apps = Apps()
        self.events: Events[Event] = Events()
        self._look = Look()
        self._windows: dict[str, AppWindow | Gone] = {}
        self._numbers: dict[str, int] = {}  # the last one that a window of each app got
        self.spared: dict[str, int] = {}  # windows that gave way at the last look → tokens that saved

    # ------------------------------------------------------------------ apps

    def register(self, *apps: type[App] | str) -> None:
        """Let these apps be opened: classes, or names of those that ship or are installed.

        Raises:
            UnknownApp: no installed app has this name.
            BadInput: what is no app, or one whose actions no model could be told about.
        """
        for each in apps:
            self.apps.add(registry.app(each) if isinstance(each, str) else each)
        self._windows = {name: held for name, held in self._windows.items() if isinstance(held, AppWindow)}

    def tools(self, *, typed: bool = False) -> tuple[ToolDefinition, ...]:
        """What a model with native tool calls is given: `create` and `action`; typed, also one tool for each action.

        They depend on the registered apps alone, so that opening and closing windows changes no prompt's head.
        """
        each = [action.tool(app) for app, action in self.apps.typed().values()] if typed else []
        about = {name: app.describe(self.locale) for name, app in self.apps.items()}
        return (create_tool(about, LAUNCHER), ACTION, *each)

    def instructions(self) -> str:
        """What a model without native tool calls is told, in the session's language."""
        names = "\n".join(f"- {name}: {app.describe(self.locale)}" for name, app in self.apps.items())
        launcher = say("or the launcher", self.locale) if LAUNCHER in self.apps else ""
        return say("how to act", self.locale, apps=names, launcher=launcher)

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

    def all(self) -> list[AppWindow]:
        """The open windows of registered apps, in the order they were opened."""
        found = map(self.get, self._record.live())
        return [window for window in found if isinstance(window, AppWindow)]

    @locked
    def open(self, name: str, target: str = "", *, call_id: str = "", **options: Any) -> str:
        """Open an app in a new window, which every payload shows from the next call on. Return the window's id.

        An app that has only one window keeps it. Options: closable, compact, append, important, pinned, lod.
        `call_id` is the model's call that asked for it.

        Raises:
            UnknownApp: no such app is registered.
            Refused: the app does not open for this target.
            BadInput: an option that windows do not have.
        """
        kind = self._app(name)
        options_ = chosen(kind.options, options)
        self._record.catch_up()
        if kind.single and name in self._record.live():
            if self.window(name) is not None:
                return name
            raise Refused(say("not reopened", self.locale, id=name))
        app = self._made(kind, valid(target))
        app.opened()
        own, data = options_ if options_ != kind.options else None, saved(app)
        for _ in range(_ATTEMPTS):
            window_id = name if kind.single else self._new_id(name)
            window = self._window(window_id, app, options_)
            kept = Kept(name, app.target, own, msgspec.json.decode(data), window.document.version)
            with suppress(Conflict):  # others wrote meanwhile: the id may be theirs
                seq = self._record.opened(window_id, kept, call_id)
                break
            self._record.catch_up()
        else:
            raise Refused(say("changed meanwhile", self.locale))
        window.saved = data
        self._noted(window)
        self._windows[window_id] = window
        self._tell(Event("opened", seq, window_id, name, target=app.target))
        return window_id

    @locked
    def show(self, window_id: str) -> None:
        """Show a live window that another host opened, from here on. The log holds its id, never its text."""
        self._record.referred(_checked_id(window_id))

    @locked
    def close(self, window_id: str, summary: str = "") -> None:
        """Close a window: no later payload shows it."""
        summary, window_id = valid(summary), _checked_id(window_id)
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

    def shown(self, room: int | None, size: window_budget.Size) -> dict[str, str]:
        """What every open window shows now, in all within so many tokens; pinned ones as they are, whatever they need.

        A window that is gone shows nothing. What is shown at a lower level stays there, once `note` has written that
        down, until it is acted on. Without a room none gives way. `spared` is what giving way saved.
        """
        self.refresh()
        live = {window_id: window for window_id in self._record.live() if (window := self.get(window_id)) is not None}
        ours = [window for window in live.values() if isinstance(window, AppWindow)]
        for window in ours:
            # An earlier look at less room decided nothing.
            window.document.switch(window.own_lod if room is None else window.noted_lod)
        pinned = {window.id for window in ours if window.options.pinned}
        texts = {window_id: valid(window.render()) for window_id, window in live.items()}
        over = sum(size(each, text) for each, text in texts.items() if each not in pinned) - (room or 0)
        shown = texts
        if room is not None and over > 0:
            window_budget.lower(ours, over, size)
            texts = {window_id: valid(window.render()) for window_id, window in live.items()}
            free = {each: text for each, text in texts.items() if each not in pinned}
            kept = window_budget.hidden(free, window_budget.order_of_loss(free, ours), room, size, self.locale)
            shown = {each: kept.get(each, text) for each, text in texts.items() if each in pinned or each in kept}
        self.spared = window_budget.spared(ours, texts, shown, size)
        return shown

    def refresh(self) -> None:
        """Let every open app take in what changed outside."""
        for window in self.all():
            if quietly(window.app.refresh, f"{window.id} cannot refresh"):
                window.document.change()

    def changed(self, app: App) -> bool:
        """Say that an app's data have changed by themselves: what it shows and the log follow. Whether it is shown."""
        window = next((window for window in self.all() if window.app is app), None)
        if window is not None:
            window.document.change()
            self.note()  # at once: a session may end before it is composed again
        return window is not None

    def note(self) -> None:
        """Write down which windows show something new since the log last said so."""
        for window in self.all():
            if window.shows_more_than_noted():
                changed = window.noted is not None and window.noted[0].major != window.document.version.major
                seq = self._changed(window, saved_or(window), None, moved=changed and window.options.append)
                self._tell(Event("refreshed", seq, window.id, window.app.name))

    # ------------------------------------------------------------------ acting

    def act(self, window_id: str, action_id: str, /, **params: Any) -> Outcome:
        """Do something in a window, as the model does: an action by its id, or an anchor by its key or its text.

        Nothing is raised: what cannot be done is said in the outcome, with what can. An action that fails leaves the
        app's data as they were.
        """
        return self.act_for_call(window_id, action_id, params, "")

    @locked
    def act_for_call(self, window_id: str, action_id: str, params: Mapping[str, Any], call_id: str) -> Outcome:
        """Do something in a window as `act` does, for a call of the model."""
        self._record.catch_up()
        window = self.window(window_id)
        if window is None:
            return self._act_on_none(window_id, action_id, params)
        try:
            action, given = meant(window, action_id, params, self.locale)
            values = bound(action, given, self.locale)
        except Declined as declined:
            return self._declined(window, declined)
        except Refused as refused:
            return Outcome(False, str(refused), "bad parameters", window_id, ways=(usage(action),))
        return self._closed(window_id, values) if action is CLOSE else self._run(window, action, values, call_id)

    def _declined(self, window: AppWindow, declined: Declined) -> Outcome:
        """What is out of view can be seen from the next call on: the model has looked for it."""
        outcome = declined.outcome(window.id)
        if declined.reason != "out of view":
            return outcome
        window.document.switch(window.own_lod)
        with suppress(Conflict):  # others write: it stays for them to see as they left it
            self._changed(window, window.saved, None)
        return replace(outcome, ways=(say("raised", self.locale), *outcome.ways))

    def _closed(self, window_id: str, values: Mapping[str, Any]) -> Outcome:
        self.close(window_id, values.get("summary", ""))
        return Outcome(True, say("closed", self.locale, id=window_id), window=window_id, closes=True)

    def _act_on_none(self, window_id: str, action_id: str, params: Mapping[str, Any]) -> Outcome:
        """What is shown without its app can at least be closed."""
        gone = window_id in self._record.live() and isinstance(self.get(window_id), Gone)
        if gone and action_id == CLOSE.id:
            return self._closed(window_id, {"summary": str(params.get("summary") or "")})
        return self.no_window(window_id)

    def _run(self, window: AppWindow, action: Action, values: dict[str, Any], call_id: str) -> Outcome:
        kept, before = held(window.app), saved_or(window)  # with what it took in since it was last noted
        outcome, data, fresh = self._outcome(window, action, values)
        if outcome.success:
            window.document.switch(window.own_lod)  # the model is looking at it
            if fresh or data != window.saved:
                window.document.change()
            window.document.executed()
        else:
            data = before
            give_back(window.app, kept, before)
        told = outcome.summary or outcome.message
        round_ = Round(action.id, told, datetime.fromtimestamp(self.clock() / 1000, UTC))
        window.document.record(round_)
        try:
            done = Done(round_, outcome.success, call_id)
            seq = self._changed(window, data, done, moved=outcome.success and window.options.append)
        except Conflict:
            self._windows.pop(window.id, None)  # it is made again of what the log has of it
            self._record.catch_up()
            return Outcome(False, say("changed meanwhile", self.locale), "stale", window.id)
        self._tell(Event("acted", seq, window.id, window.app.name, outcome.success, action.id, summary=told))
        if outcome.closes:
            self.close(window.id, outcome.summary)
        return outcome

    def _outcome(self, window: AppWindow, action: Action, values: dict[str, Any]) -> "_Done":
        """What the app answers, and its data where that went well. Whatever the app does, nothing is raised."""
        clean = window.document.clean
        try:
            answer = getattr(window.app, action.id)(**values)
            if not isinstance(answer, Outcome):
                answer = Outcome(True, str(answer) if answer is not None else say("done", self.locale))
            told = {"message": clean(str(answer.message)), "summary": clean(str(answer.summary))}
            ways, reason = tuple(clean(str(way)) for way in answer.ways), answer.reason or "failed"
            answer = replace(answer, window=window.id, ways=ways, reason="" if answer.success else str(reason), **told)
            fresh = bool(quietly(window.app.refresh))  # what it did may have changed something outside
            return _Done(answer, saved(window.app), fresh)
        except (Refused, InvalidSourceData) as refused:
            return _Done(Outcome(False, clean(told_by(refused)), "failed", window.id))
        except Exception as error:  # an app's mistake is told, not raised: the conversation goes on
            complain(f"{window.id}.{action.id} failed", error)
            return _Done(Outcome(False, clean(f"{type(error).__name__}: {told_by(error)}"), "failed", window.id))

    def answers(self, call: Call) -> bool:
        """Whether a call is for a window here."""
        return bool(self.apps) and (call.name in (CREATE.name, ACTION.name) or call.name in self.apps.typed())

    def call(self, call: Call) -> Outcome:
        """Do what the model says: open an app, or act on a window. Nothing is raised."""
        return doing.do(self, call)

    def done(self, call_id: str) -> Outcome | None:
        """What came of a call that an earlier run has carried out; None where it did not come to that."""
        found = self._record.done(call_id)
        return None if found is None else Outcome(found[0], found[1], "" if found[0] else "failed")

    # ------------------------------------------------------------------ the log

    def _changed(self, window: AppWindow, data: bytes, done: Done | None, *, moved: bool = False) -> int:
        document, own = window.document, type(window.app).options
        kept = Kept(
            window.app.name,
            options=window.options if window.options != own else None,
            state=msgspec.json.decode(data) if data != window.saved else UNSET,
            version=document.version,
            lod=document.lod,
        )
        seq = self._record.changed(window.id, kept, done, moved)
        window.saved = data
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
        self.all()
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
        number = self._numbers.get(name, 0) + 1
        while self._record.taken(f"{name}_{number}"):
            number += 1
        self._numbers[name] = number
        return f"{name}_{number}"

    def _open_ids(self) -> tuple[str, ...]:
        return tuple(window.id for window in self.all())

    def reachable(self, app: str = "") -> tuple[str, ...]:
        """The windows that can be acted on, of one app or all; where there is none, how to open one."""
        found = [window.id for window in self.all() if app in ("", window.app.name)]
        return tuple(found or (f"create({name})" for name in ([app] if app else self.apps)))

    def no_window(self, window_id: str, app: str = "") -> Outcome:
        """What somebody is told who acts on a window that is not there."""
        message = say("no window", self.locale, id=window_id)
        return Outcome(False, message, "unknown window", window_id, ways=self.reachable(app))


class _Done(NamedTuple):
    """What came of an action: the app's answer, its data, and whether something outside is new."""

    outcome: Outcome
    saved: bytes = b""
    fresh: bool = False


def _checked_id(window_id: str) -> str:
    """Return a window's id. Raises BadInput if it is no valid text."""
    if not isinstance(window_id, str) or not isinstance(text_part(window_id), Text):
        raise BadInput(f"a window's id is valid text, not {window_id!r}")
    return window_id
