"""How a browser that we open gets the token: it is told a code, which its page exchanges for the token, once and soon.

The address that a browser is opened with stands in its command line, where other accounts of the machine can read it as
long as the browser runs. A code there is worth nothing as soon as the page has loaded. Whoever is faster than the page
has the token, and the page is refused: it says so.
"""

import secrets
import time
from collections.abc import Callable

from sightline.inspector.pages import PREFIX
from sightline.server.access_token import hash_token

SIGN_IN = PREFIX + "sign-in"
CODE_SECONDS = 60.0  # in which a browser must have started and opened the page


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
