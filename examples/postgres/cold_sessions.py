"""Move sessions that nobody has written to for a while out of the database, into files.

    SIGHTLINE_STORE=postgresql://… python cold_sessions.py 90 cold/

moves those of 90 days and more. `sightline store copy cold/ "$SIGHTLINE_STORE" --session ID` brings one back.
"""

import os
import sys
import time
from pathlib import Path

from sightline import PostgresStores
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.transfer import copy_session

DAY = 86_400


def put_aside(stores: PostgresStores, days: float, folder: Path) -> list[str]:
    """Copy old sessions to files, each checked byte for byte, and delete them from the database. Return their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    files, moved = Folder.at(folder), []
    for found in stores.written():
        if found.seconds > time.time() - days * DAY:
            continue
        copy_session(stores, files, found.session_id)
        is_whole = copy_session(stores, files, found.session_id).state == "same"  # reads both, and compares
        if is_whole and stores.look(found.session_id) == found:  # nobody has written to it meanwhile
            stores.delete(found.session_id)
            moved.append(found.session_id)
    return moved


if __name__ == "__main__":
    for session_id in put_aside(PostgresStores(os.environ["SIGHTLINE_STORE"]), float(sys.argv[1]), Path(sys.argv[2])):
        print(session_id)
