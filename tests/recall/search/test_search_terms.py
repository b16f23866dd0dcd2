"""What a text can be found by."""

from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline.recall.search import postings as search_postings
from sightline.recall.search.postings import COUNT_STARTS, RecentRows, unpack
from sightline.recall.search.terms import terms, word_terms, words

MIXED = st.text(st.one_of(st.sampled_from("aBsz09 _-./\\@',’:\n\0数据ー１é"), st.characters()))


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

    @pytest.mark.parametrize(
        ("text", "expected"), [("Ann's", ["ann"]), ("We'll", ["we'll", "we"]), ("O'Brien", ["o'brien", "o", "brien"])]
    )
    def test_what_an_apostrophe_shortens_is_no_term(self, text: str, expected: list[str]) -> None:
        """The s of a name would be found in every "It's"."""
        assert terms(text) == expected

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


class TestWords:
    """A row is indexed by its words, each taken apart once. That must find what the text is defined to be found by."""

    @given(MIXED)
    @example("1,200 1,2000 a,b 'tis, it's. src/app//main.py, .5 -x- __init__ SO-17. ②③ ﬁne 中文,a.b文 \ud800x")
    @example("getUserCount " * 3 + "x" * 70 + "数据" * 40)
    def test_words_have_the_terms_of_their_text(self, text: str) -> None:
        """The terms of its words are those of a text, in their order."""
        assert [term for word in words(text)[0] for term in word_terms(word)] == terms(text)

    @given(st.lists(MIXED, max_size=4))
    def test_rows_have_the_postings_of_their_terms(self, texts: list[str]) -> None:
        """Each term has the rows of the texts that contain it, and each row the length of its text."""
        recent = RecentRows()
        for row, text in enumerate(texts):
            recent.add(row, *words(text))
        for term in {term for text in texts for term in terms(text)}:
            postings = recent.postings(term)
            assert postings is not None
            counts = {row: n for row, text in enumerate(texts) if (n := terms(text).count(term))}
            assert list(postings.rows) == list(counts)
            assert [each >> 5 for each in postings.classes] == [
                max(at for at, least in enumerate(COUNT_STARTS) if n >= least) for n in counts.values()
            ]
            assert unpack(postings.pack(7)) == (array("H", [row + 7 for row in counts]), postings.classes)
        assert list(recent.lengths.values()) == [words(text)[1] for text in texts]
        assert recent.count == sum(len(set(terms(text))) for text in texts)

    @pytest.mark.parametrize(("length", "kept"), [(64, True), (65, False)])
    def test_long_words_are_not_kept(self, length: int, kept: bool) -> None:
        """A log of long lines without spaces would be in memory twice."""
        recent = RecentRows()
        recent.add(0, *words("数" * length))
        assert bool(recent._words) is kept
        assert recent.count == 2

    def test_where_few_terms_are_wanted_few_words_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A long log whose words are all different would be in memory, because nothing of it becomes a segment."""
        monkeypatch.setattr(search_postings, "_MOST_WORDS", 10)
        recent = RecentRows({"word7"})
        recent.add(0, *words(" ".join(f"word{number}" for number in range(95))))
        assert len(recent._words) <= 10
        assert recent.count == 1
