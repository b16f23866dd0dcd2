"""The datasets, read from a folder that is not part of the project. Nothing of them is kept here."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.quality.datasets import chats, coding, dialogues, slots, tools
from benchmarks.quality.records import Compaction, Conversation, Dialogue, Run, SlotSession

FOLDERS = {
    "claude_code": "claude_code_sessions",
    "entire_claude": "entire_sessions",
    "entire_codex": "entire_sessions",
    "compactions": "entire_sessions",
}
EVIDENCE: dict[str, Callable[[Path], list[Conversation]]] = {
    "locomo": chats.locomo,
    "qmsum": chats.qmsum,
    "memdaily_zh": chats.memdaily_zh,
    "bfcl_memory": chats.bfcl_memory,
}
RUNS: dict[str, Callable[[Path], list[Run]]] = {
    "tau_bench": tools.tau_bench,
    "tau2_bench": tools.tau2_bench,
    "mini_swe_agent": tools.mini_swe_agent,
    "swe_agent": tools.swe_agent,
    "openhands": tools.openhands,
    "claude_code": coding.claude_code,
    "entire_claude": coding.entire_claude,
    "entire_codex": coding.entire_codex,
}
SLOTS: dict[str, Callable[[Path], list[SlotSession]]] = {"sgd": slots.sgd, "crosswoz_zh": slots.crosswoz_zh}
DIALOGUES: dict[str, Callable[[Path], list[Dialogue]]] = {"dialogsum": dialogues.dialogsum}
COMPACTIONS: dict[str, Callable[[Path], list[Compaction]]] = {"compactions": coding.compactions}


def folder(root: Path, dataset: str) -> Path:
    """Where a dataset is expected."""
    return root / FOLDERS.get(dataset, dataset)
