"""Who may use a server: whoever shows its one token, or a token of one of its tenants (see `tenant_callers`)."""

from collections.abc import Sequence
from hmac import compare_digest
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sightline.server.access_token import hash_token

if TYPE_CHECKING:
    from starlette.types import Scope

OWN_PATHS = frozenset({"/metrics", "/health"})  # like those below /api: nothing there is passed on to a provider


class Refusal(NamedTuple):
    """Why a request is not let in."""

    status: int
    type: str
    message: str
    what_to_do: str
    retry_after: int = 0  # seconds; 0: trying again does not help


NO_TOKEN = Refusal(
    401, "no_token", "this server needs its token",
    "send it as X-Sightline-Token, or begin the path with /token/TOKEN; below /api also as Authorization: Bearer TOKEN "
    "(it is what SIGHTLINE_TOKEN said where the server was started; if that was not set, it follows #token= in the "
    "address of the inspector that the server printed when it started)",
)  # fmt: skip


class Callers(Protocol):
    """Knows who may use a server."""

    async def check(self, scope: "Scope", tokens: Sequence[str]) -> Refusal | None:
        """Return why a request that shows these tokens is not let in; None: it is.

        Who the caller is may be noted in the scope.
        """


class OneToken:
    """One token for all callers."""

    def __init__(self, token_hash: str) -> None:
        """`token_hash`: what `hash_token` gave; empty: no token is known, so nobody has it."""
        self._hash = token_hash

    def knows(self, tokens: Sequence[str]) -> bool:
        """Whether the token is among these. Comparing takes a time that tells nothing about it."""
        return any(compare_digest(hash_token(token), self._hash) for token in tokens)

    async def check(self, scope: "Scope", tokens: Sequence[str]) -> Refusal | None:  # noqa: ARG002
        """See `Callers`."""
        return None if self.knows(tokens) else NO_TOKEN
