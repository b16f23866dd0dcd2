"""The built pages as answers: a fixed list of files, each with the headers that keep it safe and fresh.

The source of the pages is `inspector/` at the root of the repository. `make pages` builds it into the folder `pages/`
beside this module, and so does whatever makes a wheel. The pages hold nothing about sessions, so they need no token.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PREFIX = "/inspector/"  # of the path of every page
FOLDER = Path(__file__).parent / "pages"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FIRST = "index.html"
_HASHED = "assets/"  # names below it have a hash of their content, so what a browser has stays right for ever
_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_AGENT_HEADERS = ("anthropic-version", "authorization", "x-api-key")  # what a client of a provider sends
_NOT_BUILT = "The pages of the inspector are not built. In a copy of the repository, run: make pages\n"


class Page(NamedTuple):
    """One file of the inspector."""

    data: bytes
    media: str
    cached: str


def are_built() -> bool:
    """Whether there are pages. A wheel has them; in a copy of the repository `make pages` builds them."""
    return (FOLDER / _FIRST).is_file()


@cache
def read_pages(folder: Path = FOLDER) -> Mapping[str, Page]:
    """Read the built files, by their path below the folder. No other file can be asked for."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    return {(name := file.relative_to(folder).as_posix()): _page(file, name) for file in files}


def _page(file: Path, name: str) -> Page:
    media = _MEDIA.get(
        file.suffix, "application/octet-stream"
    )  # not the table of this machine, which others may change
    cached = "public, max-age=31536000, immutable" if name.startswith(_HASHED) else "no-cache"
    return Page(file.read_bytes(), media, cached)


async def give_page(request: "Request", folder: Path = FOLDER) -> "Response":
    """Answer with a file of the inspector; the address without a name is its first page."""
    from starlette.responses import PlainTextResponse, Response

    pages = read_pages(folder)
    if not pages:
        return PlainTextResponse(_NOT_BUILT, 503, _HEADERS | {"cache-control": "no-store"})
    page = pages.get(request.path_params.get("file") or _FIRST)
    if page is None:
        return PlainTextResponse("There is no such page.\n", 404, _HEADERS | {"cache-control": "no-store"})
    return Response(page.data, 200, _HEADERS | {"cache-control": page.cached}, page.media)


def is_browser(request: "Request") -> bool:
    """Whether a person opened the bare address: a browser asks for HTML, and no agent does with its key."""
    headers = request.headers
    wants_page = request.method == "GET" and "text/html" in headers.get("accept", "")
    return wants_page and not any(name in headers for name in _AGENT_HEADERS)
