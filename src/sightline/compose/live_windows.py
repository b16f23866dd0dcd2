"""What the open windows show now, and what that costs."""

from collections.abc import Mapping

from sightline.apps.host import Host
from sightline.log.journal import Journal


class LiveWindows:
    """The texts of a session's open windows. Their tokens are counted once for each text."""

    def __init__(self, journal: Journal, host: Host) -> None:
        self._journal, self._host = journal, host
        self._sizes: dict[str, int] = {}  # tokens of the texts that were shown last

    def texts(self, tokens: int | None, in_place: bool, before: Mapping[str, str]) -> dict[str, str]:
        """Return what each open window shows now, in at most so many tokens; None: whatever they need.

        Windows that look as they did `before` come first, so that the payload changes as late as possible. With
        `in_place`, a window costs its tokens at each of its references.
        """
        if not self._journal.timeline.windows:
            return {}
        counted, self._sizes = self._sizes, {}
        framing = self._journal.reader.profile.message_tokens

        def size(window: str, text: str) -> int:
            if text not in self._sizes:
                self._sizes[text] = counted[text] if text in counted else self.tokens(text)
            references = len(self._journal.timeline.references(window, self._journal.path)) if in_place else 1
            return (self._sizes[text] + framing) * references

        shown = self._host.shown(tokens, size)
        return {window: text for window, text in before.items() if shown.get(window) == text} | shown

    def tokens(self, text: str) -> int:
        """Return the tokens of what a window shows."""
        known = self._sizes.get(text)
        return self._journal.reader.counter.count(text) if known is None else known
