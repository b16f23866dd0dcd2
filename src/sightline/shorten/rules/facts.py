"""Facts that a user gives to be kept: "my time zone is UTC+8", "budget cap is $956", 客户编号是KD-48213.

A thing has a value: a number, a name, an address, a path. The value follows the verb at once, so "the server is
returning 500" is none. Things that work is about (`vocabulary.FACT`) may have a name as their value. A fact that is
announced ("note that", 请记住) needs no such thing. The input is the sentence as it was written, because a name is
known by its capital letter.
"""

import re

from sightline.shorten.rules import english
from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of

FACT = Table(
    r"""
    ^<lead>?<whose>?<words>(?i:<noun>s?)(?: <of> <words><word>)? <has> <value>  # My time zone is UTC+8.
    ^<lead>?<whose>?<words>(?i:<noun>s?)(?: <word>)?: ?<exact>.{0,40}$  # Ticket number: KD-48213
    ^<lead>?<whose><word> <words><has> <exact>(?!.*\b<measured>)  # The logo colour is #0a3d62.
    ^<lead>?<whose>?<word> <words><stands> <value>  # Invoices go to a@b.example
    ^<lead>?(?:I|We) (?:use|deploy|host|target|support|invoice) (?!to\b).{0,40}<value>  # We use Stripe.
    ^(?i:<announces>)[,:]? .{0,80}(?:<value>|\b(?i:<noun>)\b)  # Note that the fiscal year starts in July.
    ^(?:We|I)(?:'ll)? need (?:an?|two|three|four|five|six|\d+) [^.?!]{2,40} <limit> (?:\w+ )?\d  # We need a room for 12
    """,
    lead="(?i:(?:<announces>|by the way|btw|also|and|ok|okay|so)[,:]? )",
    announces=any_of("""
        (?:please~)?(?:note|remember|keep~in~mind|bear~in~mind|be~aware)~that for~the~record just~so~you~know
        for~your~(?:records|information) fyi heads[-~]up note reminder
        """),
    whose="(?i:(?:my|our|the|this|your) )",
    word=r"[\w'’.-]+",
    words=r"(?:[\w'’.-]+ ){0,3}",
    noun=any_of(v.FACT),
    of="(?:for|of|at|in|on|from|with|to)",
    has="(?:is|are|=|will be|must be)(?: <about>)*",
    about=any_of("at in on called named about around now still the an? (?:set|capped|limited)~(?:to|at) under by from"),
    stands="(?:<moves>|<lies> (?:to|at|in|on|under|from|by)|costs|holds|seats)",
    moves="(?<!to )go(?:es)? (?:to|through|via|in)",
    lies="(?:(?:live|run|listen|close|open|start|end|expire)s?|(?:is|are) (?:kept|stored|hosted|sent))",
    limit="(?:for|by|before|with|of|under|below)",
    measured=r"(?:years?|months?|weeks?|days?|hours?|minutes?|miles|old|ago|away|times|of|percent)\b",
    # a number, an address, a path, an identifier, or a name
    value=r"""["'“‘`(]?(?:[$€£#~]?\d|[\w.+-]+@\w|https?://|[\w.-]*[a-z]\.[a-z]{2,}\b|/?\w+/\w|\w+[_-]\w*\d|[A-Z][\w+-]*)""",
    exact=r"(?:[\w.+-]+@\w|https?://|[\w.-]+\.[a-z]{2,}\b|\S*/\S|\S*\d\S*|[A-Z]\w+ \d)",
)
FACT_ZH = Table(
    r"""
    <noun>(?:的?<part>)?(?:暂?定?<is_>|[叫在](?=\w))\s?(?!<unsure>)[^，。？?吗]{0,8}<value>  # 我的时区是UTC+8
    (?:<noun>(?=\d)|<holds>[^，。]{0,8}|(?:变量|函数|字段)叫)[0-9a-zA-Z_]|<value>点半?[^，。]{0,3}<holds>  # 税率19%
    <named><is_>\s?(?!<unsure>|[个很])[\w·]{2,12}(?<![吗呢了的])[。.！!]?$  # 联系人是林玛丽
    <to>[^，。？]{0,6}[a-zA-Z0-9][\w.+-]*[@./_-][\w./-]+  # 发票寄到a@b.example
    ^<announces>[，,：:].{2,40}[是为在从叫]  # 请记住，财年从七月开始
    """,
    part=any_of("号 号码 地址 名称 名字 编号 代号 上限 下限"),
    unsure="[不否什哪谁多几怎对错这那]",
    holds=any_of("容纳 关门 开门 下班 截止 到期 生效"),
    to=any_of("寄到 发到 发给 寄给 抄送给? 存到 放到 部署[到在] 放在 存在"),
    announces="(?:请|顺便)?(?:记住|记下|注意|备注|补充一下|提醒一下|说明一下)",
    noun=any_of("""
        时区 编号 工号 学号 单号 订单号 电话 手机号? 邮箱 地址 [账帐]号 账户 户名 预算 上限 下限 限额 额度
        截止日期 截止时间 期限 日期 端口 服务器 主机 域名 网址 链接 仓库 分支 版本号? 数据库 表名 库名 项目
        代号 客户 环境 区域 税率 税号 单价 汇率 超时 阈值 币种 财年 抬头 会议 颜色 密钥 令牌 密码 用户名 文件 目录 路径
        型号 车牌 房号 房间号 航班 座位 楼层 组织 团队 接口 总价 押金 租金 保修期 名额
        """),
    named=any_of("""
        联系人 负责人 代号 项目名 名称 名字 收件人 审批人 对接人 供应商 客户名? 品牌 公司名 户名 抬头 财年
        语言 框架 币种
        """),
    value="[0-9a-zA-Z零一二两三四五六七八九十百千万]",
    is_="(?:是|为|在|叫|：|:|=|写)",
)
DIGIT = re.compile(r"\d")
PAST = re.compile(r"\b(?:was|were|had been|used to|last (?:year|week|month))\b|去年|上周|上个月|以前|当时|原来")
ASKED = re.compile(r"[?？][\"”']?$|[吗呢]|有没有|什么|多少|哪|怎么")
GIVEN = frozenset(f"{v.FACT} {v.FACT_VERBS}".replace("~", " ").split())  # a fact has one of these, or a digit
SPLIT = str.maketrans(".,:;", "    ")


def states_fact(sentence: str) -> bool:
    """Whether a sentence gives a fact about the work that somebody may ask for later."""
    if ASKED.search(sentence):
        return False
    if not sentence.isascii() and FACT_ZH.in_(sentence):
        return not PAST.search(sentence)
    lowered = sentence.lower()
    words = lowered.translate(SPLIT).split()
    if GIVEN.isdisjoint(words) and GIVEN.isdisjoint([word[:-1] for word in words]) and not DIGIT.search(sentence):
        return False
    return FACT.in_(sentence) and not (PAST.search(sentence) or english.is_sociable(lowered))
