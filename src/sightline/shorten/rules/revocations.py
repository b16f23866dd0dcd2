"""Sentences that lift what was laid down: "you may touch the migrations now". They are kept like what they lift."""

import re
from functools import lru_cache

from sightline.shorten.rules.pattern_table import Table, word_set
from sightline.shorten.rules.user_sentences import plain

ENGLISH = Table(
    r"""
    <start>(?:forget|scratch|disregard|ignore|drop|cancel) (?:that|this|it|what i said|<all> <earlier>)\b  # forget that
    \b(?:disregard|ignore|drop|cancel) <all> <earlier>\b  # you can drop the old rule
    \b<rule>s?\b.{0,60}\b(?:no longer|doesn't|don't) (?:appl|hold|count|matter)  # the rule no longer applies
    \byou (?:may|can) (?!<begin>).{0,80}\b(?:now|again|after all|from now on)\b(?!.*\?)  # you may touch it now
    \byou (?:don't|do not|no longer) (?:have|need) to\b.{0,80}\b(?:any ?more|any longer|now|from now on)\b
    """,
    start=r"(?:^|[,;:.] |\b(?:please|ok|okay|just|actually|so) )",
    begin="(?:proceed|go|start|begin|continue|book|close|confirm)",
    all="(?:the|my|all)",
    earlier=r"(?:earlier |previous |old |last |first )?(?:<rule>s?|instructions?)",
    rule="(?:rule|restriction|constraint|limit|requirement|convention|ban)",
)
CHINESE = Table(
    r"""
    (?:规则|要求|限制|约定|规定|禁令)[^，。]{0,12}(?:作废|取消|解除|不再|失效|不算)  # 前面说的规则作废
    (?:忘掉|忘了|忽略|不用管|别管)[^，。]{0,4}(?:之前|前面|刚才|上面)[^，。]{0,8}(?:规则|要求|限制|话|说的)
    ^(?!.*[？?])(?:现在|以后|接下来)?[^，。]{0,6}<no_need>(?![^，。]*<kindly>)[^，。]{1,30}了  # 现在不用先跑测试了
    ^(?:现在|以后|接下来)你?可以[^，。]{1,30}了  # 现在可以改数据库了
    """,
    no_need="(?:不用|不必|无需|不需要)",
    kindly="(?:担心|考虑|客气|谢|着急|麻烦)",
)


# what a lifting sentence says besides what it is about
EMPTY = word_set("""
    you may can could now again anymore more any longer after all forget that this what said scratch disregard
    ignore drop cancel earlier previous old last first rule rules restriction constraint limit requirement
    convention ban instruction instructions the and for don't doesn't not need have has from apply applies hold
    holds count counts matter matters okay never always please only must should with into about just
    """)
WORD = re.compile(r"[a-z0-9_'./-]{3,}")
EMPTY_ZH = re.compile(
    "现在|以后|接下来|可以|不用|不必|无需|不需要|不要|必须|前面|之前|刚才|说的|规则|要求|限制|作废|取消|[了你再也都先别的]"
)
HAN = re.compile(r"[\u4e00-\u9fff]+")
SHARED = 0.75  # of what the lifting sentence is about: a rule that shares less may be another one


def lifts(sentence: str) -> bool:
    """Whether this plain sentence, in English or Chinese, lifts a rule."""
    return ENGLISH.in_(sentence) or (not sentence.isascii() and CHINESE.in_(sentence))


class Lifted:
    """What has been lifted, for sentences that are asked about from the newest to the oldest."""

    def __init__(self) -> None:
        self._subjects: list[frozenset[str]] = []  # of the lifting sentences that have not found what they lift

    def takes(self, sentence: str) -> bool:
        """Whether a later sentence lifts this one. One that names nothing ("forget that") lifts the one before it."""
        lifting, subject = _read(sentence)
        if lifting:
            self._subjects.append(subject)
            return False
        for lifted in reversed(self._subjects):
            if lifted and len(lifted & subject) >= SHARED * len(lifted):
                self._subjects.remove(lifted)
                return True
        return False


@lru_cache(maxsize=4096)  # the same sentences are asked about at every sweep
def _read(sentence: str) -> tuple[bool, frozenset[str]]:
    """Return whether a sentence lifts another, and the words that say what it is about."""
    words = plain(sentence)
    pairs = (part[at : at + 2] for part in HAN.findall(EMPTY_ZH.sub(" ", words)) for at in range(len(part) - 1))
    return lifts(words), frozenset([*WORD.findall(words.replace(".", " ")), *pairs]) - EMPTY
