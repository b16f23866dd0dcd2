"""Whose token a request shows, where each token belongs to a tenant: looked up in the database, and known for seconds.

What the database says about a token is used for `KNOWN_SECONDS`, also that nobody has it, so that a token that was
revoked is refused within seconds by every server, and a wrong one asks the database seldom. Requests that show the same
token wait for the same answer. Two threads ask, one of them for tokens that were good before: whoever tries many wrong
ones makes others wait as little as possible, and takes two connections at most.

If the database cannot be asked, nobody is let in.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

from sightline.errors import StoreError
from sightline.fleet.tenant_limits import TenantLimits
from sightline.fleet.tenants import NOTICE_SECONDS, Caller, Tenants, token_hash
from sightline.server.callers import OWN_PATHS, OneToken, Refusal
from sightline.server.metrics import logger

if TYPE_CHECKING:
    from starlette.types import Scope

CALLER = "sightline.caller"  # the key of a scope under which `SignedIn` is noted
KNOWN_SECONDS = NOTICE_SECONDS - 1  # because whoever deletes a tenant waits for these seconds
_MOST_KNOWN = 10_000  # tokens, good or not, about which an answer of the database is known
_MOST_WAITING = 500  # wrong tokens that wait for the database
_MOST_SHOWN = 3  # tokens in one request
_BEGINNING, _LONGEST = "sl_", 200  # of every token that `Tenants.create_token` makes; characters at most
_RETRY_SECONDS = 2
_API = "/api/"

_NO_TOKEN = Refusal(
    401, "no_token", "this server needs a token of a tenant",
    "send it as X-Sightline-Token, or begin the path with /token/TOKEN; below /api also as Authorization: Bearer TOKEN "
    "(whoever runs the server makes one with `sightline token create`)",
)  # fmt: skip
_UNKNOWN = Refusal(
    401, "no_token", "this token is not known, has expired or was revoked",
    "ask whoever runs the server for a new one (`sightline token create`)",
)  # fmt: skip
_OPERATORS = Refusal(
    401, "no_token", "this path needs the operator's token",
    "send what the server has in SIGHTLINE_TOKEN as X-Sightline-Token or Authorization: Bearer TOKEN",
)  # fmt: skip
_SEVERAL = Refusal(401, "several_tokens", "the request shows several tokens", "send one")
_AWAY = Refusal(
    503, "store_failed", "the server cannot look up tokens now", "try again in some seconds", _RETRY_SECONDS
)
_BUSY = Refusal(503, "busy", "many tokens are being looked up", "try again in some seconds", _RETRY_SECONDS)


class _TooMany(StoreError):
    """So many tokens wait for the database that no more are taken."""


class _Known(NamedTuple):
    caller: Caller | None
    until: float


def _declared(scope: "Scope") -> int:
    """Return how many bytes a request says that its body has; 0: it does not say."""
    lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
    return int(lengths[0][:20]) if lengths and lengths[0].isdigit() else 0


def _check_named(scope: "Scope", caller: Caller) -> Refusal | None:
    """Refuse a request to us that names another tenant than its token's: it would be answered with the wrong sessions.

    The answer is the same whether there is such a tenant or not.
    """
    if not scope["path"].startswith(_API):  # else it is a provider's, which is told what the client says
        return None
    named = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True).get("tenant", [])
    for name in named:
        if name != caller.tenant:
            return Refusal(
                404, "unknown_tenant", f"this token knows no tenant {name[:_LONGEST]!r}",
                "leave tenant= out of the address: the token says whose sessions these are",
            )  # fmt: skip
    return None


class TenantKey(NamedTuple):
    """A tenant by its name and the time when it was created: one that was deleted may have had the same name."""

    name: str
    since: datetime | None


class SignedIn(NamedTuple):
    """Who sent a request, and the hash of the token that says so."""

    caller: Caller
    hashed: bytes

    @property
    def tenant(self) -> TenantKey:
        """The tenant, as no other one ever was."""
        return TenantKey(self.caller.tenant, self.caller.since)


class TenantCallers:
    """The tenants' tokens. For one event loop."""

    def __init__(
        self,
        tenants: Tenants,
        operator_hash: str = "",
        *,
        seconds: float = KNOWN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`operator_hash`: of the token for `/metrics` and `/health`; empty: nobody has it."""
        self._tenants, self._operator = tenants, OneToken(operator_hash)
        self._seconds, self._clock = seconds, clock
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._asked: dict[bytes, asyncio.Future[Caller | None]] = {}
        self._threads = {
            was_good: ThreadPoolExecutor(1, f"sightline {'tokens' if was_good else 'new tokens'}")
            for was_good in (True, False)
        }
        self.limits = TenantLimits(tenants)

    async def check(self, scope: "Scope", tokens: Sequence[str]) -> Refusal | None:
        """See `Callers`. Who it is is noted in the scope as `SignedIn`."""
        if scope["path"] in OWN_PATHS:
            return None if self._operator.knows(tokens) else _OPERATORS
        own = {token for token in tokens if len(token) <= _LONGEST and token.startswith(_BEGINNING)}
        if len(own) > _MOST_SHOWN:
            return _SEVERAL
        try:
            signed_in = [
                SignedIn(caller, hashed)
                for hashed in map(token_hash, own)
                if (caller := await self.find(hashed)) is not None
            ]
            if not signed_in:
                return _UNKNOWN if tokens else _NO_TOKEN
            if len({signed.caller.tenant for signed in signed_in}) > 1:
                return _SEVERAL
            scope[CALLER] = signed_in[0]
            if (refusal := _check_named(scope, signed_in[0].caller)) is not None:
                return refusal
            return await self.limits.check(signed_in[0].caller, scope["method"], scope["path"], _declared(scope))
        except _TooMany:
            return _BUSY
        except StoreError as error:
            logger.warning("tokens cannot be looked up: %s", error)
            return _AWAY

    async def find(self, hashed: bytes) -> Caller | None:
        """Return who has the token of this hash; None: nobody, or not any more. Raises StoreError."""
        remembered = self._known.get(hashed)
        if remembered is not None and remembered.until > self._clock():
            return remembered.caller
        if (lookup := self._asked.get(hashed)) is None:
            was_good = remembered is not None and remembered.caller is not None
            if not was_good and len(self._asked) >= _MOST_WAITING:
                raise _TooMany
            lookup = asyncio.ensure_future(self._ask(hashed, was_good))
            self._asked[hashed] = lookup
            lookup.add_done_callback(lambda done: self._answered(hashed, done))
        return await asyncio.shield(lookup)  # others wait for the same answer

    async def is_revoked(self, signed_in: SignedIn) -> bool:
        """Whether a token is good no longer. If the database cannot be asked, that is not known, and so False."""
        try:
            return await self.find(signed_in.hashed) is None
        except StoreError:
            return False

    def close(self) -> None:
        """End the threads."""
        for pool in self._threads.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self.limits.close()

    async def _ask(self, hashed: bytes, was_good: bool) -> Caller | None:
        until = self._clock() + self._seconds  # from when it was asked on
        loop = asyncio.get_running_loop()
        caller = await loop.run_in_executor(self._threads[was_good], self._look_up, hashed)
        self._known[hashed] = _Known(caller, until)
        self._known.move_to_end(hashed)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return caller

    def _look_up(self, hashed: bytes) -> Caller | None:
        """Ask the database, twice if need be: a connection may be one from before it was started again."""
        try:
            return self._tenants.find(hashed)
        except StoreError:
            return self._tenants.find(hashed)

    def _answered(self, hashed: bytes, done: "asyncio.Future[Caller | None]") -> None:
        self._asked.pop(hashed, None)
        if not done.cancelled():
            done.exception()  # whoever still waits is told; nobody may
