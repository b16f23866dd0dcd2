"""A hostile MCP server, run as a program: its first argument says what it does wrong, to which tools or calls."""

import json
import os
import sys
import time
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else ""
PLAIN = {"type": "object", "properties": {}}
CALLS = [
    "good", "deep", "surrogate", "blocks", "wrong_id", "twice", "no_result", "garbage", "bytes", "long_line",
    "notifications", "noise", "hang", "key", "key_result", "die", "orphan", "unclosed",
]  # fmt: skip


def nested(levels: int) -> Any:
    value: Any = {"type": "string"}
    for _ in range(levels):
        value = {"type": "object", "properties": {"a": value}}
    return value


def offered() -> list[dict[str, Any]]:
    tools = [{"name": name, "description": name, "inputSchema": PLAIN} for name in CALLS]
    match HOW:
        case "many":
            tools += [{"name": f"tool_{number}", "description": "x", "inputSchema": PLAIN} for number in range(5000)]
        case "wordy":
            tools += [
                {"name": f"w{number}", "description": "word " * 200_000, "inputSchema": PLAIN} for number in (1, 2)
            ]
        case "schemas":
            enum = {"type": "object", "properties": {"a": {"enum": ["word"] * 10_000}}}
            tools += [{"name": "large", "inputSchema": enum}, {"name": "nested", "inputSchema": nested(60)}]
        case "heavy":
            enum = {"type": "object", "properties": {"a": {"enum": [f"choice {n}" for n in range(1000)]}}}
            tools += [{"name": f"h{number}", "description": "heavy", "inputSchema": enum} for number in range(90)]
    return tools


def say(message: dict[str, Any] | str | bytes) -> None:
    line = json.dumps(message) if isinstance(message, dict) else message
    sys.stdout.buffer.write(line if isinstance(line, bytes) else line.encode())
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def reply(call: Any, *texts: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"jsonrpc": "2.0", "id": call, "result": {"content": content, "isError": False}}


def answer(call: Any, name: str) -> None:  # noqa: PLR0912 - one way to misbehave after the other
    match name:
        case "deep":
            say(f'{{"jsonrpc":"2.0","result":{{"id":99,"content":[],"a":{"[" * 30_000}{"]" * 30_000}}},"id":{call}}}')
        case "surrogate":
            say(reply(call, "half \ud83d of a smile"))
        case "blocks":
            say(reply(call, *[""] * 300_000))
        case "wrong_id":
            for other in (call + 1000, -1, "x", None, 1.5, True):
                say(reply(other, "not yours"))
        case "unclosed":
            say(f'{{"jsonrpc":"2.0","id":{call},"result":"' + '\\"' * 500_000)
        case "twice":
            say(reply(call, "first"))
            say(reply(call, "second"))
        case "no_result":
            say({"jsonrpc": "2.0", "id": call, "result": 3})
        case "garbage":
            for line in ("hello", "{", "[]", "null", '{"jsonrpc": "1.0"}', "\x1b[2J", "}" * 100):
                say(line)
            say(reply(call, "after the garbage"))
        case "bytes":
            say(b"\xff\xfe\x00\x01")
            say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a \xff b"}]}}' % call)
        case "long_line":
            block = b"x" * (1 << 20)
            for _ in range(64):
                sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
            time.sleep(600)
        case "notifications":
            while True:
                say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "x", "data": 1}})
        case "noise":
            while True:
                say("noise")
        case "hang":
            time.sleep(600)
        case "key":
            say({"jsonrpc": "2.0", "id": call, "error": {"code": -1, "message": f"bad key {os.environ['THE_KEY']}"}})
        case "key_result":
            failed = reply(call, f"401: {os.environ['THE_KEY']} is no valid key")
            say(failed | {"result": failed["result"] | {"isError": True}})
        case "die":
            os._exit(3)
        case "orphan":  # a child keeps the output open
            if not os.fork():
                time.sleep(600)
            os._exit(0)
        case _:
            say(reply(call, "good"))


def main() -> None:
    if HOW == "tells":
        key = os.environ["THE_KEY"]
        sys.stderr.write(f"refused: {key}, sk-proj-abcdefghij1234567890, Authorization: Bearer tok_abcdef\n")
        sys.stderr.flush()
        sys.exit(1)
    if HOW == "floods":
        while True:
            sys.stderr.write("x" * 1000 + "\n")
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        match asked["method"]:
            case "initialize":
                say(
                    {
                        "jsonrpc": "2.0",
                        "id": asked["id"],
                        "result": {
                            "protocolVersion": asked["params"]["protocolVersion"],
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "hostile", "version": "1"},
                        },
                    }
                )
            case "tools/list":
                say({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": offered()}})
            case "tools/call":
                answer(asked["id"], asked["params"]["name"])
            case _:
                say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main()
