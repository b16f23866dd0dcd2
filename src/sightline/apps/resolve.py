"""Finds the action for what a model or user writes: an action's id, an anchor's key, or an anchor's marker."""

from collections.abc import Mapping
from typing import Any

from sightline.apps import anchors
from sightline.apps.actions import CLOSE, SETTINGS, Action, nearest
from sightline.apps.context import AnchorType
from sightline.apps.window import AppWindow, usage
from sightline.errors import Refused
from sightline.values.items import Lod
from sightline.values.phrases import say


class UnavailableAction(Refused):
    """An action that cannot be done in a window. `ways`: what can be done instead."""

    def __init__(self, reason: str, message: str, ways: tuple[str, ...]) -> None:
        super().__init__(message)
        self.reason, self.ways = reason, ways


def resolve_action(
    window: AppWindow, action_id: str, params: Mapping[str, Any], locale: str
) -> tuple[Action, dict[str, Any]]:
    """Return the action and its arguments. For an anchor on an element, the first argument is the element's id.

    Raises:
        UnavailableAction: the window has no such action; says why, and which there are.
    """
    registered, key, arguments = window.context().anchors, action_id, dict(params)
    if (marker := anchors.read(action_id)) is not None:
        key = anchors.resolve(marker, registered) or marker.default_key
        arguments = {**marker.values, **arguments}
        if marker.kind == "ref":  # it only points, whatever it points at
            raise _reference(window, key, locale)
    if key in window.actions:
        return window.actions[key], arguments
    if key in SETTINGS:
        return SETTINGS[key], arguments
    if key == CLOSE.id:
        raise UnavailableAction("not closable", say("not closable", locale, id=window.id), _usages(window))
    anchor = registered.get(key)
    if anchor is None:
        raise _not_registered(window, key, locale)
    name = key.removesuffix(f"-{anchor.target}")
    if anchor.type is AnchorType.REFERENCE or name not in window.actions:
        raise _reference(window, key, locale)
    action = window.actions[name]
    return action, {**arguments, **({action.parameters[0].name: anchor.target} if action.parameters else {})}


def _reference(window: AppWindow, key: str, locale: str) -> UnavailableAction:
    return UnavailableAction("reference", say("only a reference", locale, name=key), _usages(window))


def _not_registered(window: AppWindow, key: str, locale: str) -> UnavailableAction:
    ways = _usages(window, key)
    if any(key in window.document.content_at(lod).anchors for lod in Lod if lod > window.document.lod):
        lod = window.document.lod.name.lower()
        return UnavailableAction("out of view", say("out of view", locale, name=key, lod=lod), ways)
    if key in window.past_anchors:
        return UnavailableAction("stale", say("stale anchor", locale, name=key), ways)
    return UnavailableAction("unknown action", say("unknown anchor", locale, name=key), ways)


def _usages(window: AppWindow, name: str = "") -> tuple[str, ...]:
    """Return how the window's actions are called: those with a similar name if there are any, else all."""
    return tuple(usage(window.actions[action_id]) for action_id in nearest(name, list(window.actions)))
