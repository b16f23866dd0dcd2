"""Sentences that lift what was laid down: "you may touch the migrations now". They are kept like what they lift."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

from sightline.shorten.rules.pattern_table import Table, word_set
from sightline.shorten.rules.user_sentences import plain

RULE = "(?:rule|restriction|constraint|limit|requirement|convention|ban)"
# all that was laid down is taken back
CANCELS_ALL = Table(
    r"""
    \b(?:forget|scratch|disregard|ignore|drop|cancel) (?:all|everything|any)\b.{0,30}\b(?:<rule>s|instructions|i said)\b
    (?:所有|全部|之前|以前|前面|以上)[^，。]{0,6}(?:规则|要求|限制|约定|规定|禁令)[^，。]{0,2}[都全][^，。]{0,4}(?:作废|取消|解除|失效|不算)
    """,
    rule=RULE,
)
# what was laid down is taken back, whatever it was. "Ignore it" speaks of a thing, such as a warning
CANCELS = Table(
    r"""
    <start>(?:forget|scratch|disregard) (?:that|this)(?=[.,;:!]|$| (?:please|now|about)\b)  # forget that
    <start>(?:forget|scratch|disregard|ignore|drop|cancel) (?:what i said|(?:that|this) (?:<rule>|instruction))\b
    \b(?:forget|scratch|disregard|ignore|drop|cancel) <all> <earlier>\b  # you can drop the old rule
    <start>(?:scrap|drop|forget|scratch|cancel|lift|remove) the (?:[\w-]+ ){1,2}<rule>\b  # scrap the tabs rule
    \b<rule>s?\b.{0,60}\b(?:no longer|doesn't|don't) (?:appl|hold|count|matter)  # the rule no longer applies
    (?:规则|要求|限制|约定|规定|禁令)[^，。]{0,12}(?:作废|取消|解除|不再|失效|不算)  # 前面说的规则作废
    (?:忘掉|忘了|忽略|不用管|别管)[^，。]{0,4}(?:之前|前面|刚才|上面)[^，。]{0,8}(?:规则|要求|限制|话|说的)
    ^(?:刚才说的|前面说的|这条|那条|上一条)[^，。]{0,6}(?:作废|取消|不算|收回|当我没说)  # 刚才说的不算
    """,
    start=r"(?:^|[,;:.] |\b(?:please|ok|okay|just|actually|so) )",
    all="(?:(?:all|of) )*(?:the|my|all|these|those)",
    earlier=r"(?:earlier |previous |old |last |first )?(?:<rule>s?|instructions?)",
    rule=RULE,
)
# what was forbidden is allowed
PERMITS = Table(
    r"""
    \b<may> (?!<begin>).{0,80}\b(?:now|again|after all|from now on)\b(?!.*\?)  # you may touch it now
    ^(?:现在|以后|接下来)你?可以[^，。]{1,30}了  # 现在可以改数据库了
    ^你?可以(?!<begin_zh>)[^，。？?吗呢]{2,20}了[。.！!]?$  # 可以改 schema 了
    ^(?:算了，?)?[^，。？?]{2,12}也可以[用做改](?:了)?[。.！!]?$  # 第三方库也可以用
    """,
    may="(?:you (?:may|can)|(?:feel free|it(?:'s| is) (?:now )?(?:fine|ok|okay|allowed)) to)",
    begin_zh="(?:了|说|看|想|理解|开始|继续|提交|走|出发|下单|吃|休息|回)",
    begin="(?:proceed|go|start|begin|continue|book|close|confirm|see|find)\\b",
)
# what was ordered is not needed
WAIVES = Table(
    r"""
    \byou no longer (?:have|need) to\b  # you no longer have to ask
    \byou (?:don't|do not) (?:have|need) to\b.{0,80}\b(?:any ?more|any longer|now|from now on)\b
    ^(?!.*[？?])(?:现在|以后|接下来)?[^，。]{0,6}<no_need>(?![^，。]*<kindly>)[^，。]{1,30}了  # 现在不用先跑测试了
    """,
    no_need="(?:不用|不必|无需|不需要)",
    kindly="(?:担心|考虑|客气|谢|着急|麻烦)",
)

# what a lifting sentence says besides what it is about
EMPTY = word_set("""
    you may can could now again anymore more any longer after all forget that this what said scratch disregard
    ignore drop cancel earlier previous old last first rule rules restriction constraint limit requirement
    convention ban instruction instructions the and for don't doesn't not need have has from apply applies hold
    holds count counts matter matters okay never always please only must should with into about just use using
    everything restrictions requirements constraints these those told feel free fine allowed it's scrap lift remove
    """)
WORD = re.compile(r"[a-z0-9_'./-]{3,}")
EMPTY_ZH = re.compile(
    "现在|以后|接下来|可以|不用|不必|无需|不需要|不要|必须|前面|之前|刚才|上面|[这那]条|上一条|说的|规则|要求|限制|约定|规定|禁令|作废|取消"
    "|解除|失效|收回|不再|不算|当我没说|所有|全部|以前|以上|忘掉|忘了|忽略|不用管|别管|[了你再也都先别的话]"
)
HAN = re.compile(r"[\u4e00-\u9fff]+")
SHARED = 0.75  # of what the lifting sentence is about: a rule that shares less may be another one


# what a sentence forbids: the word, or the two characters, after its negation
FORBIDDEN = re.compile(
    r"(?:\bnot|n't|\bdont|\bnever|\bno|\bavoid|\bstop|\bwithout) "
    r"(?:(?:use|using|any|new|the|ever|even|to) )*([a-z0-9_'./-]{3,})"
    r"|(?:不要|别|不能|不得|不许|不准|禁止|严禁|勿|不可以?)[再去使用]*"
    r"(?:([\u4e00-\u9fff]{2})|[\u4e00-\u9fff]? ?([a-z0-9_./-]{3,}))"
)


How = Literal["cancels all", "cancels", "permits", "waives", ""]


class Said(NamedTuple):
    """What a sentence says that matters for lifting."""

    how: How  # it lifts another sentence in this way, or none
    subject: frozenset[str]  # the words that say what it is about
    forbids: frozenset[str]


def lifts(sentence: str) -> bool:
    """Whether this plain sentence, in English or Chinese, lifts a rule."""
    return bool(_how(sentence))


class Lifted:
    """What has been lifted, for sentences that are asked about from the newest to the oldest."""

    def __init__(self, message_before: Callable[[int], int] = lambda _row: 0) -> None:
        self._message_before = message_before  # a row → the row of the user's message before it
        self._lifting: list[tuple[Said, int]] = []  # sentences that may lift more, and the first row that each lifts

    def takes(self, sentence: str, row: int = 0) -> bool:
        """Whether a later sentence lifts this one, which stands in this row.

        "Forget that" lifts the one before it, in the same message or the one before. Others lift what they are about: a
        permission what forbids just that, "you don't have to" what orders it, "forget all rules" every one.
        """
        said = _read(sentence)
        if said.how:
            is_near = said.how == "cancels" and not said.subject
            self._lifting.append((said, self._message_before(row) if is_near else 0))
            return False
        for lifting, first in reversed(self._lifting):
            if row >= first and _is_lifted(said, lifting):
                if lifting.how != "cancels all":
                    self._lifting.remove((lifting, first))
                return True
        return False


def _is_lifted(said: Said, lifting: Said) -> bool:
    cancels = lifting.how.startswith("cancels")
    if not lifting.subject:
        return cancels
    if len(lifting.subject & said.subject) < SHARED * len(lifting.subject):
        return False
    if lifting.how == "permits":
        return not lifting.subject.isdisjoint(said.forbids)
    return cancels or not said.forbids


@lru_cache(maxsize=4096)  # the same sentences are asked about at every sweep
def _read(sentence: str) -> Said:
    words = plain(sentence)
    pairs = (part[at : at + 2] for part in HAN.findall(EMPTY_ZH.sub(" ", words)) for at in range(len(part) - 1))
    forbidden = (found[1] or found[2] or found[3] for found in FORBIDDEN.finditer(words))
    return Said(_how(words), frozenset([*WORD.findall(words.replace(".", " ")), *pairs]) - EMPTY, frozenset(forbidden))


def _how(words: str) -> How:
    if CANCELS_ALL.in_(words):
        return "cancels all"
    if CANCELS.in_(words):
        return "cancels"
    if PERMITS.in_(words):
        return "permits"
    return "waives" if WAIVES.in_(words) else ""
