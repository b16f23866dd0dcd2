"""A worker as a process of its own, whose model never answers: it is there to be killed.

It writes a line when its model is asked.
"""

import sys
import threading
from pathlib import Path

from sightline import PostgresStores
from sightline.fleet.tasks import Tasks
from sightline.fleet.work_queue import FleetWork


def hang(_payload: object) -> str:
    """Say that the model was asked, and never answer."""
    print("asked", flush=True)
    threading.Event().wait()
    return ""


if __name__ == "__main__":
    stores = PostgresStores(sys.argv[1])
    tasks = Tasks(Path.cwd(), stores=stores, model=hang)
    work = FleetWork(stores.database, tasks, kinds=tasks.kinds, heartbeat=float(sys.argv[2]))
    work.start()
    threading.Event().wait()
