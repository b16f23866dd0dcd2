"""Sightline's own gist of a dialogue, at any size, for part (d).

A session makes gists of one size only, with a label before them; the rules behind them know no size.
"""

from benchmarks.quality.messages import count_text
from sightline.shorten.dialogue import dialogue_levels
from sightline.shorten.fill import TokenLimit, fill
from sightline.shorten.sample import read_sample


def gist(text: str, tokens: int) -> str:
    """As many of the best sentences and names as fit, in order."""
    per_token = max(0.5, len(text) / max(1, count_text(text)))
    level = dialogue_levels(read_sample(text), longest=int(tokens * per_token)).gist
    return fill("", level, count_text, TokenLimit(tokens, per_token)).text
