"""Draw docs/pictures/inspector-context.png: the inspector on a sample session, in a browser (see `make browser`).

Run it when the pages look different: python tools/inspector_picture.py.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from sightline.cli.addresses import page_address
from sightline.cli.inspect_command import keep_samples
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.cli.serve import make_listener, running
from sightline.server.access_token import make_token
from sightline.server.config import Config

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "inspector-context.png"
SIZE = {"width": 1100, "height": 620}  # a small file: it is in the repository


def main() -> None:
    """Serve the samples, and take the picture."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no browser: run make browser")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        keep_samples(Place(project=folder, root=folder, words=Phrases("en")))
        token = make_token()
        config = Config(folder=Path(folder), root=Path(folder), everywhere=True, samples=True, token_hash=token.hashed)
        with running(make_listener(config)[0]) as port:
            browser = playwright.chromium.launch(executable_path=program, args=root)
            page = browser.new_page(viewport=SIZE, locale="en", color_scheme="light")
            page.goto(page_address("127.0.0.1", port, f"token={token.text}"))
            page.locator("dialog button.primary").click()  # agree to sign in
            page.locator(".list-row", has_text="test_second_login").click()
            page.locator(".timeline canvas").wait_for()
            page.wait_for_timeout(1000)  # the chart comes to rest
            page.screenshot(path=PICTURE)
            browser.close()


if __name__ == "__main__":
    main()
