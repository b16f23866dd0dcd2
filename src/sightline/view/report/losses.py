"""What compactions removed, and what of it later answers needed."""

from collections.abc import Iterator
from itertools import takewhile

from sightline.compaction.loss import loss, outputs, readable_text
from sightline.imports.harness_text import is_harness_text
from sightline.values.items import Message, Role, Text, plain_text
from sightline.values.tokens import TokenCounter
from sightline.view.replay.rereads import Rereads
from sightline.view.report.talk import Cut, Talk
from sightline.view.report.values import CompactionLoss

_NAMED = 5  # constraints


def losses_of(talk: Talk, counter: TokenCounter) -> Iterator[CompactionLoss]:
    """Yield what each compaction removed. All of it is in the log, and none of it in what the model saw."""
    rereads = Rereads(counter.count)
    for number, cut in enumerate(talk.cuts):
        last = next((last for last in reversed(talk.cuts[:number]) if last.until > cut.at), None)
        start = last.first if last is not None else 0
        end = min([cut.until, len(talk.messages), *(later.at for later in talk.cuts[number + 1 :])])
        seen = (talk.messages[index] for index in range(start, cut.first) if index not in cut.unseen)
        summary = [_summary(last)] if last is not None else []
        before = [*_quotes(cut, 0), *summary, *seen]
        after = [*_shown_instead(cut), *talk.messages[cut.first : cut.at]]
        users = filter(_is_users, (*summary, *talk.messages[start : cut.first]))
        lost = loss(
            map(readable_text, before),
            [plain_text(message.parts) for message in users],
            "\n".join(map(readable_text, after)),
            outputs=[*outputs(before)],
        )
        needed, tokens = _needed(talk, cut, end, rereads)
        counted = sum(
            counter.count(readable_text(message)) for message in (*before, *talk.messages[cut.first : cut.at])
        )
        yield CompactionLoss(
            call=talk.call_before(cut.at) + 1,
            trigger=cut.compaction.trigger,
            tokens=cut.compaction.pre_tokens or counted,
            summary=counter.count(cut.compaction.summary),
            constraints=lost.constraints.count,
            paths=lost.paths.count,
            identifiers=lost.identifiers.count,
            numbers=lost.numbers.count,
            errors=lost.errors.count,
            named=lost.constraints.named[:_NAMED],
            names={kind: missing.named for kind, missing in lost.kinds().items() if missing.named},
            needed=needed,
            needed_tokens=tokens,
        )


def _summary(cut: Cut) -> Message:
    return Message(Role.USER, (Text(cut.compaction.summary),))


def _quotes(cut: Cut, which: int) -> list[Message]:
    text = cut.compaction.quoted[which]
    return [Message(Role.SYSTEM, (Text(text),))] if text else []


def _shown_instead(cut: Cut) -> list[Message]:
    """Return what the model saw in the place of what was removed."""
    return [_summary(cut), *_quotes(cut, 1)]


def _is_users(message: Message) -> bool:
    return message.role is Role.USER and not is_harness_text(plain_text(message.parts))


def _needed(talk: Talk, cut: Cut, end: int, rereads: Rereads) -> tuple[int, int]:
    """Return how many answers until the next compaction or the undo used what was no longer shown, and its tokens.

    `rereads` knows the messages that compactions before this one have removed.
    """
    for index in range(len(rereads), cut.first):
        message = talk.messages[index]
        rereads.add(Message(message.role, ()) if index in cut.unseen else message)
    rereads.forget_latest()
    prompt = [*_shown_instead(cut), *talk.messages[cut.first : cut.at]]
    prompt += (message for message in talk.messages[: cut.first] if message.role is Role.SYSTEM)
    count = tokens = 0
    answers = {index for index in talk.answers if cut.at <= index < end}
    for index in range(cut.at, end):
        if index in answers:
            said = [*takewhile(lambda answer: answer.role is Role.ASSISTANT, talk.messages[index:end])]
            reread = rereads.find(said, prompt, talk.call_before(index) + 1)
            count, tokens = count + bool(reread.items), tokens + reread.tokens
        prompt.append(talk.messages[index])
    return count, tokens
