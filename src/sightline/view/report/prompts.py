"""What an agent itself sends with each call, and the stretches of a conversation that Sightline would compose."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from sightline.values.items import Message, Opaque, Role, Text
from sightline.view.replay.formats import Recording
from sightline.view.report.contents import Piece
from sightline.view.report.talk import NEVER, Cut, Talk

_ASKED_FOR = "manual"  # the trigger of a compaction that a person asked for
_WRITTEN = ("assistant", "call")  # kinds of pieces that the model writes


class Prompt(NamedTuple):
    """What an agent sends with one call, in tokens as we count them: all since its last compaction, and the summary.

    `answer` is the index of its answer's first message. `kept` tokens at its beginning are as the call before sent
    them.
    """

    number: int
    answer: int
    tokens: int
    kept: int
    output: int  # of the answer


class Stretch(NamedTuple):
    """The calls from one compaction to the next, compactions aside that would not have happened with Sightline.

    `recording` is what Sightline composes; None if everything fits and is sent as it is.
    """

    prompts: Sequence[Prompt]
    recording: Recording | None = None
    shift: int = 0  # index of a message in the recording, minus that in the talk


class Sizes:
    """Tokens of a conversation's messages, as we count them."""

    def __init__(self, talk: Talk, pieces: Sequence[Piece]) -> None:
        sizes, system, written = ([0] * (len(talk.messages) + 1) for _ in range(3))
        self._summaries = {piece.cut: piece.tokens for piece in pieces if piece.cut is not None}
        for piece in pieces:
            if piece.cut is None:
                sizes[piece.at + 1] += piece.tokens
                system[piece.at + 1] += piece.tokens if piece.kind == "system" else 0
                written[piece.at + 1] += piece.tokens if piece.kind in _WRITTEN else 0
        self._before, self._system_before, self._written_before = map(list, map(accumulate, (sizes, system, written)))

    def since(self, cut: Cut | None, index: int) -> int:
        """Return the tokens of a prompt before this message: what this compaction left, and all that came later."""
        if cut is None:
            return self._before[index]
        return self.head(cut) + self._summaries[cut] + self._before[index] - self._before[cut.first]

    def written(self, start: int, end: int) -> int:
        """Return the tokens that the model wrote in these messages."""
        return self._written_before[end] - self._written_before[start]

    def head(self, cut: Cut) -> int:
        """Return the tokens of the system prompt, which a compaction leaves where it is."""
        return self._system_before[cut.first]


def prompts_of(talk: Talk, sizes: Sizes) -> list[Prompt]:
    """Return what the agent sends with each call that has an answer."""
    prompts: list[Prompt] = []
    last_cut: Cut | None = None
    for number, index in enumerate(talk.answers, start=1):
        cut = talk.cut_before(index)
        kept = prompts[-1].tokens if prompts else 0
        if cut is not last_cut and (changed := cut or last_cut):
            kept = min(kept, sizes.head(changed))
        output = sizes.written(index, _end_of_answer(talk, index))
        prompts.append(Prompt(number, index, sizes.since(cut, index), kept, output))
        last_cut = cut
    return prompts


def stretches_of(talk: Talk, prompts: Sequence[Prompt], sizes: Sizes, most: float) -> Iterator[Stretch]:
    """Yield the stretches of a conversation, if Sightline passes on prompts of up to `most` tokens as they are.

    An agent compacts when the prompts that are sent become large. So its compaction stays if nothing was shortened
    before it, or if a person asked for it. One that was undone begins no stretch.
    """
    lasting = [cut for cut in talk.cuts if cut.until == NEVER]
    begin: Cut | None = None  # the compaction that the stretch begins with
    start = 0  # the number of its first prompt
    last_cut: Cut | None = None
    for number, prompt in enumerate(prompts):
        position = bisect_right(lasting, prompt.answer, key=lambda cut: cut.at)
        cut = lasting[position - 1] if position else None
        if cut is not None and cut is not last_cut:
            stays = cut.compaction.trigger == _ASKED_FOR or number == start
            if stays or sizes.since(begin, prompts[number - 1].answer) <= most:
                if number > start:
                    yield _stretch(talk, begin, prompts[start:number], sizes, most)
                begin, start = cut, number
        last_cut = cut
    yield _stretch(talk, begin, prompts[start:], sizes, most)


def _stretch(talk: Talk, begin: Cut | None, prompts: Sequence[Prompt], sizes: Sizes, most: float) -> Stretch:
    if not prompts or sizes.since(begin, prompts[-1].answer) <= most:
        return Stretch(prompts)
    recording, first = talk.recording, begin.first if begin else 0
    head = [message for message in talk.messages[:first] if message.role is Role.SYSTEM]
    lead = [*head, Message(Role.USER, (Text(begin.compaction.summary),))] if begin else []
    end = _end_of_answer(talk, prompts[-1].answer)
    shift = len(lead) - first
    by_program = {index + shift for index in recording.by_program if first <= index < end}
    return Stretch(
        prompts,
        replace(
            recording,
            tools=(),  # those of the agent are counted with what no log shows
            messages=(*map(_bare, lead), *map(_bare, talk.messages[first:end])),
            times=(*[0] * len(lead), *recording.times[first:end]),
            by_program=frozenset(by_program | ({len(lead) - 1} if begin else set())),
        ),
        shift,
    )


def _end_of_answer(talk: Talk, index: int) -> int:
    """Return the index after the messages of an answer."""
    while index < len(talk.messages) and talk.messages[index].role is Role.ASSISTANT:
        index += 1
    return index


def _bare(message: Message) -> Message:
    """Return a message without its usage and without blocks that only its provider reads, which no report counts.

    The provider counted prompts that hold more than the log shows: the session must not learn from that.
    """
    parts = tuple(part for part in message.parts if not isinstance(part, Opaque))
    return replace(message, usage=None, parts=parts or message.parts)
