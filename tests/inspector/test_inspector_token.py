"""The token in the browser: where it comes from, where it goes, and where it never is."""

import pytest
from inspected_page import InspectedPage
from inspector_server import TOKEN, InspectorServer
from loopback import Server
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

pytestmark = pytest.mark.slow

TITLE = "This server needs its token"
REFUSED = "401 (Unauthorized)"  # the browser notes each of them


def stored(page: Page) -> tuple[str, str]:
    """What the browser keeps for this tab, and for good."""
    kept: list[str] = page.evaluate("[JSON.stringify(sessionStorage), JSON.stringify(localStorage)]")
    return kept[0], kept[1]


def test_the_printed_address_opens_the_page_and_loses_its_token(page: InspectedPage) -> None:
    """The address bar no longer shows it, going back does not either; each request has it as a header, and no path."""
    shown = page.page
    with shown.expect_request(lambda request: "/api/events" in request.url) as events:
        shown.goto(f"{page.server.url}#token={TOKEN}")
        page.sign_in()
    expect(page.rows.first).to_be_visible()
    assert shown.url == f"{page.server.url}#/"
    assert events.value.headers["x-sightline-token"] == TOKEN
    page.option("Question 1").click()
    expect(shown.get_by_role("link", name="Items")).to_be_visible()
    shown.go_back()
    expect(shown.get_by_role("link", name="Items")).to_have_count(0)
    assert shown.url == f"{page.server.url}#/"
    assert TOKEN not in shown.evaluate("document.documentElement.outerHTML + document.cookie + document.referrer")
    assert not page.asked(TOKEN)
    for_tab, for_good = stored(shown)
    assert TOKEN in for_tab
    assert TOKEN not in for_good
    shown.reload()
    expect(page.rows.first).to_be_visible()


def test_without_the_token_the_page_asks_and_says_where_it_is(browser: Browser, looked_at: InspectorServer) -> None:
    """A new tab has none. It shows nothing until the token is typed, or the printed address is pasted."""
    with InspectedPage(browser, looked_at, ignored=REFUSED) as page:
        shown = page.page
        shown.goto(f"{looked_at.url}#/s/work/items")
        dialog = shown.get_by_role("dialog", name=TITLE)
        expect(dialog).to_contain_text("sightline inspect")
        expect(dialog).to_contain_text("#token=")
        expect(page.rows).to_have_count(0)
        page.shoot("token")
        assert not page.violations()
        assert page.cut() == []
        dialog.get_by_label("Address or token").fill("not-the-token 密")
        dialog.get_by_role("button", name="Use it").click()
        expect(dialog).to_contain_text("is not the server's")
        dialog.get_by_label("Address or token").fill(f"{looked_at.url}#token={TOKEN}")
        dialog.get_by_label("Address or token").press("Enter")
        expect(page.option("Question 1")).to_be_visible()
        expect(shown.get_by_role("dialog")).to_have_count(0)
        assert shown.url == f"{looked_at.url}#/s/work/items"


def test_a_link_opened_in_another_tab_needs_no_token_again(browser: Browser, looked_at: InspectorServer) -> None:
    """The new tab asks the tab beside it. When all are closed, the next one asks the person again."""
    with InspectedPage(browser, looked_at, ignored=REFUSED) as page:
        shown = page.open("#/s/work/context")
        with page.context.expect_page() as opened:
            shown.get_by_role("link", name="Items").click(modifiers=["ControlOrMeta"])
        other = opened.value
        expect(other.locator(".list-row").first).to_be_visible()
        assert TOKEN not in stored(other)[1]
        shown.close()
        other.close()
        page.page = page.context.new_page()
        page.page.goto(looked_at.url)
        expect(page.page.get_by_role("dialog", name=TITLE)).to_be_visible()


def test_an_address_pasted_into_an_open_tab_helps(browser: Browser, looked_at: InspectorServer) -> None:
    """Only what is behind the # changes then, so the browser does not read the page anew: the page does."""
    with InspectedPage(browser, looked_at, ignored=REFUSED) as page:
        shown = page.page
        shown.goto(looked_at.url)
        expect(shown.get_by_role("dialog", name=TITLE)).to_be_visible()
        shown.evaluate("(hash) => { location.hash = hash }", f"token={TOKEN}/s/work/items")
        page.sign_in()
        expect(page.option("Question 1")).to_be_visible()
        assert shown.url == f"{looked_at.url}#/s/work/items"


def test_a_page_without_the_token_stops_asking_for_events(browser: Browser, looked_at: InspectorServer) -> None:
    """It does not knock every two seconds at a server that wants a token."""
    with InspectedPage(browser, looked_at, ignored=REFUSED) as page:
        page.page.clock.install()
        page.page.goto(looked_at.url)
        expect(page.page.get_by_role("dialog", name=TITLE)).to_be_visible()
        page.page.clock.run_for(20_000)
        assert len(page.asked("/api/events")) == 1


def test_a_link_with_a_token_signs_nobody_in(browser: Browser, looked_at: InspectorServer) -> None:
    """The page asks first. Nothing is read or kept before that, and who stays is who he was."""
    other = "somebody-elses-token-0123456789"
    with InspectedPage(browser, looked_at, ignored=REFUSED) as page:
        page.page.goto(f"{looked_at.url}#token={other}")
        dialog = page.page.get_by_role("dialog", name="Sign in with this address?")
        expect(dialog).to_contain_text("Whoever gave it to you sees")
        assert other not in page.page.url
        assert not page.asked("/api/")
        assert other not in "".join(stored(page.page))
        dialog.get_by_role("button", name="Stay as I am").click()
        expect(page.page.get_by_role("dialog", name=TITLE)).to_be_visible()
        assert other not in "".join(stored(page.page))


def test_a_link_does_not_change_who_a_tab_is(page: InspectedPage) -> None:
    """Neither in a tab that is signed in, nor in one beside it; the own address asks nothing again."""
    shown = page.open()
    for place in ("evaluate", "new tab"):
        if place == "new tab":
            page.page = shown = page.context.new_page()
            shown.goto(f"{page.server.url}#token=somebody-elses-token")
        else:
            shown.evaluate("() => { location.hash = 'token=somebody-elses-token' }")
        dialog = shown.get_by_role("dialog", name="Sign in with this address?")
        expect(dialog).to_contain_text("is signed in already")
        dialog.get_by_role("button", name="Stay as I am").click()
        expect(page.rows.first).to_be_visible()
        assert TOKEN in stored(shown)[0]
    shown.evaluate("(hash) => { location.hash = hash }", f"token={TOKEN}/")
    expect(page.rows.first).to_be_visible()
    expect(shown.get_by_role("dialog")).to_have_count(0)


EVIL = """
<a href="%(url)s">look</a><iframe src="%(url)s"></iframe>
<script>
window.tried = Promise.allSettled([
  fetch("%(api)s", {credentials: "include"}),
  fetch("%(api)s", {mode: "no-cors", method: "POST", body: "{}"}),
  fetch("%(api)s", {method: "POST", headers: {"X-Sightline-Token": "guess"}, body: "{}"}),
]).then((all) => all.map((each) => each.status + (each.value ? each.value.type : "")));
</script>
"""


def test_a_page_of_another_origin_can_only_lead_here(browser: Browser, looked_at: InspectorServer) -> None:
    """Its link opens the inspector, which asks for the token; its frames, requests and guesses come to nothing."""
    api = f"{looked_at.address}/api/sessions"
    answers: list[tuple[str, int]] = []
    evil = HTMLResponse(EVIL % {"url": looked_at.url, "api": api})
    with Server(Starlette(routes=[Route("/", lambda _request: evil)])) as other:
        context = browser.new_context()
        page = context.new_page()
        page.on("response", lambda got: got.url in (api, looked_at.url) and answers.append((got.url, got.status)))
        page.goto(other.url)
        assert page.evaluate("window.tried") == ["rejected", "fulfilledopaque", "rejected"]
        assert set(answers) == {(api, 403), (looked_at.url, 403)}
        page.get_by_role("link", name="look").click()
        expect(page.get_by_role("dialog", name=TITLE)).to_be_visible()
        assert answers[-1] == (looked_at.url, 200)
        context.close()
