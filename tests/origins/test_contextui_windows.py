"""The ContextUI document: windows, their XML, what a model says, and what becomes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import Element, Lod, Refused, action
from sightline.errors import BadInput
from sightline.log.journal import Journal
from sightline.origins.contextui import (
    ActionContext,
    ActionDefinition,
    ActionExecutedEvent,
    ActionParser,
    ActionResult,
    AppCreatedEvent,
    ContextApp,
    ContextItem,
    ContextItemType,
    ContextManager,
    ContextRenderer,
    EventBus,
    FrameworkHost,
    InteractionController,
    LlmMessage,
    ParameterDefinition,
    ParsedAction,
    PromptBuilder,
    RefreshMode,
    RenderMode,
    RenderOptions,
    Window,
    WindowChange,
    WindowChangedEvent,
    WindowManager,
    WindowMeta,
    WindowOptions,
    WindowRefreshedEvent,
)
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Usage

SYSTEM, USER, ASSISTANT, WINDOW = ContextItemType

SAMPLE = """
<Window id="todo_12345">
  <Description>待办事项管理应用</Description>
  <Content>
    <item id="1">买菜</item>
    <item id="2">写代码</item>
  </Content>
  <Actions>
    <action id="add" params="text:string">添加条目</action>
    <action id="delete" params="index:int">删除条目</action>
    <action id="close" params="summary:string?">关闭</action>
  </Actions>
</Window>
"""

CREATE = '<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>'


class Todo(ContextApp):
    """待办事项管理应用"""

    name = "todo"
    items: list[str]

    def __init__(self) -> None:
        self.items = []

    @action(label="添加条目")
    def add(self, text: str) -> str:
        self.items.append(text)
        return f"added {text}"

    @action(label="删除条目")
    def delete(self, index: int) -> str:
        if not 1 <= index <= len(self.items):
            raise Refused(f"没有条目 {index}")
        return self.items.pop(index - 1)

    def view(self, lod: Lod) -> list[Element]:
        return [Element(id=str(number), text=item) for number, item in enumerate(self.items, 1)]


class Watching:
    """A window manager that counts what it is asked."""

    def __init__(self, windows: WindowManager) -> None:
        self._windows, self.asked = windows, list[str]()

    def get(self, window_id: str) -> Window | None:
        self.asked.append(window_id)
        return self._windows.get(window_id)


class Bridge:
    """A model that says its lines, and remembers the messages it was sent. A line that is an exception is raised."""

    def __init__(self, *lines: Any) -> None:
        self._lines, self.sent = iter(lines), list[list[LlmMessage]]()

    def __call__(self, messages: list[LlmMessage]) -> Any:
        self.sent.append(messages)
        line = next(self._lines)
        if isinstance(line, BaseException):
            raise line
        return line


def context(path: Path | None = None) -> ContextManager:
    options: dict[str, Any] = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter()}
    return ContextManager(Journal.open_file(path, **options) if path else Journal(MemoryStore("ui"), **options))


def framework(over: ContextManager | None = None) -> FrameworkHost:
    host = FrameworkHost(over or context(), clock=Ticking())
    host.register(Todo)
    return host


def controlled(*lines: Any) -> tuple[FrameworkHost, Bridge, InteractionController]:
    host, bridge = framework(), Bridge(*lines)
    return host, bridge, InteractionController(host, bridge)


def call(name: str, /, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}</tool_call>"


def rendered(host: FrameworkHost) -> list[str]:
    return [message.content for message in ContextRenderer().render(host.context.get_active(), host.windows)]


def canonical(xml: str) -> str:
    return ElementTree.canonicalize(xml, strip_text=True)


def kinds(host: FrameworkHost) -> list[ContextItemType]:
    return [item.type for item in host.context.get_all()]


def sample_window() -> Window:
    return Window(
        "todo_12345",
        (Element(id="1", text="买菜"), Element(id="2", text="写代码")),
        "待办事项管理应用",
        (
            ActionDefinition("add", "添加条目", (ParameterDefinition("text", "string"),)),
            ActionDefinition("delete", "删除条目", (ParameterDefinition("index", "int"),)),
        ),
    )


# ------------------------------------------------------------------ windows in the context (§3, §6, §7)


@pytest.mark.accepts(23)
def test_a_window_is_told_to_the_model_by_the_user() -> None:
    """Its role is user, its content what the window renders at that moment."""
    host = framework()
    window = host.launch("todo")
    assert ContextRenderer().render(host.context.get_active(), host.windows) == [LlmMessage("user", window.render())]
    host.windows.act("todo_1", "add", {"text": "买菜"})
    [message] = ContextRenderer().render(host.context.get_active(), host.windows)
    now = host.windows.get("todo_1")
    assert now is not None
    assert message == LlmMessage("user", now.render())
    assert "买菜" in message.content


@pytest.mark.accepts(24)
def test_the_manager_is_asked_once_for_each_window_item() -> None:
    """Each Window item is one question per render, also where trimming counts what the windows need."""
    host = framework()
    host.launch("todo")
    host.launch("todo")
    host.context.add(ContextItem("", WINDOW, "todo_1"))
    for options in (RenderOptions(), RenderOptions(max_tokens=1000)):
        watching = Watching(host.windows)
        assert len(ContextRenderer().render(host.context.get_active(), watching, options)) == 3
        assert watching.asked == ["todo_1", "todo_2", "todo_1"]


@pytest.mark.accepts(25)
def test_a_window_that_does_not_exist_is_passed_over() -> None:
    """Nothing is raised, and what follows it is rendered."""
    host = framework()
    host.context.add(ContextItem("", WINDOW, "nobody"))
    host.context.add(ContextItem("", USER, "still here"))
    assert ContextRenderer().render(host.context.get_active(), host.windows) == [LlmMessage("user", "still here")]


@pytest.mark.accepts(31)
def test_a_changed_window_is_shown_anew_and_no_item_changes() -> None:
    """The context's items are equal before and after; what is rendered of them is not."""
    host = framework()
    host.launch("todo")
    before, seen = host.context.get_all(), rendered(host)
    assert host.windows.act("todo_1", "add", {"text": "写代码"}).success
    assert host.context.get_all() == before
    assert "写代码" not in seen[0]
    assert "写代码" in rendered(host)[0]


class Clockwork(ContextApp):
    """Shows what somebody else turns."""

    name = "clockwork"
    turned = 0
    shown: int

    def __init__(self) -> None:
        self.shown = 0

    def refresh(self) -> bool:
        fresh, self.shown = self.shown != type(self).turned, type(self).turned
        return fresh

    def view(self, lod: Lod) -> list[Element]:
        return [Element(text=f"turned {self.shown}")]


@pytest.mark.accepts(31, 34)
def test_what_changed_outside_is_in_the_next_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller lets apps look before it renders; no item of the context changes by that."""
    host, bridge, controller = controlled("ok", "ok")
    host.register(Clockwork)
    host.launch("clockwork")
    controller.process("one")
    before = host.context.get_all()
    monkeypatch.setattr(Clockwork, "turned", 3)
    assert host.context.get_all() == before
    controller.process("two")
    shown = ["turned 3" in str(messages) for messages in bridge.sent]
    assert shown == [False, True]


@pytest.mark.accepts(32)
def test_a_closed_window_is_left_out_and_history_stays() -> None:
    """Nothing is taken from the context: the item is there, obsolete, and not rendered, even when asked for."""
    host = framework()
    host.context.add(ContextItem("", USER, "before"))
    host.launch("todo")
    host.context.add(ContextItem("", USER, "after"))
    host.windows.remove("todo_1")
    assert rendered(host) == ["before", "after"]
    assert [item.content for item in host.context.get_all()] == ["before", "todo_1", "after"]
    everything = ContextRenderer().render(host.context.get_all(), host.windows, RenderOptions(include_obsolete=True))
    assert [message.content for message in everything] == ["before", "after"]


@pytest.mark.accepts(33)
def test_two_references_to_a_window_show_the_same() -> None:
    """Both render its newest content, and stay what they are when it changes."""
    host = framework()
    host.launch("todo")
    host.context.add(ContextItem("", USER, "between"))
    host.context.add(ContextItem("", WINDOW, "todo_1"))
    host.windows.act("todo_1", "add", {"text": "买菜"})
    first, between, second = rendered(host)
    assert between == "between"
    assert first == second
    assert "买菜" in first


@pytest.mark.accepts(34)
def test_the_controller_sends_what_the_renderer_makes_of_the_active_items() -> None:
    """Each time, the bridge gets the messages of GetActive at that moment, each window as it is then."""
    host = framework()
    add = call("action", window_id="todo_1", action_id="add", params={"text": "买菜"})
    lines = iter([CREATE, add, call("action", window_id="todo_1", action_id="close"), "ok"])
    sent: list[list[LlmMessage]] = []

    def bridge(messages: list[LlmMessage]) -> str:
        assert messages == ContextRenderer().render(host.context.get_active(), host.windows)
        sent.append(messages)
        return next(lines)

    controller = InteractionController(host, bridge)
    assert all(controller.process(said).success for said in ("one", "two", "three", "four"))
    windows = [[message.content for message in each if "<Window" in message.content] for each in sent]
    assert [len(each) for each in windows] == [0, 1, 1, 0]
    assert ["买菜" in window for each in windows for window in each] == [False, True]


@pytest.mark.accepts(35)
def test_the_documents_conversation_has_its_roles() -> None:
    """System, user, assistant with a call, window, user, assistant: six messages, two user messages in a row."""
    _, _, controller = controlled(f"好的，我来帮你创建...{CREATE}", "已添加...<tool_call>...</tool_call>")
    controller.process("创建一个待办列表")
    controller.process("添加一个条目：买菜")
    roles = [message.role for message in controller.messages()]
    assert roles == ["system", "user", "assistant", "user", "user", "assistant"]
    assert controller.messages()[3].content.startswith('<Window id="todo_1">')
    assert controller.messages()[5].content == "已添加...<tool_call>...</tool_call>"


@pytest.mark.accepts(36)
def test_messages_are_a_json_array_with_the_window_as_a_string() -> None:
    """Encoded, decoded by another reader, the list is the same; the XML's quotes are escaped."""
    manager = WindowManager(items := context())
    manager.add(sample_window())
    encoded = msgspec.json.encode(ContextRenderer().render(items.get_active(), manager)).decode()
    assert encoded.startswith('[{"role":"user","content":"<Window id=\\"todo_12345\\">')
    [message] = json.loads(encoded)
    assert set(message) == {"role", "content"}
    assert canonical(message["content"]) == canonical(SAMPLE)


# ------------------------------------------------------------------ the window's XML (§3.3)


@pytest.mark.accepts(37, 38, 39)
def test_a_window_has_description_content_and_actions_in_this_order() -> None:
    """Description holds the app's own, Content its elements as real children."""
    host = framework()
    host.launch("todo")
    host.windows.act("todo_1", "add", {"text": "买菜"})
    host.windows.act("todo_1", "add", {"text": "写代码"})
    root = ElementTree.fromstring(rendered(host)[0])
    assert (root.tag, root.attrib) == ("Window", {"id": "todo_1"})
    assert [child.tag for child in root] == ["Description", "Content", "Actions"]
    assert root[0].text == "待办事项管理应用"
    assert [(item.tag, item.attrib, item.text) for item in root[1]] == [
        ("item", {"id": "1"}, "买菜"),
        ("item", {"id": "2"}, "写代码"),
    ]


@pytest.mark.accepts(40, 41, 42)
def test_actions_say_their_parameters() -> None:
    """name:type, a question mark where it may be left out, several with a comma; no attribute where there is none."""
    actions = (
        ActionDefinition("sum", "加", (ParameterDefinition("a", "int"), ParameterDefinition("b", "float", False))),
        ActionDefinition("clear", "清空"),
    )
    root = ElementTree.fromstring(Window("w", actions=actions).render())
    found = root.find("Actions")
    assert found is not None
    assert [(each.tag, each.attrib, each.text) for each in found] == [
        ("action", {"id": "sum", "params": "a:int, b:float?"}, "加"),
        ("action", {"id": "clear"}, "清空"),
        ("action", {"id": "close", "params": "summary:string?"}, "关闭"),
    ]


@pytest.mark.accepts(43)
def test_the_sample_window_renders_as_in_the_document() -> None:
    """Equal to the document's XML but for white space: made by hand, and by an app of the core."""
    assert canonical(sample_window().render()) == canonical(SAMPLE)
    host = framework()
    host.launch("todo")
    for item in ("买菜", "写代码"):
        host.windows.act("todo_1", "add", {"text": item})
    assert canonical(rendered(host)[0]) == canonical(SAMPLE.replace("todo_12345", "todo_1"))


@pytest.mark.accepts(44)
def test_every_closable_window_offers_close() -> None:
    """With an optional summary, once; a window that cannot be closed does not offer it and says so when tried."""
    assert sample_window().render().count('<action id="close" params="summary:string?">关闭</action>') == 1
    manager = WindowManager()
    manager.add(Window("fixed", "text", options=WindowOptions(closable=False)))
    manager.add(Window("loose", "text"))
    fixed, loose = manager.get_all()
    assert "close" not in fixed.render()
    assert "close" in loose.render()
    assert manager.act("fixed", "close") == ActionResult.fail("Window 'fixed' cannot be closed")
    assert manager.act("loose", "close", {"summary": "done"}) == ActionResult.close("done")
    assert manager.get_all() == [fixed]


@pytest.mark.accepts(45)
def test_a_todo_item_cannot_forge_elements() -> None:
    """The item `<b>&"` is text in well-formed XML, and comes back as it was."""
    host = framework()
    host.launch("todo")
    host.windows.act("todo_1", "add", {"text": '<b>&"'})
    root = ElementTree.fromstring(rendered(host)[0])
    assert [item.text for item in root.iter("item")] == ['<b>&"']
    assert root.find(".//b") is None


_XML = st.characters(exclude_categories=("Cs",), exclude_characters="\r").filter(
    lambda each: each in "\t\n" or " " <= each < "\ufffe" or each > "\uffff"
)


@pytest.mark.accepts(45)
@given(text=st.text(), plain=st.text(_XML, min_size=1))
def test_no_text_breaks_out_of_its_place(text: str, plain: str) -> None:
    """Whatever ids, labels, descriptions and contents say: the same elements, and XML's own characters unchanged."""
    crafted = f'</item></Content></Window><Window id="forged">{text}'
    window = Window(f'w"{text}', (Element(text=crafted), Element(text=plain)), text, (ActionDefinition("do", crafted),))
    root = ElementTree.fromstring(window.render())
    assert [each.tag for each in root.iter()] == [
        "Window", "Description", "Content", "item", "item", "Actions", "action", "action",
    ]  # fmt: skip
    assert root[1][1].text == plain
    assert root[2][0].attrib == {"id": "do"}
    compact = msgspec.structs.replace(window, options=WindowOptions(render_mode=RenderMode.COMPACT))
    assert [each.tag for each in ElementTree.fromstring(compact.render()).iter()] == ["Window"]


def test_a_compact_window_is_one_line_and_meta_is_shown_when_it_is_not_hidden() -> None:
    """The document's code: compact windows have text alone; meta comes first, and only where it is asked for."""
    assert Window("log_1", "说", options=WindowOptions(render_mode=RenderMode.COMPACT)).render() == (
        '<Window id="log_1" compact="true">说</Window>'
    )
    root = ElementTree.fromstring(Window("w", meta=WindowMeta(3, 4, hidden=False, tokens=5)).render())
    assert [each.tag for each in root] == ["meta", "Description", "Content", "Actions"]
    assert [(each.tag, each.text) for each in root[0]] == [("tokens", "5"), ("created_at", "3"), ("updated_at", "4")]


# ------------------------------------------------------------------ what the model says (§3.3)


@pytest.mark.accepts(46)
@pytest.mark.parametrize(
    "said",
    [
        f"好的，我来帮你创建待办列表。\n{CREATE}",
        '<tool_call>\n  {"NAME": "create",\n   "Arguments": {"Name": "todo"}}\n</tool_call> 之后',
        f"{CREATE}<tool_call>{{}}</tool_call>",
    ],
    ids=["the document's", "spread out", "the first of two"],
)
def test_a_call_in_the_text_is_recognised(said: str) -> None:
    """The call create with the name todo, wherever it stands, its keys in any case."""
    assert ActionParser.parse(said) == ParsedAction("create", app_name="todo")


@pytest.mark.accepts(46, 48)
def test_what_a_call_says_is_read() -> None:
    """An app with its target; a window with its action and parameters, where they are an object."""
    assert ActionParser.parse(call("create", name="editor", target="a.py")) == ParsedAction(
        "create", app_name="editor", target="a.py"
    )
    assert ActionParser.parse(call("create")) == ParsedAction("create")
    ids = {"window_id": "todo_1", "action_id": "add"}
    assert ActionParser.parse(call("action", **ids, params={"text": "买菜", "Deep": [1]})) == ParsedAction(
        "action", window_id="todo_1", action_id="add", parameters={"text": "买菜", "Deep": [1]}
    )
    assert ActionParser.parse(call("action", **ids, params=[1])) == ParsedAction("action", **ids)


@pytest.mark.accepts(47)
@pytest.mark.parametrize(
    "said",
    [
        "no tag at all",
        '{"name": "create", "arguments": {"name": "todo"}}',
        "<tool_call>...</tool_call>",
        "<tool_call>{broken</tool_call>",
        f"<tool_call>{{broken</tool_call>{CREATE}",
        "<tool_call>[1, 2]</tool_call>",
        '<tool_call>{"name": 3}</tool_call>',
        '<tool_call>{"name": "action", "arguments": {"window_id": "todo_1"}}</tool_call>',
        '<tool_call>{"name": "action", "arguments": {"window_id": "", "action_id": "add"}}</tool_call>',
        f"```\n{CREATE}\n```",
        "<tool_call>" * 500,
        CREATE.replace("</tool_call>", ""),
    ],
)
def test_what_is_no_call_is_text(said: str) -> None:
    """Nothing is opened, nothing is raised, and the text is kept as the assistant's."""
    host, _, controller = controlled(said)
    result = controller.process("hello")
    assert (result.success, result.response, result.action, result.action_result) == (True, said, None, None)
    assert kinds(host) == [SYSTEM, USER, ASSISTANT]
    assert host.context.get_all()[-1].content == said


@pytest.mark.accepts(46, 47)
def test_create_opens_the_app_after_the_assistant() -> None:
    """The app is launched, its window is found, and its item follows the assistant's."""
    host, bridge, controller = controlled(f"好的{CREATE}", "ok")
    result = controller.process("帮我创建一个待办列表")
    assert result.action == ParsedAction("create", app_name="todo")
    assert result.action_result is not None
    assert result.action_result.success
    assert result.action_result.message.startswith("已打开应用: todo")
    assert kinds(host) == [SYSTEM, USER, ASSISTANT, WINDOW]
    assert host.context.get_all()[-1].content == "todo_1"
    assert [window.id for window in host.windows.get_all()] == ["todo_1"]
    controller.process("next")
    assert '<Window id="todo_1">' in bridge.sent[-1][3].content


@pytest.mark.accepts(48)
def test_an_action_reaches_its_handler() -> None:
    """Of an app: its method. Of a window made by hand: its handler, with parameters of their types."""
    host, _, controller = controlled(
        CREATE,
        call("action", window_id="todo_1", action_id="add", params={"text": "买菜"}),
        call("action", window_id="hand", action_id="go", params={"steps": "3", "fast": "true"}),
    )
    handled: list[ActionContext] = []
    parameters = (
        ParameterDefinition("steps", "int"),
        ParameterDefinition("fast", "bool"),
        ParameterDefinition("why", required=False, type="string"),
    )
    window = Window("hand", "here", actions=(ActionDefinition("go", "走", parameters),))
    window.handler = lambda told: handled.append(told) or ActionResult.ok("走了")
    host.windows.add(window)
    results = [controller.process(said).action_result for said in ("one", "two", "three")]
    assert all(result is not None and result.success for result in results)
    assert "买菜" in host.windows.get("todo_1").render()  # type: ignore[union-attr]
    [told] = handled
    assert (told.window, told.action_id, told.parameters) == (window, "go", {"steps": 3, "fast": True})
    assert (told.get_int("steps"), told.get_bool("fast"), told.get_string("why", "因")) == (3, True, "因")
    assert (told.get_int("gone", 7), ActionContext(window, "x", {"n": "12"}).get_int("n")) == (7, 12)


@pytest.mark.accepts(48)
@pytest.mark.parametrize(
    ("said", "message"),
    [
        (call("create", name="nothing"), "打开应用失败: 应用 'nothing' 未注册"),
        (call("action", window_id="todo_9", action_id="add"), "窗口不存在: todo_9"),
        (call("action", window_id="todo_1", action_id="fly"), "当前上下文中没有锚点 fly。"),
        (call("action", window_id="todo_1", action_id="add"), "缺少必需参数: text"),
        (
            call("action", window_id="todo_1", action_id="delete", params={"index": "first"}),
            "参数 index 必须是 int，而不是 'first'",
        ),
        (call("action", window_id="todo_1", action_id="delete", params={"index": 3}), "没有条目 3"),
        (call("action", window_id="bare", action_id="anything"), "窗口不支持操作"),
        (call("action", window_id="bare", action_id="close"), "Window 'bare' cannot be closed"),
        (call("action", window_id="hand", action_id="fly"), "当前上下文中没有锚点 fly。"),
        (call("action", window_id="hand", action_id="fail"), "RuntimeError: broken"),
        (call("fly", to="the moon"), "未知操作类型: fly"),
    ],
)
def test_what_cannot_be_done_is_a_failed_result(said: str, message: str) -> None:
    """It is told in the document's words; nothing is raised, and nothing is opened, closed or changed."""
    host, _, controller = controlled(said)
    host.launch("todo")
    host.windows.add(Window("bare", "text", options=WindowOptions(closable=False)))
    host.windows.add(Window("hand", "text", actions=(ActionDefinition("fail", "败"),), handler=failing))
    before = [window.render() for window in host.windows.get_all_ordered()]
    result = controller.process("go on")
    assert result.success
    assert result.action_result == ActionResult.fail(message)
    assert [window.render() for window in host.windows.get_all_ordered()] == before


def failing(told: ActionContext) -> ActionResult:
    raise RuntimeError("broken")


def test_the_core_says_what_lacks_its_ids() -> None:
    """The parser takes such a call for text; who asks the core directly is told in the document's words."""
    from sightline.values.items import Call

    assert framework().core.call(Call("", "action", {"window_id": "todo_1"})).message == "操作缺少必要参数"


def test_a_failed_model_call_leaves_only_the_users_message() -> None:
    """No assistant item; the next message goes on, and the system prompt stands once, under its id."""
    host, _, controller = controlled(TimeoutError("too slow"), {"not": "a reply"}, "ok")
    first = controller.process("one")
    assert (first.success, first.error, first.response) == (False, "TimeoutError: too slow", "")
    assert not controller.process("two").success
    assert controller.process("three").response == "ok"
    assert kinds(host) == [SYSTEM, USER, USER, USER, ASSISTANT]
    prompt = host.context.get_all()[0]
    assert (prompt.id, prompt.content) == ("system_prompt", PromptBuilder(host).build())
    assert "todo: 待办事项管理应用" in prompt.content
    assert all(name in prompt.content for name in ("create(name, target?)", "action(window_id, action_id, params?)"))


def test_the_usage_that_a_provider_reports_is_in_the_result() -> None:
    """An answer may come as a provider's JSON."""
    reply = {
        "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"行{CREATE}"}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    }  # fmt: skip
    host, _, controller = controlled(reply)
    result = controller.process("hello")
    assert (result.response, result.usage) == (f"行{CREATE}", Usage(12, 3))
    assert kinds(host)[-1] is WINDOW


def test_output_can_be_processed_without_a_model() -> None:
    """As if the model had said it: the assistant's item, and what it asks for."""
    host, bridge, controller = controlled()
    assert controller.process_assistant_output(CREATE).action_result.success  # type: ignore[union-attr]
    assert kinds(host) == [ASSISTANT, WINDOW]
    assert bridge.sent == []


# ------------------------------------------------------------------ windows that close (§4)


def by_the_model(host: FrameworkHost) -> None:
    InteractionController(host, Bridge()).process_assistant_output(
        call("action", window_id="todo_1", action_id="close", params={"summary": "done"})
    )


@pytest.mark.accepts(49)
@pytest.mark.parametrize(
    "close",
    [
        by_the_model,
        lambda host: host.windows.remove("todo_1"),
        lambda host: host.windows.act("todo_1", "close"),
        lambda host: host.close("todo"),
    ],
    ids=["the model", "remove", "act", "the app"],
)
def test_closing_a_window_makes_its_items_obsolete(close: Callable[[FrameworkHost], object]) -> None:
    """However it is closed, every item that refers to it is obsolete, and only those."""
    host = framework()
    host.launch("todo")
    host.windows.add(Window("other", "text"))
    host.context.add(ContextItem("", WINDOW, "todo_1"))
    close(host)
    obsolete = {item.content for item in host.context.get_all() if item.is_obsolete}
    assert obsolete == {"todo_1"}
    assert [item.content for item in host.context.get_active() if item.type is WINDOW] == ["other"]
    assert host.windows.get("todo_1") is None


@pytest.mark.accepts(49)
def test_closing_a_window_made_by_hand_makes_its_items_obsolete() -> None:
    """Also where its handler closes it, or its options do after any action."""
    manager = WindowManager(items := context())
    go = (ActionDefinition("go", "走"),)
    manager.add(Window("a", "text", actions=go, handler=lambda told: ActionResult.close("bye")))
    auto = WindowOptions(auto_close_on_action=True)
    manager.add(Window("b", "text", actions=go, options=auto, handler=lambda told: ActionResult.ok()))
    assert manager.act("a", "go").should_close
    assert manager.act("b", "go").success
    assert manager.get_all() == []
    assert [item.is_obsolete for item in items.get_all()] == [True, True]


# ------------------------------------------------------------------ the window manager and the framework


def test_the_manager_finds_orders_and_tells() -> None:
    """Created, Updated, Removed, each with the window as it is; GetAllOrdered by when they were made."""
    host = framework()
    told: list[WindowChangedEvent] = []
    host.windows.on_changed.subscribe(told.append)
    host.windows.add(Window("hand", "text"))
    launched = host.launch("todo")
    host.windows.notify_updated("hand")
    host.windows.act("todo_1", "add", {"text": "买菜"})
    host.windows.notify_updated("nobody")
    host.windows.remove("nobody")
    host.windows.remove("hand")
    assert [(event.type, event.window_id) for event in told] == [
        (WindowChange.CREATED, "hand"),
        (WindowChange.CREATED, "todo_1"),
        (WindowChange.UPDATED, "hand"),
        (WindowChange.UPDATED, "todo_1"),
        (WindowChange.REMOVED, "hand"),
    ]
    assert told[-1].window is None
    assert "买菜" in told[3].window.render()  # type: ignore[union-attr]
    host.windows.add(Window("later", "text"))
    assert [window.id for window in host.windows.get_all_ordered()] == ["todo_1", "later"]
    assert host.windows.get("todo_1").meta.created_at == launched.meta.created_at  # type: ignore[union-attr]
    with pytest.raises(BadInput, match="'later'"):
        host.windows.add(Window("later"))


def test_one_clock_numbers_items_windows_and_events() -> None:
    """No number is given twice, and items keep their order though there are gaps."""
    host, bus = framework(), EventBus()
    host.events = bus
    events: list[Any] = []
    for kind in (AppCreatedEvent, ActionExecutedEvent, WindowRefreshedEvent):
        bus.subscribe(kind, events.append)
    host.launch("todo", "today")
    host.windows.act("todo_1", "add", {"text": "x"})
    host.windows.act("todo_1", "delete", {"index": 5})
    host.context.add(ContextItem("", USER, "hello"))
    refreshed = host.refresh_window("todo_1")
    host.create("nothing")
    assert [msgspec.structs.replace(event, seq=0) for event in events] == [
        AppCreatedEvent(0, "todo", "today"),
        ActionExecutedEvent(0, "todo_1", "add", True, "added x"),
        ActionExecutedEvent(0, "todo_1", "delete", False, events[2].summary),
        WindowRefreshedEvent(0, "todo_1", "todo"),
        AppCreatedEvent(0, "nothing", "", False),
    ]
    numbers = [event.seq for event in events] + [item.seq for item in host.context.get_all()]
    assert len(set(numbers)) == len(numbers)
    assert refreshed is not None
    assert refreshed.meta.created_at == host.context.get_all()[0].seq < refreshed.meta.updated_at
    assert [item.content for item in host.context.get_all()] == ["todo_1", "hello"]  # refreshed where it was


def test_a_failing_subscriber_keeps_nothing_from_the_others() -> None:
    """Each handler gets the events of its type, until it unsubscribes."""
    bus, seen = EventBus(), list[Any]()

    def broken(event: object) -> None:
        raise RuntimeError

    bus.subscribe(AppCreatedEvent, broken)
    stop = bus.subscribe(AppCreatedEvent, seen.append)
    bus.publish(AppCreatedEvent(1, "todo"))
    bus.publish(WindowRefreshedEvent(2, "todo_1", "todo"))
    stop()
    bus.publish(AppCreatedEvent(3, "todo"))
    assert seen == [AppCreatedEvent(1, "todo")]


class Appended(Todo):
    """What is new stands at the end."""

    name = "appended"
    options = msgspec.structs.replace(Todo.options, append=True)


@pytest.mark.parametrize("made", ["app", "hand"])
def test_a_window_in_append_mode_moves_to_the_end(made: str) -> None:
    """After a change it is one new item at the end; the one before is obsolete."""
    host = framework()
    host.register(Appended)
    if made == "app":
        host.launch("appended")
    else:
        go = (ActionDefinition("add", "加", (ParameterDefinition("text", "string"),)),)
        options = WindowOptions(refresh_mode=RefreshMode.APPEND)
        host.windows.add(Window("appended_1", "x", actions=go, options=options, handler=lambda _: ActionResult.ok()))
    host.context.add(ContextItem("", USER, "then"))
    assert host.windows.act("appended_1", "add", {"text": "new"}).success
    assert [(item.content, item.is_obsolete) for item in host.context.get_all()] == [
        ("appended_1", True), ("then", False), ("appended_1", False),
    ]  # fmt: skip
    assert rendered(host)[0] == "then"
    assert len(rendered(host)) == 2


def test_the_framework_registers_lists_and_launches_apps() -> None:
    """An app that is not registered is refused in the document's words, and nothing is shown."""
    host = framework()
    assert host.get_apps() == [Todo]
    assert (host.launch("todo").id, host.launch("todo").id) == ("todo_1", "todo_2")
    with pytest.raises(BadInput, match="应用 'x' 未注册"):
        host.launch("x")
    host.close("todo")
    assert host.windows.get_all() == []
    assert host.context.get_active() == []


@pytest.mark.accepts(364)
def test_windows_are_found_again_after_a_restart_and_rendered_as_they_are(tmp_path: Path) -> None:
    """The log holds the app's data and never what a window looked like; windows by hand are not brought back."""
    path = tmp_path / "ui.jsonl"
    host = framework(context(path))
    host.launch("todo")
    host.windows.act("todo_1", "add", {"text": "买菜"})
    host.windows.add(Window("hand", "text"))
    InteractionController(host, Bridge("ok")).process("hello")
    before = rendered(host)
    host.context.journal.close()
    assert b"<Window" not in path.read_bytes()

    again = framework(context(path))
    assert [item.content for item in again.context.get_active()][:2] == ["todo_1", "hand"]
    assert again.windows.get("hand") is None
    assert rendered(again) == [before[0], *before[2:]]
    again.windows.act("todo_1", "add", {"text": "写代码"})
    assert "写代码" in rendered(again)[0]
    assert again.context.current_seq > max(item.seq for item in host.context.get_all())


@pytest.mark.accepts(364)
def test_a_window_is_never_in_a_summary_and_is_current_after_resume(tmp_path: Path) -> None:
    """Compacted and resumed, a session shows its window from its state now: no text of it is in log or summary."""
    session = Session.new(tmp_path, root=tmp_path / "root", apps=[Todo])
    session.windows.open("todo")
    session.windows.act("todo_1", "add", text="first")
    for number in range(12):
        session.user(f"question {number} " + "word " * 40)
        session.compose(Budget(window=20_000))
        session.reply(f"answer {number} " + "word " * 40)
    shown = session.windows.window("todo_1").render()  # type: ignore[union-attr]
    asked: list[str] = []
    compacted = session.summaries.compact(
        Budget(window=20_000), model=lambda request: asked.append(str(request)) or "a summary"
    )
    assert compacted.success
    session.windows.act("todo_1", "add", text="second")
    session.close()
    files = list((tmp_path / "root").rglob("*.jsonl"))
    assert files
    assert all(b"<Window" not in file.read_bytes() for file in files)

    with Session.resume(session.id, tmp_path, root=tmp_path / "root", apps=[Todo]) as again:
        sent = str(again.compose(Budget(window=20_000)).openai())
        assert "a summary" in sent
        now = again.windows.window("todo_1").render()  # type: ignore[union-attr]
        assert now != shown
        assert sent.count("<Window id=") == 1
        assert "second" in sent
