"""Finding the last text that holds a piece: the same as looking through all, with less work."""

import random

import pytest

from sightline.replay import text_index
from sightline.replay.text_index import TextIndex


def texts(count: int, words: int = 200) -> list[str]:
    """Texts of words, of which some are in all and some in one only."""
    chosen = random.Random(count)
    return [" ".join([f"value_{at}", *(f"word{chosen.randrange(5000)}" for _ in range(words))]) for at in range(count)]


@pytest.mark.parametrize("block", [1, 3_000, 1 << 20])
def test_it_finds_what_a_search_of_all_texts_finds(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one word and of many, at the edges of texts, in the middle of words, in none, and empty texts."""
    monkeypatch.setattr(text_index, "_BLOCK", block)
    index, known = TextIndex(), []
    chosen = random.Random(7)
    for text in ["", "值：请求编号 4711", *texts(60), "tiny", "x"]:
        index.add(text)
        known.append(text)
        some = chosen.choice([each for each in known if len(each) > 4] or ["____"])
        start = chosen.randrange(max(len(some) - 4, 1))
        pieces = [some[start : start + length] for length in (4, 9, 500)]
        for piece in (*pieces, "请求编号", "value_1 ", "made_up_9", "wordword", "tiny"):
            if len(piece) >= 4:
                expected = next((at for at in range(len(known) - 1, -1, -1) if piece in known[at]), -1)
                assert index.last_with(piece) == expected, piece
    assert (len(index), index[1]) == (len(known), known[1])


def work(count: int) -> int:
    """Look once after each text for something new, for something of the beginning, and for something recent."""
    index = TextIndex()
    for at, text in enumerate(texts(count)):
        index.add(text)
        assert index.last_with(f"never_{at}_said") == -1
        assert index.last_with("value_0 ") == 0
        assert index.last_with(f"value_{at} ") == at
    return index.searched


def test_the_work_for_a_piece_does_not_grow_with_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many texts and pieces are four times as much work, not sixteen times."""
    monkeypatch.setattr(text_index, "_BLOCK", 1 << 13)
    assert work(800) < 5 * work(200)
