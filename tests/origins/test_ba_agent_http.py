"""The BA-Agent document over HTTP: a posted query, and the messages that then arrive at the model's address."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ba_agent_shop import CODE, Json, block, reading, structured
from stub import Stub, answer

from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.openai import OpenAiModel
from sightline.documents.structured_response import parse
from sightline.origins.ba_agent import BAAgentService, CodeStore, handle
from sightline.session.session import Session
from sightline.testing import Ticking
from sightline.values.items import plain_text

LIST = """可用代码文件列表：
- code_sales_analysis (python) - 销售数据分析
- code_visualization_chart (python) - 趋势图表
- code_report_template (html) - 报告模板

你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用这些代码。"""
UPLOADED = "用户已上传文件，文件引用: upload:upload_q1"
HISTORY = [
    {"role": "user", "content": "先看数据"},
    {"role": "assistant", "content": "好的，一共三行。"},
    {"role": "system", "content": "数据每天更新"},
    {"role": "user", "content": "谢谢"},
    {"role": "assistant", "content": "不客气。"},
]


class Place:
    """A service at one address and its scripted model at another."""

    def __init__(self, service: BAAgentService, store: CodeStore, url: str, model: Stub) -> None:
        self.service, self.store, self._url, self._model = service, store, url, model

    def ask(self, message: str, session_id: str = "s", **more: Any) -> Json:
        """The answer to a posted query."""
        body = json.dumps({"message": message, "session_id": session_id} | more).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self._url}/query", body), timeout=60) as reply:
            return json.load(reply)  # type: ignore[no-any-return]

    def sent(self, call: int = -1) -> list[Json]:
        """The messages that came to the model, content as text."""
        return [each | {"content": _text(each["content"])} for each in self._model.asked[call].body["messages"]]

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self._model.asked)


@contextmanager
def served(folder: Path, lines: Sequence[str], **options: Any) -> Iterator[Place]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = asyncio.run_coroutine_threadsafe(handle(service, body), loop).result(60)
            self.send_response(reply.status)
            self.end_headers()
            self.wfile.write(json.dumps(reply.body).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    (folder / "files").mkdir(exist_ok=True)
    store = CodeStore(folder / "codes", clock=Ticking())
    with Stub([answer(line) for line in lines]) as stub, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model = OpenAiModel(Endpoint("scripted", base_url=f"{stub.url}/v1", window=32_000))
        service = BAAgentService(model, store, sessions=folder / "sessions", project=folder / "files", **options)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield Place(service, store, f"http://127.0.0.1:{server.server_port}", stub)
        finally:
            server.shutdown()
            asyncio.run_coroutine_threadsafe(_close(service, model), loop).result(60)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _close(service: BAAgentService, model: OpenAiModel) -> None:
    await service.close()
    await model.close()


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def fill(store: CodeStore, session_id: str = "s") -> None:
    """The three files of the document's sample."""
    store.store("code_sales_analysis", "print(1)", description="销售数据分析", session_id=session_id)
    store.store("code_visualization_chart", "print(2)", description="趋势图表", session_id=session_id)
    store.store("code_report_template", "<p>", language="html", description="报告模板", session_id=session_id)


# ------------------------------------------------------------------ order, roles and text


@pytest.mark.accepts(299, 300, 303, 321, 322, 323, 324, 325)
def test_the_model_gets_the_documents_messages(tmp_path: Path) -> None:
    """History in its own roles, then three system messages, word for word, and the user's words last."""
    with served(tmp_path, [structured("好。")]) as place:
        fill(place.store)
        place.ask("继续分析", history_messages=HISTORY, file_context={"file_id": "upload_q1"})
        *history, prompt, listed, uploaded, question = place.sent()
        built = place.service.context_manager.build_context("继续分析", HISTORY, "s", {"file_id": "upload_q1"})
    assert history == HISTORY
    assert prompt["role"] == "system"
    for rule in ("响应格式", "工具调用规范", "代码块处理规则", "可用工具：", '"file_reader"'):
        assert rule in prompt["content"]
    assert listed == {"role": "system", "content": LIST}
    assert uploaded == {"role": "system", "content": UPLOADED}
    assert question == {"role": "user", "content": "继续分析"}
    assert [*history, prompt, listed, uploaded, question] == built


@pytest.mark.slow(
    "history0-False-files1-document-zh",
    "history0-True-None-document-zh",
    "history1-True-None-document-zh",
    "history1-True-files1-document-zh",
    "history2-False-files1-document-zh",
    "history2-True-None-system_first-en",
    "history2-True-files1-system_first-en",
)
@pytest.mark.accepts(299, 300, 323, 325)
@pytest.mark.parametrize(("layout", "locale"), [("document", "zh"), ("system_first", "en")])
@pytest.mark.parametrize("files", [None, ["upload_q1", "upload_q2"]])
@pytest.mark.parametrize("code", [False, True])
@pytest.mark.parametrize("history", [[], HISTORY, [{"role": "system", "content": "历史消息"}]])
def test_service_and_context_manager_send_the_same(
    tmp_path: Path, layout: str, locale: str, files: Any, code: bool, history: list[Json]
) -> None:
    """With and without history, code and files, in both orders and languages: the list is the manager's."""
    with served(tmp_path, [structured("好。")], layout=layout, locale=locale) as place:
        if code:
            fill(place.store)
        place.ask("问", history_messages=history, file_context=files)
        assert place.sent() == place.service.context_manager.build_context("问", history, "s", files)
        systems = [message["role"] == "system" for message in place.sent()]
    assert sum(systems) == 1 + code + bool(files) + sum(message["role"] == "system" for message in history)
    if layout == "system_first":
        assert systems == sorted(systems, reverse=True)


@pytest.mark.accepts(299, 301, 323, 325)
@pytest.mark.parametrize("layout", ["document", "system_first"])
def test_a_first_question_is_two_messages(tmp_path: Path, layout: str) -> None:
    """Without history, code of this session and files: the system prompt and the user's words, nothing else."""
    with served(tmp_path, [structured("好。")], layout=layout) as place:
        fill(place.store, "another")
        place.ask("你好")
        prompt, question = place.sent()
    assert prompt["role"] == "system"
    assert "响应格式" in prompt["content"]
    assert question == {"role": "user", "content": "你好"}


@pytest.mark.accepts(299, 300, 323, 325, 343)
def test_every_round_has_the_order_anew(tmp_path: Path) -> None:
    """The list has what was saved meanwhile and stands before the question; uploads of earlier rounds are history."""
    lines = [structured("写好了。", code_blocks=[block()]), reading("code_sales_analysis"), structured("完。")]
    with served(tmp_path, [*lines, structured("好。")]) as place:
        place.ask("写代码", file_context="upload_q1")
        assert [message["role"] for message in place.sent()] == ["system", "system", "user"]
        place.ask("读一遍", file_context="upload_q2")
        roles = ["system", "user", "assistant", "system", "system", "system", "user"]
        assert [message["role"] for message in place.sent(1)] == roles
        assert place.sent(1)[0]["content"] == UPLOADED
        assert place.sent(1)[4]["content"].startswith(
            "可用代码文件列表：\n- code_sales_analysis (python) - 销售数据分析\n\n"
        )
        assert place.sent(1)[5]["content"] == "用户已上传文件，文件引用: upload:upload_q2"
        assert place.sent(1)[6]["content"] == "读一遍"
        assert place.sent(2)[:7] == place.sent(1)  # what is read follows the question
        assert CODE in place.sent(2)[8]["content"]
        place.ask("还有呢")
        assert [message["content"] for message in place.sent(3) if message["role"] == "user"][-1] == "还有呢"
        assert place.sent(3)[-2]["content"].startswith("可用代码文件列表：")
        assert [message["content"] for message in place.sent(3)].index(
            "用户已上传文件，文件引用: upload:upload_q2"
        ) == 3


@pytest.mark.accepts(300, 323, 325)
def test_system_messages_first_has_nothing_behind_the_question(tmp_path: Path) -> None:
    """The list and the uploads are before the dialogue in every round, and the question is last."""
    lines = [structured("写好了。", code_blocks=[block()]), structured("好。")]
    with served(tmp_path, lines, layout="system_first") as place:
        place.ask("写代码")
        place.ask("继续", file_context="upload_q1")
        assert [message["role"] for message in place.sent()] == ["system"] * 3 + ["user", "assistant", "user"]
        assert place.sent()[1]["content"].startswith("可用代码文件列表：")
        assert place.sent()[2]["content"] == UPLOADED
        assert place.sent()[-1] == {"role": "user", "content": "继续"}


@pytest.mark.accepts(299, 323)
def test_another_process_sends_the_same_again(tmp_path: Path) -> None:
    """After a restart the roles come from the log: the history as it was sent, and the list behind it."""
    with served(tmp_path, [structured("写好了。", code_blocks=[block()])]) as place:
        place.ask("写代码", file_context="upload_q1")
    with served(tmp_path, [structured("好。")]) as place:
        place.ask("继续")
        roles = ["system", "user", "assistant", "system", "system", "user"]
        assert [message["role"] for message in place.sent()] == roles
        assert place.sent()[0]["content"] == UPLOADED
    with Session.resume("s", tmp_path / "files", root=tmp_path / "sessions") as session:
        assert [verified.good for verified in session.receipts.verify()] == [True, True]


# ------------------------------------------------------------------ a function that summarises


def summarised(messages: list[Json]) -> list[Json]:
    """The system messages, one that says what was, and the newest three."""
    systems = [message for message in messages if message["role"] == "system"]
    said = [message for message in messages if message["role"] != "system"]
    short = {"role": "system", "content": f"摘要：此前共 {len(said) - 3} 条消息，订单号 4711。"}
    return [*systems, short, *said[-3:]]


@pytest.mark.accepts(294, 357)
def test_a_function_that_summarises_reaches_the_service(tmp_path: Path) -> None:
    """It gets the manager's list; what it says stands for what it left out, and stays in the log."""
    roles = ("user", "assistant")
    history = [{"role": roles[n % 2], "content": f"第 {n} 条，内容不短也不长，正好可以总结。"} for n in range(20)]
    given: list[list[Json]] = []

    def remember(messages: list[Json]) -> list[Json]:
        given.append(messages)
        return summarised(messages)

    with served(tmp_path, [structured("好。"), structured("好。")], summarize=remember) as place:
        place.ask("第 99 条", history_messages=history)
        assert given == [place.service.context_manager.build_context("第 99 条", history, "s")]
        said = [message["content"] for message in place.sent() if message["role"] != "system"]
        assert "摘要：此前共 18 条消息，订单号 4711。" in said[0]
        assert said[1:] == [history[-2]["content"], history[-1]["content"], "第 99 条"]
        place.ask("继续")
        assert len(given) == 1
        assert "订单号 4711" in place.sent()[0]["content"]
    with Session.resume("s", tmp_path / "files", root=tmp_path / "sessions") as session:
        said = [plain_text(item.parts) for item in session.items]
    assert [message["content"] for message in history] == said[:20]


def test_a_function_that_fails_does_not_cost_the_answer(tmp_path: Path) -> None:
    """The rule is used instead, and the answer says so."""
    history = [{"role": "user", "content": f"第 {n} 条"} for n in range(20)]

    def fails(_: list[Json]) -> list[Json]:
        raise TimeoutError("no model there")

    with served(tmp_path, [structured("好。")], summarize=fails) as place:
        reply = place.ask("第 99 条", history_messages=history)
        said = [message["content"] for message in place.sent() if message["content"].startswith("第 ")]
    assert (reply["success"], reply["response"]) == (True, "好。")
    assert "TimeoutError: no model there" in reply["metadata"]["warnings"][0]
    assert said == [f"第 {n} 条" for n in (16, 17, 18, 19, 99)]


# ------------------------------------------------------------------ responses that are not quite in the form


def response(**changes: Any) -> str:
    """A response with code and these fields."""
    fields = json.loads(structured("报告。", code_blocks=[block()]))
    action = fields["action"] | changes.pop("action", {})
    return json.dumps(fields | changes | {"action": action}, ensure_ascii=False)


@pytest.mark.accepts(297, 341)
@pytest.mark.parametrize("analysis", ["", "写代码", None])
def test_a_short_analysis_is_no_fault(tmp_path: Path, analysis: str | None) -> None:
    """The document sets no length: the report and the code count, and the model is not asked again."""
    with served(tmp_path, [response(task_analysis=analysis)]) as place:
        reply = place.ask("写")
        assert (reply["response"], place.calls) == (
            "报告。\n\n<!-- CODE_SAVED: code_sales_analysis | 销售数据分析 -->",
            1,
        )
        assert place.store.retrieve("code_sales_analysis") == CODE
    assert reply["metadata"]["warnings"] == []


@pytest.mark.slow("changes2-task_analysis")
@pytest.mark.accepts(341, 344)
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"current_round": "第一轮"}, "current_round"),
        ({"execution_plan": ["R1", "R2"]}, "execution_plan"),
        ({"task_analysis": {"goal": "x"}}, "task_analysis"),
        ({"action": {"download_links": "sales.csv"}}, "action.download_links"),
        ({"action": {"recommended_questions": ["好吗？", {"q": 1}]}}, "action.recommended_questions[1]"),
        ({"action": {"code_blocks": [block(), {"code_id": "code_broken", "code": ["x"]}]}}, "action.code_blocks[1]"),
        ({"action": {"code_blocks": [{"code_id": "../up", "code": "x"}, block()]}}, "'../up'"),
        ({"action": {"code_blocks": [block(), {"code_id": "code_nothing", "code": " "}]}}, "'code_nothing'"),
    ],
)
def test_what_can_be_saved_is_saved(tmp_path: Path, changes: Json, part: str) -> None:
    """A part that cannot be read, or stored, is named in a warning; report and code are there at the first answer."""
    with served(tmp_path, [response(**changes)]) as place:
        reply = place.ask("写")
        assert (reply["success"], place.calls) == (True, 1)
        assert reply["response"].startswith("报告。")
        assert [saved["code_id"] for saved in reply["metadata"]["saved_codes"]] == ["code_sales_analysis"]
        assert place.store.retrieve("code_sales_analysis") == CODE
    [warning] = reply["metadata"]["warnings"]
    assert part in warning
    assert "已略过" in warning or "未保存" in warning


@pytest.mark.accepts(341, 344)
@pytest.mark.parametrize("second", ["还是文字", response(), response(action={"type": "done"})])
def test_the_code_of_a_response_that_is_sent_back_is_saved_once(tmp_path: Path, second: str) -> None:
    """It is in the store whatever the model says then, and the same code again is no new version."""
    with served(tmp_path, [response(action={"type": "done"}), second]) as place:
        reply = place.ask("写")
        assert place.calls == 2
        assert place.sent()[-1]["role"] == "user"
        assert 'action.type 应为 "tool_call" 或 "complete"' in place.sent()[-1]["content"]
        assert place.store.retrieve("code_sales_analysis") == CODE
        [saved] = place.store.versions("code_sales_analysis")
    assert [each["version"] for each in reply["metadata"]["saved_codes"]] == [saved.version]
    assert reply["success"]
    assert bool(reply["metadata"]["warnings"]) == bool(parse(second).problems)
