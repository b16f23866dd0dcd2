"""Keys that cannot be shown by accident."""

from collections.abc import Iterable
from typing import NoReturn

HIDDEN = "…"
SHORTEST = 6  # characters; anything shorter is not a key, and hiding it would garble other text


class Secret:
    """A key. Printed or formatted, also inside another object, it is `…`; only `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
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
    """Return the text with each of these keys hidden, because providers echo what they were sent."""
    for secret in sorted(secrets, key=lambda value: len(value.reveal()), reverse=True):
        value = secret.reveal()
        if len(value) >= SHORTEST:
            text = text.replace(value, HIDDEN)
    return text
