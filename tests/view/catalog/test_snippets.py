"""Where words were found: the place with most of them, and what matched told apart; also in Chinese."""

import pytest

from sightline.view.catalog.snippets import snippet

FILLER = "Nothing of interest is said here. " * 40


def shown(passages: str, query: str) -> tuple[str, list[str]]:
    parts = snippet(passages, query)
    return "".join(part.text for part in parts), [part.text for part in parts if part.match]


@pytest.mark.parametrize(
    ("text", "query", "matches"),
    [
        (f"{FILLER}The order number is 47113.{FILLER}", "47113", ["47113"]),
        (f"cart {FILLER}the file src/Cart.py of order 9 {FILLER}", "order cart.py", ["Cart.py", "order"]),
        (f"{FILLER}We fixed the carts.{FILLER}", "fixing cart", ["fixed", "carts"]),
        (f"{FILLER}The strategyName of two strategies.{FILLER}", "strategies", ["strateg", "strategies"]),
        (f"{FILLER}请检查订单的退款流程，谢谢。{FILLER}", "退款流程", ["退款流程"]),
        (f"{FILLER}流程已经更新{FILLER}", "退款流程", ["流程"]),
        (f"{FILLER}A [bracket] and a.b|c*{FILLER}", "[bracket] a.b|c*", ["bracket", "a.b"]),
    ],
)
def test_it_shows_the_words(text: str, query: str, matches: list[str]) -> None:
    """However far into the text they stand."""
    told, found = shown(text, query)
    assert [each for each in matches if each not in found] == []
    assert told.startswith("…")
    assert len(told) <= 185


def test_without_a_match_it_is_the_beginning() -> None:
    """A search also finds what only means the same. Labels of recall and line breaks are left out."""
    assert shown("[recalled from earlier]\n#4 user: One\ntwo", "three") == ("One two", [])
    assert shown("[#2 lines 2–2]\nOne two", "") == ("One two", [])
    assert snippet("", "x") == []
