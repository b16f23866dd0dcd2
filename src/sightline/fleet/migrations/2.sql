-- Tenants, their tokens (of which only a hash is kept), the pace of their requests, and what was done (audit).
-- `session.texts` counts the bytes in `content`, so that a tenant's use is a sum over its sessions.
-- `session.stored` is when the last line came into this database: `written` may be an earlier time, of a copy or an
-- import, and sessions are not deleted for that. Those that were there before this migration came just now.
-- `session.lines` below 0 is a session that is deleted, a piece at a time: see `removal`.
-- `pace` is not logged, because it may be lost at a crash, and so a request waits for no flush. Most of its pages
-- stay free, because each request changes a row. Of `audit` nothing is changed, and only what is old is deleted.
-- A limit of 0 is none.
ALTER TABLE {schema}.session ADD COLUMN texts bigint NOT NULL DEFAULT 0,
    ADD COLUMN stored timestamptz NOT NULL DEFAULT now();
UPDATE {schema}.session SET texts = kept.bytes FROM (
    SELECT tenant, session, sum(octet_length(data)) AS bytes FROM {schema}.content GROUP BY tenant, session
) AS kept WHERE session.tenant = kept.tenant AND session.session = kept.session;
CREATE TABLE {schema}.tenant (
    tenant text COLLATE "C" PRIMARY KEY,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    requests_per_minute int NOT NULL DEFAULT 0,
    most_bytes bigint NOT NULL DEFAULT 0,
    keep_days int NOT NULL DEFAULT 0,
    ended timestamptz
);
INSERT INTO {schema}.tenant (tenant)
    SELECT 'default' UNION SELECT tenant FROM {schema}.session UNION SELECT tenant FROM {schema}.code;
CREATE TABLE {schema}.token (
    token text COLLATE "C" PRIMARY KEY,
    tenant text NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires timestamptz,
    revoked timestamptz,
    used timestamptz
) WITH (fillfactor = 50);
CREATE INDEX ON {schema}.token (tenant);
CREATE UNLOGGED TABLE {schema}.pace (
    tenant text PRIMARY KEY,
    due timestamptz NOT NULL DEFAULT 'epoch',
    wait double precision NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    counted timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 10);
CREATE TABLE {schema}.audit (
    number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant text NOT NULL,
    token text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb NOT NULL
);
CREATE INDEX ON {schema}.audit (tenant, number);
CREATE INDEX ON {schema}.audit (at);
ALTER TABLE {schema}.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.content ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.derived ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.code ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.token ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.pace ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.session FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.entry FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.content FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.derived FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.code FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.tenant FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.token FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.pace FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON {schema}.session USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.entry USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.content USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.derived USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.code USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.pace USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.tenant FOR SELECT USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY tenant ON {schema}.token FOR SELECT USING (tenant = current_setting('sightline.tenant', true));
CREATE POLICY operator ON {schema}.tenant USING (current_setting('sightline.operator', true) = 'on');
CREATE POLICY operator ON {schema}.token USING (current_setting('sightline.operator', true) = 'on');
CREATE POLICY operator ON {schema}.pace USING (current_setting('sightline.operator', true) = 'on');
CREATE POLICY seen ON {schema}.audit FOR SELECT USING (tenant = current_setting('sightline.tenant', true) OR current_setting('sightline.operator', true) = 'on');
CREATE POLICY added ON {schema}.audit FOR INSERT WITH CHECK (tenant = current_setting('sightline.tenant', true) OR current_setting('sightline.operator', true) = 'on');
CREATE POLICY old ON {schema}.audit FOR DELETE USING (current_setting('sightline.operator', true) = 'on' AND at < now() - interval '30 days');
