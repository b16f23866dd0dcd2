"""Finds what a user message asks to be kept: the rules it sets and the tasks it leaves open, verbatim.

`user_sentences` finds the user's own sentences. `english`, `chinese` and `task_patterns` judge one sentence by its cues
and by what cancels them: a question, a story, the rule of a third party. Only READ_CHARS characters are read, in pieces
of at most SENTENCE characters.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sightline.shorten.rules import chinese, english, task_patterns, vocabulary
from sightline.shorten.rules.revocations import lifts
from sightline.shorten.rules.user_sentences import plain, sentences

READ_CHARS = 16_384  # of a longer message both ends, half of this each; the rest is pasted

WORD = re.compile(r"[a-z0-9'-]+")
SPACED = str.maketrans(dict.fromkeys('.,;:!?()[]{}<>*_`"/#|=', " "))  # splits ASCII as WORD does, five times as fast


def rules(text: str) -> list[str]:
    """Return the sentences in which the user sets or lifts a rule: verbatim, in order, each once."""
    return _find(text, "rule", is_rule)


def tasks(text: str) -> list[str]:
    """Return the sentences in which the user leaves a task for later: verbatim, in order, each once."""
    return _find(text, "task", is_task)


def speaks_of_rules(text: str) -> bool:
    """Whether any cue occurs in what is read. If not, `rules` and `tasks` are empty."""
    return any(map(has_cue, read_parts(text)))


def _find(text: str, kind: str, accepts: Callable[[str], bool]) -> list[str]:
    found = [
        sentence.text
        for sentence in _read_sentences(text)
        if sentence.kind == kind or (sentence.plain and accepts(sentence.plain))
    ]
    return list(dict.fromkeys(found))


class _Sentence(NamedTuple):
    text: str
    kind: str  # of the heading above it: "rule", "task" or ""
    plain: str  # the normalised sentence; empty if it has no cue


@lru_cache(maxsize=2)  # a message is read for its rules, then for its tasks
def _read_sentences(text: str) -> tuple[_Sentence, ...]:
    if not speaks_of_rules(text):
        return ()
    spans = ((part[span.start : span.end], span.kind) for part in read_parts(text) for span in sentences(part))
    return tuple(_Sentence(words, kind, plain(words) if has_cue(words) else "") for words, kind in spans)


def is_rule(sentence: str) -> bool:
    """Whether this plain sentence sets or lifts a rule, in English or Chinese."""
    if lifts(sentence):
        return True
    if chinese.WRITTEN.search(sentence):
        return chinese.is_rule(sentence)
    return bool(english.WRITTEN.search(sentence)) and english.is_rule(sentence)


def is_task(sentence: str) -> bool:
    """Whether this plain sentence leaves something for later."""
    if chinese.WRITTEN.search(sentence):
        return task_patterns.chinese_task(sentence)
    return bool(english.WRITTEN.search(sentence)) and task_patterns.english_task(sentence)


def has_cue(text: str) -> bool:
    """Whether a text has a cue. What is found has one or is under a heading that has one; most messages have none."""
    if text.isascii():
        return not vocabulary.CUES.isdisjoint(text.lower().translate(SPACED).split())
    words = WORD.findall(text.lower().replace("’", "'"))
    return chinese.CUE.in_(text) or not vocabulary.CUES.isdisjoint(words)


def read_parts(text: str) -> tuple[str, ...]:
    """Return the parts that are read: the whole text, or its two ends, each made of whole lines if it has lines."""
    if len(text) <= READ_CHARS:
        return (text,)
    head, tail = text[: READ_CHARS // 2], text[-READ_CHARS // 2 :]
    head, tail = head[: head.rfind("\n") + 1] or head, tail[tail.find("\n") + 1 :]
    if text.count("\n```", 0, len(text) - len(tail)) % 2:  # the tail begins inside a code fence
        tail = tail[tail.find("\n```") + 4 :] if "\n```" in tail else ""
    return head, tail
