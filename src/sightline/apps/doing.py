"""Doing what a model's call says: opening an app, or acting on a window."""

from typing import TYPE_CHECKING, Any

from sightline.apps.actions import nearest
from sightline.apps.calls import ACTION, CREATE, LAUNCHER, parameters
from sightline.apps.guard import told_by, valid
from sightline.apps.outcome import Outcome
from sightline.errors import UnknownApp
from sightline.values.items import Call
from sightline.values.phrases import say

if TYPE_CHECKING:
    from sightline.apps.host import Host


def do(host: "Host", call: Call) -> Outcome:
    """What comes of a call. Nothing is raised."""
    arguments: dict[str, Any] = call.input if isinstance(call.input, dict) else {}
    if call.name == CREATE.name:
        return _create(host, str(arguments.get("name") or ""), str(arguments.get("target") or ""), call.id)
    if not host.answers(call):
        message = say("no such call", host.locale, name=call.name)
        return Outcome(False, message, "unknown action", ways=(CREATE.name, ACTION.name))
    if call.name != ACTION.name:
        return _typed(host, call, arguments)
    return _act(host, call, arguments.get("action_id"), parameters(arguments))


def _typed(host: "Host", call: Call, arguments: dict[str, Any]) -> Outcome:
    """A tool that is one action of one app."""
    app, action = host.apps.typed()[call.name]
    window_id = arguments.get("window_id")
    window = host.window(window_id) if isinstance(window_id, str) else None
    if window is not None and window.app.name != app:
        return host.no_window(window.id, app)
    params = {name: value for name, value in arguments.items() if name != "window_id"}
    return _act(host, call, action.id, params, app)


def _act(host: "Host", call: Call, action_id: Any, params: dict[str, Any] | None, app: str = "") -> Outcome:
    window_id = call.input.get("window_id") if isinstance(call.input, dict) else None
    if not isinstance(window_id, str) or not isinstance(action_id, str) or not window_id or not action_id:
        return Outcome(False, say("call lacks ids", host.locale), "bad parameters", ways=host.reachable(app))
    if params is None:
        return Outcome(False, say("bad params", host.locale), "bad parameters", window_id)
    return host.act_for_call(window_id, action_id, params, call.id)


def _create(host: "Host", name: str, target: str, call_id: str) -> Outcome:
    if not name and LAUNCHER not in host.apps:
        return Outcome(False, say("which app", host.locale), "bad parameters", ways=tuple(host.apps))
    try:
        window_id = host.open(name or LAUNCHER, target, call_id=call_id)
    except UnknownApp:
        message = say("app unknown", host.locale, name=name)
        return Outcome(False, message, "unknown app", ways=tuple(nearest(name, list(host.apps))))
    except Exception as error:  # an app that does not open is told like one that does not act
        why = valid(told_by(error) or type(error).__name__)
        return Outcome(False, say("open fails", host.locale, why=why), "failed")
    return Outcome(True, say("opened", host.locale, name=name or LAUNCHER, id=window_id), window=window_id)
