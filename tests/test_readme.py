"""What the README shows works as it stands there, with the real SDK client against a server on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLE = README.partition("```python\n")[2].partition("```")[0]

DEFINITIONS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]
ANSWER = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-5.6",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "Let me look.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}},
            {"id": "call_2", "type": "function", "function": {"name": "recall", "arguments": '{"query": "login"}'}},
        ]}}],
    "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
}  # fmt: skip


def streamed(answer: dict[str, Any]) -> bytes:
    """The same answer as a stream of one piece."""
    message = answer["choices"][0]["message"]
    calls = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
    choice = {"index": 0, "delta": message | {"tool_calls": calls}, "finish_reason": "tool_calls"}
    chunk = answer | {"object": "chat.completion.chunk", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


@pytest.fixture
def provider() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A chat completions endpoint on this machine, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            streams = asked[-1].get("stream")
            body = streamed(ANSWER) if streams else json.dumps(ANSWER).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_ten_lines_run(
    provider: tuple[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's example runs, twice, and the second run goes on from the first one's messages."""
    address, asked = provider
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with openai.OpenAI(base_url=address, api_key="none") as client:
            names: dict[str, Any] = {"definitions": DEFINITIONS, "client": client, "run": lambda *_: "x = 1"}
            exec(EXAMPLE, names)
            names["session"].close()
    first, second = (request["messages"] for request in asked)
    assert second[: len(first)] == first
    assert [message["role"] for message in second] == ["system", "user", "assistant", "tool", "tool", "user"]
