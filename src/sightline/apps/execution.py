"""One action of an app, run so that nothing it does can raise."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.apps.actions import Action
from sightline.apps.guard import attempt, error_text, log_failure
from sightline.apps.outcome import Outcome
from sightline.apps.state import encode_data
from sightline.apps.window import AppWindow
from sightline.errors import InvalidSourceData, Refused
from sightline.values.phrases import say


class Execution(NamedTuple):
    """What came of an action: the outcome, the app's data if it succeeded, and whether `refresh` found a change."""

    outcome: Outcome
    data: bytes = b""
    refreshed: bool = False


def execute(window: AppWindow, action: Action, values: dict[str, Any], locale: str) -> Execution:
    """Run an action with these arguments. An exception becomes an outcome that says what went wrong."""
    clean = window.document.clean
    try:
        answer = getattr(window.app, action.id)(**values)
        if not isinstance(answer, Outcome):
            answer = Outcome(True, str(answer) if answer is not None else say("done", locale))
        outcome = replace(
            answer,
            window=window.id,
            message=clean(str(answer.message)),
            summary=clean(str(answer.summary)),
            ways=tuple(clean(str(way)) for way in answer.ways),
            reason="" if answer.success else str(answer.reason or "failed"),
        )
        refreshed = bool(attempt(window.app.refresh))  # because the action may have changed something outside
        return Execution(outcome, encode_data(window.app), refreshed)
    except (Refused, InvalidSourceData) as refused:
        return Execution(Outcome(False, clean(error_text(refused)), "failed", window.id))
    except Exception as error:  # an app's mistake is reported, not raised, so that the conversation goes on
        log_failure(f"{window.id}.{action.id} failed", error)
        return Execution(Outcome(False, clean(f"{type(error).__name__}: {error_text(error)}"), "failed", window.id))
