"""The three economies: what each of them does, in one sentence. Commands, pages and reports say it with these words."""

from sightline.errors import BadInput
from sightline.values.phrases import Phrases

ECONOMIES = ("safe", "off", "thrifty")
DEFAULT = ECONOMIES[0]  # of the library, the agent, the chat, the proxy and the adapters

# Thrifty: tokens of the window in which it works, however large the model's is. On recorded runs a smaller window
# always costs less. This is the smallest in which nearly all that agents edit can still be read (docs/quality.md).
THRIFTY_WINDOW = 64_000

meaning = Phrases({
    "safe": (
        "shows everything in full until the context window is full, only a huge output page by page, and after that "
        "shortens also where the provider's cache is cold anyway",
        "上下文窗口放满之前全部完整显示，只有特别大的输出分页显示，放满之后在服务商缓存本已失效时也会缩短",
    ),
    "off": ("shortens nothing until the context window is full", "上下文窗口放满之前不缩短任何内容"),
    "thrifty": (
        "works like safe in at most 64,000 tokens, however large the context window is, and what is older stays one "
        "`expand` away",
        "无论上下文窗口多大，都像 safe 一样最多用 64,000 个 token 工作，更早的内容用一次 `expand` 即可取回",
    ),
})  # fmt: skip
"""economy → the rest of a sentence whose subject it is."""


def check_economy(name: str) -> str:
    """Return an economy's name. Raises BadInput, which says what each of them does."""
    if name in ECONOMIES:
        return name
    raise BadInput(f"there is no economy {name!r}; {described()}")


def described() -> str:
    """Return one sentence for each economy, in English."""
    return "; ".join(f"{name} {meaning(name)}" for name in ECONOMIES)
