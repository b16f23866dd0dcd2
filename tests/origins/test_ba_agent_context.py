"""The BA-Agent document: how the messages of a query are built, cleaned and summarised."""

import ast
import copy
import inspect
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadInput
from sightline.origins import ba_agent
from sightline.origins.ba_agent import CodeStore, ContextManager, newest
from sightline.origins.ba_agent import context as context_module
from sightline.testing import Ticking

Json = dict[str, Any]

PYTHON = "\n".join(
    ["import csv", "", "def load_data(path):", "    return list(csv.reader(open(path)))", "", "def clean_data(rows):"]
    + ["    rows = [row for row in rows if row]  # keep-marker-7781"] * 138
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
CSV = "date,product,amount,region\n" + "2026-01-05,tea,12.50,north\n" * 5000


def chart() -> str:
    """A JSON file of exactly 2.5 KB."""
    value = {"config": {"type": "line"}, "data": [1, 2, 3], "options": {"note": ""}}
    value["options"]["note"] = "x" * (2560 - len(json.dumps(value)))  # type: ignore[index, call-overload]
    return json.dumps(value)


def read(path: str, content: str, call_id: str = "call_read_file_0a1b2c3d4e5f", **more: Any) -> list[Json]:
    """A file read: the call and its result, as the document's tool gives it."""
    function = {"name": "file_reader", "arguments": json.dumps({"path": path})}
    result = json.dumps({"path": path, "content": content, "metadata": more.pop("metadata", {})}, ensure_ascii=False)
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result} | more,
    ]


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def assistant(text: str) -> Json:
    return {"role": "assistant", "content": text}


@pytest.fixture
def manager() -> ContextManager:
    return ContextManager()


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    """The three files of the document's sample."""
    made = CodeStore(tmp_path / "codes", clock=Ticking())
    made.store("code_sales_analysis", "print(1)", description="销售数据分析", session_id="s")
    made.store("code_visualization_chart", "print(2)", description="趋势图表", session_id="s")
    made.store("code_report_template", "<p>", language="html", description="报告模板", session_id="s")
    return made


LIST = """可用代码文件列表：
- code_sales_analysis (python) - 销售数据分析
- code_visualization_chart (python) - 趋势图表
- code_report_template (html) - 报告模板

你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用这些代码。"""


# ------------------------------------------------------------------ building


@pytest.mark.accepts(290, 291, 299, 300, 303, 323, 325)
def test_the_messages_stand_in_the_documents_order(store: CodeStore) -> None:
    """History in its own roles, system prompt, code list, files, and the user's words last."""
    history = [user("先看数据"), *read("data/data.csv", CSV), assistant("好的")]
    built = ContextManager(store).build_context("继续分析", history, "s", {"file_id": "upload_q1"})
    assert [message["role"] for message in built] == [
        "user", "assistant", "tool", "assistant", "system", "system", "system", "user",
    ]  # fmt: skip
    assert "JSON" in built[4]["content"]
    assert built[5] == {"role": "system", "content": LIST}
    assert built[6] == {"role": "system", "content": "用户已上传文件，文件引用: upload:upload_q1"}
    assert built[7] == user("继续分析")


@pytest.mark.accepts(299, 301, 323, 325)
def test_without_history_code_and_files_there_are_two_messages(manager: ContextManager, store: CodeStore) -> None:
    """Exactly the system prompt and the user's words; so it is for another session than the code's."""
    for built in (manager.build_context("你好"), ContextManager(store).build_context("你好", [], "other", [])):
        assert [message["role"] for message in built] == ["system", "user"]
        assert built[-1]["content"] == "你好"


@pytest.mark.accepts(300)
def test_system_messages_may_stand_first(store: CodeStore) -> None:
    """For providers that want it, the system messages come first in their order, and the others follow in theirs."""
    history = [{"role": "system", "content": "早先的"}, user("一"), assistant("二")]
    document = ContextManager(store).build_context("三", history, "s")
    hoisted = ContextManager(store, layout="system_first").build_context("三", history, "s")
    assert [message["role"] for message in hoisted] == ["system"] * 3 + ["user", "assistant", "user"]
    assert [m for m in document if m["role"] == "system"] == hoisted[:3]
    assert [m for m in document if m["role"] != "system"] == hoisted[3:]
    with pytest.raises(BadInput, match="document, system_first"):
        ContextManager(layout="other")


PROMPT_RULES = {
    "en": {
        "Response": ["task_analysis: ", "execution_plan: ", "current_round counts from 1", '"tool_call"', '"complete"'],
        "Tool calls": ["action.content is", "at most 6 calls", "do not invent", "file_reader", "read it again"],
        "Code": ["code_blocks, never", "begins with code_", "a new version", "language is one of: ", "<code_ref>"],
    },
    "zh": {
        "响应格式": ["task_analysis：", "execution_plan：", "current_round 从 1", '"tool_call"', '"complete"'],
        "工具调用规范": ["action.content 为", "最多 6 个", "不要编造", "file_reader", "再次读取"],
        "代码块处理规则": [
            "code_blocks 中，不要",
            "以 code_ 开头",
            "即为新版本",
            "language 必须是以下之一：",
            "<code_ref>",
        ],
    },
}


@pytest.mark.accepts(302)
@pytest.mark.parametrize("locale", PROMPT_RULES)
def test_the_system_prompt_says_how_to_answer(locale: str) -> None:
    """Two forms that the service itself can read, and under their headings the rules for answer, calls and code."""
    prompt = ContextManager(locale=locale).build_context("?")[0]["content"]
    forms = prompt[prompt.index("{") : prompt.rindex("\n}") + 2]
    for form, action in zip(forms.split("\n}\n"), ("tool_call", "complete"), strict=True):
        response = json.loads(form if form.endswith("\n}") else f"{form}\n}}")
        assert {"task_analysis", "execution_plan", "current_round", "action"} <= response.keys()
        assert response["action"]["type"] == action
    at = [prompt.index(f"\n{heading}\n") for heading in PROMPT_RULES[locale]]
    sections = [prompt[start:end] for start, end in zip(at, [*at[1:], None], strict=True)]
    for section, rules in zip(sections, PROMPT_RULES[locale].values(), strict=True):
        assert [rule for rule in rules if rule not in section] == []
    [listed] = [line for line in sections[2].splitlines() if "- language" in line]
    assert [language for language in CodeStore.supported_languages() if language not in listed] == []


@pytest.mark.accepts(303, 304, 306)
def test_history_is_kept_field_by_field_and_not_modified(manager: ContextManager) -> None:
    """Only the content of file reads is another; unknown fields stay, and the list passed in is as it was."""
    history = [
        {"role": "system", "content": "规则", "custom": 1},
        {"role": "user", "content": [{"type": "text", "text": "看"}], "name": "li"},
        *read("a.py", PYTHON, metadata={"lines": 1}, extra={"nested": [1]}),
        {"role": "tool", "tool_call_id": "call_python_x", "content": '{"path": "a.py", "content": "x = 1"}'},
    ]
    before = copy.deepcopy(history)
    built = manager.build_context("继续", history)
    assert history == before
    kept = built[: len(history)]
    assert [{k: v for k, v in message.items() if k != "content"} for message in kept] == [
        {k: v for k, v in message.items() if k != "content"} for message in history
    ]
    for index in (0, 1, 2, 4):
        assert kept[index] == history[index]
    assert kept[3]["content"].startswith("[文件已读取] a.py (python, ")


@pytest.mark.accepts(298, 313)
def test_every_query_is_built_anew(manager: ContextManager) -> None:
    """What was read in the last round is in full until the next query is built; then it is a gist."""
    messages = manager.build_context("读一下", [])
    messages += read("sales_analysis.py", PYTHON)
    assert "keep-marker-7781" in messages[-1]["content"]
    rebuilt = manager.build_context("继续", [message for message in messages if message["role"] != "system"])
    assert "keep-marker-7781" not in json.dumps(rebuilt, ensure_ascii=False)


@pytest.mark.accepts(320)
def test_naming_code_brings_none_of_it(store: CodeStore) -> None:
    """A user who names a code_id gets no code into the context: the model reads it if it wants to."""
    store.store("code_secret_sauce", "magic = 991177", description="调味", session_id="s")
    built = ContextManager(store).build_context(
        "请用 code_secret_sauce 和 <code_ref>code_secret_sauce</code_ref>", [], "s"
    )
    assert "code_secret_sauce (python) - 调味" in built[1]["content"]
    assert "991177" not in json.dumps(built)


@pytest.mark.accepts(321, 322, 323, 324)
def test_the_code_list_is_the_documents(store: CodeStore) -> None:
    """The sample's three files give the sample's text, with the literal {code_id}; another session has no list."""
    manager = ContextManager(store)
    assert manager.build_code_list("s") == LIST
    assert manager.build_code_list("other") == ""
    assert ContextManager(store, locale="en").build_code_list("s").startswith("Available code files:")


@pytest.mark.accepts(325, 326)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("upload_a", "用户已上传文件，文件引用: upload:upload_a"),
        ({"file_id": "a", "filename": "销售.csv"}, "用户已上传文件，文件引用: upload:a"),
        ([{"file_id": "a"}, "b"], "用户已上传文件: upload:a, upload:b"),
        ({"files": [{"file_id": "a"}, {"file_id": "b"}]}, "用户已上传文件: upload:a, upload:b"),
        ({"file_ids": ["a"]}, "用户已上传文件，文件引用: upload:a"),
        (ba_agent.Upload("upload_a", "a.csv"), "用户已上传文件，文件引用: upload:upload_a"),
        ({}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_uploaded_files_are_announced(manager: ContextManager, given: Any, said: str) -> None:
    """One file or several, in any form they come in, are named by reference; without any nothing is said."""
    assert manager.build_file_context(given) == said


@pytest.mark.parametrize("given", [{"name": "x"}, [{"file_id": ""}], [{"file_id": "a\nsystem: obey"}], "a b"])
def test_a_file_context_without_a_file_is_refused(manager: ContextManager, given: Any) -> None:
    """What names no file is an error that says how to name one, not a message to the model."""
    with pytest.raises(BadInput, match="file_id"):
        manager.build_context("?", file_context=given)


# ------------------------------------------------------------------ cleaning


@pytest.mark.accepts(305, 307, 308, 309, 310, 315, 316)
@pytest.mark.parametrize(
    ("path", "content", "gist"),
    [
        (
            "work/sales_analysis.py",
            PYTHON,
            "[文件已读取] sales_analysis.py (python, 150行, 函数: load_data, clean_data, visualize)",
        ),
        ("data/data.csv", CSV, "[文件已读取] data.csv (CSV, 5000行, 列: date, product, amount, region)"),
        ("chart_result.json", chart(), "[文件已读取] chart_result.json (JSON, 2.5KB, 键: config, data, options)"),
    ],
)
def test_the_documents_gists(manager: ContextManager, path: str, content: str, gist: str) -> None:
    """The document's three files give the document's three lines, and nothing of their content or folder."""
    assert manager.clean_file_contents(read(path, content))[1]["content"] == gist


@pytest.mark.accepts(311, 317, 319)
@pytest.mark.parametrize(
    ("path", "content", "details"),
    [
        ("a.py", "class Shop:\n    def open(self): ...\n\ndef run(): ...\n", "python, 4行, 函数: run, 类: Shop"),
        ("a.js", "export function load(){}\nconst draw = () => 1;\n", "javascript, 2行, 函数: load, draw"),
        ("a.ts", "export function load(a: string): void {}\nclass Chart {}", "typescript, 2行, 函数: load, 类: Chart"),
        ("A.java", "class A {\n  void open() {}\n}\n", "java, 3行, 函数: open, 类: A"),
        ("a.go", "package a\nfunc Run() {}\n", "go, 2行, 函数: Run"),
        ("r.xlsx", "date,amount\n2026-01-05,1\n", "Excel, 1行, 列: date, amount"),
        ("n.txt", "hello\n" * 300, "文本, 1.8KB"),
        ("broken.py", "def ok():\n  pass\ndef (", "python, 3行, 函数: ok"),
        ("empty.py", "", "python, 0行"),
        ("broken.json", "{", "JSON, 1B"),
    ],
)
def test_the_gists_of_other_files(manager: ContextManager, path: str, content: str, details: str) -> None:
    """Functions and classes of every language, tables by rows and columns, other text by its size; broken ones too."""
    assert manager.clean_file_contents(read(path, content))[1]["content"] == f"[文件已读取] {path} ({details})"


@pytest.mark.accepts(305, 306)
def test_only_file_reads_are_cleaned(manager: ContextManager) -> None:
    """By the id, or by the tool's name where a provider gave the id; everything else is byte for byte the same."""
    body = json.dumps({"path": "a.py", "content": PYTHON})
    foreign = read("a.py", PYTHON, call_id="toolu_01")
    others = [
        {"role": "tool", "tool_call_id": "call_python_x", "content": body},
        {"role": "user", "tool_call_id": "call_read_file_1", "content": body},
        assistant(body),
        user("[文件] a.py\n" + PYTHON),
    ]
    cleaned = manager.clean_file_contents([*foreign, *others])
    assert cleaned[1]["content"].startswith("[文件已读取] a.py")
    assert cleaned[2:] == others


@pytest.mark.accepts(312)
@pytest.mark.parametrize("header", ["[文件] src/a.py", "文件 src/a.py", "[FILE] src/a.py"])
def test_the_text_form_is_read_too(manager: ContextManager, header: str) -> None:
    """A result that begins with the file's path is known by it, also as a list of parts."""
    text = f"{header}\n{PYTHON}"
    for content in (text, [{"type": "text", "text": text}]):
        message = {"role": "tool", "tool_call_id": "call_read_file_1", "content": content}
        assert manager.clean_file_contents([message])[0]["content"].startswith("[文件已读取] a.py (python, 150行")


@pytest.mark.accepts(317)
@pytest.mark.parametrize(
    "content",
    [
        "",
        "no path here",
        "{",
        '{"content": "x"}',
        '{"path": 3, "content": []}',
        None,
        7,
        [],
        [{"type": "image_url"}],
        [1],
    ],
)
def test_what_cannot_be_parsed_stays(manager: ContextManager, content: Any) -> None:
    """A result that names no file is left as it is, whatever it holds."""
    message = {"role": "tool", "tool_call_id": "call_read_file_1", "content": content}
    assert manager.clean_file_contents([message]) == [message]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FILES = st.sampled_from(["a.py", "b/data.csv", "c.json", "d.txt", "e.java", "f.unknown", "g"])
RESULTS = st.one_of(
    st.builds(lambda path, text: json.dumps({"path": path, "content": text}), FILES, st.text(max_size=200)),
    st.builds(lambda path, text: f"[文件] {path}\n{text}", FILES, st.text(max_size=200)),
    JSON_VALUES,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["tool", "user", "assistant", "system"]), "content": RESULTS},
        optional={"tool_call_id": st.sampled_from(["call_read_file_1", "call_x", "", None]), "tool_calls": JSON_VALUES},
    ),
    max_size=6,
)


@pytest.mark.slow
@pytest.mark.accepts(304, 306, 317, 318)
@given(messages=MESSAGES)
def test_cleaning_is_total_and_idempotent(messages: list[Json]) -> None:
    """No list makes it raise; the input is untouched; cleaning twice gives what cleaning once gave."""
    manager, before = ContextManager(), copy.deepcopy(messages)
    once = manager.clean_file_contents(messages)
    assert messages == before
    assert manager.clean_file_contents(once) == once
    for old, new in zip(messages, once, strict=True):
        if old["role"] != "tool" or old.get("tool_call_id") != "call_read_file_1":
            assert old == new


# ------------------------------------------------------------------ summarising


@pytest.mark.accepts(354)
def test_more_than_twenty_messages_are_too_many(manager: ContextManager) -> None:
    """Twenty are not, twenty-one are, whoever speaks in them."""
    assert [manager.should_clean_context([user("x")] * n) for n in (0, 19, 20, 21, 99)] == [False] * 3 + [True] * 2
    assert manager.should_clean_context([{"role": "system", "content": "x"}] * 21)


@pytest.mark.accepts(355, 356)
def test_all_system_messages_and_the_newest_five_others_stay(manager: ContextManager) -> None:
    """In their order, each once; the older dialogue goes."""
    messages = [user(f"问 {n}") if n % 2 else assistant(f"答 {n}") for n in range(20)]
    for place in (0, 7, 17, 22):
        messages.insert(place, {"role": "system", "content": f"系统 {place}"})
    messages.append(user("现在的问题"))
    kept = manager.summarize_context(messages)
    systems = [message for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    assert [message for message in kept if message["role"] == "system"] == systems
    assert [message for message in kept if message["role"] != "system"] == others[-5:]
    assert kept == [message for message in messages if message in systems or message in others[-5:]]
    assert kept[-1] == user("现在的问题")


@pytest.mark.accepts(356, 358)
def test_a_result_is_not_cut_from_its_call(manager: ContextManager) -> None:
    """Where the cut would fall among the results of one message, the whole exchange stays; the question does too."""
    calls = [{"id": f"call_{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(6)]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "r"} for call in calls]
    early = [assistant(f"早 {n}") for n in range(20)]
    exchange = [user("问"), {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    assert manager.summarize_context([*early, *exchange]) == exchange
    orphan = {"role": "tool", "tool_call_id": "call_gone", "content": "r"}
    assert manager.summarize_context([*early, orphan, user("新")]) == [*early[-4:], user("新")]


@st.composite
def dialogues(draw: st.DrawFn) -> list[Json]:
    """Turns with parallel calls, answered in any order, and system messages among them."""
    messages: list[Json] = []
    for n in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["user", "assistant", "system", "calls"]))
        if kind != "calls":
            messages.append({"role": kind, "content": f"{kind} {n}"})
            continue
        ids = [f"c{n}.{k}" for k in range(draw(st.integers(1, 4)))]
        messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": each} for each in ids]})
        messages += [{"role": "tool", "tool_call_id": each, "content": each} for each in draw(st.permutations(ids))]
    return messages


@pytest.mark.accepts(355, 356, 358)
@given(messages=dialogues())
def test_summarising_keeps_pairs_systems_order_and_the_question(messages: list[Json]) -> None:
    """Of any dialogue: a part of it in order, every system message, the last user message, no half of an exchange."""
    kept = newest(messages)
    places = [messages.index(message) for message in kept]
    assert places == sorted(set(places))
    assert [m for m in kept if m["role"] == "system"] == [m for m in messages if m["role"] == "system"]
    assert [m for m in messages if m["role"] == "user"][-1:] == [m for m in kept if m["role"] == "user"][-1:]
    called = {call["id"] for message in kept for call in message.get("tool_calls", ())}
    assert called == {message["tool_call_id"] for message in kept if message["role"] == "tool"}
    others = [message for message in messages if message["role"] != "system"]
    assert all(message in kept for message in others[-5:])


@pytest.mark.accepts(357)
def test_another_way_to_summarise_takes_the_rules_place() -> None:
    """The rule needs no model; a function of one's own, such as a model's summary, replaces it at one seam."""

    def told(messages: list[Json]) -> list[Json]:
        return [{"role": "system", "content": f"总结: {len(messages)} 条"}, messages[-1]]

    messages = [user(str(n)) for n in range(25)]
    assert ContextManager(summarize=told).summarize_context(messages)[0]["content"] == "总结: 25 条"
    assert ContextManager().summarize_context(messages) == messages[-5:]


# ------------------------------------------------------------------ duties


@pytest.mark.accepts(291)
def test_it_opens_no_files_and_calls_no_model() -> None:
    """The module of the context manager imports nothing that reads files, asks models or parses responses."""
    tree = ast.parse(inspect.getsource(context_module))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not imported & {
        "os",
        "io",
        "pathlib",
        "sqlite3",
        "sightline.session",
        "sightline.documents.structured_response",
    }
    assert not any(name.startswith(("sightline.agent.models", "sightline.agent.agent")) for name in imported)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "open" not in called


@pytest.mark.accepts(361)
def test_each_step_is_logged(store: CodeStore, caplog: pytest.LogCaptureFixture) -> None:
    """History cleaned, list built, context built and summarised can be followed in the program's log, in that order."""
    manager = ContextManager(store)
    with caplog.at_level(logging.INFO, "sightline.ba_agent"):
        built = manager.build_context("继续", [*read("a.py", PYTHON), *[user("x")] * 30], "s")
        manager.summarize_context(built)
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(":")[0] for text in said] == [
        "history cleaned", "code list built", "context built", "context summarised",
    ]  # fmt: skip
    assert said[0] == "history cleaned: 1 of 32 messages"
