"""Which definition each line of a file belongs to: as far as the indentation tells, which holds for any language."""

from collections.abc import Sequence

from sightline.shorten.code_lines import defined_name
from sightline.values.pattern import pattern

# How lines begin that are no deeper than a definition, but belong to it: its end, and more of its first line.
_CLOSES, _GOES_ON = pattern(r"\}|end\b"), (")", "]", "{")


def definitions_of(lines: Sequence[tuple[int, str]]) -> list[str]:
    """Return the name of the innermost definition around each of these numbered lines; empty if none is known."""
    names, around = list[str](), list[tuple[int, str]]()
    for at, (number, line) in enumerate(lines):
        text = line.lstrip()
        depth = len(line) - len(text)
        if at and number != lines[at - 1][0] + 1:
            around.clear()
        if text and not (text.startswith(_GOES_ON) and around and depth == around[-1][0]):
            while around and (depth < around[-1][0] if _CLOSES.match(text) else depth <= around[-1][0]):
                around.pop()
            if name := defined_name(text):
                around.append((depth, name))
        names.append(around[-1][1] if around else "")
        if around and _CLOSES.match(text) and depth == around[-1][0]:
            around.pop()
    return names
