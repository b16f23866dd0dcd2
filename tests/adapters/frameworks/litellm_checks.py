"""LiteLLM with Sightline. Run by `test_frameworks.py` in an environment that has LiteLLM and its proxy."""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import litellm
import pytest

import sightline as sl
from sightline.adapters.litellm import SightlineHook
from sightline.log.stores.session_folder import Folder
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import counter

WINDOW, OUTPUT, TURNS = 12_000, 1_000, 60
SYSTEM = "You look after the servers of a small company. " * 40
TOOLS = [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object", "properties": {}}}}]
KEY = "sk-" + "0123456789abcdef" * 4
Json = dict[str, Any]
count_text = counter("o200k_base").count


def output(number: int) -> str:
    return "\n".join(f"df {number} line {line}: all is well here" for line in range(120))


class Upstream:
    """A server that speaks chat completions: it calls tools, then answers. It refuses what is too long."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.window, self.calls, self.wanted = 1_000_000, 0, 0
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                upstream.asked.append(body)
                check(body["messages"])
                if count(body) > upstream.window:
                    told = f"This model's maximum context length is {upstream.window} tokens. However, your messages "
                    told += f"resulted in {count(body)} tokens."
                    error = {"message": told, "code": "context_length_exceeded", "type": "invalid_request_error"}
                    return self.send(400, {"error": error})
                message = upstream.answer(body)
                if body.get("stream"):
                    return self.stream(message)
                reason = "tool_calls" if message.get("tool_calls") else "stop"
                usage = {"prompt_tokens": count(body), "completion_tokens": 20, "total_tokens": count(body) + 20}
                choice = {"index": 0, "message": message, "finish_reason": reason}
                frame = {"id": "r", "object": "chat.completion", "created": 1, "model": body["model"]}
                return self.send(200, {**frame, "choices": [choice], "usage": usage})

            def send(self, status: int, value: Json) -> None:
                raw = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def stream(self, message: Json) -> None:
                calls = [{**call, "index": at} for at, call in enumerate(message.get("tool_calls") or [])]
                delta = {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}
                pieces = [{"index": 0, "delta": delta, "finish_reason": None}]
                pieces.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"})
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for piece in pieces:
                    frame = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m"}
                    chunk = {**frame, "choices": [piece]}
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, body: Json) -> Json:
        """Call a tool until there were as many calls as the last question says."""
        found = re.findall(
            r"(?:Look|disks|now) (\d+)\b", json.dumps([m for m in body["messages"] if m["role"] == "user"])
        )
        self.wanted = int(found[-1]) if found else self.wanted
        self.calls += 1
        if self.calls > self.wanted:
            self.calls = 0
            return {"role": "assistant", "content": "All is well."}
        number = len(self.asked)
        function = {"name": "shell", "arguments": json.dumps({"n": number})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def check(messages: list[Json]) -> None:
    """Fail as the provider does: each call is answered at once, nothing else is."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        assert message.get("content") or waiting
    assert not waiting


def count(body: Json) -> int:
    texts = [json.dumps(body.get("tools") or [])]
    for message in body["messages"]:
        content = message.get("content") or ""
        texts += [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        texts += [call["function"]["arguments"] for call in message.get("tool_calls") or []]
    return sum(map(count_text, texts))


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.close()


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SightlineHook]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = SightlineHook(project=tmp_path, window=WINDOW)
    monkeypatch.setattr(litellm, "callbacks", [made])
    yield made
    made.close()


class Program:
    """A program that holds its list itself, and calls `ask` for each reply."""

    def __init__(self, ask: Any) -> None:
        self.ask, self.messages = ask, [{"role": "system", "content": SYSTEM}]

    async def run(self, question: str) -> None:
        self.messages.append({"role": "user", "content": question})
        while True:
            message = await self.ask(self.messages)
            self.messages.append(message)
            if not message.get("tool_calls"):
                return
            for call in message["tool_calls"]:
                number = json.loads(call["function"]["arguments"])["n"]
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": output(number)})


def asker(upstream: Upstream, *, stream: bool = False, **more: Any) -> Any:
    """Ask by `litellm.acompletion`, whole or streamed."""

    async def ask(messages: list[Json]) -> Json:
        given = {"model": "openai/any", "api_base": upstream.url, "api_key": "k", "tools": TOOLS, **more}
        reply = await litellm.acompletion(
            messages=[*messages], stream=stream, max_tokens=OUTPUT, num_retries=0, **given
        )
        if stream:
            reply = litellm.stream_chunk_builder([chunk async for chunk in reply])
        return _plain(reply.choices[0].message)

    return ask


def _plain(message: Any) -> Json:
    found = message.model_dump(exclude_none=True)
    kept = {key: found[key] for key in ("role", "content", "tool_calls") if key in found}
    for call in kept.get("tool_calls", []):
        call.pop("index", None)
    return {"content": None, **kept}


def sessions(folder: Path) -> list[str]:
    return sorted(path.stem for path in Folder(folder, None).path.glob("*.jsonl"))


def log_of(folder: Path) -> tuple[list[str], int, list[str]]:
    [name] = sessions(folder)
    with sl.Session.inspect(name, folder) as session:
        texts = [text for item in session.items if (text := plain_text(item.parts)) and text != SYSTEM]
        return texts, sum(item.kind is Kind.CALL for item in session.items), session.branches


# ---------------------------------------------------------------------- the SDK and the router


@pytest.mark.parametrize("stream", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(
    stream: bool, upstream: Upstream, hook: SightlineHook, tmp_path: Path
) -> None:
    """Sixty tool calls, then an answer: each request is valid and fits; the log has every message."""
    program = Program(asker(upstream, stream=stream))

    async def run() -> None:
        await program.run(f"Look at the disks {TURNS}")
        program.ask = asker(upstream)  # LiteLLM tells the answer of a stream later; the next list has it in any case
        await program.run("And now 0")

    asyncio.run(run())
    assert len(upstream.asked) == TURNS + 2
    assert max(map(count, upstream.asked)) <= WINDOW - OUTPUT
    outputs = [each["content"] for each in program.messages if each["role"] == "tool"]
    assert len(outputs) == TURNS
    assert sum(map(count_text, outputs)) > 3 * WINDOW
    texts, calls, branches = log_of(tmp_path)
    assert texts == [f"Look at the disks {TURNS}", *outputs, "All is well.", "And now 0", "All is well."]
    assert (calls, branches) == (TURNS, [""])


def test_nothing_is_shortened_while_it_fits(
    upstream: Upstream, hook: SightlineHook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model gets the very request that it would get without us: messages, tools and options."""
    program = Program(asker(upstream))
    asyncio.run(program.run("Look 3"))
    ours = list(upstream.asked)
    upstream.asked.clear()
    monkeypatch.setattr(litellm, "callbacks", [])
    plain = Program(asker(upstream))
    asyncio.run(plain.run("Look 3"))
    assert ours == upstream.asked
    assert all(each["tools"] for each in ours)


@pytest.fixture
def learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SightlineHook]:
    """A hook that is not told how large the window is."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = SightlineHook(project=tmp_path)
    monkeypatch.setattr(litellm, "callbacks", [made])
    yield made
    made.close()


def test_a_refused_call_is_smaller_when_the_router_tries_again(upstream: Upstream, learning: SightlineHook) -> None:
    """With retries for refused requests, LiteLLM's own next attempt fits; the client sees no error."""
    upstream.window = 8_000
    model = {"model": "openai/any", "api_base": upstream.url, "api_key": "k"}
    router = litellm.Router(
        model_list=[{"model_name": "any", "litellm_params": model}],
        retry_policy={"BadRequestErrorRetries": 3},
        num_retries=3,
        retry_after=0,
    )

    async def ask(messages: list[Json]) -> Json:
        reply = await router.acompletion(model="any", messages=[*messages], tools=TOOLS, max_tokens=OUTPUT)
        return _plain(reply.choices[0].message)

    program = Program(ask)
    asyncio.run(program.run("Look 30"))
    assert program.messages[-1]["content"] == "All is well."
    assert any(count(body) > upstream.window for body in upstream.asked)
    assert sum(count(body) > upstream.window for body in upstream.asked) < 5


def test_a_refused_call_is_smaller_when_the_program_tries_again(upstream: Upstream, learning: SightlineHook) -> None:
    """Without the router the error is the program's; the same list fits the next time."""
    upstream.window = 8_000
    ask, refused = asker(upstream), []

    async def ask_again(messages: list[Json]) -> Json:
        while True:
            try:
                return await ask(messages)
            except litellm.ContextWindowExceededError as error:
                refused.append(error)
                assert len(refused) < 5

    asyncio.run(Program(ask_again).run("Look 30"))
    assert refused


def test_a_new_process_goes_on_with_the_same_next_payload(
    upstream: Upstream, hook: SightlineHook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows the list again, and what was shortened."""
    program = Program(asker(upstream))
    asyncio.run(program.run("Look 40"))
    (tmp_path / "list.json").write_text(json.dumps(program.messages))
    hook.close()
    there = shutil.copytree(tmp_path / "home", tmp_path / "copy")
    command = [sys.executable, __file__, str(tmp_path), upstream.url]
    subprocess.run(command, env={**os.environ, "SIGHTLINE_HOME": str(there)}, check=True)
    asyncio.run(program.run("And now 0"))
    assert upstream.asked[-1] == upstream.asked[-2]


def go_on(folder: str, url: str) -> None:
    """The other process."""
    litellm.callbacks = [SightlineHook(project=folder, window=WINDOW)]
    place: Any = type("Place", (), {"url": url})
    program = Program(asker(place))
    program.messages = json.loads((Path(folder) / "list.json").read_text())
    asyncio.run(program.run("And now 0"))


def test_sessions_and_keys_do_not_mix(upstream: Upstream, hook: SightlineHook, tmp_path: Path) -> None:
    """The same words under another session id or another key are another conversation."""
    others = [{"litellm_session_id": "a"}, {"metadata": {"session_id": "b"}}, {"metadata": {"user_api_key_hash": "k"}}]
    for more in [{}, *others]:
        asyncio.run(Program(asker(upstream, **more)).run("Look 1"))
    assert len(sessions(tmp_path)) == 4


def test_the_window_is_the_one_that_litellm_knows(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a window of ours."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(litellm, "callbacks", [SightlineHook(project=tmp_path)])
    asyncio.run(Program(asker(upstream, model="openai/gpt-4")).run("Look 30"))
    assert 4_000 < max(map(count, upstream.asked)) <= 8_192 - OUTPUT


def test_what_cannot_be_read_goes_up_as_it_came(
    upstream: Upstream, hook: SightlineHook, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure of ours is none of the program's."""
    hook._turns.prepare = lambda *_: (_ for _ in ()).throw(OSError("disk full"))  # type: ignore[method-assign, assignment]
    asyncio.run(Program(asker(upstream)).run("Look 1"))
    assert "as it came: disk full" in caplog.text


# ---------------------------------------------------------------------- the proxy


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_proxy_composes_with_one_line_of_configuration(upstream: Upstream, tmp_path: Path) -> None:
    """`callbacks: sightline.adapters.litellm.hook`: sixty tool calls by HTTP."""
    model = {"model": "openai/gpt-4", "api_base": upstream.url, "api_key": "k"}
    config = {
        "model_list": [{"model_name": "any", "litellm_params": model}],
        "litellm_settings": {"callbacks": "sightline.adapters.litellm.hook"},
        "router_settings": {"retry_policy": {"BadRequestErrorRetries": 2}},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    port = _free_port()
    program_file = str(Path(sys.executable).parent / "litellm")
    command = [program_file, "--config", "config.yaml", "--port", str(port), "--host", "127.0.0.1"]
    variables = {**os.environ, "SIGHTLINE_HOME": str(tmp_path / "home"), "LITELLM_MASTER_KEY": KEY}
    log = (tmp_path / "proxy.log").open("w")
    proxy = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(f"{address}/health/liveliness", proxy, tmp_path / "proxy.log")
        program = Program(_by_http(address))
        asyncio.run(program.run(f"Look at the disks {TURNS}"))
        assert len(upstream.asked) == TURNS + 1
        assert 4_000 < max(map(count, upstream.asked)) <= 8_192 - OUTPUT
        outputs = [each["content"] for each in program.messages if each["role"] == "tool"]
        texts, calls, branches = _log_in(tmp_path)
        assert texts == [f"Look at the disks {TURNS}", *outputs, "All is well."]
        assert (calls, branches) == (TURNS, [""])
    finally:
        proxy.terminate()
        proxy.wait(30)


def _log_in(folder: Path) -> tuple[list[str], int, list[str]]:
    os.environ["SIGHTLINE_HOME"] = str(folder / "home")
    return log_of(folder)


def _by_http(address: str) -> Any:
    async def ask(messages: list[Json]) -> Json:
        body = json.dumps({"model": "any", "messages": messages, "tools": TOOLS, "max_tokens": OUTPUT}).encode()
        request = urllib.request.Request(
            f"{address}/v1/chat/completions",
            body,
            {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            message = json.load(reply)["choices"][0]["message"]
        kept = {key: message[key] for key in ("role", "content", "tool_calls") if message.get(key)}
        return {"content": None, **kept}

    return ask


def _wait(address: str, proxy: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert proxy.poll() is None, log.read_text()[-3000:]
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text()[-3000:])


if __name__ == "__main__":
    go_on(*sys.argv[1:])
