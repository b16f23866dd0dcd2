"""Parts of a file that is larger than its room: the blocks of lines that the task speaks of, in full.

Gaps between the parts name what is left out, and their lines, so that each can be brought back by itself.
"""

from collections import Counter
from collections.abc import Mapping

from sightline.shorten.identifiers import words_in
from sightline.shorten.lines import Levels, Order, View, line_levels
from sightline.shorten.source import is_source, outline

_LEAST, _MOST = 8, 30  # lines of a block: from here on it ends at the next empty line, and here in any case
_POWER = 0.25  # a long block has more words by chance


def part_levels(view: View, words: Mapping[str, float], most: int) -> Levels:
    """Return levels whose summary shows the blocks with most of these words, up to `most` characters of them.

    A word counts the more, the fewer blocks have it.
    """
    blocks = _blocks(view.code)
    words_of_blocks = [words.keys() & words_in("\n".join(view.code[block.start : block.stop])) for block in blocks]
    often = Counter(word for block_words in words_of_blocks for word in block_words)
    sizes = [sum(len(view.sample.lines[i]) + 1 for i in block) for block in blocks]
    worths = [
        sum(words[word] / often[word] for word in sorted(block_words)) / (1 + size) ** _POWER
        for block_words, size in zip(words_of_blocks, sizes, strict=True)
    ]
    chosen: list[int] = []
    for at in sorted(range(len(blocks)), key=lambda at: (-worths[at], at)):
        if sizes[at] <= most:
            most -= sizes[at]
            chosen += blocks[at]
    marks, sections = outline(view) if is_source(view) else ({}, {})
    return line_levels(view, marks, marks, sections, order=Order(then=chosen, parts=True))


def _blocks(lines: list[str]) -> list[range]:
    """Split lines where one is empty, into blocks that are neither very short nor long."""
    ends = []
    start = 0
    for i, line in enumerate(lines):
        length = i + 1 - start
        if length >= _MOST or (length > _LEAST and not line.strip()):
            ends.append(start := i + 1)
    return [range(first, end) for first, end in zip([0, *ends], [*ends, len(lines)], strict=True) if first < end]
