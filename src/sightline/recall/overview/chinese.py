"""Chinese: the values of a turn. What is left between words of grammar and punctuation is a value, if it is unusual."""

import re
from collections.abc import Callable, Iterator

from sightline.recall.overview.english import BREAKS, CERTAIN, FIGURE, MAYBE, SOME, Value
from sightline.recall.overview.words import CHINESE, LEADING, TRAILING

NUMBER = r"\d+(?:[.,:：/]\d+)*"
NUMERAL = "[一二三四五六七八九十]"
WEEKDAY = r"(?:周|星期|礼拜)[一二三四五六日天末]"
UNIT = (
    r"(?:个?半?小时|分钟|公里|千米|平方米|平米|万元|美元|欧元|块钱|人民币|公斤|km|kg|cm|[元块分岁℃%]"
    r"|天(?![\u4e00-\u9fff])|天(?=[以左的之]))"  # not of a name that begins with a number
)
RANGE = rf"(?:[ ]?[-~～—至到]+[ ]?{NUMBER}{UNIT}?)+"
FIGURES = (
    rf"(?:{WEEKDAY}(?:[ ]?[至到~-][ ]?{WEEKDAY})?[ ,，]*)?{NUMBER}{UNIT}?"
    rf"(?:{RANGE}|(?<!\d))(?:以上|以下|以内|左右|之间)?|\+?\d[\d-]{{6,}}\d"  # a number alone may belong to a name
)
DAYTIME = "(?:(?:[早晚]上|[上下中]午)(?!好)|傍晚|凌晨)"
DAY = (
    rf"(?:\d{{2,4}}年)?\d{{1,2}}月(?:\d{{1,2}}[日号])?|\d{{2,4}}年|{NUMERAL}{{1,2}}月{NUMERAL}{{1,3}}[日号]"
    rf"|(?:[上下这本]个?)?{WEEKDAY}|[明后昨前]天{DAYTIME}?|{DAYTIME}"
)
HOUR = (  # but for 一点 "a bit"
    rf"(?!一点(?![半整钟]))(?:{DAYTIME})?(?:\d{{1,2}}|{NUMERAL}{{1,3}})[点时]"
    rf"(?:半|整|\d{{1,2}}分?|{NUMERAL}{{1,3}}分?)?(?![儿心菜])"
)
PARTS = re.compile(
    rf"""
    (?P<within>[(（][^()（）{BREAKS}]{{1,40}}[)）])
    |[《“「『"](?P<quoted>[^《》“”「」『』"{BREAKS}]{{1,40}})[》”」』"]
    |(?P<figure>{HOUR}|{FIGURES})
    |(?P<day>{DAY})
    |(?P<stop>{CHINESE}|[^\w\s·&'＆.\#-]+|[ ]+(?![A-Za-z0-9])|(?<![A-Za-z0-9])[ ]+|[^\S ]+)
    """,
    re.VERBOSE,
)
LEAD = re.compile(rf"(?:[一二两三几][个家]|[{LEADING}]|和(?!平))+")
TRAIL = re.compile(rf"(?:[{TRAILING}]|(?<!酒)吧)+$")
POINTS = "是有去在叫到从为：:、,"  # what stands after them is named by them
LINKS = frozenset(["是", "：", ":", "为", "就是", ""])  # between a figure and what it is; blanks
POINTED = re.compile("[有去在到从为]")
AND = re.compile(r"[和或与及到](?![^(（]{0,40}[)）])")
BOTH = 4  # characters of two names and the word between them are more
FOREIGN = re.compile(r"[A-Za-z0-9)）]")  # a name, or a place in a street


def values(text: str, is_common: Callable[[str], bool]) -> Iterator[Value]:
    """Yield the values of a turn. `is_common` says whether many turns have a pair of characters: it names nothing."""
    begin, label = 0, -1  # where what is not yet read begins, and what the next figure is
    for match in PARTS.finditer(text):
        kind, (first, end) = match.lastgroup or "", match.span()
        if kind == "within" and first > begin:
            continue  # brackets belong to the name before them
        if first > begin:
            label = begin
            yield from _left(text, begin, first, is_common)
        begin = end
        if kind in ("figure", "quoted", "day"):
            start = label if kind == "figure" and label >= 0 else first
            yield Value(start, end, match[kind].lower(), SOME if kind == "day" else CERTAIN)
        if kind != "stop" or match[0].strip(" ") not in LINKS:
            label = -1
    yield from _left(text, begin, len(text), is_common)


def _left(text: str, begin: int, end: int, is_common: Callable[[str], bool]) -> Iterator[Value]:
    """Yield what is left there, if it names something."""
    if end - begin > BOTH and (both := AND.search(text, begin + 2, end - 2)):
        yield from _left(text, begin, both.start(), is_common)
        begin = both.end()
    for point in POINTED.finditer(text, begin + 2, max(begin, end - 2)):
        if _is_common(text[begin : point.start()], is_common):
            begin = point.end()
    lead = LEAD.match(text, begin, end)
    first = lead.end() if lead else begin
    key = TRAIL.sub("", text[first:end])
    if len(key) > 1 and not _is_common(key, is_common):
        before, after = text[first - 1 : first], text[first + len(key) : first + len(key) + 1]
        is_named = (before != "" and before in POINTS) or after in ("、", ",")
        yield Value(first, first + len(key), key.lower(), _worth(key, is_named))


def _is_common(words: str, is_common: Callable[[str], bool]) -> bool:
    return all(is_common(words[at : at + 2]) for at in range(len(words) - 1))


def _worth(key: str, is_named: bool) -> float:
    """Return what some words are worth. Names are longer than verbs, and something points at them."""
    if FOREIGN.search(key):
        return CERTAIN
    return (MAYBE if len(key) == 2 else SOME if len(key) == 3 else FIGURE) * (2 if is_named else 1)
