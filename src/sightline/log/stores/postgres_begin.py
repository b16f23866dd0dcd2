"""Finds a session of a tenant, or begins it: the database refuses for a tenant that was deleted.

Whoever knows when its tenant was created (`Address.since`) finds and begins nothing of a later one of the same name.
"""

from sightline.log.stores.postgres_database import Database
from sightline.log.stores.tenant_statements import LIVE

FIND = """SELECT session FROM {s}.session WHERE tenant = %s AND name = %s AND (%s::timestamptz IS NULL OR EXISTS (
        SELECT FROM {s}.tenant WHERE tenant = %s AND created = %s AND ended IS NULL
    ))"""
BEGIN = f"""WITH live AS ({LIVE}), made AS (
        INSERT INTO {{s}}.session (tenant, since, name) SELECT tenant, created, %s FROM live
        ON CONFLICT DO NOTHING RETURNING session
    ) SELECT session FROM made UNION ALL {FIND} UNION ALL SELECT NULL WHERE NOT EXISTS (SELECT FROM live)"""


def find_values(database: Database, session_id: str) -> tuple[object, ...]:
    """The values of `FIND`."""
    tenant, since = database.address.tenant, database.address.since
    return tenant, session_id, since, tenant, since


def begin_values(database: Database, session_id: str) -> tuple[object, ...]:
    """The values of `BEGIN`. It returns None instead of a key if nothing may be begun, and no row to be asked again."""
    tenant, since = database.address.tenant, database.address.since
    return tenant, since, session_id, *find_values(database, session_id)
