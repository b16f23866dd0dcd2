"""Phrases in English and Chinese: one look-up for all tables. The tables are the files in `sightline/texts`.

say = Phrases({"closed": ("closed window {id}", "已关闭窗口: {id}")}) is a table: key → (English, Chinese).
say("closed", "zh", id="notes-1") is the text with its fields filled in; say.template("closed") leaves the braces.
say | {"closed": ("{id} is closed", "{id} 已关闭")} is the same table with other or more phrases.
Phrases(texts("engine")) is the table of texts/engine.json: what the engine says to a model.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from sightline.errors import BadInput
from sightline.values.decoders import decode_json
from sightline.values.pattern import pattern

LOCALES = ("en", "zh")
TEXTS = Path(__file__).parent.parent / "texts"


@cache
def texts(name: str) -> Mapping[str, tuple[str, str]]:
    """Return a table of `sightline/texts`: key → a text for each of `LOCALES`."""
    table = decode_json((TEXTS / f"{name}.json").read_bytes(), dict[str, _Text])
    return {key: (text.en, text.zh) for key, text in table.items()}


class _Text(Struct, forbid_unknown_fields=True):
    """A phrase in each of `LOCALES`."""

    en: str
    zh: str


class Phrases:
    """A table of phrases, key → a text for each of `LOCALES`. Calling it is the look-up."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        self._table = table

    def __call__(self, key: str, /, locale: str = "en", **fields: Any) -> str:
        """The text of a phrase with its fields filled in. Raises as `template` does, and KeyError without a field."""
        return self.template(key, locale).format(**fields)

    def template(self, key: str, locale: str = "en") -> str:
        """The text of a phrase with its braces as they are.

        Raises:
            KeyError: the table has no such phrase.
            BadInput: the locale is unknown.
        """
        if key not in self._table:
            raise KeyError(f"no phrase {key!r} in this table")
        return self._table[key][LOCALES.index(check_locale(locale))]

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __or__(self, more: Mapping[str, tuple[str, str]]) -> "Phrases":
        """This table with more phrases, which replace those of the same key."""
        return Phrases({**self._table, **more})


def check_locale(locale: str) -> str:
    """The locale itself. Raises BadInput if it is unknown."""
    if locale not in LOCALES:
        raise BadInput(f"unknown locale {locale!r}; choose one of {', '.join(LOCALES)}")
    return locale


say = Phrases(texts("engine"))


# The beginnings of what the engine writes in the role of the user: the phrases above, each up to its first field, and
# what formats write that have no place for a system message.
ENGINE_BEGINNINGS = (
    "[system]",
    "[conversation continues]",
    *(
        start
        for both in texts("engine").values()
        for text in both
        if (start := text.partition("{")[0])[:1] == "[" and start[2:]
    ),
)

SPEAKS = pattern(r"(?:\[[^\]\n]{1,60}\]\n)?([^\W\d_][^:：\n]{0,40})[:：]\s?\S")  # "Name: …", perhaps under a date


_SIZES = ("B", "KB", "MB", "GB", "TB")


def size_text(size: int) -> str:
    """A number of bytes for people: `312B`, `2.5KB`, `1.0MB`."""
    amount, unit = float(size), 0
    while round(amount, 1) >= 1024 and unit < len(_SIZES) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f}{_SIZES[unit]}" if unit else f"{size}B"
