"""The table of what a way of composing sends and costs, on one run of tool calls. See adapter_costs.py."""

from itertools import pairwise, takewhile
from typing import Any

from sightline.values.tokens import counter

WINDOW, OUTPUT = 12_000, 1_000
QUESTIONS, CALLS = 20, 3
SYSTEM = "You look after the servers of a small company. " * 20
Request = list[str]  # what is sent, in pieces from the beginning
_FRAME = (  # what no model reads
    "id", "call_id", "tool_call_id", "type", "status", "timestamp", "part_kind", "kind", "outcome",
)  # fmt: skip
count_tokens = counter("o200k_base").count


def read_log(name: str) -> str:
    """What a tool answers: some forty lines, no two alike."""
    return "\n".join(
        f"{name} {at:03d} host-{sum(map(ord, name)) * at % 97} took {at * 7 % 31} ms, state ok" for at in range(40)
    )


def report(name: str, requests: list[Request]) -> None:
    """Print one line."""
    sizes = [sum(map(count_tokens, request)) for request in requests]
    reused, sent, broken, cost = 0, 0, 0, 1.25 * sizes[0]
    for before, request in pairwise(requests):
        same = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, request, strict=False))])
        cached, whole = sum(map(count_tokens, request[:same])), sum(map(count_tokens, request))
        reused, sent, broken = reused + cached, sent + whole, broken + (same < len(before))
        cost += 0.1 * cached + 1.25 * (whole - cached)
    over = sum(size > WINDOW - OUTPUT for size in sizes)
    print(f"{name:<44} {over:>4} of {len(sizes)} {max(sizes):>9,} {reused / sent:>8.0%} {broken:>6} {cost:>10,.0f}")


def words(value: Any) -> str:
    """All that a model reads of a message: its texts, calls and roles, without the frame and the ids."""
    if isinstance(value, dict):
        return "\n".join(words(each) for name, each in value.items() if name not in _FRAME and each is not None)
    return "\n".join(map(words, value)) if isinstance(value, list) else str(value)


def heading() -> None:
    """Print the names of the columns."""
    names = f"{'over':>10} {'largest':>9} {'reused':>8} {'broken':>6} {'cost':>10}"
    print(f"{'budget ' + format(WINDOW - OUTPUT, ','):<44} {names}")
