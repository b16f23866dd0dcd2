"""A page of the inspector in a browser: at its end, nothing has gone wrong and no other host was asked."""

import re
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from inspector_server import TOKEN, InspectorServer
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

ROOT = Path(__file__).parent.parent.parent
SHOTS = ROOT / ".cache" / "inspector"  # what the pages looked like, for who wants to see
AXE = ROOT / "inspector" / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 20_000  # milliseconds that something may take on a busy machine; nothing is measured by it

# The page itself looks, because `expect` looks again only after a tenth of a second, then a quarter, then a half.
SETTLED = """(most) => new Promise((done, fail) => {
  const end = Date.now() + most
  const look = () => {
    const waits = document.querySelector('.busy, .chart:not(:has(canvas))')
    if (!waits) done()
    else if (Date.now() > end) fail(new Error(`the page still waits: ${waits.outerHTML.slice(0, 200)}`))
    else setTimeout(look, 10)
  }
  look()
})"""
LAYOUT = "\n".join((Path(__file__).parent / "layout.js").read_text(encoding="utf-8").splitlines()[1:])


class InspectedPage:
    """A tab. `page` is the browser's own; `requests` are the paths that were asked for."""

    def __init__(self, browser: Browser, server: InspectorServer, *, ignored: str = "", **options: Any) -> None:
        """`ignored`: what a browser notes with these words is expected. `options` are those of a browser's context."""
        usual = {"viewport": {"width": 1440, "height": 900}, "locale": "en", "color_scheme": "light"}
        self.server = server
        self.context = browser.new_context(**usual | options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self._has_token, self._ignored = False, ignored
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        self.page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not (self._ignored and self._ignored in message.text):
            self.errors.append(f"console {message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.server.address:
            self.errors.append(f"another host was asked: {request.url}")
        self.requests.append(f"{request.method} {parts.path}" + (f"?{parts.query}" if parts.query else ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.context.close()
        if error is None:
            assert not self.errors, self.errors

    def open(self, place: str = "#/") -> Page:
        """Go to a place of the inspector, at first by an address as it is printed. Waits until it shows something."""
        token = "" if self._has_token else f"token={TOKEN}"
        self.page.goto(f"{self.server.url}#{token}{place.removeprefix('#')}")
        if token:
            self.sign_in()
        self._has_token = True  # the tab keeps it
        self.page.locator("main").wait_for()
        self.settle()
        return self.page

    def sign_in(self) -> None:
        """Agree to the token of the address."""
        self.page.locator("dialog button.primary").click()
        self.page.locator("dialog").wait_for(state="detached")

    def settle(self) -> None:
        """Wait until nothing is being read any more, and each chart is there."""
        self.page.evaluate(SETTLED, SECONDS)

    def shoot(self, name: str) -> None:
        """Keep what the page looks like."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def asked(self, pattern: str) -> list[str]:
        """The requests that match."""
        return [each for each in self.requests if re.search(pattern, each)]

    @property
    def rows(self) -> Locator:
        """The rows of the list that are on the page."""
        return self.page.locator(".list-row")

    def option(self, text: str) -> Locator:
        """The row of a list that contains this text."""
        return self.rows.filter(has_text=text).first

    def cut(self) -> list[str]:
        """What is cut or lies over something else."""
        found: list[str] = self.page.evaluate(LAYOUT)
        return found

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds that keeps people out, serious or worse: by all of its rules, or by these."""
        # The policy of the page forbids scripts of others, so it is put into the page by the debugger.
        self.page.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
        found: list[dict[str, Any]] = self.page.evaluate(
            """(rules) => axe.run(document, {resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})})
            .then((r) => r.violations)""",
            list(rules),
        )
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
