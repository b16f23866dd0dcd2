"""The datasets, read from a folder that is not part of the project. Nothing of them is kept here.

A few are made up; they need no folder.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.quality.constraint_histories import Talk, talks
from benchmarks.quality.constraints import Sentence, work_talk
from benchmarks.quality.datasets import chats, coding, dialogues, slots, tools
from benchmarks.quality.records import Compaction, Conversation, Dialogue, Run, SlotSession

FOLDERS = {
    "claude_code": "claude_code_sessions",
    "entire_claude": "entire_sessions",
    "entire_codex": "entire_sessions",
    "compactions": "entire_sessions",
    "long_runs": "entire_sessions",
    "friends": "locomo",
}
MADE_UP = ("constraints_en", "constraints_zh", "work_talk")
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
    "long_runs": coding.long_runs,
}
SLOTS: dict[str, Callable[[Path], list[SlotSession]]] = {"sgd": slots.sgd, "crosswoz_zh": slots.crosswoz_zh}
DIALOGUES: dict[str, Callable[[Path], list[Dialogue]]] = {"dialogsum": dialogues.dialogsum}
COMPACTIONS: dict[str, Callable[[Path], list[Compaction]]] = {"compactions": coding.compactions}
TALKS: dict[str, Callable[[Path], list[Talk]]] = {
    "constraints_en": lambda _: talks("en"),
    "constraints_zh": lambda _: talks("zh"),
}
MESSAGES: dict[str, Callable[[Path], list[Sentence] | list[Conversation]]] = {
    "work_talk": work_talk,
    "friends": chats.locomo,
}


def folder(root: Path, dataset: str) -> Path:
    """Where a dataset is expected."""
    return root / FOLDERS.get(dataset, dataset)


def is_there(root: Path, dataset: str) -> bool:
    """Return whether a dataset can be read."""
    return dataset in MADE_UP or folder(root, dataset).is_dir()
