"""Finding the smallest text that holds some pieces: the same as looking through all, with less work."""

import random

import pytest

from sightline.view.replay import text_index
from sightline.view.replay.text_index import TextIndex


def texts(count: int, words: int = 200) -> list[str]:
    """Texts of words, of which some are in all and some in one only."""
    chosen = random.Random(count)
    return [" ".join([f"value_{at}", *(f"word{chosen.randrange(5000)}" for _ in range(words))]) for at in range(count)]


@pytest.mark.parametrize("block", [1, 3_000, 1 << 20])
def test_it_finds_what_a_search_of_all_texts_finds(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one word and of many, at the edges of texts, in the middle of words, in none, and empty texts."""
    monkeypatch.setattr(text_index, "_BLOCK", block)
    monkeypatch.setattr(text_index, "_NEWEST", 100)
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
                holding = [at for at in reversed(range(len(known))) if piece in known[at]]
                expected = min(holding, key=lambda at: len(known[at]), default=-1)
                assert index.smallest_with([piece]) == expected, piece
    assert (len(index), index[1]) == (len(known), known[1])


def test_pieces_stand_in_their_order_in_one_text() -> None:
    """A text that has them in another order does not count, nor one that lacks some; no pieces are in no text."""
    index = TextIndex()
    for text in ("first then second, and more", "second first", "first", "first and then the second of two"):
        index.add(text)
    assert index.smallest_with(["first", "second"]) == 0
    assert index.smallest_with(["second", "first"]) == 1
    assert index.smallest_with(["first", "third"]) == -1
    assert index.smallest_with([]) == -1


def work(count: int) -> int:
    """Look once after each text for something new, of the beginning, recent, and for what every text has."""
    index = TextIndex()
    for at, text in enumerate(texts(count)):
        index.add(text)
        assert index.smallest_with([f"never_{at}_said"]) == -1
        assert index.smallest_with(["value_0 "]) == 0
        assert index.smallest_with([f"value_{at} "]) == at
        assert index.smallest_with(["value_"]) >= 0
    return index.searched


@pytest.mark.slow
def test_the_work_for_a_piece_does_not_grow_with_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many texts and pieces are four times as much work, not sixteen times."""
    monkeypatch.setattr(text_index, "_BLOCK", 1 << 13)
    assert work(800) < 5 * work(200)
