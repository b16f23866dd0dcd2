"""English: the values of a turn, by their form."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sightline.recall.overview.words import names_nothing

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a quote has none of these: it is shown within a line
CERTAIN, FIGURE, SOME, MAYBE = 3.0, 1.5, 1.0, 0.3  # how surely such a form is a value: a date, a number, a name, a word


class Value(NamedTuple):
    """One thing a turn states: its characters first..end."""

    first: int
    end: int
    key: str  # alike in every mention
    worth: float


NUMBERS = "two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand"
DAYS = """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december today tomorrow yesterday tonight noon midnight morning afternoon evening weekend
"""
COUNTED = rf"(?:{'|'.join(NUMBERS.split())}|one(?=[ -](?:hundred|thousand)))"
CLOCK = r"\d{1,2}(?::\d\d)?[ ]?(?:[ap]m\b|[ap]\.m\.|o'clock)|\d{1,2}:\d\d"
DAY = (
    r"\d{1,2}(?:st|nd|rd|th)\b|\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{2,4}"
    rf"|(?:{'|'.join(DAYS.split())}|(?-i:May)(?=[ ]\d))\b"
)
WHEN = rf"(?:{CLOCK}|{DAY})"
BEFORE, LINK = "(?:the|next|last|this|coming|later|early|late)", "(?:of|in|the|this|next|last|coming)"
AFTER = r"(?:to|in|on|at|for|from|of|and|or|is|are|the|an?|per|that|which|with|by|but|if|so|as)\b"  # is no unit
CAPITAL = r"(?-i:[A-Z])\w*(?:[-'’.]\w+)*"
PARTS = re.compile(
    rf"""
    (?P<address>[\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s，。]*[\w/])
    |(?P<pair>"\w{{1,40}}":[ ]?(?:"[^"{BREAKS}]{{1,80}}"|-?\d[\d.]*|true|false))
    |(?P<quoted>"[^\s"][^"{BREAKS}]{{1,60}}"|“[^”{BREAKS}]{{1,60}}”)
    |\b(?P<moment>(?:{BEFORE}[ ]){{0,2}}{WHEN}
        (?:[ ](?:{LINK}[ ]){{0,2}}(?:{WHEN}|week|month|year)|,?[ ]\d{{4}}\b)*)
    |\b(?P<name>{CAPITAL}(?:(?:[ ](?:of[ ])?(?:the[ ])?|[ ]&[ ])(?:{CAPITAL}|\d+\b)|[ ]\({CAPITAL}(?:[ ]{CAPITAL})*\))*
        (?:,[ ](?-i:[A-Z])\w+\b(?![ ](?-i:[A-Z])))?)
    |(?P<figure>[$€£¥\#+]?\d(?:[\d,.:/–-]*\d)?%?(?:(?:[ ]{CAPITAL})+|[ -]?(?!{AFTER})[a-z]{{1,20}}\b)?)
    |\b(?P<counted>(?:{COUNTED}[ -](?:and[ ])?)+(?!{AFTER})[a-z]{{3,}})
    |(?P<word>[^\W\d_]\w*(?:[-'’]\w+)*)
    |(?P<end>[.!?:{BREAKS}])
    """,
    re.VERBOSE | re.IGNORECASE,
)
WORTHS = {
    "address": CERTAIN, "quoted": CERTAIN, "moment": CERTAIN, "pair": SOME, "name": CERTAIN, "figure": FIGURE,
    "counted": SOME, "word": 0.0,
}  # fmt: skip
UNCLEAR = re.compile(r"-?[\d.]{1,2}|true|false|yes|no|none|null", re.IGNORECASE)  # means nothing without its name
BARE = re.compile(r"\d\d?")  # of what?
LARGE = re.compile(r"[$€£¥]?(\d[\d,]*(?:\.\d+)?)(?<=\d\d\d)(?![\d-]|[ ](?-i:[A-Z]))")  # the same amount in any unit
FIRST = re.compile(rf"({CAPITAL})\W*")
WORD = re.compile(r"[^\W\d_]+")


def values(text: str, is_common: Callable[[str], bool]) -> Iterator[Value]:
    """Yield the values of a turn, and with worth 0 words that are names if another turn has them as such.

    `is_common` says whether many turns have a word: a name of such words tells little.
    """
    at, begins = 0, True
    while match := PARTS.search(text, at):
        kind, (first, at) = match.lastgroup or "", match.span()
        if (
            kind == "name" and begins and (word := FIRST.match(text, first, at))
        ):  # a capital may only begin the sentence
            if names_nothing(word[1]) or word[0].rstrip()[-1] == ",":
                at, begins = word.end(), False
                continue
            kind = "word" if word.end() == at else kind
        begins = kind == "end"
        if not begins:
            yield from _value(text, first, at, kind, is_common)


def _value(text: str, first: int, end: int, kind: str, is_common: Callable[[str], bool]) -> Iterator[Value]:
    key, worth = text[first:end].lower(), WORTHS[kind]
    if kind == "pair" and not UNCLEAR.fullmatch(value := key.partition(":")[2].strip(' "')):
        key = value
    elif names_nothing(key.rpartition(" ")[2] if kind == "counted" else key) or BARE.fullmatch(key):
        return
    elif kind == "name" and all(map(is_common, WORD.findall(key))):
        worth = MAYBE
    elif kind == "figure" and (number := LARGE.match(text, first, end)):
        key = number[1].replace(",", "")
    yield Value(first, end, key, worth)
