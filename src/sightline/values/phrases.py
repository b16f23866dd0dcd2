"""Phrases in English and Chinese: one look-up for all tables, and the table of what the engine says to a model.

say = Phrases({"closed": ("closed window {id}", "已关闭窗口: {id}")}) is a table: key → (English, Chinese).
say("closed", "zh", id="notes-1") is the text with its fields filled in; say.template("closed") leaves the braces.
say | {"closed": ("{id} is closed", "{id} 已关闭")} is the same table with other or more phrases.
"""

from collections.abc import Mapping
from typing import Any

from sightline.errors import BadInput
from sightline.values.pattern import pattern

LOCALES = ("en", "zh")


class Phrases:
    """A table of phrases, key → a text for each of `LOCALES`. Calling it is the look-up."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        self._table = table

    def __call__(self, key: str, /, locale: str = "en", **fields: Any) -> str:
        """The text of a phrase with its fields filled in. Raises as `template` does, and KeyError without a field."""
        return self.template(key, locale).format(**fields)

    def template(self, key: str, locale: str = "en") -> str:
        """The text of a phrase with its braces as they are.

        Raises:
            KeyError: the table has no such phrase.
            BadInput: the locale is unknown.
        """
        if key not in self._table:
            raise KeyError(f"no phrase {key!r} in this table")
        return self._table[key][LOCALES.index(check_locale(locale))]

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __or__(self, more: Mapping[str, tuple[str, str]]) -> "Phrases":
        """This table with more phrases, which replace those of the same key."""
        return Phrases({**self._table, **more})


def check_locale(locale: str) -> str:
    """The locale itself. Raises BadInput if it is unknown."""
    if locale not in LOCALES:
        raise BadInput(f"unknown locale {locale!r}; choose one of {', '.join(LOCALES)}")
    return locale


_ENGINE = {
    "left out": (
        "[left out here: {messages:,} earlier messages, #{first} to #{last}, {tokens:,} tokens; kept in the log{how}]",
        "[此处省略了 {messages:,} 条较早的消息，#{first} 至 #{last}，共 {tokens:,} 个 token；日志中完整保留{how}]",
    ),
    "left out unnamed": (
        "[left out here: {messages:,} earlier messages, {tokens:,} tokens; kept in the log{how}]",
        "[此处省略了 {messages:,} 条较早的消息，共 {tokens:,} 个 token；日志中完整保留{how}]",
    ),
    "recall finds": ("recall(query) finds them", "recall(query) 可查找"),
    "expand shows": ("expand(id) shows one", "expand(id) 可查看"),
    "binding": (
        "[what the user laid down earlier, word for word; where two differ, the later holds]",
        "[用户早先的要求，原文照录；如有冲突，以后面的为准]",
    ),
    "binding short": (
        "[what the user laid down; the later holds]",
        "[用户的要求；以后面的为准]",
    ),
    "revoked": ("{text} (revoked later)", "{text}（后来已取消）"),
    "found": (
        "{text} (found by a model, which reads it as: {reading})",
        "{text}（由模型找出，模型的理解：{reading}）",
    ),
    "found unread": ("{text} (found by a model)", "{text}（由模型找出）"),
    "more binding": ("- older ones: {ids}", "- 更早的：{ids}"),
    "recalled": (
        "[recalled from earlier in this conversation]",
        "[从本次对话较早处取回]",
    ),
    "earlier": ("[from earlier in this conversation]", "[摘自本次对话较早处]"),
    "earlier end": ("[the message itself]", "[以下是消息本身]"),
    "by user": ("user: ", "用户："),
    "by assistant": ("assistant: ", "助手："),
    "by program": ("program: ", "程序："),
    "by summary": ("summary: ", "总结："),
    "overview": (
        "[overview of what was said and done earlier in this conversation]",
        "[本次对话较早内容的概览]",
    ),
    "summary": (
        "[summary of the conversation up to here; what it leaves out is kept: recall(query) finds it]",
        "[到此为止的对话总结；未包含的内容都有保留：recall(query) 可查找]",
    ),
    "summary only": ("[summary of the conversation up to here]", "[到此为止的对话总结]"),
    "summary follows": (
        "The agent has replaced what was said before this by a summary of its own. It follows in the next message.",
        "智能体已用自己的总结替换了此前的内容。总结在下一条消息中。",
    ),
    "task goal": ("[the current task's goal]", "[当前任务目标]"),
    "state": ("[what is known so far]", "[目前已知]"),
    "recalled lines": ("[#{id} lines {first}–{last}]", "[#{id} 第 {first}–{last} 行]"),
    "orphan": (
        "[result of a call that is not in this conversation: {name}]",
        "[对话中没有对应调用的工具结果：{name}]",
    ),
    "late": ("[late result of the interrupted call {name}]", "[已中断的调用 {name} 迟到的结果]"),
    "interrupted": ("[interrupted: no result]", "[已中断：没有结果]"),
    "stopped": ("[the answer above was stopped before its end]", "[以上回答未完成，已被停止]"),
    "page": (
        "[#{id} lines {first}–{last} of {total}; expand(id, start={next}) goes on]",
        "[#{id} 第 {first}–{last} 行，共 {total} 行；expand(id, start={next}) 继续]",
    ),
    "page end": ("[#{id} lines {first}–{last} of {total}]", "[#{id} 第 {first}–{last} 行，共 {total} 行]"),
    "no such line": (
        "[#{id}: no line {start}; lines in all: {total}]",
        "[#{id}：没有第 {start} 行，共 {total} 行]",
    ),
    "no match": ("[#{id}: no line matches {grep}]", "[#{id}：没有匹配 {grep} 的行]"),
    "nothing found": ("[nothing in this conversation matches]", "[本次对话中没有匹配的内容]"),
    "expand how": ('[expand needs an id, such as expand(id="#412")]', '[expand 需要 id，例如 expand(id="#412")]'),
    "recall how": ("[recall needs a query: what to look for]", "[recall 需要 query：要查找的内容]"),
    "window": ("[window {id}]", "[窗口 {id}]"),
    "window end": ("[end of window {id}]", "[窗口 {id} 结束]"),
    "window hidden": (
        "not shown for want of room: {named}; they need {tokens:,} tokens; close some windows, or act on one to see it",
        "空间不足，未显示：{named}；共需 {tokens:,} 个 token；请关闭一些窗口，或操作其中一个以查看",
    ),
    "call result": ("[result of {name}] {message}", "[调用结果 {name}] {message}"),
    "call failed": ("[failure of {name}] {message}", "[调用失败 {name}] {message}"),
    "how to act": (
        "Apps are shown to you as windows. You act on them by writing a call:\n"
        '<tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>\n'
        "- create(name, target?): open an app{launcher}.\n"
        "- action(window_id, action_id, params?): do one of the actions that a window lists.\n"
        "- Closing a window is the action close; its parameter summary says what to remember of it.\n"
        "Only open windows can be acted on. What a window shows is always its newest state.\n"
        "Apps:\n{apps}",
        "应用以窗口的形式呈现给你。要操作窗口，请写一个调用：\n"
        '<tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>\n'
        "- create(name, target?)：打开应用{launcher}。\n"
        "- action(window_id, action_id, params?)：执行窗口列出的一个操作。\n"
        "- 关闭窗口即操作 close，参数 summary 写明需要记住的内容。\n"
        "只能操作打开的窗口。窗口内容始终是最新状态。\n"
        "应用：\n{apps}",
    ),
    "opened": ("opened app {name} in window {id}", "已打开应用: {name}（窗口 {id}）"),
    "open fails": ("could not open the app: {why}", "打开应用失败: {why}"),
    "app unknown": ("no app {name!r} is registered", "应用 '{name}' 未注册"),
    "app gone": (
        "the app {name!r} of this window is not available; what it held is kept",
        "此窗口的应用 '{name}' 不可用；其数据已保留",
    ),
    "not restored": (
        "the app {name!r} could not read what it had saved ({why}); it is kept",
        "应用 '{name}' 无法读取已保存的数据（{why}）；数据已保留",
    ),
    "app fails": ("this app could not show its data", "此应用无法显示其数据"),
    "closed": ("closed window {id}", "已关闭窗口: {id}"),
    "not closable": ("Window '{id}' cannot be closed", "窗口 '{id}' 不能关闭"),
    "done": ("done", "已完成"),
    "no window": ("no open window {id}", "窗口不存在: {id}"),
    "call lacks ids": ("the call needs window_id and action_id", "操作缺少必要参数"),
    "or the launcher": ("; without a name, the launcher", "；不写 name 则打开启动器"),
    "not reopened": (
        "window {id} is open and cannot be shown; close it before you open it anew: what it held is lost then",
        "窗口 {id} 已打开但无法显示；请先关闭再重新打开：其数据将不再显示",
    ),
    "which app": ("say which app to open", "请指明要打开的应用"),
    "bad call": (
        "a <tool_call> holds one JSON object with name and arguments; this one could not be read",
        "<tool_call> 中应为含 name 与 arguments 的 JSON 对象；无法读取",
    ),
    "bad params": (
        "params must be an object: the action's parameters by name",
        "params 必须是按名称给出参数的对象",
    ),
    "changed meanwhile": (
        "somebody else changed this window meanwhile; nothing was kept of this: look again",
        "此窗口同时被他人修改；本次操作未保留：请重新查看",
    ),
    "raised": ("the window is shown in full from the next call on", "从下次调用起完整显示该窗口"),
    "no such call": ("nothing here answers {name}", "未知操作类型: {name}"),
    "missing parameter": ("missing required parameter: {name}", "缺少必需参数: {name}"),
    "unknown parameter": ("unknown parameter: {name}; there are: {params}", "未知参数: {name}；可用参数: {params}"),
    "bad parameter": ("parameter {name} must be {type}, not {value}", "参数 {name} 必须是 {type}，而不是 {value}"),
    "stale anchor": (
        "Anchor {name} is stale. Please refresh to get current IDs.",
        "锚点 {name} 已过期。请刷新以获取当前 ID。",
    ),
    "out of view": (
        "Anchor {name} is out of view at level {lod}. Navigate or expand to access.",
        "锚点 {name} 在 {lod} 级别下不可见。请导航或展开。",
    ),
    "unknown anchor": ("Anchor {name} not found in current context.", "当前上下文中没有锚点 {name}。"),
    "only a reference": (
        "{name} is a reference: it points, nothing can be done with it",
        "{name} 是引用锚点，只用于定位",
    ),
    "unknown item": ("[no item {id} in this conversation]", "[本次对话中没有 {id}]"),
}


say = Phrases(_ENGINE)


# The beginnings of what the engine writes in the role of the user: the phrases above, each up to its first field, and
# what formats write that have no place for a system message.
ENGINE_BEGINNINGS = (
    "[system]",
    "[conversation continues]",
    *(
        start
        for both in _ENGINE.values()
        for text in both
        if (start := text.partition("{")[0])[:1] == "[" and start[2:]
    ),
)

SPEAKS = pattern(r"(?:\[[^\]\n]{1,60}\]\n)?([^\W\d_][^:：\n]{0,40})[:：]\s?\S")  # "Name: …", perhaps under a date


_SIZES = ("B", "KB", "MB", "GB", "TB")


def size_text(size: int) -> str:
    """A number of bytes for people: `312B`, `2.5KB`, `1.0MB`."""
    amount, unit = float(size), 0
    while round(amount, 1) >= 1024 and unit < len(_SIZES) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f}{_SIZES[unit]}" if unit else f"{size}B"
