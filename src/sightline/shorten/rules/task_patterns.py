"""Sentences that leave a task for later, in English and Chinese. The input is made by `user_sentences.plain`."""

from sightline.shorten.rules import chinese, english
from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of


def english_task(plain: str) -> bool:
    return LATER.in_(plain) and not (NOT_LATER.in_(plain) or english.TOLD.in_(plain) or english.ASKED.in_(plain))


def chinese_task(plain: str) -> bool:
    return LATER_ZH.in_(plain) and not (NOT_LATER_ZH.in_(plain) or chinese.ASKED.in_(plain))


LATE = r"(?:later(?: on)?|afterwards?|eventually|at some point)"
LATER = Table(
    r"""
    ^to-?dos?\b|\bto-?dos?(?: for later| list)?[:-]|\b(?:don't|do not|dont) forget\b|\bfor later\b  # todo: the docs
    (?:^|[,;:] |\b(?:please|and|also|but|then|just) )(?:remember to\b|remind me (?:to|about|that|of)\b)
    \b(?:can|could) you remind me\b|\breminder\b[^.]{0,40}[:,]|\bstill (?:to do|outstanding|on the list)\b
    \b<dated>,? (?:we|you|please)(?: also| still)?(?:'ll| will| need| should| can| have| must| add| do)\b
    ^<dated>,? <doing>\b|\b(?:we'll|we will|we can|we should|we need|you can|you should|let's)\b.{0,80}\b<late>\b
    \b(?:<doing>|tackle|leave|save)\b.{0,80}\b<late>\b  # tackle the docs later
    ^<then>(?:after (?:that|this|you|it|the|we|all)\b.{0,80}, |afterwards,? \w|after (?:that|this) \w)
    ^<then><once> you(?:'re| are|'ve| have)? (?:done|finished?)\b  # once you're done
    ^<then><once> (?:that|this|it|all|everything|the|ci|tests?)\b.{0,60}\b<over>\b  # when the tests pass
    \b(?:we|you|i|it|[\w-]+s?) still (?:needs?|ha(?:ve|s)) to\b|\b(?:come|circle|get) back to (?:that|this|it|the)\b
    \b(?:can|will have to) wait\b|\bwhen you (?:get a chance|have (?:a )?(?:time|moment|minute))\b  # the docs can wait
    \bbefore (?:you|we) (?:finish|wrap up|leave|go|close)\b  # before we wrap up
    """,
    doing=any_of(v.DOING),
    late=LATE,
    dated=rf"(?:{LATE}|next (?:week|month|time|sprint)|tomorrow)",
    then="(?:and |then |right |so |ok,? |also,? )?",
    once="(?:once|when|as soon as)",
    over="(?:done|finish(?:ed|es)?|complete[sd]?|ready|pass(?:es|ed)?|merged|green|deployed|over|out)",
)
# what the user does, what is past, and "later" in a comparison
NOT_LATER = Table(r"""
    \bi(?:'ll| will| can| might| am going to|'m going to) (?:[\w']+ ){1,12}(?:later|tomorrow|next week|afterwards?)
    \b(?:i|we|it|they|he|she) \w+ed\b.{0,60}\b(?:later|afterwards?)\b|^i still have to|^after .{0,100}, i'll (?!need)
    \b(?:minutes?|hours?|days?|weeks?|seconds?|years?|moments?|or|sooner) later\b
    \blater (?:than|versions?|time|date|one)\b
    ^(?:after|once|when)\b.{0,100}, (?:\w+ )?(?:i|it|we|they|the \w+|nothing|everything|that) (?:\w+(?:ed|s)|got|saw)\b
    ^(?:after|once|when)\b.{0,100}, (?:i|it|we|they|the \w+) (?:get|see|fail|were|had|stop|could|just|can't|don't|did)\b
    """)
LATER_ZH = Table(
    r"""
    待办|to-?do\b|(?<![我你还不])记得(?!我|上次|之前|以前|你)|(?:别|不要|千万别|可别)忘|提醒我|下一步  # 记得提交
    稍后(?!重试|再试|见)|回头(?!见|客|率|看|路|一)|晚点(?!到|见)|放一放|先放着|以后再说|下个版本  # 回头再改
    (?:等会儿?|待会儿?|过会儿?|一会儿?)(?:再|还要|要|帮|把|记)|有空(?:再|的时候)|到时候(?:再|记得)  # 等会儿再测
    (?:之后|以后|后面)(?:还?要|再|还得|还需要?|记得|需要)|最后(?:别忘|记得|还要)  # 之后还要部署
    <over>[，,]?(?:再(?!告)|还要|请|把|帮|提醒|记得|通知|发|更新|顺便)  # 完成后通知测试
    (?:明天|下周|下个月|下次|周[一二三四五六日末])[^，。]{0,6}(?:再|还要|还得|要做|需要|得)
    (?:后续|接下来)(?:还|再|需?要)
    还(?:没做|没写|需要补|要补|剩)|先[^。]{1,40}(?:再|然后|接着)|等.{2,20}再(?!见|说)  # 等上线再删
    """,
    over="(?:(?:完成?|搞定)(?:了?之后|了?以后|后|了)?|(?:结束|上线|通过|好)(?:之后|以后|后))",
)
NOT_LATER_ZH = Table(r"""
    我们?(?:稍后|回头|晚点|等会|待会|过会|明天|下周)|请稍后|(?:还|你|不|我)记得|(?<!别)(?<!要)忘记?了|每次|请先|全部
    先[给说写列讲].{1,8}再[给说写列讲]
    """)
