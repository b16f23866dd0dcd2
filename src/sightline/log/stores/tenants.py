"""Tenants of a database: who they are, their tokens and limits, how much they use, and what was done (the audit trail).

A token is shown once, when it is created; the database has its SHA-256 only. All times are the database's, so that the
clocks of servers need not agree. Nothing here is kept in the process: every server of a database sees the same.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from sightline.errors import BadInput, StoreError
from sightline.log.stores.postgres_database import Database, Failed, Lost, Rows, Values, check_tenant
from sightline.values.pattern import pattern

OPERATOR = "operator"  # in the audit trail instead of the id of a token: the command line
_PREFIX = "sl_"  # of every token, so that programs that look for secrets in files can know them
_MOST_TEXT = 200  # characters of one text in the audit trail
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")

_TENANT = "tenant, created, requests_per_minute, most_bytes, keep_days"
_CREATE = f"""INSERT INTO {{s}}.tenant (tenant, requests_per_minute, most_bytes, keep_days) VALUES (%s, %s, %s, %s)
    ON CONFLICT DO NOTHING RETURNING {_TENANT}"""
_LIST = f"SELECT {_TENANT} FROM {{s}}.tenant WHERE ended IS NULL ORDER BY tenant"
_GET = f"SELECT {_TENANT} FROM {{s}}.tenant WHERE tenant = %s AND ended IS NULL"
_CHANGE = f"""UPDATE {{s}}.tenant SET requests_per_minute = %s, most_bytes = %s, keep_days = %s
    WHERE tenant = %s AND ended IS NULL RETURNING {_TENANT}"""
_TOKEN = "token, tenant, name, created, expires, revoked, used"
_ADD_TOKEN = f"""INSERT INTO {{s}}.token (token, tenant, name, hash, expires)
    SELECT %s, tenant, %s, %s, %s FROM {{s}}.tenant WHERE tenant = %s AND ended IS NULL RETURNING {_TOKEN}"""
_LIST_TOKENS = f"SELECT {_TOKEN} FROM {{s}}.token WHERE %s = '' OR tenant = %s ORDER BY tenant, created, token"
_REVOKE = f"""UPDATE {{s}}.token SET revoked = coalesce(revoked, clock_timestamp()) WHERE token = %s
    RETURNING {_TOKEN}"""
# The time of the last use is written once a minute, so that a request seldom waits for a flush.
_FIND = """WITH found AS (
        SELECT token, tenant, requests_per_minute, most_bytes FROM {s}.token JOIN {s}.tenant USING (tenant)
        WHERE hash = %s AND revoked IS NULL AND (expires IS NULL OR expires > now()) AND ended IS NULL
    ), used AS (
        UPDATE {s}.token SET used = now() FROM found WHERE token.token = found.token
        AND (used IS NULL OR used < now() - interval '1 minute')
    ) SELECT * FROM found"""
# The generic cell rate algorithm: `due` is when the requests so far would end if each took its share of a minute. One
# more is let in while that is less than a minute ahead. It is never further ahead than that, so a database's clock that
# is set back holds nobody up.
_ADMIT = """INSERT INTO {s}.pace AS pace (tenant, due) VALUES (%(tenant)s, now() + %(share)s * interval '1 second')
    ON CONFLICT (tenant) DO UPDATE SET
        wait = greatest(0, extract(epoch FROM least(pace.due, now() + interval '1 minute') - now()) - %(most)s),
        due = CASE WHEN pace.due <= now() + %(most)s * interval '1 second'
            THEN greatest(pace.due, now()) + %(share)s * interval '1 second'
            ELSE least(pace.due, now() + interval '1 minute') END
    RETURNING wait"""
_COUNTED = """SELECT bytes FROM {s}.pace WHERE tenant = %s AND counted > now() - %s * interval '1 second'
    AND counted <= now()"""
_COUNT = """INSERT INTO {s}.pace AS pace (tenant, bytes, counted) SELECT %(tenant)s, (
        SELECT coalesce(sum(bytes + texts), 0) FROM {s}.session WHERE tenant = %(tenant)s AND lines >= 0
    ) + (SELECT coalesce(sum(octet_length(data)), 0) FROM {s}.code WHERE tenant = %(tenant)s), now()
    ON CONFLICT (tenant) DO UPDATE SET bytes = excluded.bytes, counted = excluded.counted RETURNING bytes"""
_NOTE = "INSERT INTO {s}.audit (tenant, token, action, subject, detail) VALUES (%s, %s, %s, %s, %s)"
_AUDIT = """SELECT number, at, tenant, token, action, subject, detail FROM {s}.audit
    WHERE (%(tenant)s = '' OR tenant = %(tenant)s) AND (%(action)s = '' OR action ^@ %(action)s)
    AND (%(before)s = 0 OR number < %(before)s) ORDER BY number DESC LIMIT %(most)s"""
_ACTIVE = """SELECT current_user::text, coalesce(bool_and(row_security_active(pg_class.oid)), false) FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s AND relkind IN ('r', 'p')
    AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant')"""
T = TypeVar("T")


class Limits(NamedTuple):
    """What a tenant may use. 0 is no limit."""

    requests_per_minute: int = 0
    most_bytes: int = 0


NO_LIMITS = Limits()


class Tenant(NamedTuple):
    """A tenant. Sessions that were not written to for `keep_days` are deleted; 0: they stay."""

    name: str
    created: datetime
    limits: Limits = NO_LIMITS
    keep_days: int = 0


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


def token_hash(text: str) -> bytes:
    """What the database has of a token. It needs no salt, because a token is random and long."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class Tenants:
    """The tenants of one database. May be used by any number of threads.

    Every method raises StoreError if the database does not do it, and BadInput where a name is not known. None waits
    for a database that is away.
    """

    def __init__(self, database: Database) -> None:
        """`database` for any tenant: its connections are shared."""
        self._database, self._operator = database, database.for_operator()

    def check_guarded(self) -> None:
        """Raise StoreError if the role of this connection passes row-level security by."""
        schema = self._operator.address.schema
        [(role, is_active)] = self._ask(self._operator, _ACTIVE, (schema,))
        if not is_active:
            raise StoreError(
                f"the database's role {role!r} passes row-level security by, so a mistake could show one tenant's rows "
                "to another; connect as an ordinary role (no superuser, no BYPASSRLS): docs/tenants.md has the commands"
            )

    # ------------------------------------------------------------------ tenants

    def create(self, name: str, *, limits: Limits = NO_LIMITS, keep_days: int = 0) -> Tenant:
        """Add a tenant."""
        values = (check_name(name), *_checked(limits, keep_days))
        if not (made := self._do(_CREATE, values, lambda _: (name, "tenant.create", name, _limits(limits, keep_days)))):
            raise BadInput(f"there is a tenant {name!r} already, or it is being deleted; `sightline tenant list`")
        return _tenant(made[0])

    def list(self) -> list[Tenant]:
        """All tenants, by name."""
        return [_tenant(row) for row in self._ask(self._operator, _LIST)]

    def get(self, name: str) -> Tenant:
        """One tenant."""
        for row in self._ask(self._operator, _GET, (check_tenant(name),)):
            return _tenant(row)
        raise _unknown(name)

    def change(self, name: str, *, limits: Limits | None = None, keep_days: int | None = None) -> Tenant:
        """Set limits and days; None leaves them as they are. Servers follow within seconds."""
        before = self.get(name)
        limits, days = limits or before.limits, before.keep_days if keep_days is None else keep_days
        values = (*_checked(limits, days), name)
        if not (made := self._do(_CHANGE, values, lambda _: (name, "tenant.change", name, _limits(limits, days)))):
            raise _unknown(name)
        return _tenant(made[0])

    # ------------------------------------------------------------------ tokens

    def create_token(self, tenant: str, name: str = "", *, expires: datetime | None = None) -> tuple[Token, str]:
        """Add a token, and return it with its text, which nobody can read again."""
        token_id = secrets.token_hex(5)
        text = f"{_PREFIX}{token_id}_{secrets.token_urlsafe(32)}"
        values = (token_id, _plain(name), token_hash(text), expires, check_tenant(tenant))
        made = self._do(_ADD_TOKEN, values, lambda _: (tenant, "token.create", token_id, {"name": name}))
        if not made:
            raise _unknown(tenant)
        return Token(*made[0]), text

    def list_tokens(self, tenant: str = "") -> Tokens:
        """The tokens of a tenant, or of all."""
        return [Token(*row) for row in self._ask(self._operator, _LIST_TOKENS, (tenant, tenant))]

    def revoke_token(self, token_id: str) -> Token:
        """Have a token no longer work. Servers follow within seconds. A second call changes nothing."""
        made = self._do(_REVOKE, (token_id,), lambda row: (row[1], "token.revoke", token_id, {"name": row[2]}))
        if not made:
            raise BadInput(f"no token {token_id!r}; `sightline token list` shows their ids")
        return Token(*made[0])

    # ------------------------------------------------------------------ requests

    def find(self, hashed: bytes) -> Caller | None:
        """Who has the token of this hash (`token_hash`); None: nobody, or not any more."""
        for token, tenant, *limits in self._ask(self._operator, _FIND, (hashed,)):
            return Caller(tenant, token, Limits(*limits))
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
        [(wait,)] = self._ask(self._database.for_tenant(caller.tenant), _ADMIT, values)
        return float(wait)

    def bytes_used(self, tenant: str, *, within: float = 0.0) -> int:
        """The bytes that a tenant stores: logs, texts of windows and saved code. Indexes, made again, do not count.

        They are counted anew if nobody, in any process, counted them `within` so many seconds.
        """
        database = self._database.for_tenant(tenant)
        if within and (found := self._ask(database, _COUNTED, (tenant, within))):
            return int(found[0][0])
        [(count,)] = self._ask(database, _COUNT, {"tenant": tenant})
        return int(count)

    # ------------------------------------------------------------------ audit

    def note(
        self, tenant: str, action: str, *, token: str = OPERATOR, subject: str = "", detail: Mapping[str, Any] = {}
    ) -> None:
        """Add a line to the audit trail. It may have names and numbers, never what a conversation says."""
        self._ask(self._database.for_tenant(tenant), _NOTE, _noted(tenant, token, action, subject, detail))

    def audit(self, tenant: str = "", *, action: str = "", before: int = 0, most: int = 100) -> Trail:
        """The audit trail, the newest line first: of a tenant, of actions that begin so, before a number."""
        values = {"tenant": tenant, "action": action, "before": before, "most": most}
        return [AuditEntry(*row) for row in self._ask(self._operator, _AUDIT, values)]

    # ------------------------------------------------------------------ the database

    def _ask(self, database: Database, sql: str, values: Values = ()) -> Rows:
        return self._told(lambda: database.run(database.sql(sql), values))

    def _do(self, sql: str, values: Sequence[Any], note: "Callable[[tuple[Any, ...]], _Note]") -> Rows:
        """Change something and note it in the audit trail, both or nothing. Returns no rows if nothing was changed."""
        database = self._operator

        def act() -> Rows:
            with database.connection() as connection, connection.transaction():
                rows = connection.execute(database.sql(sql), values).fetchall()
                for row in rows:
                    tenant, action, subject, detail = note(row)
                    connection.execute(database.sql(_NOTE), _noted(tenant, OPERATOR, action, subject, detail))
                return rows

        return self._told(act)

    def _told(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Lost as error:
            unknown = "; whether it was done is not known" if error.sent else ""
            raise StoreError(f"{self._operator.address.place} was lost: {error}{unknown}") from error
        except Failed as error:
            raise StoreError(f"{self._operator.address.place} refused: {error}") from error


_Note = tuple[str, str, str, Mapping[str, Any]]


def check_name(name: str) -> str:
    """Return the name of a new tenant. Raises BadInput if it is none."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is no name for a tenant: use up to 63 letters, digits, '.', '_' and '-', and begin "
            "with a letter or digit"
        )
    return name


def _checked(limits: Limits, keep_days: int) -> tuple[int, int, int]:
    requests, most_bytes = limits
    if not 0 <= requests <= 1_000_000 or not 0 <= most_bytes < 1 << 62 or not 0 <= keep_days <= 100_000:
        raise BadInput("a limit is 0 (none) or more: at most 1,000,000 requests a minute and 100,000 days")
    return requests, most_bytes, keep_days


def _limits(limits: Limits, keep_days: int) -> dict[str, int]:
    return {**limits._asdict(), "keep_days": keep_days}


def _tenant(row: Sequence[Any]) -> Tenant:
    name, created, requests, most_bytes, keep_days = row
    return Tenant(name, created, Limits(requests, most_bytes), keep_days)


def _unknown(name: str) -> BadInput:
    return BadInput(
        f"no tenant {name!r}; `sightline tenant list` shows those there are, `sightline tenant create` adds one"
    )


def _noted(tenant: str, token: str, action: str, subject: str, detail: Mapping[str, Any]) -> tuple[Any, ...]:
    from psycopg.types.json import Jsonb

    shown = {key: _plain(value) if isinstance(value, str) else value for key, value in detail.items()}
    return tenant, token, action, _plain(subject), Jsonb(shown)


def _plain(text: str) -> str:
    """A text that the database takes: short, without NUL and lone surrogates."""
    return text[:_MOST_TEXT].replace("\0", "").encode("utf-8", "replace").decode()
