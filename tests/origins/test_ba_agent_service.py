"""The BA-Agent document: a query from the request to the answer, and a file through its whole life."""

import asyncio
import json
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ba_agent_shop import CODE, Json, Shop, block, reading, structured
from langgraph.config import get_config

from sightline import MemoryStore, Session
from sightline.agent import Agent, Answer, Event, loop
from sightline.agent.loop import Loop
from sightline.agent.models import Request
from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.errors import BadInput, BadSessionId, ModelBusy, ModelRefused
from sightline.origins.ba_agent import CodeStore, ContextManager, QueryResult, graph
from sightline.testing import ScriptedModel, Ticking, calling, numbered_ids
from sightline.values.items import Kind, ToolDefinition

# ------------------------------------------------------------------ a query


@pytest.mark.accepts(290, 293, 297, 338, 341, 345)
def test_a_query_gives_the_report_and_the_structured_fields(tmp_path: Path) -> None:
    """References are resolved, markers stand behind the report, and every field of the document is there."""
    report = "见 <code_ref>code_sales_analysis</code_ref> 与 <code_ref>code_unknown</code_ref>"
    shop = Shop(
        tmp_path,
        [
            structured(
                report, code_blocks=[block()], recommended_questions=["哪个地区最好？"], download_links=["/a.csv"]
            ),
            structured("好。"),
        ],
    )
    result, _ = shop.ask("分析销售", "继续")
    assert result.success
    assert result.response == (
        "见 {{CODE:0}} 与 <code_ref>code_unknown</code_ref>\n\n<!-- CODE_SAVED: code_sales_analysis | 销售数据分析 -->"
    )
    fields = result.metadata
    assert set(fields) >= {
        "action_type", "current_round", "task_analysis", "execution_plan", "tool_calls", "status",
        "recommended_questions", "download_links", "contains_html", "content_type", "saved_codes", "code_refs",
    }  # fmt: skip
    assert (fields["action_type"], fields["status"], fields["content_type"]) == ("complete", "complete", "markdown")
    assert fields["recommended_questions"] == ["哪个地区最好？"]
    assert fields["download_links"] == ["/a.csv"]
    assert fields["code_refs"] == [
        {
            "code_id": "code_sales_analysis",
            "language": "python",
            "description": "销售数据分析",
            "index": 0,
            "code": CODE,
        }
    ]
    assert [saved["code_id"] for saved in fields["saved_codes"]] == ["code_sales_analysis"]
    assert shop.store.retrieve("code_sales_analysis") == CODE
    assert report in shop.said(1)  # the question after it has the report, and not the code
    assert "step-7-of-cleaning" not in shop.said(1)


@pytest.mark.accepts(294, 361)
def test_the_steps_of_a_query_come_in_the_documents_order(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Context built, model asked, response read, code saved: the program's log has them in this order."""
    lines = [reading("a.py"), structured("读过了。"), structured("好。", code_blocks=[block()]), structured("完。")]
    shop = Shop(tmp_path, lines)
    (tmp_path / "files" / "a.py").write_text(CODE)
    history = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"早先的第 {n} 条"} for n in range(20)]
    with caplog.at_level(logging.INFO, "sightline.ba_agent"):
        shop.ask("读一下", history_messages=history)
        steps = [record.getMessage().partition(":")[0] for record in caplog.records if record.name.endswith("ba_agent")]
        assert steps[0] == "history taken in"
        assert steps[1:3] == ["context built", "context summarised"]
        caplog.clear()
        shop.ask("写代码")
    steps = [record.getMessage().partition(":")[0] for record in caplog.records if record.name.endswith("ba_agent")]
    assert steps == [
        "history cleaned", "context built", "context summarised", "model called", "response extracted", "code saved",
        "query answered",
    ]  # fmt: skip


@pytest.mark.accepts(299, 300, 325, 343)
def test_the_model_sees_the_documents_order(tmp_path: Path) -> None:
    """History, system prompt, code list, files, and the question last; what it reads then comes after the question."""
    lines = [structured("好。", code_blocks=[block()]), reading("code_sales_analysis"), structured("完。")]
    shop = Shop(tmp_path, lines)
    shop.ask("写代码")
    shop.ask("再读一遍", file_context=["upload_q1"])
    places = [
        shop.said(1).index(words)
        for words in (
            "写代码",
            "响应格式",
            "可用代码文件列表：",
            "用户已上传文件，文件引用: upload:upload_q1",
            "再读一遍",
        )
    ]
    assert places == sorted(places)
    assert shop.sent(1)[-1]["content"] == "再读一遍"
    assert shop.said(2).index("再读一遍") < shop.said(2).index("step-7-of-cleaning")


@pytest.mark.accepts(300)
def test_system_messages_come_first_where_that_is_wanted(tmp_path: Path) -> None:
    """With `system_first` no system message stands behind another one's."""
    shop = Shop(tmp_path, [structured("好。"), structured("完。")], layout="system_first")
    shop.ask("一", "二")
    roles = [message["role"] for message in shop.sent(1)]
    assert roles == sorted(roles, key=lambda role: role != "system")


@pytest.mark.accepts(313, 320, 343, 346, 347, 348, 349, 351)
def test_a_file_lives_as_the_document_says(tmp_path: Path) -> None:
    """Round N creates code, N+1 reads it in full, N+2 sees its gist, N+4 reads it again in full."""
    shop = Shop(
        tmp_path,
        [
            structured("写好了。", code_blocks=[block()]),
            reading("code_sales_analysis"),
            structured("读过了。"),
            structured("继续。"),
            structured("还在。"),
            reading("code_sales_analysis"),
            structured("又读了一遍。"),
        ],
    )
    marker = "step-77-of-cleaning"

    [created] = shop.ask("第 N 轮：写代码")
    assert (tmp_path / "codes" / "data" / "code_sales_analysis.py").read_text() == CODE
    assert created.metadata["saved_codes"][0]["path"] == "data/code_sales_analysis.py"
    assert "可用代码文件列表" not in shop.said(0)

    [read] = shop.ask("第 N+1 轮：请读取 code_sales_analysis")
    assert "- code_sales_analysis (python) - 销售数据分析" in shop.said(1)
    assert marker not in shop.said(1)
    assert CODE in shop.said(2)
    [call] = read.metadata["tool_calls"]
    assert call["tool_call_id"].startswith("call_read_file_")

    shop.ask("第 N+2 轮：继续")
    assert marker not in shop.said(3)
    assert "[文件已读取] code_sales_analysis.py (python, 145行, 函数: load_data, clean_data)" in shop.said(3)

    shop.ask("第 N+3 轮：还有什么？")
    assert marker not in shop.said(4)
    shop.ask("第 N+4 轮：再读一次")
    assert marker not in shop.said(5)
    assert shop.said(6).count(CODE) == 1
    assert "[文件已读取] code_sales_analysis.py" in shop.said(6)


@pytest.mark.accepts(345)
def test_code_that_was_written_is_named_and_not_repeated(tmp_path: Path) -> None:
    """Later prompts say where the code is instead of showing it; the log has the response word for word."""
    blocks = [block(), block("code_short", "print(1)")]
    shop = Shop(tmp_path, [said := structured("写好了。", code_blocks=blocks), structured("好。"), structured("完。")])
    shop.ask("写", "继续", "继续")
    for call in (1, 2):
        assert "step-77-of-cleaning" not in shop.said(call)
        assert "print(1)" in shop.said(call)
        assert "file_reader 读取 code_sales_analysis" in shop.said(call)
    [handle_of_it] = set(re.findall(r"expand 查看 #(\d+)", shop.said(1) + shop.said(2)))
    session = shop.service._session("s")
    assert session.items.text(handle_of_it) == said
    session.close()


@pytest.mark.accepts(314)
def test_uploads_and_intermediate_files_are_gists_too(tmp_path: Path) -> None:
    """Code, data the user brought and files made on the way are all full in their round and gists in the next."""
    rows = "date,product,amount,region\n" + "".join(f"2026-01-{n % 28 + 1:02},tea,{n},north\n" for n in range(200))
    chart = json.dumps({"config": {"type": "line"}, "data": list(range(300)), "options": {"note": "intermediate"}})
    (upload := tmp_path / "uploads" / "data.csv").parent.mkdir()
    upload.write_text(rows)
    (folder := tmp_path / "files" / "tmp").mkdir(parents=True)
    (folder / "chart.json").write_text(chart)
    lines = [reading("upload:upload_q1"), reading("tmp/chart.json"), reading("code_sales_analysis")]
    reader = file_reader(Folders([tmp_path / "files"]), CodeStore(tmp_path / "codes"), {"upload_q1": upload}, "zh")
    shop = Shop(tmp_path, [*lines, structured("都读了。"), structured("好。")], tools=[reader])
    shop.store.store("code_sales_analysis", CODE)
    shop.ask("看看文件", file_context=["upload_q1"])
    shop.ask("继续")
    contents = ("2026-01-28,tea,195,north", "295, 296, 297", "step-77-of-cleaning")
    assert all(content in shop.said(3) for content in contents)
    assert "[文件已读取] data.csv (CSV, 200行, 列: date, product, amount, region)" in shop.said(4)
    assert re.search(r"\[文件已读取\] chart.json \(JSON, 1\.\dKB, 键: config, data, options\)", shop.said(4))
    assert "[文件已读取] code_sales_analysis.py (python, 145行" in shop.said(4)
    assert not any(content in shop.said(4) for content in contents)


@pytest.mark.accepts(354, 355, 356)
@pytest.mark.parametrize("layout", ["document", "system_first"])
@pytest.mark.parametrize("code", [False, True])
def test_twenty_messages_are_sent_and_of_one_more_the_newest_five(tmp_path: Path, layout: str, code: bool) -> None:
    """The question, the system prompt and a code list count: service and context manager send the same dialogue."""
    for total in (20, 21):
        (folder := tmp_path / str(total)).mkdir()
        shop = Shop(folder, [structured("好。")], layout=layout)
        if code:
            shop.store.store("code_sales_analysis", CODE, session_id="s")
        roles = ("user", "assistant")
        history = [{"role": roles[n % 2], "content": f"第 {n} 条"} for n in range(total - 2 - code)]
        shop.ask("第 99 条", history_messages=history)
        manager = ContextManager(shop.store, layout=layout)
        built = manager.build_context("第 99 条", history, "s")
        assert (len(built), manager.should_clean_context(built)) == (total, total > 20)
        if manager.should_clean_context(built):
            built = manager.summarize_context(built)
        dialogue = [message["content"] for message in built if message["role"] != "system"]
        assert len(dialogue) == (5 if total > 20 else total - 1 - code)
        assert [message["content"] for message in shop.sent(0) if message["content"].startswith("第 ")] == dialogue
        assert "响应格式" in shop.said(0)
        assert ("可用代码文件列表" in shop.said(0)) is code


@pytest.mark.slow
@pytest.mark.accepts(354, 355, 356, 358)
def test_a_long_conversation_is_summarised(tmp_path: Path) -> None:
    """Beyond twenty messages the model sees the system prompt and the newest five, calls whole; the log keeps all."""
    lines: list[str] = []
    for n in range(12):
        lines += [reading("a.txt"), structured(f"答 {n}")]
    shop = Shop(tmp_path, lines)
    (tmp_path / "files" / "a.txt").write_text("short\n")
    shop.ask(*[f"问 {n}" for n in range(12)])
    dialogues = [[message for message in shop.sent(2 * n) if message["role"] != "system"] for n in range(12)]
    assert [len(dialogue) for dialogue in dialogues] == [1, 5, 9, 13, 17, 5, 9, 13, 17, 5, 9, 13]
    asked, called, result, replied, question = (message["content"] for message in dialogues[5])
    assert (asked, question) == ("问 4", "问 5")
    assert "file_reader" in called
    assert "short" in result
    assert "答 4" in replied
    assert all("响应格式" in shop.said(2 * n) for n in range(12))
    with_history = shop.service._session("s")
    users = [item for item in with_history.items if item.kind is Kind.USER]
    with_history.close()
    assert len(users) == 12


@pytest.mark.accepts(354, 355)
@pytest.mark.parametrize("summarize", [False, True])
def test_uploads_of_earlier_questions_do_not_count(tmp_path: Path, summarize: bool) -> None:
    """The document's list has the files of this question only: with files or not, the tenth question is too many."""
    called: list[int] = []

    def last_three(messages: list[Json]) -> list[Json]:
        called.append(len(messages))
        return messages[-3:]

    shop = Shop(tmp_path, [structured("好。")] * 11, **({"summarize": last_three} if summarize else {}))
    shop.ask(*[f"问 {n}" for n in range(11)], file_context="upload_q1")
    dialogues = [[each for each in shop.sent(n) if each["role"] != "system"] for n in range(11)]
    assert [len(dialogue) for dialogue in dialogues[:9]] == list(range(1, 18, 2))
    if summarize:
        assert called == [21]
        assert len(dialogues[9]) < 5
    else:
        assert (len(dialogues[9]), len(dialogues[10])) == (5, 7)
        uploaded = [each["content"] for each in shop.sent(9)].count("用户已上传文件，文件引用: upload:upload_q1")
        assert uploaded == 10


@pytest.mark.accepts(355)
def test_system_messages_of_the_history_stay(tmp_path: Path) -> None:
    """On the service's way as on the context manager's."""
    shop = Shop(tmp_path, [structured("好。")])
    history = [{"role": "system", "content": "规则"}]
    history += [{"role": ("user", "assistant")[n % 2], "content": f"第 {n} 条"} for n in range(18)]
    shop.ask("问", history_messages=history)
    manager = shop.service.context_manager
    built = manager.build_context("问", history, "s")
    assert len(built) == 21
    assert shop.sent(0) == manager.summarize_context(built)
    assert shop.sent(0)[0] == {"role": "system", "content": "规则"}


@pytest.mark.accepts(342)
def test_a_response_without_code_stores_nothing(tmp_path: Path) -> None:
    """No block, no file, no marker."""
    shop = Shop(tmp_path, [structured("你好！")])
    [result] = shop.ask("你好")
    assert (result.response, result.metadata["saved_codes"]) == ("你好！", [])
    assert not (tmp_path / "codes").exists()


@pytest.mark.accepts(329, 340, 341)
def test_code_blocks_are_checked_named_and_versioned(tmp_path: Path) -> None:
    """Each language gets its extension, one that is not supported is python, and an id again is a new version."""
    blocks = [block("code_page", "<p>", language="HTML"), block("code_odd", "x", language="cobol")]
    shop = Shop(
        tmp_path, [structured("一", code_blocks=blocks), structured("二", code_blocks=[block("code_odd", "y")])]
    )
    first, second = shop.ask("写", "再写")
    assert [saved["path"] for saved in first.metadata["saved_codes"]] == ["data/code_page.html", "data/code_odd.py"]
    assert second.metadata["saved_codes"][0]["version"] == 2
    assert shop.store.read("code_odd", 1) == "x"
    assert shop.store.read("code_odd") == "y"


@pytest.mark.accepts(344)
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["只是文字", "还是文字"], "还是文字"),
        (['{"action": {', "```json\n{}\n```"], "```json\n{}\n```"),
        ([structured("结论。", code_blocks=[{"code_id": "../../etc/passwd", "code": "x"}])] * 2, "结论。"),
    ],
)
def test_what_the_model_gets_wrong_does_not_cost_the_answer(tmp_path: Path, lines: list[str], said: str) -> None:
    """Text that is no JSON is the report; code that cannot be stored is a warning beside it."""
    [result] = Shop(tmp_path, lines).ask("分析")
    assert result.success
    assert result.response == said
    assert not list(tmp_path.rglob("passwd*"))


@pytest.mark.accepts(344)
def test_a_store_that_fails_does_not_lose_the_answer(tmp_path: Path) -> None:
    """Where the folder of the code cannot be made, the report comes with a warning."""
    shop = Shop(tmp_path, [structured("结论。", code_blocks=[block()])])
    (tmp_path / "codes").write_text("in the way")
    [result] = shop.ask("写")
    assert (result.success, result.response, result.metadata["saved_codes"]) == (True, "结论。", [])
    assert result.metadata["warnings"]


def test_html_in_a_report_is_told(tmp_path: Path) -> None:
    """A report with HTML elements is of that type; comparison signs make none."""
    shop = Shop(tmp_path, [structured("<table><tr><td>1</td></tr></table>"), structured("如果 a < b 且 c > d")])
    first, second = shop.ask("一", "二")
    assert (first.metadata["contains_html"], first.metadata["content_type"]) == (True, "html")
    assert (second.metadata["contains_html"], second.metadata["content_type"]) == (False, "markdown")


@pytest.mark.accepts(326)
def test_file_references_are_resolved_to_uploads(tmp_path: Path) -> None:
    """An upload of the conversation stands as a numbered place with what is known of it, in later rounds too."""
    shop = Shop(tmp_path, [structured("收到。"), structured("见 <file_ref>upload_q1</file_ref>")])
    upload = {"file_id": "upload_q1", "filename": "q1.csv", "file_type": "csv", "size_bytes": 10}

    async def twice() -> QueryResult:
        await shop.service.query("看文件", "s", file_context=upload)
        return await shop.service.query("报告", "s")

    result = shop.run(twice())
    assert result.response == "见 {{FILE:0}}"
    assert result.metadata["file_refs"] == [upload | {"description": "", "index": 0}]


# ------------------------------------------------------------------ conversations


@pytest.mark.accepts(293, 335)
def test_a_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    """A service that begins anew over the same folders knows what was said and which code there is."""
    Shop(tmp_path, [structured("记住了 4711。", code_blocks=[block()])]).ask("记住 4711")
    later = Shop(tmp_path, [structured("是 4711。")])
    later.ask("是多少？")
    assert "记住 4711" in later.said(0)
    assert "- code_sales_analysis (python)" in later.said(0)


@pytest.mark.accepts(323)
def test_conversations_do_not_see_each_other(tmp_path: Path) -> None:
    """What is said and saved in one is not in another; without an id each query has its own."""
    shop = Shop(tmp_path, [structured("好", code_blocks=[block()]), structured("好"), structured("好")])

    async def apart() -> list[QueryResult]:
        first = await shop.service.query("秘密 4711", "one")
        return [first, await shop.service.query("你好", "two"), await shop.service.query("你好")]

    results = shop.run(apart())
    assert "4711" not in shop.said(1) + shop.said(2)
    assert "code_sales_analysis (python)" not in shop.said(1)
    assert re.fullmatch("conv_[0-9a-f]{12}", results[2].session_id)


@pytest.mark.accepts(303)
def test_history_is_taken_in_once(tmp_path: Path) -> None:
    """A new conversation begins with the history it is given; given again, it is not said twice."""
    body = json.dumps({"path": "work/old.py", "content": CODE})
    call = {"id": "call_read_file_1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "早先的问题 4711"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_read_file_1", "content": body},
        {"role": "assistant", "content": "早先的回答"},
    ]
    shop = Shop(tmp_path, [structured("好"), structured("好")])
    shop.ask("一", "二", history_messages=history)
    for call_number in (0, 1):
        assert shop.said(call_number).count("早先的问题 4711") == 1
        assert "[文件已读取] old.py (python, 145行" in shop.said(call_number)
        assert "step-77-of-cleaning" not in shop.said(call_number)


@pytest.mark.slow
def test_many_conversations_are_not_all_held_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that rest are closed and go on where they were; queries at the same time are answered one by one."""
    monkeypatch.setattr("sightline.origins.ba_agent.service.MOST_OPEN", 2)
    shop = Shop(tmp_path, [structured("好")] * 20)

    async def many() -> None:
        await asyncio.gather(*[shop.service.query(f"问 {n}", f"c{n % 5}") for n in range(20)])
        assert len(shop.service._open) <= 5

    shop.run(many())
    after = Shop(tmp_path, [structured("好")])
    after.ask("最后", session_id="c3")
    assert [f"问 {n}" in after.said(0) for n in (3, 8, 13, 18, 4)] == [True] * 4 + [False]


def test_a_model_that_cannot_be_asked_is_no_crash(tmp_path: Path) -> None:
    """The result says why; the question is in the log, and the next query goes on."""
    shop = Shop(tmp_path, [ModelBusy("too many requests"), structured("好")])
    failed, fine = shop.ask("一", "二")
    assert (failed.success, failed.error, failed.metadata["status"]) == (False, "too many requests", "processing")
    assert fine.success


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"message": " "}, BadInput),
        ({"message": "x", "session_id": "../up"}, BadSessionId),
        ({"message": "x", "history_messages": [{"role": "king", "content": 1}]}, BadInput),
        ({"message": "x", "file_context": {"no": "file"}}, BadInput),
    ],
)
def test_bad_queries_are_refused_before_anything_is_said(tmp_path: Path, options: Json, error: type[Exception]) -> None:
    """What cannot be used raises, and neither the model nor the disk sees any of it."""
    shop = Shop(tmp_path, [])
    with pytest.raises(error):
        shop.run(shop.service.query(**options))
    assert not shop.model.asked
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.accepts(293, 313)
def test_the_service_shows_what_the_context_manager_would_build(tmp_path: Path) -> None:
    """For the same history both leave out the file's content and begin its place with the same line."""
    shop = Shop(tmp_path, [reading("sales_analysis.py"), structured("读过了。"), structured("好。")])
    (tmp_path / "files" / "sales_analysis.py").write_text(CODE)
    shop.ask("读", "继续")
    result = {"role": "tool", "tool_call_id": "call_read_file_1", "content": f"[文件] sales_analysis.py\n{CODE}"}
    [cleaned] = ContextManager().clean_file_contents([result])
    assert cleaned["content"] in shop.said(2)


@pytest.mark.accepts(296)
def test_the_model_is_any_with_the_seam_and_langgraph_runs_it_and_the_tools(tmp_path: Path) -> None:
    """A model is what has `info` and `stream`; it is called in LangGraph's node `model`, tools in the node `tools`."""
    nodes: list[tuple[str, str]] = []

    class Placed(ScriptedModel):
        """Remembers the node in which it is asked."""

        async def stream(self, request: Request) -> Any:
            nodes.append(("model", get_config()["metadata"]["langgraph_node"]))
            async for piece in super().stream(request):
                yield piece

    async def read(_: Mapping[str, Any]) -> str:
        nodes.append(("tool", get_config()["metadata"]["langgraph_node"]))
        return "a = 1"

    reader = Tool(ToolDefinition("file_reader", "", {"type": "object"}), read)
    shop = Shop(tmp_path, [], tools=[reader])
    shop.service.model = Placed([reading("a.py"), structured("好")])
    assert shop.ask("读")[0].success
    assert nodes == [("model", "model"), ("tool", "tools"), ("model", "model")]


def test_without_langgraph_the_service_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told when the service is made, not when the first user asks."""
    monkeypatch.setitem(sys.modules, "langgraph.graph", None)
    with pytest.raises(BadInput, match=r"BAAgentService needs langgraph.*pip install 'sightline-context\[ba-agent\]'"):
        Shop(tmp_path, [])


def test_the_graph_and_the_plain_loop_are_the_same_steps() -> None:
    """An agent says the same with either, with tools, with a failing model, and when its rounds are used up."""

    async def port(_: Mapping[str, Any]) -> str:
        return "8080"

    def events_with(loop: Loop, lines: Sequence[Any]) -> list[Event]:
        tools = [Tool(ToolDefinition("port", "", {"type": "object"}), port)]
        session = Session(MemoryStore("s"), ids=numbered_ids(), clock=Ticking())
        agent = Agent(session, ScriptedModel(lines), tools=tools, rounds=2)
        agent.loop = loop

        async def all_of_them() -> list[Event]:
            return [event async for event in agent.stream("Where?")]

        return asyncio.run(all_of_them())

    call = calling(("port", {}))
    for lines in ([call, "8080."], [call, ModelRefused("no")], [call, call, "8080."], [""]):
        events = events_with(graph.run, lines)
        assert events == events_with(loop.run, lines)
        assert isinstance(events[-1], Answer)
