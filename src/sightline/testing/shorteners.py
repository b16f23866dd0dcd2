"""Checks of shorteners: what everyone's shortener must promise, on ordinary and on hostile texts."""

import copy
from collections.abc import Iterable
from typing import Any

from sightline.shorten.fill import EMPTY, Excerpt, Pieces, TokenLimit, fill
from sightline.shorten.labels import phrases
from sightline.shorten.lines import Levels, View, make_view
from sightline.shorten.sample import Opening, encodable, read_sample
from sightline.shorten.shortener import Shortener
from sightline.testing.failures import reported
from sightline.values.tokens import estimate_tokens

LABEL = "[#412 result, 120 lines, 2,400 tokens]"
LIMITS = (8, 40, 300, 800)  # tokens of gists and summaries
HOSTILE = (
    "", "\n", "\x00\x1b[31m\r\x0b\x85\u2028", "x" * 70_000, "a b " * 20_000, "\ud800\udfff lone",
    "[#412 result]\n" * 90,
    "订单号20240516001必须在今天发货。\n" * 200, "| a | b |\n" * 300, "\t" * 5_000, "]]]]}}}}((((\n" * 500,
    "Traceback (most recent call last):\n" * 40, "+\n-\n@@\n" * 200, "1\n" * 3_000,
    '{"a": [{"b": 1}, null]}', "[" * 3_000, "é\u0301🚢\u200d" * 900,
)  # fmt: skip


ORDINARY = (  # texts so different that no single shortener should accept them all
    "The harbour office confirmed that the crane on quay seven lifts again from Tuesday.\n" * 30,
    "".join(f"def handle_{n}(request):\n    return reply_{n}(request.body)\n\n" for n in range(30)),
    "--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,3 @@\n" + "-old = 1\n+new = 2\n same = 3\n" * 30,
    "".join(f"2024-05-16T10:{n:02}:07Z ERROR [worker-{n}] request {n * 7919} failed\n" for n in range(50)),
    "id,name,price\n" + "".join(f"{n},crane {n},{n * 1.25}\n" for n in range(60)),
)


def check_shortener(shortener: Shortener, texts: Iterable[str] = (), *, any_text: bool = False) -> None:
    """Show a shortener these texts, which it must accept, and hostile ones, which it may decline.

    It accepts one text at least, and not every one, unless it is for `any_text`: it would take them from all others.
    It never raises. The same text gives the same levels, and the view stays as it is. Every level fits its limit in
    tokens, shows the label and can be encoded.

    Raises:
        AssertionError: a check failed. The message says which one, and for which text.
    """
    assert isinstance(shortener, Shortener), f"{shortener!r} has no name, accepts(view) or levels(view)"
    assert not isinstance(shortener, type), f"{shortener!r} is a class; pass an object of it: {shortener.__name__}()"
    assert not isinstance(texts, str), "texts is one text; pass a list: texts=[text]"
    own, taken = list(texts), 0
    for number, text in enumerate([*own, *HOSTILE, *ORDINARY]):
        where = f"{shortener.name} on {text[:40]!r}"
        accepted = _check(shortener, text, where)
        assert accepted or number >= len(own), f"{where}: it does not accept a text of its own kind"
        taken += accepted
    assert taken, f"{shortener.name}: it accepts no text; pass texts of its kind, so that its levels are checked"
    every = taken == len(own) + len(HOSTILE) + len(ORDINARY)
    assert any_text or not every, f"{shortener.name}: it accepts every text; accept only those of its kind"


def _check(shortener: Shortener, text: str, where: str) -> bool:
    """Check one text. Return whether the shortener accepts it."""
    view = _view_of(text)
    before = copy.deepcopy(_changeable(view))
    try:
        with reported(f"{where}: a shortener raises nothing, whatever the text, but"):
            return _check_answers(shortener, view, _view_of(text), where)
    finally:  # also if what it has changed raises an error
        assert _changeable(view) == before, f"{where}: it changes the view; copy what you change"


def _changeable(view: View) -> tuple[Any, ...]:
    return view.values, view.worths, view.names, view.code, view.known, view.sample


def _check_answers(shortener: Shortener, view: View, again: View, where: str) -> bool:
    accepted = shortener.accepts(view)
    assert bool(shortener.accepts(again)) == bool(accepted), f"{where}: accepts differs from one time to the next"
    if accepted:
        levels, same = shortener.levels(view), shortener.levels(again)
        assert isinstance(levels, Levels), f"{where}: levels gives {levels!r}; return a Levels(summary, gist)"
        swapped = isinstance(levels.summary, Pieces) and isinstance(levels.gist, Excerpt)
        assert not swapped, f"{where}: summary and gist are swapped; return Levels(summary, gist)"
        for name, level, other in zip(Levels._fields, levels, same, strict=True):
            assert isinstance(level, Excerpt | Pieces), f"{where}: its {name} is {level!r}; it is an Excerpt or Pieces"
            _check_level(level, other, f"{where}, {name}")
    return bool(accepted)


def _check_level(level: Excerpt | Pieces, same: Excerpt | Pieces, where: str) -> None:
    for tokens in LIMITS:
        limit = TokenLimit(tokens, 3.6)
        filled = fill(LABEL, level, estimate_tokens, limit)
        assert filled == fill(LABEL, same, estimate_tokens, limit), f"{where}: the same text gives other levels"
        if filled is EMPTY:
            continue
        assert filled.tokens <= tokens, f"{where}: {filled.tokens} tokens where {tokens} are allowed"
        assert LABEL in filled.text, f"{where}: the label is not shown, so that nobody can ask for the whole text"
        assert encodable(filled.text) == filled.text, f"{where}: it has lone surrogates; use the lines of the view"
    least = fill(LABEL, level, estimate_tokens, TokenLimit(LIMITS[-1], 3.6))
    assert least is not EMPTY, f"{where}: nothing fits {LIMITS[-1]} tokens; offer smaller pieces"


def _view_of(text: str) -> View:
    sample = read_sample(encodable(text))
    return make_view(sample, "tool output", phrases("en"), Opening())
