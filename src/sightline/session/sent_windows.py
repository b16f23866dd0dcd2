"""Windows as the last payload showed them, for a session whose apps do not run here."""

from typing import NamedTuple

from sightline.apps.protocols import Window
from sightline.log.annotations import ReceiptNote
from sightline.log.window_snapshots import Blobs


class SentWindows:
    """Finds the text that each window showed. `load` fills it."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}

    def load(self, receipt: ReceiptNote | None, snapshots: Blobs) -> None:
        """Read the texts of the windows that this receipt names."""
        windows = receipt.windows if receipt is not None else {}
        self._texts = {window: snapshots.text(digest) for window, digest in windows.items()}

    def get(self, window_id: str) -> Window | None:
        """Return the window; None if the last payload did not show it or its text is lost."""
        text = self._texts.get(window_id)
        return None if text is None else _Snapshot(text)


class _Snapshot(NamedTuple):
    text: str

    def render(self) -> str:
        return self.text
