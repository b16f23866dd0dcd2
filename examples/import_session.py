"""Import the conversations of other programs, and see how much of the newest one fits into a small context window.

python import_session.py ~/.claude/projects/-home-me-shop
"""

import sys

import sightline as sl
from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.log.stores.session_folder import Folder


def main() -> None:
    """Import a file or folder into the sessions of this project; importing it again adds what is new."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FILE_OR_FOLDER")
    stores = Folder(".")  # where `Session.open(".")` looks, too
    for conversation in conversations(sys.argv[1], refuse=lambda file, why: print(f"{file}: {why}")):
        done = import_into(stores, conversation)
        print(f"{done.name}: {done.state}, {done.messages} messages, session {done.session}")
    with sl.Session.open(".") as session:
        payload = session.preview(sl.Budget(window=32_000))
        print(f"newest: {session.id}: {len(session.items)} items; {payload.tokens:,} tokens of them would be sent")


if __name__ == "__main__":
    main()
