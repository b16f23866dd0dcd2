"""Terms: what a text can be found by."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from sightline.values.phrases import SPEAKS

INDEXED = 65_536  # characters of a row's text that are indexed: beyond it head, tail and samples between
HEAD = TAIL = INDEXED * 3 // 8  # what a text is about stands at its ends
SAMPLE = 1_024  # characters of one sample of the middle
TERM = 64  # characters of a term; longer ones (base64, minified code) are known by their beginning
PIECES = 4  # a word falling into more pieces is a hash, not a name
QUERY_TERMS = 64  # of a pasted page the longest terms, which are the rare ones; bounds the look-ups of one search

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # written without spaces
CJK_RUN = re.compile(f"[{CJK}]+")
GROUPED = r"\d{1,3}(?:,\d{3})+(?!\d)"  # 1,200 is 1200
CHUNK = re.compile(rf"{CJK_RUN.pattern}|{GROUPED}|[^\W{CJK}]+(?:[-./\\@'][^\W{CJK}]+)*")
PATH = re.compile(r"[/\\]")
JOINT = re.compile(r"[-.@_]+")
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
SUFFIXES = (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ing", ""))

# Function words of English questions: in a short history they are rare enough to look like names.
FUNCTION_WORDS = """
    a an the and or but if so as of to in on at by for from with about into than then that this these those there it
    its is am are was were be been being do does did done have has had will would can could should may might must not
    no i me my we us our you your he him his she her they them their what when where who whom whose which why how
    any some many much tell say said please
"""


# Cues: what else a row is known by. No text holds such a term.
SPEAKER = "\0by "  # and a term of the name of who says it
DATED = "\0dated"
BESIDE = "\0"  # after it stands what a text can be found by besides what it says, such as when it was said
NAMED = re.compile(rf"\b[A-Z][^\W\d_]+|{CJK_RUN.pattern}")
NAMES = 4  # words of a name; a longer beginning is a sentence
TIMES = """
    yesterday today tonight tomorrow ago last next since week month year weekend
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
"""
CHINESE_TIMES = "[昨今明前后]天|[上下这]个?[周月]|[年月日号点周]"
TIMED = re.compile(rf"\d|\b(?:{'|'.join(TIMES.split())})\b|{CHINESE_TIMES}", re.I)
ASKS_WHEN = re.compile(
    r"\b(?:when|how (?:long|often|old|soon)|what (?:time|date|day|month|year)|which (?:day|month|year))\b"
    r"|什么时[候间]|何时|几[点号月日年]|哪[天年月日]|多久|星期几|周几|日期|时间",
    re.I,
)


SETTLED = "(?:agreed?|settled?|decided?|booked?|arranged?|planned|discuss(?:ed)?|covered|talked)(?: (?:on|about|upon))?"
ASKS_FOR_ALL = re.compile(
    r"\b(?:list (?:all|everything)|everything|overview|recap|wrap up|sum up|so far|up to now|until now"
    r"|summar(?:y|ise|ize)(?: of)?|all (?:that|of|the details|we|you|i)"
    rf"|(?:what )?(?:did|have|had|do)? ?(?:we|you|i) (?:have |had )?{SETTLED}|what (?:was|were|has been) {SETTLED}"
    r"|(?:in |of )?(?:our|this|the) (?:whole |entire )?(?:conversation|session|chat))\b"
    r"|(?:全部|所有)(?:的?(?:信息|内容))?|一切|列出来?|概括|概述|回顾|总结|汇总|归纳|小结|梳理|到目前为止"
    r"|在?(?:这次|整个|本次)?(?:会话|对话|聊天)里?"
    r"|(?:我们)?都?(?:定|商量|决定|确定|谈|聊|约)(?:好|下来|下)?[了过]?(?:的|些|哪些)?(?:什么|内容|信息|全部|所有)",
    re.I,
)


POLITE = re.compile(
    r"\b(?:please|give|show|tell|me|us|can|could|would|you|my|our|an?|the|briefly)\b|请|一下|帮我?|给我?|把|吧|呢|我们|我|信息|内容|[的了]",
    re.I,
)


def asks_for_all(query: str) -> bool:
    """Whether a question is about everything that was said."""
    return bool(ASKS_FOR_ALL.search(query))


def besides_all(query: str) -> str:
    """What such a question names besides: nothing, or what of all that was said is meant."""
    return POLITE.sub(" ", ASKS_FOR_ALL.sub(" ", query))


def cues(text: str) -> list[str]:
    """Who says a text, where it begins with that, and whether it names a time."""
    text = text.partition(BESIDE)[0]
    speaks = SPEAKS.match(text)
    name = terms(speaks[1]) if speaks else []
    return [SPEAKER + term for term in name if len(name) <= NAMES] + [DATED] * bool(TIMED.search(text))


def query_cues(query: str, wanted: Iterable[str]) -> list[str]:
    """The cues that speak for a row where this is asked: names are written with a capital, or in Chinese."""
    names = set(terms(" ".join(NAMED.findall(query))))
    return [SPEAKER + term for term in wanted if term in names] + [DATED] * bool(ASKS_WHEN.search(query))


def terms(text: str) -> list[str]:
    """What a text can be found by, in order, repeated as often as it is said.

    Words are NFKC, lower-cased and lightly stemmed. Identifiers, paths and addresses stand whole and in pieces (snake,
    camel, path). Chinese, Japanese and Korean runs become their characters and their pairs. No term holds a space.
    """
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return list(chain.from_iterable(map(_chunk_terms, CHUNK.findall(text))))


def query_terms(query: str) -> list[str]:
    """The distinct terms of a query, longest first, without function words unless there are no others."""
    distinct = list(dict.fromkeys(terms(indexed(query))))
    telling = [term for term in distinct if term not in STOP_TERMS] or distinct
    return sorted(telling, key=len, reverse=True)[:QUERY_TERMS]


def indexed(text: str) -> str:
    """The text, or of a long one head, tail and evenly spaced samples of what lies between: INDEXED characters."""
    if len(text) <= INDEXED:
        return text
    samples = (INDEXED - HEAD - TAIL) // SAMPLE
    stride = (len(text) - HEAD - TAIL) / samples
    middle = (text[HEAD + int(i * stride) :][:SAMPLE] for i in range(samples))
    return " ".join((text[:HEAD], *middle, text[-TAIL:]))


@lru_cache(maxsize=1 << 14)  # words repeat: nine chunks of ten are known
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of one run of characters that stand together."""
    if CJK_RUN.match(chunk):
        return (*chunk, *(chunk[i : i + 2] for i in range(len(chunk) - 1)))
    pieces = dict.fromkeys(_pieces(chunk.replace(",", "")))
    return tuple(dict.fromkeys(_stem(piece.lower()[:TERM]) for piece in pieces if piece))


def _pieces(chunk: str) -> list[str]:
    """The chunk whole, each part of a path, each word of a part, each hump of a word."""
    found = [chunk]
    for part in PATH.split(chunk):
        found.append(part)
        for word in JOINT.split(part):
            found.append(word)
            if word.isascii() and not word.islower():  # capitals part a word; sha256 stays one
                humps = HUMP.findall(word)
                found += humps if len(humps) <= PIECES else ()
    return found


def _stem(word: str) -> str:
    """The word without English plural, 's, -ing and -ed, so that its forms end alike; other words as they are."""
    word = word.removesuffix("'s").rstrip("'")
    if len(word) < 4 or word[-1] not in "sdge" or not (word.isascii() and word.isalpha()):
        return word
    for suffix, instead in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]  # running, run
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


STOP_TERMS = frozenset(map(_stem, FUNCTION_WORDS.split()))
