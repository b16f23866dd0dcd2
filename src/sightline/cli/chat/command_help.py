"""What each command of the chat does, in English and Chinese: one line, then what it takes."""

COMMAND_HELP: dict[str, tuple[str, str]] = {
    "/help": ("List the commands, or explain one.", "列出命令，或说明其中一个。"),
    "/compact": (
        "Replace the oldest messages by a summary. /compact full compacts nothing and shows the whole present summary.",
        "用摘要代替最早的消息。/compact full 不压缩，只显示已有摘要的全文。",
    ),
    "/context": (
        "Show what the model would see now. /context all lists every item.",
        "模型现在会看到什么。/context all 列出每一项。",
    ),
    "/expand": (
        "Show an earlier item to the model again: in full if it fits, else its first lines. /expand 12 200-260 shows "
        "its lines 200 to 260, /expand 12 200- those from 200 on, and /expand 12 grep WORDS those that have these "
        "words.",
        "让模型重新看到某一项：放得下时为全文，否则为开头的若干行。"
        "/expand 12 200-260 只显示第 200 到 260 行，/expand 12 200- 从第 200 行起，"
        "/expand 12 grep 文字 只显示含有这些文字的行。",
    ),
    "/recall": (
        "Find earlier passages and show the best ones to the model again.",
        "查找之前的内容，让模型重新看到最相关的。",
    ),
    "/pin": (
        "Always show an item in full; without an id, list the pinned items.",
        "始终全文显示某一项；不带编号则列出已固定的。",
    ),
    "/unpin": ("Let a pinned item be shortened again.", "取消固定。"),
    "/uncompact": ("Undo the last compaction, or show one item of it again.", "撤销最近一次压缩，或只恢复其中一项。"),
    "/fork": (
        "Begin a new branch here, or after an item. With a NAME it can be switched to by that name.",
        "从此处或某一项之后另开分支。给出名称后可按名称切换。",
    ),
    "/rewind": (
        "Go back before your last message, or before the N-th last.",
        "回到你最近一条（或倒数第 N 条）消息之前。",
    ),
    "/branch": ("List the branches of this session, or switch to one.", "列出本会话的分支，或切换。"),
    "/sessions": ("List the sessions of this project, or switch to one.", "列出本项目的会话，或切换。"),
    "/windows": (
        "List the open windows, show one, or act on one yourself. /windows close ID closes it.",
        "列出打开的窗口，查看或亲自操作其中一个。/windows close 编号 可关闭。",
    ),
    "/apps": ("List the apps, or open one in a window.", "列出应用，或在窗口中打开一个。"),
    "/code": (
        "List the code saved in this session, or show one piece of it.",
        "列出本会话保存的代码，或查看其中一个。",
    ),
    "/model": ("Show which model is asked, or choose another.", "查看或更换模型。"),
    "/strategy": ("Show the strategy that decides what the model sees, or choose another.", "查看或更换上下文策略。"),
    "/cost": ("Show the tokens and the money spent in this run.", "本次运行的 token 与费用。"),
    "/export": (
        "Write the whole conversation to a file: to be read (markdown, html), for a provider (openai, anthropic, "
        "responses), or the log as it is (jsonl).",
        "把整个对话写入文件：供阅读（markdown、html）、供服务商使用（openai、anthropic、responses），或原样的日志（jsonl）。",
    ),
    "/clear": ("Begin a new session; this one stays stored.", "开始新会话；当前会话保留。"),
    "/version": ("Show the version of Sightline.", "版本。"),
    "/retry": ("Continue where the last answer stopped or failed.", "从上次停止或失败处继续。"),
    "/quit": ("End the chat. The conversation stays stored.", "离开。所有内容都已保存。"),
}
