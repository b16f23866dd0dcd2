-- Divide the large tables of Sightline into parts, by a hash of the session. Stop the servers, then run it once:
--
--     psql -v ON_ERROR_STOP=1 -d sightline -f partition.sql
--
-- It is one transaction: all of it is done, or nothing. Rows that are there already are copied.
-- Rights, row-level security and its policies are those of the tables before.
DO $$
DECLARE
    place CONSTANT text := 'sightline';  -- the schema
    parts CONSTANT int := 64;            -- to have another number later, all rows are copied again
    named text;
    whole text;
    made text;
    kept pg_class%ROWTYPE;
    found record;
BEGIN
    SET LOCAL row_security = off;  -- an error rather than a copy without the rows of some tenants
    SET LOCAL statement_timeout = 0;
    FOREACH named IN ARRAY ARRAY['entry', 'content', 'derived'] LOOP
        made := format('%I.%I', place, named);
        whole := format('%I.%I', place, named || '_whole');
        SELECT * INTO STRICT kept FROM pg_class WHERE oid = made::regclass;
        CONTINUE WHEN kept.relkind = 'p';  -- it is divided already
        EXECUTE format('ALTER TABLE %s RENAME TO %I', made, named || '_whole');
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', whole);
        EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL) PARTITION BY HASH (session)', made, whole);
        FOR number IN 0 .. parts - 1 LOOP
            EXECUTE format(
                'CREATE TABLE %I.%I PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                place, named || '_' || number, made, parts, number
            );
        END LOOP;
        EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE SELECT * FROM %s', made, whole);
        FOR found IN SELECT attname FROM pg_attribute WHERE attrelid = kept.oid AND attidentity <> '' LOOP
            EXECUTE format(
                'SELECT setval(pg_get_serial_sequence(%L, %L), coalesce(max(%I), 0) + 1, false) FROM %s',
                made, found.attname, found.attname, made
            );
        END LOOP;
        FOR found IN SELECT grantee, privilege_type FROM aclexplode(kept.relacl) WHERE grantee <> kept.relowner LOOP
            EXECUTE format(
                'GRANT %s ON %s TO %s', found.privilege_type, made,
                CASE found.grantee WHEN 0 THEN 'PUBLIC' ELSE found.grantee::regrole::text END
            );
        END LOOP;
        FOR found IN SELECT * FROM pg_policies WHERE schemaname = place AND tablename = named || '_whole' LOOP
            EXECUTE format(
                'CREATE POLICY %I ON %s AS %s FOR %s TO %s', found.policyname, made, found.permissive, found.cmd,
                (SELECT string_agg(CASE role WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(role) END, ', ')
                 FROM unnest(found.roles) AS role)
            ) || coalesce(' USING (' || found.qual || ')', '')
              || coalesce(' WITH CHECK (' || found.with_check || ')', '');
        END LOOP;
        IF kept.relrowsecurity THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', made);
        END IF;
        IF kept.relforcerowsecurity THEN
            EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', made);
        END IF;
        EXECUTE format('ALTER TABLE %s OWNER TO %s', made, kept.relowner::regrole);
        EXECUTE format('DROP TABLE %s', whole);
    END LOOP;
END $$;
