"""Words that name nothing by themselves: those of grammar, of politeness, and of talking about what was said."""

import re

from sightline.recall.search.terms import STOP_TERMS, terms
from sightline.values.pattern import pattern

# --- English: one form of each word -------------------------------------------------------------------------------

GRAMMAR = """
    nor without onto here it's isn't aren't don't doesn't didn't haven't won't wouldn't can't cannot couldn't shall
    mine myself i'm i'd i'll i've we're we've we'll yourself you're you'd you'll you've they're one what's where's
    who's let let's that's there's here's up out off over under down back again away through along before after until
    till since while because though although however between during whether either neither both more most few less
    least only just also too very quite still yet already now once ever never always maybe perhaps else other another
    such same own well even ahead together far soon long way
"""
POLITE = """
    please thanks thank thx hi hello hey bye goodbye ok okay yes yeah yep yup nope sure great good nice fine perfect
    cool awesome wonderful excellent alright right correct sorry welcome glad happy pleasure bit lot
"""
LIGHT = """
    get got go went gone come came make made take took give gave put bring want need like look find found keep help see
    seen saw know knew think thought try use seem sound work run start end thing something anything nothing someone
    anyone time kind sort place stuff able possible today continue proceed
"""
ALL = "all everything every each whole entire full complete overall altogether total"
SUMMING = "recap recapitulate summary summarise summarize overview outline rundown checklist sum wrap gist"
TALK = """
    say said tell told talk speak spoke mention discuss discussion ask answer show list repeat read review remind
    reminder memory remember check confirm note write wrote written agree settle decide decision arrange arrangement
    plan choose chose choice fix conclude conclusion conversation chat session dialogue message detail information info
    point picture stand catch beginning word
"""
ENGLISH = STOP_TERMS.union(terms(f"{GRAMMAR} {POLITE} {LIGHT} {ALL}"))
ASKING = ENGLISH.union(terms(f"{SUMMING} {TALK}"))


def names_nothing(words: str) -> bool:
    """Return whether an English word, or all of several, name nothing in a statement."""
    return ENGLISH.issuperset(terms(words))


def is_asking(word: str) -> bool:
    """Return whether an English word names nothing in a question. Adverbs do not either."""
    return word.endswith("ly") or not ASKING.isdisjoint(terms(word))


# --- Chinese ------------------------------------------------------------------------------------------------------

GRAMMAR_ZH = """
    我们 你们 他们 她们 它们 咱们 大家 自己 您 你 我 他家 她家 它家 他 她 它 的话 的 了 吗 呢 啊 呀 哦 嘛 呗
    哟 喽 啦 么 这些 那些 这个 那个 这里 那里 这儿 那儿 这家 那家 这次 这么 那么 这样 那样 这 哪个 哪些 哪里
    哪儿 哪家 哪几 哪 什么 多少 多久 多长 怎么样 怎么 怎样 如何 为什么 是不是 有没有 能不能 是否 能否 可以 可是
    能够 应该 可能 一定 需要 想要 希望 打算 准备 觉得 认为 感觉 喜欢 知道 告诉 就是 就 是 没有 已经 还有 还是 还
    很 非常 特别 比较 以及 或者 并且 而且 但是 不过 因为 所以 如果 然后 接着 接下来 之后 以后 后来 之前 以前 之间
    另外 顺便 其他 其它 别的 其中 同时 比如 例如 左右 等等 大概 分别 正好 直接 一起 附近 周边 周围 旁边 里面
    时候 时间 最近 现在 今天 地方 位于 属于 关于 对于 叫做 名叫 名字 名称 看看 找到 起来 下来 出来 只有 一下 一点
    一些
"""
POLITE_ZH = """
    您好 你好 早上好 上午好 下午好 晚上好 晚安 再见 拜拜 谢谢 谢 感谢 多谢 不客气 客气 请问 请 麻烦 帮我 帮忙
    帮您 帮你 帮助 欢迎 抱歉 对不起 不好意思 收到 明白 了解 清楚 愉快 没问题 没关系 没事 放心 祝您 祝你 高兴 开心
    哈哈 继续 好的 好啊 好吧 嗯 恩 当然 稍等 马上 随时 不错 满意 合适 适合 符合 满足 推荐 建议 介绍 提供 选择 考虑
    查到 查询
"""
LEADING = "去在有到从找或与及给把要想能再也都看用为对让那又等做个好没最太会才只更被向跟叫几每各"  # no name begins so
TRAILING = "去在有到从找和或与及给把要想能会再也都等看用为对让那又里后个不没着过"  # few names end so
ALL_ZH = "全部 所有 一切 统统 全都 全 整个 完整 每 各 总共 一共 逐项 逐一 逐个 都 从头"
SUMMING_ZH = "回顾 总结 小结 概括 概述 归纳 汇总 整理 梳理 清单"
TALK_ZH = """
    说好 说 讲 谈妥 谈 聊 念 问 答 提到 提 讨论 商量 复述 重复 列出 列 写 记下 记 确认 确定 核对 决定 定 约
    安排 计划 方案 选 要点 细节 内容 信息 消息 情况 结果 结论 进展 会话 对话 聊天 前面 刚才 刚刚 目前 为止 至今
    到底 半天 最后 最终 听 事情 事项 东西
"""
SMALL_ZH = "一[份张条家次遍件] [上下里来地得行查多家吧咱帮尾发事]"


def _any(words: str) -> str:
    """Return a pattern of any of these words, the longest first."""
    return "|".join(sorted(set(words.split()), key=lambda word: (-len(word), word)))


CHINESE = _any(f"{GRAMMAR_ZH} {POLITE_ZH}")
ASKING_CHINESE = pattern(
    f"{_any(f'{GRAMMAR_ZH} {POLITE_ZH} {ALL_ZH} {SUMMING_ZH} {TALK_ZH}')}|{_any(SMALL_ZH)}|[{LEADING}{TRAILING}]"
)
MEANS_ALL = pattern(
    rf"(?<!\bat )(?<!\bafter )(?<!\bbe )(?<!\bis )(?<!'s )\b(?:{_any(ALL)})\b|{_any(ALL_ZH)}", re.IGNORECASE
)
SUMS_UP = pattern(
    rf"\b(?:{_any(SUMMING)})|\b(?:so far|(?:up to|until|by) now|(?:have|did) (?:we|you))\b|{_any(SUMMING_ZH)}",
    re.IGNORECASE,
)
TALKS = pattern(rf"\b(?:{_any(TALK)})|{_any(TALK_ZH)}", re.IGNORECASE)
# What asks for a report in any conversation: "fix all of it" and "did you check?" do not.
PAST = r"(?:(?:'ve|'d| have| had) \w+| (?:\w+ed|got|did|made|said|chose|took|spoke|wrote))"
REPORTS = pattern(
    r"\b(?:recap|recapitulate|summary|summari[sz]e|overview|rundown|gist|sum(?: \w+)? up"
    r"|where (?:do )?(?:we|things) stand|what(?:'s| has| have) been"
    r"|(?:what|which)\b[^.!?]*\b(?:(?:have|did|had) we(?! got to| to\b)|so far|(?:up to|until|by) now)"
    rf"|(?:tell|give|remind|catch|read|repeat|list|write)\b[^.!?]*\bwhat we{PAST})\b"
    rf"|{_any(SUMMING_ZH.replace('清单', ''))}|捋"
    r"|(?:到现在|目前为止|至今|总的来说|(?:最后|最终).*都|(?:我们|咱们).*[了过定好]).*(?:什么|哪些|哪几)"
    r"|(?:前面|刚才|刚刚|之前|那些).*再.{0,3}(?:说|讲|念|列|复述|重复)",
    re.IGNORECASE,
)
TELLS = pattern(
    r"\b(?:tell|repeat|list|remind|recite|go (?:over|through)|(?:run|walk|take) \w+ through|give me|read\b.*\bback)\b"
    r"|\b(?:check|confirm|review)\b.*\bfrom the (?:beginning|start)\b"
    r"|(?<![你您我])(?:说|讲|聊|谈)(?!完)|告诉我|复述|重复|列|念|过一遍|写一下|写下来|发给?我",
    re.IGNORECASE,
)
# What says that all of it was told before. Without it, or a word of talking, "all of it" is what was spoken of last.
LOOKS_BACK = pattern(
    r"\b(?:again|back|repeat|remind|recite|once more|from the (?:beginning|start|top)|(?:run|walk|take) \w+ through"
    r"|go (?:over|through)(?!.*\b(?:it|them|this|that|these|those)\b))\b"
    r"|再|重新|从头|前面|刚才|刚刚|之前|到底|复述|重复|[说讲聊谈问选][好妥定过了]|^(?!.*[它这]).*一遍",
    re.IGNORECASE,
)
