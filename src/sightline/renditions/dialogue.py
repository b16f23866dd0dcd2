"""What people and the model said: whole sentences, quoted as they stand."""

import re

from sightline.renditions.lines import Levels, View
from sightline.renditions.pack import Level, Piece
from sightline.renditions.prose import binds
from sightline.renditions.values import values_in

FIRST, LAST, QUESTION, RULE, FIGURE = 6.0, 3.0, 3.0, 4.0, 0.4
LONGEST = 280  # characters of one sentence in a summary; what follows is cut

_END = re.compile(r"(?<=[.!?])[\s]+(?=\S)|(?<=[。！？；])")
_FIGURE = re.compile(r"\d")


def dialogue(seen: View) -> Levels:
    """Opening, questions, constraints, figures, names and the last sentence."""
    sentences = [
        (i, part) for i, line in enumerate(seen.sample.lines) for part in _END.split(line.text) if part.strip()
    ]
    pieces = []
    for n, (_, text) in enumerate(sentences):
        short = text.strip() if len(text) <= LONGEST else f"{text.strip()[:LONGEST]}…"
        values = tuple(values_in(short))
        pieces.append(Piece(n, short, values, _worth(short, n, len(sentences))))
    rows = [i for i, _ in sentences]

    def render(chosen: list[Piece], _: list[Piece]) -> str:
        return _quoted(chosen, rows)

    short_pieces = [piece._replace(text=_opening(piece.text)) for piece in pieces]
    return Levels(Level(pieces, [], 1.0, render, 1.5), Level(short_pieces, [], 1.0, render, 1.5))


def _worth(text: str, n: int, total: int) -> float:
    worth = FIRST if n == 0 else LAST if n == total - 1 else 0.3
    if text.rstrip(" \"'”」)").endswith(("?", "？", "吗", "吗。")):
        worth += QUESTION
    if binds(text):
        worth += RULE
    return worth + (FIGURE if _FIGURE.search(text) else 0.0)


def _opening(text: str, most: int = 110) -> str:
    """A sentence as a gist shows it: whole if short, else up to a blank near the limit."""
    if len(text) <= most:
        return text
    cut = text.rfind(" ", most // 2, most)
    return f"{text[: cut if cut > 0 else most]}…"


def _quoted(chosen: list[Piece], rows: list[int]) -> str:
    """Sentences in order: of one line on one line, and `…` where something was left out."""
    out: list[str] = []
    before = -1
    for piece in sorted(chosen, key=lambda piece: piece.place):
        gap = piece.place != before + 1
        if before >= 0 and rows[piece.place] == rows[before]:
            out[-1] += (" … " if gap else " ") + piece.text
        else:
            out.append(("… " if gap else "") + piece.text)
        before = piece.place
    if out and before < len(rows) - 1:
        out[-1] += " …"
    return "\n".join(out)
