"""Messages of users and models: whole sentences, quoted unchanged, and the names in those that are left out."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial

from sightline.shorten.fill import Excerpt
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import Levels, ValueWorths, rank_values, value_worths
from sightline.shorten.sample import Opening, Sample, cut_at_blank
from sightline.shorten.signals import rule_lines
from sightline.shorten.source import has_code

FIRST, LAST, QUESTION, RULE, PLAIN = 6.0, 3.0, 3.0, 4.0, 0.3
REPEATED = 0.01  # worth of a sentence that repeats an earlier one
GIST_SENTENCE = 110  # characters of one sentence in a gist, at most
SUMMARY_SENTENCE = 280  # characters of one sentence in a summary; what follows is cut
QUOTED, GIST_QUOTED = 0.7, 0.4  # share of a summary and of a gist for whole sentences
EXTRA_CHARS = 5.0  # that a sentence costs in addition to its own

NO_OPENING = Opening()
_QUESTION_MARKS = frozenset("?？吗")
_ENDS = (". ", "! ", "? ", "。", "！", "？", "；")  # `app.py` has none
_LINE_START = "\x01"  # marks the start of a line; no text that is shown has it
_CODE = "\x02"  # marks a line of code, after that
_INDENTS = frozenset(" \t")
_FENCES = ("```", "~~~")
_LINE_BREAK, _MARGIN = f"\n{_LINE_START}", f"{_LINE_START} \t\xa0\u3000"


def dialogue_levels(sample: Sample, opening: Opening = NO_OPENING, longest: int = GIST_SENTENCE) -> Levels:
    """Prefer the first and the last sentence, questions, rules, figures and names. A summary begins with `opening`.

    A sentence of a gist is cut after `longest` characters.
    """
    rows, sentences = _sentences(sample)
    values = values_of_lines(sentences)
    value_worth = value_worths(values)
    worths = _sentence_worths(sentences, values, value_worth)
    density = [worth / (len(text) + EXTRA_CHARS) for worth, text in zip(worths, sentences, strict=True)]
    order = sorted(range(len(sentences)), key=density.__getitem__, reverse=True)
    names = rank_values(value_worth)

    def level(order: Sequence[int], longest: int, share: float, opening: Opening) -> Excerpt:
        texts = [text if len(text) <= longest else cut_at_blank(text, longest) for text in sentences]
        seen = [
            own if text is whole else [value for value in own if value in text]
            for text, whole, own in zip(texts, sentences, values, strict=True)
        ]
        later = [i for i in order if rows[i] >= opening.lines]
        visible = [value for row, own in zip(rows, values, strict=True) if row < opening.lines for value in own]
        render = partial(_render, texts, rows, value_worth.first, opening)
        return Excerpt(later, texts, seen, names, share, 1.5, render, visible, len(opening.text))

    first = sorted(order, key=bool)  # a few words out of the middle do not say what a message is about
    gist = level(first, min(longest, GIST_SENTENCE), GIST_QUOTED, NO_OPENING)
    return Levels(level(order, SUMMARY_SENTENCE, QUOTED, opening), gist)


def _render(
    texts: list[str],
    rows: list[int],
    first: Mapping[str, int],
    opening: Opening,
    label: str,
    chosen: list[int],
    between: list[str],
) -> str:
    """Return sentences in order, those of one line on one line, with `…` and names for what was left out."""
    places, total = set(chosen), len(texts)
    left = [name for name in between if first[name] not in places or name not in texts[first[name]]]
    left = sorted(left, key=first.__getitem__)[::-1]
    out = [opening.text, label] if opening.text else [label]
    before = bisect_left(rows, opening.lines) - 1
    for place in [*sorted(chosen), total]:
        words = [texts[place]] if place < total else []
        names = []
        while left and first[left[-1]] < place:
            names.append(left.pop())
        if names:
            words = ["…", *names, "…", *words]
        elif place > before + 1:
            words = ["…", *words]
        if place < total and len(words) > 1 and texts[place][:1] in _INDENTS:  # a mark before it would move the line
            out.append(" ".join(words[:-1]))
            words = words[-1:]
        if words and before >= 0 and (place == total or rows[place] == rows[before]):
            out[-1] = " ".join([out[-1], *words])
        elif words:
            out.append(" ".join(words))
        before = place
    return "\n".join(out)


def _sentences(sample: Sample) -> tuple[list[int], list[str]]:
    """Return for every sentence its line, and all sentences. A line of code is one, with its indentation."""
    code = _code_lines(sample.lines)
    lines = [_CODE + line if i in code else line for i, line in enumerate(sample.lines)]
    text = _LINE_BREAK.join(lines)
    for end in _ENDS:
        text = text.replace(end, end[0] + "\n")
    if code:
        text = _LINE_BREAK.join(
            _CODE + line if i in code else split
            for (i, line), split in zip(enumerate(sample.lines), text.split(_LINE_BREAK), strict=True)
        )
    rows: list[int] = []
    sentences: list[str] = []
    row, number = 0, ""
    for part in text.split("\n"):
        row += part[:1] == _LINE_START
        if part.removeprefix(_LINE_START)[:1] == _CODE:
            if line := part.removeprefix(_LINE_START)[1:].rstrip():
                sentences.append(line)
                rows.append(row)
            number = ""
            continue
        sentence = number + part.strip(_MARGIN)
        number = f"{sentence} " if sentence[:-1].isdigit() and sentence[-1] == "." else ""  # of a list: it ends nothing
        if sentence and not number:
            sentences.append(sentence)
            rows.append(row)
    return rows, sentences


def _code_lines(lines: Sequence[str]) -> set[int]:
    """Return the lines of a message that are code: those between fences, or those indented in a text that has code."""
    fences = [i for i, line in enumerate(lines) if line.lstrip().startswith(_FENCES)]
    if fences:
        ends = [*fences[1::2], *([len(lines)] if len(fences) % 2 else [])]
        return {i for start, end in zip(fences[::2], ends, strict=True) for i in range(start, min(end + 1, len(lines)))}
    return {i for i, line in enumerate(lines) if line[:1] in _INDENTS and line.strip()} if has_code(lines) else set()


def _sentence_worths(sentences: list[str], values: list[list[str]], value_worth: ValueWorths) -> list[float]:
    """Return what each sentence is worth, by its names and figures, its place, and whether it asks or states a rule."""
    worths = [PLAIN + worth for worth in value_worth.lines]
    for i in rule_lines(sentences, values, value_worth.first):
        worths[i] += RULE
    for i, text in enumerate(sentences):
        if text[-1] in _QUESTION_MARKS or text[-2:-1] in _QUESTION_MARKS:
            worths[i] += QUESTION
    first = dict(zip(reversed(sentences), range(len(sentences) - 1, -1, -1), strict=True))
    worths = [worths[i] if first[text] == i else REPEATED for i, text in enumerate(sentences)]
    if worths:
        worths[-1] += LAST
        worths[0] += FIRST
    return worths
