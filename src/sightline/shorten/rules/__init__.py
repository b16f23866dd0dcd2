"""What a user's message asks to be kept: the rules it sets and the tasks it leaves open, verbatim.

`user_sentences` finds the user's own sentences. `english`, `chinese` and `task_patterns` judge one sentence by its cues
and by what unsays them: a question, a narration, a third party's rule. Only LOOKED characters are read, in pieces of at
most SENTENCE.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sightline.shorten.rules import chinese, english, vocabulary
from sightline.shorten.rules import task_patterns as later
from sightline.shorten.rules.revocations import lifts
from sightline.shorten.rules.user_sentences import plain, sentences

LOOKED = 16_384  # characters read: of a longer message the first and the last half of this; the rest is pasted

WORD = re.compile(r"[a-z0-9'-]+")
SPACED = str.maketrans(dict.fromkeys('.,;:!?()[]{}<>*_`"/#|=', " "))  # parts ASCII like WORD, five times as fast


def rules(text: str) -> list[str]:
    """The sentences in which the user sets or lifts a rule: verbatim, in order, each once; of a long text both ends."""
    return _found(text, "rule", is_rule)


def tasks(text: str) -> list[str]:
    """The sentences in which the user leaves a task for later: verbatim, in order, each once; both ends, as above."""
    return _found(text, "task", is_task)


def speaks_of_rules(text: str) -> bool:
    """Whether any cue occurs in what is read: if not, `rules` and `tasks` are empty."""
    return any(map(has_cue, looked_at(text)))


def _found(text: str, under: str, judge: Callable[[str], bool]) -> list[str]:
    kept = (said.words for said in _said(text) if said.under == under or (said.plain and judge(said.plain)))
    return list(dict.fromkeys(kept))


class Said(NamedTuple):
    """A sentence of the user's own."""

    words: str
    under: str  # what the heading above it announces
    plain: str  # as the judges read it; empty where nothing in it is a cue


@lru_cache(maxsize=2)  # one message is asked for its rules, then for its tasks
def _said(text: str) -> tuple[Said, ...]:
    if not speaks_of_rules(text):
        return ()
    spans = ((part[span.start : span.end], span.under) for part in looked_at(text) for span in sentences(part))
    return tuple(Said(words, under, plain(words) if has_cue(words) else "") for words, under in spans)


def is_rule(sentence: str) -> bool:
    """Whether this plain sentence sets a rule or lifts one, in the language it is written in."""
    if lifts(sentence):
        return True
    if chinese.WRITTEN.search(sentence):
        return chinese.is_rule(sentence)
    return bool(english.WRITTEN.search(sentence)) and english.is_rule(sentence)


def is_task(sentence: str) -> bool:
    """Whether this plain sentence leaves something for later."""
    if chinese.WRITTEN.search(sentence):
        return later.chinese_task(sentence)
    return bool(english.WRITTEN.search(sentence)) and later.english_task(sentence)


def has_cue(text: str) -> bool:
    """A first look: whatever is found contains a cue or stands under a heading that does. Most messages end here."""
    if text.isascii():
        return not vocabulary.CUES.isdisjoint(text.lower().translate(SPACED).split())
    words = WORD.findall(text.lower().replace("’", "'"))
    return chinese.CUE.in_(text) or not vocabulary.CUES.isdisjoint(words)


def looked_at(text: str) -> tuple[str, ...]:
    """The parts that are read: the whole text, or its two ends, each a run of whole lines where it has lines."""
    if len(text) <= LOOKED:
        return (text,)
    head, tail = text[: LOOKED // 2], text[-LOOKED // 2 :]
    head, tail = head[: head.rfind("\n") + 1] or head, tail[tail.find("\n") + 1 :]
    if text.count("\n```", 0, len(text) - len(tail)) % 2:  # the tail begins inside a fence
        tail = tail[tail.find("\n```") + 4 :] if "\n```" in tail else ""
    return head, tail
