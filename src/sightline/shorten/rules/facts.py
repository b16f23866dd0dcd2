"""Facts that a user gives to be kept: "my time zone is UTC+8", "budget cap is $956", 客户编号是KD-48213.

A fact is given to be kept if the user says so ("remember: …", "note that", 请记住), whatever it is about; or if it is
about the work: a thing that work is about (`vocabulary.FACT`) has a name or a number, something that is not the
speaker's own ("the", "our") has an exact value or a time, or a team has a practice. What people tell about themselves
("my birthday is March 5", "I use Spotify") is none. The value follows the verb at once, so "the server is returning
500" is none. The input is the sentence as it was written, because a name is known by its capital letter.
"""

import re

from sightline.shorten.rules import chinese, english, reports
from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of, word_set
from sightline.values.pattern import pattern

# a number, an address, a path, an identifier, or a name
VALUE = r"""["'“‘`(]?(?:[$€£#~]?[a-z]{0,2}\d|[\w.+-]+@\w|https?://|[\w.-]*[a-z]\.[a-z]{2,}\b|/?\w+/\w|\w+[_-]\w*\d|#\w|(?!I\b)[A-Z][\w+-]*)"""
# what announces a fact; a single word before a colon may also be the name of who speaks, so it must be one of these
LEAD = (
    r"(?:(?:please note|note|remember|by the way|btw|fyi|also|and|ok|okay|so)[,:]? |for the record,? |"
    r"(?:context|info|background|reminder|facts?|rules?|conditions?|constraints?|requirements?|important|setup): |"
    r"(?!\w+: )[^:]{2,40}: )"
)
ANNOUNCED = Table(
    r"""
    ^(?i:<announces>)[,:]? .{0,80}(?:<value>|\b(?i:<noun>)\b)  # Note that the fiscal year starts in July.
    ^(?i:(?:please |and |also |but )?remember:?) (?i:my|our|the|i|we)\b.{1,60} (?:is|are|am|have|has|'s) .{0,20}<value>
    [,;–-] (?:so |and |please )*(?:remember|note|mind|use|save) (?:that|this|it)\b.{0,40}$  # …, use that in the bio
    [,;–-] (?:so |and |please )*(?:keep (?:that|this|it) in mind|for your (?:records|information))[.!]?$
    """,
    announces="(?:please note|note|remember)",
    noun=any_of(v.FACT),
    value=VALUE,
)
# about things that work is about, the speaker's own too
FACT = Table(
    r"""
    ^<lead>?(?!<everyday>)<whose>?<words>(?i:<noun>s?)(?: <of> <words><word>)? <has> <value>
    ^<lead>?<whose>?<words>(?i:<noun>s?)(?: <of> <words><word>)? (?:is|are) (?:called|named) \w
    ^<lead>?<whose>?<words>(?i:<noun>s?)(?: <word>)?: ?<exact>.{0,40}$  # Ticket number: KD-48213
    ^<lead>?(?i:our) <words>(?i:<noun>) (?:only )?[a-z]+s (?:in|via|through|by|from|on|with) \w
    ^<lead>?We <practise> (?!to\b).{0,40}<value>  # We use Stripe.
    ^<lead>?I (?:use|deploy|host|target) [A-Za-z.]+ v?\d
    ^<lead>?(?:I'm|We're|I am|We are) (?:(?:on|using|running) [A-Z]\w+ v?\d|(?:based )?in [A-Z]\w+, (?:so|which) \w)
    ^<lead>?(?:We|I)(?:'ll)? need (?:an?|two|three|four|five|six|\d+) [^.?!]{2,40} <limit> (?:\w+ )?\d
    ^<lead>?(?:There (?:are|will be)|We(?:'re| are|'ll be| will be)) (?:about )?\d+ <people>\b(?!.*\bmy\b)
    ^<lead>?(?i:my) (?:preferred|usual|default) [\w ]{2,30} (?:is|are) \w
    ^<lead>?We(?:'re| are) a (?:team|group|party) of \w
    ^<lead>?[A-Z]\w+(?: [A-Z]\w+)? (?:is (?:the (?:one|person) who|responsible for|in charge of)|<decides>) \w
    """,
    lead="(?i:<lead_in>)",
    lead_in=LEAD,
    whose="(?i:(?:my|our|the|this|your) )",
    everyday=r"(?i:his|her|their) names?\b|(?i:my) <words><somebody> (?:is|are) <there>\b",  # My boss is in Rome.
    somebody=any_of("boss client colleague contractor customer editor landlord lead manager supplier team user"),
    there="(?:at|in|from|on|still|now)",
    word=r"[\w'’.-]+",
    words=r"(?:[\w'’.-]+ ){0,3}",
    noun=any_of(v.FACT),
    practise=any_of(v.PRACTISE + "freeze meet close open start launch"),
    of="(?:for|of|at|in|on|from|with|to)",
    has="(?:is|are|=|will be|must be)(?: <about>)*",
    about=any_of("at in on called named about around now still the an? (?:set|capped|limited)~(?:to|at) under by from"),
    people=any_of("people participants guests attendees adults travell?ers passengers students of~us"),
    decides=any_of("approves signs reviews handles owns decides~(?:on|about)") + r"\b",
    limit="(?:for|by|before|with|of|under|below)",
    value=VALUE,
    exact=r"(?:[\w.+-]+@\w|https?://|[\w.-]+\.[a-z]{2,}\b|\S*/\S|\S*\d\S*|[A-Z]\w+ \d)",
)

# --- Other things: "The depot opens at 7:30", "Invoices go to a@b.example" ------------------------------------------

LED = pattern(LEAD, re.IGNORECASE)
SUBJECT = 7  # words before the verb
STATES = word_set(v.STATES)
PLURALS = {word for word in STATES if f"{word}s" in STATES or word == "are"}  # of a single thing they are past or wrong
ARTICLES = word_set("the our your all every each a an any")
# a subject with one of these is a person, the speaker's own, or no subject
NO_SUBJECT = word_set("""
    i it he she we you they them us me both there that my his her their what who whose which if when while after
    before since now one where why how because although maybe perhaps and but so gonna i'm i've it's he's she's
    we're you're they're that's there's let's here's yes no ok nothing everything everyone someone people some
    """)
REST = pattern(
    r"[,;(]|\b(?:because|when|if|but|so|since|although|while|as|that|what|who|which|how)\b"
)  # ends what the verb says
TIMED = pattern(rf"(?<!\w){VALUE}|\b(?:noon|midnight|(?:every|each) (?:day|night|week|month|quarter|year|morning))\b")


def _describes(sentence: str) -> bool:
    """Whether something that is not the speaker's own is or does what has a name, a number, a time or a place."""
    words = LED.sub("", sentence, count=1).split()
    for at, word in enumerate(words[: SUBJECT + 1]):
        subject = [subject_word.lower().strip("'\"") for subject_word in words[:at]]
        if word not in STATES or not subject or subject[-1] in ARTICLES:
            continue
        singular = not any(subject_word.endswith("s") for subject_word in subject)
        named = subject[0].endswith(":")  # by who speaks: this is talk between people
        if named or not NO_SUBJECT.isdisjoint(subject) or (singular and word in PLURALS):
            return False  # "the order cost 12 euros" tells what was
        if word == "lives" and at == 1 and not DIGIT.search(sentence):
            return False  # "Peter lives in Oslo": one name, without an article
        return bool(TIMED.search(REST.split(" ".join(words[at + 1 :]), maxsplit=1)[0]))
    return False


# --- Chinese --------------------------------------------------------------------------------------------------------

ANNOUNCED_ZH = Table(
    r"""
    ^<announces>[，,：:]?.{2,40}[是为在从叫]  # 请记住，财年从七月开始
    [，,。](?:请|要)?(?:记住|记一下|记下来?|别忘了?|备忘|留意)[。.！!]?$
    """,
    announces="(?:请|顺便)?(?:记住|记下|注意|备注|补充一下|提醒一下|说明一下)(?!了)",
)
FACT_ZH = Table(
    r"""
    <noun>(?:的?<part>)?(?:暂?定?<is_>|[叫在](?=\w))\s?(?!<unsure>)[^，。？?吗]{0,8}<value>  # 我的时区是UTC+8
    (?:<noun>(?=\d)(?!.*了)|(?:容纳|截止|到期|生效)[^，。]{0,8}|(?:变量|函数|字段)叫)[0-9a-zA-Z_]  # 税率19%
    <value>点半?[^，。]{0,3}<holds>
    <named><is_>\s?(?!<unsure>|[个很])[\w·]{2,12}(?<![吗呢了的])[。.！!]?$  # 联系人是林玛丽
    <to>[^，。？]{0,6}[a-zA-Z0-9][\w.+-]*[@./_-][\w./-]+  # 发票寄到a@b.example
    ^(?!我)<role>(?:叫|是|为)\s?(?!<unsure>|[个很])[\w·.-]{2,16}(?<![吗呢了的])[。.！!]?$  # 译者叫韩雪
    <noun>叫[\w-]+[。.]?$
    由[^，。]{2,6}(?:审批|负责|批准|签字|处理|跟进|对接|维护)|^(?!我)[^，。]{2,20}只有[^，。]{2,6}能  # 发票由周宁审批
    ^(?!我|他|她)[^，。了]{0,10}(?:<value>|周[^，。]|每[天周月晚])[号日点月:：\d晨早晚上下午分半一二三四五六七八九十]{0,12}<holds>[。.]?$
    ^<lead>?(?!<own>)[^，。是在为叫了]{2,12}(?:是|为|在|叫|(?<!\d)[：:])\s?[#@]?(?:[a-z]+-)?(?:[A-Za-z0-9]|周[一二三四五六日])
    ^(?!<own>)[^，。了]{0,8}\d+[号日点](?:\d+分)?[^，。了过]{2,6}[。.]?$  # 28号封版
    ^(?!<own>)[^，。了]{2,6}\d+(?:欧|元|块|美元|镑|%)
    (?:会议|评审|发布|航班|会面|面试|培训|截止|交付)[^，。]{0,4}(?:改|挪|推迟|提前|定|延)[到在至][^，。了]{1,12}
    (?:我们|项目|团队|后端|前端|服务器|系统|客户|对方)用的?(?:都?是)?\s?(?:[A-Za-z]|[^，。了]{2,8}(?:付款|结算|支付))
    ^(?:(?:一共|共|总共)有?|我们)\s?<value>+\s?(?:[人位名]|个人)(?![^，。]*[了吗])  # 一共36人
    """,
    lead="(?:[^，。：:]{2,10}[：:]|(?:另外|还有|顺便说一下|对了)[，,])",
    own="我(?!们)|[他她你它那把给订将]|这(?![边里次])|错误|问题|原因|结果|报错|今天|昨天|现在|刚才",
    role=r"[^，。是叫]{0,8}(?:员|人|师|商|经理|助理|主管|总监|会计|顾问|律师|编辑|译者|作者|医生|库)",
    part=any_of("号 号码 地址 名称 名字 编号 代号 上限 下限"),
    unsure="[不否什哪谁多几怎对错这那]",
    holds=any_of(
        """
        容纳 关门 开门 下班 截止 到期 生效 结束 开始 上线 发布 交付 到货 来取 执行 跑 备份 下线 关闭 停用 入职 封版 截稿
        出发 到达 起飞 发车 发货
        """
    ),
    to=any_of("寄到 发到 发给 寄给 抄送给? 存到 放到 部署[到在] 放在 存在"),
    noun=any_of("""
        时区 编号 工号 学号 单号 订单号 电话 手机号 邮箱 地址 [账帐]号 账户 户名 预算 上限 下限 限额 额度 截止日期
        截止时间 期限 日期 端口 服务器 主机 域名 网址 链接 仓库 分支 版本号? 数据库 表名 库名 项目 代号 客户 环境
        区域 税率 税号 单价 汇率 超时 阈值 币种 财年 抬头 会议 颜色 密钥 令牌 密码 用户名 文件 目录 路径 型号 车牌
        房号 房间号 航班 座位 楼层 组织 团队 接口 总价 押金 租金 保修期 名额
        """),
    named=any_of("""
        联系人 负责人 代号 项目名 名称 名字 收件人 审批人 对接人 供应商 客户名? 品牌 公司名 户名 抬头 财年
        语言 框架 币种
        """),
    value="[0-9a-zA-Z零一二两三四五六七八九十百千万]",
    is_="(?:是|为|在|叫|：|:|=|写)",
)
DIGIT = pattern(r"\d")
# what was; "the same as last year" is not
PAST = pattern(
    r"\b(?:was|were|had been|used to|(?<!as )(?<!like )(?<!than )last (?:year|week|month))\b"
    r"|(?<![跟和像与同])(?:去年|上周|上个月|以前|当时|原来)"
)
ASKED = pattern(r"[?？][\"”']?$|[吗呢]|有没有|什么|多少|哪|怎么")
GIVEN = frozenset(
    f"{v.FACT} {v.FACT_VERBS} {v.STATES}".replace("~", " ").split()
)  # a fact has one of these, or a digit
SPLIT = str.maketrans(".,:;", "    ")


def _told(sentence: str) -> bool:
    """Whether a Chinese sentence tells what was, what others say, or what friends talk of."""
    return bool(PAST.search(sentence)) or chinese.TOLD.in_(sentence) or chinese.SOCIAL.in_(sentence)


def states_fact(sentence: str) -> bool:
    """Whether a sentence gives a fact to be kept: it is announced, or about the work."""
    if ASKED.search(sentence):
        return False
    if not sentence.isascii() and chinese.WRITTEN.search(sentence):
        return ANNOUNCED_ZH.in_(sentence) or (FACT_ZH.in_(sentence) and not _told(sentence))
    lowered = sentence.lower()
    words = lowered.translate(SPLIT).split()
    if GIVEN.isdisjoint(words) and GIVEN.isdisjoint([word[:-1] for word in words]) and not DIGIT.search(sentence):
        return False
    if ANNOUNCED.in_(sentence):
        return DIGIT.search(sentence) is not None or not english.is_sociable(lowered)
    if (
        PAST.search(sentence)
        or (english.is_sociable(lowered) and not english.names_work(lowered))
        or english.TOLD.in_(lowered)
    ):
        return False
    return FACT.in_(sentence) or (_describes(sentence) and not reports.REPORTS.in_(lowered))
