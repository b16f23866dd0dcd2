"""How a browser that we open gets the token: it is told a code, which its page exchanges for the token, once and soon.

The address that a browser is opened with stands in its command line, where other accounts of the machine can read it as
long as the browser runs. A code there is worth nothing as soon as the page has loaded. Whoever is faster than the page
has the token, and the page is refused: it says so.
"""

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from sightline.inspector.pages import PREFIX
from sightline.server.access_token import hash_token
from sightline.values.decoders import decode_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

SIGN_IN = PREFIX + "sign-in"
CODE_SECONDS = 60.0  # in which a browser must have started and opened the page
_MOST_BYTES = 1_000  # of a request
_NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class _Code(msgspec.Struct):
    code: str


class SignIn:
    """Makes codes, and gives the token for each of them once."""

    def __init__(
        self, token: str, *, seconds: float = CODE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token, self._seconds, self._clock = token, seconds, clock
        self._codes: dict[str, float] = {}  # the hash of each, and until when it can be used

    def make_code(self) -> str:
        """Return a new code."""
        code = secrets.token_urlsafe(24)
        self._codes[hash_token(code)] = self._clock() + self._seconds
        return code

    def exchange(self, code: str) -> str:
        """Return the token; nothing if this is no code, was used before, or is too old."""
        until = self._codes.pop(hash_token(code), 0.0)
        return self._token if until and self._clock() < until else ""


def sign_in_route(sign_in: SignIn) -> "Route":
    """Return the route at which a page exchanges a code. It needs no token. Other origins are refused before."""
    from starlette.responses import Response
    from starlette.routing import Route

    from sightline.server.metrics import PATH_PATTERN
    from sightline.server.rest_operation import METHODS, failed

    async def exchange(request: "Request") -> "Response":
        request.scope[PATH_PATTERN] = SIGN_IN
        if request.method != "POST":  # it is answered here, because what no route takes goes to the provider
            return failed(405, "method_not_allowed", f"{request.method} is not possible here", "use POST")
        body = b""
        async for piece in request.stream():
            body = (body + piece)[:_MOST_BYTES]
        try:
            token = sign_in.exchange(decode_json(body, _Code).code)
        except (msgspec.MsgspecError, ValueError):  # no JSON of this form, or no Unicode
            token = ""
        if not token:
            return failed(
                401, "code_used", "this code was used before, or is too old",
                "open the address that `sightline inspect` printed; if nobody of you used it, end the server first",
            )  # fmt: skip
        return Response(msgspec.json.encode({"token": token}), 200, _NO_STORE, "application/json")

    return Route(SIGN_IN, exchange, methods=METHODS)
