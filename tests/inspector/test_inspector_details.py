"""Small promises of the pages: where words were found, what a call cost, calls of a branch, choices that fit."""

import re

import pytest
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow


def test_a_search_says_where_the_words_are(page: InspectedPage) -> None:
    """Each item that is found shows the words around what matched, and the match itself is marked."""
    shown = page.open("#/s/work/items")
    shown.get_by_role("searchbox").fill("port 8003")
    found = shown.get_by_role("option", name=re.compile("8003")).first
    expect(found.locator("mark", has_text="8003")).to_be_visible()
    expect(found.locator(".kind")).to_be_visible()
    page.shoot("4-search")
    found.click()
    expect(shown.locator(".detail .item-head")).to_be_visible()


def test_the_price_of_a_call_is_told_by_its_parts(page: InspectedPage) -> None:
    """The items, and the answer; what is not in the log only where there is such a part."""
    shown = page.open("#/s/work/call/5")
    prices = shown.locator(".prices")
    for words in ("These items", "The answer", "All"):
        expect(prices).to_contain_text(words)
    expect(prices).to_contain_text("$")


def test_the_last_call_is_one_request(page: InspectedPage) -> None:
    """It is shown without asking first how many there are, and stays while one looks at it."""
    shown = page.open("#/s/work/call")
    expect(shown.locator(".pager")).to_contain_text(re.compile(r"Call (\d+) of \1"))
    asked = [path for path in page.requests if "/calls/" in path or "/timeline" in path]
    assert len(asked) == 1
    assert "/calls/last" in asked[0]


def test_the_calls_of_a_branch_are_its_own(changing: InspectedPage) -> None:
    """A session has more of them on all branches together than the branch that is looked at."""
    shown = changing.open("#/s/work/items/2")
    shown.get_by_role("button", name="Fork here").click()
    expect(shown).to_have_url(re.compile("branch="))
    branch = shown.url.partition("branch=")[2]
    shown.goto(f"{changing.server.url}#/s/work/call?branch={branch}")
    expect(shown.locator(".empty, .pager")).to_be_visible()
    assert not shown.get_by_role("alert").count()
    shown.goto(f"{changing.server.url}#/s/work/try?branch={branch}")
    expect(shown.get_by_label("Context window")).to_be_visible()
    changing.settle()
    assert not shown.get_by_role("alert").count()


def test_a_strategy_without_an_economy_can_be_tried_after_one(page: InspectedPage) -> None:
    """The economy that was chosen before is not sent with it."""
    shown = page.open("#/s/work/try/5")
    shown.get_by_label("Economy").select_option("thrifty")
    page.settle()
    shown.get_by_label("Strategy").select_option("sliding")
    page.settle()
    expect(shown.locator(".stats").first).to_be_visible()
    assert not shown.get_by_role("alert").count()


def test_the_pages_in_chinese_have_one_word_for_tokens(browser: Browser, looked_at: InspectorServer) -> None:
    """It is `token`, as in the documents and on the command line."""
    with InspectedPage(browser, looked_at, locale="zh-CN") as page:
        for place in ("#/s/work/context", "#/s/work/call/5", "#/s/work/tokens", "#/s/work/try/5"):
            words = page.open(place).locator("main").inner_text()
            assert "token" in words
            assert not re.search("词元|詞元|令牌|Token|供应商", words)
