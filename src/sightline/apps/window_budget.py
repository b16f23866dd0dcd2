"""The windows' share of the token budget: when they need more, the least important show less first."""

from collections.abc import Callable, Iterable, Mapping

from sightline.apps.elements import xml_text
from sightline.apps.guard import valid_text
from sightline.apps.protocols import Window
from sightline.apps.window import AppWindow
from sightline.values.items import Lod
from sightline.values.phrases import say

_NAMED = 12  # hidden windows that are named; the others are counted

# Tokens that a window takes when it shows this text: its id, the text.
Size = Callable[[str, str], int]


def fit(
    windows: Mapping[str, Window], budget: int | None, size: Size, locale: str
) -> tuple[dict[str, str], dict[str, int]]:
    """Return what windows show within `budget` tokens, and the tokens that each lowered or hidden one saves.

    Pinned ones are shown in full and beyond that. Without a budget there is no limit.
    """
    out = [window.id for window in windows.values() if isinstance(window, AppWindow) and window.options.out]
    windows = {window_id: window for window_id, window in windows.items() if window_id not in out}
    ours = [window for window in windows.values() if isinstance(window, AppWindow)]
    for window in ours:
        # Undo the levels of a preview with a smaller budget: only a level in the log is permanent.
        window.document.switch(window.own_lod if budget is None else window.logged[1])
    texts = fitted = _render(windows)
    pinned = {window.id for window in ours if window.options.pinned}
    over = sum(size(window_id, text) for window_id, text in texts.items() if window_id not in pinned) - (budget or 0)
    if budget is not None and over > 0:
        lower(ours, over, size)
        texts = _render(windows)
        free = {window_id: text for window_id, text in texts.items() if window_id not in pinned}
        importance = {window.id: _importance(window) for window in ours}
        order = sorted(free, key=lambda window_id: importance.get(window_id, (False, 0)))  # windows of others go first
        fitting = hide(free, order, budget, size, locale)
        fitted = {
            window_id: fitting.get(window_id, text)
            for window_id, text in texts.items()
            if window_id in pinned or window_id in fitting
        }
    # Each window of ours below its own level saves tokens, and so does each hidden one of these texts.
    lowered = {
        window.id: valid_text(window.render_own_level()) for window in ours if window.document.lod < window.own_lod
    }
    saved = {
        window_id: size(window_id, text) - (size(window_id, fitted[window_id]) if window_id in fitted else 0)
        for window_id, text in {**texts, **lowered}.items()
        if fitted.get(window_id) != text
    }
    return (fitted | {out[0]: _line(out, "window out", locale)} if out else fitted), saved


def _render(windows: Mapping[str, Window]) -> dict[str, str]:
    return {window_id: valid_text(window.render()) for window_id, window in windows.items()}


def _importance(window: AppWindow) -> tuple[bool, int]:
    return window.options.important, window.log_offset


def lower(windows: Iterable[AppWindow], over: int, size: Size) -> None:
    """Show windows at lower levels until `over` tokens are saved, or no level is left.

    All go to SUMMARY before any goes to GIST; unimportant ones first, then those that changed longest ago.
    """
    order = sorted((window for window in windows if not window.options.pinned), key=_importance)
    for lod in (Lod.SUMMARY, Lod.GIST):
        for window in order:
            if over <= 0:
                return
            if window.document.lod > lod:
                before = size(window.id, window.render())
                window.document.switch(lod)
                over -= before - size(window.id, window.render())


def hide(texts: Mapping[str, str], order: Iterable[str], budget: int, size: Size, locale: str) -> dict[str, str]:
    """Return the texts that fit. Windows are hidden in this order, and one line in place of the first names them all.

    A window that is larger than the whole budget is hidden before all others, because it can never be shown.
    """
    visible, hidden, needed = dict(texts), list[str](), 0
    used = before = sum(size(window_id, text) for window_id, text in visible.items())
    for window_id in sorted(order, key=lambda of_window: size(of_window, texts[of_window]) <= budget):
        if used <= budget:
            break
        hidden.append(window_id)
        needed += size(window_id, texts[window_id])
        used -= size(window_id, visible.pop(window_id))
        used -= size(hidden[0], visible.get(hidden[0], ""))
        visible[hidden[0]] = _line(hidden, "window hidden", locale, needed)
        used += size(hidden[0], visible[hidden[0]])
    return visible if used < before else dict(texts)  # the line may be longer than the small window that it names


def _line(hidden: list[str], key: str, locale: str, needed: int = 0) -> str:
    named = ", ".join(hidden[:_NAMED]) + (f" (+{len(hidden) - _NAMED})" if len(hidden) > _NAMED else "")
    why = say(key, locale, count=len(hidden), named=named, tokens=needed)
    return f'<Windows hidden="{len(hidden)}">{xml_text(why)}</Windows>'
