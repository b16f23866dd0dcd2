"""What a compaction hides: everything that could be read before it and cannot be read after it."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from sightline.shorten import identifiers, rules
from sightline.values.excerpt import stands_alone

_MOST = 40  # of each kind that a report names; the rest is counted
_ERROR = re.compile(r"\b(?:\w*Error|\w*Exception|Traceback|FAILED|FATAL|panic|error:)|错误|异常|失败", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d.,:%]*")


class Lost(Struct, frozen=True, omit_defaults=True):
    """Of one kind: how many there are, and the first of them."""

    count: int = 0
    named: tuple[str, ...] = ()


class Loss(Struct, frozen=True, omit_defaults=True):
    """What was visible before a compaction and is not now. All of it is still in the log."""

    rules: Lost = Lost()
    tasks: Lost = Lost()
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
        """Each kind by its name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def loss(before: Iterable[str], said: Iterable[str], after: str) -> Loss:
    """What these texts showed that `after`, all that is shown now, does not.

    `said` are messages of the user, whether they were shown or not: a rule counts if it could be read anywhere.
    """
    texts = list(before)
    shown = "\n".join(texts)
    said = list(said)
    names = dict.fromkeys(name for text in texts for name in identifiers(text, limit=100_000))
    paths = [name for name in names if "/" in name or "\\" in name]
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    others = names.keys() - {*paths, *numbers}
    return Loss(
        rules=_missing((rule for rule in _found(rules.rules, said) if rule in shown), after),
        tasks=_missing((task for task in _found(rules.tasks, said) if task in shown), after),
        paths=_missing(paths, after),
        identifiers=_missing([name for name in names if name in others], after),
        numbers=_missing(numbers, after),
        errors=_missing((line for text in texts for line in _errors(text)), after, alone=False),
    )


def _found(find: Callable[[str], list[str]], texts: Iterable[str]) -> Iterable[str]:
    return (sentence for text in texts for sentence in find(text))


def _errors(text: str) -> Iterable[str]:
    return (line.strip()[:200] for line in text.split("\n") if _ERROR.search(line))


def _missing(wanted: Iterable[str], after: str, *, alone: bool = True) -> Lost:
    """Those that cannot be read; `alone`: as words of their own, so that `12` is not read in `4123`."""
    distinct = [value for value in dict.fromkeys(wanted) if value]
    hidden = [value for value in distinct if not (stands_alone(value, after) if alone else value in after)]
    return Lost(len(hidden), tuple(hidden[:_MOST]))
