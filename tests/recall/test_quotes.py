"""What a conversation has settled, as short quotes of its turns."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.recall.quotes import Quote, ledger, quotes
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


def said(text: str, spans: list[Quote]) -> list[str]:
    """The quoted pieces of a turn."""
    return [text[first:end] for first, end in spans]


def lines(turns: dict[int, str], shown: list[tuple[int, list[Quote]]]) -> list[str]:
    """The ledger as a reader sees it."""
    return [f"#{row} " + " … ".join(said(turns[row], spans)) for row, spans in shown]


def newest_first(texts: list[str]) -> list[tuple[int, str]]:
    """The turns as the ledger wants them."""
    return list(enumerate(texts))[::-1]


class TestQuotes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("I would like to eat at Bombay House in Sunnyvale please.", "like to eat at Bombay House in Sunnyvale"),
            ("I'm leaving Paris for San Francisco on Monday next week.", "Paris for San Francisco on Monday next week"),
            ("Try to get it on March 2nd at 6:30 pm, please.", "on March 2nd at 6:30 pm"),
            ("Sure, it is on the 12th of march.", "on the 12th of march"),
            ("Their phone number is 707-555-0123.", "phone number is 707-555-0123"),
            ("So you want to go to Seattle, WA?", "to Seattle, WA"),
            ("I like The Lord of the Rings.", "The Lord of the Rings"),
            ("Please write to ann@example.org or see https://example.org/a?b=1.", "ann@example.org"),
            ("I need an economy seat.", "need an economy seat"),
            ("Phoenix.", "Phoenix"),
            ('BookRide {"shared_ride": "True", "seats": 2}', 'BookRide {"shared_ride": "True", "seats": 2'),
        ],
    )
    def test_english_values_stand_with_the_words_that_lead_to_them(self, text: str, expected: str) -> None:
        """Names, moments, figures and addresses are quoted with preposition, unit or label."""
        assert expected in said(text, quotes(text))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("为您推荐北京京仪大酒店哟，很适合聚会呢。", "北京京仪大酒店"),
            ("周边景点有清华大学、北京大学、北京海洋馆等。", "清华大学、北京大学、北京海洋馆"),
            ("你去小吊梨汤(畅春园店)尝尝吧。", "小吊梨汤(畅春园店)"),
            ("请帮我找一个门票免费的景点。", "门票免费"),
            (
                "营业时间周二至周日 10:30-15:30；电话是010-65285179。",
                "营业时间周二至周日 10:30-15:30；电话是010-65285179",
            ),
            ("想找一家评分是4.5分以上的餐馆", "评分是4.5分以上"),
            ("我最近在看《三体》。", "《三体》"),
            ("我妹妹叫林小雨，在杭州上班。", "妹妹叫林小雨，在杭州上班"),
            ("我爸爸的生日是1962年3月5日。", "爸爸的生日是1962年3月5日"),
            ("帮我订 Hilton Garden Inn 的房间，3月5日入住。", "Hilton Garden Inn 的房间，3月5日"),
        ],
    )
    def test_chinese_values_stand_with_their_labels(self, text: str, expected: str) -> None:
        """Names, dates, figures and what is told about people are quoted without the politeness around them."""
        assert expected in said(text, quotes(text))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "Thanks so much, have a great day!",
            "Yes, please do it.",
            "No, that's all I need for now. Goodbye!",
            "你好！",
            "好的，谢谢您。",
            "不客气！祝您生活愉快！再见！",
            "没问题，很高兴能帮到你。",
        ],
    )
    def test_small_talk_has_none(self, text: str) -> None:
        """Thanks, consent and good wishes state nothing."""
        assert quotes(text) == []

    def test_an_english_turn_may_name_something_in_chinese(self) -> None:
        """Such a name is quoted like any other."""
        text = "The palace is called 故宫 over there."
        assert "故宫" in " ".join(said(text, quotes(text)))

    @given(st.one_of(st.text(), st.text(alphabet="aN B12:3.&(),\"'\n\t年月日北京店(）、“”是在 @/-")))
    def test_spans_are_in_range_ascending_disjoint_and_within_a_line(self, text: str) -> None:
        """Any text at all gives spans of it that can be shown one after the other, on one line."""
        at = 0
        for first, end in quotes(text):
            assert at <= first < end <= len(text)
            assert len(text[first:end].splitlines()) == 1
            at = end

    def test_a_long_turn_is_read_at_its_beginning(self) -> None:
        """What is as long as a document is not taken apart to its end."""
        assert quotes("I want to go to Lisbon. " + "and so on " * 100_000 + "then to Porto.")[-1].end < 10_000


class TestLedger:
    @given(turn_texts, st.integers(-5, 300), st.integers(0, 5), st.sampled_from([len, counter().count]))
    def test_it_stays_within_the_room(
        self, texts: list[str], room: int, extra: int, count: Callable[[str], int]
    ) -> None:
        """Handles, spans, marks and line breaks together never exceed it."""
        shown = ledger(newest_first(texts), room, count, count("#000") + extra)
        assert sum(count(line) + 1 for line in lines(dict(enumerate(texts)), shown)) <= max(0, room)

    @given(turn_texts, st.integers(0, 300))
    def test_rows_ascend_and_spans_are_those_of_their_turns(self, texts: list[str], room: int) -> None:
        """Each row comes once, in order, with spans in range, ascending and disjoint."""
        shown = ledger(newest_first(texts), room, len, 3)
        assert [row for row, _ in shown] == sorted({row for row, _ in shown})
        for row, spans in shown:
            assert spans
            edges = [edge for span in spans for edge in span]
            assert edges == sorted(edges)
            assert edges[0] >= 0
            assert edges[-1] <= len(texts[row])

    @given(turn_texts, st.integers(0, 300))
    def test_it_is_the_same_again(self, texts: list[str], room: int) -> None:
        """The same turns and room give the same spans."""
        turns = newest_first(texts)
        assert ledger(turns, room, len, 3) == ledger(iter(turns), room, len, 3)

    @given(st.lists(st.tuples(st.sampled_from(SAID[:4]), st.sampled_from(NAMES[:7])), max_size=20))
    def test_no_value_is_shown_twice(self, turns: list[tuple[str, str]]) -> None:
        """Whoever says it, however often, in whatever case: once is enough."""
        texts = [form.format(name.upper() if i % 3 == 2 else name) for i, (form, name) in enumerate(turns)]
        page = "\n".join(lines(dict(enumerate(texts)), ledger(newest_first(texts), 10_000, len, 3))).lower()
        for name in {name for _, name in turns}:
            assert page.count(name.lower()) == 1

    def test_a_line_can_be_understood(self) -> None:
        """What was settled is read from one line, the small talk around it is gone."""
        texts = [
            "Hi, could you help me?",
            "Sure, thanks for asking!",
            "I want to eat at Bombay House in Sunnyvale.",
            "Great.",
        ]
        shown = ledger(newest_first(texts), 40, len, 3)
        assert lines(dict(enumerate(texts)), shown) == ["#2 eat at Bombay House in Sunnyvale"]

    def test_what_both_sides_say_comes_first(self) -> None:
        """Of two names there is room for the one that was taken up."""
        texts = ["How about Lake Verity?", "How about Lake Merrit?", "I want to see Lake Merrit.", "Is it far?"]
        page = lines(dict(enumerate(texts)), ledger(newest_first(texts), 18, len, 2))
        assert len(page) == 1
        assert page[0].endswith("Lake Merrit")

    def test_words_nothing_points_at_are_not_shown(self) -> None:
        """A long story without names, moments or wishes gives no bag of words."""
        texts = ["Well, everything felt peaceful and precious, we laughed together, learning and growing as people do."]
        assert ledger(newest_first(texts), 500, len, 2) == []

    def test_a_capital_that_begins_a_sentence_is_a_name_where_another_turn_says_so(self) -> None:
        """Vancouver is one, Walking is not."""
        texts = [
            "Vancouver would certainly make everybody in our group more cheerful and relaxed, no question about it.",
            "Walking would certainly make everybody more cheerful and relaxed, no question about it whatsoever.",
            "We both love Vancouver.",
        ]
        page = "\n".join(lines(dict(enumerate(texts)), ledger(newest_first(texts), 500, len, 2)))
        assert page.count("Vancouver") == 1
        assert "Walking" not in page

    def test_mentions_that_share_a_turn_save_a_line(self) -> None:
        """A turn that confirms everything is quoted instead of the turns before it."""
        texts = ["In Santa Rosa.", "On March 2nd.", "At 4:30 pm.", "So Santa Rosa on March 2nd at 4:30 pm?"]
        assert [row for row, _ in ledger(newest_first(texts), 10_000, len, 3)] == [3]

    def test_labels_are_shown_where_there_is_room(self) -> None:
        """A figure that speaks for itself gets its label last."""
        texts = ["电话是010-65285179。"]
        assert lines({0: texts[0]}, ledger(newest_first(texts), 100, len, 2)) == ["#0 电话是010-65285179"]
        assert lines({0: texts[0]}, ledger(newest_first(texts), 17, len, 2)) == ["#0 010-65285179"]

    def test_the_history_is_read_as_far_as_the_room_reaches(self) -> None:
        """Turns too old for the room are not even looked at."""
        history = iter([(row, f"I want to visit Place{row} Hill today.") for row in range(9_999, 0, -1)])
        shown = ledger(history, 500, counter().count, 2)
        assert len(list(history)) > 9_000
        assert shown[-1][0] > 9_900

    @pytest.mark.parametrize("room", [0, -1, 3])
    def test_without_room_nothing_is_shown(self, room: int) -> None:
        """No room is no error."""
        assert ledger([(0, "I want to see Lake Verity.")], room, len, 2) == []

    @given(st.lists(st.text(alphabet="\ud800\udfff北a \u2028N1:", max_size=12), max_size=6))
    def test_text_is_only_text(self, texts: list[str]) -> None:
        """Half characters, separators and marks of our own are quoted or not; they break nothing."""
        for row, spans in ledger(newest_first([*texts, "a … b … #3 C … D"]), 500, len, 2):
            assert spans
            assert row <= len(texts)
