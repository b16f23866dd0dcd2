"""Asks the servers and workers of a database to index sessions that commands brought into it.

The queue is imported where there is such a database: for sessions in files it would take a tenth of a second.
"""

from collections.abc import Sequence

from sightline.fleet.postgres import PostgresStores
from sightline.fleet.work_schema import is_installed
from sightline.log.stores import PlacedStores


def want_indexes(stores: PlacedStores, sessions: Sequence[str]) -> None:
    """Have sessions that came into a database indexed by its servers and workers, before somebody uses them."""
    if not sessions or not isinstance(stores, PostgresStores) or not is_installed():
        return
    from sightline.fleet.work_queue import put_jobs
    from sightline.follow.turns import INDEX
    from sightline.server.work import Job

    put_jobs(stores.database, [Job(INDEX, session_id, stores.tenant) for session_id in sessions])
