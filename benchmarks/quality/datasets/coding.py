"""Sessions of coding agents as their programs logged them, and the compactions in them."""

from pathlib import Path
from typing import Any

from benchmarks.quality.datasets.record_files import answer, at, call, calling, json_lines, repaired, spoken
from benchmarks.quality.messages import Message, count_messages, is_system
from benchmarks.quality.records import Compaction, Run
from benchmarks.quality.splits import halves

LONG = 450_000  # tokens of a chained run
_NOTHING = "(no output)"


def claude_code(root: Path) -> list[Run]:
    """Claude Code sessions with at least three calls."""
    runs = []
    for path in sorted((root / "claude_code_sessions").glob("*.jsonl")):
        messages = claude_messages(json_lines(path), side="__agent-" in path.name)
        if calling(messages) >= 3:
            runs.append(Run(path.stem, path.stem, messages))
    return runs


def entire_claude(root: Path) -> list[Run]:
    """Claude Code sessions, checkpointed: the longest there are."""
    found = [(record["id"], claude_messages(record["rows"])) for record in _entire(root, "claude")]
    return [Run(name, name, messages) for name, messages in found if calling(messages) >= 5]


def long_runs(root: Path) -> list[Run]:
    """Claude Code sessions of one project and one half, in the order of their time, joined to runs of `LONG` tokens.

    Nobody's log has such a run in one piece, because the program compacts; but people work on one project for so long.
    """
    sessions = [(record["repo"], record["id"], claude_messages(record["rows"])) for record in _entire(root, "claude")]
    sessions = [each for each in sessions if calling(each[2]) >= 5]
    half = halves("entire_claude", [name for _, name, _ in sessions])
    by: dict[tuple[str, str | None], list[Run]] = {}
    for project, name, messages in sessions:
        by.setdefault((project, half[name]), []).append(Run(name, name, messages))
    return [run for (project, part), found in by.items() if part for run in chained_runs(project, found, LONG)]


def chained_runs(project: str, sessions: list[Run], tokens: int) -> list[Run]:
    """Join the sessions of a project. What is left over after the last full run is no run."""
    runs: list[Run] = []
    joined: list[Message] = []
    size = 0
    for session in sorted(sessions, key=_begun):
        more = [message for message in session.messages if not joined or not is_system(message)]
        joined, size = joined + more, size + count_messages(more)
        if size > tokens:
            runs.append(Run(f"{project.rpartition('/')[2]}-{len(runs) + 1}", session.group, joined))
            joined, size = [], 0
    return runs


def _begun(session: Run) -> str:
    return next((str(message["ts"]) for message in session.messages if message.get("ts")), "")


def entire_codex(root: Path) -> list[Run]:
    """Codex sessions, checkpointed."""
    found = [(record["id"], codex_messages(record["rows"])) for record in _entire(root, "codex")]
    return [Run(name, name, messages) for name, messages in found if calling(messages) >= 5]


def compactions(root: Path) -> list[Compaction]:
    """Real compactions: the messages before, the summary, the messages after."""
    return [
        Compaction(record["id"], record["session"], repaired(record["pre"]), record["summary"], record["post"])
        for record in _entire(root, "compactions")
    ]


def _entire(root: Path, kind: str) -> list[Any]:
    paths = sorted((root / "entire_sessions").glob(f"{kind}_*.jsonl.gz"))
    return [record for path in paths for record in json_lines(path)]


# ------------------------------------------------------------------ Claude Code


def claude_messages(rows: list[Any], *, side: bool = False) -> list[Message]:
    """The messages of a log. Thinking and summaries of compactions are left out; `side` reads an agent's side chain.

    A message's time is that of its first row: for an answer of the model, when it began to come.
    """
    log = _ClaudeLog()
    for row in rows:
        if row.get("type") in ("user", "assistant") and "message" in row and (side or not row.get("isSidechain")):
            log.take(row)
    messages = log.messages()
    while messages and messages[0]["role"] != "user":
        messages.pop(0)
    return repaired(messages)


class _ClaudeLog:
    """Rows of one message id joined, results kept until their calls are written."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[str, dict[str, Message]] = {}
        self._order: list[tuple[str, str, Any]] = []  # role, message id or text, time
        self._results: dict[str, tuple[str, Any]] = {}

    def take(self, row: Any) -> None:
        """One row."""
        content = row["message"].get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if row["type"] == "assistant":
            self._answered(row["message"].get("id") or row.get("uuid"), blocks, row.get("timestamp"))
        else:
            self._said(blocks, row)

    def _answered(self, name: str, blocks: list[Any], when: Any) -> None:
        if name not in self._texts:
            self._texts[name], self._calls[name] = [], {}
            self._order.append(("assistant", name, when))
        for block in blocks:
            if block.get("type") == "text" and block["text"].strip():
                self._texts[name].append(block["text"])
            elif block.get("type") == "tool_use":
                made = call(block["id"], block["name"], block.get("input") or {})
                self._calls[name].setdefault(block["id"], made)

    def _said(self, blocks: list[Any], row: Any) -> None:
        texts, when = [], row.get("timestamp")
        for block in blocks:
            if block.get("type") == "tool_result":
                self._results.setdefault(block["tool_use_id"], (_result_text(block.get("content")), when))
            elif block.get("type") == "text" and block["text"].strip():
                texts.append(block["text"])
            elif block.get("type") == "image":
                texts.append("[image]")
        if texts and not row.get("isCompactSummary"):
            self._order.append(("user", "\n".join(texts), when))

    def messages(self) -> list[Message]:
        """What was said, each answer with those of its calls that got a result (others were interrupted)."""
        out: list[Message] = []
        for role, what, when in self._order:
            if role == "user":
                out.append(at(spoken("user", what), when))
                continue
            calls = [made for name, made in self._calls[what].items() if name in self._results]
            said = at(spoken("assistant", "\n".join(self._texts[what])), when)
            if calls:
                said["tool_calls"] = calls
            if calls or said["content"].strip():
                out.append(said)
                results = [(made["id"], *self._results[made["id"]]) for made in calls]
                out += [at(answer(name, text or _NOTHING), then) for name, text, then in results]
        return out


def _result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "[image]") for block in content or [] if isinstance(block, dict))


# ------------------------------------------------------------------ Codex


def codex_messages(rows: list[Any]) -> list[Message]:
    """The messages of a log; text and calls that follow each other are one answer."""
    log = _CodexLog()
    for row in rows:
        if row["type"] == "session_meta" and row.get("base_instructions") and not log.messages:
            log.messages.append(spoken("system", row["base_instructions"]))
        elif row["type"] == "item":
            log.take(row["item"], row.get("timestamp"))
    log.flush()
    return repaired(log.messages)


class _CodexLog:
    """Items one by one; an answer is open until something else is said."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._open: Message | None = None

    def take(self, item: Any, when: Any) -> None:
        """One item."""
        match item["type"]:
            case "message" if item["role"] == "assistant":
                self._says(item["content"] or "", when)
            case "message":
                self.flush()
                self._told(item, when)
            case "function_call":
                self._calls(item, item.get("arguments") or "{}", when)
            case "custom_tool_call":
                self._calls(item, {"input": item.get("input")}, when)
            case _:
                self.flush()
                self.messages.append(at(answer(item["call_id"], str(item.get("output") or _NOTHING)), when))

    def flush(self) -> None:
        """Close the answer."""
        if self._open and (self._open["content"].strip() or self._open.get("tool_calls")):
            self.messages.append(self._open)
        self._open = None

    def _answer(self, when: Any) -> Message:
        self._open = self._open or at(spoken("assistant", ""), when)
        return self._open

    def _says(self, text: str, when: Any) -> None:
        if self._open and self._open.get("tool_calls"):
            self.flush()
        said = self._answer(when)
        said["content"] = (said["content"] + "\n" + text).strip()

    def _told(self, item: Any, when: Any) -> None:
        if (item["content"] or "").strip():
            leads = item["role"] == "developer" and all(map(is_system, self.messages))
            self.messages.append(at(spoken("system" if leads else "user", item["content"]), when))

    def _calls(self, item: Any, arguments: Any, when: Any) -> None:
        made = call(item["call_id"], item.get("name") or "tool", arguments)
        self._answer(when).setdefault("tool_calls", []).append(made)
