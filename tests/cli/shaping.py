"""A real model behind an OpenAI-compatible address, whose answers are held to one shape after another.

The tiny model cannot be told in words what to do. A JSON Schema can tell it: which tool, which path, which id. What it
writes between is its own, and nobody compares it. So it may read only the ends of what was sent: one slow core reads
thirty tokens in a second.
"""

import json
import threading
import urllib.request
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


def shape(action: Json) -> Json:
    """The schema of a structured response with this action, short enough to be written in a second."""
    words = {"type": "string", "minLength": 1, "maxLength": 4}
    plan = {"type": "string", "enum": ["R1: go"]}
    fields = {"task_analysis": words, "execution_plan": plan, "action": action}
    return closed(fields)


def closed(properties: Json) -> Json:
    """An object with just these fields."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def reads(*paths: str) -> Json:
    """It reads one of these files."""
    call = closed({"tool_name": {"enum": ["file_reader"]}, "arguments": closed({"path": {"enum": list(paths)}})})
    content = {"type": "array", "items": call, "minItems": 1, "maxItems": 1}
    return shape(closed({"type": {"enum": ["tool_call"]}, "content": content}))


def reports(*texts: str, code: str = "") -> Json:
    """It reports, in its own words or one of these, and writes code of this id."""
    content: Json = {"enum": list(texts)} if texts else {"type": "string", "minLength": 5, "maxLength": 8}
    fields: Json = {"type": {"enum": ["complete"]}, "content": content}
    if code:
        written = {"type": "string", "minLength": 5, "maxLength": 12}
        block = closed({"code_id": {"enum": [code]}, "language": {"enum": ["python"]}, "code": written})
        fields["code_blocks"] = {"type": "array", "items": block, "minItems": 1, "maxItems": 1}
    return shape(closed(fields))


class Shaped:
    """The address. `asked` is what came to it."""

    def __init__(self, gguf: str, shapes: Iterable[Json], window: int = 4096, *, reads_all: bool = True) -> None:
        self._reads_all = reads_all
        self.asked: list[Json] = []
        self._shapes = iter(shapes)
        self._gguf, self._window = gguf, window

    def __enter__(self) -> "Shaped":
        import xllamacpp

        made = xllamacpp.CommonParams()
        made.model.path, made.n_ctx, made.n_parallel, made.warmup, made.ui = self._gguf, self._window, 1, False, False
        made.cpuparams.n_threads = made.cpuparams_batch.n_threads = 1
        made.sampling.temp, made.sampling.seed = 0.0, 7
        made.verbosity = -1
        self._model = xllamacpp.Server(made)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        del self._model

    def answer(self, body: Json) -> Iterable[bytes]:
        """The model's stream, line by line."""
        self.asked.append(body)
        schema = {"name": "response", "strict": True, "schema": next(self._shapes)}
        shaped = body | {"response_format": {"type": "json_schema", "json_schema": schema}}
        if not self._reads_all:
            shaped["messages"] = [each | {"content": _ends(each["content"])} for each in body["messages"]]
        asked = urllib.request.Request(
            f"{self._model.listening_address}/v1/chat/completions",
            json.dumps(shaped).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=120) as answer:
            yield from answer


def _ends(text: str, most: int = 30) -> str:
    return text if len(text) <= 2 * most else f"{text[:most]} … {text[-most:]}"


def _handler(shaped: Shaped) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for line in shaped.answer(body):
                self.wfile.write(line)
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
