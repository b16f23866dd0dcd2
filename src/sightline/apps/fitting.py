"""Windows within their share of the budget: the least important show less first."""

from collections.abc import Callable, Iterable, Mapping

from sightline.apps.elements import xml_attributes, xml_text
from sightline.apps.window import AppWindow
from sightline.items import Lod
from sightline.wording import say


def lower(windows: Iterable[AppWindow], over: int, tokens: Callable[[str], int]) -> None:
    """Show windows at lower levels until so many tokens are saved, or no level is left.

    All go to SUMMARY before any goes to GIST; unimportant ones first, then those that changed longest ago.
    """
    order = sorted(
        (each for each in windows if not each.options.pinned), key=lambda each: (each.options.important, each.place)
    )
    for lod in (Lod.SUMMARY, Lod.GIST):
        for window in order:
            if over <= 0:
                return
            if window.document.lod > lod:
                before = tokens(window.render())
                window.document.switch(lod)
                over -= before - tokens(window.render())


def hidden(texts: Mapping[str, str], over: int, tokens: Callable[[str], int], locale: str) -> dict[str, str]:
    """The texts, the largest replaced by a line that says so, until so many tokens are saved."""
    shown = dict(texts)
    for window_id in sorted(shown, key=lambda each: -tokens(shown[each])):
        if over <= 0:
            break
        needed = tokens(shown[window_id])
        why = xml_text(say("window hidden", locale, tokens=needed))
        line = f"<Window{xml_attributes({'id': window_id, 'hidden': 'true'})}>{why}</Window>"
        if tokens(line) < needed:
            shown[window_id] = line
            over -= needed - tokens(line)
    return shown
