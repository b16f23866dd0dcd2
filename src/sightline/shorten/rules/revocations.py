"""Sentences that lift what was laid down: "you may touch the migrations now". They are kept like what they lift."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from sightline.shorten.rules.pattern_table import Table, word_set
from sightline.shorten.rules.user_sentences import plain

# what was laid down is taken back, whatever it was
CANCELS = Table(
    r"""
    <start>(?:forget|scratch|disregard|ignore|drop|cancel) (?:that|this|it|what i said|<all> <earlier>)\b
    \b(?:disregard|ignore|drop|cancel) <all> <earlier>\b  # you can drop the old rule
    \b<rule>s?\b.{0,60}\b(?:no longer|doesn't|don't) (?:appl|hold|count|matter)  # the rule no longer applies
    (?:规则|要求|限制|约定|规定|禁令)[^，。]{0,12}(?:作废|取消|解除|不再|失效|不算)  # 前面说的规则作废
    (?:忘掉|忘了|忽略|不用管|别管)[^，。]{0,4}(?:之前|前面|刚才|上面)[^，。]{0,8}(?:规则|要求|限制|话|说的)
    ^(?:刚才说的|前面说的|这条|那条|上一条)[^，。]{0,6}(?:作废|取消|不算|收回|当我没说)  # 刚才说的不算
    """,
    start=r"(?:^|[,;:.] |\b(?:please|ok|okay|just|actually|so) )",
    all="(?:the|my|all)",
    earlier=r"(?:earlier |previous |old |last |first )?(?:<rule>s?|instructions?)",
    rule="(?:rule|restriction|constraint|limit|requirement|convention|ban)",
)
# what was forbidden is allowed
PERMITS = Table(
    r"""
    \byou (?:may|can) (?!<begin>).{0,80}\b(?:now|again|after all|from now on)\b(?!.*\?)  # you may touch it now
    ^(?:现在|以后|接下来)你?可以[^，。]{1,30}了  # 现在可以改数据库了
    """,
    begin="(?:proceed|go|start|begin|continue|book|close|confirm)",
)
# what was ordered is not needed
WAIVES = Table(
    r"""
    \byou (?:don't|do not|no longer) (?:have|need) to\b.{0,80}\b(?:any ?more|any longer|now|from now on)\b
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
    """)
WORD = re.compile(r"[a-z0-9_'./-]{3,}")
EMPTY_ZH = re.compile(
    "现在|以后|接下来|可以|不用|不必|无需|不需要|不要|必须|前面|之前|刚才|上面|[这那]条|上一条|说的|规则|要求|限制|约定|规定|禁令|作废|取消"
    "|解除|失效|收回|不再|不算|当我没说|忘掉|忘了|忽略|不用管|别管|[了你再也都先别的话]"
)
HAN = re.compile(r"[\u4e00-\u9fff]+")
SHARED = 0.75  # of what the lifting sentence is about: a rule that shares less may be another one


# what a sentence forbids: the word, or the two characters, after its negation
FORBIDDEN = re.compile(
    r"(?:\bnot|n't|\bdont|\bnever|\bno|\bavoid|\bstop|\bwithout) "
    r"(?:(?:use|using|any|new|the|ever|even|to) )*([a-z0-9_'./-]{3,})"
    r"|(?:不要|别|不能|不得|不许|不准|禁止|严禁|勿|不可以?)[再去使用]*([\u4e00-\u9fff]{2})"
)


class Said(NamedTuple):
    """What a sentence says that matters for lifting."""

    how: Literal["cancels", "permits", "waives", ""]  # it lifts another sentence in this way, or none
    subject: frozenset[str]  # the words that say what it is about
    forbids: frozenset[str]


def lifts(sentence: str) -> bool:
    """Whether this plain sentence, in English or Chinese, lifts a rule."""
    return bool(_how(sentence))


class Lifted:
    """What has been lifted, for sentences that are asked about from the newest to the oldest."""

    def __init__(self) -> None:
        self._lifting: list[Said] = []  # sentences that have not found what they lift

    def takes(self, sentence: str) -> bool:
        """Whether a later sentence lifts this one.

        "Forget that" lifts the one before it. Others lift what they are about: a permission what forbids just that, and
        "you don't have to" what orders it.
        """
        said = _read(sentence)
        if said.how:
            self._lifting.append(said)
            return False
        for lifting in reversed(self._lifting):
            if _is_lifted(said, lifting):
                self._lifting.remove(lifting)
                return True
        return False


def _is_lifted(said: Said, lifting: Said) -> bool:
    if not lifting.subject:
        return lifting.how == "cancels"
    if len(lifting.subject & said.subject) < SHARED * len(lifting.subject):
        return False
    if lifting.how == "permits":
        return not lifting.subject.isdisjoint(said.forbids)
    return lifting.how == "cancels" or not said.forbids


@lru_cache(maxsize=4096)  # the same sentences are asked about at every sweep
def _read(sentence: str) -> Said:
    words = plain(sentence)
    pairs = (part[at : at + 2] for part in HAN.findall(EMPTY_ZH.sub(" ", words)) for at in range(len(part) - 1))
    forbidden = (found[1] or found[2] for found in FORBIDDEN.finditer(words))
    return Said(_how(words), frozenset([*WORD.findall(words.replace(".", " ")), *pairs]) - EMPTY, frozenset(forbidden))


def _how(words: str) -> Literal["cancels", "permits", "waives", ""]:
    if CANCELS.in_(words):
        return "cancels"
    if PERMITS.in_(words):
        return "permits"
    return "waives" if WAIVES.in_(words) else ""
