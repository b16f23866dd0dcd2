"""Terms: the words and word parts by which a text is found, and what a query tells about the rows it wants."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from sightline.values.pattern import pattern
from sightline.values.phrases import SPEAKS

INDEXED_CHARS = 65_536  # of a row's text; of a longer one head, tail and samples between them are indexed
HEAD = TAIL = INDEXED_CHARS * 3 // 8  # the ends of a text say most about it
SAMPLE = 1_024  # characters of one sample of the middle
MAX_TERM_CHARS = 64  # longer terms (base64, minified code) are indexed by their beginning
MAX_HUMPS = 4  # a word with more camel-case parts is a hash, not a name
MAX_QUERY_TERMS = 64  # of a pasted page the longest terms, because they are rare; bounds the look-ups of one search

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # scripts without spaces
CJK_RUN = pattern(f"[{CJK}]+")
GROUPED = r"\d{1,3}(?:,\d{3})+(?!\d)"  # 1,200 is 1200
CHUNK = pattern(rf"{CJK_RUN.pattern}|{GROUPED}|[^\W{CJK}]+(?:[-./\\@'][^\W{CJK}]+)*")
ONE_CHUNK = pattern(r"\w+(?:[-./\\@']\w+)*", re.ASCII)  # of ASCII, as most are
ASCII_CHUNK = pattern(f"{GROUPED}|{ONE_CHUNK.pattern}", re.ASCII)  # what CHUNK is in ASCII: it takes long to compile
JOINTS = "-./\\@',"  # they stand within a chunk, never at its ends
APART = bytes(byte if byte >= 128 or chr(byte).isalnum() or chr(byte) in f"{JOINTS}_" else 32 for byte in range(256))
IDENTIFIES = pattern(r"\d|\w[-./\\@_]\w|[^\W\d_][A-Z]")  # 4711, A-17, main.py, getName, NASA
NAME_INSIDE = pattern(r"(?<=[a-z,] )[A-Z][^\W\d_]+")
HUMP = pattern(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|(?<!['a-z])[a-z]+|\d+")  # of "Ann's" not the s, which "It's" has too
SUFFIXES = (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ing", ""))

# Function words of English questions. In a short history they can be rare enough to look like names.
FUNCTION_WORDS = """
    a an the and or but if so as of to in on at by for from with about into than then that this these those there it
    its is am are was were be been being do does did done have has had will would can could should may might must not
    no i me my we us our you your he him his she her they them their what when where who whom whose which why how
    any some many much tell say said please
"""

# The same of Chinese, which has no spaces: words that end a word before them and begin none, so that no pair of
# characters reaches across them, and characters that are also parts of other words, which only count in such a pair.
CHINESE_FUNCTION_WORDS = """
    什么 怎么 怎样 如何 为什么 为何 多少 几个 哪些 哪个 哪里 哪儿 哪 谁 是不是 有没有 是否 能否 能不能 可不可以 请问
    麻烦 帮忙 帮我 一下 一遍 告诉 知道 记得 想要 可以 关于 以及 还有 并且 或者 如果 因为 所以 但是 然后 现在 之前 以前
    前面 刚才 刚刚 上次 已经 曾经 这个 那个 这些 那些 这样 那样 我们 你们 他们 她们 它们 咱们 自己 大家 的 了 吗 呢 吧
    啊 呀 嘛 么 请 我 你 您 他 她 它 们 这 那
"""
WEAK_CHARACTERS = frozenset("是在有和与或也都就还很再又给把被对从到谈说过要想能会个些地得着上下中里")


# Cues: terms for what a row is besides its words. They begin with a NUL, so no text holds them.
CUE = "\0"
SPEAKER = f"{CUE}by "  # followed by a term of the speaker's name
DATED = f"{CUE}dated"  # the text names a time
TIME_MARK = "\0"  # in a text to index, between the text itself and the time at which it was written
NAMES_IN_QUERY = pattern(rf"\b[A-Z][^\W\d_]+|{CJK_RUN.pattern}")
MAX_NAME_TERMS = 4  # what is longer before a colon is a sentence, not a name
TIME_WORDS = """
    yesterday today tonight tomorrow ago last next since week month year weekend
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
"""
CHINESE_TIME_WORDS = "[昨今明前后]天|[上下这]个?[周月]|[年月日号点周]"
DIGIT = pattern(r"\d")
TIME_NAMED = pattern(rf"\b(?:{'|'.join(TIME_WORDS.split())})\b|{CHINESE_TIME_WORDS}", re.I)
ASKS_WHEN = pattern(
    r"\b(?:when|how (?:long|often|old|soon)|what (?:time|date|day|month|year)|which (?:day|month|year))\b"
    r"|什么时[候间]|何时|几[点号月日年]|哪[天年月日]|多久|星期几|周几|日期|时间",
    re.I,
)


def cues(text: str, *, dated: bool = True) -> list[str]:
    """Return the cues of a text: its speaker, if it begins with a name and a colon, and whether it names a time.

    Without `dated` it is not searched for a time, which takes longer than all the rest.
    """
    text = text.partition(TIME_MARK)[0]
    speaks = SPEAKS.match(text)
    name = terms(speaks[1]) if speaks else []
    names_time = dated and (DIGIT.search(text) or TIME_NAMED.search(text))
    return [SPEAKER + term for term in name if len(name) <= MAX_NAME_TERMS] + [DATED] * bool(names_time)


def query_cues(query: str, wanted: Iterable[str]) -> list[str]:
    """Return the cues of rows that this query wants. Names in it have a capital letter or are Chinese."""
    names = set(terms(" ".join(NAMES_IN_QUERY.findall(query))))
    return [SPEAKER + term for term in wanted if term in names] + [DATED] * bool(ASKS_WHEN.search(query))


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order and with repetitions.

    Words are NFKC-normalised, lower-cased and lightly stemmed. Identifiers, paths and addresses give themselves and
    their parts (snake case, camel case, path). Runs of Chinese, Japanese or Korean give their characters and pairs of
    characters. No term contains a space.
    """
    text = _normalize(text)
    return list(chain.from_iterable(map(_known_terms, chunks_in(text).findall(text))))


def chunks_in(text: str) -> re.Pattern[str]:
    """Return the pattern of the chunks of a text: the runs of characters that give terms by themselves."""
    return ASCII_CHUNK if text.isascii() else CHUNK


def words(text: str) -> tuple[list[str], int]:
    """Return the words of a text, runs of characters of which each gives terms by itself, and how long the text is.

    The terms of all words are those of the text. A long text repeats its words, so it is cheaper to take apart each
    distinct one. A word ends at an ASCII character that no chunk contains. The length is about that in terms, and is
    known before any word is taken apart: one for each word, and two more for each character of Chinese.
    """
    text = _normalize(text)
    data = text.encode(errors="replace")
    found = data.translate(APART).decode().split()
    return found, len(found) + len(data) - len(text)


def stems_of(wanted: Iterable[str]) -> re.Pattern[str]:
    """Return what stands in every word that gives one of these terms: lower-cased and without commas, as in 1,200."""
    stems = {term.removesuffix("y") if len(term) > 3 else term for term in wanted}  # "cities" gives "city"
    least = [stem for stem in stems if not any(other in stem for other in stems - {stem})]
    return re.compile("|".join(map(re.escape, least)))


def word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of a word, or of a chunk, in order and with repetitions."""
    word = word.strip(JOINTS)
    if word.isascii():
        if word.isalnum() and (word.islower() or word.isdecimal()):  # nothing to take apart
            return (_stem(word[:MAX_TERM_CHARS]),)
        if ONE_CHUNK.fullmatch(word):
            return tuple(_chunk_terms(word))
    return tuple(chain.from_iterable(map(_chunk_terms, chunks_in(word).findall(word))))


def query_terms(query: str) -> list[str]:
    """Return the distinct terms of a query, longest first, without function words unless there are no others."""
    text = text_to_index(query)
    distinct = dict.fromkeys(terms(text if text.isascii() else CHINESE_STOPS.sub(" ", text)))
    content_terms = [term for term in distinct if term not in STOP_TERMS and not WEAK_CHARACTERS.issuperset(term)]
    return sorted(content_terms or dict.fromkeys(terms(text)), key=len, reverse=True)[:MAX_QUERY_TERMS]


def exact_terms(query: str) -> set[str]:
    """Return the terms of a query that name one thing: numbers, ids, paths, addresses, and names inside a sentence."""
    text = unicodedata.normalize("NFKC", text_to_index(query))
    named = [chunk for chunk in chunks_in(text).findall(text) if IDENTIFIES.search(chunk)] + NAME_INSIDE.findall(text)
    return set(terms(" ".join(named))) - STOP_TERMS


def text_to_index(text: str) -> str:
    """Return the text or, of one longer than INDEXED_CHARS, its head, its tail and evenly spaced samples between."""
    if len(text) <= INDEXED_CHARS:
        return text
    samples = (INDEXED_CHARS - HEAD - TAIL) // SAMPLE
    stride = (len(text) - HEAD - TAIL) / samples
    starts = (HEAD + int(i * stride) for i in range(samples))
    middle = (text[start : start + SAMPLE] for start in starts)
    return " ".join((text[:HEAD], *middle, text[-TAIL:]))


def _normalize(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")


_known_terms = lru_cache(maxsize=1 << 14)(word_terms)  # words repeat: nine chunks of ten are in the cache


def _chunk_terms(chunk: str) -> Iterable[str]:
    """Return the terms of one run of characters without spaces."""
    if not chunk.isascii() and CJK_RUN.match(chunk):
        return (*chunk, *(chunk[i : i + 2] for i in range(len(chunk) - 1)))
    chunk = chunk.replace(",", "")
    parts = chunk.replace("\\", "/").split("/")
    if len(parts) == 1:
        return dict.fromkeys(_name_terms(chunk))
    return dict.fromkeys([_term(chunk), *chain.from_iterable(map(_part_terms, parts))])


@lru_cache(maxsize=1 << 12)  # a folder has many files
def _part_terms(part: str) -> list[str]:
    return _name_terms(part) if part else []


def _name_terms(name: str) -> list[str]:
    """Return the terms of a name or a part of a path: itself, its words, and the camel-case humps of a word."""
    terms = [_term(name)]
    for word in name.replace("_", " ").replace(".", " ").replace("-", " ").replace("@", " ").split():
        if word.isdecimal():
            terms.append(word[:MAX_TERM_CHARS])
            continue
        terms.append(_word_term(word))
        if not word.islower() and word.isascii():  # only capitals split a word: sha256 stays one
            humps = HUMP.findall(word)
            terms += map(_word_term, humps) if len(humps) <= MAX_HUMPS else ()
    return terms


def _term(piece: str) -> str:
    return _stem(piece.lower()[:MAX_TERM_CHARS])


_word_term = lru_cache(maxsize=1 << 12)(_term)  # words repeat where the names that consist of them do not


def _stem(word: str) -> str:
    """Return an English word without plural, 's, -ing or -ed, so that its forms are equal; other words as they are."""
    if word[-1:] not in "sdge'":
        return word
    word = word.removesuffix("'s").rstrip("'")
    if len(word) < 4 or word[-1] not in "sdge" or not (word.isascii() and word.isalpha()):
        return word
    for suffix, instead in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]  # running → run
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


STOP_TERMS = frozenset(map(_stem, FUNCTION_WORDS.split()))
CHINESE_STOPS = pattern("|".join(sorted(CHINESE_FUNCTION_WORDS.split(), key=len, reverse=True)))
