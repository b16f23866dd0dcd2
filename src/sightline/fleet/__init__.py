"""Many machines and many tenants: sessions in PostgreSQL, a queue of work, events between servers, tenants and tokens.

Nothing below this room knows of it. A `Session` and a server take `PostgresStores` as they take any other stores.
"""
