"""What people see in the chat, in English and Chinese. Keys of the common table that are here too say it for a chat."""

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
    # beginning and end
    "welcome": (
        "Sightline {version} · {model} · session {id}. /help lists the commands, Ctrl-D leaves.",
        "Sightline {version} · {model} · 会话 {id}。/help 列出命令，Ctrl-D 离开。",
    ),
    "nothing to continue": (
        "There is no session in this project to continue: a new one begins.",
        "本项目没有可继续的会话：开始一个新会话。",
    ),
    "continued": (
        "Session {id} goes on, branch {branch}: {messages:,} messages.",
        "继续会话 {id}，分支 {branch}：共 {messages:,} 条消息。",
    ),
    "continued one": (
        "Session {id} goes on, branch {branch}: one message.",
        "继续会话 {id}，分支 {branch}：共一条消息。",
    ),
    "unanswered": (
        "The last message has no answer yet: /retry asks for it.",
        "最后一条消息还没有回答：/retry 可继续。",
    ),
    "you": ("you", "你"),
    "it": ("answer", "回答"),
    "left": (
        "Session {id} is kept: `sightline chat --continue` goes on with it.",
        "会话 {id} 已保存：`sightline chat --continue` 可继续。",
    ),
    "leave how": ("Press Ctrl-C again, or Ctrl-D, to leave.", "再按一次 Ctrl-C 或 Ctrl-D 离开。"),
    "small model": (
        "{model} is a small model: good for trying the machinery, not for answers to rely on.",
        "{model} 是小模型：适合试用本程序，其回答不可依赖。",
    ),
    "no terminal": (
        'there is no terminal to talk in; ask one question with -p "…", or run it in a terminal',
        '这里没有终端；用 -p "…" 提一个问题，或在终端中运行',
    ),
    "reaches": ("{file} reaches beyond this project:", "{file} 会影响本项目之外："),
    "trust": ("Let it do so, from now on, until it changes?", "从现在起允许，直到文件改变？"),
    "trust how": (
        "look at it, then allow it with --trust, or run `sightline chat` in a terminal, which asks",
        "请先查看，再用 --trust 允许，或在终端中运行 `sightline chat`，它会询问",
    ),
    # while answering
    "takes less": (
        "{model} takes {window:,} tokens: --budget {budget} is more than that. Where it takes more, `window` in "
        "sightline.toml says so.",
        "{model} 的窗口为 {window:,} 个 token：--budget {budget} 超出了它。"
        "若它实际更大，请在 sightline.toml 中用 `window` 写明。",
    ),
    "thinking": ("thinking", "思考中"),
    "answering": ("answering", "回答中"),
    "stopped": ("Stopped. /retry goes on.", "已停止。/retry 可继续。"),
    "failed": ("The answer failed: {why}", "回答失败：{why}"),
    "stop length": (
        "The answer was cut off: it has as many tokens as an answer may have. Say so, and it goes on.",
        "回答已达到长度上限，被截断。请让它继续。",
    ),
    "stop refused": ("The model refuses to say more.", "模型拒绝继续回答。"),
    "retry hint": ("Everything said is kept; /retry goes on.", "已说的内容都已保存；/retry 可继续。"),
    "retrying": (
        "{why}; again in {seconds:g} s (attempt {again})",
        "{why}；{seconds:g} 秒后重试（第 {again} 次）",
    ),
    "falling back": ("{why}; asking {fallback} instead", "{why}；改用 {fallback}"),
    "swept": ("context: {reason}, {tokens:,} tokens", "上下文：{reason}，{tokens:,} 个 token"),
    "question cut": (
        "Your message has {tokens:,} tokens, and the model was shown {seen:,} of them: more than that does not fit. "
        "A larger window (--budget, or another model) shows more.",
        "你的消息有 {tokens:,} 个 token，模型只看到其中 {seen:,} 个：窗口放不下更多。"
        "更大的窗口（--budget，或换一个模型）可显示更多。",
    ),
    "question cut more": (
        "Your message has {tokens:,} tokens, and the model was shown {seen:,} of them; it can look at the rest with "
        "`expand`. A larger window (--budget, or another model) shows more; put into a file, it is read where needed.",
        "你的消息有 {tokens:,} 个 token，模型只看到其中 {seen:,} 个；其余可由模型用 `expand` 查看。"
        "更大的窗口（--budget，或换一个模型）可显示更多；放进文件则可按需读取。",
    ),
    "tool ok": ("{seconds:.1f} s", "{seconds:.1f} 秒"),
    "tool failed": ("failed: {why}", "失败：{why}"),
    "code saved": ("saved {id} ({language}) → {file}", "已保存 {id}（{language}）→ {file}"),
    # the line below the prompt
    "status reused": ("reused {share}", "复用 {share}"),
    "status cost": ("cost {cost}", "费用 {cost}"),
    "placeholder": ("Ask, or /help. Alt+Enter: new line", "输入问题，或 /help。Alt+Enter 换行"),
    # commands in general
    "no command": ("There is no command /{name}.", "没有命令 /{name}。"),
    "did you mean": ("Did you mean {names}?", "是否想输入 {names}？"),
    "see help": (
        "/help lists them all. To say something that begins with a slash, put a space before it.",
        "/help 列出全部命令。要发送以斜杠开头的话，请在前面加一个空格。",
    ),
    "usage": ("Write it as {usage}", "请写作 {usage}"),
    "nothing said": ("Nothing has been said in this session yet.", "本会话还没有任何内容。"),
    "help keys": (
        "Enter sends; Alt+Enter or Ctrl-J begins a line; Ctrl-C stops an answer or clears the line; Ctrl-D leaves.\n"
        "/help COMMAND says more about one.",
        "Enter 发送；Alt+Enter 或 Ctrl-J 换行；Ctrl-C 停止回答或清空输入；Ctrl-D 离开。\n"
        "/help 命令 可查看某个命令的说明。",
    ),
    "also": ("also {names}", "也可写作 {names}"),
    # what commands say
    "model now": (
        "Asking {model}: window {window:,}, answer up to {output:,} tokens.",
        "当前模型 {model}：窗口 {window:,}，回答最多 {output:,} 个 token。",
    ),
    "strategy now": ("Strategy {name}. There are: {names}.", "当前策略 {name}。可选：{names}。"),
    "strategy set": ("Strategy {name} from the next message on.", "从下一条消息起使用策略 {name}。"),
    "expanded": (
        "#{id} stands in full at the end of the conversation from the next message on.",
        "从下一条消息起，#{id} 的全文显示在对话末尾。",
    ),
    "recalled": ("Brought back for the next message:", "已为下一条消息找回："),
    "nothing found": ("Nothing earlier matches.", "没有找到匹配的内容。"),
    "pinned": ("#{id} is shown in full from now on.", "从现在起，#{id} 始终全文显示。"),
    "unpinned": ("#{id} may be shortened again.", "#{id} 可以再次缩短。"),
    "pins": ("Pinned: {ids}", "已固定：{ids}"),
    "no pins": ("Nothing is pinned.", "没有固定的内容。"),
    "digest": ("{model} is too small to summarise: made by rule.", "{model} 太小，无法总结：按规则生成。"),
    "uncompacted": (
        "What the last compaction covers is shown again from the next message on.",
        "从下一条消息起，重新显示最近一次压缩所覆盖的内容。",
    ),
    "uncompacted one": ("#{id} is shown in full again where there is room.", "有空间时，#{id} 重新全文显示。"),
    "branched": (
        "New branch {branch} after #{at}. The old one is kept: /branch {before} returns.",
        "在 #{at} 之后新建分支 {branch}。原分支保留：/branch {before} 可返回。",
    ),
    "rewound": (
        "Back to before: {words}\nThe other way is kept: /branch {before} returns.",
        "已回到这句话之前：{words}\n原来的对话保留：/branch {before} 可返回。",
    ),
    "too far": (
        "There are {count:,} messages of yours; /rewind goes back at most so many.",
        "你一共说了 {count:,} 条；/rewind 最多回退这么多。",
    ),
    "from the start": (
        "That is where the session begins: /clear begins a new one.",
        "那是会话的开头：/clear 可开始新会话。",
    ),
    "branch now": ("On branch {branch}.", "当前分支：{branch}。"),
    "branch": ("branch", "分支"),
    "said last": ("you said last", "你最后说的"),
    "branch how": ("/branch NAME goes to one.", "/branch 名称 可切换。"),
    "cleared": (
        "A new session, {id}. The old one is kept: /sessions {before} returns.",
        "新会话 {id}。旧会话保留：/sessions {before} 可返回。",
    ),
    "no windows": ("No window is open. /apps open NAME opens one.", "没有打开的窗口。/apps open 名称 可打开。"),
    "window listed": ("{id}  {app}  {level}  {tokens:,} tokens", "{id}  {app}  {level}  {tokens:,} 个 token"),
    "window how": (
        "/windows ID shows one, /windows close ID closes it.",
        "/windows 编号 查看，/windows close 编号 关闭。",
    ),
    "no window": ("There is no window {id}; open are: {ids}", "没有窗口 {id}；打开的有：{ids}"),
    "opened": (
        "Window {id} is open: the model sees it from the next message on.",
        "窗口 {id} 已打开：从下一条消息起模型可见。",
    ),
    "closed": ("Window {id} is closed.", "窗口 {id} 已关闭。"),
    "no code": ("No code has been saved in this session.", "本会话还没有保存代码。"),
    "code how": ("/code ID shows one.", "/code 编号 查看。"),
    "language": ("language", "语言"),
    "lines": ("lines", "行数"),
    "cost calls": ("{calls:,} calls in this run", "本次运行调用 {calls:,} 次"),
    "cost tokens": (
        "{input:,} tokens in, {cached:,} of them from the provider's cache; {output:,} out",
        "输入 {input:,} 个 token，其中 {cached:,} 个来自服务商缓存；输出 {output:,} 个",
    ),
    "cost money": ("cost {cost}, in the currency of the prices configured", "费用 {cost}（按配置的价格单位）"),
    "no price": (
        "No price is known for this model; sightline.toml can say one.",
        "不知道该模型的价格；可在 sightline.toml 中填写。",
    ),
    "nothing to retry": ("There is nothing to go on with: ask something.", "没有可继续的内容：请先提问。"),
    "not written": ("{file} cannot be written: {why}", "无法写入 {file}：{why}"),
    "exists": ("{file} exists already; name another file", "{file} 已存在；请换一个文件名"),
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
    "too little": (
        "There is too little conversation to compact: go on, and try again later. To have the last compaction made "
        "again, undo it first with /uncompact.",
        "对话太短，无需压缩：请稍后再试。若要重做最近一次压缩，请先 /uncompact。",
    ),
    "summaries off": ("Summaries are switched off in this session.", "本会话已关闭摘要。"),
    "no app": (
        "There is no app {name}; there are: {names}. /apps lists them.",
        "没有应用 {name}；有：{names}。/apps 可列出。",
    ),
    "no such code": ("There is no code {id}; there is: {names}", "没有代码 {id}；有：{names}"),
    "no code id": (
        "There is no code {id}: ids are code_ and a name, and /code lists them.",
        "没有代码 {id}：编号形如 code_名称，/code 可列出。",
    ),
    "too much pinned": (
        "What must be shown is {tokens:,} tokens larger than what fits: {pinned}. /unpin one, close a window with "
        "/windows close, say less, or begin again with a larger --budget.",
        "必须显示的内容超出上限 {tokens:,} 个 token：{pinned}。请 /unpin 其中一项，用 /windows close 关闭窗口，"
        "缩短输入，或以更大的 --budget 重新开始。",
    ),
    "no such model": ("{name} cannot be asked: {why}", "无法使用模型 {name}：{why}"),
    "no strategy": ("There is no strategy {name}; choose one of {names}", "没有策略 {name}；可选：{names}"),
    "no session": ("There is no session {given}: /sessions lists them.", "没有会话 {given}：/sessions 可列出。"),
    "several sessions": (
        "{given} begins the ids of {count:,} sessions, {ids}: write more of it.",
        "有 {count:,} 个会话的编号以 {given} 开头：{ids}。请多写几位。",
    ),
    # the help of each command: one line, then what it takes
    "/help": ("What can be typed here.", "可以输入什么。"),
    "/compact": (
        "Put a summary in the place of the oldest messages. /compact full only shows the summary there is, all of it.",
        "用摘要代替最早的消息。/compact full 不压缩，只显示已有摘要的全文。",
    ),
    "/context": (
        "What the model would see now. /context all lists every item.",
        "模型现在会看到什么。/context all 列出每一项。",
    ),
    "/expand": ("Bring an earlier item back in full.", "找回某一项的全文。"),
    "/recall": ("Find earlier passages and bring the best back.", "查找之前的内容并找回最相关的。"),
    "/pin": ("Always show an item in full; without an id, list those.", "始终全文显示某一项；不带编号则列出已固定的。"),
    "/unpin": ("Let a pinned item be shortened again.", "取消固定。"),
    "/uncompact": ("Undo the last compaction, or bring back one item of it.", "撤销最近一次压缩，或只恢复其中一项。"),
    "/fork": ("Go another way from here, or from after an item.", "从此处或某一项之后另开分支。"),
    "/rewind": (
        "Go back before your last message, or before the N-th last.",
        "回到你最近一条（或倒数第 N 条）消息之前。",
    ),
    "/branch": ("List the branches of this session, or go to one.", "列出本会话的分支，或切换。"),
    "/sessions": ("List the sessions of this project, or go to one.", "列出本项目的会话，或切换。"),
    "/windows": ("List the open windows, show one, or close one.", "列出打开的窗口，查看或关闭其中一个。"),
    "/apps": ("List the apps, or open one in a window.", "列出应用，或在窗口中打开一个。"),
    "/code": ("List the code saved in this session, or show one.", "列出本会话保存的代码，或查看其中一个。"),
    "/model": ("Which model is asked, or ask another one.", "查看或更换模型。"),
    "/strategy": ("Who decides what the model sees, or choose another.", "查看或更换上下文策略。"),
    "/cost": ("Tokens and money spent in this run.", "本次运行的 token 与费用。"),
    "/export": (
        "Write the whole conversation to a file: openai, anthropic or responses, or the log as it is (jsonl).",
        "把整个对话写入文件：openai、anthropic 或 responses 格式，或原样的日志（jsonl）。",
    ),
    "/clear": ("Begin a new session; this one is kept.", "开始新会话；当前会话保留。"),
    "/version": ("Which Sightline this is.", "版本。"),
    "/retry": ("Go on where the last answer stopped or failed.", "从上次停止或失败处继续。"),
    "/quit": ("Leave. Everything said is kept.", "离开。所有内容都已保存。"),
    # words of the common table, as a chat says them
    "more items": ("{count:,} more: /context all", "其余 {count:,} 项：/context all"),
    "more sessions": ("{count:,} older: /sessions all", "还有 {count:,} 个较早的会话：/sessions all"),
    "more lines": ("{count:,} more lines: /compact full", "其余 {count:,} 行：/compact full"),
    "more kept": ("{count:,} more", "其余 {count:,} 条"),
    "stands for": (
        "Summary {summaries} stands for {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full: "
        "/uncompact brings them back.",
        "摘要 {summaries} 代表 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token："
        "/uncompact 可恢复。",
    ),
    "after compact": (
        "/uncompact undoes it, /uncompact ID brings back one item.",
        "/uncompact 可撤销，/uncompact 编号 可恢复其中一项。",
    ),
    "no summary": (
        "No summary from the model: {error}. A digest made by rule stands in its place.",
        "模型没有给出摘要：{error}。已改用按规则生成的摘要。",
    ),
    "try app": (
        "/apps open NAME opens one in a window that the model sees.",
        "/apps open 名称 可打开一个模型可见的窗口。",
    ),
    "could ask": ("you could ask: {question}", "可以接着问：{question}"),
    "grown": (
        "It grew: what the summary stands for was already shown shortened.",
        "变大了：被摘要的内容原本已缩短显示。",
    ),
}
