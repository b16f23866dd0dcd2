"""Finds what a user lays down in a message: what the assistant is to hold to in its work. Verbatim, one notion.

That is an order, a prohibition, a cap, a format, a preference about the work, something left for later, a fact given to
be kept, or the end of one of these. What people tell about themselves or wish each other is none. `user_sentences`
finds the user's own sentences. `english`, `chinese`, `facts` and `revocations` judge one sentence by its form and by
what cancels it: a question, a story, the rule of a third party, a report of how things behave. Only READ_CHARS
characters are read, in pieces of at most SENTENCE characters.
"""

from collections.abc import Sequence

from sightline.shorten.rules import chinese, english, facts, vocabulary
from sightline.shorten.rules.revocations import Lifted, lifts
from sightline.shorten.rules.sent_results import divided_words, own_words, said_text
from sightline.shorten.rules.user_sentences import plain, sentences
from sightline.values.pattern import pattern

__all__ = [
    "constraints", "divided_words", "has_cue", "is_constraint", "own_words", "read_parts", "revoked", "said_text",
]  # fmt: skip

READ_CHARS = 16_384  # of a longer message both ends, half of this each; the rest is pasted

VALUE = pattern(r"\d|[a-z,] (?:#\w|[A-Z][a-z])|[\u4e00-\u9fff] ?[#@a-zA-Z]")  # a number, or a name inside a sentence
WORD = pattern(r"[a-z0-9'-]+")
SPACED = str.maketrans(dict.fromkeys('.,;:!?()[]{}<>*_`"/#|=', " "))  # splits ASCII as WORD does, five times as fast


def constraints(text: str) -> list[str]:
    """Return the sentences in which the user lays something down or lifts it: verbatim, in order, each once."""
    laid_down: dict[str, None] = {}
    for part in read_parts(text):
        for span in sentences(part) if has_cue(part) else ():
            sentence = part[span.start : span.end]
            if span.kind or (has_cue(sentence) and is_constraint(sentence)):
                laid_down[sentence] = None
    return list(laid_down)


def revoked(messages: Sequence[str]) -> list[dict[str, bool]]:
    """Return of each message its constraints, and whether what is said later, in these messages, lifts them."""
    lifted, by_message = Lifted(lambda at: at - 1), list[dict[str, bool]]()
    for at in reversed(range(len(messages))):
        laid = [(sentence, lifted.takes(sentence, at)) for sentence in reversed(constraints(messages[at]))]
        by_message.append(dict(reversed(laid)))
    return by_message[::-1]


def is_constraint(sentence: str) -> bool:
    """Whether this sentence lays something down for the work, in English or Chinese."""
    words = plain(sentence)
    if lifts(words) or facts.states_fact(sentence):
        return True
    if not words.isascii() and chinese.WRITTEN.search(words):
        return chinese.is_constraint(words)
    return bool(english.WRITTEN.search(words)) and english.is_constraint(words)


def has_cue(text: str) -> bool:
    """Whether a text has a cue. What is found has one or is under a heading that has one; most messages have none."""
    if VALUE.search(text):
        return True  # a fact or a cap may need no other cue
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
