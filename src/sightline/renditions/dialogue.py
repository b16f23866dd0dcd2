"""What people and the model said: whole sentences, quoted as they stand."""

import re

from sightline.renditions.lines import Levels, lines_with, weigh
from sightline.renditions.pack import Level, Piece, by_place, by_worth
from sightline.renditions.prose import MUST
from sightline.renditions.sample import Sample
from sightline.renditions.values import values_of_lines

FIRST, LAST, QUESTION, RULE = 6.0, 3.0, 3.0, 4.0
AGAIN = 0.01  # a sentence said before
OPENING = 110  # characters of one sentence in a gist
LONGEST = 280  # characters of one sentence in a summary; what follows is cut

ASKING = frozenset("?？吗")
_END = re.compile(r"[.!?。！？；]\s*")


def dialogue(sample: Sample) -> Levels:
    """Opening, questions, constraints, figures, names and the last sentence."""
    rows, sentences = _sentences(sample)
    short = [text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in sentences]
    worths = _worths(short)
    said: set[str] = set()
    for n, text in enumerate(sentences):
        if text in said:
            worths[n] = AGAIN
        said.add(text)
    pieces = [Piece(n, text, worths[n]) for n, text in enumerate(short)]

    def render(label: str, chosen: list[Piece], _: list[Piece]) -> str:
        return "\n".join([label, *_quoted(chosen, rows)])

    gist = [piece if len(piece.text) <= OPENING else _opening(piece) for piece in pieces]
    return Levels(*(Level(by_worth(level, 1.5), [], 1.0, render, 1.5) for level in (pieces, gist)))


def _sentences(sample: Sample) -> tuple[list[int], list[str]]:
    """Every sentence, after the number of its line."""
    rows: list[int] = []
    sentences: list[str] = []
    for number, line in zip(sample.numbers, sample.lines, strict=True):
        start = 0
        for match in _END.finditer(line) if line else ():
            if len(found := match.group()) == 1 and found in ".!?":
                continue  # `app.py` is no end
            sentences.append(line[start : match.end()].strip())
            rows.append(number)
            start = match.end()
        if sentence := line[start:].strip():
            sentences.append(sentence)
            rows.append(number)
    return rows, sentences


def _worths(sentences: list[str]) -> list[float]:
    """What each sentence is worth: its names and figures, its place, whether it asks or binds."""
    worths = [
        0.3 + worth + (QUESTION if text[-1:] in ASKING or text[-2:-1] in ASKING else 0.0)
        for text, worth in zip(sentences, weigh(values_of_lines(sentences), len(sentences)).lines, strict=True)
    ]
    said = Sample(sentences, [])
    for i in {i for stem in MUST if stem in said.lowered for i in lines_with(stem, said)}:
        worths[i] += RULE
    if worths:
        worths[-1] += LAST
        worths[0] += FIRST
    return worths


def _opening(piece: Piece) -> Piece:
    """A sentence as a gist shows it: whole if short, else up to a blank near the limit."""
    cut = piece.text.rfind(" ", OPENING // 2, OPENING)
    text = piece.text[: cut if cut > 0 else OPENING]
    return Piece(piece.place, f"{text}…", piece.worth)


def _quoted(chosen: list[Piece], rows: list[int]) -> list[str]:
    """Sentences in order: of one line on one line, and `…` where something was left out."""
    out: list[str] = []
    before = -1
    for piece in sorted(chosen, key=by_place):
        gap = piece.place != before + 1
        if before >= 0 and rows[piece.place] == rows[before]:
            out[-1] += (" … " if gap else " ") + piece.text
        else:
            out.append(("… " if gap else "") + piece.text)
        before = piece.place
    if out and before < len(rows) - 1:
        out[-1] += " …"
    return out
