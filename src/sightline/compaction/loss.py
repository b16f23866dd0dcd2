"""What a compaction hides: what could be read in the payload before it and cannot be read in the one after it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from sightline import shorten
from sightline.shorten import Purpose, effect_of, identifiers, subject_of
from sightline.shorten.source import names_code
from sightline.values.excerpt import stands_alone
from sightline.values.items import Call, Message, Result, Role, plain_text
from sightline.values.pattern import pattern

_MAX_NAMED = 40  # of each kind; the rest is only counted
_ERROR = pattern(r"\b(?:\w*Error|\w*Exception|Traceback|FAILED|FATAL|panic|error:)|错误|异常|失败|未找到|超时", re.I)
_STATEMENT = pattern(r"\W*(?:raise|except|throw|catch|class|import|from|def|func|return|if|elif|assert)\b")  # of code
_NUMBER = pattern(r"[-+]?\d[\d.,:%]*")
_SHOWS_CODE = (Purpose.READ, Purpose.SHOW, Purpose.CHANGE, Purpose.WRITE)


class Lost(Struct, frozen=True, omit_defaults=True):
    """What was lost of one kind: how many there are, and the first of them."""

    count: int = 0
    named: tuple[str, ...] = ()


class Loss(Struct, frozen=True, omit_defaults=True):
    """What was visible before a compaction and is not now. All of it is still in the log."""

    constraints: Lost = Lost()
    paths: Lost = Lost()
    identifiers: Lost = Lost()
    numbers: Lost = Lost()
    errors: Lost = Lost()

    def __bool__(self) -> bool:
        return any(kind.count for kind in self.kinds().values())

    def __str__(self) -> str:
        lines = [
            f"{name} {kind.count}: " + ", ".join(kind.named[:5]) + (", …" if kind.count > 5 else "")
            for name, kind in self.kinds().items()
            if kind.count
        ]
        return "\n".join(lines) or "nothing"

    def kinds(self) -> dict[str, Lost]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


def loss(
    before: Iterable[str],
    user_messages: Iterable[str],
    after: str,
    originals: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    by_model: Mapping[str, str] = MappingProxyType({}),
) -> Loss:
    """Return what the texts `before` showed and `after`, everything that is shown now, does not.

    Constraints are those in `user_messages`, shown or not; one counts if any text before contained it and no later
    message revokes it. `originals` are the items that were shown, in full: a number that is in none of them is ours.
    `outputs` are the texts before that may report an error. Without them, all may. `by_model`: constraints that a model
    found and that hold, each with its mark.
    """
    texts, said = list(before), list(user_messages)
    shown_before = "\n".join(texts)
    names = dict.fromkeys(name for text in texts for name in identifiers(text, limit=100_000))
    paths = [name for name in names if "/" in name or "\\" in name]
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    others = names.keys() - {*paths, *numbers}
    lines = (line for text in (texts if outputs is None else outputs) for line in text.split("\n"))
    errors = (line.strip()[:200] for line in lines if _ERROR.search(line) and not _STATEMENT.match(line))
    own = shown_before if originals is None else "\n".join(originals)
    laid_down = [sentence for laid in shorten.revoked(said) for sentence, revoked in laid.items() if not revoked]
    laid_before = [sentence for sentence in (*laid_down, *by_model) if sentence in shown_before]
    constraints = _missing([sentence for sentence in laid_before if not _shortened(sentence, after)], after)
    return Loss(
        constraints=Lost(constraints.count, tuple(by_model.get(sentence, sentence) for sentence in constraints.named)),
        paths=_missing(paths, after),
        identifiers=_missing([name for name in names if name in others], after),
        numbers=_missing([number for number in numbers if stands_alone(number, own)], after),
        errors=_missing(errors, after, whole_words=False),
    )


def _shortened(constraint: str, after: str) -> bool:
    """Whether the short form of a constraint can be read: it has every number, name and negation."""
    return stands_alone(shorten.short_form(constraint), after)


def _missing(wanted: Iterable[str], after: str, *, whole_words: bool = True) -> Lost:
    """Return those that `after` does not contain; with `whole_words`, `4123` does not contain `12`."""
    distinct = [value for value in dict.fromkeys(wanted) if value]
    hidden = [value for value in distinct if not (stands_alone(value, after) if whole_words else value in after)]
    return Lost(len(hidden), tuple(hidden[:_MAX_NAMED]))


def readable_text(message: Message) -> str:
    """Return everything that can be read in a message: its text, and the names and arguments of its calls."""
    arguments = [text for part in message.parts if isinstance(part, Call) for text in (part.name, *_leaves(part.input))]
    return "\n".join([plain_text(message.parts), *arguments])


def outputs(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the texts that may report an error: the user's, and results of calls that failed or show no source code.

    Neither calls nor what searches find: a line of a program is no error that occurred.
    """
    calls: dict[str, Call] = {}
    for message in messages:
        calls |= {part.id: part for part in message.parts if isinstance(part, Call)}
        match message.parts[:1]:
            case (Result() as result,) if not result.error and _shows_code(calls.get(result.id)):
                continue
        if message.role in (Role.USER, Role.TOOL):
            yield plain_text(message.parts)


def _shows_code(call: Call | None) -> bool:
    if call is None:
        return False
    purpose = effect_of(call).result
    return purpose is Purpose.SEARCH or (purpose in _SHOWS_CODE and names_code(subject_of(call)))


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value."""
    match value:
        case dict():
            yield from (text for inner in value.values() for text in _leaves(inner))
        case list() | tuple():
            yield from (text for inner in value for text in _leaves(inner))
        case None:
            pass
        case _:
            yield str(value)
