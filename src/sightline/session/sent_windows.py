"""Windows as the last payload showed them, for a session whose apps do not run here."""

from typing import NamedTuple

from sightline.log.annotations import ReceiptNote
from sightline.log.journal import Blobs


class Snapshot(NamedTuple):
    """The text that a window showed."""

    text: str

    def render(self) -> str:
        return self.text


def sent_windows(receipt: ReceiptNote | None, snapshots: Blobs) -> dict[str, Snapshot]:
    """Return the windows that this receipt names, by id, without those whose text is lost."""
    texts = snapshots.read(receipt.windows) if receipt is not None else {}
    return {window: Snapshot(text) for window, text in texts.items()}
