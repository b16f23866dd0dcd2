"""One action of an app, run so that nothing it does can raise, and the app's data before and after it."""

from copy import deepcopy
from typing import Any

import msgspec

from sightline.apps.actions import Action
from sightline.apps.app import App, is_data
from sightline.apps.guard import attempt, error_text, log_failure
from sightline.apps.outcome import Outcome
from sightline.apps.window import AppWindow
from sightline.errors import InvalidSourceData, Refused
from sightline.values.phrases import say


def execute(window: AppWindow, action: Action, values: dict[str, Any], locale: str) -> tuple[Outcome, bytes, bool]:
    """Run an action with these arguments. An exception becomes an outcome that says what went wrong.

    Return the outcome, the app's data if it succeeded, and whether `refresh` found a change.
    """
    clean = window.document.clean
    try:
        answer = getattr(window.app, action.id)(**values)
        if not isinstance(answer, Outcome):
            answer = Outcome(True, str(answer) if answer is not None else say("done", locale))
        outcome = msgspec.structs.replace(
            answer,
            window=window.id,
            message=clean(str(answer.message)),
            summary=clean(str(answer.summary)),
            ways=tuple(clean(str(way)) for way in answer.ways),
            reason="" if answer.success else str(answer.reason or "failed"),
        )
        refreshed = bool(attempt(window.app.refresh))  # because the action may have changed something outside
        return outcome, encode_data(window.app), refreshed
    except (Refused, InvalidSourceData) as refused:
        why = error_text(refused)
    except Exception as error:  # an app's mistake is reported, not raised, so that the conversation goes on
        log_failure(f"{window.id}.{action.id} failed", error)
        why = f"{type(error).__name__}: {error_text(error)}"
    return Outcome(False, clean(why), "failed", window.id), b"", False


def encode_data(app: App) -> bytes:
    """Return an app's data as the log stores them. Raises InvalidSourceData."""
    try:
        return msgspec.json.encode(app.save())
    except Exception as error:  # whatever an app's own save() does
        raise InvalidSourceData(
            f"{app.name} cannot be saved: {error}; "
            "override save() and restore(), or begin the name of what is not to be kept with '_'"
        ) from error


def current_data(window: AppWindow) -> bytes:
    """Return a window's data as they are now, or as the log has them if they cannot be saved."""
    data = attempt(lambda: encode_data(window.app))
    return window.logged_data if data is None else data


def copy_attributes(app: App) -> dict[str, Any]:
    """Return all attributes of an app for `restore_attributes`: its data copied, the others as they are."""
    return {name: _copy(value) if is_data(name) else value for name, value in vars(app).items()}


def _copy(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # what cannot be copied cannot be saved either, so it is no data
        return value


def restore_attributes(app: App, attributes: dict[str, Any], data: bytes) -> None:
    """Set all attributes as they were. An app with its own `restore` also derives again what it needs from its data."""
    vars(app).clear()
    vars(app).update(attributes)
    if type(app).restore is not App.restore:
        attempt(lambda: app.restore(msgspec.json.decode(data)))
