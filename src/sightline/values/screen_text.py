"""Anybody's text where people look at it: on a screen, in a list, in a file."""

import re

# Characters of a log that would move the cursor, colour the screen or turn the line around: control characters,
# those that change the direction of text, and line ends other than \n.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_BACKTICKS = re.compile("`+")
_EIGHTHS = " ▏▎▍▌▋▊▉"


def printable(text: str) -> str:
    """Return the text with U+FFFD for every character that a terminal would act on."""
    return UNPRINTABLE.sub("\ufffd", text)


def first_words(text: str, length: int = 200) -> str:
    """Return the beginning of a text on one line, with an ellipsis if it is cut off."""
    line = printable(" ".join(text[: length * 4].split()))
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def ticks(text: str, least: int) -> str:
    """Return more backticks than stand in a row in the text, at least so many."""
    return "`" * max([least, *(len(run) + 1 for run in _BACKTICKS.findall(text))])


def fenced(text: str, language: str = "") -> str:
    """Return a text between fences that nothing in it can close."""
    fence = ticks(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def human_size(size: int) -> str:
    """Return a number of bytes in the unit that keeps it short."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """Return a bar that fills this share of its width, exact to an eighth of a column. `plain`: only ASCII."""
    least = 1 if share > 0 else 0
    eighths = max(round(min(max(share, 0.0), 1.0) * width * 8), least)
    if plain:
        return "#" * -(-eighths // 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
