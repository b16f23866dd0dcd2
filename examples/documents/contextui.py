"""The ContextUI document from beginning to end: a model opens a to-do list in a window, uses it and closes it.

Run it: python examples/documents/contextui.py. It prints the document's samples: the conversation with its window
(§3.3), the messages as JSON (§7.2), the context trimmed (§5), the debug output and the statistics (§8), and then the
same log as a session composes it. No model is needed: the answers are written below. Windows are numbered: `todo_1` is
what the document calls `todo_12345`. contextui.txt has the output.
"""

from collections.abc import Iterator

import msgspec

import sightline as sl
from sightline.apps import Element, Lod, action
from sightline.origins.contextui import (
    ContextApp,
    ContextItem,
    ContextItemType,
    ContextManager,
    InteractionController,
    LlmMessage,
    RenderOptions,
    WindowManager,
    dump,
)
from sightline.origins.contextui.windows import PROMPT

ADD = '{{"name": "action", "arguments": {{"window_id": "todo_1", "action_id": "add", "params": {{"text": "{}"}}}}}}'
CREATE = '{"name": "create", "arguments": {"name": "todo"}}'
TALK = {
    "帮我创建一个待办列表": f"好的，我来帮你创建待办列表。\n<tool_call>{CREATE}</tool_call>",
    "添加一个条目：买菜": f"已添加。\n<tool_call>{ADD.format('买菜')}</tool_call>",
    "再加一个：写代码": f"已添加。\n<tool_call>{ADD.format('写代码')}</tool_call>",
}


class Todo(ContextApp):
    """Keep a to-do list."""

    name, zh = "todo", "待办事项管理应用"
    items: dict[str, str]

    def __init__(self) -> None:
        self.items = {}

    @action(label="Add an item", zh="添加条目")
    def add(self, text: str) -> str:
        """Add an item at the end."""
        self.items[str(len(self.items) + 1)] = text
        return f"已添加：{text}"

    @action(label="Delete an item", zh="删除条目")
    def delete(self, index: int) -> str:
        """Delete an item by its number."""
        return f"已删除：{self.items.pop(str(index), '')}"

    def view(self, lod: Lod) -> list[Element]:
        """Every item; at GIST none."""
        return [Element(id=number, text=text) for number, text in self.items.items()] if lod > Lod.GIST else []


class Temp(Todo):
    """A list for a moment."""

    name, zh = "temp", "临时列表"


def main() -> None:
    """Print the document's samples."""
    context = ContextManager()
    windows = WindowManager(context)
    windows.register(Todo, Temp)
    answers: Iterator[str] = iter(TALK.values())
    controller = InteractionController(windows, lambda _: next(answers))
    context.add(ContextItem(PROMPT, ContextItemType.SYSTEM, "你是 ContextUI 助手..."))
    for asked in TALK:
        print(controller.process(asked).outcome)
    print_conversation(controller.messages())
    print_json(controller.messages())
    print_trimmed(windows, 120)
    windows.close(windows.open("temp"))
    print("\n== §8.2 ==")
    print(dump(context.get_all()))
    print("\n== §8.1 ==")
    print(msgspec.json.format(msgspec.json.encode(context.get_stats()), indent=2).decode())
    windows.close("todo_1", "两个条目")
    print("\n== §4 ==")
    print(dump(item for item in context.get_all() if item.type is ContextItemType.WINDOW))
    print("active:", [item.type.value for item in context.get_active()])
    print_session(context)


def print_conversation(messages: list[LlmMessage]) -> None:
    """Print each message as §3.3 has it."""
    print("\n== §3.3 ==")
    for message in messages:
        print(f"<role>{message.role}</role>\n{message.content}\n")


def print_json(messages: list[LlmMessage]) -> None:
    """Print the messages as §7.2 has them, long ones cut."""
    print("== §7.2 ==")
    short = [
        LlmMessage(each.role, each.content if len(each.content) < 40 else each.content[:36] + "...")
        for each in messages
    ]
    print(msgspec.json.format(msgspec.json.encode(short), indent=2).decode())


def print_trimmed(windows: WindowManager, tokens: int) -> None:
    """Print what is left of the context within so many tokens: System and the newest rounds outrank the window."""
    limited = InteractionController(windows, lambda _: "", options=RenderOptions(max_tokens=tokens))
    print(f"\n== §5: {tokens} tokens ==")
    print([f"{each.role}: {each.content[:14]}" for each in limited.messages()])


def print_session(context: ContextManager) -> None:
    """Print what a session composes of the same log, each window at its place; the window is open again."""
    with sl.Session(context.journal, apps=[Todo, Temp]) as session:
        session.configure(layout="contextui", locale="zh")
        session.windows.act(session.windows.open("todo"), "add", text="买菜")
        session.user("还有什么要做？")
        payload = session.compose(sl.Budget(8_000))
    print("\n== a session over the same log ==")
    for message in payload.openai()["messages"]:
        print(f"{message['role']}: {str(message['content'])[:35]!r}")


if __name__ == "__main__":
    main()
