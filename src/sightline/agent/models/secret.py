"""Keys, held so that they cannot be shown by accident."""

from collections.abc import Iterable
from typing import NoReturn

HIDDEN = "…"
SHORTEST = 6  # characters; anything shorter is no key, and hiding it would garble what is said around it


class Secret:
    """A key. Whoever prints it, formats it or looks at what holds it sees `…`; only `reveal` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the header it belongs in."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


def redacted(text: str, secrets: Iterable[Secret]) -> str:
    """The text with every one of these keys hidden, however it got there: providers echo what they were sent."""
    for secret in sorted(secrets, key=lambda each: len(each.reveal()), reverse=True):
        value = secret.reveal()
        if len(value) >= SHORTEST:
            text = text.replace(value, HIDDEN)
    return text
