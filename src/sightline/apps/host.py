"""The host of a session's apps: opens them in windows, acts on these, closes them, restores them after a restart."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from sightline.apps import registry, window_budget
from sightline.apps.actions import CLOSE, SET_FORM, SETTINGS, Action, bind, nearest
from sightline.apps.app import App, Options
from sightline.apps.calls import ACTION, CREATE, LAUNCHER, parameters
from sightline.apps.context import Round
from sightline.apps.events import Event, Events
from sightline.apps.execution import copy_attributes, current_data, encode_data, execute, restore_attributes
from sightline.apps.guard import attempt, error_text, log_failure, valid_text
from sightline.apps.outcome import Outcome
from sightline.apps.protocols import Window, Windows
from sightline.apps.resolve import UnavailableAction, resolve_action
from sightline.apps.shared_windows import SharingWindowLog
from sightline.apps.window import (
    FORMS,
    AppWindow,
    SavedWindow,
    UnavailableWindow,
    WindowStyle,
    check_id,
    has_actions,
    usage,
    window_tools,
)
from sightline.apps.window_log import ActionRecord, WindowLog, options_to_log
from sightline.apps.window_notes import ever_opened, is_open_at, last_closed, last_item, saved_at
from sightline.errors import BadInput, Conflict, Refused, UnknownApp, VersionMismatch
from sightline.files.folders import PROJECT, Folders
from sightline.log.annotations import WindowNote
from sightline.log.journal import retry_on_conflict
from sightline.values.clock import Clock
from sightline.values.decoders import convert
from sightline.values.items import Call, Lod, ToolDefinition
from sightline.values.lock import locked
from sightline.values.phrases import say
from sightline.values.recall_tools import LEVELS

_ATTEMPTS = 3  # to open a window while others write
_SHARED_ATTEMPTS = 100  # to act on a window that many write to


class Host:
    """The apps of one session and their windows: `session.windows`."""

    def __init__(
        self,
        log: WindowLog,
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
        self._log, self._session_id, self.elsewhere = log, session_id, elsewhere
        self.clock, self.project, self.folders = clock, project, folders
        self.apps = registry.Apps()
        self.events = Events()
        self._style = WindowStyle()
        self._windows: dict[str, AppWindow | UnavailableWindow] = {}
        self.in_text = True  # whether `<tool_call>` in a reply's text is carried out, if the model has no tools
        self.spared: dict[str, int] = {}  # tokens that lowered or hidden windows saved in the last `shown`

    # ------------------------------------------------------------------ apps

    def register(self, *apps: type[App] | str) -> None:
        """Let these apps be opened: classes, or names of those that ship or are installed.

        Raises:
            UnknownApp: no installed app has this name.
            BadInput: what is no app, or one whose actions no model could be told about.
        """
        for app in apps:
            self.apps.add(registry.app(app) if isinstance(app, str) else app)
        self._windows = {name: window for name, window in self._windows.items() if isinstance(window, AppWindow)}

    def tools(self, *, typed: bool = False) -> tuple[ToolDefinition, ...]:
        """Return the tools for native tool calls: `create` and `action`; if `typed`, also one for each action.

        They depend only on the registered apps, so opening and closing windows leaves the prompt prefix unchanged.
        """
        own = [action.tool(app) for app, action in self.apps.typed().values()] if typed else []
        return (*window_tools(self.apps.values(), self._style), *own)

    def instructions(self) -> str:
        """Return what a model without native tool calls is told, in the session's language."""
        about = "\n".join(f"- {name}: {app.describe(self.locale)}" for name, app in self.apps.items())
        launcher = say("or the launcher", self.locale) if LAUNCHER in self.apps else ""
        more = say("how to go on", self.locale) if self._log.leaves_lines else ""
        return say("how to act", self.locale, apps=about, launcher=launcher, more=more)

    # ------------------------------------------------------------------ windows

    def show_as(self, locale: str, form: str, *, window_id: str = "") -> None:
        """Show every window in this language and written this way from now on; with a `window_id`, write one so.

        Raises BadInput for a window that is not open here, or an unknown form for one.
        """
        if window_id:
            one = self._open_window(window_id)
            if form not in ("", *FORMS):
                raise BadInput(f'a window is written as one of {", ".join(FORMS)}, not {form!r}; "": as all others')
            one.show_as(one.style, form)  # type: ignore[arg-type]  # one of FORMS
            self._note_changed(one, one.logged_data, None)
            return
        self._style = WindowStyle(locale, next((written for written in FORMS if written == form), "xml"))
        for window in self._windows.values():
            if isinstance(window, AppWindow):
                window.show_as(self._style)

    @property
    def locale(self) -> str:
        return self._style.locale

    def get(self, window_id: str) -> Window | None:
        """Return an open window as it is now; None if there is no such window."""
        if (window := self._windows.get(window_id)) is not None:
            with suppress(VersionMismatch):  # another writer has changed it: it is rendered anew, from the log
                self._log.check(window_id, window.log_offset)
                return window
        saved = self._log.saved(window_id)
        if saved is not None and saved.app in self.apps:
            window = self._windows[window_id] = self._restore(window_id, saved)
            return window
        other = self.elsewhere.get(window_id) if self.elsewhere is not None else None
        if other is None and saved is not None:
            return UnavailableWindow(window_id, say("app gone", self.locale, name=saved.app), locale=self.locale)
        return other

    def live(self, *, closed: bool = False) -> Sequence[str]:
        """Return the ids of all open windows, also of those that this host did not open; with `closed`, of all."""
        return ever_opened(self._log.journal) if closed else self._log.live()

    def window(self, window_id: str) -> AppWindow | None:
        """Return an open window of a registered app; None for any other."""
        window = self.get(window_id) if window_id in self._log.live() else None
        return window if isinstance(window, AppWindow) else None

    def all(self) -> list[AppWindow]:
        """Return the open windows of registered apps, in the order they were opened."""
        return [window for window in map(self.get, self._log.live()) if isinstance(window, AppWindow)]

    @locked
    def open(self, /, name: str, target: str = "", *, continues: str = "", call_id: str = "", **options: Any) -> str:
        """Open an app in a new window, which every payload shows from the next call on. Return the window's id.

        An app with at most one window keeps the one it has. Options: closable, compact, append, important, pinned, lod,
        form. `continues`: the handle of a closed window of this app, whose last state the new one begins with.
        `call_id` is the model's call that asked for it.

        Raises:
            UnknownApp: no such app is registered.
            Refused: the app does not open for this target, or there is no such closed window of it.
            BadInput: an option that windows do not have.
        """
        if name not in self.apps:
            raise UnknownApp(name, list(self.apps))
        kind = self.apps[name]
        try:
            own = convert(msgspec.to_builtins(replace(kind.options, **options)), Options)
        except (TypeError, msgspec.ValidationError) as error:
            raise BadInput(f"options of a window: {error}; there are {', '.join(Options.__struct_fields__)}") from error
        self._log.catch_up()
        is_single = kind.single or self._log.shared(name) is not None
        if is_single and name in self._log.live():
            if self.window(name) is not None and not continues:
                return name
            raise Refused(say("not continued" if continues else "not reopened", self.locale, id=name))
        shared = self._log.shared(name)
        app, origin = self._first_state(kind, valid_text(target), continues, shared)
        data = encode_data(app)

        def note() -> tuple[AppWindow, int]:
            window = self._make_window(name if is_single else self._log.new_id(name), app, own)
            state = msgspec.UNSET if origin else msgspec.json.decode(data)
            saved = SavedWindow(name, app.target, options_to_log(own, kind), state, shared=shared is not None)
            saved = replace(saved, version=window.document.version)
            return window, self._log.note_opened(window.id, saved, call_id, origin)

        try:  # others may write meanwhile, perhaps a window of the same id
            window, seq = retry_on_conflict(note, self._log.catch_up, _ATTEMPTS)
        except Conflict as conflict:
            raise Refused(say("changed meanwhile", self.locale)) from conflict
        if shared is None:  # a shared one is made from its own log
            self._mark_logged(window, data)
            self._windows[window.id] = window
        self._publish(Event("opened", seq, window.id, name, target=app.target))
        return window.id

    def _first_state(self, kind: type[App], target: str, continues: str, shared: WindowLog | None) -> tuple[App, str]:
        """Return a new app, or one with the data of the window that it `continues`; and the item that has the data."""
        if shared is not None:
            if not kind.shareable:
                raise Refused(say("not shareable", self.locale, name=kind.name))
            if continues:
                raise Refused(say("not continued", self.locale, id=kind.name))
        if not continues:
            app = self._make_app(kind, target)
            app.opened()
            return app, ""
        closed = saved_at(self._log.journal, continues)
        if closed is None or closed[1].app != kind.name or closed[0].id in self._log.live():
            raise Refused(say("no closed window", self.locale, name=kind.name, handle=continues))
        app = self._make_app(kind, closed[1].target)
        app.restore(closed[1].state)
        return app, closed[1].origin or continues.removeprefix("#")

    @locked
    def show(self, window_id: str) -> None:
        """Show a live window that another host opened, from here on. The log holds its id, never its text."""
        self._log.write(WindowNote(check_id(window_id)))

    @locked
    def close(self, window_id: str, summary: str = "", *, call_id: str = "") -> None:
        """Close a window: no later payload shows it. `summary`: what to remember of it.

        In a session it leaves a line with the summary and a handle, by which its last state can be read and an app
        opened again (`continues`).
        """
        summary, window_id = valid_text(summary), check_id(window_id)
        window, saved = self.window(window_id), self._log.saved(window_id)
        line = self._closing_line(window_id, saved, summary) if self._log.leaves_lines else ""
        self._windows.pop(window_id, None)
        seq = self._log.note_closed(window_id, summary, call_id, line)  # every reference is obsolete then
        if window is not None:
            attempt(window.app.closed)
        if saved is not None:
            self._publish(Event("closed", seq, window_id, saved.app, summary=summary))

    def _closing_line(self, window_id: str, saved: SavedWindow | None, summary: str) -> str:
        """Return the line that a closed window leaves; empty if nothing could be done with it."""
        told = " ".join(summary.split())
        if saved is None or window_id not in self._log.live():
            return say("window closed", self.locale, id=window_id, handle="", summary=told) if told else ""
        options = saved.options or (self.apps[saved.app].options if saved.app in self.apps else Options())
        handle = (
            say("last state", self.locale, handle=last_item(self._log.journal, window_id))
            if has_actions(options)
            else ""
        )
        if not handle and not told:
            return ""
        return say("window closed", self.locale, id=window_id, handle=handle, summary=told).rstrip()

    def text_at(self, item_id: str) -> str:
        """Return the window that this item shows or showed, in full: as it is now or was when it was closed.

        It is made from the data in the log. Empty if the item shows no window of an app.
        """
        if (window_at := saved_at(self._log.journal, item_id)) is None:
            return ""
        first, saved = window_at
        is_open = is_open_at(self._log.journal, item_id, first.id)
        if is_open:
            saved = self._log.saved(first.id) or saved
        elif isinstance(self._log, SharingWindowLog):
            saved = self._log.with_last_state(first.id, saved)
        window = self._restore(first.id, saved) if saved.app in self.apps else None
        if isinstance(window, AppWindow):
            return valid_text(window.render_whole(is_open=is_open))
        why = say("app gone", self.locale, name=saved.app)
        return "\n".join([why, msgspec.json.format(msgspec.json.encode(saved.state)).decode()])

    def lod(
        self, window_id: str, lod: Lod | str, *, by: Literal["host", "user", "model"] = "host", holds: bool = True
    ) -> None:
        """Show a window at this level from now on: a `Lod`, or gist, summary, full or out, with which it is only named.

        A level that the host or the user set holds: the model cannot change it, unless they set it with `holds=False`.

        Raises:
            BadInput: the window is not open here, or there is no such level.
            Refused: the model may not change this level.
        """
        level = lod.name.lower() if isinstance(lod, Lod) else lod
        if level not in LEVELS:
            raise BadInput(f"a window's level is one of {', '.join(LEVELS)}, not {lod!r}")
        window = self._open_window(window_id)
        if by == "model" and (window.options.held or window.options.pinned):
            raise Refused(say("level held", self.locale, id=window_id))
        is_out, held = level == "out", holds and by != "model"
        own_lod = window.own_lod if is_out else Lod[level.upper()]
        window.own_lod = own_lod
        window.options = replace(window.options, lod=own_lod, out=is_out, held=held, asked=by == "model")
        window.document.switch(own_lod)
        self._note_changed(window, window.logged_data, None)

    def _open_window(self, window_id: str) -> AppWindow:
        """Return an open window of a registered app. Raises BadInput."""
        if (window := self.window(window_id)) is None:
            open_ids = tuple(open_window.id for open_window in self.all())
            raise BadInput(f"no open window {window_id!r} of a registered app; open are: {open_ids}")
        return window

    def _set(self, window_id: str, action: Action, value: str, by_model: bool) -> Outcome:
        """Set the level of a window, or how it is written, as an action of the model or of the host."""
        try:
            if action is SET_FORM:
                self.show_as(self.locale, value, window_id=window_id)
            else:
                self.lod(window_id, value, by="model" if by_model else "host")
        except (Refused, Conflict) as error:
            message = str(error) if isinstance(error, Refused) else say("changed meanwhile", self.locale)
            return Outcome(False, message, "failed", window_id)
        return Outcome(
            True, say("set for window", self.locale, id=window_id, name=action.id, value=value), window=window_id
        )

    def shown(self, budget: int | None, size: window_budget.Size) -> dict[str, str]:
        """Return what every open window shows now, by id, within `budget` tokens in all.

        Pinned windows are shown as they are and do not count. Without a budget none is lowered. A lowered window stays
        so until it is acted on, once `note` has written that to the log. `spared` has the tokens saved.
        """
        self._log.catch_up(own=False)
        self.refresh()
        live = {window_id: window for window_id in self._log.live() if (window := self.get(window_id)) is not None}
        texts, self.spared = window_budget.fit(live, budget, size, self.locale)
        return texts

    def refresh(self) -> None:
        """Let every open app take in what changed outside."""
        for window in self.all():
            if attempt(window.app.refresh, f"{window.id} cannot refresh"):
                window.document.change()

    def changed(self, app: App) -> bool:
        """Tell that an app's data have changed without an action. Return whether a window shows the app."""
        window = next((window for window in self.all() if window.app is app), None)
        if window is not None:
            window.document.change()
            self.note()  # at once, because the session may end before it is composed again
        return window is not None

    def note(self) -> None:
        """Write to the log which windows show something that it does not say yet."""
        for window in self.all():
            (version, lod), now = window.logged, window.document.version
            # Another level and back is no change.
            if (version.major, version.patch, lod) != (now.major, now.patch, window.document.lod):
                moved = version.major != now.major and window.options.append
                seq = self._note_changed(window, current_data(window), None, moved=moved)
                self._publish(Event("refreshed", seq, window.id, window.app.name))

    # ------------------------------------------------------------------ acting

    def act(self, window_id: str, action_id: str, /, **params: Any) -> Outcome:
        """Do something in a window, as the model does: an action by its id, or an anchor by its key or its text.

        Nothing is raised. If it cannot be done, the outcome says why, and what can. A failed action leaves the app's
        data as they were.
        """
        return self._act(window_id, action_id, params, None)

    @locked
    def _act(self, window_id: str, action_id: str, params: Mapping[str, Any], call: Call | None) -> Outcome:
        """Do what a model's call asks for, or the host itself if there is none."""
        call_id = call.id if call is not None else ""
        self._log.catch_up()
        window = self.window(window_id)
        if window is None:
            unavailable = window_id in self._log.live() and isinstance(self.get(window_id), UnavailableWindow)
            if unavailable and action_id == CLOSE.id:
                return self._close(window_id, str(params.get("summary") or ""), call_id)
            return self._no_window(window_id)
        try:
            action, arguments = resolve_action(window, action_id, params, self.locale)
            values = bind(action, arguments, self.locale)
        except UnavailableAction as error:
            ways = error.ways
            if error.reason == "out of view":  # a higher level offers it: show that level from the next call on
                window.document.switch(window.own_lod)
                with suppress(Conflict):  # others are writing: then it stays as they left it
                    self._note_changed(window, window.logged_data, None)
                ways = (say("raised", self.locale), *ways)
            return Outcome(False, str(error), error.reason, window_id, ways=ways)
        except Refused as refused:
            return Outcome(False, str(refused), "bad parameters", window_id, ways=(usage(action),))
        if action is CLOSE:
            return self._close(window_id, values.get("summary", ""), call_id)
        if action is SETTINGS.get(action.id):
            return self._set(window_id, action, str(next(iter(values.values()))), call is not None)
        return self._run(window, action, values, call_id)

    def _close(self, window_id: str, summary: str, call_id: str) -> Outcome:
        self.close(window_id, summary, call_id=call_id)
        return Outcome(True, say("closed", self.locale, id=window_id), window=window_id, closes=True)

    def _run(
        self, window: AppWindow, action: Action, values: dict[str, Any], call_id: str, attempt: int = 1
    ) -> Outcome:
        attributes, before = copy_attributes(window.app), current_data(window)
        outcome, data, refreshed = execute(window, action, values, self.locale)
        if outcome.success:
            window.document.switch(window.own_lod)  # because the model is looking at it
            if refreshed or data != window.logged_data:
                window.document.change()
            window.document.executed()
        else:
            data = before
            restore_attributes(window.app, attributes, before)
        summary = outcome.summary or outcome.message
        done = ActionRecord(
            Round(action.id, summary, datetime.fromtimestamp(self.clock() / 1000, UTC)), outcome.success, call_id
        )
        window.document.record(done.round)
        try:
            seq = self._note_changed(window, data, done, moved=outcome.success and window.options.append)
        except Conflict:
            self._windows.pop(window.id, None)  # it is restored from what the log has now
            self._log.catch_up()
            is_shared = self._log.shared(window.app.name) is not None and attempt < _SHARED_ATTEMPTS
            if is_shared and (newer := self.window(window.id)) is not None:  # the data are all that an action changes
                return self._run(newer, action, values, call_id, attempt + 1)
            return Outcome(False, say("changed meanwhile", self.locale), "stale", window.id)
        self._publish(Event("acted", seq, window.id, window.app.name, outcome.success, action.id, summary=summary))
        if outcome.closes:
            self.close(window.id, outcome.summary)
        return outcome

    # ------------------------------------------------------------------ the model's calls

    def answers(self, call: Call) -> bool:
        """Return whether a call is for a window here."""
        return bool(self.apps) and (call.name in (CREATE.name, ACTION.name) or call.name in self.apps.typed())

    def call(self, call: Call, *, resumed: bool = False) -> Outcome:
        """Carry out a model's call: open an app, or act on a window. Nothing is raised.

        `resumed`: an earlier run may have carried it out. Then its outcome is returned, and nothing is done twice.
        """
        if resumed and (result := self._log.call_result(call.id)) is not None:
            return Outcome(result[0], result[1], "" if result[0] else "failed")
        arguments = call.arguments
        if call.name == CREATE.name:
            return self._create(call, *(str(arguments.get(key) or "") for key in ("name", "target", "from")))
        if not self.answers(call):
            ways = (CREATE.name, ACTION.name)
            return Outcome(False, say("no such call", self.locale, name=call.name), "unknown action", ways=ways)
        app, window_id, action_id = "", arguments.get("window_id"), arguments.get("action_id")
        params = parameters(arguments)
        if call.name != ACTION.name:  # a tool that stands for one action of one app
            app, action = self.apps.typed()[call.name]
            action_id, params = action.id, {name: value for name, value in arguments.items() if name != "window_id"}
            window = self.window(window_id) if isinstance(window_id, str) else None
            if window is not None and window.app.name != app:
                return self._no_window(window.id, app)
        if not isinstance(window_id, str) or not isinstance(action_id, str) or not window_id or not action_id:
            return Outcome(False, say("call lacks ids", self.locale), "bad parameters", ways=self._reachable(app))
        if params is None:
            return Outcome(False, say("bad params", self.locale), "bad parameters", window_id)
        return self._act(window_id, action_id, params, call)

    def _create(self, call: Call, name: str, target: str, continues: str) -> Outcome:
        if not name and LAUNCHER not in self.apps:
            return Outcome(False, say("which app", self.locale), "bad parameters", ways=tuple(self.apps))
        closed = (
            last_closed(self._log.journal, name, self._log.live()) if self._log.leaves_lines and not continues else ""
        )
        try:
            window_id = self.open(name or LAUNCHER, target, continues=continues, call_id=call.id)
        except UnknownApp:
            near = tuple(nearest(name, list(self.apps)))
            return Outcome(False, say("app unknown", self.locale, name=name), "unknown app", ways=near)
        except Exception as error:  # an app that fails to open is reported like an action that fails
            why = valid_text(error_text(error) or type(error).__name__)
            return Outcome(False, say("open fails", self.locale, why=why), "failed")
        message = say("opened", self.locale, name=name or LAUNCHER, id=window_id)
        offer = (say("go on from", self.locale, name=name, handle=closed),) if closed else ()
        return Outcome(True, message, window=window_id, ways=offer)

    def _no_window(self, window_id: str, app: str = "") -> Outcome:
        message = say("no window", self.locale, id=window_id)
        return Outcome(False, message, "unknown window", window_id, ways=self._reachable(app))

    def _reachable(self, app: str) -> tuple[str, ...]:
        """Return the windows that can be acted on, of one app or all; if there is none, how to open one."""
        window_ids = [window.id for window in self.all() if app in ("", window.app.name)]
        return tuple(window_ids or (f"create({name})" for name in ([app] if app else self.apps)))

    # ------------------------------------------------------------------ the log

    def _note_changed(self, window: AppWindow, data: bytes, done: ActionRecord | None, *, moved: bool = False) -> int:
        saved = SavedWindow(
            window.app.name,
            options=options_to_log(window.options, type(window.app)),
            state=msgspec.json.decode(data) if data != window.logged_data else msgspec.UNSET,
            version=window.document.version,
            lod=window.document.lod,
        )
        seq = self._log.note_changed(window.id, saved, done, moved)
        self._mark_logged(window, data)
        return seq

    def _mark_logged(self, window: AppWindow, data: bytes) -> None:
        window.logged_data, window.logged = data, (window.document.version, window.document.lod)
        window.log_offset = self._log.newest_offset(window.id)

    def _restore(self, window_id: str, saved: SavedWindow) -> AppWindow | UnavailableWindow:
        kind = self.apps[saved.app]
        try:
            app = self._make_app(kind, saved.target)
            app.restore(saved.state)
        except Exception as error:  # another version of the app wrote it; the log keeps what was saved
            log_failure(f"{window_id} cannot be restored", error)
            why = say("not restored", self.locale, name=saved.app, why=valid_text(str(error)))
            return UnavailableWindow(window_id, why, saved.log_offset, self.locale)
        return self._make_window(window_id, app, saved.options or kind.options, saved)

    def _make_window(self, window_id: str, app: App, options: Options, saved: SavedWindow | None = None) -> AppWindow:
        return AppWindow(
            window_id, app, options, self._style, self._log, session_id=self._session_id, clock=self.clock, saved=saved
        )

    def _make_app(self, kind: type[App], target: str) -> App:
        app = kind()
        app.host, app.target = self, target
        return app

    def _publish(self, event: Event) -> None:
        """Tell all subscribers. `all()` restores windows after a restart, so that their apps have subscribed, too."""
        self.all()
        self.events.publish(event)
