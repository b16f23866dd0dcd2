"""The ClawdCode document from beginning to end: session files, compaction, `/compact`, `--continue`.

Run it with `python examples/documents/clawdcode.py`. It needs no network: the model is a server in this process that
says what the script below has. Everything is written to a temporary folder. What it prints is the document's own
sample output where the document has some, and the script fails where it would differ.
"""

import asyncio
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from sightline.cli.chat.chat import Chat
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.setup import prepare
from sightline.cli.chat.terminal import handle_line
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.origins.clawdcode import (
    CommandContext,
    CompactionOptions,
    CompactMetadata,
    ContextManager,
    ContextMessage,
    PersistentStore,
    compact_command,
    escape_project_path,
    get_session_file_path,
)

# §8.10, the lines of ~/.clawdcode/projects/-Users-foo-myproject/abc123.jsonl; times and folders aside.
SAMPLE = [
    {"uuid": "msg_001", "parentUuid": None, "sessionId": "abc123", "type": "user", "version": "0.1.0",
     "message": {"role": "user", "content": "帮我重构 utils.ts 文件"}},
    {"uuid": "msg_002", "parentUuid": "msg_001", "sessionId": "abc123", "type": "tool_use",
     "tool": {"id": "tool_001", "name": "Read", "input": {"file_path": "src/utils.ts"}}},
    {"uuid": "msg_003", "parentUuid": "msg_002", "sessionId": "abc123", "type": "tool_result",
     "toolResult": {"id": "tool_001", "output": "export function add(a, b) { return a + b; }"}},
    {"uuid": "boundary_001", "parentUuid": "msg_004", "sessionId": "abc123", "type": "system",
     "subtype": "compact_boundary", "message": {"role": "system", "content": "=== 上下文压缩边界 ==="},
     "compactMetadata": {"trigger": "auto", "preTokens": 50000}},
    {"uuid": "summary_001", "parentUuid": "boundary_001", "sessionId": "abc123", "type": "user",
     "isCompactSummary": True, "message": {"role": "user", "content": "## Summary\n用户请求重构 utils.ts..."},
     "compactMetadata": {"trigger": "auto", "preTokens": 50000, "postTokens": 8000,
                         "filesIncluded": ["src/utils.ts"]}},
]  # fmt: skip
EIGHT_LINES = """\
✅ TokenCounter: 计算 Token 数量
✅ TokenCounter: 快速估算
✅ MemoryStore: 添加消息
✅ MemoryStore: 内存限制
✅ JSONLStore: 追加和读取
✅ CompactionService: 压缩成功
✅ CompactionService: 降级策略
✅ FileAnalyzer: 提取文件路径"""
SUMMARY = "## Summary\n用户请求重构 src/utils.ts：函数 add 已移动，测试全部通过。"
CODE = "export function add(a, b) { return a + b; }"
READ = {"id": "tool_001", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"src/utils.ts"}'}}


def show(title: str, text: str) -> None:
    print(f"\n=== {title} ===\n{text}")


def write_the_sample(root: Path) -> None:
    """§8.10: the session of the document, written message by message and compacted, line by line as it is there."""
    path = get_session_file_path("/Users/foo/myproject", "abc123", root)
    assert escape_project_path("/Users/foo/myproject") == "-Users-foo-myproject"

    def at(time: str) -> int:
        return int(datetime.fromisoformat(f"2024-01-15T{time}+00:00").timestamp() * 1000)

    store = PersistentStore("/Users/foo/myproject", root=root)
    for message in (
        ContextMessage("msg_001", "user", "帮我重构 utils.ts 文件", at("10:00:00")),
        ContextMessage("msg_002", "assistant", "", at("10:00:05"), {"tool_calls": [READ]}),
        ContextMessage("msg_003", "tool", CODE, at("10:00:06"), {"tool_call_id": "tool_001"}),
        ContextMessage("msg_004", "assistant", "已完成。", at("10:00:30")),
    ):
        store.save_message("abc123", message)
    summary = ContextMessage("summary_001", "user", "## Summary\n用户请求重构 utils.ts...", at("11:00:00"))
    sizes = CompactMetadata("auto", 50_000, 8_000, ["src/utils.ts"])
    store.save_compaction("abc123", "boundary_001", summary, sizes, "")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    written = {line["uuid"]: line for line in lines}
    for sample in SAMPLE:
        line = written[str(sample["uuid"])]
        assert {key: line[key] for key in sample} == sample, line
        assert {"timestamp", "cwd", "version", "message"} <= line.keys()  # required, though the sample leaves some out
    show(f"~/.clawdcode/{path.relative_to(root)}", "\n".join(json.dumps(s, ensure_ascii=False) for s in SAMPLE))
    assert [each.content for each in store.load_conversation("abc123")] == [summary.content]
    store.close()


def manage_a_context(root: Path, project: Path) -> None:
    """§8.4 to §8.9: a session in memory and on disk, compacted at its threshold, then by hand."""
    options = {"storage": {"persistentPath": str(root)}, "compressionThreshold": 0.8, "maxContextTokens": 500}
    compaction = CompactionOptions(summarizer=lambda _: SUMMARY)
    manager = ContextManager(options, project_path=project, compaction=compaction)
    session_id = manager.create_session("user-1", {"language": "zh"})
    manager.add_message("system", "你是一个编程助手。")
    manager.add_message("user", "帮我重构 src/utils.ts 文件")
    manager.add_message("assistant", "", {"tool_calls": [READ]})
    manager.add_message("tool", CODE, {"tool_call_id": "tool_001"})
    (project / "src").mkdir(parents=True, exist_ok=True)
    for number in range(12):
        (project / "src" / f"math{number}.ts").write_text(CODE, encoding="utf-8")
        manager.add_message("user", f"第 {number} 步：把 add 移到 src/math{number}.ts，再运行测试，并说明结果。")
        manager.add_message("assistant", f"第 {number} 步已完成，测试全部通过。")
    context = manager.get_context()
    assert context is not None
    layers, tokens = context.layers, context.metadata.total_tokens
    assert tokens <= 400 < ContextManager(options | {"maxContextTokens": 128_000}).options.threshold_tokens == 102_400
    facts = {
        "totalTokens": f"{tokens} (触发于 {manager.options.threshold_tokens})",
        "messages": len(layers.conversation.messages),
        "topics": layers.conversation.topics[-3:],
        "recentCalls": [f"{record.name} {record.status}" for record in layers.tool.recent_calls],
    }
    show("ContextManager", "\n".join(f"{name}: {value}" for name, value in facts.items()))
    told = asyncio.run(compact_command.handler((), CommandContext(manager=manager)))
    assert told.type == "success"
    assert told.content.startswith("✅ 压缩完成！\n\nToken 变化: ")
    show("/compact", told.content)
    manager.flush()
    held = list(layers.conversation.messages)
    manager.close()
    again = ContextManager(options, project_path=project)
    again.load_session(session_id)
    loaded = again.get_context()
    assert loaded is not None
    assert loaded.layers.conversation.messages == held  # what was written reads back equal
    assert loaded.layers.tool == layers.tool
    again.close()


class ScriptedModel(BaseHTTPRequestHandler):
    """A provider that gives the answers of a script, one for each request."""

    answers: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        events: list[Any] = [{"delta": {"content": type(self).answers.pop(0)}}, {"delta": {}, "finish_reason": "stop"}]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, **event}]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def say(here: Place, lines: list[str]) -> None:
    """Type these lines in a chat."""
    setup = await prepare(here, ChatOptions(language_given=True))
    try:
        chat = Chat(setup)
        for line in lines:
            await handle_line(chat, line)
    finally:
        await setup.close()


def continue_with(project: Path, root: Path, question: str) -> subprocess.CompletedProcess[str]:
    """Run `sightline chat --continue -p` in a process of its own, as the next day would."""
    command = [sys.executable, "-m", "sightline", "--project", str(project), "--root", str(root), "--lang", "zh"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [*command, "chat", "--trust", "--continue", "-p", question],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env=env,
    )


def chat_and_continue(root: Path, project: Path) -> None:
    """§8.9 and Q4 in the program itself: a chat, `/compact` in it, and `--continue` afterwards."""
    long = "函数 add 已移到 src/utils.ts，测试全部通过。" * 6
    ScriptedModel.answers = ["你好。", f"已重构。{long}", f"已检查。{long}", SUMMARY, "接着昨天的工作：测试全部通过。"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (project / "sightline.toml").write_text(
        f'model = "scripted"\n[models.scripted]\nname = "scripted"\nwindow = 16000\noutput = 1000\n'
        f'base_url = "http://127.0.0.1:{server.server_port}/v1"\n',
        encoding="utf-8",
    )
    nothing = continue_with(project, root, "你好")
    assert "没有可继续的会话" in nothing.stderr
    told = nothing.stderr.replace(str(project), "~/myproject")
    show("sightline chat --continue -p 你好", told + nothing.stdout)
    here = Place(str(project), str(root), Phrases("zh"))
    show("sightline --lang zh chat", "")
    asyncio.run(say(here, ["帮我重构 src/utils.ts 文件", "再检查一遍 src/utils.ts", "/compact"]))
    again = continue_with(project, root, "继续")
    assert again.stdout == "接着昨天的工作：测试全部通过。\n"
    assert again.stderr == ""
    show("sightline chat --continue -p 继续", again.stdout)
    server.shutdown()
    server.server_close()


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "myproject")
        (project / "src").mkdir(parents=True)
        (project / "src" / "utils.ts").write_text(CODE + "\n", encoding="utf-8")
        write_the_sample(Path(folder, ".clawdcode"))
        manage_a_context(Path(folder, ".clawdcode"), project)
        chat_and_continue(Path(folder, ".sightline"), project)
    checks = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "selftest.py"))
    lines, code = checks["report"](checks["CHECKS"])
    assert "\n".join(lines) == EIGHT_LINES
    assert code == 0
    show("make selftest", EIGHT_LINES)


if __name__ == "__main__":
    main()
