"""All words that a digest adds to its text, in both languages."""

# In every language, because a digest may continue one in another.
WORDS = {
    "task": ("Task", "任务"),
    "words": ("The user's words", "用户原话"),
    "open": ("Open", "未完成"),
    "decisions": ("Decisions and findings", "决定与结论"),
    "files": ("Files", "文件"),
    "errors": ("Errors and fixes", "错误与修复"),
    "commands": ("Commands", "命令"),
    "names": ("Names and values", "名称与数值"),
    "answers": ("The assistant's words", "助手原话"),
    "programs": ("What programs said", "程序所述"),
    "notes": ("From the summary before", "此前摘要"),
    "first": ("First request", "最初请求"),
    "current": ("Current request", "当前请求"),
    "created": ("created", "新建"),
    "changed": ("changed", "修改"),
    "read": ("read", "读取"),
    "deleted": ("deleted", "删除"),
    "in": ("in", "于"),
    "ok": ("ok", "成功"),
    "failed": ("failed", "失败"),
    "interrupted": ("interrupted", "已中断"),
    "fixed": ("fixed by", "修复方式"),
    "failing": ("still failing", "仍然失败"),
    "untried": ("not tried again", "未再尝试"),
    "done": ("{n} done", "已完成 {n} 项"),
    "unanswered": ("not answered yet", "尚未回答"),
    "asked": ("the user is asked", "等待用户回答"),
    "user": ("user", "用户"),
    "program": ("program", "程序"),
    "assistant": ("assistant", "助手"),
}
SECTIONS = (
    "task",
    "words",
    "open",
    "decisions",
    "files",
    "errors",
    "commands",
    "names",
    "answers",
    "programs",
    "notes",
)
ACTIONS = ("created", "changed", "read", "deleted")


def word(key: str, locale: str) -> str:
    """The word of a locale: "zh-CN" reads "zh"; one that is not here reads English."""
    return WORDS[key][locale[:2].lower() == "zh"]


def heading(section: str, locale: str) -> str:
    """The line above a section."""
    return f"## {word(section, locale)}"


def times(n: int) -> str:
    """How often, where it was more than once."""
    return f" {n}×" if n > 1 else ""
