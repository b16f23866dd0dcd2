"""Tenants of a database: who they are, their tokens and limits, how much they use, and what was done (the audit trail).

A token is shown once, when it is created; the database has its SHA-256 only. All times are the database's, so that the
clocks of servers need not agree. Nothing here is kept in the process: every server of a database sees the same.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sightline.errors import BadInput
from sightline.fleet import errors
from sightline.fleet import tenant_statements as statements
from sightline.fleet.address import DEFAULT_TENANT, check_tenant
from sightline.fleet.database import Bound, Database, Failed, Lost, Rows, Values
from sightline.fleet.removal import remove_sessions, sweep
from sightline.values.pattern import pattern

if TYPE_CHECKING:
    from psycopg import Connection

NOTICE_SECONDS = 5.0  # within which every server notices that a token was revoked or a limit changed
AUDIT_DAYS = 400  # for which the audit trail is kept
LEAST_AUDIT_DAYS = 30  # at least: the tables' policy refuses to delete what is younger
OPERATOR = "operator"  # in the audit trail instead of the id of a token: the command line
_PREFIX = "sl_"  # of every token, so that programs that look for secrets in files can know them
_MOST_TEXT = 200  # characters of one text in the audit trail
_PAUSE = 0.2  # seconds before a tenant's row is tried again
_PIECE = 100  # versions of saved code, or 10 times as many lines of the audit trail, that are deleted at once
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
T = TypeVar("T")


class Limits(NamedTuple):
    """What a tenant may use. 0 is no limit."""

    requests_per_minute: int = 0
    most_bytes: int = 0


NO_LIMITS = Limits()


class Tenant(NamedTuple):
    """A tenant. Sessions that nothing was added to for `keep_days` are deleted; 0: they stay.

    `ended`: it is being deleted, and its tokens no longer work.
    """

    name: str
    created: datetime
    limits: Limits = NO_LIMITS
    keep_days: int = 0
    ended: datetime | None = None


class Removed(NamedTuple):
    """What was deleted with a tenant: sessions, and versions of saved code."""

    sessions: int
    codes: int


class Token(NamedTuple):
    """A token of a tenant, without its secret. `used` is exact to a minute."""

    id: str
    tenant: str
    name: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    used: datetime | None = None


class Caller(NamedTuple):
    """Who showed a token that is good."""

    tenant: str
    token_id: str
    limits: Limits = NO_LIMITS
    since: datetime | None = None  # when the tenant was created: one that was deleted may have had its name


class AuditEntry(NamedTuple):
    """One line of the audit trail. `token` is the id of a token, or `operator`."""

    number: int
    at: datetime
    tenant: str
    token: str
    action: str
    subject: str
    detail: dict[str, Any]


Tokens = list[Token]
Trail = list[AuditEntry]
Note = tuple[str, str, str, Mapping[str, Any]]  # the tenant, action, subject and detail of a line of the audit trail


def token_hash(text: str) -> bytes:
    """What the database has of a token. It needs no salt, because a token is random and long."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def token_id(text: str) -> str:
    """The id of a token: of its text, or as it is."""
    return text.removeprefix(_PREFIX).partition("_")[0]


class Tenants:
    """The tenants of one database. May be used by any number of threads.

    Every method raises StoreError if the database does not do it, and BadInput where a name is not known. None waits
    for a database that is away.
    """

    def __init__(self, database: Database) -> None:
        """`database` for any tenant: its connections are shared."""
        self._database, self._operator = database, database.for_operator()

    def unguarded_role(self) -> str:
        """The role of this connection, if it passes row-level security by; else empty."""
        [(role, is_active)] = self._ask(self._operator, statements.ACTIVE, (self._operator.address.schema,))
        return "" if is_active else str(role)

    def require_guarded(self) -> None:
        """As `check_guarded`. If the database cannot be reached now, it is checked before it is first used."""

        def check(connection: "Connection[Any]") -> None:
            values = (self._operator.address.schema,)
            [(role, is_active)] = connection.execute(self._operator.sql(statements.ACTIVE), values).fetchall()
            _check_active("" if is_active else str(role))

        self._database.require(check)
        with suppress(errors.Unreachable):
            self.check_guarded()

    def check_guarded(self) -> None:
        """Raise StoreError if the role of this connection passes row-level security by."""
        _check_active(self.unguarded_role())

    # ------------------------------------------------------------------ tenants

    def create(self, name: str, *, limits: Limits = NO_LIMITS, keep_days: int = 0) -> Tenant:
        """Add a tenant."""
        values = (check_name(name), *_checked(limits, keep_days))
        if not (
            made := self._do(
                statements.CREATE, values, lambda _: (name, "tenant.create", name, _limits(limits, keep_days))
            )
        ):
            raise errors.TenantExists(name)
        return _tenant(made[0])

    def list(self) -> list[Tenant]:
        """All tenants, by name, with those that are being deleted."""
        return [_tenant(row) for row in self._ask(self._operator, statements.LIST)]

    def get(self, name: str) -> Tenant:
        """One tenant."""
        for row in self._ask(self._operator, statements.GET, (check_tenant(name),)):
            return _tenant(row)
        raise errors.UnknownTenant(name)

    def change(self, name: str, *, limits: Limits | None = None, keep_days: int | None = None) -> Tenant:
        """Set limits and days; None leaves them as they are. Servers follow within seconds."""
        before = self.get(name)
        limits, days = limits or before.limits, before.keep_days if keep_days is None else keep_days
        values = (*_checked(limits, days), name)
        if not (
            made := self._do(statements.CHANGE, values, lambda _: (name, "tenant.change", name, _limits(limits, days)))
        ):
            raise errors.UnknownTenant(name)
        return _tenant(made[0])

    def delete(self, name: str, *, wait: float = NOTICE_SECONDS) -> Removed:
        """Delete a tenant with its tokens, sessions and saved code, and return how much that was.

        Its tokens stop to work first. After `wait` seconds, when every server has noticed, the rest is deleted in small
        pieces. If that is interrupted, another call goes on. The audit trail stays, until it is old. A transaction that
        began before and still writes is waited for: the database deletes the tenant's row when nothing belongs to it.

        Raises NeededTenant for the one that servers without tenants use.
        """
        check_deletable(self, name)
        tenant = self._database.for_tenant(name)
        ended = (name, "tenant.end", name, dict[str, Any]())
        if not self._do(statements.END, (name,), lambda _: ended, statements.DROP_TOKENS):
            raise errors.UnknownTenant(name)
        time.sleep(wait)
        removed = self._remove_all(tenant)
        while not self._drop(name, removed):
            sessions, codes = self._remove_all(tenant)
            removed = Removed(removed.sessions + sessions, removed.codes + codes)
        return removed

    def _drop(self, name: str, removed: Removed) -> bool:
        """Delete the row of a tenant. False: something came that belongs to it, or somebody else deletes the rest."""
        try:
            self._do(statements.DROP, (name,), lambda _: (name, "tenant.delete", name, removed._asdict()))
        except Bound:
            time.sleep(_PAUSE)
            return False
        return True

    def _remove_all(self, database: Database) -> Removed:
        """Delete all that the tenant of a database has, but for its own row and the audit trail."""
        name, codes = database.address.tenant, 0
        sessions = self._told(lambda: remove_sessions(database))
        while dropped := self._ask(database, statements.DROP_CODE, (name, _PIECE)):
            codes += len(dropped)
        self._ask(database, statements.DROP_PACE, (name,))
        return Removed(sessions, codes)

    def prune(self, name: str) -> int:
        """Delete the sessions that this tenant's `keep_days` are over for. Returns how many these were.

        What interrupted deletions left goes too: of sessions, and all of a tenant that is being deleted.
        """
        tenants = {tenant.name: tenant for tenant in self.list()}
        if name not in tenants:
            raise errors.UnknownTenant(name)
        database, (*_, days, ended) = self._database.for_tenant(name), tenants[name]
        if ended:
            return self._remove_all(database).sessions
        if not days:
            self.finish_deletions(name)
            return 0
        if count := self._told(lambda: remove_sessions(database, days=days)):
            self.note(name, "tenant.prune", subject=name, detail={"sessions": count, "keep_days": days})
        return count

    def finish_deletions(self, name: str) -> None:
        """Delete what is left of sessions whose deletion was interrupted. The tenant need be in no list."""
        database = self._database.for_tenant(name)
        self._told(lambda: sweep(database))

    def prune_audit(self, days: int = AUDIT_DAYS) -> int:
        """Delete the lines of the audit trail that are older than so many days. Returns how many these were."""
        if days < LEAST_AUDIT_DAYS:
            raise BadInput(f"the audit trail is kept for {LEAST_AUDIT_DAYS} days at least")
        count = 0
        while dropped := self._ask(self._operator, statements.DROP_AUDIT, (days, 10 * _PIECE)):
            count += len(dropped)
        return count

    # ------------------------------------------------------------------ tokens

    def create_token(self, tenant: str, name: str = "", *, days: int | None = None) -> tuple[Token, str]:
        """Add a token that works for so many days, and return it with its text, which nobody can read again."""
        made_id = secrets.token_hex(5)
        text = f"{_PREFIX}{made_id}_{secrets.token_urlsafe(32)}"
        values = (made_id, _plain(name), token_hash(text), days, check_tenant(tenant))
        made = self._do(statements.ADD_TOKEN, values, lambda _: (tenant, "token.create", made_id, {"name": name}))
        if not made:
            raise errors.UnknownTenant(tenant)
        return Token(*made[0]), text

    def list_tokens(self, tenant: str = "") -> Tokens:
        """The tokens of a tenant, or of all."""
        return [Token(*row) for row in self._ask(self._operator, statements.LIST_TOKENS, (tenant, tenant))]

    def revoke_token(self, token: str) -> Token:
        """Have a token no longer work. Servers follow within seconds. A second call changes nothing."""
        made = self._do(statements.REVOKE, (token,), lambda row: (row[1], "token.revoke", token, {"name": row[2]}))
        if not made:
            raise errors.UnknownToken(token)
        return Token(*made[0])

    # ------------------------------------------------------------------ requests

    def find(self, hashed: bytes) -> Caller | None:
        """Who has the token of this hash (`token_hash`); None: nobody, or not any more."""
        for token, tenant, since, *limits in self._ask(self._operator, statements.FIND, (hashed,)):
            return Caller(tenant, token, Limits(*limits), since)
        return None

    def admit(self, caller: Caller) -> float:
        """Count a request, and return 0; or return the seconds after which the caller may try again.

        A tenant may send a minute's requests at once, and then one more each time that the next one's share of a minute
        is over.
        """
        if not (rate := caller.limits.requests_per_minute):
            return 0.0
        share = 60.0 / rate
        values = {"tenant": caller.tenant, "share": share, "most": 60.0 - share}
        [(wait,)] = self._ask(self._database.for_tenant(caller.tenant), statements.ADMIT, values)
        return float(wait)

    def bytes_used(self, tenant: str, *, within: float = 0.0) -> int:
        """The bytes that a tenant stores: logs, texts of windows and saved code. Indexes, made again, do not count.

        They are counted anew if nobody, in any process, counted them `within` so many seconds.
        """
        database = self._database.for_tenant(tenant)
        if within and (rows := self._ask(database, statements.COUNTED, (tenant, within))):
            return int(rows[0][0])
        [(count,)] = self._ask(database, statements.COUNT, {"tenant": tenant})
        return int(count)

    # ------------------------------------------------------------------ audit

    def note(
        self, tenant: str, action: str, *, token: str = OPERATOR, subject: str = "", detail: Mapping[str, Any] = {}
    ) -> None:
        """Add a line to the audit trail. It may have names and numbers, never what a conversation says."""
        self._ask(self._database.for_tenant(tenant), statements.NOTE, _noted(tenant, token, action, subject, detail))

    def audit(self, tenant: str = "", *, action: str = "", before: int = 0, most: int = 100) -> Trail:
        """The audit trail, the newest line first: of a tenant, of actions that begin so, before a number."""
        values = {"tenant": tenant, "action": action, "before": before, "most": most}
        return [AuditEntry(*row) for row in self._ask(self._operator, statements.AUDIT, values)]

    # ------------------------------------------------------------------ the database

    def _ask(self, database: Database, sql: str, values: Values = ()) -> Rows:
        return self._told(lambda: database.run(database.sql(sql), values))

    def _do(self, sql: str, values: Sequence[Any], note: Callable[[tuple[Any, ...]], Note], more: str = "") -> Rows:
        """Change something, then more, and note it in the audit trail: all or nothing. No rows: there was nothing."""
        database = self._operator

        def act() -> Rows:
            with database.connection() as connection, connection.transaction():
                rows = connection.execute(database.sql(sql), values).fetchall()
                if rows and more:
                    connection.execute(database.sql(more), values)
                for row in rows:
                    tenant, action, subject, detail = note(row)
                    connection.execute(database.sql(statements.NOTE), _noted(tenant, OPERATOR, action, subject, detail))
                return rows

        return self._told(act)

    def _told(self, act: Callable[[], T]) -> T:
        try:
            return self._operator.again_if_undone(act)
        except Lost as error:
            raise (errors.LostAnswer if error.sent else errors.LostDatabase)(
                self._operator.address.place, str(error)
            ) from error
        except Bound:
            raise
        except Failed as error:
            raise errors.RefusedByDatabase(self._operator.address.place, str(error)) from error


def _check_active(role: str) -> None:
    """Raise StoreError if there is a role that passes row-level security by."""
    if role:
        raise errors.UnguardedRole(role)


def check_deletable(tenants: Tenants, name: str) -> None:
    """Raise NeededTenant for the one that servers without tenants use, and UnknownTenant if there is none."""
    if name == DEFAULT_TENANT:
        raise errors.NeededTenant(name)
    if all(tenant.name != name for tenant in tenants.list()):  # one whose deletion was interrupted is among them
        raise errors.UnknownTenant(name)


def check_name(name: str) -> str:
    """Return the name of a new tenant. Raises BadInput if it is none."""
    if not _NAME.fullmatch(name):
        raise errors.BadTenantName(name)
    return name


def _checked(limits: Limits, keep_days: int) -> tuple[int, int, int]:
    requests, most_bytes = limits
    if not 0 <= requests <= 1_000_000 or not 0 <= most_bytes < 1 << 62 or not 0 <= keep_days <= 100_000:
        raise errors.BadLimits
    return requests, most_bytes, keep_days


def _limits(limits: Limits, keep_days: int) -> dict[str, int]:
    return {
        "requests_per_minute": limits.requests_per_minute, "max_bytes": limits.most_bytes, "keep_days": keep_days,
    }  # fmt: skip


def _tenant(row: Sequence[Any]) -> Tenant:
    name, created, requests, most_bytes, keep_days, ended = row
    return Tenant(name, created, Limits(requests, most_bytes), keep_days, ended)


def _noted(tenant: str, token: str, action: str, subject: str, detail: Mapping[str, Any]) -> tuple[Any, ...]:
    from psycopg.types.json import Jsonb

    plain_detail = {key: _plain(value) if isinstance(value, str) else value for key, value in detail.items()}
    return tenant, token, action, _plain(subject), Jsonb(plain_detail)


def _plain(text: str) -> str:
    """A text that the database takes: short, without NUL and lone surrogates."""
    return text[:_MOST_TEXT].replace("\0", "").encode("utf-8", "replace").decode()
