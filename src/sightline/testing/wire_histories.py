"""Made-up conversations for the checks of wires, the same in every run."""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text
from sightline.wire import common

History = list[list[Message]]  # unit by unit

IMAGE = Image("image/png", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")
FILE = File("application/pdf", "JVBERi0xLjQKJcOkw7zDtsOf", name="paper.pdf")
SECRET = "for-another-provider-only"
LONG = "  a long text, " + "word " * 60_000 + "its end \n"


def make_long_history() -> History:
    """A question, a call, its result and an answer, each longer than any limit that a format could have by mistake."""
    call = Call("call_1", "look", {"at": "a"})
    return [
        [Message(Role.USER, (Text(f"asked {LONG}"),))],
        [
            Message(Role.ASSISTANT, (Text(f"said {LONG}"), call)),
            Message(Role.TOOL, (Result(call.id, (Text(f"found {LONG}"),)),)),
        ],
        [Message(Role.ASSISTANT, (Text(f"answered {LONG}"),))],
    ]


def make_history(random: Random, provider: str) -> History:
    """Units of a conversation: texts of which no two are the same, media, calls with all kinds of ids and arguments."""
    numbers = count(1)
    return [_make_unit(random, provider, numbers) for _ in range(random.randint(1, 8))]


def _make_unit(random: Random, provider: str, numbers: Iterator[int]) -> list[Message]:
    match random.choice(["user", "recall", "system", "assistant", "assistant", "assistant"]):
        case "user":
            return [Message(Role.USER, _said(random, numbers))]
        case "recall":
            question = Message(Role.USER, _said(random, numbers))
            return [question, Message(Role.USER, _said(random, numbers), merge_into_previous=True)]
        case "system":
            return [Message(Role.SYSTEM, (_text(numbers),))]
        case _:
            return _make_turn(random, provider, numbers)


def _make_turn(random: Random, provider: str, numbers: Iterator[int]) -> list[Message]:
    parts: list[Part] = [_text(numbers)] if random.random() < 0.7 else []
    if random.random() < 0.3:
        parts.append(Opaque("another provider", "thinking", {"type": "thinking", "thinking": SECRET}))
    if random.random() < 0.3:
        parts.append(Opaque(provider, "note", {"type": "note", "number": next(numbers), "deep": [None, {"a": 1.5}]}))
    calls = [
        Call(random.choice(["call_1", f"call_{next(numbers)}", "é/ü", "", "x" * 70]), "look", *_arguments(random))
        for _ in range(random.choice([0, 1, 1, 3]))
    ]
    results = [
        Message(Role.TOOL, (Result(call.id, _result_parts(random, numbers), random.choice(["", "", "failed"])),))
        for call in calls
    ]
    for call in calls:
        parts.append(call)
        if random.random() < 0.3:  # as the signature of a thought, without which the provider refuses the call
            parts.append(Opaque(provider, "+call", {"signature": f"of call {next(numbers)}"}))
    return [Message(Role.ASSISTANT, tuple(parts)), *results]


def _text(numbers: Iterator[int]) -> Text:
    return Text(f'  text {next(numbers)}, "你好" 🙂\n\\ </end>\x00 \n')  # with blanks at both ends, which belong to it


def _said(random: Random, numbers: Iterator[int]) -> tuple[Part, ...]:
    choices: list[tuple[Part, ...]] = [(_text(numbers),)] * 4
    choices += [(), (Text(""),), (_text(numbers), _text(numbers)), (_text(numbers), IMAGE), (FILE,), (Blob("/w=="),)]
    return random.choice(choices)


def _result_parts(random: Random, numbers: Iterator[int]) -> tuple[Any, ...]:
    return random.choice([(_text(numbers),)] * 3 + [(), (_text(numbers), IMAGE)])


def _arguments(random: Random) -> tuple[Any, str | None]:
    texts = ['{"at": "a b", "n": [1, 2.5, null]}', '{"at":"你"}', "{}", '{"cut off": "in the mid']
    call = common.call_from("", "", random.choice(texts))
    return call.input, call.raw
