"""A shortened text is written as places in its original."""

from hypothesis import example, given
from hypothesis import strategies as st

from sightline.values.excerpt import joined, pieces

LINES = st.lists(
    st.sampled_from(["a line that is long enough", "another of the long lines", "short", "", "…"]), max_size=8
)


@given(LINES.map("\n".join), LINES.map(" … ".join))
@example("", "")
@example("x" * 70_000, "x" * 20)
def test_a_text_comes_back_as_it_was(original: str, text: str) -> None:
    """Whatever the two texts are, the pieces join to the text that was taken apart."""
    assert joined(pieces(text, original), original) == text


@given(st.text(), st.text())
def test_any_text_comes_back(original: str, text: str) -> None:
    """Also texts that have nothing to do with each other."""
    assert joined(pieces(text, original), original) == text


def test_neighbours_are_one_piece() -> None:
    """Lines that stand together in the original are one place, however many they are."""
    original = "\n".join(f"{number}: something is said here" for number in range(40))
    lines = original.split("\n")
    text = "\n".join([*lines[3:9], "… 20 lines …", *lines[30:]])
    assert pieces(text, original) == (
        (original.index("3:"), original.index("9:")), "… 20 lines …\n", (original.index("30:"), len(original))
    )  # fmt: skip
