"""Finds what a recorded answer used and a payload did not show: an agent would have had to read that again.

What it reads is the smallest item that holds what it lacks: an agent with `expand` and `recall` fetches one item by its
handle, and pays for that item. The newest item with a value says nothing about the price: a number that a user typed in
ten words may stand in a log of 15,000 tokens too. Whole items are counted, although `expand` can also bring back some
lines of one, and each call that lacks something pays for one more request.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from sightline.shorten import values_in
from sightline.values.items import Call, Message, Result, Role, plain_text
from sightline.view.replay.text_index import TextIndex

ASKING = 120  # tokens of the call that reads something again
_FRESH = 20  # calls for which what was read again stays readable
_OLD_TEXTS = frozenset({"old_string", "old_str", "old_text"})  # what edit tools call the text that must match exactly
_SHORTEST = 4  # characters of a value or line: a shorter one, such as a bracket, stands everywhere
_MOST = 200  # lines of an argument that are looked at

Need = tuple[str, ...]  # one value, or the lines that an edit replaces, in their order


class Reread(NamedTuple):
    """What one answer would have needed first: how many items to read again, and their tokens in full."""

    items: int = 0
    tokens: int = 0


class Rereads:
    """What a conversation has said so far, and what of it was read again since."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._messages = 0
        self._texts = TextIndex()  # of each item; the system's are always shown, so they are not there
        self._latest: dict[int, int] = {}  # item → the call before which it was read again

    def add(self, message: Message) -> None:
        """Note a message that was said."""
        self._messages += 1
        if message.role is not Role.SYSTEM:
            for text in _items(message):
                self._texts.add(text)

    def __len__(self) -> int:
        """Return how many messages were noted."""
        return self._messages

    def forget_latest(self) -> None:
        """Forget what was read again, as after a compaction: nothing of it is in the prompt any more."""
        self._latest.clear()

    def find(self, answers: Iterable[Message], payload: Iterable[Message], call: int) -> Reread:
        """Return what the answers to these messages used that they do not show, though an earlier message does.

        That are values in the arguments of calls (paths, names, ids, numbers) and the lines that an edit replaces.
        `call` is the number of the call. What was read again a few calls ago is still there.
        """
        needs = list(dict.fromkeys(need for answer in answers for need in _needs(answer)))
        if not needs:
            return Reread()
        self._latest = {item: read for item, read in self._latest.items() if call - read < _FRESH}
        prompt = "\n".join((*map(_text, payload), *(self._texts[item] for item in self._latest)))
        lost = self._cheapest([need for need in needs if not all(piece in prompt for piece in need)], prompt)
        self._latest.update(dict.fromkeys(lost, call))
        return Reread(len(lost), sum(self._count(self._texts[item]) for item in lost))

    def _cheapest(self, needs: Iterable[Need], prompt: str) -> list[int]:
        """Return the items that hold what is needed: the smallest for each need, and none that another makes needless.

        Lines that no item holds together are looked for one by one, without those that are shown.
        """
        sources: dict[Need, int] = {}
        for need in needs:
            sources[need] = self._texts.smallest_with(need)
            if sources[need] < 0:
                alone = [(piece,) for piece in need if piece not in prompt]
                sources |= {single: self._texts.smallest_with(single) for single in alone if single not in sources}
        by_size = [(len(self._texts[item]), item, need) for need, item in sources.items() if item >= 0]
        lost: list[int] = []
        for _, item, need in sorted(by_size, reverse=True):
            if not any(all(piece in self._texts[larger] for piece in need) for larger in lost):
                lost.append(item)
        return lost


def _text(message: Message) -> str:
    return "\n".join(_items(message))


def _items(message: Message) -> Iterator[str]:
    """Yield the texts of a message that have handles of their own: each result, each call, and the rest."""
    results = [part for part in message.parts if isinstance(part, Result)]
    calls = [part for part in message.parts if isinstance(part, Call)]
    yield plain_text(tuple(part for part in message.parts if not isinstance(part, Result | Call)))
    yield from (plain_text((result,)) for result in results)
    yield from ("\n".join(text for _, text in _leaves(_arguments(call))) for call in calls)


def _arguments(call: Call) -> Any:
    return call.raw if call.input is None else call.input


def _needs(answer: Message) -> Iterator[Need]:
    for part in answer.parts:
        if isinstance(part, Call):
            for key, text in _leaves(_arguments(part)):
                lines = text.splitlines()[:_MOST]
                if key in _OLD_TEXTS:
                    yield tuple(line for line in map(str.strip, lines) if len(line) >= _SHORTEST)
                values = (value for line in lines for value in values_in(line))
                yield from ((value,) for value in values if len(value) >= _SHORTEST)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in JSON values, each with the key that it stands under."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _leaves(inner, name)
        case list():
            for inner in value:
                yield from _leaves(inner, key)
        case str():
            yield key, value
        case int() | float() if not isinstance(value, bool):
            yield key, str(value)
