"""Parts (f) and (g): made-up talks with twenty constraints, and what is taken for one."""

from pathlib import Path

import pytest
from benchmarks.quality.__main__ import main
from benchmarks.quality.baselines import full, sliding
from benchmarks.quality.constraint_histories import LAID, TOKENS, Laid, talks
from benchmarks.quality.constraints import (
    FINDERS,
    Sentence,
    cue_words,
    measure_finding,
    measure_windows,
    sightline,
    work_talk,
)
from benchmarks.quality.engine import Compacted, Engine, Plain
from benchmarks.quality.jobs import Asked, chosen
from benchmarks.quality.messages import count_messages
from benchmarks.quality.records import Conversation
from benchmarks.quality.splits import HALVES
from quality_talk import SYSTEM


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_talk_lays_down_twenty_things_each_once(language: str) -> None:
    """About 2,000 tokens, the same every time. Nothing is readable where its own message is missing."""
    found = talks(language)
    assert found == talks(language)
    assert len({talk.messages[1]["content"] for talk in found}) == len(found)
    for talk in found:
        assert len({laid.text for laid in talk.laid}) == LAID
        assert TOKENS <= count_messages(talk.messages) < 1.1 * TOKENS
        for laid in talk.laid:
            said = [message["content"] for message in talk.messages if laid.text in message["content"]]
            others = [message["content"] for message in talk.messages if laid.text not in message["content"]]
            assert len(said) == 1
            assert laid.readable("\n".join(said))
            assert not laid.readable("\n".join(others))


def test_readable_means_numbers_names_and_negation_in_one_line() -> None:
    """However short; but not without one of them, and not scattered over lines."""
    laid = Laid("Do not email Brandt before 9.", (("NOT",), ("Brandt", "brandt@"), ("9",)))
    assert laid.readable("x\n[#7] never email brandt before 9, ok")
    assert laid.readable("别在 9 点前给 Brandt 发邮件")
    assert not laid.readable("email Brandt before 9")
    assert not laid.readable("do not email Brandt")
    assert not laid.readable("do not\nemail Brandt before 9")


def test_small_windows_lose_what_is_not_kept() -> None:
    """The full history shows all; a window of the newest messages only what was said last; ours keep to the budget."""
    composers = {"full": full, "sliding": sliding, "plain": Plain, "compact": Compacted}
    rows = measure_windows("made up", talks("en"), composers, (400,), 1)
    by = {row["composer"]: row for row in rows}
    assert by["full"]["readable"] == by["full"]["worst"] == 1
    assert by["sliding"]["readable"] < 0.3
    assert all(by[name]["invalid"] == 0 and by[name]["tokens"] <= 400 for name in ("plain", "compact"))


@pytest.mark.parametrize(("composer", "compactions"), [(Plain, 0), (Compacted, 1)])
def test_only_one_of_ours_compacts(composer: type[Engine], compactions: int) -> None:
    """The same talk, composed as it is and after `compact()`."""
    (talk, *_), it = talks("en"), composer()
    it.compose([*talk.messages, {"role": "user", "content": talk.query}], talk.query, 600)
    assert len(list(it.session.summaries)) == compactions


def test_sentences_are_judged_one_by_one() -> None:
    """Precision is the share of what was found that is right, recall the share of what is right that was found."""
    told = [Sentence("You must.", True), Sentence("Tabs it is.", True), Sentence("It must rain.", False)]
    (row,) = measure_finding("work_talk", told, {"it": cue_words}, (), 0)
    assert (row["precision"], row["recall"], row["n"]) == (0.5, 0.5, 3)
    assert row["wrong"] == ["Tabs it is.", "It must rain."]


def test_what_friends_say_is_counted_per_hundred_messages() -> None:
    """By half, the system text aside; a finder that finds nothing has none."""
    said = [SYSTEM, *({"role": "user", "content": f"You must see it, {number}!"} for number in range(4))]
    chats = [Conversation("conv-26", said, [])]
    rows = measure_finding("friends", chats, {"it": cue_words, "none": lambda texts: [[] for _ in texts]}, (), 0)
    assert [(row["per_hundred"], row["n"], row["half"] in HALVES) for row in rows] == [(100, 4, True), (0, 4, True)]


def test_ours_are_found_through_a_session() -> None:
    """Each with the message it is in."""
    assert sightline(["Hello.", "Never touch the migrations folder.", "Thanks."]) == [
        [],
        ["Never touch the migrations folder."],
        [],
    ]
    assert FINDERS["sightline"] is sightline


def test_the_list_of_work_talk_has_as_many_of_both() -> None:
    """At least a hundred sentences in two languages, none of them twice."""
    told = work_talk(Path())
    assert len({each.text for each in told}) == len(told) >= 100
    assert sum(each.lays_down for each in told) * 2 == len(told)
    assert sum(not each.text.isascii() for each in told) > 40


def test_what_is_made_up_needs_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for alone it is measured; asked for with recorded data that are missing, it is not all there is."""
    main(["--data", str(tmp_path), "--dataset", "work_talk", "--jobs", "1"])
    assert "precision" in capsys.readouterr().out
    assert chosen(Asked(tmp_path), ("f", "g"), ())[0] == []
