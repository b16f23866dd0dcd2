"""All words that a shortened item adds to its text: `texts/labels.json`."""

import re
from collections.abc import Mapping
from functools import cache

from sightline.values.pattern import pattern
from sightline.values.phrases import texts

_NAMED = pattern(r"\[(#[\d.]+)(?:: |：| )")  # how a label begins: with the handle of its item


def phrases(locale: str) -> Mapping[str, str]:
    """Return the table of a locale: "zh-CN" gives "zh"; an unknown locale gives English."""
    return tables()[locale[:2].lower() == "zh"]


@cache
def tables() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the tables of both languages, English first."""
    both = texts("labels").items()
    return {key: english for key, (english, _) in both}, {key: chinese for key, (_, chinese) in both}


def without_handle(text: str, handle: str, *, only_how: bool = False) -> str:
    """Return a shortened text that neither names its item nor says how to see all of it, for a model without `expand`.

    Labels name it after their bracket, and the line about a file that was read at its end. With `only_how`, as payloads
    of format 1 had it, the handle stays.
    """
    for wording in tables():
        text = text.replace(f"{wording['how'].format(handle=handle)}]", "]")
        before, _, after = wording["how on"].format(handle=handle, n="\n").partition("\n")
        if before in text:  # compiling the pattern takes long
            text = re.sub(rf"{re.escape(before)}\d{{1,12}}{re.escape(after)}\]", "]", text)
    if only_how:
        return text
    first, newline, rest = text.partition("\n")
    text = first.removesuffix(f" {handle}") + newline + rest
    return _NAMED.sub(lambda label: "[" if label[1] == handle else label[0], text)
