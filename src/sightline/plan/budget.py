"""The token budget of a payload."""

from math import floor

from msgspec import Struct

from sightline.errors import BadInput


class Budget(Struct, frozen=True):
    """How much may be sent, in the model's tokens.

    window: tokens of the model's context window; output: those of them that are reserved for its answer.
    trigger, target: shares of the tokens that head and tail leave for the body. Above `trigger` a sweep is forced. It
    shortens items until the body is down to `target`. That is far below, because each sweep makes the provider cache
    everything after the first change again, so sweeps should be rare.
    recall: the share that recalled pieces may take for one message of a running conversation, even if a sweep must make
    room for it; up to 800 tokens if that is more and free, in the first payload up to 4,500. 0: nothing is recalled
    unasked.
    windows: the share that live windows may take; those that do not fit are shown at a lower level.
    """

    window: int
    output: int = 0
    trigger: float = 0.95
    target: float = 0.42
    recall: float = 0.1
    windows: float = 0.25

    def __post_init__(self) -> None:
        shares = (self.trigger, self.target, self.recall, self.windows)
        if not isinstance(self.window, int) or not isinstance(self.output, int):
            raise BadInput(f"a budget's window and output are whole tokens; got {self.window!r} and {self.output!r}")
        if not all(isinstance(share, int | float) for share in shares):
            raise BadInput(f"a budget's trigger, target, recall and windows are shares between 0 and 1; got {shares!r}")
        if self.window <= 0 or not 0 <= self.output < self.window:
            raise BadInput(f"a budget needs 0 <= output < window; got window={self.window}, output={self.output}")
        if not 0 < self.target <= self.trigger <= 1 or not 0 <= self.recall <= 1 or not 0 <= self.windows <= 1:
            raise BadInput("a budget needs 0 < target <= trigger <= 1, 0 <= recall <= 1 and 0 <= windows <= 1")

    def limit(self, factor: float = 1.0, margin: float = 0.0) -> int:
        """Tokens that a payload may have, as we count them, if the model counts `factor` times as many.

        `margin` is a share added to every count, for models whose counting is not known.
        """
        tokens = self.window - self.output
        return min(tokens, floor(tokens / (factor * (1 + margin))))
