"""The three economies: what each of them does, in one sentence. Commands, pages and reports say it with these words."""

from sightline.errors import BadInput
from sightline.values.phrases import Phrases, texts

ECONOMIES = ("safe", "off", "thrifty")
DEFAULT = ECONOMIES[0]  # of the library, the agent, the chat, the proxy and the adapters

# Thrifty: tokens of the window in which it works, however large the model's is. On recorded runs a smaller window
# always costs less. This is the smallest in which nearly all that agents edit can still be read (docs/quality.md).
THRIFTY_WINDOW = 64_000

meaning = Phrases(texts("economies"))
"""economy → the rest of a sentence whose subject it is."""


def check_economy(name: str) -> str:
    """Return an economy's name. Raises BadInput, which says what each of them does."""
    if name in ECONOMIES:
        return name
    raise BadInput(f"there is no economy {name!r}; {described()}")


def described() -> str:
    """Return one sentence for each economy, in English."""
    return "; ".join(f"{name} {meaning(name)}" for name in ECONOMIES)
