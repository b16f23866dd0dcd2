"""What a conversation settled, as short quotes of its turns."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.recall.overview import chinese, english
from sightline.recall.overview.settlement import DONE, Quote, Turn, quotes
from sightline.values.tokens import counter

NAMES = [
    "Bombay House",
    "Santa Rosa",
    "Air France",
    "Lake Verity",
    "北京饭店",
    "颐和园",
    "小吊梨汤(畅春园店)",
    "5月3日",
]
SAID = [
    "I would like a table at {} please.",
    "How about {}?",
    "推荐您去{}。",
    "好的，{}的电话是多少？",
    "{}",
    "Thanks, bye!",
]
turn_texts = st.lists(
    st.one_of(st.text(max_size=80), st.builds(str.format, st.sampled_from(SAID), st.sampled_from(NAMES))), max_size=30
)


COUNT = counter().count


def page(texts: list[str], room: int = 1_000, done: tuple[int, ...] = ()) -> list[str]:
    """The quotes as a reader sees them."""
    turns = [Turn(row, text, DONE if row in done else 1.0) for row, text in enumerate(texts)]
    shown = quotes(turns, room, COUNT, 2)
    return [f"#{row} " + " … ".join(texts[row][first:end] for first, end in spans) for row, spans in shown.items()]


def keys(text: str) -> list[str]:
    """The values of a turn, if nothing is common."""
    read = chinese if any(letter >= "\u3400" for letter in text) else english
    return [value.key for value in read.values(text, lambda _: False) if value.worth]


class TestValues:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("I would like to eat at Bombay House in Sunnyvale please.", ["bombay house", "sunnyvale"]),
            ("I'm leaving Paris on Monday next week.", ["paris", "monday next week"]),
            ("Try to get it on March 2nd at 6:30 pm, please.", ["march 2nd", "6:30 pm"]),
            ("Sure, it is on the 12th of march.", ["the 12th of march"]),
            ("Their number is 707-555-0123, for $1,310 or 2 rooms.", ["707-555-0123", "1310", "2 rooms"]),
            ("So you want to go to Seattle, WA?", ["seattle, wa"]),
            ("I like The Lord of the Rings.", ["the lord of the rings"]),
            ("Write to ann@example.org or see https://example.org/a?b=1.", ["ann@example.org", "https://example.org/a?b=1"]),
            ("We need three bedrooms, not two of them.", ["three bedrooms"]),
            ("Is it called “the old mill”?", ["“the old mill”"]),
            ('BookRide({"shared": "True", "seats": 2, "to": "Pier 9"})', ['"shared": "true"', '"seats": 2', "pier 9"]),
            ("Walking is fine. Thanks so much, have a great day! May I?", []),
        ],
    )  # fmt: skip
    def test_english_values_are_known_by_their_form(self, text: str, expected: list[str]) -> None:
        """Names, moments, figures, addresses and arguments; no capital that only begins a sentence."""
        assert keys(text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("推荐您去海棠大酒店哟，很适合您呢。", ["海棠大酒店"]),
            ("附近有松鹤楼、听雨轩、北岸书店等。", ["松鹤楼", "听雨轩", "北岸书店"]),
            ("你去小吊梨汤(畅春园店)吧。", ["小吊梨汤(畅春园店)"]),
            ("电话是010-65285179。", ["电话", "010-65285179"]),
            ("想找一家4.5分以上的", ["4.5分以上"]),
            ("我最近在看《三体》。", ["三体"]),
            ("我的生日是1962年3月5日，晚上七点半见。", ["生日", "1962年3月5日", "晚上七点半"]),
            ("我们一点半出发，早一点也行。", ["一点半", "出发"]),
            ("你好！好的，谢谢您。不客气！再见！", []),
        ],
    )
    def test_chinese_values_are_what_grammar_leaves(self, text: str, expected: list[str]) -> None:
        """Names stand between words of grammar and politeness; dates, figures and titles by their form."""
        assert keys(text) == expected

    def test_what_many_turns_say_names_nothing(self) -> None:
        """The same Chinese words are a value where they are rare, and the label of one where they are common."""
        text = "景点有听雨轩"
        assert [value.key for value in chinese.values(text, lambda pair: pair == "景点")] == ["听雨轩"]
        assert [value.key for value in chinese.values(text, lambda _: False)] == ["景点有听雨轩"]


class TestQuotes:
    @given(turn_texts, st.integers(-5, 300), st.integers(0, 5), st.sampled_from([len, counter().count]))
    def test_they_stay_within_the_room(
        self, texts: list[str], room: int, extra: int, count: Callable[[str], int]
    ) -> None:
        """Handles, spans, marks and line breaks together never exceed it."""
        shown = quotes([Turn(*each) for each in enumerate(texts)], room, count, count("#000") + extra)
        lines = [f"#{row} " + " … ".join(texts[row][a:b] for a, b in spans) for row, spans in shown.items()]
        assert sum(count(line) + 1 for line in lines) <= max(0, room)

    @given(
        st.lists(st.text(alphabet="aN B12:3.&(),\"'\n\t\u2028\ud800年月日北京店(）、“”是在 @/-"), max_size=8),
        st.integers(0, 300),
    )
    def test_spans_are_in_range_ascending_disjoint_and_within_a_line(self, texts: list[str], room: int) -> None:
        """Any text at all gives spans of it that can be shown one after the other, on one line; the same ones again."""
        turns = [Turn(*each) for each in enumerate(texts)]
        shown = quotes(turns, room, len, 3)
        assert list(shown) == sorted(shown)
        assert shown == quotes(turns, room, len, 3)
        for row, spans in shown.items():
            edges = [edge for span in spans for edge in span]
            assert spans
            assert edges == sorted(edges)
            assert 0 <= edges[0] < edges[-1] <= len(texts[row])
            assert all(len(texts[row][first:end].splitlines()) == 1 for first, end in spans)

    def test_no_value_is_shown_twice(self) -> None:
        """Whoever says it, in whatever case or unit: once is enough, where the room is small."""
        texts = ["I fly to Lisbon.", "So to LISBON?", "It costs $1,310.", "That is 1310 dollars."]
        assert len(page(texts)) == 2

    def test_a_value_is_quoted_with_the_clause_around_it_where_there_is_room(self) -> None:
        """In a small room the value stands alone."""
        texts = ["Well, we will all eat at Bombay House then. I am so glad that we could settle this. See you there!"]
        assert page(texts, 8) == ["#0 Bombay House"]
        assert page(texts, 16) == ["#0 we will all eat at Bombay House then"]
        assert page(texts) == [f"#0 {texts[0]}"]

    def test_a_figure_stands_with_what_it_is(self) -> None:
        """Chinese says that before it."""
        assert page(["地址不太清楚，押金是300元。"], 11) == ["#0 押金是300元"]

    def test_mentions_that_share_a_turn_save_a_line(self) -> None:
        """A turn that confirms everything is quoted instead of the turns before it."""
        texts = ["In Santa Rosa.", "On March 2nd.", "At 4:30 pm.", "So Santa Rosa on March 2nd, at 4:30 pm?"]
        assert [line.split()[0] for line in page(texts, 22)] == ["#3"]

    def test_what_both_sides_say_comes_first(self) -> None:
        """Of two names there is room for the one that was taken up."""
        texts = ["How about Lake Merrit?", "I want to see Lake Merrit.", "How about Lake Verity?", "Is it far?"]
        assert [line.partition("Lake ")[2] for line in page(texts, 9)] == ["Merrit"]

    def test_what_a_call_did_comes_before_what_was_looked_for(self) -> None:
        """Two calls alike: the one that did something has the room."""
        texts = ['Look({"id": "AX-4711"})', 'Book({"id": "BQ-0815"})']
        assert "BQ-0815" in page(texts, 16, done=(1,))[0]
        assert "AX-4711" in page(texts, 16, done=(0,))[0]

    @pytest.mark.parametrize(
        ("texts", "old", "new"),
        [
            (["A table at 7 pm, please.", "Sure.", "Actually, make it 8 pm."], "7 pm", "8 pm"),
            (["帮我订晚上7点的位子。", "好的。", "改成晚上8点吧。"], "7点", "8点"),
        ],
    )
    def test_a_correction_replaces_what_was_said_before(self, texts: list[str], old: str, new: str) -> None:
        """The newest statement of the same thing is quoted; without the words of correction both are."""
        shown = "\n".join(page(texts))
        assert new in shown
        assert old not in shown
        kept = "\n".join(
            page([texts[0], texts[1], f"And {new} is fine too." if texts[0].isascii() else f"{new}也行。"])
        )
        assert old in kept
        assert new in kept

    def test_the_room_is_spread_over_the_conversation(self) -> None:
        """A stretch full of names leaves room for the others, though each of them is worth as much."""
        early, late = ([f"I met {a}{b}{end} there." for a in "BDFG" for b in "aeiou"] for end in ("nn", "ll"))
        quiet = ["OK."] * 180
        near, far = page([*quiet, *quiet, *early, *late], room=60), page([*early, *quiet, *quiet, *late], room=60)
        assert sum("nn" in line for line in near) < 3 <= sum("nn" in line for line in far)

    def test_a_capital_that_begins_a_sentence_is_a_name_where_another_turn_says_so(self) -> None:
        """Vancouver is one, Walking is not."""
        texts = [
            "Vancouver would make all of us cheerful.",
            "Walking would make all of us cheerful.",
            "I love Vancouver.",
        ]
        shown = page(texts)
        assert any("Vancouver" in line for line in shown)
        assert not any("Walking" in line for line in shown)

    @pytest.mark.parametrize("room", [0, -1, 3])
    def test_without_room_nothing_is_shown(self, room: int) -> None:
        """No room is no error."""
        assert page(["I want to see Lake Verity."], room) == []
        assert quotes([], room, len, 2) == {}

    def test_a_long_turn_is_read_at_its_beginning(self) -> None:
        """What is as long as a document is not taken apart to its end."""
        text = "We go to Lisbon. " + "and so on " * 1_000 + "then to Porto."
        assert quotes([Turn(0, text)], 10**6, len, 2)[0][-1] <= Quote(4_000, 10_000)
