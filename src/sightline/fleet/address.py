"""The address of a PostgreSQL database as users write it, and what people see of it: no secrets."""

import re
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from sightline.fleet import errors

DEFAULT_TENANT = "default"  # of an address that names none; it is always there
SCHEMES = ("postgresql://", "postgres://")
_POOL = 10  # connections of one process at most; a thread that finds none waits
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OWN = ("schema", "tenant", "pool")  # parameters of the address that are ours, not the database's
_USUAL = {  # parameters of a connection, unless the address has others: a silent network is noticed in half a minute
    "application_name": "sightline", "connect_timeout": "10", "keepalives_idle": "15", "keepalives_interval": "5",
    "keepalives_count": "3", "tcp_user_timeout": "30000",
}  # fmt: skip


class Address(NamedTuple):
    """Where a database is, as `postgresql://…` says it. `place` and `shown` have no secrets: they are for people."""

    place: str
    conninfo: str
    schema: str = "sightline"
    tenant: str = DEFAULT_TENANT
    pool: int = _POOL
    told: str = ""  # what errors call the database, if their reader is not to know where it is
    since: datetime | None = None  # when the tenant was created; None: nobody looked

    @property
    def shown(self) -> str:
        """The address without secrets, with the schema and the tenant if they are not the usual ones."""
        if self.told:
            return self.told
        usual = (("schema", self.schema, "sightline"), ("tenant", self.tenant, DEFAULT_TENANT))
        ours = {name: value for name, value, default in usual if value not in (default, "")}
        return f"{self.place}?{urlencode(ours)}" if ours else self.place


def is_address(text: str) -> bool:
    """Whether this is the address of a PostgreSQL database."""
    return text.startswith(SCHEMES)


def read_address(url: str) -> Address:
    """Read the address of a database. What it does not say, the variables PGHOST, PGPASSWORD … say, as for `psql`.

    Its parameters `schema`, `tenant` and `pool` (the connections of a process) are ours; the others are libpq's.

    Raises BadInput, without the address: it may hold a password.
    """
    if not is_address(url):
        raise errors.NoAddress
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        pool = int(query.get("pool", _POOL))
    except ValueError:
        raise errors.UnreadableAddress from None
    user, at, host = parts.netloc.rpartition("@")
    place = f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"
    schema, tenant = query.get("schema", "sightline"), query.get("tenant", DEFAULT_TENANT)
    if not _NAME.fullmatch(schema):
        raise errors.BadSchemaName(schema)
    check_tenant(tenant)
    if not 1 <= pool <= 1000:
        raise errors.BadPool(pool)
    theirs = {**_USUAL, **{name: value for name, value in query.items() if name not in _OWN}}
    conninfo = f"{parts.scheme}://{parts.netloc}{parts.path}?{urlencode(theirs, quote_via=quote)}"
    return Address(place, conninfo, schema, tenant, pool)


def check_tenant(name: str) -> str:
    """Return the name of a tenant. Raises BadInput if it is none."""
    if not name or "\0" in name or name != name.encode("utf-8", "replace").decode():
        raise errors.NamelessTenant
    return name
