"""What a tenant may use: requests in a minute, and bytes that are stored. Who is refused is in the audit trail."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from sightline.errors import StoreError
from sightline.log.stores.tenants import Caller, Tenants
from sightline.server.callers import Refusal
from sightline.server.metrics import logger
from sightline.server.model_request import FORMATS
from sightline.server.rest_operation import DELETE_SOME

_THREADS = 4  # that ask the database about limits
_COUNTED_SECONDS = 30.0  # for which what a tenant stores is not counted anew, in the whole fleet
_FULL_SECONDS = 2.0  # the same for one that is full, so that whoever deletes something can go on soon
_NOTED_SECONDS = 600.0  # after which a refusal is noted again: one line for many
_MOST_NOTED = 1_000  # tenants and reasons
UPLOAD = "/api/imports/upload"
_READ_ONLY = ("/api/mcp",)
_PREVIEW = "/preview"

T = TypeVar("T")


class _Noted(NamedTuple):
    at: float
    refused: int  # requests since


def stores_something(method: str, path: str) -> bool:
    """Whether a request adds to what a tenant stores. Reading and deleting are always possible."""
    if method != "POST":
        return False
    return path in FORMATS or (path.startswith("/api/") and path not in _READ_ONLY and not path.endswith(_PREVIEW))


class TenantLimits:
    """Refuses what is above a tenant's limits. For one event loop."""

    def __init__(self, tenants: Tenants, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tenants, self._clock = tenants, clock
        self._noted: OrderedDict[tuple[str, str], _Noted] = OrderedDict()
        self._threads = ThreadPoolExecutor(_THREADS, "sightline limits")

    async def check(self, caller: Caller, method: str, path: str, size: int = 0) -> Refusal | None:
        """Count a request, and return why it is refused; None: it is not. Raises StoreError.

        `size`: the bytes of its body, if it says so. A request of a model repeats what is stored already, so they count
        for files that are uploaded only.
        """
        limits = caller.limits
        if limits.requests_per_minute and (wait := await self._run(self._tenants.admit, caller)):
            await self._note(caller, "quota.requests", requests_per_minute=limits.requests_per_minute)
            return Refusal(
                429, "rate_limit_exceeded", f"more than {limits.requests_per_minute:,} requests in a minute",
                "wait for the seconds that retry-after says", max(1, math.ceil(wait)),
            )  # fmt: skip
        if stores_something(method, path):
            return await self.check_bytes(caller, size if path == UPLOAD else 0)
        return None

    async def check_bytes(self, caller: Caller, more: int = 0, *, anew: bool = False) -> Refusal | None:
        """Return why a tenant may not store so many bytes more; None: it may. Raises StoreError.

        `anew`: count now, whoever has counted of late.
        """
        if not (most := caller.limits.most_bytes) or not await self._is_full(caller, max(more, 1), anew):
            return None
        await self._note(caller, "quota.bytes", most_bytes=most)
        full = f"this tenant stores its {most:,} bytes already"
        message = f"with {more:,} bytes more this tenant would store more than its {most:,}" if more else full
        return Refusal(403, "quota_exceeded", message, DELETE_SOME)

    async def note(self, caller: Caller, action: str, subject: str = "") -> None:
        """Add a line to the audit trail. If the database does not take it, the server's log has it."""
        await self._add(caller, action, subject, {})

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False)

    async def _is_full(self, caller: Caller, more: int, anew: bool) -> bool:
        most, count = caller.limits.most_bytes, partial(self._tenants.bytes_used, caller.tenant)
        for seconds in (0.0,) if anew else (_COUNTED_SECONDS, _FULL_SECONDS):
            if await self._run(partial(count, within=seconds)) + more <= most:
                return False
        return True

    async def _note(self, caller: Caller, action: str, **limit: int) -> None:
        """Note a refusal, unless one was noted of late: then it is counted, and the next note says how many."""
        key, now = (caller.tenant, action), self._clock()
        before = self._noted.get(key, _Noted(-math.inf, 0))
        if now < before.at + _NOTED_SECONDS:
            self._noted[key] = before._replace(refused=before.refused + 1)
            return
        self._noted[key] = _Noted(now, 0)
        while len(self._noted) > _MOST_NOTED:
            self._noted.popitem(last=False)
        await self._add(caller, action, "", limit | {"refused_before": before.refused})

    async def _add(self, caller: Caller, action: str, subject: str, detail: dict[str, int]) -> None:
        note = partial(self._tenants.note, caller.tenant, action, token=caller.token_id, subject=subject, detail=detail)
        try:
            await self._run(note)
        except StoreError as error:
            facts = {"kind": action, "session": subject, "reason": str(error)}
            logger.error("not in the audit trail", extra=facts)

    async def _run(self, work: Callable[..., T], *given: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given))
