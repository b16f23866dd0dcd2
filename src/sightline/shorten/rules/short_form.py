"""A constraint in fewer words, for a small context window: every number, name and negation stays.

Only words that carry no meaning by themselves go: how the sentence is led in, politeness, articles, "is", and a reason
that holds no number, name or negation. What is quoted stays as it is.
"""

import re

from sightline.shorten.rules.pattern_table import any_of
from sightline.values.pattern import pattern

LEAD = pattern(
    any_of(r"""
    ok(?:ay)? also and so but btw by~the~way please kindly from~now~on going~forward for~the~record just~so~you~know
    (?:please~)?(?:note|remember|keep~in~mind|be~aware)~that make~sure~(?:that|to) be~sure~to i(?:'d|~would)~like~you~to
    i~want~you~to you~(?:should|need~to|have~to)
    请 麻烦你? 顺便说一下 对了 另外 还有 请?记住 请?注意 从现在开始 以后
    """)
    + r"(?:[,:，：]\s*|\s+|(?-i:(?<=[一-鿿])))",  # to fold the case of so many characters takes as long as all the rest
    re.IGNORECASE,
)
EMPTY = pattern(
    r",? please\b(?! \w)|(?<!\S)(?:the|an?(?! (?:or|and|to|in|by|for|with)\b)|is|are|kindly|really|very|quite|"
    r"basically|actually) (?=\S)|一下(?![一-鿿])|的话(?=[，,])|[吧哦呢](?=[，。！,]|$)"
)
REASON = pattern(r"(?:,? because\b|[，,]?因为)[^,，。]*")
MEANS = pattern(
    r"[\d\"“`‘「/_@#%]|\b(?:no|not|nor|neither|never|none|nothing|nobody|cannot|only|without|except|unless|avoid|one|two|"
    r"three|four|five|six|seven|eight|nine|ten)\b|n['’]t|\b[A-Z]|\w\.\w|[不没别勿未无非仅只禁零一二两三四五六七八九十百千万]"
)
QUOTED = pattern(r"(\"[^\"]*\"|“[^”]*”|`[^`]*`|「[^」]*」)")


def short_form(sentence: str) -> str:
    """Return the sentence on one line, without the words that it can do without."""
    line = " ".join(sentence.split())
    while (lead := LEAD.match(line)) and lead.end() < len(line):
        line = line[lead.end() :]
    line = REASON.sub(lambda reason: reason[0] if MEANS.search(reason[0].lstrip(" ,")) else "", line)
    line = line[:1].lower() + line[1:] if line.startswith("The ") else line
    pieces = QUOTED.split(line)
    pieces[::2] = [EMPTY.sub("", piece) for piece in pieces[::2]]
    return "".join(pieces).strip().rstrip(".。!！") or line
