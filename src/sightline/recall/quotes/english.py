"""English: the values a turn states. Every word gets a letter for what it does; values are patterns of letters.

"in Santa Rosa on March 2nd" is pNNpDT: a preposition and a name, a preposition and a moment.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sightline.recall.quotes.value import BREAKS, Value

# --- Words and their letters --------------------------------------------------------------------------------------

TOKEN = re.compile(
    rf"""
    ([^\W\d_]\w*(?:[-'’.][^\W_]+)*)  # 1 a word
    |((?:[.!?;…]|[^\S \t\xa0])+)  # 2 the end of a sentence or a line
    |(\d+(?:st|nd|rd|th)\b|\d{{1,2}}:\d\d(?:[aApP][mM])?(?!\d)|\d{{1,2}}[aApP][mM]\b  # 3 a moment
        |\d{{4}}-\d\d?-\d\d?|\d\d?/\d\d?/\d{{2,4}})
    |([$€£¥+\#]*\d(?:[\d,.:/–-]*\d)?(?:%|[A-Za-z]{{1,3}}\b)?)  # 4 a figure
    |("\w{{2,40}}":[ ]?(?:"[^"{BREAKS}]{{1,80}}"|-?\d[\d.]*|true|false))  # 5 an argument of a call
    |("[^\s"][^"{BREAKS}]{{1,60}}"|“[^”{BREAKS}]{{1,60}}”)  # 6 a quotation
    |([^\w\s])  # 7 any other mark
    """,
    re.VERBOSE,
)
WORD, END, MARK = 1, 2, 7
KINDS = (None, "P", ".", "T", "F", "=", '"', ",")  # the letters of these
MARKS = {"&": "&", "-": "j", "|": "j", "/": "j", "–": "j", "’": "j", ":": "i", "(": "(", ")": ")"}
ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s，。]*[\w/]")
CHUNK = re.compile(r"\S{1,64}|[^\S \t\xa0]+")  # no word is longer
CONNECTED = re.compile('["“@]|://|www[.]')  # what may hold a blank, or is no word

LETTERS = {
    "p": "in at from on near by around inside within",
    "q": "to for with without until till before after between into via under over",
    "w": """want wants wanted wanna need needs needed needing like prefer prefers preferred preferably looking search
        searching find book reserve order buy get allergic rather""",
    "c": "of de la el del du von van",
    "a": "the a an this that my your their our his her its these those",
    "i": "is are was were costs cost be named called",
    "+": "and or",
    "I": "i",
    "m": "am pm a.m p.m",
    "D": """monday tuesday wednesday thursday friday saturday sunday january february march april june july august
        september october november december mon tue tues wed thu thur thurs fri sat sun jan feb apr jun jul aug sep sept
        oct nov dec today tomorrow yesterday tonight o'clock noon midnight morning afternoon evening weekend""",
    "d": "next last later half past quarter day days week weeks month months year years coming following early late",
    "n": "one two three four five six seven eight nine ten eleven twelve",
    # what somebody says in any conversation
    "S": """you he she it we they me him them us who whom which what when where why how there here but if so as not
        than no yes yeah yep yup nope ok okay all any some every each both either neither else other another more most
        much many few less least only just also too very really quite still yet already then now again once ever never
        always maybe perhaps please kindly thanks thank thx hi hello hey bye goodbye sure great good nice fine perfect
        cool awesome wonderful excellent lovely amazing terrific fantastic alright right correct wrong sorry welcome
        glad happy pleasure well been being do does did done doing don't doesn't didn't have has had having haven't
        can can't could would should may might must shall will won't wouldn't couldn't isn't aren't i'm i'd i'll i've
        you're you'd you'll you've it's it'll that's thats there's what's where's how's let's they're we're he's she's
        here's who's likes liked love loves look looks looked finds found finding gets got getting give gives gave
        tell tells told telling show shows showing help helps helped helping helpful go goes going went come comes
        came make makes made making take takes took taking let lets see sees saw seen know knows knew think thinks
        thought hope wish try trying tried ask asking asked say says said saying mean means wonder wondering confirm
        confirms confirmed confirming confirmation booked reserved reserving buying purchase set setting add provide
        provides provided offer offers suggest suggests suggested recommend recommended interested able available
        possible located successful successfully sounds sound seems seem works work working happens enjoy appreciate
        information info details detail option options choice choices thing things something anything everything
        nothing someone anyone way time times kind sort lot lots bit first second place places assistance assist
        anywhere somewhere question questions issue problem up out off down back away along through because since
        while although though however actually currently exactly basically definitely probably specific particular
        different same own such stay planning plan plans leaving leave leaves travelling traveling travel visit
        visiting watch yourself myself worries worry ahead therefore whether further completed require requires
        required wait moment soon about""",
}
DOES = {word: letter for letter, words in LETTERS.items() for word in words.split()}
SPOKEN = frozenset(["ok", "okay", "pm", "a.m", "p.m", "i'm", "i'd", "i'll", "i've"])  # whose capitals name nothing

# --- Values: patterns of letters ----------------------------------------------------------------------------------

# B: a capital that begins a sentence; N: any other; C: a function word with a capital, as titles have them
NAME = r"(?:B?N|C+N|C(?:I?C)+|B(?=C+N|ca?N))(?:[NBC]|[FT](?!P)|&(?=[NP])P?|ca?(?=N)|j(?=N)|I(?=[NC])|\([NFC]+\))*"
PATTERNS = re.compile(
    rf"""
    (?![S.,+im])(?:
    (?P<argument>=)|(?P<quoted>")|(?P<address>@)
    |(?P<moment>(?:[pq]a?|a)?(?:[dnF]*(?:d[pq]D|[DT]|Fm)(?:[dDTFm]|,(?=DT)|ca?(?=[dDT])|[pq]a(?=D))*(?![NB])|d+a?d+))
    |(?P<place>(?:P{{1,2}}i)?(?:[pq]a?)?[FT]+N[NC]*P?)
    |(?P<name>(?:[pq]a?)?P?{NAME}(?:,N+(?![N,+(])|P)?)
    |(?P<answer>(?<![^.])[BP]{{1,3}}(?![^.]))
    |(?P<figure>(?:P{{1,2}}i)?[pq]?(?:[FT]+[Pd]?))
    |(?P<count>[pq]?n[Pd])
    |(?P<told>P{{1,2}}iP{{1,2}}(?!P))
    |(?P<wanted>w[SIpqan+]{{0,4}}?P(?:&?P){{0,3}})
    |(?P<plain>(?:pa?|qa)P(?:&?P){{0,3}})
    |(?P<begun>B(?:[&c]?[BP])*)
    |(?P<said>P(?:&?P){{0,3}})
    )
    """,
    re.VERBOSE,
)
WORTH = {
    "argument": 0.6, "quoted": 3.0, "address": 3.0, "moment": 3.0, "place": 1.0, "name": 2.5, "answer": 0.5,
    "figure": 0.4, "count": 0.5, "told": 0.4, "wanted": 0.2, "plain": 0.15, "begun": 0.0, "said": 0.0,
}  # fmt: skip
UNCUED = ("begun", "said")  # plain words where nothing points at them:
FEW = 10  # they count in a turn of so few words and marks; in a longer one only if another turn names them
LABEL = re.compile("P{1,2}i$")  # the hotel is
LABELLED = ("place", "figure", "told")  # these are never without
LEADS = ("pqai", "pqaiP")  # what stands before the key; before a name also a noun
SHORT = re.compile(r"-?[\d.]{1,3}|true|false|yes|no|none|null")  # as an argument it says nothing without its name


def values(text: str) -> list[Value]:
    """The values of an English turn, in order, not overlapping."""
    spans, letters = _letters(text)
    return [_value(text, spans, letters, match) for match in PATTERNS.finditer(letters)]


def _value(text: str, spans: list[tuple[int, int]], letters: str, match: re.Match[str]) -> Value:
    """What a pattern stands for: its words, and the key without those that lead to it or follow it."""
    kind = match.lastgroup or ""
    first, last = match.start(), match.end() - 1
    label = LABEL.search(letters, max(0, first - 3), first)
    if kind == "wanted":
        label, first = match, letters.index("P", first)
    core = first
    if kind in LABELLED and (told := letters.find("i", first, last)) >= 0:
        core = told
    while core < last and letters[core] in LEADS[kind == "name"]:
        core += 1
    follows = kind == "name" and last > core and letters[last] == "P" and letters[last - 1] != "&"
    key = text[spans[core][0] : spans[last - follows][1]].lower()
    if kind == "argument" and not SHORT.fullmatch(value := key.partition(":")[2].strip(' "')):
        key = value
    worth = WORTH["plain"] if kind in UNCUED and len(letters) <= FEW else WORTH[kind]
    begin = spans[first][0]
    return Value(begin, spans[last][1], key, worth, spans[label.start()][0] if label else begin)


class Pieces(NamedTuple):
    """The words of a run of characters without blanks, where they stand in it, and their letters."""

    spans: tuple[tuple[int, int], ...]
    letters: str
    begins: bool  # whether a sentence begins after it


def _letters(text: str) -> tuple[list[tuple[int, int]], str]:
    """Where each word stands, and the letters."""
    if CONNECTED.search(text):
        pieces = _pieces(text, True)
        return list(pieces.spans), pieces.letters
    spans: list[tuple[int, int]] = []
    letters: list[str] = []
    begins = True
    for match in CHUNK.finditer(text):
        found, does, begins = _known(match[0], begins)
        at = match.start()
        for first, end in found:
            spans.append((at + first, at + end))
        letters.append(does)
    return spans, "".join(letters)


def _pieces(text: str, begins: bool) -> Pieces:
    """The words of a text one by one."""
    spans: list[tuple[int, int]] = []
    letters: list[str] = []
    for match in _tokens(text):
        kind = match.lastindex or 0
        letter = KINDS[kind] or "@"
        if kind == WORD:
            letter = _letter(match.group(), begins)
        elif kind == MARK:
            letter = MARKS.get(match.group(), ",")
        begins = (begins or letter == "i") if kind == MARK else kind == END
        spans.append(match.span())
        letters.append(letter)
    return Pieces(tuple(spans), "".join(letters), begins)


_known = lru_cache(maxsize=1 << 14)(_pieces)  # words come again


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """The tokens of a text, its addresses whole."""
    at = 0
    for address in ADDRESS.finditer(text) if CONNECTED.search(text) else ():
        yield from TOKEN.finditer(text, at, address.start())
        yield address
        at = address.end()
    yield from TOKEN.finditer(text, at)


def _letter(word: str, begins: bool) -> str:
    """The letter of a word, by itself, its capital, and whether a sentence begins with it."""
    low = word.lower().replace("’", "'")
    letter = DOES.get(low)
    if not word[0].isupper():
        return letter or ("P" if word[0] < "\u3400" else "N")  # a Chinese word amid English is a name
    if word == "May" and not begins:
        return "D"
    if letter is None:
        return "B" if begins else "N"
    return letter if begins or letter in "DI" or low in SPOKEN else "C"
