"""What people read in a report, in English and Chinese: a table, and the words of a piece of advice."""

from typing import NamedTuple

from sightline.values.phrases import Phrases
from sightline.view.report.values import Advice

say = Phrases({
    "title": ("Where the tokens went", "token 的去向"),
    "sessions": (
        "Sessions: {sessions:,}. Calls of a model: {calls:,}. From {begin} to {end}.",
        "会话：{sessions:,}。模型调用：{calls:,}。{begin} 至 {end}。",
    ),
    "no dates": (
        "Sessions: {sessions:,}. Calls of a model: {calls:,}.",
        "会话：{sessions:,}。模型调用：{calls:,}。",
    ),
    "usage reported": ("Tokens and costs are what the providers reported.", "token 和费用来自服务商的报告。"),
    "usage mixed": (
        "{reported:,} of {sessions:,} logs say what the provider counted; the others are a forecast of sending "
        "everything each time, as far as the context window holds it.",
        "{sessions:,} 个日志中有 {reported:,} 个包含服务商的计数；其余按每次发送上下文窗口放得下的全部内容估算。",
    ),
    "usage forecast": (
        "These logs do not say what the provider counted: all figures are a forecast of sending everything each time, "
        "as far as the context window holds it.",
        "这些日志没有服务商的计数：所有数字均按每次发送上下文窗口放得下的全部内容估算。",
    ),
    # what was spent
    "spent": ("What was spent", "用量"),
    "input": ("input tokens", "输入 token"),
    "cached": ("read from the cache", "缓存读取"),
    "written": ("written to the cache", "写入缓存"),
    "fresh": ("neither", "未缓存"),
    "output": ("output tokens", "输出 token"),
    "cost": ("cost", "费用"),
    "cost unit": (
        "Costs are in uncached input tokens. At most providers one from the cache counts 0.1, one written to it 1.25, "
        "and one of the answer about 5.",
        "费用折算为未缓存的输入 token。多数服务商：缓存读取计 0.1，写入缓存计 1.25，回答约计 5。",
    ),
    "unnamed": ("a model that is not named", "未注明的模型"),
    "over time": ("Input tokens of each session, in the order of time", "各会话的输入 token（按时间排列）"),
    "highest": ("highest column: {tokens:,}", "最高：{tokens:,}"),
    "money": ("money", "金额"),
    "unpriced": (
        "No price is known here for {models}. --price 2/10/0.2 says it (input, output, cached, for a million tokens).",
        "不知道 {models} 的价格。可用 --price 2/10/0.2 指定（每百万 token 的输入、输出、缓存价格）。",
    ),
    "elsewhere": (
        "{tokens:,} more input tokens were of subagents and of turns that were taken back.",
        "另有 {tokens:,} 个输入 token 属于子代理和被撤回的轮次。",
    ),
    # shares
    "by kind": ("By kind", "按类型"),
    "by tool": ("By tool", "按工具"),
    "by file": ("By file", "按文件"),
    "name": ("", ""),
    "items": ("items", "项数"),
    "tokens": ("tokens", "token"),
    "sent": ("sent in all", "累计发送"),
    "share": ("share", "占比"),
    "share said": ("of what was said", "占全部内容"),
    "sent means": (
        "Every call sends the conversation so far again: \"sent in all\" counts a text once for each call that "
        "sent it. An item is a message, a tool call or a tool result: a call and its result are two.",
        "每次调用都会重新发送此前的对话：“累计发送”按发送次数重复计数。一项是一条消息、一次工具调用或一个工具结果："
        "一次调用及其结果算两项。",
    ),
    "kind system": ("system prompt", "系统提示"),
    "kind user": ("user", "用户"),
    "kind note": ("added by the program", "程序加入"),
    "kind assistant": ("answers", "回答"),
    "kind call": ("tool calls", "工具调用"),
    "kind result": ("tool results", "工具结果"),
    "kind summary": ("summaries", "摘要"),
    "kind thinking": ("thinking", "思考"),
    "kind recall": ("recalled", "召回"),
    "kind unlogged": ("not in the log: system prompt, tools", "日志之外：系统提示、工具定义"),
    # caching
    "caching": ("What caching cost", "缓存的代价"),
    "caching none": (
        "No call had to process again what a call before had sent.",
        "没有调用需要重新处理先前已发送的内容。",
    ),
    "caching unreported": (
        "Sessions in which the provider reported no cached tokens in any call: {count:,} of {sessions:,}. It does not "
        "cache, it does not report it, or caching was not asked for. What its cache missed is not known and not "
        "counted.",
        "服务商在任何调用中都没有报告缓存 token 的会话：{count:,} / {sessions:,}。服务商不提供缓存、不报告缓存，或未"
        "请求缓存。缓存未命中的情况无从得知，不计入。",
    ),
    "cost parts": (
        "Of the cost, {read:.0%} is for reading from the cache, {write:.0%} for writing to it, {fresh:.0%} for input "
        "beside it and {output:.0%} for answers.",
        "费用构成：缓存读取 {read:.0%}，写入缓存 {write:.0%}，其余输入 {fresh:.0%}，回答 {output:.0%}。",
    ),
    "cause": ("cause", "原因"),
    "times": ("times", "次数"),
    "processed again": ("processed again", "重新处理"),
    "cause pause": ("pause longer than the cache", "停顿超过缓存有效期"),
    "cause model": ("another model", "更换模型"),
    "cause compaction": ("compaction", "压缩"),
    "cause sweep": ("Sightline shortened older items", "Sightline 缩短了较早的内容"),
    "cause joined": ("Sightline began to compose: its tools joined", "Sightline 开始组成对话：加入了它的工具"),
    "cause other": ("not known: changed prompt or tools, or evicted", "未知：提示或工具变化，或缓存被清除"),
    # reading again
    "reading": ("What was read twice", "重复读取"),
    "reading none": ("No file was read again while it stood in the context.", "没有文件在仍处于上下文中时被再次读取。"),
    "file": ("file", "文件"),
    "reads": ("reads", "读取"),
    "again": ("nothing new", "无新内容"),
    "after compaction": ("after a compaction", "压缩之后"),
    # compactions
    "compaction": ("What compaction lost", "压缩丢失的内容"),
    "compaction none": ("There was no compaction.", "没有发生压缩。"),
    "compaction facts": (
        "Compactions: {count:,}. What stood there before and the summaries do not say: instructions of the user "
        "{constraints:,}, paths {paths:,}, names {identifiers:,}, numbers {numbers:,}, lines with errors {errors:,}.",
        "压缩次数：{count:,}。之前存在而摘要未包含的内容：用户要求 {constraints:,}、路径 {paths:,}、名称 "
        "{identifiers:,}、数字 {numbers:,}、错误行 {errors:,}。",
    ),
    "compaction needed": (
        "Later answers that used something of that: {needed:,}. The messages that say it: {tokens:,} tokens.",
        "之后用到其中内容的回答：{needed:,} 个。相关消息：{tokens:,} 个 token。",
    ),
    "compaction named": ("Instructions lost, the first of them: {named}", "丢失的要求（前几条）：{named}"),
    # forecast
    "forecast": ("What the same calls would cost with Sightline (forecast)", "同样的调用使用 Sightline 的费用（估算）"),
    "forecast none": ("No forecast was asked for.", "未要求估算。"),
    "everything": ("everything is sent", "发送全部内容"),
    "economy safe": ("Sightline, economy = safe", "Sightline，economy = safe"),
    "forecast unchanged": (
        "With economy = {economy} nothing would have changed: these sessions fit, so every prompt is sent as it is, "
        "and the cost is exactly the same (0%).",
        "若使用 economy = {economy}，什么都不会改变：这些会话放得下，每次提示都原样发送，费用完全相同（0%）。",
    ),
    "forecast less": (
        "With economy = {economy} the same calls would have cost {share:.0%} less than sending everything, with what "
        "would have been read again (×{rereads:,}). Sessions that it leaves as they are: {unchanged:,} of "
        "{sessions:,}.",
        "若使用 economy = {economy}，同样的调用比发送全部内容便宜 {share:.0%}，已计入需重读的内容（×{rereads:,}）。"
        "保持原样的会话：{unchanged:,} / {sessions:,}。",
    ),
    "forecast same": (
        "With economy = {economy} the same calls would have cost about as much as sending everything ({share:.0%}), "
        "with what would have been read again (×{rereads:,}). Sessions that it leaves as they are: {unchanged:,} of "
        "{sessions:,}.",
        "若使用 economy = {economy}，同样的调用与发送全部内容的费用大致相同（{share:.0%}），已计入需重读的内容"
        "（×{rereads:,}）。保持原样的会话：{unchanged:,} / {sessions:,}。",
    ),
    "forecast more": (
        "With economy = {economy} the same calls would have cost {share:.0%} more than sending everything, with what "
        "would have been read again (×{rereads:,}): it does not pay for these sessions. After older parts are "
        "shortened the provider has to cache anew what follows them, and only longer sessions make up for that.",
        "若使用 economy = {economy}，同样的调用比发送全部内容贵 {share:.0%}，已计入需重读的内容（×{rereads:,}）："
        "对这些会话不划算。缩短较早的内容后，服务商要重新缓存其后的内容，会话更长时才能收回这笔费用。",
    ),
    "forecast does not pay": (
        "So Sightline would not have made these sessions cheaper.",
        "因此 Sightline 不会让这些会话更便宜。",
    ),
    "forecast reported": (
        "The providers reported a cost of {cost:,.0f} for these calls; the forecast of sending everything is "
        "{full:,.0f}. Only forecasts are compared with each other.",
        "服务商报告这些调用的费用为 {cost:,.0f}；发送全部内容的估算为 {full:,.0f}。只在估算之间比较。",
    ),
    "economy means": ("economy = {economy} {meaning}.", "economy = {economy}：{meaning}。"),
    "everything means": (
        "Sending everything is what the agent does without Sightline: with each call it sends all since its own last "
        "compaction, and never more than the model's context window holds.",
        "发送全部内容指没有 Sightline 时代理的做法：每次调用发送自上次压缩以来的全部内容，且不超过模型的上下文窗口。",
    ),
    "economy thrifty": ("Sightline, economy = thrifty", "Sightline，economy = thrifty"),
    "against": ("of everything", "占全部"),
    "rereads": ("read again", "需重读"),
    "forecast means": (
        "All rows are forecasts: the same calls with the same pauses, prices and cache. What an answer used and the "
        "prompt would not have shown counts as read again, at its price. Nothing of this was sent to a model.",
        "各行均为估算：相同的调用、停顿、价格和缓存。回答用到而提示中没有显示的内容按重读计费。以上内容没有发送给任何"
        "模型。",
    ),
    # sessions
    "by session": ("By session", "按会话"),
    "session": ("session", "会话"),
    "calls": ("calls", "调用"),
    "hit": ("cached", "缓存命中"),
    "compactions": ("compactions", "压缩"),
    "day": ("day", "日期"),
    "refused": (
        "Files that are no sessions or cannot be read: {count:,}.",
        "不是会话或无法读取的文件：{count:,}。",
    ),
    "more": ("and {count:,} more", "以及另外 {count:,} 项"),
    "made by": ("Made by Sightline {version}. Nothing in this page was loaded from elsewhere.",
                "由 Sightline {version} 生成。本页未从其他地方加载任何内容。"),
    # advice
    "advice": ("What would save most", "最能节省的做法"),
    "advice none": (
        "Nothing found that would save more than a hundredth of the cost.",
        "没有发现能节省超过百分之一费用的做法。",
    ),
    "advice overlap": ("Each figure is for itself: they overlap.", "各项数字单独计算，互有重叠。"),
    "saves": (
        "{share:.0%} of the cost",
        "费用的 {share:.0%}",
    ),
    "saves money": ("{share:.0%} of the cost, {money:,.2f} $", "费用的 {share:.0%}，{money:,.2f} 美元"),
    "saves forecast": ("{saving} (forecast)", "{saving}（估算）"),
    "saves up to": ("Up to {saving}", "至多{saving}"),
    "break pause": (
        "Pauses that outlasted the provider's cache: {count:,}. After them {tokens:,} tokens were processed again.",
        "超过服务商缓存有效期的停顿：{count:,} 次，之后重新处理了 {tokens:,} 个 token。",
    ),
    "break pause do": (
        "Before a long break, finish the task and begin a new session after it, or compact before you leave, not after "
        "you return. If your provider offers a longer cache (one hour at Anthropic), use it for sessions with pauses.",
        "长时间离开前先完成任务，回来后新开会话；或在离开之前而不是回来之后压缩。若服务商提供更长的缓存（"
        "Anthropic 为一小时），"
        "请在有停顿的会话中使用。",
    ),
    "break model": (
        "Changes of the model within a session: {count:,}. After them {tokens:,} tokens were processed again.",
        "会话中更换模型：{count:,} 次，之后重新处理了 {tokens:,} 个 token。",
    ),
    "break model do": (
        "A cache belongs to one model. Choose the model at the start of a session; for another one begin a new session "
        "with what it needs.",
        "缓存只属于一个模型。请在会话开始时选定模型；要换模型时，带上所需内容新开会话。",
    ),
    "break other": (
        "Calls that did not find in the cache what the call before had sent, without a pause: {count:,}. They "
        "processed {tokens:,} tokens again.",
        "没有停顿却未命中先前发送内容的调用：{count:,} 次，重新处理了 {tokens:,} 个 token。",
    ),
    "break other do": (
        "Keep what comes first in the prompt unchanged during a session: tools and MCP servers, system prompt, project "
        "instructions, dates. Edit earlier messages and rewind rarely. Some misses are the provider's own.",
        "会话期间保持提示开头不变：工具与 MCP 服务器、系统提示、项目说明、日期。少修改先前的消息，少回退。部分未命"
        "中是服务商自身造成的。",
    ),
    "read again": (
        "Readings of files that showed nothing new: {count:,}, with {tokens:,} tokens; most often {file} (×{times:,}).",
        "没有得到新内容的文件读取：{count:,} 次，共 {tokens:,} 个 token；最多的是 {file}（×{times:,}）。",
    ),
    "read again do": (
        "Tell the agent to read the part it needs, and not to read again what it has just edited. Sightline "
        "shows a file "
        "once: newer readings replace older ones.",
        "让代理只读取需要的部分，不要重读刚编辑过的文件。Sightline 只显示一份文件：新的读取取代旧的。",
    ),
    "large results": (
        "Tool results above {above:,} tokens: {count:,}. What is above that, {tokens:,} tokens, was sent again "
        "with each call until it came to {sent:,}; most of it comes from {tool}.",
        "超过 {above:,} 个 token 的工具结果：{count:,} 个。超出部分共 {tokens:,} 个 token，随每次调用重复发送，累"
        "计 {sent:,} 个；其中最多来自 {tool}。",
    ),
    "large results do": (
        "Limit output where it arises: quiet flags, head or tail, a line range, a search before a reading, or a "
        "subagent that reports. When the context window is full, Sightline shortens old output first, and expand "
        "brings it back.",
        "从源头限制输出：安静模式、head 或 tail、指定行范围、先搜索再读取，或让子代理只汇报。上下文窗口放满后，"
        "Sightline 先缩短旧的输出，可用 expand 取回。",
    ),
    "compaction advice": (
        "Compactions: {count:,}. The provider had to process the prompt anew; readings that repeated what they "
        "had removed: {again:,}; answers that used something their summary does not say: {needed:,}.",
        "压缩次数：{count:,}。服务商须重新处理提示；重复读取被移除内容：{again:,} 次；用到摘要中没有的内容的回答："
        "{needed:,} 个。",
    ),
    "compaction advice do": (
        "Begin a new session for a new task, so that compactions become rare. Sightline shortens old items one by one "
        "instead, and each can be shown again.",
        "新任务新开会话，以减少压缩。Sightline 改为逐项缩短旧内容，每一项都可再次显示。",
    ),
    "sightline": (
        "The same calls with Sightline (economy = {economy}), compared with the forecast of going on as before; what "
        "would have been read again (×{rereads:,}) is counted.",
        "使用 Sightline（economy = {economy}）完成同样的调用，与照旧的估算相比；已计入需重读的内容（×{rereads:,}）。",
    ),
    "sightline do": (
        "Try it: `sightline wrap --economy {economy} -- claude` (or `codex`) puts it between the agent and the "
        "provider. `sightline replay FILE --economy {economy}` shows call by call what it would send.",
        "可以试用：`sightline wrap --economy {economy} -- claude`（或 `codex`）将其置于代理与服务商之间。"
        "`sightline replay 文件 --economy {economy}` 逐次显示会发送的内容。",
    ),
})  # fmt: skip

_KEYS = {"compaction": "compaction advice"}  # where the kind of advice names a heading too
_AT_MOST = frozenset({"large results", "read again"})  # not all of that can be avoided


class Told(NamedTuple):
    """A piece of advice in words."""

    saving: str  # such as "up to 12% of the cost"
    found: str  # what the data show
    action: str  # what to do


def told(advice: Advice, locale: str = "en") -> Told:
    """Return a piece of advice in words. Names in it are as they were recorded: escape them where that matters."""
    key = _KEYS.get(advice.kind, advice.kind)
    phrase = "saves" if advice.money is None else "saves money"
    saving = say(phrase, locale, share=advice.share, money=advice.money)
    if advice.kind in _AT_MOST:
        saving = say("saves up to", locale, saving=saving)
    if advice.is_forecast:
        saving = say("saves forecast", locale, saving=saving)
    return Told(saving, say(key, locale, **advice.facts), say(f"{key} do", locale, **advice.facts))
