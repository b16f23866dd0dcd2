"""What an agent writes anew at each call, such as the files that it works on: it is no part of the conversation.

aider has no tools. Its list is the conversation, and between its messages a map of the repository, the files as they
are now, and rules. These stand elsewhere in each request, and say something else. So a request is read as the
conversation and what was written anew. Of the latter, the log gets what has changed, before the question. The newest
stays whole, because it is what the model works on; what it replaces goes out at once.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

import msgspec

from sightline.log import AGENT, Mark, replaced_rows
from sightline.providers.agents import AGENTS
from sightline.session.session import Session
from sightline.values.items import Kind, Message, Role

OUT = "out"
_AIDER = AGENTS["aider"].anew
_SIGNS = tuple(sign.encode() for sign in _AIDER.signs)
_LONGEST_AGREED = 300  # characters
_LEAST_RULES = 80  # characters of the system prompt that a question ends with: fewer may be chance
_SHARE = 0.5  # of the window that what is always whole may have


class Rewritten(NamedTuple):
    """The messages of a request, without the system prompt."""

    said: list[bytes]  # the conversation
    anew: list[bytes]  # what the agent writes anew at each call


Beginnings = tuple[tuple[bytes, int], ...]
"""A digest of a list up to each of its messages, and the bytes up to there."""


class _Logged(NamedTuple):
    """A message that was written anew, as the log has it."""

    key: bytes
    mark: Mark


class _Read(NamedTuple):
    """A message as text."""

    role: str
    text: str
    is_text: bool  # it has nothing but text


def is_rewritten(body: bytes, tools: object) -> bool:
    """Whether a request may have what is written anew at each call. Most have not, and this is quick."""
    return not tools and any(sign in body for sign in _SIGNS)


def split_rewritten(messages: Sequence[bytes], system: str) -> Rewritten:
    """Split the messages of such a request. `system`: its system prompt, whose end aider repeats after a question."""
    read = [_read(message) for message in messages]
    said, anew = list[bytes](), list[bytes]()
    examples = next((at + 2 for at, one in enumerate(read) if one.text.startswith(_AIDER.examples_end)), 0)
    anew += messages[:examples]
    at = examples
    while at < len(messages):
        count = _count_rewritten(read, at)
        if not count:
            said.append(messages[at])
        anew += messages[at : at + count]
        at += max(count, 1)
    if said and (split := _without_rules(said[-1], system)) is not None:
        question, rules = split
        said[-1] = question
        anew.append(rules)
    return Rewritten(said, anew) if said else Rewritten([*messages], [])


def beginnings_of(messages: Sequence[bytes]) -> Beginnings:
    """Return the beginnings of a list, by which it is known later how much of it is still the same."""
    digest, end, found = blake2b(digest_size=16), 0, list[tuple[bytes, int]]()
    for message in messages:
        digest.update(message)
        end += len(message)
        found.append((digest.digest(), end))
    return tuple(found)


def kept_share(before: Beginnings, now: Beginnings) -> float:
    """Return the share of a list that is at its beginning as the list before had it."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
    return max((end for _, (_, end) in same), default=0) / max(now[-1][1], 1) if now else 0.0


def _count_rewritten(read: Sequence[_Read], at: int) -> int:
    """Count the messages from this one on that are written anew together: one, and the answer that it was given."""
    one = read[at]
    if one.role == "system":
        return 1
    if one.role != "user":
        return 0
    is_agreed = at + 1 < len(read) and _is_agreed(read[at + 1])
    if one.text.startswith(_AIDER.openings):
        return 1 + is_agreed
    return 2 if not one.is_text and is_agreed else 0  # pictures among the files


def _is_agreed(answer: _Read) -> bool:
    return answer.role == "assistant" and answer.text.startswith(_AIDER.agreed) and len(answer.text) <= _LONGEST_AGREED


def _read(message: bytes) -> _Read:
    value = msgspec.json.decode(message)
    content = value.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    texts = [
        str(block.get("text") or "") for block in blocks if isinstance(block, dict) and block.get("type") == "text"
    ]
    return _Read(str(value.get("role")), "\n".join(texts), len(texts) == len(blocks))


def _without_rules(question: bytes, system: str) -> tuple[bytes, bytes] | None:
    """Return a question without the end of the system prompt that follows it, and this end; None: there is none."""
    value = msgspec.json.decode(question)
    content = value.get("content")
    text = content[-1].get("text") if isinstance(content, list) and content else content
    if value.get("role") != "user" or not isinstance(text, str):
        return None
    at, end = text.find("\n\n"), system.rstrip()
    while at >= 0:
        rules = text[at + 2 :].rstrip()
        if len(rules) < _LEAST_RULES:
            return None
        if end.endswith(rules):
            said = text[:at]
            own = [*content[:-1], content[-1] | {"text": said}] if isinstance(content, list) else said
            told = {"role": "user", "content": text[at + 2 :]}
            return msgspec.json.encode(value | {"content": own}), msgspec.json.encode(told)
        at = text.find("\n\n", at + 1)
    return None


# ---------------------------------------------------------------------- in the log


def new_messages(session: Session, anew: Sequence[Message], after: str = "") -> list[Message]:
    """Return those of the messages written anew that are not in force on this branch.

    `after`: the item after which the agent's list begins, see `History.after`.
    """
    first = _row_after(session, after)
    logged = _logged(session) if anew else []
    held = {one.key for one in logged if one.mark.what != OUT and one.mark.row >= first}
    return [message for key, message in _keyed(anew) if key not in held]


def append_anew(session: Session, anew: Sequence[Message], after: str = "") -> None:
    """Log those messages that are not in force. They are the program's, and not the user's words."""
    for message in new_messages(session, anew, after):
        parts = list(message.parts)
        item = session.assistant(parts) if message.role is Role.ASSISTANT else session.note(parts)
        session.items.mark(session.items.row(item), "unpin", AGENT)


def hold_anew(session: Session, anew: Sequence[Message], window: int, after: str = "") -> None:
    """Have what is written anew stay whole, if it does not take most of the window, and let go of what it replaces."""
    wanted, first = {key for key, _ in _keyed(anew)}, _row_after(session, after)
    logged = [one for one in _logged(session) if one.mark.what != OUT]
    held = [one.mark for one in logged if one.key in wanted and one.mark.row >= first]
    tokens = sum(session.log.timeline.full[mark.row] for mark in held)
    what = "pin" if tokens <= _SHARE * window else "unpin"
    for mark in held:
        if mark.what != what:
            session.items.mark(mark.row, what, AGENT)
    for one in logged:
        if one.mark not in held:
            session.items.mark(one.mark.row, OUT, AGENT)


def let_go_of_reports(session: Session) -> None:
    """Let go of what aider reports of its own edits, and of the answers to that, but for the newest report.

    They are in the user's role, and would stay longer than what the user asked and the model answered.
    """
    timeline, path = session.log.timeline, session.log.path
    marks, is_newest = timeline.marked(path), True
    for row in timeline.newest_of(Kind.USER, path):
        if timeline.is_by_program(row) or not session.items.text(timeline.id(row)).startswith(_AIDER.reports):
            continue
        if row in marks:
            break  # older ones too
        if not is_newest:
            answer = next(timeline.rows_on(path, range(row + 1, len(timeline))), None)
            is_agreed = answer is not None and session.items.text(timeline.id(answer)) == _AIDER.agreed[0]
            for one in (row, answer) if is_agreed and answer is not None else (row,):
                session.items.mark(one, OUT, AGENT)
        is_newest = False


def replaced_tokens(session: Session, after: str = "") -> int:
    """Return the tokens of what an agent has written anew since, which it no longer sends."""
    journal, first = session.log, _row_after(session, after)
    timeline, framing = journal.timeline, journal.reader.profile.message_tokens
    rows = replaced_rows(timeline.marked(journal.path))
    return sum(timeline.full[row] + framing for row in rows if row >= first)


def _row_after(session: Session, item: str) -> int:
    return session.items.row(item) + 1 if item else 0


def _logged(session: Session) -> list[_Logged]:
    """Return what an agent has written anew on this branch, also what it has replaced since."""
    timeline = session.log.timeline
    marks = sorted(timeline.marked(session.log.path).items())
    own = [mark for row, mark in marks if mark.by == AGENT and timeline.kind[row] != Kind.CALL]
    items = [session.items[timeline.id(mark.row)] for mark in own]
    messages = [Message(Role.ASSISTANT if item.kind is Kind.ASSISTANT else Role.USER, item.parts) for item in items]
    return [_Logged(key, mark) for (key, _), mark in zip(_keyed(messages), own, strict=True)]


def _keyed(messages: Sequence[Message]) -> Iterator[tuple[bytes, Message]]:
    """Yield each message after a digest of what it says. That of an answer depends on what is answered."""
    key = b""
    for message in messages:
        before = key if message.role is Role.ASSISTANT else b""
        key = blake2b(before + msgspec.json.encode(message.parts), digest_size=16).digest()
        yield key, message
