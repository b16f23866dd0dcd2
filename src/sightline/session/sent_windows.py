"""Windows as the last payload showed them, for a session whose apps do not run here."""

from typing import NamedTuple

from sightline.log.annotations import ReceiptNote
from sightline.log.window_snapshots import Blobs


class Snapshot(NamedTuple):
    """The text that a window showed."""

    text: str

    def render(self) -> str:
        return self.text


def sent_windows(receipt: ReceiptNote | None, snapshots: Blobs) -> dict[str, Snapshot]:
    """Return the windows that this receipt names, by id, without those whose text is lost."""
    named = receipt.windows if receipt is not None else {}
    texts = snapshots.texts(named.values())
    return {window: Snapshot(texts[digest]) for window, digest in named.items() if digest in texts}
