"""The prefix law on a replay: a request begins with the one before, or its receipt says why not."""

from collections.abc import Sequence

from benchmarks.quality.composer_calls import Composer, Row
from benchmarks.quality.messages import Message, text_of
from benchmarks.quality.request import Request

UNNAMED = "no reason"


class Prefixes:
    """Requests of one composer, compared one by one with the request before.

    A composer that has a `reason` is held to the law: the reason of its latest request, empty where it goes on from the
    one before. What a break costs is all that has to be sent after the first difference.
    """

    def __init__(self) -> None:
        self.compared = self.breaks = self.unexplained = 0
        self.promised = False
        self.reasons: dict[str, list[int]] = {}  # calls and tokens written again

    def compare(self, before: Request | None, now: Request, composer: Composer) -> int:
        """Compare with the request before. Return the tokens of the prefix that both share."""
        self.promised = hasattr(composer, "reason")
        if before is None:
            return 0
        self.compared += 1
        if now.shared < len(before.messages) and not _goes_on(before.messages, now.messages, now.shared):
            self._broken(composer, sum(now.sizes[now.shared :]))
        return sum(now.sizes[: now.shared])

    def _broken(self, composer: Composer, tokens: int) -> None:
        self.breaks += 1
        if not self.promised:
            return
        reason = composer.reason
        self.unexplained += not reason
        known = self.reasons.setdefault(reason or UNNAMED, [0, 0])
        known[0] += 1
        known[1] += tokens

    def row(self) -> Row:
        """For the report."""
        return {
            "gives_reasons": self.promised,
            "requests_compared": self.compared,
            "prefix_breaks": self.breaks,
            "unexplained_breaks": self.unexplained,
            "break_reasons": {name: {"calls": n, "tokens": tokens} for name, (n, tokens) in self.reasons.items()},
        }


def _goes_on(before: Sequence[Message], now: Sequence[Message], shared: int) -> bool:
    """Return whether only the last message was extended at its end, which keeps the prefix."""
    if shared != len(before) - 1 or len(now) <= shared:
        return False
    old, new = before[shared], now[shared]
    kept = all(old.get(key) == new.get(key) for key in ("role", "tool_call_id", "tool_calls"))
    return kept and text_of(new.get("content")).startswith(text_of(old.get("content")))
