"""What a text can be found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.recall.search.terms import terms


class TestTerms:
    @pytest.mark.parametrize(
        ("text", "others"),
        [
            ("cats", "cat"),
            ("running", "runs"),
            ("studied", "studies"),
            ("the dog's", "the dogs"),
            ("The dog’s", "the dogs"),
            ("making", "makes"),
            ("boxes", "box"),
            ("Straße ＡＢＣ", "straße abc"),
            ("1,200", "1200"),
        ],
    )
    def test_forms_of_a_word_are_one_term(self, text: str, others: str) -> None:
        """Plural, -ing, -ed, 's, case, width and grouping of digits make no difference."""
        assert terms(text) == terms(others)

    @pytest.mark.parametrize("word", ["class", "bus", "is", "this", "his"])
    def test_words_that_merely_end_in_s_keep_it(self, word: str) -> None:
        """A final s that is no plural stays."""
        assert terms(word) == [word]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("get_user_count", {"get_user_count", "get", "user", "count"}),
            ("getUserCount", {"getusercount", "get", "user", "count"}),
            ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
            ("src/app/main.py:42", {"src/app/main.py", "src", "app", "main.py", "main", "py", "42"}),
            (r"C:\temp\a.txt", {"c", r"temp\a.txt", "temp", "a.txt", "a", "txt"}),
            ("no-one@host.org", {"no-one@host.org", "no", "one", "host", "org"}),
        ],
    )
    def test_identifiers_stand_whole_and_in_pieces(self, text: str, expected: set[str]) -> None:
        """Snake, camel, path and address are found by the whole and by each piece."""
        assert set(terms(text)) == expected

    def test_a_hash_is_not_taken_apart(self) -> None:
        """Letters and digits in turn are one term."""
        assert terms("e3b0c44298fc1c14") == ["e3b0c44298fc1c14"]

    def test_chinese_becomes_characters_and_pairs(self) -> None:
        """A run without spaces is found by any character and any two neighbours, also beside Latin letters."""
        assert terms("故宫门a") == ["故", "宫", "门", "故宫", "宫门", "a"]

    @given(st.text())
    def test_terms_can_be_stored_and_compared(self, text: str) -> None:
        """Any text gives terms that are valid Unicode, lower case, bounded and free of spaces and NUL."""
        for term in terms(text):
            assert 0 < len(term) <= 64
            assert term == term.lower()
            assert not any(c.isspace() or c == "\0" for c in term)
            term.encode()

    @given(st.text(alphabet=st.characters(codec="ascii")))
    def test_plain_text_is_cut_as_any_other(self, text: str) -> None:
        """What follows in another script changes no term of what stands before it."""
        assert terms(text + " é") == [*terms(text), "é"]
