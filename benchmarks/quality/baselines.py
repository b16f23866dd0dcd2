"""Baseline composers: `compose(history, query, budget)` gives messages. None of them calls a model.

Sizes (20 messages, 10 answers, half of the budget) are what their authors usually take.
"""

from collections.abc import Callable, Collection, Sequence

from benchmarks.quality.baseline_gists import bm25_scores
from benchmarks.quality.messages import (
    REQUEST,
    History,
    Message,
    count_message,
    count_messages,
    count_text,
    full_text,
    is_system,
    text_of,
)
from benchmarks.quality.validity import mandatory

Unit = tuple[int, int]  # a message, or a message with calls and its answers: first and end
Compose = Callable[[History, str, int], list[Message]]

LAST, KEPT_ANSWERS, KEPT_BATCH = 20, 10, 6
HALF, BATCH_TO = 0.5, 0.6  # of the budget, after a drop
RECENT = 0.3  # of the free room, for the newest messages
_CUT = "\n[... cut ...]\n"
_LEAST = 40  # tokens a cut text keeps at least


def units(history: History) -> list[Unit]:
    """Group messages into units: an assistant message with its tool results is one unit."""
    out, start = [], 0
    while start < len(history):
        end = start + 1
        if history[start]["role"] == "assistant" and history[start].get("tool_calls"):
            while end < len(history) and history[end]["role"] == "tool":
                end += 1
        out.append((start, end))
        start = end
    return out


def full(history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG001
    """Everything."""
    return list(history)


def last_n(history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG001
    """Naive: the system message and the last 20 messages, whatever they are."""
    head = [message for message in history[:1] if is_system(message)]
    return [*head, *history[len(head) :][-LAST:]]


def sliding(history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG001
    """Token window: system, last user message, and the longest recent suffix, tool pairs kept whole."""
    kept, used = _window(history, budget, list(map(count_message, history)))
    shown = [history[at] for at in kept]
    return shrunk(shown, budget) if used > budget else shown


def obs_mask(history: History, query: str, budget: int) -> list[Message]:
    """Observation masking: tool answers older than the last 10 become a placeholder; then a token window."""
    answers = [at for at, message in enumerate(history) if message["role"] == "tool"]
    old = set(answers[:-KEPT_ANSWERS])
    masked = [_masked(m) if at in old and count_text(text_of(m["content"])) > 12 else m for at, m in enumerate(history)]
    return sliding(masked, query, budget)


def _masked(message: Message) -> Message:
    return {**message, "content": f"[old tool output removed: {count_text(text_of(message['content']))} tokens]"}


def step_window(history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG001
    """Token window whose start moves rarely: past the budget, the oldest units are dropped down to half of it.

    A pure function of the history, so the start, and with it a provider's cache, stays put between two drops.
    """
    return _stepped(history, history, budget, HALF)


def step_mask(history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG001
    """Masking in batches: past the budget, all tool answers but the last 6 are masked at once.

    When that is not enough, the window's start moves as in `step_window`.
    """
    sizes = list(map(count_message, history))
    old = _masked_in_batches(history, sizes, budget)
    shown = [_masked(m) if at in old and sizes[at] > 24 else m for at, m in enumerate(history)]
    return _stepped(history, shown, budget, BATCH_TO)


def _masked_in_batches(history: History, sizes: Sequence[int], budget: int) -> set[int]:
    masked: set[int] = set()
    answers: list[int] = []
    used = REQUEST
    for at, message in enumerate(history):
        used += sizes[at]
        if message["role"] == "tool":
            answers.append(at)
        if used > budget:
            fresh = [each for each in answers[:-KEPT_BATCH] if each not in masked]
            masked.update(fresh)
            used -= sum(sizes[each] - min(sizes[each], 20) for each in fresh)
            if used > budget:
                break  # masking alone is not enough any more
    return masked


def _stepped(history: History, shown: History, budget: int, low: float) -> list[Message]:
    sizes = list(map(count_message, shown))
    every = units(history)
    lead = next((at for at, unit in enumerate(every) if not is_system(history[unit[0]])), len(every))
    cost = [sum(sizes[at] for at in range(*unit)) for unit in every]
    head = REQUEST + sum(cost[:lead])
    start, used, asked = lead, head, -1

    def apart() -> int:  # the last user message, where it stands before the window
        return sizes[every[asked][0]] if 0 <= asked < start else 0

    for at in range(lead, len(every)):
        used += cost[at]
        if history[every[at][0]]["role"] == "user":
            asked = at
        if used + apart() > budget:
            while start < at and used + apart() > max(low * budget, head + apart()):
                used -= cost[start]
                start += 1
    kept = [*every[:lead], *([every[asked]] if 0 <= asked < start else []), *every[start:]]
    out = [shown[at] for unit in kept for at in range(*unit)]
    return shrunk(out, budget) if count_messages(out) > budget else out


def _window(history: History, budget: int, sizes: Sequence[int]) -> tuple[list[int], int]:
    """Indexes of what is mandatory and of the longest recent suffix that fits; and its tokens."""
    every, must = units(history), set(mandatory(history))
    kept = {unit for unit in every if must.intersection(range(*unit))}
    used = REQUEST + sum(sizes[at] for unit in kept for at in range(*unit))
    for unit in reversed(every):
        cost = sum(sizes[at] for at in range(*unit))
        if unit in kept:
            continue
        if used + cost > budget:
            break
        kept.add(unit)
        used += cost
    return [at for unit in every if unit in kept for at in range(*unit)], used


def bm25(history: History, query: str, budget: int) -> list[Message]:
    """BM25 with the query (in an agent run also the last exchange), and a share of the budget for the newest ones."""
    sizes = list(map(count_message, history))
    if REQUEST + sum(sizes) <= budget:
        return list(history)
    every, must = units(history), set(mandatory(history))
    cost = {unit: sum(sizes[at] for at in range(*unit)) for unit in every}
    base = REQUEST + sum(cost[unit] for unit in every if must.intersection(range(*unit)))
    recent, used = _window(history, base + int(max(0, budget - base) * RECENT), sizes)
    kept = set(recent)
    for unit in _matching(history, query, [unit for unit in every if unit[0] not in kept]):
        if used + cost[unit] <= budget:
            kept.update(range(*unit))
            used += cost[unit]
    shown = [history[at] for at in sorted(kept)]
    return shrunk(shown, budget) if used > budget else shown


def _matching(history: History, query: str, among: Sequence[Unit]) -> list[Unit]:
    """The units that match, best first, the newer of equals first."""
    if history[-1]["role"] == "tool":
        query = query[:400] + "\n" + "\n".join(full_text(message)[:600] for message in history[-3:])
    scores = bm25_scores(["\n".join(full_text(history[at]) for at in range(*unit)) for unit in among], query)
    order = sorted(zip(scores, among, strict=True), key=lambda each: (-each[0], -each[1][0]))
    return [unit for score, unit in order if score > 0]


# ------------------------------------------------------------------ making it fit


def cut_middle(text: str, tokens: int) -> str:
    """Head and tail of a text."""
    if count_text(text) <= tokens:
        return text
    keep = max(40, int(len(text) * (tokens - 12) / max(1, count_text(text)) * 0.95))
    while True:
        cut = text[: keep * 2 // 3] + _CUT + text[len(text) - keep // 3 :]
        if count_text(cut) <= tokens or keep < 60:
            return cut
        keep = int(keep * 0.85)


def shrunk(messages: Sequence[Message], budget: int) -> list[Message]:
    """A list made to fit by cutting its longest texts to one common size."""
    sizes = [0 if is_system(message) else count_text(text_of(message.get("content"))) for message in messages]
    fixed = count_messages(messages) - sum(sizes)
    low, high = _LEAST, max(sizes, default=_LEAST)
    while low < high:
        middle = (low + high + 1) // 2
        if fixed + sum(min(size, middle) for size in sizes) <= budget - 4:
            low = middle
        else:
            high = middle - 1
    return [
        {**message, "content": cut_middle(text_of(message["content"]), low)} if size > low else message
        for message, size in zip(messages, sizes, strict=True)
    ]


BASELINES: dict[str, Compose] = {
    "full": full,
    "last_n20": last_n,
    "sliding": sliding,
    "obs_mask10": obs_mask,
    "step_window": step_window,
    "step_mask": step_mask,
    "bm25+recent": bm25,
}
# Masking does nothing in chats without tools.
BY_PART: dict[str, Collection[str]] = {
    "a": ("full", "last_n20", "sliding", "bm25+recent"),
    "b": tuple(BASELINES),
    "c": ("full", "last_n20", "sliding", "obs_mask10", "bm25+recent"),
    "e": ("full", "sliding", "obs_mask10", "step_mask", "bm25+recent"),
    "f": ("full", "sliding", "bm25+recent"),
}
