"""The words people see: complete in both languages, and how numbers and bars look."""

import re
from inspect import signature

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sightline.cli.phrases import LANGUAGES, Phrases, error_text, translations
from sightline.cli.render import bar, first_words, human_size, printable, truncate
from sightline.errors import BadSessionId, UnknownItem
from sightline.fleet import errors

OWN = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and each.__module__ == errors.__name__
    if each not in (errors.DatabaseError, errors.NameRefused)  # of which others are kinds
]


@pytest.mark.parametrize("kind", [*OWN, BadSessionId, UnknownItem], ids=lambda kind: str(kind.__name__))
def test_errors_of_a_database_and_of_ids_are_said_in_both_languages(kind: type[Exception]) -> None:
    """With the facts of the error."""
    names = [name for name in signature(kind.__init__).parameters if name != "self"]
    made = kind(**{name: f"the-{name}" for name in names})
    said = {language: error_text(made, language) for language in LANGUAGES}
    assert said["en"] == str(made)
    assert re.search("[\u4e00-\u9fff]{2}", said["zh"])
    assert [f"the-{name}" in said["zh"] for name in names] == [True] * len(names)


def test_only_errors_that_there_are_have_a_translation() -> None:
    """Each in every language but English, which an error says itself."""
    assert translations().keys() == {each.__name__ for each in (*OWN, BadSessionId, UnknownItem)}
    assert all(set(texts) == set(LANGUAGES) - {"en"} for texts in translations().values())


def test_a_reason_the_table_does_not_know_is_shown_as_it_is() -> None:
    """A strategy of one's own may give its own reasons."""
    assert Phrases("zh").reason("sweep: mine") == "sweep: mine"
    assert Phrases("en").reason("sweep: forced") == "budget full"
    assert Phrases("zh").reason("sweep: forced") == "预算将满"


@given(st.text(), st.integers(1, 40))
def test_cut_text_fits_its_columns(text: str, width: int) -> None:
    """Whatever the script, no more columns are taken than there are; what fits is untouched."""
    line = first_words(text)
    assert cell_len(truncate(line, width)) <= width
    if cell_len(line) <= width:
        assert truncate(line, width) == line


@given(st.text())
def test_first_words_are_one_harmless_line(text: str) -> None:
    """No control character is left, no line break either."""
    line = first_words(text)
    assert "\n" not in line
    assert printable(line) == line


def test_first_words_say_where_they_are_cut() -> None:
    """With an ellipsis, in as many characters; what fits has none."""
    assert first_words("one two three", 13) == "one two three"
    assert first_words("one two three", 9) == "one two…"
    assert first_words("one two three", 12) == "one two thr…"


@given(st.floats(0, 2), st.integers(1, 60))
def test_a_bar_never_outgrows_its_width(share: float, width: int) -> None:
    """Full at 1 and above, empty only at 0."""
    for plain in (False, True):
        drawn = bar(share, width, plain=plain)
        assert len(drawn) <= width
        assert bool(drawn) == (share > 0)
    if share >= 1:
        assert bar(share, width) == "█" * width


@pytest.mark.parametrize(
    ("size", "said"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (184_000, "184 kB"), (12 * 10**9, "12.0 GB")]
)
def test_sizes_are_short(size: int, said: str) -> None:
    """Two or three digits and a unit."""
    assert human_size(size) == said
