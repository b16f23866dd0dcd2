"""What people read in a report, in English and Chinese: a table, and the words of a piece of advice."""

from typing import NamedTuple

from sightline.report.values import Advice
from sightline.values.phrases import Phrases

say = Phrases({
    "title": ("Where the tokens went", "token 的去向"),
    "sessions": ("{sessions:,} sessions, {calls:,} calls of a model, {begin} to {end}",
                 "{sessions:,} 个会话，{calls:,} 次模型调用，{begin} 至 {end}"),
    "no dates": ("{sessions:,} sessions, {calls:,} calls of a model", "{sessions:,} 个会话，{calls:,} 次模型调用"),
    "usage reported": ("Tokens and costs are what the providers reported.", "token 和费用来自服务商的报告。"),
    "usage mixed": (
        "{reported:,} of {sessions:,} logs say what the provider counted; the others are a forecast.",
        "{sessions:,} 个日志中有 {reported:,} 个包含服务商的计数；其余为估算。",
    ),
    "usage forecast": (
        "These logs do not say what the provider counted: all figures are a forecast.",
        "这些日志没有服务商的计数：所有数字均为估算。",
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
        "Costs are in uncached input tokens: one from the cache counts {read:g}, one written to it {write:g}, one of "
        "the answer {output:g}.",
        "费用折算为未缓存的输入 token：缓存读取计 {read:g}，写入缓存计 {write:g}，回答计 {output:g}。",
    ),
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
    "sent means": (
        "Every call sends the conversation so far again: \"sent in all\" counts a text once for each call that "
        "sent it.",
        "每次调用都会重新发送此前的对话：“累计发送”按发送次数重复计数。",
    ),
    "kind system": ("system prompt", "系统提示"),
    "kind user": ("user", "用户"),
    "kind harness": ("added by the program", "程序加入"),
    "kind assistant": ("answers", "回答"),
    "kind call": ("tool calls", "工具调用"),
    "kind result": ("tool results", "工具结果"),
    "kind summary": ("summaries", "摘要"),
    "kind unlogged": ("not in the log: system prompt, tools", "日志之外：系统提示、工具定义"),
    # caching
    "caching": ("What caching cost", "缓存的代价"),
    "caching none": (
        "No call had to process again what a call before had sent.",
        "没有调用需要重新处理先前已发送的内容。",
    ),
    "cause": ("cause", "原因"),
    "times": ("times", "次数"),
    "processed again": ("processed again", "重新处理"),
    "cause pause": ("pause longer than the cache", "停顿超过缓存有效期"),
    "cause model": ("another model", "更换模型"),
    "cause compaction": ("compaction", "压缩"),
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
        "{count:,} compactions. The summaries do not say {constraints:,} instructions of the user, {paths:,} paths, "
        "{identifiers:,} names, {numbers:,} numbers and {errors:,} error lines that stood there before.",
        "共 {count:,} 次压缩。摘要未包含之前存在的 {constraints:,} 条用户要求、{paths:,} 个路径、{identifiers:,} "
        "个名称、"
        "{numbers:,} 个数字和 {errors:,} 行错误。",
    ),
    "compaction needed": (
        "{needed:,} later answers used something of that. The messages that say it have {tokens:,} tokens.",
        "之后有 {needed:,} 个回答用到了其中的内容，相关消息共 {tokens:,} 个 token。",
    ),
    "compaction named": ("Instructions lost, the first of them: {named}", "丢失的要求（前几条）：{named}"),
    # forecast
    "forecast": ("What Sightline would have sent instead (forecast)", "若使用 Sightline 会发送的内容（估算）"),
    "forecast none": ("No forecast was asked for.", "未要求估算。"),
    "recorded": ("as it was", "实际"),
    "everything": ("everything, every time", "每次发送全部历史"),
    "economy safe": ("Sightline", "Sightline"),
    "economy thrifty": ("Sightline, economy = thrifty", "Sightline，economy = thrifty"),
    "against": ("against that", "与实际相比"),
    "rereads": ("read again", "需重读"),
    "forecast means": (
        "A replay of the same messages with the same pauses. What an answer used and the prompt would not have shown "
        "counts as read again, at its price. Nothing of this was sent to a model.",
        "以相同的消息和停顿重放。回答用到而提示中没有显示的内容按重读计费。以上内容没有发送给任何模型。",
    ),
    # sessions
    "by session": ("By session", "按会话"),
    "session": ("session", "会话"),
    "calls": ("calls", "调用"),
    "hit": ("cached", "缓存命中"),
    "compactions": ("compactions", "压缩"),
    "day": ("day", "日期"),
    "refused": ("{count:,} files are no sessions or cannot be read.", "{count:,} 个文件不是会话或无法读取。"),
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
    "saves": ("{share:.0%} of the cost", "费用的 {share:.0%}"),
    "saves money": ("{share:.0%} of the cost, {money:,.2f} $", "费用的 {share:.0%}，{money:,.2f} 美元"),
    "saves forecast": ("forecast", "估算"),
    "saves up to": ("up to", "至多"),
    "break pause": (
        "{count:,} pauses outlasted the provider's cache, so {tokens:,} tokens were processed again.",
        "{count:,} 次停顿超过了服务商缓存的有效期，{tokens:,} 个 token 被重新处理。",
    ),
    "break pause do": (
        "Before a long break, finish the task and begin a new session after it, or compact before you leave, not after "
        "you return. If your provider offers a longer cache (one hour at Anthropic), use it for sessions with pauses.",
        "长时间离开前先完成任务，回来后新开会话；或在离开之前而不是回来之后压缩。若服务商提供更长的缓存（"
        "Anthropic 为一小时），"
        "请在有停顿的会话中使用。",
    ),
    "break model": (
        "The model was changed {count:,} times within a session, so {tokens:,} tokens were processed again.",
        "会话中更换模型 {count:,} 次，{tokens:,} 个 token 被重新处理。",
    ),
    "break model do": (
        "A cache belongs to one model. Choose the model at the start of a session; for another one begin a new session "
        "with what it needs.",
        "缓存只属于一个模型。请在会话开始时选定模型；要换模型时，带上所需内容新开会话。",
    ),
    "break other": (
        "{count:,} calls did not find in the cache what the call before had sent, without a pause: {tokens:,} "
        "tokens were "
        "processed again.",
        "{count:,} 次调用在没有停顿的情况下未命中先前发送的内容：{tokens:,} 个 token 被重新处理。",
    ),
    "break other do": (
        "Keep what comes first in the prompt unchanged during a session: tools and MCP servers, system prompt, project "
        "instructions, dates. Edit earlier messages and rewind rarely. Some misses are the provider's own.",
        "会话期间保持提示开头不变：工具与 MCP 服务器、系统提示、项目说明、日期。少修改先前的消息，少回退。部分未命"
        "中是服务商自身造成的。",
    ),
    "read again": (
        "{count:,} readings of files showed nothing new, {tokens:,} tokens; most often {file} ({times:,} times).",
        "{count:,} 次读取文件没有得到新内容，共 {tokens:,} 个 token；最多的是 {file}（{times:,} 次）。",
    ),
    "read again do": (
        "Tell the agent to read the part it needs, and not to read again what it has just edited. Sightline "
        "shows a file "
        "once: newer readings replace older ones.",
        "让代理只读取需要的部分，不要重读刚编辑过的文件。Sightline 只显示一份文件：新的读取取代旧的。",
    ),
    "large results": (
        "{count:,} tool results are longer than {above:,} tokens. What is above that, {tokens:,} tokens, was "
        "sent along "
        "until it came to {sent:,}; most of it comes from {tool}.",
        "{count:,} 个工具结果超过 {above:,} 个 token。超出部分共 {tokens:,} 个 token，反复发送累计 {sent:,} 个；其"
        "中最多来自 {tool}。",
    ),
    "large results do": (
        "Limit output where it arises: quiet flags, head or tail, a line range, a search before a reading, or a "
        "subagent "
        "that reports. Sightline shows large output shortened, and expand brings it back.",
        "从源头限制输出：安静模式、head 或 tail、指定行范围、先搜索再读取，或让子代理只汇报。Sightline 会缩短过长"
        "的输出，可用 expand 取回。",
    ),
    "compaction advice": (
        "{count:,} compactions made the provider process the prompt anew; {again:,} readings repeated what they had "
        "removed, and {needed:,} answers used something that their summary does not say.",
        "{count:,} 次压缩使服务商重新处理提示；{again:,} 次读取重复了被移除的内容，{needed:,} 个回答用到了摘要中没"
        "有的内容。",
    ),
    "compaction advice do": (
        "Begin a new session for a new task, so that compactions become rare. Sightline shortens old items one by one "
        "instead, and each can be shown again.",
        "新任务新开会话，以减少压缩。Sightline 改为逐项缩短旧内容，每一项都可再次显示。",
    ),
    "sightline": (
        "With Sightline (economy = {economy}) the same calls would have cost less, {rereads:,} readings again "
        "included.",
        "使用 Sightline（economy = {economy}），同样的调用费用更低，其中已计入 {rereads:,} 次重读。",
    ),
    "sightline do": (
        "Try it: `sightline wrap -- claude` or `sightline wrap -- codex` puts it between the agent and the provider. "
        "`sightline replay FILE` shows call by call what it would send.",
        "可以试用：`sightline wrap -- claude` 或 `sightline wrap -- codex` 将其置于代理与服务商之间。`sightline "
        "replay 文件` "
        "逐次显示会发送的内容。",
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
    before = say("saves up to", locale) + " " if advice.kind in _AT_MOST else ""
    after = f" ({say('saves forecast', locale)})" if advice.is_forecast else ""
    return Told(f"{before}{saving}{after}", say(key, locale, **advice.facts), say(f"{key} do", locale))
