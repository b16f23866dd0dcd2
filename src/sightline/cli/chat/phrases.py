"""Phrases of the chat, in English and Chinese: a table, longer than other files because it is only data.

A key of the common table that is here too replaces it in a chat.
"""

from sightline.cli.chat.command_help import COMMAND_HELP

PHRASES: dict[str, tuple[str, str]] = {
    # what the model is told first
    "instructions": (
        "You help the user in the folder of a project. Look before you answer: read, list and search files with your "
        "tools. Save code worth keeping with write_code, and refer to it in your answers as <code_ref>id</code_ref>. "
        "What was shown earlier may be shortened behind a handle such as #412: expand shows it again, recall finds it.",
        "你在一个项目的目录中帮助用户。回答之前先查看：用工具读取、列出和搜索文件。值得保留的代码用 write_code 保存，"
        "在回答中用 <code_ref>代码 id</code_ref> 引用。较早的内容可能已缩短，并带有 #412 这样的编号："
        "expand 可重新查看，recall 可查找。",
    ),
    # beginning and end; none of what follows is shown to a model
    "welcome": (
        "Sightline {version} · {model} · context window {window:,} tokens · session {id}. /help lists the commands, "
        "Ctrl-D ends the chat.",
        "Sightline {version} · {model} · 上下文窗口 {window:,} 个 token · 会话 {id}。/help 列出命令，Ctrl-D 离开。",
    ),
    "nothing to continue": (
        "There is no session to continue in this project, so a new one begins.",
        "本项目没有可继续的会话：开始一个新会话。",
    ),
    "continued": (
        "Session {id} continues, branch {branch}: {messages:,} messages.",
        "继续会话 {id}，分支 {branch}：共 {messages:,} 条消息。",
    ),
    "continued one": (
        "Session {id} continues, branch {branch}: one message.",
        "继续会话 {id}，分支 {branch}：共一条消息。",
    ),
    "unanswered": (
        "The last message has no answer yet: /retry asks for it.",
        "最后一条消息还没有回答：/retry 可继续。",
    ),
    "you": ("you", "你"),
    "it": ("answer", "回答"),
    "left": (
        "Session {id} is stored: `sightline chat --continue` goes on with it.",
        "会话 {id} 已保存：`sightline chat --continue` 可继续。",
    ),
    "left older": (
        "Session {id} is stored: `sightline chat --resume {id}` goes on with it.",
        "会话 {id} 已保存：`sightline chat --resume {id}` 可继续。",
    ),
    "leave how": ("Press Ctrl-C again, or Ctrl-D, to end the chat.", "再按一次 Ctrl-C 或 Ctrl-D 离开。"),
    "small model": (
        "{model} is a small model: good for trying Sightline out, but do not rely on its answers.",
        "{model} 是小模型：适合试用本程序，其回答不可依赖。",
    ),
    "no terminal": (
        'this is no terminal; ask one question with -p "…", or run the command in a terminal',
        '这里没有终端；用 -p "…" 提一个问题，或在终端中运行',
    ),
    "no project": (
        "{project} does not exist: name the project's folder with --project, or make it first (mkdir)",
        "{project} 不存在：请用 --project 指定项目目录，或先创建它（mkdir）",
    ),
    "reaches": ("{file} affects more than this project. It", "{file} 会影响本项目之外。它："),
    "reaches texts": (
        "tells the model what the project says to agents, in the system prompt: {names}",
        "在系统提示中告诉模型项目给智能体的说明：{names}",
    ),
    "trust": ("Allow all of this until the file or what it does changes?", "全部允许，直到文件或其作用改变？"),
    "trust how": (
        "read the file, then allow this with --trust, or run `sightline chat` in a terminal, which asks",
        "请先查看，再用 --trust 允许，或在终端中运行 `sightline chat`，它会询问",
    ),
    "trust refused": (
        "Not allowed: {file} is not used, so nothing of it was started or sent, and the chat ends. To chat without it, "
        "move it away.",
        "未允许：不使用 {file}，其中的内容没有启动或发送，对话结束。要在没有它的情况下对话，请移走该文件。",
    ),
    "trust texts": (
        "The project brings instructions for agents. May its {names} be part of the system prompt?",
        "本项目带有给智能体的说明。可以把 {names} 作为系统提示的一部分吗？",
    ),
    "texts tokens": ("{name} ({tokens:,} tokens)", "{name}（{tokens:,} 个 token）"),
    "trust remembered": (
        "Remembered: {folder} is trusted. `sightline trust` lists what that is, "
        "`sightline trust --withdraw {quoted}` withdraws it.",
        "已记住：信任 {folder}。`sightline trust` 列出其内容，`sightline trust --withdraw {quoted}` 可撤回。",
    ),
    "project text": (
        "{name} of this project ({tokens:,} tokens) is part of what the model is told.",
        "模型会看到本项目的 {name}（{tokens:,} 个 token）。",
    ),
    "project text cut": (
        "{name} of this project is too long: the model is told its first {tokens:,} tokens (at most {most:,}).",
        "本项目的 {name} 太长：模型只看到开头的 {tokens:,} 个 token（上限 {most:,}）。",
    ),
    "project text unread": (
        "{name} of this project is not read, because the folder is not trusted: look at it, then trust the folder with "
        "`sightline chat --trust`.",
        "未读取本项目的 {name}：该目录尚未受信任。请先查看，再用 `sightline chat --trust` 信任该目录。",
    ),
    "project text refused": (
        "{name} of this project is not read, as you decided; `sightline trust` shows that.",
        "按你的决定，不读取本项目的 {name}；可用 `sightline trust` 查看。",
    ),
    "project text outside": (
        "{name} of this project is not read: it is a link to a file outside the project, has keys or secrets, or "
        "cannot be read.",
        "未读取本项目的 {name}：它是指向项目之外的链接、含有密钥或机密，或无法读取。",
    ),
    # while answering
    "no extraction": (
        "The strategy entities needs a model that can fill in its fields, and {model} cannot. "
        "The dialogue stays in the prompt.",
        "entities 策略需要能够提取字段的模型，{model} 做不到；对话将保留在提示中。",
    ),
    "extracting": ("reading what you said last", "正在提取你最后所说的内容"),
    "not in the file": ("sightline.toml has no such model", "sightline.toml 中没有该模型"),
    "no light model": (
        "The model that summarises and extracts cannot be used; the chat's own model does it. {light}: {why}",
        "无法使用负责总结和提取的模型，改由对话模型完成。{light}：{why}",
    ),
    "window unknown": (
        "{model} does not tell its context window: {window:,} tokens are assumed. Set `window` in sightline.toml, or "
        "say --budget, if it has another one.",
        "{model} 未说明其上下文窗口：按 {window:,} 个 token 计。"
        "如不符，请在 sightline.toml 中设置 `window`，或用 --budget 指定。",
    ),
    "takes less": (
        "{model} has a context window of {window:,} tokens: --budget {budget} is larger. If the model really has a "
        "larger one, set `window` in sightline.toml.",
        "{model} 的上下文窗口为 {window:,} 个 token：--budget {budget} 超出了它。"
        "若它实际更大，请在 sightline.toml 中用 `window` 写明。",
    ),
    "thinking": ("thinking", "思考中"),
    "answering": ("answering", "回答中"),
    "stopped": ("Stopped. /retry continues.", "已停止。/retry 可继续。"),
    "stopped kept": (
        "Stopped. The answer so far is kept, and the model sees it; /retry continues.",
        "已停止。已有的回答已保留，模型可以看到；/retry 可继续。",
    ),
    "failed": ("The answer failed: {why}", "回答失败：{why}"),
    "stop length": (
        "The answer was cut off, because it reached the maximum length of an answer. Ask the model to go on.",
        "回答已达到长度上限，被截断。请让它继续。",
    ),
    "stop refused": ("The model refuses to say more.", "模型拒绝继续回答。"),
    "retry hint": ("Nothing is lost; /retry continues.", "已说的内容都已保存；/retry 可继续。"),
    "retrying": (
        "{why}; again in {seconds:g} s (attempt {again})",
        "{why}；{seconds:g} 秒后重试（第 {again} 次）",
    ),
    "retrying of": (
        "{why}; again in {seconds:g} s (attempt {again} of {attempts})",
        "{why}；{seconds:g} 秒后重试（第 {again} 次，共 {attempts} 次）",
    ),
    "busy rate": ("{model}: asked too often: {detail}", "{model}：请求过于频繁（限流）：{detail}"),
    "busy overload": ("{model}: its server is busy or has failed: {detail}", "{model}：服务器繁忙或出错：{detail}"),
    "busy connection": ("{model} cannot be reached: {detail}", "无法连接 {model}：{detail}"),
    "busy silent": ("{model} was silent for {detail}", "{model} 在 {detail} 内没有回应"),
    "busy cut": ("{model}: the answer was cut off: {detail}", "{model}：回答中途断开：{detail}"),
    "busy garbled": (
        "{model}: its server sent what is no answer: {detail}",
        "{model}：服务器返回的内容不是回答：{detail}",
    ),
    "asked once": ("The model was asked once.", "已请求一次。"),
    "gave up": ("Given up after {attempts} attempts.", "尝试 {attempts} 次后放弃。"),
    "rounds used": (
        "the model was called {rounds:,} times for this question and has not finished, which is the limit",
        "为这个问题已调用模型 {rounds:,} 次仍未完成，已达上限",
    ),
    "do rounds chat": (
        "Nothing is lost: /retry lets it go on. --rounds, or `rounds` under [chat] in sightline.toml, allows more.",
        "已说的内容都已保存：/retry 让它继续。--rounds 或 sightline.toml 中 [chat] 的 `rounds` 可提高上限。",
    ),
    "do rounds script": (
        "`sightline chat --continue` goes on with it. --rounds, or `rounds` under [chat] in sightline.toml, allows "
        "more.",
        "`sightline chat --continue` 可继续。--rounds 或 sightline.toml 中 [chat] 的 `rounds` 可提高上限。",
    ),
    "do busy chat": (
        "Nothing is lost: wait a little and type /retry, or choose another model with /model.",
        "已说的内容都已保存：请稍候再输入 /retry，或用 /model 换一个模型。",
    ),
    "do connection chat": (
        "Nothing is lost: check that the network is there and the model's server runs, then type /retry; "
        "`sightline model list` shows its address.",
        "已说的内容都已保存：请检查网络和模型服务器是否正常，再输入 /retry；`sightline model list` 显示其地址。",
    ),
    "do silent chat": (
        "Nothing is lost: /retry asks again; `seconds` in sightline.toml gives the model more time.",
        "已说的内容都已保存：/retry 可重试；sightline.toml 中的 `seconds` 可延长等待时间。",
    ),
    "do busy script": (
        "Try again later, or choose another model with -m; `attempts` and `fallback` in sightline.toml allow more.",
        "请稍后再试，或用 -m 换一个模型；sightline.toml 中的 `attempts` 和 `fallback` 可增加尝试。",
    ),
    "do connection script": (
        "Check that the network is there and the model's server runs; `sightline model list` shows its address.",
        "请检查网络和模型服务器是否正常；`sightline model list` 显示其地址。",
    ),
    "do silent script": (
        "Try again later; `seconds` in sightline.toml gives the model more time.",
        "请稍后再试；sightline.toml 中的 `seconds` 可延长等待时间。",
    ),
    "falling back": ("{why}; asking {fallback} instead", "{why}；改用 {fallback}"),
    "swept now": (
        "older steps shortened ({reason}), {tokens:,} tokens now",
        "已缩短较早的内容（{reason}），现为 {tokens:,} 个 token",
    ),
    "question cut": (
        "Your message has {tokens:,} tokens, and the model was shown {seen:,} of them, because more does not fit. "
        "With a larger --budget, or a model with a larger context window, it sees more.",
        "你的消息有 {tokens:,} 个 token，模型只看到其中 {seen:,} 个：上下文窗口放不下更多。"
        "更大的 --budget，或上下文窗口更大的模型，可显示更多。",
    ),
    "question cut more": (
        "Your message has {tokens:,} tokens, and the model was shown {seen:,} of them; it can read the rest with "
        "`expand`. With a larger --budget, or a model with a larger context window, it sees more. From a file it reads "
        "what it needs.",
        "你的消息有 {tokens:,} 个 token，模型只看到其中 {seen:,} 个；其余可由模型用 `expand` 查看。"
        "更大的 --budget，或上下文窗口更大的模型，可显示更多；放进文件则可按需读取。",
    ),
    "tool ok": ("{seconds:.1f} s", "{seconds:.1f} 秒"),
    "tool failed": ("failed: {why}", "失败：{why}"),
    "code saved": ("saved {id} ({language}) → {file}", "已保存 {id}（{language}）→ {file}"),
    # the line below the prompt
    "status reused": ("cached {share}", "缓存 {share}"),
    "status cost": ("cost {cost}", "费用 {cost}"),
    "placeholder": ("Ask, or /help. Alt+Enter: new line", "输入问题，或 /help。Alt+Enter 换行"),
    # commands in general
    "no command": ("There is no command /{name}.", "没有命令 /{name}。"),
    "did you mean": ("Did you mean {names}?", "是否想输入 {names}？"),
    "see help": (
        "/help lists all commands. To send a message that begins with a slash, put a space before it.",
        "/help 列出全部命令。要发送以斜杠开头的话，请在前面加一个空格。",
    ),
    "usage": ("Write {usage}", "请写作 {usage}"),
    "nothing said": ("Nothing has been said in this session yet.", "本会话还没有任何内容。"),
    "help keys": (
        "Enter sends; Alt+Enter or Ctrl-J begins a new line; Ctrl-C stops an answer or clears the line; Ctrl-D ends "
        "the chat.\n/help COMMAND explains one command.",
        "Enter 发送；Alt+Enter 或 Ctrl-J 换行；Ctrl-C 停止回答或清空输入；Ctrl-D 离开。\n"
        "/help 命令 可查看某个命令的说明。",
    ),
    "also": ("also written as {names}", "也可写作 {names}"),
    # what commands say
    "model now": (
        "The model is {model}: context window {window:,} tokens, answers of up to {output:,}.",
        "当前模型 {model}：上下文窗口 {window:,} 个 token，回答最多 {output:,} 个。",
    ),
    "strategy now": ("The strategy is {name}. To choose from: {names}.", "当前策略 {name}。可选：{names}。"),
    "strategy set": ("The strategy is {name} from the next message on.", "从下一条消息起使用策略 {name}。"),
    "expanded": (
        "The model sees #{id} in full at the end of the conversation from the next message on.",
        "从下一条消息起，#{id} 的全文显示在对话末尾。",
    ),
    "expanded part": (
        "The model sees these lines of #{id} at the end of the conversation from the next message on.",
        "从下一条消息起，#{id} 的这些行显示在对话末尾。",
    ),
    "no lines": (
        "{given} names no lines. Write for example /expand 12 200-260, or /expand 12 grep WORDS.",
        "{given} 不是行的范围。请写作例如 /expand 12 200-260，或 /expand 12 grep 文字。",
    ),
    "recalled": ("The model sees these passages with your next message:", "模型将随下一条消息看到："),
    "nothing found": ("No earlier passage matches.", "没有找到匹配的内容。"),
    "pinned": ("#{id} is shown in full from now on.", "从现在起，#{id} 始终全文显示。"),
    "unpinned": ("#{id} may be shortened again.", "#{id} 可以再次缩短。"),
    "pins": ("Pinned: {ids}", "已固定：{ids}"),
    "no pins": ("Nothing is pinned.", "没有固定的内容。"),
    "digest": (
        "{model} is too small to summarise, so the summary is made by rule.",
        "{model} 太小，无法总结：按规则生成。",
    ),
    "uncompacted": (
        "The messages that the last compaction replaced are shown again from the next message on.",
        "从下一条消息起，重新显示最近一次压缩所覆盖的内容。",
    ),
    "uncompacted one": (
        "#{id} is shown in full again as soon as it fits the budget.",
        "预算放得下时，#{id} 重新全文显示。",
    ),
    "branched": (
        "New branch {branch} after #{at}. /branch {before} returns to the old one.",
        "在 #{at} 之后新建分支 {branch}。原分支保留：/branch {before} 可返回。",
    ),
    "rewound": (
        "Back to before: {words}\n/branch {before} returns to the old branch.",
        "已回到这句话之前：{words}\n原来的对话保留：/branch {before} 可返回。",
    ),
    "too far": (
        "You wrote {count:,} messages; /rewind cannot go back further.",
        "你一共说了 {count:,} 条；/rewind 最多回退这么多。",
    ),
    "from the start": (
        "The session begins there; /clear begins a new session.",
        "那是会话的开头：/clear 可开始新会话。",
    ),
    "branch taken": (
        "There is a branch {name} already: choose another name, or switch to it with /branch {name}.",
        "已有分支 {name}：请换一个名称，或用 /branch {name} 切换。",
    ),
    "bad branch name": (
        "{name} cannot name a branch: a name begins with a letter and has at most {most} letters, digits, - _ . and /; "
        "an id such as #12 says where the branch begins.",
        "{name} 不能作为分支名称：名称以字母开头，最多 {most} 个字母、数字或 - _ . /；#12 这样的编号表示分支的起点。",
    ),
    "no branch": (
        "There is no branch {given}; the branches are: {names}. /fork {given} begins one.",
        "没有分支 {given}；有：{names}。/fork {given} 可新建。",
    ),
    "several branches": (
        "Several branches begin with {given}: {names}. Write more of the name.",
        "有几个分支以 {given} 开头：{names}。请多写几个字。",
    ),
    "branch now": ("On branch {branch}.", "当前分支：{branch}。"),
    "branch": ("branch", "分支"),
    "said last": ("your last message", "你的最后一条消息"),
    "branch how": ("/branch NAME switches to one.", "/branch 名称 可切换。"),
    "cleared": (
        "New session {id}. /sessions {before} returns to the old one.",
        "新会话 {id}。旧会话保留：/sessions {before} 可返回。",
    ),
    "no windows": ("No window is open. /apps open NAME opens one.", "没有打开的窗口。/apps open 名称 可打开。"),
    "window listed": ("{id}  {app}  {level}  {tokens:,} tokens", "{id}  {app}  {level}  {tokens:,} 个 token"),
    "window how": (
        "/windows ID shows one, /windows ID ACTION acts on it, /windows close ID closes it.",
        "/windows 编号 查看，/windows 编号 操作 可操作，/windows close 编号 关闭。",
    ),
    "window offers": ("Window {id} offers:", "窗口 {id} 提供："),
    "window example": ("Write /windows {id} ACTION and its arguments.", "请写作 /windows {id} 操作 参数。"),
    "no window": ("There is no window {id}; open windows: {ids}", "没有窗口 {id}；打开的有：{ids}"),
    "opened": (
        "Window {id} is open: the model sees it from the next message on.",
        "窗口 {id} 已打开：从下一条消息起模型可见。",
    ),
    "closed": ("Window {id} is closed.", "窗口 {id} 已关闭。"),
    "no code": ("No code has been saved in this session.", "本会话还没有保存代码。"),
    "code how": ("/code ID shows one.", "/code 编号 查看。"),
    "language": ("language", "语言"),
    "lines": ("lines", "行数"),
    "cost calls": ("calls in this run: {calls:,}", "本次运行调用 {calls:,} 次"),
    "cost tokens": (
        "{input:,} input tokens, {cached:,} of them from the provider's cache; {output:,} output tokens",
        "输入 {input:,} 个 token，其中 {cached:,} 个来自服务商缓存；输出 {output:,} 个",
    ),
    "cost money": ("cost {cost}, in the currency of the prices configured", "费用 {cost}（按配置的价格单位）"),
    "no price": (
        "No price is known for this model; set one in sightline.toml.",
        "不知道该模型的价格；可在 sightline.toml 中填写。",
    ),
    "nothing to retry": ("There is nothing to continue: ask something first.", "没有可继续的内容：请先提问。"),
    "not written": ("{file} cannot be written: {why}", "无法写入 {file}：{why}"),
    "exists": ("{file} exists already; choose another name", "{file} 已存在；请换一个文件名"),
    # what the library's errors say, for a chat
    "no item": (
        "There is no item #{id} on this branch: /context all lists them.",
        "本分支没有 #{id}：/context all 可列出。",
    ),
    "nothing to undo": (
        "Nothing is compacted on this branch, so there is nothing to undo.",
        "本分支没有压缩过，无可撤销。",
    ),
    "nothing compacted": (
        "Nothing is compacted on this branch: /compact does it.",
        "本分支没有压缩过：/compact 可压缩。",
    ),
    "compact again": (
        " To repeat the last compaction, undo it first with /uncompact.",
        "。若要重做最近一次压缩，请先 /uncompact。",
    ),
    "no app": (
        "There is no app {name}; the apps are: {names}. /apps lists them.",
        "没有应用 {name}；有：{names}。/apps 可列出。",
    ),
    "no such code": ("There is no code {id}; saved code: {names}", "没有代码 {id}；有：{names}"),
    "no code id": (
        "There is no code {id}: an id is code_ and a name; /code lists them.",
        "没有代码 {id}：编号形如 code_名称，/code 可列出。",
    ),
    "too much pinned": (
        "The items that must be shown exceed the budget by {tokens:,} tokens: {pinned}. /unpin one, close a window "
        "with /windows close, write a shorter message, or start again with a larger --budget.",
        "必须显示的内容超出预算 {tokens:,} 个 token：{pinned}。请 /unpin 其中一项，用 /windows close 关闭窗口，"
        "缩短输入，或以更大的 --budget 重新开始。",
    ),
    "no such model": ("{name} cannot be asked: {why}", "无法使用模型 {name}：{why}"),
    "no strategy": ("There is no strategy {name}; choose one of {names}", "没有策略 {name}；可选：{names}"),
    "strategy needs": (
        "The strategy {name} needs settings, which plugin.json or sightline.toml in the project gives it: "
        "`sightline strategies` lists them.",
        "策略 {name} 需要配置，由项目的 plugin.json 或 sightline.toml 给出：`sightline strategies` 列出各项。",
    ),
    "no session": ("There is no session {given}: /sessions lists them.", "没有会话 {given}：/sessions 可列出。"),
    "several sessions": (
        "The ids of {count:,} sessions begin with {given}: {ids}. Write more of the id.",
        "有 {count:,} 个会话的编号以 {given} 开头：{ids}。请多写几位。",
    ),
    **COMMAND_HELP,
    # phrases of the common table that differ in a chat
    "more items": ("{count:,} more items: /context all", "其余 {count:,} 项：/context all"),
    "more sessions": ("{count:,} older sessions: /sessions all", "还有 {count:,} 个较早的会话：/sessions all"),
    "more lines": ("{count:,} more lines: /compact full", "其余 {count:,} 行：/compact full"),
    "more kept": ("{count:,} more", "其余 {count:,} 条"),
    "stands for one": (
        "Summary {summaries} replaces one message, #{first}, {tokens:,} tokens in full; /uncompact shows it again.",
        "摘要 {summaries} 代替 #{first} 这条消息，全文 {tokens:,} 个 token；/uncompact 可恢复。",
    ),
    "stands for": (
        "Summary {summaries} replaces {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full; "
        "/uncompact shows them again.",
        "摘要 {summaries} 代替 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token；"
        "/uncompact 可恢复。",
    ),
    "after compact": (
        "/uncompact undoes it, /uncompact ID shows one item again.",
        "/uncompact 可撤销，/uncompact 编号 可恢复其中一项。",
    ),
    "try app": (
        "/apps open NAME opens one in a window that the model sees.",
        "/apps open 名称 可打开一个模型可见的窗口。",
    ),
    "could ask": ("you could ask: {question}", "可以接着问：{question}"),
}
