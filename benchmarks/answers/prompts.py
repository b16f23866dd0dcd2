"""What composers show a model that is asked about a long chat: the messages as they are sent, for every question."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.quality.baselines import BASELINES
from benchmarks.quality.composer_calls import NO_LIMIT, Composers, Opened, Tick, silent
from benchmarks.quality.evidence import chosen_questions
from benchmarks.quality.messages import Message, count_messages, is_system, text_of, texts_beside
from benchmarks.quality.records import Conversation, Question

SENT, FLAT = "sent", "flat"
FORMS = (SENT, FLAT)
COMPARED = ("sliding", "bm25+recent")  # baselines at each budget; the full history and the gold turns have none
TASK = (
    "The user's last question is about a conversation; answer it from that conversation alone. Give a short phrase, "
    "with as few words as possible, and use the conversation's own words where you can. If the question is about a "
    "time, work the date out from the date of the session. If the answer is not known, say: unknown."
)
_TOLD = "This is a conversation between two people over several sessions.\n\n{shown}\n\n"
_ASKED = "Question: {question}\nShort answer:"

Prompt = dict[str, Any]
"""id, composer, budget, form, kind, question, answers, tokens, and messages, each a role and a text."""


class Asked(NamedTuple):
    """Which questions are asked, and of whom."""

    dataset: str
    n: int
    budgets: Sequence[int]
    halves: Sequence[str]
    forms: Sequence[str] = (SENT,)
    baselines: bool = True


def write_prompts(
    asked: Asked, chats: Sequence[Conversation], composers: Composers, tick: Tick = silent
) -> list[Prompt]:
    """Return the prompts of every composer at every budget, for `n` questions of each half. Raises Failed."""
    todo = [each for each in chosen_questions(asked.dataset, chats, asked.n, asked.halves) if each[2].answers]
    out: list[Prompt] = []
    for done, (_, chat, question) in enumerate(todo):
        tick(done, len(todo))
        for name, budget, messages in _shown(asked, chat, question, composers):
            for form in asked.forms:
                sent = _as_sent(messages) if form == SENT else _flat(messages, question)
                about = {"id": question.id, "composer": name, "budget": budget, "form": form}
                known = {"kind": question.category, "question": question.query, "answers": question.answers}
                out.append({**about, **known, "tokens": count_messages(sent), "messages": sent})
    return out


def _shown(
    asked: Asked, chat: Conversation, question: Question, composers: Composers
) -> Iterator[tuple[str, int | None, list[Message]]]:
    query: Message = {"role": "user", "content": question.query}
    history = [*chat.messages, query]
    if asked.baselines:
        gold = [
            message for message in chat.messages if any(each in text_of(message["content"]) for each in question.gold)
        ]
        yield "full", None, _dated(history)
        yield "oracle", None, _dated([*filter(is_system, chat.messages[:1]), *gold, query])
    for budget in asked.budgets:
        for name in COMPARED if asked.baselines else ():
            yield name, budget, _dated(BASELINES[name](list(history), question.query, budget))
        for name, composer in composers.items():
            opened = Opened(composer, f"{asked.dataset}/{question.id}/{budget}", name)
            yield name, budget, opened(list(history), question.query, budget or NO_LIMIT).messages
            opened.close()


def _dated(messages: Sequence[Message]) -> list[Message]:
    """Write the date of a session where it changes: baselines do not, and questions about time need it."""
    out, latest = [], ""
    for message in messages:
        text, when = text_of(message.get("content")), str(message.get("ts") or "")
        if when and when != latest and when not in text:
            text = f"[{when}] {text}"
        latest = when or latest
        out.append({**message, "content": text})
    return out


def _as_sent(messages: Sequence[Message]) -> list[Message]:
    """Return the messages role by role. The task stands before the system text."""
    system = "\n".join([TASK, *(text_of(each.get("content")) for each in messages if is_system(each))])
    others = [
        {"role": each["role"], "content": text_of(each.get("content"))} for each in messages if not is_system(each)
    ]
    return [{"role": "system", "content": system}, *others]


def _flat(messages: Sequence[Message], question: Question) -> list[Message]:
    """Return one transcript with the question at its end: tells a bad choice of passages from a bad form."""
    texts = texts_beside([each for each in messages if not is_system(each)], question.query)
    told = _TOLD.format(shown="\n".join(texts)) if texts else ""
    content = told + _ASKED.format(question=question.query)
    return [{"role": "system", "content": TASK}, {"role": "user", "content": content}]
