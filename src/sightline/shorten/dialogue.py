"""What people and the model said: whole sentences, quoted as they stand, and the names in those left out."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from sightline.shorten.fill import Excerpt
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import Levels, Weighed, ranked, weigh
from sightline.shorten.sample import Beginning, Sample
from sightline.shorten.signals import binding

FIRST, LAST, QUESTION, RULE, PLAIN = 6.0, 3.0, 3.0, 4.0, 0.3
AGAIN = 0.01  # a sentence said before
OPENING = 110  # characters of one sentence in a gist
LONGEST = 280  # characters of one sentence in a summary; what follows is cut
DENSE = 3
QUOTED, NAMED = 0.7, 0.4  # share of a summary and of a gist for whole sentences
BESIDE = 5.0  # characters a sentence costs beside its own

NO_OPENING = Beginning()
ASKING = frozenset("?？吗")
_ENDS = (". ", "! ", "? ", "。", "！", "？", "；")  # `app.py` holds none
_BEGINS = "\x01"  # a line; nothing that is shown holds it
_LINE, _AROUND = f"\n{_BEGINS}", f"{_BEGINS} \t\xa0\u3000"


def dialogue(sample: Sample, opening: Beginning = NO_OPENING) -> Levels:
    """First sentence, questions, constraints, figures, names and the last sentence; a summary begins with `opening`."""
    rows, sentences = _sentences(sample)
    values = values_of_lines(sentences)
    weighed = weigh(values)
    worths = _worths(sentences, values, weighed)
    density = [worth / (len(text) + BESIDE) for worth, text in zip(worths, sentences, strict=True)]
    order = sorted(range(len(sentences)), key=density.__getitem__, reverse=True)
    names = ranked(weighed)

    def level(longest: int, share: float, opening: Beginning) -> Excerpt:
        texts, seen = sentences, values
        if any(len(text) > longest for text in sentences):
            texts = [text if len(text) <= longest else _cut(text, longest) for text in sentences]
            seen = [
                found if text is whole else [value for value in found if value in text]
                for text, whole, found in zip(texts, sentences, values, strict=True)
            ]
        later = [i for i in order if rows[i] >= opening.lines] if opening.lines else order
        shown = [value for row, found in zip(rows, values, strict=True) if row < opening.lines for value in found]
        render = _Quoted(texts, rows, weighed.first, opening).render
        return Excerpt(later, texts, seen, names, share, 1.5, render, shown, len(opening.text))

    return Levels(level(LONGEST, QUOTED, opening), level(OPENING // _density(sentences), NAMED, NO_OPENING))


def _density(sentences: list[str]) -> int:
    """How many times as much a character says as a Latin letter: a Chinese sentence of 40 is a long one."""
    beginning = "".join(sentences[:3])
    return DENSE if len(beginning.encode()) > 2 * len(beginning) else 1


class _Quoted(NamedTuple):
    """A message as its shortened forms show it."""

    texts: list[str]
    rows: list[int]
    first: Mapping[str, int]
    opening: Beginning

    def render(self, label: str, chosen: list[int], between: list[str]) -> str:
        """Sentences in order, those of one line on one line; `…` and names for what was left out."""
        texts, rows, first, opening = self
        places, total = set(chosen), len(texts)
        left = [name for name in between if first[name] not in places or name not in texts[first[name]]]
        left.sort(key=first.__getitem__)
        left.reverse()
        out = [opening.text, label] if opening.text else [label]
        before = bisect_left(rows, opening.lines) - 1
        for place in [*sorted(chosen), total]:
            said = [texts[place]] if place < total else []
            names = []
            while left and first[left[-1]] < place:
                names.append(left.pop())
            if names:
                said = ["…", *names, "…", *said]
            elif place > before + 1:
                said = ["…", *said]
            if said and before >= 0 and (place == total or rows[place] == rows[before]):
                out[-1] = " ".join([out[-1], *said])
            elif said:
                out.append(" ".join(said))
            before = place
        return "\n".join(out)


def _sentences(sample: Sample) -> tuple[list[int], list[str]]:
    """Every sentence, after the number of its line."""
    text = _LINE.join(sample.lines)
    for end in _ENDS:
        if end in text:
            text = text.replace(end, end[0] + "\n")
    rows: list[int] = []
    sentences: list[str] = []
    row = 0
    for part in text.split("\n"):
        row += part[:1] == _BEGINS
        sentence = part.strip(_AROUND)
        if sentence:
            sentences.append(sentence)
            rows.append(row)
    return rows, sentences


def _worths(sentences: list[str], values: list[list[str]], weighed: Weighed) -> list[float]:
    """What each sentence is worth: its names and figures, its place, whether it asks or binds."""
    worths = [PLAIN + worth for worth in weighed.lines]
    for i in binding(sentences, values, weighed.first):
        worths[i] += RULE
    for i, text in enumerate(sentences):
        if text[-1] in ASKING or text[-2:-1] in ASKING:
            worths[i] += QUESTION
    if len(set(sentences)) < len(sentences):
        first = dict(zip(reversed(sentences), range(len(sentences) - 1, -1, -1), strict=True))
        worths = [worths[i] if first[text] == i else AGAIN for i, text in enumerate(sentences)]
    if worths:
        worths[-1] += LAST
        worths[0] += FIRST
    return worths


def _cut(text: str, longest: int) -> str:
    """The beginning of a sentence, up to a blank near the limit."""
    blank = text.rfind(" ", longest // 2, longest)
    return f"{text[: blank if blank > 0 else longest]}…"
