"""What a tenant may use: requests in a minute, and bytes that are stored. Who is refused is in the audit trail.

A client that is refused often tries again at once, thousands of times. So the first refusal of a token is noted at
once, and those after it are counted for ten minutes, or until the server ends, and noted in one line.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from sightline.errors import StoreError
from sightline.fleet.tenants import Caller, Tenants
from sightline.server.callers import Refusal
from sightline.server.destinations import read_door
from sightline.server.metrics import logger
from sightline.server.rest_operation import DELETE_SOME

_THREADS = 4  # that ask the database about limits
_COUNTED_SECONDS = 30.0  # for which what a tenant stores is not counted anew, in the whole fleet
_FULL_SECONDS = 2.0  # the same for one that is full, so that whoever deletes something can go on soon
_NOTED_SECONDS = 600.0  # for which refusals are counted, and then noted in one line
_MOST_NOTED = 1_000  # tokens and reasons
UPLOAD = "/api/imports/upload"
_READ_ONLY = ("/api/mcp",)
_PREVIEW = "/preview"

T = TypeVar("T")


class _Key(NamedTuple):
    tenant: str
    token: str
    action: str


class _Counted(NamedTuple):
    caller: Caller
    limit: dict[str, int]
    refused: int = 0  # requests since the last line


def stores_something(method: str, path: str) -> bool:
    """Whether a request adds to what a tenant stores. Reading and deleting are always possible."""
    if method != "POST":
        return False
    return read_door(path).format is not None or (
        path.startswith("/api/") and path not in _READ_ONLY and not path.endswith(_PREVIEW)
    )


class TenantLimits:
    """Refuses what is above a tenant's limits. For one event loop."""

    def __init__(self, tenants: Tenants, *, noted_seconds: float = _NOTED_SECONDS) -> None:
        self._tenants, self._noted_seconds = tenants, noted_seconds
        self._noted: OrderedDict[_Key, _Counted] = OrderedDict()
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
        await self._run(self._add, caller, action, subject, {})

    def close(self) -> None:
        """Note what was counted, and end the threads."""
        for key in [*self._noted]:
            self._note_rest(key)
        self._threads.shutdown(wait=False)

    async def _is_full(self, caller: Caller, more: int, anew: bool) -> bool:
        most, count = caller.limits.most_bytes, partial(self._tenants.bytes_used, caller.tenant)
        for seconds in (0.0,) if anew else (_COUNTED_SECONDS, _FULL_SECONDS):
            if await self._run(partial(count, within=seconds)) + more <= most:
                return False
        return True

    async def _note(self, caller: Caller, action: str, **limit: int) -> None:
        """Note a refusal, unless one was noted of late: then it is counted, and a later line says how many."""
        key = _Key(caller.tenant, caller.token_id, action)
        if (counted := self._noted.get(key)) is not None:
            self._noted[key] = counted._replace(refused=counted.refused + 1)
            return
        self._noted[key] = _Counted(caller, limit)
        asyncio.get_running_loop().call_later(self._noted_seconds, self._note_rest, key)
        if len(self._noted) > _MOST_NOTED:
            self._note_rest(next(iter(self._noted)))
        await self._run(self._add, caller, action, "", limit | {"refused": 1})

    def _note_rest(self, key: _Key) -> None:
        """Note how many were refused since the last line, if there were any, and count anew."""
        counted = self._noted.pop(key, None)
        if counted is not None and counted.refused:
            detail = counted.limit | {"refused": counted.refused}
            with suppress(RuntimeError):  # the server has ended, and has noted it
                self._threads.submit(self._add, counted.caller, key.action, "", detail)

    def _add(self, caller: Caller, action: str, subject: str, detail: dict[str, int]) -> None:
        try:
            self._tenants.note(caller.tenant, action, token=caller.token_id, subject=subject, detail=detail)
        except StoreError as error:
            facts = {"kind": action, "session": subject, "reason": str(error)}
            logger.error("not in the audit trail", extra=facts)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *arguments))
