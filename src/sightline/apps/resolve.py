"""What somebody who acts on a window means: an action by its id, or an anchor by its key or as it is written."""

from collections.abc import Mapping
from typing import Any

from sightline.apps import anchors
from sightline.apps.actions import CLOSE, Action, nearest
from sightline.apps.context import Anchor, AnchorType
from sightline.apps.outcome import Outcome
from sightline.apps.window import AppWindow, usage
from sightline.errors import Refused
from sightline.values.items import Lod
from sightline.values.phrases import say


class Declined(Refused):
    """An action that cannot be reached, and what can."""

    def __init__(self, reason: str, message: str, ways: tuple[str, ...]) -> None:
        super().__init__(message)
        self.reason, self.ways = reason, ways

    def outcome(self, window_id: str) -> Outcome:
        """As whoever tried it is told."""
        return Outcome(False, str(self), self.reason, window_id, ways=self.ways)


def meant(window: AppWindow, said: str, params: Mapping[str, Any], locale: str) -> tuple[Action, dict[str, Any]]:
    """The action that is meant, and its arguments: of an anchor on an element, that element is the first.

    Raises:
        Declined: nothing here is meant; says why, and what there is.
    """
    registered, key, given = window.context().anchors, said, dict(params)
    if (marker := anchors.read(said)) is not None:
        key = _named(marker, registered)
        given = {**marker.values, **given}
        if marker.kind == "ref":  # it points, whatever it points at
            raise Declined("reference", say("only a reference", locale, name=key), known(window))
    if key in window.actions:
        return window.actions[key], given
    if key == CLOSE.id:
        raise Declined("not closable", say("not closable", locale, id=window.id), known(window))
    anchor = registered.get(key)
    if anchor is None:
        raise _out_of_reach(window, key, locale)
    name = key.removesuffix(f"-{anchor.target}")
    if anchor.type is AnchorType.REFERENCE or name not in window.actions:
        raise Declined("reference", say("only a reference", locale, name=key), known(window))
    action = window.actions[name]
    return action, {**given, **({action.parameters[0].name: anchor.target} if action.parameters else {})}


def _named(marker: anchors.Marker, registered: Mapping[str, Anchor]) -> str:
    """The key of what a marker says; where nothing is registered for it, the key it would have."""
    found = anchors.resolve(marker, registered)
    if found is not None:
        return found
    return anchors.key(marker.kind, marker.name) if marker.kind in ("fold", "expand") else marker.name


def _out_of_reach(window: AppWindow, key: str, locale: str) -> Declined:
    ways = known(window, key)
    if any(key in window.document.content_at(lod).anchors for lod in Lod if lod > window.document.lod):
        lod = window.document.lod.name.lower()
        return Declined("out of view", say("out of view", locale, name=key, lod=lod), ways)
    if key in window.past:
        return Declined("stale", say("stale anchor", locale, name=key), ways)
    return Declined("unknown action", say("unknown anchor", locale, name=key), ways)


def known(window: AppWindow, name: str = "") -> tuple[str, ...]:
    """What can be done in a window; the likeliest where a name is near one."""
    return tuple(usage(window.actions[each]) for each in nearest(name, list(window.actions)))
