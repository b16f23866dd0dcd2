-- `session.lines` counts the lines of a log. `tips` are what a writer must know of it, see `Tips`. Half of each
-- page of `session` stays free, because each append changes a row: it then finds room beside the old one.
-- `entry.seq` is the number of a line. It is the entry's own seq, unless other programs wrote to the log.
-- Names of sessions are compared as bytes, so that their index finds those that begin alike.
-- Content is bytea: text may hold no NUL and no lone surrogate, and jsonb would not give back the same bytes.
CREATE TABLE {schema}.session (
    tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
    session bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    name text COLLATE "C" NOT NULL,
    lines bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    tips bytea NOT NULL DEFAULT '',
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, session),
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);
CREATE TABLE {schema}.entry (
    tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
    session bigint NOT NULL,
    seq bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, session, seq)
);
CREATE TABLE {schema}.content (
    tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
    session bigint NOT NULL,
    digest text NOT NULL,
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, session, digest)
);
CREATE TABLE {schema}.derived (
    tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
    session bigint NOT NULL,
    name text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, session, name)
);
CREATE TABLE {schema}.code (
    tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
    code text COLLATE "C" NOT NULL,
    version int NOT NULL,
    number bigint NOT NULL,
    session text NOT NULL,
    facts bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, code, version)
);
CREATE INDEX ON {schema}.code (tenant, session);
