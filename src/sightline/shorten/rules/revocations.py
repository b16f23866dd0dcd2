"""Sentences that lift what was laid down: "you may touch the migrations now". They are kept like what they lift.

A sentence may lay down several things, its parts: "never touch the tests or the docs". It is lifted when all are.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

from sightline.shorten.rules import chinese, english
from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of, word_set
from sightline.shorten.rules.user_sentences import plain
from sightline.values.pattern import pattern

# of each kind one holds: who allows English again no longer wants German
KINDS = {
    "<language>": v.LANGUAGE,
    "<format>": "json yaml csv markdown html latex xml pdf prose",
    "<spelling>": "british american",
    "<indent>": "tabs spaces",
}
KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}
LANGUAGE_ZH = dict(zip("英中法德西意葡荷日韩俄", v.LANGUAGE.split(), strict=False))

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
    \b(?<!not )(?:is|are) (?:now )?(?:allowed|permitted) <now>(?!.*\?)  # emojis are allowed again
    ^(?:<then>,? )*(?:(?:the|your|plain) )?<value>(?: [a-z]+)? (?:is|are) <fine> <now>(?!.*\?)  # english is fine again
    ^(?:现在|以后|接下来)你?可以(?!<works_zh>)[^，。]{1,30}了  # 现在可以改数据库了
    ^(?:<then>[，,]?)*(?:现在|以后)?[用说写]?(?:回)?<value_zh>[文语](?:回答)?[也又就]?(?:可以|行|没问题)了?[。.！!]?$
    ^(?:现在)?[^，。？?我他她]{2,12}(?:现在)?可以[改动删碰]了[。.！!]?$  # 数据库可以改了
    ^你?可以(?!<begin_zh>)[^，。？?吗呢]{2,20}了[。.！!]?$  # 可以改 schema 了
    ^(?:算了，?)?[^，。？?]{2,12}也可以[用做改](?:了)?[。.！!]?$  # 第三方库也可以用
    """,
    then="(?:actually|ok|okay|so|well|also|and|其实|算了|对了)",
    now="(?:again|now|after all)",
    fine="(?:fine|ok|okay|good|alright)",
    value=any_of(" ".join(KIND_OF)),
    value_zh="[英中法德西意葡荷日韩俄]",
    may="(?:you (?:may|can)|(?:feel free|it(?:'s| is) (?:now )?(?:fine|ok|okay|allowed)) to)",
    works_zh="(?:正常|登|打开|访问|运行|看到|显示|用了)",
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

# --- What a sentence is about --------------------------------------------------------------------------------------

EMPTY = word_set("""
    you may can could now again anymore more any longer after all forget that this what said scratch disregard
    ignore drop cancel earlier previous old last first rule rules restriction constraint limit requirement
    convention ban instruction instructions the and for don't doesn't not need have has from apply applies hold
    holds count counts matter matters okay never always please only must should with into about just use using
    everything restrictions requirements constraints these those told feel free fine allowed it's scrap lift
    actually before are permitted good alright
    """)
WORD = pattern(r"[a-z0-9_'./-]{3,}")
EMPTY_ZH = pattern(
    "现在|以后|接下来|可以|不用|不必|无需|不需要|不要|不能|不得|不许|不准|不允许|禁止|严禁|必须|前面|之前|刚才|上面|[这那]条|上一条|说的"
    "|规则|要求|限制|约定|规定|禁令|作废|取消|解除|失效|收回|不再|不算|当我没说|所有|全部|以前|以上|忘掉|忘了|忽略|不用管|别管|其实"
    "|永远|[了你再也又都先别的话勿]"
)
HAN = pattern(r"[\u4e00-\u9fff]+")
# verbs that say the same: the first of each line stands for all
ALIKE = (
    "change edit modify touch alter update 改 修改 更改 改动 变更 动 碰",
    "remove delete 删 删除 删掉 移除",
    "add introduce install 加 添加 新增 增加",
)
_VERBS_ZH = [verb for verb in " ".join(ALIKE).split() if not verb.isascii()]
VERB_ZH = pattern("(?:" + "|".join(sorted(_VERBS_ZH, key=len, reverse=True)) + "|使用|采用|用(?!户))(?!画|进|密)")
ENDING = pattern(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


def _bare(word: str) -> str:
    """The word without its ending: pushing → push, running → run."""
    bare = ENDING.sub("", word)
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


STEMS = {_bare(alike): _bare(line.split()[0]) for line in ALIKE for alike in line.split()}
VERBS = frozenset(map(_bare, v.DOING.split())) | set(STEMS.values())
SHARED = 0.75  # of what the lifting sentence is about: a rule that shares less may be another one

# what a clause forbids follows its negation, up to when or why
NEGATION = pattern(
    r"(?:\bnot|n't|\bdont|\bnever|\bno|\bavoid|\bstop|\bwithout|不要|别|不能|不得|不许|不准|不允许|禁止|严禁|勿|不可以?)"
    r"((?:(?!\b(?:before|until|till|unless|when|if|because|since|so that)\b)[^,;，；。])*)"
)
PART = pattern(r"([,;，；])|\.\s|\s(?:and|or|nor)\s|、|或者?|以及|(?<=[\u4e00-\u9fff])[和与](?=[\u4e00-\u9fff])")
MORE = pattern(r" (?:and|or|nor) ")
LISTED = 24  # characters of an item of a list: a longer part is a reason or a remark

How = Literal["cancels all", "cancels", "permits", "waives", ""]


class Part(NamedTuple):
    """One thing that a sentence lays down."""

    about: frozenset[str]  # without its verb, if it names anything else
    values: frozenset[str]  # of a kind of which one holds
    forbidden: bool


class Said(NamedTuple):
    """What a sentence says that matters for lifting."""

    how: How  # it lifts another sentence in this way, or none
    subject: frozenset[str]  # the words that say what it is about
    values: frozenset[str]
    parts: tuple[Part, ...]


def lifts(sentence: str) -> bool:
    """Whether this plain sentence, in English or Chinese, lifts a rule."""
    return bool(_how(sentence))


class Lifted:
    """What has been lifted, for sentences that are asked about from the newest to the oldest."""

    def __init__(self, message_before: Callable[[int], int] = lambda _row: 0) -> None:
        self._message_before = message_before  # a row → the row of the user's message before it
        self._lifting: list[tuple[Said, int]] = []  # sentences that may lift more, and the first row that each lifts

    def is_lifted(self, text: str, row: int = 0) -> bool:
        """Whether later sentences lift all of this text, which itself lifts nothing."""
        return not lifts(plain(text)) and self.takes(text, row)

    def takes(self, sentence: str, row: int = 0) -> bool:
        """Whether later sentences lift all of this one, which stands in this row.

        "Forget that" lifts the one before it, in the same message or the one before. Others lift what they are about: a
        permission what forbids just that, "you don't have to" what orders it, "forget all rules" every one.
        """
        if not self._lifting and not lifts(plain(sentence)):
            return False  # as most are: its parts matter only where something was lifted
        said = _read(sentence)
        if said.how:
            is_near = said.how == "cancels" and not said.subject
            self._lifting.append((said, self._message_before(row) if is_near else 0))
            return False
        left = set(said.parts)
        for lifting, first in reversed(self._lifting):
            if row < first or not _is_about(said, lifting):
                continue
            left -= {part for part in said.parts if _lifts_part(lifting, part)}
            if left < set(said.parts) and lifting.how != "cancels all" and lifting.subject <= KINDS.keys():
                self._lifting.remove((lifting, first))  # it names nothing, or only a kind: the newest was meant
            if not left:
                return True
        return False


def _is_about(said: Said, lifting: Said) -> bool:
    return len(lifting.subject & said.subject) >= SHARED * len(lifting.subject)


def _lifts_part(lifting: Said, part: Part) -> bool:
    if not lifting.subject:
        return lifting.how.startswith("cancels")
    if part.about.isdisjoint(lifting.subject):
        return False
    differs = bool(part.values and lifting.values) and part.values.isdisjoint(lifting.values)
    if lifting.how == "permits":
        return part.forbidden != differs  # it was forbidden, or another of its kind was ordered
    return not differs and (lifting.how.startswith("cancels") or not part.forbidden)


@lru_cache(maxsize=4096)  # the same sentences are asked about at every sweep
def _read(sentence: str) -> Said:
    words = plain(sentence)
    how, (subject, values) = _how(words), _terms(words)
    subject -= {_stem("remove")} if how.startswith("cancels") else set()  # of the rule, not of a file
    return Said(how, subject, values, _parts(words))


def _parts(words: str) -> tuple[Part, ...]:
    """What the sentence lays down: each clause that binds by itself, and what is listed in it with it."""
    parts: list[Part] = []
    start, listed = 0, False
    for mark in (*PART.finditer(words), None):
        text = words[start : mark.start() if mark else len(words)]
        subject, values = _terms(text)
        if _binds(text):
            parts.append(_part(text))
        elif parts and listed and subject and len(text) <= LISTED:
            parts.append(Part(subject, values, parts[-1].forbidden))
        if mark:  # a comma is in a list if "and" or "or" follows; a Chinese list has another mark
            start, listed = mark.end(), not mark[1] or (mark[1] == "," and bool(MORE.search(words, mark.end())))
    return tuple(parts) or (_part(words),)


def _part(text: str) -> Part:
    negation = NEGATION.search(text)
    terms, values = _terms(negation[1] if negation else text)
    return Part(frozenset(terms - VERBS) or terms, values, bool(negation))


def _binds(text: str) -> bool:
    return chinese.is_constraint(text) if chinese.WRITTEN.search(text) else english.is_constraint(text)


def _terms(words: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that say what a text is about, each in one form, and which of them are values of a kind."""
    telling = {word for word in WORD.findall(words.replace(". ", " ").rstrip(".")) if word not in EMPTY}
    values = {word for word in telling if word in KIND_OF}
    values |= {LANGUAGE_ZH[name] for name in re.findall(f"([{''.join(LANGUAGE_ZH)}])[文语]", words)}
    terms = {_stem(word) for word in telling - values} | {KIND_OF[value] for value in values}
    for chunk in HAN.findall(EMPTY_ZH.sub(" ", re.sub(f"[{''.join(LANGUAGE_ZH)}][文语]", " ", words))):
        verb = VERB_ZH.match(chunk)
        terms |= {STEMS[verb[0]]} if verb and verb[0] in STEMS else set()
        rest = chunk[verb.end() :] if verb else chunk
        terms |= {rest[at : at + 2] for at in range(len(rest) - 1)}
    return frozenset(terms - {""}), frozenset(values)


def _stem(word: str) -> str:
    bare = _bare(word)
    return STEMS.get(bare, bare)


@lru_cache(maxsize=4096)  # asked for by whoever looks for constraints, and again here
def _how(words: str) -> How:
    if CANCELS_ALL.in_(words):
        return "cancels all"
    if CANCELS.in_(words):
        return "cancels"
    if PERMITS.in_(words):
        return "permits"
    return "waives" if WAIVES.in_(words) else ""
