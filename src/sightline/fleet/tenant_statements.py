"""The statements that `tenants` runs, and what others ask about a tenant. `{s}` is the schema."""

# A tenant for which something may be begun: it is not being deleted, and is the one that was created at that time. Its
# values are the name, and the time or nothing. That time is part of what is begun, so that the database refuses it if
# the tenant is deleted meanwhile (see `schema`).
LIVE = "SELECT tenant, created FROM {s}.tenant WHERE tenant = %s AND ended IS NULL AND coalesce(created = %s, true)"

_TENANT = "tenant, created, requests_per_minute, most_bytes, keep_days, ended"
CREATE = f"""INSERT INTO {{s}}.tenant (tenant, requests_per_minute, most_bytes, keep_days) VALUES (%s, %s, %s, %s)
    ON CONFLICT DO NOTHING RETURNING {_TENANT}"""
LIST = f"SELECT {_TENANT} FROM {{s}}.tenant ORDER BY tenant"
GET = f"SELECT {_TENANT} FROM {{s}}.tenant WHERE tenant = %s AND ended IS NULL"
CHANGE = f"""UPDATE {{s}}.tenant SET requests_per_minute = %s, most_bytes = %s, keep_days = %s
    WHERE tenant = %s AND ended IS NULL RETURNING {_TENANT}"""
END = "UPDATE {s}.tenant SET ended = coalesce(ended, clock_timestamp()) WHERE tenant = %s RETURNING tenant"
DROP_TOKENS = "DELETE FROM {s}.token WHERE tenant = %s"
DROP_CODE = """DELETE FROM {s}.code WHERE (tenant, code, version) IN (
        SELECT tenant, code, version FROM {s}.code WHERE tenant = %s LIMIT %s
    ) RETURNING code"""
DROP = "DELETE FROM {s}.tenant WHERE tenant = %s RETURNING tenant"
DROP_PACE = "DELETE FROM {s}.pace WHERE tenant = %s"
_TOKEN = "token, tenant, name, created, expires, revoked, used"
ADD_TOKEN = f"""INSERT INTO {{s}}.token (token, tenant, name, hash, expires)
    SELECT %s, tenant, %s, %s, now() + %s * interval '1 day' FROM {{s}}.tenant WHERE tenant = %s AND ended IS NULL
    RETURNING {_TOKEN}"""
LIST_TOKENS = f"SELECT {_TOKEN} FROM {{s}}.token WHERE %s = '' OR tenant = %s ORDER BY tenant, created, token"
REVOKE = f"""UPDATE {{s}}.token SET revoked = coalesce(revoked, clock_timestamp()) WHERE token = %s
    RETURNING {_TOKEN}"""
# The time of the last use is written once a minute, so that a request seldom waits for a flush.
FIND = """WITH found AS (
        SELECT token, tenant, owner.created, requests_per_minute, most_bytes
        FROM {s}.token JOIN {s}.tenant AS owner USING (tenant)
        WHERE hash = %s AND revoked IS NULL AND (expires IS NULL OR expires > now()) AND ended IS NULL
    ), used AS (
        UPDATE {s}.token SET used = now() FROM found WHERE token.token = found.token
        AND (used IS NULL OR used < now() - interval '1 minute')
    ) SELECT * FROM found"""
# The generic cell rate algorithm: `due` is when the requests so far would end if each took its share of a minute. One
# more is let in while that is less than a minute ahead. It is never further ahead than that, so a database's clock that
# is set back holds nobody up.
ADMIT = """INSERT INTO {s}.pace AS pace (tenant, due) VALUES (%(tenant)s, now() + %(share)s * interval '1 second')
    ON CONFLICT (tenant) DO UPDATE SET
        wait = greatest(0, extract(epoch FROM least(pace.due, now() + interval '1 minute') - now()) - %(most)s),
        due = CASE WHEN pace.due <= now() + %(most)s * interval '1 second'
            THEN greatest(pace.due, now()) + %(share)s * interval '1 second'
            ELSE least(pace.due, now() + interval '1 minute') END
    RETURNING wait"""
COUNTED = """SELECT bytes FROM {s}.pace WHERE tenant = %s AND counted > now() - %s * interval '1 second'
    AND counted <= now()"""
COUNT = """INSERT INTO {s}.pace AS pace (tenant, bytes, counted) SELECT %(tenant)s, (
        SELECT coalesce(sum(bytes + texts), 0) FROM {s}.session WHERE tenant = %(tenant)s AND lines >= 0
    ) + (SELECT coalesce(sum(octet_length(data)), 0) FROM {s}.code WHERE tenant = %(tenant)s), now()
    ON CONFLICT (tenant) DO UPDATE SET bytes = excluded.bytes, counted = excluded.counted RETURNING bytes"""
NOTE = "INSERT INTO {s}.audit (tenant, token, action, subject, detail) VALUES (%s, %s, %s, %s, %s)"
AUDIT = """SELECT number, at, tenant, token, action, subject, detail FROM {s}.audit
    WHERE (%(tenant)s = '' OR tenant = %(tenant)s) AND (%(action)s = '' OR action ^@ %(action)s)
    AND (%(before)s = 0 OR number < %(before)s) ORDER BY number DESC LIMIT %(most)s"""
DROP_AUDIT = """DELETE FROM {s}.audit WHERE number = ANY(ARRAY(
        SELECT number FROM {s}.audit WHERE at < now() - %s * interval '1 day' ORDER BY at LIMIT %s
    )) RETURNING number"""
ACTIVE = """SELECT current_user::text, coalesce(bool_and(row_security_active(pg_class.oid)), false) FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s AND relkind IN ('r', 'p')
    AND NOT relispartition AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant')"""
