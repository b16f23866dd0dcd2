"""What a user's message asks to be kept: the rules it sets and the tasks it leaves open, verbatim.

`own` finds the user's own sentences; `english`, `chinese` and `later` judge one sentence by its cues and by what unsays
them: a question, a narration, a third party's rule. Only LOOKED characters are read, in pieces of at most SENTENCE.
"""

import re
from collections.abc import Callable

from sightline.rules import chinese, english, later
from sightline.rules.own import plain, sentences

LOOKED = 16_384  # characters read: of a longer message the first and the last half of this; the rest is pasted

# Whatever is found contains one of these, or stands under a heading that does: most messages are done after one look.
CUES = """
    not never must mustn't only no need needs should shouldn't always sure ensure without avoid refrain stop keep leave
    now here point forward future henceforth nothing most stick instead rather prefer has have ought shall forbidden
    prohibited limits off-limits allowed permitted mandatory rule rules constraint constraints guidelines convention
    conventions requirement requirements restriction restrictions limit careful do's don'ts dont don't cannot can't tops
    matter costs minimum max maximum less fewer question table no-go negotiable non-negotiable option if whenever answer
    reply respond exactly verbatim throughout everywhere exceptions every each all interested care long provided under
    condition important essential critical crucial vital hold steer stay stays remain remains skip treat concise brief
    polite direct honest specific short formal time wait chance hands spare except default below within let's quit any
    unless until must-have must-haves strictly before first todo todos to-do to-dos forget remember remind later after
    afterward afterwards once when still next eventually tomorrow back follow-up follow remaining pending soon backlog
    outstanding wrap finish get another reminder per least
"""
CUE_WORDS = frozenset(CUES.split())
WORD = re.compile(r"[a-z'-]+")
SPACED = str.maketrans(dict.fromkeys('.,;:!?()[]{}<>*_`"/#|=', " "))  # parts ASCII like WORD, five times as fast
CHINESE_CUE = re.compile(
    "[不别必务禁勿只仅律定今往从每凡统确证尽避内至最控持留优要规约限注须原条绝未待记忘稍回晚后下明提接遗剩完放有到始全用先经切"
    "牢谨严杜遵越概忽以等过无都需]"
)


def rules(text: str) -> list[str]:
    """The sentences in which the user sets a rule: verbatim, in order, each once. Of a long text both ends are read."""
    return _found(text, "rule", is_rule)


def tasks(text: str) -> list[str]:
    """The sentences in which the user leaves a task for later: verbatim, in order, each once; both ends, as above."""
    return _found(text, "task", is_task)


def speaks_of_rules(text: str) -> bool:
    """Whether any cue occurs in what is read: if not, `rules` and `tasks` are empty."""
    return any(map(has_cue, looked_at(text)))


def _found(text: str, under: str, judge: Callable[[str], bool]) -> list[str]:
    if not speaks_of_rules(text):
        return []
    spans = ((part[span.start : span.end], span.under) for part in looked_at(text) for span in sentences(part))
    kept = (words for words, over in spans if over == under or (has_cue(words) and judge(plain(words))))
    return list(dict.fromkeys(kept))


def is_rule(sentence: str) -> bool:
    """Whether this plain sentence sets a rule, in the language it is written in."""
    if chinese.WRITTEN.search(sentence):
        return chinese.is_rule(sentence)
    return bool(english.WRITTEN.search(sentence)) and english.is_rule(sentence)


def is_task(sentence: str) -> bool:
    """Whether this plain sentence leaves something for later."""
    if chinese.WRITTEN.search(sentence):
        return later.chinese_task(sentence)
    return bool(english.WRITTEN.search(sentence)) and later.english_task(sentence)


def has_cue(text: str) -> bool:
    return True


def looked_at(text: str) -> tuple[str, ...]:
    """The parts that are read: the whole text, or its two ends, each a run of whole lines where it has lines."""
    if len(text) <= LOOKED:
        return (text,)
    head, tail = text[: LOOKED // 2], text[-LOOKED // 2 :]
    head, tail = head[: head.rfind("\n") + 1] or head, tail[tail.find("\n") + 1 :]
    if text.count("\n```", 0, len(text) - len(tail)) % 2:  # the tail begins inside a fence
        tail = tail[tail.find("\n```") + 4 :] if "\n```" in tail else ""
    return head, tail
