"""Chinese: the values a turn states. What is left between function words, politeness and punctuation is a value."""

import re
from collections import defaultdict

from sightline.recall.quotes import english
from sightline.recall.quotes.value import BREAKS, Value


def _any(words: str) -> str:
    """A pattern of any of these words, the longest first, found by their first character: a third of the time."""
    rests: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(words.split(), key=lambda word: (-len(word), word)):
        rests[word[0]].append(word[1:])
    groups = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items())
    return f"(?=[{''.join(rests)}])(?:{groups})"


# --- What says where a value ends ---------------------------------------------------------------------------------

NUMBER = r"\d+(?:[.,:：/]\d+)*"
NUMERAL = "[一二三四五六七八九十]"
WEEKDAY = r"(?:周|星期|礼拜)[一二三四五六日天末]"
UNIT = (
    r"(?:个?半?小时|分钟|公里|千米|平方米|平米|万元|美元|欧元|块钱|人民币|公斤|km|kg|cm|[元块分岁℃%]"
    r"|天(?![\u4e00-\u9fff])|天(?=[以左的之]))"  # not of a name: 7天酒店
)
RANGE = rf"(?:[ ]?[-~～—至到]+[ ]?{NUMBER}{UNIT}?)+"
FIGURE = (
    rf"(?=[\d周星礼+])(?:(?:{WEEKDAY}(?:[ ]?[至到~-][ ]?{WEEKDAY})?[ ,，]*)?{NUMBER}{UNIT}?"
    rf"(?:{RANGE}|(?<!\d))(?:以上|以下|以内|左右|之间)?|\+?\d[\d-]{{6,}}\d)"  # a number alone may belong to a name
)
BEGINS_DAY = r"\d一二三四五六七八九十上下这本周星礼今明后昨前早晚中傍凌"
DAYTIME = "(?:(?:[早晚]上|[上下中]午)(?!好)|傍晚|凌晨)"
DAY = (
    rf"(?=[{BEGINS_DAY}])(?:(?:\d{{2,4}}年)?\d{{1,2}}月(?:\d{{1,2}}[日号])?|\d{{2,4}}年"
    rf"|{NUMERAL}{{1,2}}月{NUMERAL}{{1,3}}[日号]|(?:[上下这本]个?)?{WEEKDAY}"
    rf"|[明后昨前]天{DAYTIME}?|(?:今天)?{DAYTIME})"
)
LABELS = """
    评分 人均消费 人均 消费 门票 票价 价格 价钱 价位 地址 电话 手机号 手机 号码 邮箱 营业时间 开放时间
    游玩时间 游玩时长 时长 生日 日期 预算 车型 车牌 推荐菜 招牌菜 出发地 目的地 爱好 职业 密码 编号 订单号
    """
STOPS = """
    您好 你好 谢谢 谢 感谢 再见 拜拜 不客气 客气 请问 请 麻烦 帮我 帮忙 帮您 帮你 帮找 帮查 帮助 效劳 欢迎 抱歉 报歉
    对不起 不好意思 收到 明白 了解 愉快 联系 随时 没问题 问题 没关系 没事 放心 祝您 祝你 早上好 上午好 下午好 晚上好
    晚安 高兴 哈哈 开心 夸奖 天气 生活 清楚 好的 好啊 好吧 嗯 恩 稍等 稍后 马上 一下 一家 一个 一些 一道 这家 那家 哪家
    哪个 哪些 哪里 哪儿 这些 那些 这个 那个 这里 那里 这 什么 多少 怎么样 怎么 怎样 如何 多长 多久 多钱 为什么 可以 可是
    能不能 是不是 有没有 是否 能否 能够 推荐 建议 查到 查询 查找 查看 找到 咨询 提问 记下 记住 我们 你们 他们 她们 咱们
    大家 您 你 我 他家 她家 它家 他 她 它 的话 的 了 吗 呢 啊 呀 哦 嘛 呗 哟 喽 啦 么 知道 告诉 希望 想要 想去 想吃
    需要 要求 打算 准备 计划 觉得 认为 感觉 听起来 喜欢 适合 合适 满足 符合 满意 接受 考虑 选择 附近 周边 旁边 周围 当地
    地方 时候 时间 期间 最近 现在 今天 已经 还有 还是 还 就是 就 是 没有 叫做 名叫 叫 名字 名称 有名 位于 属于 以及 或者
    看看 用餐 就餐 吃饭 吃到 尝尝 品尝 入住 住宿 游玩 游览 参观 逛逛 走走 转转 溜达 放松 试试 乘坐 打车 预订 预定 预约
    安排 并且 而且 但是 不过 因为 所以 如果 然后 接着 接下来 之后 以后 最好 最低 比较 非常 特别 很 不错 好玩 好吃
    完全 当然 另外 顺便 其他 其它 别的 其中 同时 重新 比如 例如 左右 等等 提供 具体 信息 条件 分别 大概 应该 可能 一定
    正好 直接 才能
    """
GENERIC = "景点 餐馆 餐厅 酒店 宾馆 饭店 地铁站"  # what a thing is, unless a name stands before it
BEGINS = "".join(sorted({word[0] for word in f"{LABELS} {STOPS} {GENERIC} 吧 太".split()}))
PARTS = re.compile(
    rf"""
    (?=[{BEGINS}{BEGINS_DAY}\W])(?:  # most characters begin nothing
    (?P<within>[(（][^()（）{BREAKS}]{{1,40}}[)）])
    |[《“「『"](?P<quoted>[^《》“”「」『』"{BREAKS}]{{1,40}})[》”」』"]
    |(?P<figure>{FIGURE})
    |(?P<day>{DAY})
    |(?P<label>{_any(LABELS)})
    |(?P<stop>{_any(GENERIC)}[有是为叫在](?!限)|(?<![酒网])吧|太(?=[多贵远好棒晚早大小])|{_any(STOPS)}
        |[^\w\s·&'＆.\#-]+|[ ]+(?![A-Za-z0-9])|(?<![A-Za-z0-9])[ ]+|[^\S ]+)
    )
    """,
    re.VERBOSE,
)
LINKS = frozenset(["是", "：", ":", "叫", "叫做", "名叫", "就是", "就", ""])  # between a label and its value; blanks
LEAD = re.compile(  # what may begin what is left, and begins no name
    r"(?:[去在有到从吃找住或与及给把要想能再也都来订看玩逛用为对让坐那又并且等说做个种道买点查选后好行哪该此啥几某每只各得没多家完们]"
    r"|和(?!平)|[一二两三四五六几\d][个家]|大约|会(?=[有去来])|任何|所有|不少|其中|定好)+"
)
TRAIL = "去在有到从找住和或与及给把要想能会再也都等看玩逛用为对让坐那又里后个呐哈哪嗯且不没"
AND = re.compile(r"[和或与及到](?![^(（]{0,40}[)）])")
BOTH = 4  # characters of two names and the word between them are more: 颐和园 is one name
WORDS = 3  # blanks of a name in Latin letters; with more it is a sentence

# --- What a value is worth ----------------------------------------------------------------------------------------

FIGURES, HOURS, DAYS, NAMES = 3.0, 2.0, 1.0, 3.0
LISTED = 2.5  # one of several: 故宫、天坛
POINTED, POINTED_SHORT = 2.2, 0.6  # after a word that points at something: 去故宫; of two characters it may be a verb
LONG, PLAIN = 1.0, 0.1  # any other words; names are longer than verbs
POINTING = frozenset("是有去在叫到从吃荐做票价：:为")
EXACT = re.compile("[0-9月]")  # of a day: a date
UNCLEAR = re.compile(r".*[元块]|[\d.,-]{1,8}")  # a price, but of what
NAME = re.compile(
    r"[A-Za-z)）]|...[店馆]$|[楼园宫寺庙山湖海河江岛路街巷区县市省镇村站口院场城桥门塔厅寓轩斋居府阁坊庄型]$"
    r"|(?:酒吧|中心|大学|学校|公司)$"
)
BARE = frozenset(f"""
    {GENERIC} 地铁 地铁口 出租车 出租 车 菜 公司 工作 服务 设施 类型 酒店类型 结束 单位 便宜 有点 景区 朋友 孩子 味道
    方便 介绍 正宗 详细 确实 休息 特色 别处 别家 兴趣 多远 OK ok
    """.split())  # fmt: skip


def values(text: str) -> list[Value]:
    """The values of a Chinese turn, in order."""
    found: list[Value] = []
    begin, label = 0, -1  # where what is not yet read begins, and the label of the next value
    for match in PARTS.finditer(text):
        kind = match.lastgroup or ""
        first, end = match.span()
        if kind == "within" and first > begin:
            continue  # brackets belong to the name before them
        if first > begin:
            label = _left(found, text, begin, first, label)
        begin = end
        if kind in ("figure", "day", "quoted"):
            found.append(_figure(match, kind, first if label < 0 else label))
        label = first if kind == "label" else label if kind == "stop" and match.group().strip(" ") in LINKS else -1
    _left(found, text, begin, len(text), label)
    return found


def _figure(match: re.Match[str], kind: str, label: int) -> Value:
    """A figure, a moment or a quotation, with its label where it says too little."""
    said = match.group()
    vague = kind == "day" and not EXACT.search(said)
    worth = DAYS if vague else HOURS if ":" in said else FIGURES
    first = label if UNCLEAR.fullmatch(said) else match.start()
    return Value(first, match.end(), match.group(kind).lower(), worth, label)


def _left(found: list[Value], text: str, begin: int, end: int, label: int) -> int:
    """Adds what is left there, if it is a value. Where it begins, if it may be the label of the next; else -1."""
    if end - begin > BOTH and (both := AND.search(text, begin + 2, end - 2)):
        _left(found, text, begin, both.start(), label)
        begin, label = both.end(), -1
    lead = LEAD.match(text, begin, end)
    first = lead.end() if lead else begin
    key = text[first:end].rstrip(TRAIL)
    if len(key) < 2 or key in BARE:
        return first if key and not lead else -1
    if key.isascii() and key.count(" ") > WORDS:
        for value in english.values(key):
            found.append(value._replace(first=first + value.first, end=first + value.end, label=first + value.label))
        return -1
    worth = NAMES if NAME.search(key) else _plain(text, first, first + len(key))
    found.append(Value(first, first + len(key), key.lower(), worth, first if label < 0 else label))
    return first if worth == PLAIN else -1


def _plain(text: str, first: int, end: int) -> float:
    """The worth of what looks like any words, by what stands beside it."""
    before, after = text[first - 1 : first], text[end : end + 1]
    if before in ("、", " ") or after in ("、", ","):
        return LISTED
    if before in POINTING:
        return POINTED if end - first > 2 else POINTED_SHORT
    return LONG if end - first > 4 else PLAIN
