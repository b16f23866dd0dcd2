"""Finds which of many texts holds some words, without looking through all of them."""

from array import array
from collections.abc import Iterator, Sequence
from sys import byteorder

_GRAM = 4  # bytes of UTF-8 that are indexed together, as one number: no shorter piece is looked for
_BLOCK = 1 << 17  # characters of texts that are looked through together; those of the newest block are not indexed
_MOST = 32  # places of a long piece that are looked up
_NEWEST = 8  # blocks that are looked through for a smaller text, once one is found


class TextIndex:
    """Texts in the order in which they were added.

    Old ones are in blocks, and of each four bytes it is known which blocks have them. So a piece is looked for
    only in blocks that may hold it, and the work for each does not grow with the number of texts.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._blocks: list[range] = []  # the texts of each
        self._holding: dict[int, array[int]] = {}  # four bytes → blocks
        self._first = self._size = 0  # of the texts that are in no block: the first, and their characters
        self.searched = 0  # characters that were looked through so far

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, at: int) -> str:
        return self._texts[at]

    def add(self, text: str) -> None:
        """Add a text."""
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _BLOCK:
            self._close_block()

    def smallest_with(self, pieces: Sequence[str]) -> int:
        """Return the place of the smallest text that holds these pieces in this order; -1 if none does.

        Each piece has at least four characters. Of texts of one size it is the newest, and of a piece that many texts
        hold only the newest blocks are looked through.
        """
        smallest = -1
        for number, texts in enumerate(self._blocks_with(max(pieces, key=len, default=""))):
            if smallest >= 0 and number > _NEWEST:
                break
            for at in reversed(texts):
                text = self._texts[at]
                self.searched += len(text)
                if (smallest < 0 or len(text) < len(self._texts[smallest])) and _holds(text, pieces):
                    smallest = at
        return smallest

    def _blocks_with(self, piece: str) -> Iterator[range]:
        """Yield the texts among which some may hold a piece, block by block, the newest first."""
        if not piece:
            return
        yield range(self._first, len(self._texts))
        data = _encoded(piece)
        last = len(data) - _GRAM
        places = range(0, last + 1, max(last // _MOST, 1))
        holding = [self._holding.get(int.from_bytes(data[at : at + _GRAM], byteorder), ()) for at in places]
        yield from (self._blocks[block] for block in reversed(min(holding, key=len, default=())))

    def _close_block(self) -> None:
        number, texts = len(self._blocks), range(self._first, len(self._texts))
        data = memoryview(_encoded("\n".join(self._texts[at] for at in texts)))
        grams: set[int] = set()
        for shift in range(_GRAM):  # the numbers of all places, a quarter of them at a time
            end = len(data) - (len(data) - shift) % _GRAM
            grams.update(data[shift:end].cast("I"))
        for gram in grams:
            self._holding.setdefault(gram, array("I")).append(number)
        self._blocks.append(texts)
        self._first, self._size = len(self._texts), 0


def _holds(text: str, pieces: Sequence[str]) -> bool:
    end = 0
    for piece in pieces:
        if (start := text.find(piece, end)) < 0:
            return False
        end = start + len(piece)
    return True


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # half a character may stand alone in what a tool printed
