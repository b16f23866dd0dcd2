"""Finds what a recorded answer used and a payload did not show: an agent would have had to read that again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sightline.replay.text_index import TextIndex
from sightline.shorten.identifiers import values_in
from sightline.values.items import Call, Message, Role, plain_text

ASKING = 120  # tokens of the call that reads something again
_FRESH = 20  # calls for which what was read again stays readable
_OLD_TEXTS = frozenset({"old_string", "old_str", "old_text"})  # what edit tools call the text that must match exactly
_SHORTEST = 4  # characters of a value or line: a shorter one, such as a bracket, stands everywhere
_MOST = 200  # lines of an argument that are looked at


class Reread(NamedTuple):
    """What one answer would have needed first: how many messages to read again, and their tokens in full."""

    messages: int = 0
    tokens: int = 0


class Rereads:
    """What a conversation has said so far, and what of it was read again since."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._texts = TextIndex()  # of each message; empty for the system's, which is always shown
        self._latest: dict[int, int] = {}  # message → the call before which it was read again

    def add(self, message: Message) -> None:
        """Note a message that was said."""
        self._texts.add("" if message.role is Role.SYSTEM else _text(message))

    def __len__(self) -> int:
        """Return how many messages were noted."""
        return len(self._texts)

    def forget_latest(self) -> None:
        """Forget what was read again, as after a compaction: nothing of it is in the prompt any more."""
        self._latest.clear()

    def find(self, answers: Iterable[Message], payload: Iterable[Message], call: int) -> Reread:
        """Return what the answers to these messages used that they do not show, though an earlier message does.

        That are values in the arguments of calls (paths, names, ids, numbers) and the lines that an edit replaces.
        `call` is the number of the call. What was read again a few calls ago is still there.
        """
        needed = list(dict.fromkeys(piece for answer in answers for piece in _needed(answer)))
        if not needed:
            return Reread()
        shown = "\n".join(map(_text, payload))
        sources = {self._texts.last_with(piece) for piece in needed if piece not in shown} - {-1}
        lost = [each for each in sources if call - self._latest.get(each, -_FRESH) >= _FRESH]
        self._latest.update(dict.fromkeys(lost, call))
        return Reread(len(lost), sum(self._count(self._texts[each]) for each in lost))


def _text(message: Message) -> str:
    calls = (text for part in message.parts if isinstance(part, Call) for _, text in _leaves(_arguments(part)))
    return "\n".join((plain_text(message.parts), *calls))


def _arguments(call: Call) -> Any:
    return call.raw if call.input is None else call.input


def _needed(answer: Message) -> Iterator[str]:
    for part in answer.parts:
        if isinstance(part, Call):
            for key, text in _leaves(_arguments(part)):
                lines = text.splitlines()[:_MOST]
                exact = (line.strip() for line in lines) if key in _OLD_TEXTS else ()
                values: Sequence[str] = [value for line in lines for value in values_in(line)]
                yield from (piece for piece in (*exact, *values) if len(piece) >= _SHORTEST)


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
