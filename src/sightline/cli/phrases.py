"""What people see, in English and Chinese. One table; the library's errors stay English."""

from collections.abc import Mapping
from typing import Any

LANGUAGES = ("en", "zh")

_PHRASES = {
    # titles of columns
    "session": ("session", "会话"),
    "written": ("written", "写入时间"),
    "entries": ("entries", "条目"),
    "branches": ("branches", "分支"),
    "size": ("size", "大小"),
    "begins": ("begins", "开头"),
    "item": ("item", "项"),
    "items": ("items", "项数"),
    "kind": ("kind", "类型"),
    "full": ("full", "全文"),
    "summary": ("summary", "摘要"),
    "gist": ("gist", "要点"),
    "says": ("says", "内容"),
    "level": ("level", "层级"),
    "tokens": ("tokens", "token"),
    "of full": ("of full", "全文为"),
    "why": ("why", "原因"),
    "call": ("call", "调用"),
    "came": ("what came", "新内容"),
    "of limit": ("of {limit:,}", "共 {limit:,}"),
    "levels": ("level changes", "层级变化"),
    "reused": ("reused", "复用"),
    "cost": ("cost", "费用"),
    "vs full": ("vs full", "对全量"),
    "sweep": ("sweep", "清扫"),
    "sample": ("sample", "样例"),
    "title": ("title", "标题"),
    # kinds and levels
    "kind system": ("system", "系统"),
    "kind tools": ("tools", "工具"),
    "kind user": ("user", "用户"),
    "kind assistant": ("assistant", "助手"),
    "kind call": ("call", "调用"),
    "kind result": ("result", "结果"),
    "kind window": ("window", "窗口"),
    "kind summary": ("summary", "摘要"),
    "kind recall": ("recalled", "召回"),
    "level full": ("full", "全文"),
    "level summary": ("summary", "摘要"),
    "level gist": ("gist", "要点"),
    "left out": ("left out", "未显示"),
    # what is done to make things fit
    "reduction": ("reduction", "缩减"),
    "removed": ("removed", "移除"),
    "saved": ("saved", "节省"),
    "off": ("off", "关闭"),
    "reduction gists": ("gists", "要点"),
    "reduction windows": ("windows", "窗口降级"),
    "reduction summaries": ("summaries", "摘要压缩"),
    "reduction trim": ("trim", "裁剪"),
    # reasons
    "sweep: forced": ("sweep: forced", "清扫：到达上限"),
    "sweep: pays": ("sweep: pays", "清扫：省下已够"),
    "sweep: question answered": ("sweep: question answered", "清扫：问题已回答"),
    "sweep: question": ("sweep: question", "清扫：回答问题"),
    "sweep: cold": ("sweep: cold", "清扫：缓存过期"),
    "sweep: rounds": ("sweep: rounds", "清扫：新一轮"),
    "sweep: window": ("sweep: window", "清扫：滑动窗口"),
    "sweep: summary": ("sweep: summary", "清扫：新摘要"),
    "sweep: state": ("sweep: state", "清扫：状态已变"),
    "sweep: overflow": ("sweep: overflow", "清扫：超长被拒"),
    "command: compact": ("command: compact", "命令：压缩"),
    "command: uncompact": ("command: uncompact", "命令：撤销压缩"),
    "settings changed": ("settings changed", "设置已改"),
    "tools or system changed": ("tools or system changed", "工具或系统提示已改"),
    # strategies
    "strategy": ("strategy", "策略"),
    "key": ("key", "配置项"),
    "type": ("type", "类型"),
    "default": ("default", "默认值"),
    "about": ("what it does", "作用"),
    "strategy focus": (
        "Full detail where the model is looking; levels change rarely, when it pays or must be.",
        "模型正在看的地方给全文；层级很少变化，只在划算或必须时变。",
    ),
    "strategy sliding": (
        "The newest messages that fit, nothing shortened. Short questions and answers.",
        "放得下的最新消息，不作压缩。适合简短问答。",
    ),
    "strategy summary": (
        "A light model folds the oldest turns into a summary, in the background. Long companionship.",
        "轻量模型在后台把最早的几轮并入摘要。适合长期陪伴。",
    ),
    "strategy entities": (
        "A typed state instead of the dialogue. Forms and bookings.",
        "只保留结构化状态，不保留对话。适合填表和订票。",
    ),
    "strategy rounds": (
        "Files that were read are gists from the next question on; of many messages the newest stay. Data analysis.",
        "读过的文件从下一轮提问起只留要点；消息过多时只留最新几条。适合数据分析。",
    ),
    "chosen": ("This project uses {name}, chosen in {file}.", "本项目使用 {name}，由 {file} 选定。"),
    "chosen by default": (
        "This project uses {name}: no file chooses another.",
        "本项目使用 {name}：没有文件选择其他策略。",
    ),
    # sessions
    "no sessions": (
        "No sessions in {folder} yet. `sightline replay --sample --keep` makes one.",
        "{folder} 中还没有会话。运行 `sightline replay --sample --keep` 可生成一个。",
    ),
    "more sessions": ("{count:,} older: --all", "还有 {count:,} 个较早的会话：--all"),
    "session heading": (
        "{id}  branch {branch}  strategy {strategy}  profile {profile}",
        "{id}  分支 {branch}  策略 {strategy}  配置 {profile}",
    ),
    "branches there are": ("branches: {names}", "分支：{names}"),
    "damaged": ("{count:,} damaged lines passed over", "跳过了 {count:,} 个损坏的行"),
    "forked": (
        "New branch {branch} of session {session} after #{at}: it shares {items:,} items and is now the current one.",
        "会话 {session} 在 #{at} 之后的新分支 {branch}：共享 {items:,} 项，现为当前分支。",
    ),
    "exported": (
        "{messages:,} messages of session {session} written to {file} ({format}, {bytes}).",
        "会话 {session} 的 {messages:,} 条消息已写入 {file}（{format}，{bytes}）。",
    ),
    "really delete": (
        "Delete session {id} and everything derived from it, for good?",
        "确定永久删除会话 {id} 及其所有派生文件吗？",
    ),
    "deleted": ("Session {id} is deleted.", "会话 {id} 已删除。"),
    # context
    "context heading": (
        "What the model would see now: {id}, branch {branch}",
        "模型现在会看到的内容：{id}，分支 {branch}",
    ),
    "context tokens": (
        "{tokens:,} of {limit:,} tokens, {free:,} free",
        "{tokens:,} / {limit:,} 个 token，剩余 {free:,}",
    ),
    "context factor": (
        "; the model counts {factor:.2f} tokens where we count one",
        "；我们计 1 个 token 处，模型计 {factor:.2f} 个",
    ),
    "context levels": (
        "Items in full: {full:,}, as summaries: {summary:,}, as gists: {gist:,}",
        "全文 {full:,} 项，摘要 {summary:,} 项，要点 {gist:,} 项",
    ),
    "sweep now": (
        "The next call is a sweep ({reason}): this is what it leaves.",
        "下一次调用会清扫（{reason}）：以上是清扫后的结果。",
    ),
    "sweep later": (
        "The next sweep comes above {above:,} tokens, {room:,} from here.",
        "超过 {above:,} 个 token 时进行下一次清扫，还差 {room:,}。",
    ),
    "sweep when cold": (
        "It comes earlier if no call is made for {minutes} minutes: the provider's cache is cold then.",
        "若 {minutes} 分钟内没有调用，缓存失效，清扫会提前。",
    ),
    "more items": ("{count:,} more: --all", "其余 {count:,} 项：--all"),
    "stands for": (
        "Summary {summaries} stands for {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full: "
        "`sightline uncompact` brings them back.",
        "摘要 {summaries} 代表 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token："
        "`sightline uncompact` 可恢复。",
    ),
    "faults": (
        "Results fetched again after they had been shortened: {count:,}, {tokens:,} tokens.",
        "缩短后又被重新读取的结果：{count:,} 个，{tokens:,} 个 token。",
    ),
    # compact
    "compacting": ("compacting", "压缩中"),
    "asking": ("asking {command} (at most {seconds:g} s)", "正在询问 {command}（最多 {seconds:g} 秒）"),
    "compacted": ("Compacted: {id}, branch {branch}", "已压缩：{id}，分支 {branch}"),
    "would compact": (
        "Would be compacted: {id}, branch {branch}. Nothing is written.",
        "将被压缩：{id}，分支 {branch}。未写入任何内容。",
    ),
    "from to": ("{pre:,} → {post:,} tokens", "{pre:,} → {post:,} 个 token"),
    "less": (", {share} less", "，减少 {share}"),
    "more": (", {share} more", "，增加 {share}"),
    "fitting": ("; {limit:,} fit", "；上限 {limit:,}"),
    "grown": (
        "It grew: what the summary stands for was already shown shortened. A smaller --window makes a shorter one.",
        "变大了：被摘要的内容原本已缩短显示。用更小的 --window 可得到更短的摘要。",
    ),
    "covered": (
        "The summary stands for {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full.",
        "摘要代表 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token。",
    ),
    "would ask": (
        "{command} would be asked with {tokens:,} tokens; the result below is that of the digest made by rule.",
        "将向 {command} 发送 {tokens:,} 个 token；以下是按规则生成的摘要的结果。",
    ),
    "files included": ("Files shown to the model as they are now: {files}", "向模型展示的文件（当前内容）：{files}"),
    "summary by rule": ("summary, made by rule, {tokens:,} tokens", "摘要（按规则生成），{tokens:,} 个 token"),
    "summary by command": ("summary, {tokens:,} tokens", "摘要，{tokens:,} 个 token"),
    "more lines": ("{count:,} more lines: --full", "其余 {count:,} 行：--full"),
    "kept words": (
        "The user's rules and tasks in it, still shown word for word: {count:,}",
        "其中用户的规则和任务，仍逐字保留：{count:,}",
    ),
    "nothing to keep": (
        "The user set no rule and left no task in it.",
        "其中没有用户设定的规则或留下的任务。",
    ),
    "kept rule": ("rule", "规则"),
    "kept task": ("task", "任务"),
    "more kept": ("{count:,} more: --full", "其余 {count:,} 条：--full"),
    "lost": (
        "Could be read before and cannot now; all of it is in the log:",
        "之前能看到、现在看不到的内容（日志中都有）：",
    ),
    "nothing lost": (
        "No rule, task, path, name, number or error line went out of sight; of other words, all are in the log.",
        "规则、任务、路径、名称、数字和错误行都还能看到；其他内容都在日志中。",
    ),
    "how many": ("how many", "数量"),
    "the first": ("the first", "前几个"),
    "lost rules": ("rules", "规则"),
    "lost tasks": ("tasks", "任务"),
    "lost paths": ("paths", "路径"),
    "lost identifiers": ("identifiers", "标识符"),
    "lost numbers": ("numbers", "数字"),
    "lost errors": ("errors", "错误"),
    "no summary": ("No summary from the command: {error}.", "命令没有给出摘要：{error}。"),
    "it said": ("It said: {words}", "它的输出：{words}"),
    "try again": (
        "A digest made by rule stands in its place. To try again: {command} (it had {seconds} seconds; --seconds)",
        "已改用按规则生成的摘要。再试一次：{command}（限时 {seconds} 秒；--seconds）",
    ),
    "after compact": (
        "`sightline uncompact` undoes it, `sightline uncompact ID` brings back one item.",
        "`sightline uncompact` 可撤销，`sightline uncompact 编号` 可恢复其中一项。",
    ),
    "after dry run": ("Without --dry-run it is done.", "去掉 --dry-run 即可执行。"),
    "never compacted": (
        "Nothing has been compacted in session {id}; `sightline compact` does it.",
        "会话 {id} 从未压缩过；`sightline compact` 可压缩。",
    ),
    "made": ("{when}  {by}, {state}", "{when}  {by}，{state}"),
    "by rule": ("made by rule", "按规则生成"),
    "by model": ("made by a model", "由模型生成"),
    "holds": ("holds", "有效"),
    "undone": ("undone", "已撤销"),
    "replaced": ("replaced by a later one", "已被之后的压缩取代"),
    "estimated": ("About {pre:,} → {post:,} tokens when it was made.", "生成时约 {pre:,} → {post:,} 个 token。"),
    "all brought back": (
        "Undone in session {session}: {messages:,} messages, #{first} to #{last}, are back from the next call on.",
        "会话 {session} 已撤销压缩：从下一次调用起，重新显示 #{first} 至 #{last} 的 {messages:,} 条消息。",
    ),
    "brought back": (
        "Item #{item} of session {session} is shown in full again.",
        "会话 {session} 的 #{item} 重新全文显示。",
    ),
    "will be brought back": (
        "Item #{item} of session {session} is wanted in full: it comes back at the next sweep that has room for it.",
        "会话 {session} 的 #{item} 已标记为全文显示：下一次清扫有空间时恢复。",
    ),
    # replay
    "what is shown": (
        "Each row is one call to the model. Before it, Sightline composes the messages that fit a window of {window:,} "
        "tokens; what it shortens keeps a handle and stays in the log. Most calls only add to the one before, so the "
        "provider reads nearly all of it from its cache (reused), at a tenth of the price. Where levels fall (↓) it "
        "is a sweep: one of the few moments when older pieces are shortened together.",
        "每一行是对模型的一次调用。调用之前，Sightline 组织出能放进 {window:,} 个 token 窗口的消息；"
        "被缩短的内容带有编号，原文都在日志里。多数调用只在前一次之后追加，服务商几乎全部从缓存读取（复用），价格只有十分之一。"
        "层级下降（↓）的行是清扫：难得的几次，把较早的内容一起缩短。",
    ),
    "replaying": ("replaying", "重放中"),
    "fell summary": ("{count}↓ summary", "{count}↓摘要"),
    "fell gist": ("{count}↓ gist", "{count}↓要点"),
    "fell out": ("{count} out", "{count} 略去"),
    "rose": ("{count}↑", "{count}↑"),
    "entered": ("{count} enter short", "{count} 入时缩短"),
    "summed up": ("summed up", "总计"),
    "total calls": (
        "calls {calls:,}, sweeps {sweeps:,}, largest prompt {largest:,} tokens",
        "{calls:,} 次调用，{sweeps:,} 次清扫，最大提示 {largest:,} 个 token",
    ),
    "total tokens": (
        "{tokens:,} tokens sent, {reused:.0%} of them reused",
        "共发送 {tokens:,} 个 token，其中 {reused:.0%} 复用",
    ),
    "total cost": (
        "cost {cost:,.0f} input tokens; the full history every time {full:,.0f}: {ratio:.0%}",
        "费用 {cost:,.0f} 个输入 token；每次发送全部历史为 {full:,.0f}：{ratio:.0%}",
    ),
    "outgrown": (
        "the full history would not have fitted from call {call:,} on",
        "从第 {call:,} 次调用起，全部历史已放不进窗口",
    ),
    "total breaks": ("prefix broken: {breaks}", "前缀改变：{breaks}"),
    "no breaks": ("never", "从未"),
    "total invalid": ("requests a provider would refuse: {invalid:,}", "会被服务商拒绝的请求：{invalid:,}"),
    "kept": (
        "Kept as session {id}: `sightline context` shows what it would send now, `sightline verify` checks it.",
        "已保存为会话 {id}：`sightline context` 查看现在会发送的内容，`sightline verify` 校验。",
    ),
    "try next": (
        "Try next:\n"
        "  sightline replay --sample{name} --window {window} --slow   # a smaller window, at leisure\n"
        "  sightline replay --sample{name} --strategy sliding   # the plain sliding window, to compare\n"
        "  sightline replay --list-samples   # other samples\n"
        "  sightline replay messages.json   # a conversation of your own",
        "接下来可以试试：\n"
        "  sightline replay --sample{name} --window {window} --slow   # 更小的窗口，慢慢看\n"
        "  sightline replay --sample{name} --strategy sliding   # 普通的滑动窗口，作比较\n"
        "  sightline replay --list-samples   # 其他样例\n"
        "  sightline replay messages.json   # 你自己的对话",
    ),
    # apps
    "action": ("action", "操作"),
    "parameters": ("parameters", "参数"),
    "try app": (
        "`sightline apps run todo` opens one here: you see what a model sees, and press its buttons.",
        "`sightline apps run todo` 可在此打开一个应用：看到的与模型看到的完全相同，并可操作。",
    ),
    "try help": ("`help` says what can be typed; Ctrl-D ends.", "输入 `help` 查看可用的输入；Ctrl-D 结束。"),
    "seen": (
        "{id}, level {level}, as {form}: {tokens:,} tokens",
        "{id}，层级 {level}，{form}：{tokens:,} 个 token",
    ),
    "seen again": (
        "{id}, level {level}, as {form}: {tokens:,} tokens, as above",
        "{id}，层级 {level}，{form}：{tokens:,} 个 token，同上",
    ),
    "has failed": ("failed: {why}", "失败：{why}"),
    "has opened": ("Opened: {ids}. `window {first}` goes there.", "已打开：{ids}。输入 `window {first}` 前往。"),
    "all closed": ("No window is open any more.", "已没有打开的窗口。"),
    "no window left": ("no window is open any more", "已没有打开的窗口"),
    "bad quote": (
        "the {quote} at column {column} has no partner before a space; write \\{quote} where a quote itself is meant",
        "第 {column} 列的 {quote} 没有与之成对、后接空格的引号；若要输入引号本身，请写 \\{quote}",
    ),
    "too many words": (
        "{name} has no parameter left for: {words}",
        "{name} 没有多余的参数可填：{words}",
    ),
    "choose": ("write it as `{word} {choices}`", "请写作 `{word} {choices}`"),
    "help how": (
        'An action and its parameters: `add buy milk`, or `add text="buy milk"`. Phrases fill the parameters in order, '
        "the last one takes the rest.",
        '输入操作及其参数：`add buy milk`，或 `add text="buy milk"`。各词依次填入参数，最后一个参数取余下全部。',
    ),
    "help buttons": (
        "Buttons of what is shown, also written as [button:…]: {keys}",
        "所示内容上的按钮（也可写作 [button:…]）：{keys}",
    ),
    "help besides": (
        "Besides (an action of the same name is written [button:…]):",
        "此外（同名的操作请写作 [button:…]）：",
    ),
    "help level": ("show more or less of it", "显示得更多或更少"),
    "help as": ("write it another way", "换一种写法"),
    "help window": ("list the open windows, go to one", "列出打开的窗口，前往其中一个"),
    "help quit": ("this, and the end; an empty line shows it again", "本说明；结束。空行：再次显示"),
    # model
    "model": ("model", "模型"),
    "window": ("window", "窗口"),
    "model by variable": ("named by {where}", "由 {where} 指定"),
    "model by configured": ("configured in {where}", "由 {where} 配置"),
    "model by key": ("{where} is set", "已设置 {where}"),
    "model by server": ("{where} is running here", "本机正在运行 {where}"),
    "model by file": ("a file named in {where}", "由 {where} 指定的文件"),
    "model by tiny": (
        "the tiny model, for trying the machinery and not for answers",
        "微型模型：可试用功能，回答不可靠",
    ),
    "key missing": ("; no key: set {variable}", "；缺少密钥：请设置 {variable}"),
    "choose model": (
        "The first is used. --model, SIGHTLINE_MODEL or `model` in sightline.toml choose another.",
        "默认使用第一个。可用 --model、SIGHTLINE_MODEL 或 sightline.toml 中的 `model` 另选。",
    ),
    "no model": (
        "No model is configured, and none was found on this machine. One of these helps, the quickest first:\n"
        "  sightline model get           fetches a tiny model ({size} MB), to try the machinery with\n"
        "  a key in the environment      {variables}, …\n"
        "  a server on this machine      {servers}, …: found while it runs\n"
        "  sightline chat -m PATH.gguf   a model's file, run in this process\n"
        "  [model] in sightline.toml     any other model: see docs/chat.md",
        "没有配置模型，本机也没有找到。以下任选其一，最快的在前：\n"
        "  sightline model get           获取微型模型（{size} MB），用于试用\n"
        "  环境变量中的密钥              {variables} 等\n"
        "  本机上的服务                  {servers} 等：运行时会被发现\n"
        "  sightline chat -m PATH.gguf   模型文件，在本进程中运行\n"
        "  sightline.toml 中的 [model]   其他任何模型：见 docs/chat.md",
    ),
    "too small for tools": (
        "{model} is too small for tools: it gets no tools and no windows, and answers in plain text.",
        "{model} 太小，无法使用工具：不提供工具和窗口，它只以纯文本回答。",
    ),
    "fetching": ("Fetching the tiny model, {size} MB …", "正在获取微型模型，{size} MB……"),
    "really fetch": (
        "Fetch SmolLM2 with 135 million parameters ({size} MB)? It is good for trying the machinery, not for answers.",
        "获取 SmolLM2（1.35 亿参数，{size} MB）吗？它可用来试用功能，但回答不可靠。",
    ),
    "fetched": (
        "Fetched: {file}. `sightline chat` uses it when there is no other; --model tiny names it.",
        "已获取：{file}。没有其他模型时 `sightline chat` 会使用它；也可用 --model tiny 指定。",
    ),
    "fetched before": ("It is here already: {file}", "已在本机：{file}"),
    # verify
    "verifying": ("verifying {id}", "校验 {id}"),
    "verified": (
        "Payloads made again from the log: {payloads:,}, sessions: {sessions:,}; every one is what was sent.",
        "由日志重新生成 {sessions:,} 个会话的 {payloads:,} 个请求：全部一致。",
    ),
    "verified bad": (
        "{bad:,} of {payloads:,} payloads are not what was sent.",
        "{payloads:,} 个请求中有 {bad:,} 个与发送的不一致。",
    ),
    "mismatch": (
        "{session} branch {branch} payload {number}: sent {expected}, now {found}",
        "{session} 分支 {branch} 请求 {number}：发送时 {expected}，现在 {found}",
    ),
    "window gone": (
        "{session} branch {branch} payload {number}: a window that it showed is no longer kept",
        "{session} 分支 {branch} 请求 {number}：其中显示过的窗口已不存在",
    ),
}


class Phrases:
    """The table in one language."""

    def __init__(self, language: str, more: Mapping[str, tuple[str, str]] | None = None) -> None:
        """`more`: the words that only one command needs."""
        self.language = language
        self._place = LANGUAGES.index(language)
        self._words = _PHRASES if more is None else {**_PHRASES, **more}

    def __call__(self, key: str, /, **values: Any) -> str:
        """The words for `key`, filled in."""
        return self._words[key][self._place].format(**values)

    def reason(self, reason: str) -> str:
        """The engine's reason for a break; one that the table does not know is shown as it is."""
        return self._words[reason][self._place] if reason in self._words else reason

    def sweep(self, reason: str) -> str:
        """The same without the word for a sweep, for a column that has it as its title."""
        return self.reason(reason).removeprefix("sweep: ").removeprefix("清扫：")
