"""What the BA-Agent document describes, from beginning to end, through its query service over HTTP.

    python examples/documents/ba_agent.py

The script starts two servers of its own: a scripted model, and the service, which is asked by POST /query. It prints
what the document shows: the messages of a query, the list of code, the gists of files that were read, the summary of a
long conversation.
"""

import asyncio
import json
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.openai import OpenAiModel
from sightline.origins.ba_agent import BAAgentService, CodeStore, handle

Json = dict[str, Any]

ANALYSIS = "\n".join(
    ["import csv", "", "def load_data(path):", "    return list(csv.reader(open(path)))", "", "def clean_data(rows):"]
    + ["    rows = [row for row in rows if row]"] * 138
    + [
        "    return rows",
        "",
        "def visualize(rows):",
        "    for row in rows:",
        "        print(row)",
        "    return None",
        "",
    ]
)
CHART = "import matplotlib.pyplot as plt\n\n\ndef draw(rows):\n    plt.plot(rows)\n"
TEMPLATE = "<html><body><h1>{{title}}</h1></body></html>\n"


def write_files(folder: Path) -> None:
    """Write the files that the document's samples speak of."""
    (folder / "sales_analysis.py").write_text(ANALYSIS)
    rows = "".join(f"2026-01-{n % 28 + 1:02},tea,{n % 90}.50,north\n" for n in range(5000))
    (folder / "data.csv").write_text("date,product,amount,region\n" + rows)
    for name, first in (("chart_result.json", "config"), ("config.json", "settings")):
        value: Json = {first: {"type": "line"}, "data": [1, 2, 3], "options": {"note": ""}}
        value["options"]["note"] = "x" * (2560 - len(json.dumps(value)))  # 2.5 KB
        (folder / name).write_text(json.dumps(value))


# ---------------------------------------------------------------------- what the model says


def respond(kind: str, content: Any, **action: Any) -> str:
    """Return a structured response."""
    action = {"type": kind, "content": content} | action
    response = {"task_analysis": "销售分析", "execution_plan": "R1: 处理", "current_round": 1, "action": action}
    return json.dumps(response, ensure_ascii=False)


def read(*paths: str, **more: int) -> str:
    """Return a response that reads files."""
    return respond("tool_call", [{"tool_name": "file_reader", "arguments": {"path": path} | more} for path in paths])


def block(code_id: str, language: str, description: str, code: str) -> Json:
    return {"code_id": code_id, "language": language, "description": description, "code": code}


def lines() -> Iterator[str]:
    """Yield what the model says, one line for each time it is asked."""
    blocks = [
        block("code_sales_analysis", "python", "销售数据分析", ANALYSIS),
        block("code_visualization_chart", "python", "趋势图表", CHART),
        block("code_report_template", "html", "报告模板", TEMPLATE),
    ]
    yield respond("complete", "代码已创建，见 <code_ref>code_sales_analysis</code_ref>。", code_blocks=blocks)
    yield respond("complete", "文件已收到：<file_ref>upload_q1</file_ref>。")
    yield read("code_sales_analysis")
    yield respond("complete", "代码读过了。")
    yield read("sales_analysis.py", "chart_result.json", "config.json")
    yield read("data.csv", lines=10_000)  # without a number, of a long file the first page
    yield respond("complete", "文件都读过了。")
    yield respond("complete", "可以继续。")
    yield read("sales_analysis.py")
    yield respond("complete", "又读了一遍。")
    while True:
        yield respond("complete", "好的。")


# ---------------------------------------------------------------------- the two servers


@contextmanager
def serve(answer: Callable[[Json], Json]) -> Iterator[str]:
    """Serve a function of JSON values by POST. Yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


class Shop:
    """The service at an address, and the messages that its model was sent."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[list[Json]]()
        self._lines, self._loop = lines(), asyncio.new_event_loop()

    def answer_as_model(self, request: Json) -> Json:
        self.asked.append([each | {"content": text_of(each["content"])} for each in request["messages"]])
        message = {"role": "assistant", "content": next(self._lines)}
        return {"id": "1", "model": "scripted", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}

    def answer_query(self, request: Json) -> Json:
        return asyncio.run_coroutine_threadsafe(handle(self.service, request), self._loop).result().body

    @contextmanager
    def opened(self) -> Iterator["Shop"]:
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        try:
            with serve(self.answer_as_model) as address:
                model = OpenAiModel(Endpoint("scripted", base_url=f"{address}/v1", window=200_000))
                store, sessions = CodeStore(self.folder / "storage"), self.folder / "sessions"
                self.service = BAAgentService(model, store, sessions=sessions, project=self.folder / "work")
                with serve(self.answer_query) as self.address:
                    yield self
                for closing in (self.service.close(), model.close()):
                    asyncio.run_coroutine_threadsafe(closing, self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def query(self, message: str, **more: Any) -> Json:
        """Post a query and return the answer."""
        body = json.dumps({"message": message, "session_id": "demo"} | more).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.address}/query", body)) as reply:
            answer: Json = json.load(reply)
        if not answer["success"]:
            raise RuntimeError(answer["error"])
        return answer

    def show_messages(self) -> None:
        """Print the messages of the last model call, each in one line."""
        for message in self.asked[-1]:
            words = " ".join(message["content"].split())
            print(f"  {message['role']:9} {words if len(words) <= 60 else words[:60] + '…'}")

    def gists(self) -> list[str]:
        """Return the gists in the messages of the last model call."""
        texts = (line for message in self.asked[-1] for line in message["content"].split("\n"))
        return [line[line.index("[文件已读取]") :] for line in texts if "[文件已读取]" in line]


# ---------------------------------------------------------------------- the document, step by step


def create_code(shop: Shop) -> None:
    print("第 N 轮：模型创建代码")
    answer = shop.query("请创建分析代码")
    shop.show_messages()
    print(answer["response"])
    for saved in answer["metadata"]["saved_codes"]:
        print(f"{saved['path']}  {saved['language']}, {saved['line_count']}行, {saved['char_count']}字符")


def list_code(shop: Shop) -> None:
    print("\n完整消息列表结构")
    shop.service.uploads.add("q1.csv", (shop.folder / "work" / "data.csv").read_bytes(), file_id="upload_q1")
    answer = shop.query("请基于上传的数据继续", file_context="upload_q1")
    shop.show_messages()
    print(shop.asked[-1][-3]["content"])
    print(shop.asked[-1][-2]["content"])
    print(answer["response"], [each["filename"] for each in answer["metadata"]["file_refs"]])


def read_files(shop: Shop) -> None:
    print("\n第 N+1 轮：模型读取文件")
    answer = shop.query("请读取 code_sales_analysis 文件并进行分析")
    [call] = answer["metadata"]["tool_calls"]
    print(call["tool_call_id"].startswith("call_read_file_"), "完整内容:", ANALYSIS in shop.asked[-1][-1]["content"])
    shop.query("请读取全部文件")
    print("第 N+2 轮：文件内容被清理为梗概")
    shop.query("继续")
    gists = [gist.rpartition(" #")[0] for gist in shop.gists()]  # without handles: the results came in any order
    print("\n".join(gists), "\n完整内容:", "rows = [row for row in rows if row]" in str(shop.asked[-1]))
    print("第 N+M 轮：再次读取")
    shop.query("请再读一次 sales_analysis.py")
    print("完整内容:", ANALYSIS in shop.asked[-1][-1]["content"])


def talk_long(shop: Shop) -> None:
    print("\n上下文总结：消息总数超过 20 条")
    while True:
        before = sum("用户已上传文件" not in message["content"] for message in shop.asked[-1])  # those do not count
        shop.query("继续")
        if len(shop.asked[-1]) < before:
            break
    roles = [message["role"] for message in shop.asked[-1]]
    print(f"{before} + 2 条消息 → 系统提示 {roles.count('system')} 条，对话 {len(roles) - roles.count('system')} 条")
    shop.show_messages()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (work := Path(folder) / "work").mkdir()
        write_files(work)
        with Shop(Path(folder)).opened() as shop:
            for step in (create_code, list_code, read_files, talk_long):
                step(shop)


if __name__ == "__main__":
    main()
