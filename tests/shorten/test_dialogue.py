"""The gist of a message says what the message is about, however short it is."""

import pytest

from sightline.shorten import shorten
from sightline.values.items import Item, Kind, Text
from sightline.values.tokens import counter

count = counter().count
REST = " The old version was kept for a rollback, and you can switch back with one command if the error rate rises."
FIRST = "The deploy went well and nobody noticed it."


def gist(text: str, locale: str = "en") -> str:
    """The gist of a reply, without its label."""
    item = Item("7", Kind.ASSISTANT, (Text(text),))
    found = shorten(item, count=count, locale=locale).gist
    assert found is not None
    return found.partition("\n")[2]


@pytest.mark.parametrize("times", [4, 9])
def test_a_gist_begins_with_the_first_sentence(times: int) -> None:
    """An answer of 100 tokens had nothing but its label; and a shorter sentence from the middle says less."""
    text = FIRST + REST * times + " Fine."
    assert 80 <= count(text) <= 250
    assert gist(text).startswith(FIRST)


def test_a_long_first_sentence_is_cut() -> None:
    text = FIRST.replace(".", REST.replace(".", ",") * 4)
    assert gist(text).startswith(FIRST[:-1])
    assert "…" in gist(text)
    assert gist("这次部署很顺利，没有人注意到，旧版本仍然保留着，" * 9).startswith("这次部署很顺利")


def test_the_number_of_a_list_is_no_sentence() -> None:
    steps = "\n".join(
        f"{n}. {word} the release notes, then read them once more and send them out."
        for n, word in enumerate(("Write", "Check", "Translate", "Print", "Sort", "File"), start=1)
    )
    assert gist(steps).startswith("1. Write the release notes")
    assert "2.\n" not in f"{gist(steps)}\n"
