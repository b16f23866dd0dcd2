"""Which sentence leaves a task for later, in either language. The judges read what `own.plain` makes."""

import re

from sightline.rules import chinese, english
from sightline.rules.tables import table

LATE = r"(?:later(?: on)?|afterwards?|eventually|at some point)"
LATER = table(
    r"""
    ^to-?dos?\b|\bto-?dos?(?: for later| list)?[:-]|\b(?:don't|do not|dont) forget\b
    \bfor later\b|\b(?:another|some other) (?:day|time)\b|\breminder\b[^.]{0,40}[:,]
    (?:^|[,;:] |\b(?:please|and|also|but|then|just) )(?:remember to\b|remind me (?:to|about|that|of)\b)
    \b(?:can|could) you remind me\b|\bstill (?:to do|outstanding|on the list)\b|\bfollow[- ]up (?:task|item|pr|ticket)\b
    \b<dated>,? (?:we|you|please)(?: also| still)?(?:'ll| will| need| should| can| have| must| add| do)\b
    ^<dated>,? <doing>\b|\b(?:we'll|we will|we can|we should|we need|you can|you should|let's)\b.{0,80}\b<late>\b
    \b(?:<doing>|tackle|leave|save)\b.{0,80}\b<late>\b
    ^(?:and |then |right |so |ok,? |also )?(?:after (?:that|this|you|it|the|we|all)\b.{0,80}, |afterwards,? \w)
    ^(?:and |then |right |so |ok,? |also )?after (?:that|this) \w
    ^<once> you(?:'re| are|'ve| have)? (?:done|finished?)\b
    ^<once> (?:that|this|it|all|everything|the|ci|tests?)\b.{0,60}\b<over>\b
    \b(?:we|you|i|it|[\w-]+s?) still (?:needs?|ha(?:ve|s)) to\b|\b(?:come|circle|get) back to (?:that|this|it|the)\b
    \bput (?:it|that|this) on (?:the|your|my) (?:list|backlog)\b|\b(?:can|will have to) wait\b
    \bget to (?:it|that|this)\b
    \bwhen you (?:get a chance|have (?:a )?(?:time|moment|minute))\b
    \bbefore (?:you|we) (?:finish|wrap up|leave|go|close)\b
    """,
    doing=english.DOING,
    late=LATE,
    dated=rf"(?:{LATE}|next (?:week|month|time|sprint)|tomorrow)",
    once="(?:and |then |ok,? |also,? )?(?:once|when|as soon as)",
    over="(?:done|finish(?:ed|es)?|complete[sd]?|ready|pass(?:es|ed)?|merged|green|deployed|over|out)",
)
NOT_LATER = table(r"""
    \b(?:see|talk to|catch|speak to) (?:you|ya|u)\b|\bday after tomorrow|\bi'll eventually|^every time\b|^whenever\b
    \bi(?:'ll| will| can| might| am going to|'m going to) (?:[\w']+ ){1,12}(?:later|tomorrow|next week|afterwards?)
    \b(?:i|we|it|they|he|she) \w+ed\b.{0,60}\b(?:later|afterwards?)\b|^i (?:don't|can't) remember|^i still have to
    \b(?:minutes?|hours?|days?|weeks?|seconds?|years?|moments?|or|sooner) later\b
    \blater (?:than|versions?|flights?|time|date|one|train)\b|^after .{0,100}, i'll (?!need)
    ^(?:after|once|when)\b.{0,100}, (?:\w+ )?(?:i|it|we|they|the \w+|nothing|everything|that) (?:\w+(?:ed|s)|got|saw)\b
    ^(?:after|once|when)\b.{0,100}, (?:i|it|we|they|the \w+) (?:get|see|fail|were|had|stop|could|just|can't|don't|did)\b
    """)


def english_task(plain: str) -> bool:
    """Whether this sentence leaves something for later."""
    return bool(LATER().search(plain)) and not (
        NOT_LATER().search(plain) or english.TOLD().search(plain) or english.ASKED().search(plain)
    )


# --- Chinese

ZH_LATER = table(r"""
    待办|to-?do\b|(?<![我你还不])记得(?!我|上次|之前|以前|你)|(?:别|不要|千万别|可别)忘|提醒我|下一步
    放一放|先放着|以后再说|下个版本
    稍后(?!重试|再试|见)|回头(?!见|客|率|看|路|一)|晚点(?!到|见)
    (?:等会儿?|待会儿?|过会儿?|一会儿?)(?:再|还要|要|帮|把|记)
    (?:之后|以后|后面)(?:还?要|再|还得|还需要?|记得|需要)|最后(?:别忘|记得|还要)|有空再|有空的时候|到时候(?:再|记得)
    <over>[，,]?(?:再(?!告)|还要|请|把|帮|提醒|记得|通知|发|更新|顺便)
    (?:明天|下周|下个月|下次|周[一二三四五六日末])[^，。]{0,6}(?:再|还要|还得|要做|需要|得)
    后续(?:还|再|要|需要)|接下来(?:还|再|要)
    还(?:没做|没写|需要补|要补|剩)|先[^。]{1,40}(?:再|然后|接着)|等.{2,20}再(?!见|说)
    """,
    over="(?:(?:完成?|搞定)(?:了?之后|了?以后|后|了)?|(?:结束|上线|通过|好)(?:之后|以后|后))",
)
ZH_NOT_LATER = re.compile(
    "我们?(?:稍后|回头|晚点|等会|待会|过会|明天|下周)|请稍后|回头见|(?:还|你|不|我)记得|(?<!别)(?<!要)忘记?了|每次|请先|全部"
    "|先[给说写列讲].{1,8}再[给说写列讲]"
)


def chinese_task(plain: str) -> bool:
    """Whether this sentence leaves something for later."""
    return bool(ZH_LATER().search(plain)) and not (chinese.ASKED.search(plain) or ZH_NOT_LATER.search(plain))
