"""The ClawdCode document's context tests: one line for each of its eight checks. Run by `make selftest`.

Each line stands for a real check of the package. One that fails has ❌ in its line and makes the exit code 1.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from sightline.origins.clawdcode import (
    CompactionOptions,
    CompactionService,
    ContextManager,
    ContextMessage,
    FileAnalyzer,
    JSONLEntry,
    JSONLStore,
    MemoryStore,
    TokenCounter,
)

TALK = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n} about src/app.py"} for n in range(10)]


def counts_tokens() -> bool:
    """A message costs its framing, its role and its text, in the model's own vocabulary."""
    message = {"role": "user", "content": "Hello, world!"}
    return TokenCounter.count_tokens([message], "gpt-4") == 4 + 1 + 4 and TokenCounter.count_tokens([], "gpt-4") == 0


def estimates_tokens() -> bool:
    """Chinese characters / 1.5 and the rest / 4, rounded up."""
    texts = {"": 0, "Hello, world!": 4, "你好": 2, "帮我重构 utils.ts 文件": 7}
    return {text: TokenCounter.estimate_tokens(text) for text in texts} == texts


def memory_takes_messages() -> bool:
    """What is added is held, in order."""
    return _remembered(1000, 3) == ["0", "1", "2"]


def memory_is_limited() -> bool:
    """A memory of five holds the newest four fifths once there are more."""
    return _remembered(5, 10) == ["6", "7", "8", "9"]


def entries_are_kept() -> bool:
    """What is appended is read back as it was, and blank lines are none."""
    with tempfile.TemporaryDirectory() as folder:
        store, entries = JSONLStore(Path(folder) / "deep" / "abc123.jsonl"), [_entry("第一行\n第二行"), _entry("再见")]
        for entry in entries:
            store.append(entry)
        lines = store.file_path.read_bytes()
        store.file_path.write_bytes(lines.replace(b"\n", b"\n\n"))
        return lines.count(b"\n") == len(entries) and store.read_all() == entries


def compaction_succeeds() -> bool:
    """The summary first, then the newest fifth of the messages, unchanged."""
    result = asyncio.run(CompactionService.compact(TALK, CompactionOptions(summarizer=lambda _: "## Summary")))
    first, *retained = result.compacted_messages
    return result.success and first["content"] == result.summary == "## Summary" and retained == TALK[-2:]


def compaction_falls_back() -> bool:
    """Without an answer from the model: a message that says why, then the newest three tenths."""

    def fails(_: object) -> str:
        raise ConnectionError("no answer")

    result = asyncio.run(CompactionService.compact(TALK, CompactionOptions(summarizer=fails)))
    first, *retained = result.compacted_messages
    told = "[Automatic compaction failed; using fallback]" in first["content"] and "no answer" in first["content"]
    return not result.success and result.error == "no answer" and told and retained == TALK[-3:]


def paths_are_found() -> bool:
    """In text and in the arguments of calls; what was edited comes first."""
    call = {"id": "1", "function": {"name": "Edit", "arguments": '{"file_path": "src/utils.ts"}'}}
    talk = [
        {"role": "user", "content": "看看README.md，`src/main.py`和 README.md"},
        {"role": "assistant", "tool_calls": [call]},
    ]
    return [file.path for file in FileAnalyzer.analyze_files(talk)] == ["src/utils.ts", "README.md", "src/main.py"]


def _remembered(size: int, count: int) -> list[str]:
    """Return what a memory of this size keeps of so many messages."""
    with tempfile.TemporaryDirectory() as folder:
        manager = ContextManager({"storage": {"persistentPath": folder}}, project_path=folder)
        manager.create_session()
        context = manager.get_context()
        manager.close()
    memory = MemoryStore(size)
    memory.set_context(context)
    for number in range(count):
        memory.add_message(ContextMessage(f"m{number}", "user", str(number), number))
    return [message.content for message in context.layers.conversation.messages]


def _entry(content: str) -> JSONLEntry:
    plain = {
        "uuid": "msg_001", "parentUuid": None, "sessionId": "abc123", "timestamp": "2024-01-15T10:00:00Z",
        "type": "user", "cwd": "/p", "version": "0.1.0", "message": {"role": "user", "content": content},
    }  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(plain), type=JSONLEntry)


CHECKS: dict[str, Callable[[], bool]] = {
    "TokenCounter: 计算 Token 数量": counts_tokens,
    "TokenCounter: 快速估算": estimates_tokens,
    "MemoryStore: 添加消息": memory_takes_messages,
    "MemoryStore: 内存限制": memory_is_limited,
    "JSONLStore: 追加和读取": entries_are_kept,
    "CompactionService: 压缩成功": compaction_succeeds,
    "CompactionService: 降级策略": compaction_falls_back,
    "FileAnalyzer: 提取文件路径": paths_are_found,
}


def report(checks: Mapping[str, Callable[[], bool]]) -> tuple[list[str], int]:
    """A line for each check, and the exit code."""
    outcomes = {name: _outcome(check) for name, check in checks.items()}
    lines = [f"❌ {name} ({why})" if why else f"✅ {name}" for name, why in outcomes.items()]
    return lines, int(any(outcomes.values()))


def _outcome(check: Callable[[], bool]) -> str:
    """Why a check failed; empty if it did not."""
    try:
        return "" if check() else check.__doc__ or "does not hold"
    except Exception as error:  # one that breaks has failed, and the others go on
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    told, code = report(CHECKS)
    print(*told, sep="\n")
    sys.exit(code)
