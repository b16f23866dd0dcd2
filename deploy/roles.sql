-- The roles of docs/tenants.md, for a new database of compose.yaml, which runs this as its superuser. Row-level security
-- does not hold for a superuser, so servers connect as sightline_owner: it may make tables, and nothing else.
\getenv password SIGHTLINE_PASSWORD
CREATE ROLE sightline_owner LOGIN PASSWORD :'password';
GRANT CREATE ON DATABASE sightline TO sightline_owner;
-- For servers that may not change the tables. It has no password, so nobody logs in as it yet: give it one
-- (ALTER ROLE sightline_server PASSWORD …) and the rights in docs/tenants.md, then name it in SIGHTLINE_STORE.
CREATE ROLE sightline_server LOGIN;
