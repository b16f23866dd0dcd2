"""What people and the model said: whole sentences, quoted as they stand."""

import re
from itertools import groupby

from sightline.renditions.lines import Levels, weigh
from sightline.renditions.pack import Level, Piece, by_place, by_worth
from sightline.renditions.prose import binds
from sightline.renditions.sample import Sample
from sightline.renditions.values import values_of_lines

FIRST, LAST, QUESTION, RULE, FIGURE = 6.0, 3.0, 3.0, 4.0, 0.4
AGAIN = 0.01  # a sentence said before
OPENING = 110  # characters of one sentence in a gist
LONGEST = 280  # characters of one sentence in a summary; what follows is cut

_END = re.compile(r"(?<=[.!?])[\s]+(?=\S)|(?<=[。！？；])")
_FIGURE = re.compile(r"\d")


def dialogue(sample: Sample) -> Levels:
    """Opening, questions, constraints, figures, names and the last sentence."""
    rows, sentences = _sentences(sample)
    short = [text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in sentences]
    values = values_of_lines(short)
    weighed = weigh(values).lines
    said: set[str] = set()
    pieces: list[Piece] = []
    for n, text in enumerate(short):
        worth = AGAIN if sentences[n] in said else _worth(text, n, len(short))
        pieces.append(Piece(n, text, worth + weighed[n], values[n]))
        said.add(sentences[n])

    def render(label: str, chosen: list[Piece], _: list[Piece]) -> str:
        return "\n".join([label, *_quoted(chosen, rows)])

    gist = [piece if len(piece.text) <= OPENING else _opening(piece) for piece in pieces]
    return Levels(*(Level(by_worth(level, 1.5), [], 1.0, render, 1.5) for level in (pieces, gist)))


def _sentences(sample: Sample) -> tuple[list[int], list[str]]:
    """Every sentence after the number of its line; the pieces a long line was read in are put together first."""
    rows: list[int] = []
    sentences: list[str] = []
    for number, pieces in groupby(zip(sample.numbers, sample.lines, strict=True), key=lambda pair: pair[0]):
        found = [text for sentence in _END.split("".join(line for _, line in pieces)) if (text := sentence.strip())]
        sentences += found
        rows += [number] * len(found)
    return rows, sentences


def _worth(text: str, n: int, total: int) -> float:
    worth = FIRST if n == 0 else LAST if n == total - 1 else 0.3
    if text.rstrip(" \"'”」)").endswith(("?", "？", "吗", "吗。")):
        worth += QUESTION
    if binds(text):
        worth += RULE
    return worth + (FIGURE if _FIGURE.search(text) else 0.0)


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
