"""Windows within their share of the budget: the least important show less first."""

from collections.abc import Callable, Iterable, Mapping

from sightline.apps.elements import xml_text
from sightline.apps.guard import valid
from sightline.apps.window import AppWindow
from sightline.values.items import Lod
from sightline.values.phrases import say

_NAMED = 12  # hidden windows that are named; the others are counted

Size = Callable[[str, str], int]
"""Tokens that a window takes when it shows this text: its id, the text."""


def lower(windows: Iterable[AppWindow], over: int, size: Size) -> None:
    """Show windows at lower levels until so many tokens are saved, or no level is left.

    All go to SUMMARY before any goes to GIST; unimportant ones first, then those that changed longest ago.
    """
    order = sorted((each for each in windows if not each.options.pinned), key=_worth)
    for lod in (Lod.SUMMARY, Lod.GIST):
        for window in order:
            if over <= 0:
                return
            if window.document.lod > lod:
                before = size(window.id, window.render())
                window.document.switch(lod)
                over -= before - size(window.id, window.render())


def spared(
    windows: Iterable[AppWindow], texts: Mapping[str, str], shown: Mapping[str, str], size: Size
) -> dict[str, int]:
    """Tokens that are saved by what gave way, by window: those of ours below their own level, and what is hidden of
    these texts.
    """
    wanted = {**texts, **{each.id: valid(each.whole()) for each in windows if each.document.lod < each.own_lod}}
    other = {window_id: text for window_id, text in wanted.items() if shown.get(window_id) != text}
    return {
        window_id: size(window_id, text) - (size(window_id, shown[window_id]) if window_id in shown else 0)
        for window_id, text in other.items()
    }


def _worth(window: AppWindow) -> tuple[bool, int]:
    return window.options.important, window.place


def order_of_loss(texts: Iterable[str], ours: Iterable[AppWindow]) -> list[str]:
    """Which windows are hidden first: those of others, then ours as above."""
    worth = {window.id: _worth(window) for window in ours}
    return sorted(texts, key=lambda each: worth.get(each, (False, 0)))


def hidden(texts: Mapping[str, str], order: Iterable[str], room: int, size: Size, locale: str) -> dict[str, str]:
    """The texts that fit, in this order of loss; in place of the first that does not, a line that names all of them.

    What is larger than all of the room goes first: it can never be shown.
    """
    shown, out, needed = dict(texts), list[str](), 0
    used = before = sum(size(window_id, text) for window_id, text in shown.items())
    for window_id in sorted(order, key=lambda each: size(each, texts[each]) <= room):
        if used <= room:
            break
        out.append(window_id)
        needed += size(window_id, texts[window_id])
        used -= size(window_id, shown.pop(window_id))
        used -= size(out[0], shown.get(out[0], ""))
        shown[out[0]] = _line(out, needed, locale)
        used += size(out[0], shown[out[0]])
    return shown if used < before else dict(texts)  # a line about a small window may be longer than the window


def _line(out: list[str], needed: int, locale: str) -> str:
    """What stands for windows that are not shown."""
    named = ", ".join(out[:_NAMED]) + (f" (+{len(out) - _NAMED})" if len(out) > _NAMED else "")
    why = say("window hidden", locale, count=len(out), named=named, tokens=needed)
    return f'<Windows hidden="{len(out)}">{xml_text(why)}</Windows>'
