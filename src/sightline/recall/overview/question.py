"""Whether a question is about everything: it has nothing by which some rows could be told from the others."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sightline.recall.overview.words import (
    ASKING_CHINESE,
    CHINESE,
    LOOKS_BACK,
    MEANS_ALL,
    REPORTS,
    SUMS_UP,
    TALKS,
    TELLS,
    is_asking,
    names_nothing,
)
from sightline.recall.search.terms import CJK_RUN, chunks_in, terms
from sightline.values.pattern import pattern

STRETCHES = 8  # of the conversation
ALL_OVER = 5  # a word in so many of them tells none from the others
TOLD = 0.5  # of the weight of a question that says "all", in one row: a row with less of it matches by chance
FOUND = 0.3  # of the weight of a question that asks to sum up, anywhere: with more it is to sum up something
MAX_PLACES = 200  # rows with a term that are looked at
NEAR = 6  # rows: words so close together are of one passage
OUTSTANDING = 0.3  # of the weight of a question, in one passage: where none has more, none stands out
AS_GOOD = 0.7  # of the best passage's weight: one with so much is as good a match
ANYWHERE = 4  # stretches with a passage as good as the best: then none of them stands out
LONGEST = 200  # characters of a question for everything; who writes more tells something
NAMES = pattern(r"[A-Z]|.*[\d_@/\\]")  # a name or an identifier; what begins a sentence may be any word
EMPTY_CHINESE = pattern(f"{CHINESE}|[都全行对]")
CLAUSES = pattern(r"[.!?,;:。！？，；：\n]+")
SENTENCE_ENDS = ".!?:\n"

Places = Callable[[Sequence[str]], Mapping[str, list[int]]]


class Subject(NamedTuple):
    """The terms of a question that may name something, and those of them that surely do."""

    terms: list[str]
    names: set[str]


def asks_to_tell(text: str) -> bool:
    """Return whether a text clearly asks for what was said before: to sum it up, or to tell all of it."""
    asks = SUMS_UP.search(text) or (MEANS_ALL.search(text) and TALKS.search(text))
    return bool(asks) and len(text) <= LONGEST


def says_something(text: str) -> bool:
    """Return whether a text has a word that is neither of grammar nor of politeness."""
    text = text.replace("’", "'")
    chunks = chunks_in(text).findall(text)
    return any(EMPTY_CHINESE.sub("", chunk) if _is_chinese(chunk) else not names_nothing(chunk) for chunk in chunks)


def _is_chinese(chunk: str) -> bool:
    return not chunk.isascii() and CJK_RUN.match(chunk) is not None


def surely_asks(text: str) -> bool:
    """Return whether a text asks in so many words for what was said, and for nothing less: not to do something.

    If not all of it, then one clause does so by itself: what the others tell is why, or for whom.
    """
    text = text.replace("’", "'")
    return len(text) <= LONGEST and any(map(_asks_for_all, (text, *CLAUSES.split(text))))


def _asks_for_all(clause: str) -> bool:
    asks = REPORTS.search(clause) or (MEANS_ALL.search(clause) and TELLS.search(clause) and _means_the_talk(clause))
    return bool(asks) and not subject(clause).terms


def _means_the_talk(clause: str) -> bool:
    """Return whether all that a clause asks for was said before. "Give me all of it" means what was spoken of last."""
    return bool(LOOKS_BACK.search(clause) or TALKS.search(TELLS.sub(" ", clause)))


def is_about_everything(query: str, places: Places, states_something: Callable[[int], bool], rows: int) -> bool:
    """Return whether a question is about all of a conversation. `places` tells the rows that contain each term.

    Its words are then those of asking, or stand nowhere. If it asks to sum up, a few of them may stand somewhere. If it
    says "all", words that stand all over the conversation tell nothing, and no row may have most of the others.
    """
    wanted, names = subject(query)
    means_all, sums_up = MEANS_ALL.search(query), SUMS_UP.search(query)
    told: defaultdict[int, float] = defaultdict(float)  # by row if it says "all", else together
    total = 0.0
    for term, term_rows in places(wanted).items():
        here = [row for row in term_rows[:MAX_PLACES] if states_something(row)]
        if here and term in names:
            return False
        weight = math.log(1 + (rows + 1) / (len(here) + 0.5))
        total += weight
        if not means_all or len({row * STRETCHES // rows for row in term_rows}) < ALL_OVER:
            for row in {row if means_all else 0 for row in here}:
                told[row] += weight
    return max(told.values(), default=0.0) <= total * (TOLD if means_all else FOUND if sums_up else 0.0)


def stands_out(query: str, places: Places, counts: Callable[[int], bool], rows: int) -> bool:
    """Return whether some passage has what a question names, and few others do.

    Words that stand nowhere count too: a passage with one word of many matches by chance. A name tells enough, and so
    does a long text.
    """
    if len(query) > LONGEST:
        return True
    wanted, names = subject(query)
    weights: defaultdict[tuple[int, int], float] = defaultdict(float)  # of passages that overlap by half
    total = 0.0
    for term, term_rows in places(wanted).items():
        here = [row for row in term_rows[:: len(term_rows) // MAX_PLACES + 1] if counts(row)]
        if here and term in names:
            return True
        weight = math.log(1 + (rows + 1) / (len(term_rows) if here else 0.5))
        total += weight
        halves = {(half, (row + half) // NEAR) for row in here for half in (0, NEAR // 2)}
        for passage in halves:
            weights[passage] += weight
    best = max(weights.values(), default=0.0)
    if best < OUTSTANDING * total or not total:
        return False
    good = {at * NEAR * STRETCHES // rows for (_, at), weight in weights.items() if weight >= AS_GOOD * best}
    return len(good) < ANYWHERE


def subject(query: str) -> Subject:
    """Return what a question may be about: its words without those of grammar and of talking about talk."""
    words: list[str] = []
    names: set[str] = set()
    query = query.replace("’", "'")
    for match in chunks_in(query).finditer(query):
        chunk = match[0]
        if _is_chinese(chunk):
            words += [term for rest in ASKING_CHINESE.split(chunk) for term in terms(rest) if len(term) > 1]
        elif not is_asking(chunk.lower()):
            words += terms(chunk)
            if NAMES.match(chunk) and not _begins_sentence(query, match.start()):
                names.update(terms(chunk))
    return Subject(list(dict.fromkeys(words)), names)


def _begins_sentence(text: str, place: int) -> bool:
    """Return whether no word stands between this place and the end of the last sentence. Looks only at what is between,
    because a question may be a long log with names in every line.
    """
    while place and not (text[place - 1].isalnum() or text[place - 1] == "_"):
        place -= 1
        if text[place] in SENTENCE_ENDS:
            return True
    return not place
