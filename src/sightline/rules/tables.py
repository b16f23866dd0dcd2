"""Cues as data: a table has one pattern to a line, and the patterns share classes of words.

`<name>` in a line stands for the class of that name; what follows two spaces and a number sign is an example.
"""

import re
from collections.abc import Callable
from functools import cache


def table(lines: str, **words: str) -> Callable[[], re.Pattern[str]]:
    """One pattern out of many, compiled when first asked for: all of them take longer than the package to load."""
    return cache(lambda: re.compile("|".join(_filled(line, words) for line in lines.strip().splitlines())))


def word_class(words: str) -> str:
    """A pattern for one of these words; in a word `~` is a space."""
    return f"(?:{'|'.join(words.split())})".replace("~", " ")


def _filled(line: str, words: dict[str, str]) -> str:
    return re.sub(r"<(\w+)>", lambda name: words[name[1]], line.partition("  #")[0].strip())
