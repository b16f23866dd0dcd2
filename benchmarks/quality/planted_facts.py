"""Facts planted in a long agent run, each said once, for somebody to ask for much later."""

from typing import NamedTuple

from benchmarks.histories import agent_run
from benchmarks.quality.messages import Message, full_text, text_of


class Fact(NamedTuple):
    """Something that is said once, a question about it much later, and what must be shown to answer it."""

    at: int  # per thousand of the history
    role: str
    words: str
    question: str
    value: str


# One in each place where an agent's run says things; no value stands anywhere else in the history.
FACTS = (
    Fact(
        21, "user", "By the way: for the customer Brightwater we may deploy only on Tuesdays at 04:35 UTC.",
        "When may we deploy for the customer Brightwater?", "04:35 UTC",
    ),
    Fact(
        97, "tool", "2025-03-02T07:11:54Z WARN vault: the unseal key is held by team heron-nine from today",
        "Which team holds the vault's unseal key?", "heron-nine",
    ),
    Fact(
        218, "tool", '{"tariff":"gold","refund_limit_eur":1746385,"approved_by":"finance"}',
        "What is the refund limit of the gold tariff in euros?", "1746385",
    ),
    Fact(
        349, "assistant", "I chose port 48213 for the metrics exporter, because the usual one is taken.",
        "Which port did you choose for the metrics exporter?", "port 48213",
    ),
    Fact(
        503, "tool", "error E-7719X: the ledger shard is read-only until the nightly vacuum has ended",
        "What does the error E-7719X mean?", "read-only until the nightly vacuum",
    ),
    Fact(
        688, "user", "顺便说一下，备用打印机在三楼的孔雀房间。",
        "备用打印机在哪个房间？", "孔雀房间",
    ),
    Fact(
        871, "tool", "RETRY_CEILING_PAYOUTS = 3719  # agreed with the bank, do not raise",
        "What is RETRY_CEILING_PAYOUTS set to?", "3719  # agreed",
    ),
)  # fmt: skip


def plant_facts(messages: int) -> list[Message]:
    """Return a run of so many messages in which each fact is said once. It ends with a report; a question comes next.

    Raises:
        ValueError: what a fact asks for stands elsewhere too.
    """
    history = [dict(message) for message in agent_run(messages)]
    for fact in FACTS:
        at = len(history) * fact.at // 1000
        while history[at]["role"] != fact.role:
            at += 1
        history[at]["content"] = _with(text_of(history[at].get("content")), fact)
    said = "\n".join(map(full_text, history))
    if repeated := [fact.value for fact in FACTS if said.count(fact.value) != 1]:
        raise ValueError(f"said more than once: {repeated}")
    return [*history, {"role": "assistant", "content": "That is done."}]


def _with(text: str, fact: Fact) -> str:
    """Add a fact to a message: in the middle of a tool result, or after the words of a person or the agent."""
    lines = text.split("\n")
    middle = len(lines) // 2 if fact.role == "tool" else len(lines)
    return "\n".join([*lines[:middle], fact.words, *lines[middle:]]).lstrip("\n")
