-- Nothing is without its tenant, see above. `since` is when the tenant was created: a later one of the same name
-- is another. Security is lifted meanwhile, because the rows of all tenants are read and changed.
ALTER TABLE {schema}.tenant NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.session NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.code NO FORCE ROW LEVEL SECURITY;
INSERT INTO {schema}.tenant (tenant)
    SELECT 'default' UNION SELECT tenant FROM {schema}.session UNION SELECT tenant FROM {schema}.code
    ON CONFLICT DO NOTHING;
ALTER TABLE {schema}.tenant ADD UNIQUE (tenant, created);
ALTER TABLE {schema}.session ADD COLUMN since timestamptz;
ALTER TABLE {schema}.code ADD COLUMN since timestamptz;
UPDATE {schema}.session SET since = owner.created FROM {schema}.tenant AS owner
    WHERE owner.tenant = session.tenant;
UPDATE {schema}.code SET since = owner.created FROM {schema}.tenant AS owner WHERE owner.tenant = code.tenant;
ALTER TABLE {schema}.session ALTER COLUMN since SET NOT NULL,
    ADD FOREIGN KEY (tenant, since) REFERENCES {schema}.tenant (tenant, created);
ALTER TABLE {schema}.code ALTER COLUMN since SET NOT NULL,
    ADD FOREIGN KEY (tenant, since) REFERENCES {schema}.tenant (tenant, created);
ALTER TABLE {schema}.tenant FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.session FORCE ROW LEVEL SECURITY;
ALTER TABLE {schema}.code FORCE ROW LEVEL SECURITY;
