"""Parts (a), (c), (d) and (e) on made-up records, and the halves."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality.baseline_gists import GISTS, bm25_scores
from benchmarks.quality.baselines import full, last_n, sliding
from benchmarks.quality.compactions import SUMMARY, carried, measure_compactions
from benchmarks.quality.engine import Engine, Plain, is_question
from benchmarks.quality.evidence import ORACLE, measure_evidence
from benchmarks.quality.gists import measure_gists, rouge
from benchmarks.quality.jobs import Asked, composers
from benchmarks.quality.messages import Message
from benchmarks.quality.paraphrases import CHINESE, ENGLISH
from benchmarks.quality.records import Compaction, Conversation, Dialogue, Question, SlotSession, Topic
from benchmarks.quality.slots import measure_slots
from benchmarks.quality.splits import HALVES, chained, digest, divided, halves, ranked
from benchmarks.quality.text_match import Matcher, answered
from hypothesis import given
from hypothesis import strategies as st
from quality_talk import REPLY, SYSTEM, USER, call, tool

from sightline import Session

FILLER = [{"role": "user", "content": f"Nothing of note happened on day {day}, it rained."} for day in range(200)]
GOLD = "I adopted a small grey cat named Oscar last Tuesday."


def rows_of(rows: list[dict[str, Any]]) -> dict[tuple[str, Any], dict[str, Any]]:
    """By composer and budget."""
    return {(row["composer"], row["budget"]): row for row in rows}


def test_matching_knows_verbatim_from_alike() -> None:
    """Space and case do not matter; some of the words earn some of the credit, in one line."""
    match = Matcher(GOLD)
    assert match(["blah", "x: I adopted a small  grey cat named oscar last Tuesday. yes"]) == (1.0, True)
    share, verbatim = match(["adopted grey cat Oscar Tuesday"])
    assert not verbatim
    assert 0.6 < share < 1
    assert match(["nothing here"]) == (0, False)


def test_answers_are_words_of_their_own() -> None:
    """An answer of several parts needs all of them; part of a word is no answer."""
    question = Question("1", "?", [], ["Oscar, Rome"], "", [])
    assert answered(question, "oscar went to rome")
    assert not answered(question, "oscar went to romero")


@pytest.mark.slow
def test_evidence_is_found_by_who_looks_for_it() -> None:
    """The full history and the oracle show the gold turn and its date; a window of the newest turns does not."""
    said = [SYSTEM, {"role": "user", "content": f"[3 May] {GOLD}"}, *FILLER]
    asked = Question("q", "What is the name of the cat?", [GOLD], ["Oscar"], "one", ["3 May"])
    chats = [Conversation("c", said, [asked])]
    rows = rows_of(measure_evidence("made up", chats, {"full": full, "sliding": sliding, "us": Engine}, (600,), 5))
    for key, shown in ((("full", None), 1), (("sliding", 600), 0), (("us", 600), 1)):
        row = rows[key]
        assert (row["all_evidence"], row["answer"], row["n"]) == (shown, shown, 1)
        assert row["by_category"] == {"one": shown}
    assert rows["full", None]["dated"] == 1
    assert rows[ORACLE, 600]["all_evidence"] == 1
    assert rows["us", 600]["invalid"] == 0


@pytest.mark.slow
def test_a_question_is_composed_for_with_and_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same history, once with `ask=True` and once plain; nothing else differs, and (b) knows one of the two."""
    made: list[bool] = []
    compose = Session.compose
    monkeypatch.setattr(
        Session, "compose", lambda self, budget, *, ask: (made.append(ask), compose(self, budget, ask=ask))[1]
    )
    for composer in (Engine, Plain):
        composer().compose([SYSTEM, *FILLER, USER], "do it", 900)
    assert made == [True, False]
    ours = ("a=benchmarks.quality.engine:Engine", "b=benchmarks.quality.engine:Plain")
    asked = Asked(Path(), composers=ours, baselines=False)
    assert [list(composers(asked, part)) for part in "abce"] == [["a", "b"], ["full", "a"], ["a", "b"], ["a"]]


def test_a_question_is_no_agents_run() -> None:
    """Only a talk that ends with a user's message after an earlier turn is asked about: no run with more calls."""
    assert is_question([SYSTEM, USER, REPLY, USER])
    assert not is_question([SYSTEM, USER])
    assert is_question([SYSTEM, USER, call("1"), tool("1"), USER])
    assert not is_question([SYSTEM, USER, call("1"), tool("1"), call("2"), tool("2"), call("3"), tool("3"), USER])
    assert not is_question([SYSTEM, USER, REPLY])


def test_only_what_is_not_shown_in_full_has_a_handle() -> None:
    """A number sign that somebody wrote leads nowhere; what was left out or shortened is led to."""
    notes = [{"role": "user", "content": f"See #{number}."} for number in range(9)]
    whole = [SYSTEM, USER, call("1"), tool("1"), *notes, REPLY]
    assert Engine().compose([*whole, USER], "", 10**6)[1] == {}
    engine, long = Engine(), [SYSTEM, USER, call("1"), tool("1", "word " * 4000), *notes, REPLY, USER]
    engine.compose(long[:2], "", 1000)
    handles = engine.compose(long, "", 1000)[1]
    assert [3] in handles.values()
    assert all(at <= [3] for at in handles.values())


@pytest.mark.parametrize(("told", "shown"), [("Nothing.", 0), (GOLD, 1)])
def test_the_words_of_a_question_are_no_evidence_in_one_message_with_what_is_recalled(told: str, shown: int) -> None:
    """The question holds the evidence, its date, the answer and the value: only what stands before it counts."""
    query = f"[3 May] {GOLD} Is it Oscar?"

    def recalls(history: list[Message], _: str, budget: int) -> tuple[list[Message], dict[str, list[int]]]:
        parts = [f"[3 May] {told}\n", query] if shown else [f"{told}\n", query]
        return [SYSTEM, {"role": "user", "content": [{"type": "text", "text": part} for part in parts]}], {}

    asked = Question("q", query, [GOLD], ["Oscar"], "one", ["3 May"])
    chat = Conversation("c", [SYSTEM, {"role": "user", "content": f"[3 May] {GOLD}"}, *FILLER], [asked])
    row = rows_of(measure_evidence("made up", [chat], {"recalls": recalls}, (600,), 5))["recalls", 600]
    assert (row["all_evidence"], row["soft_frac"], row["answer"], row["dated"]) == (shown,) * 4
    session = SlotSession("s", chat.messages, [Topic(query, [["grey cat"]])])
    row = rows_of(measure_slots("made up", [session], {"recalls": recalls}, (600,), 5))["recalls", 600]
    assert row["topic_slots"] == shown


def test_slots_count_the_whole_session_and_topics_apart() -> None:
    """One question for everything and one for each topic; the question's own words are no evidence."""
    said = [SYSTEM, {"role": "user", "content": "Book Bombay House at 6:30 pm."}, *FILLER[:60]]
    session = SlotSession(
        "s0", said, [Topic("Which restaurant was it, Bombay House?", [["Bombay House"], ["6:30 pm"]])]
    )
    rows = rows_of(measure_slots("made up", [session], {"full": full, "last": last_n}, (4000,), 5))
    assert rows["full", None]["session_slots"] == rows["full", None]["topic_complete"] == 1
    assert rows["last", 4000]["session_slots"] == rows["last", 4000]["topic_slots"] == 0


def test_everything_is_asked_for_in_many_wordings() -> None:
    """Four sessions hear twenty wordings; a composer that follows only one of them has the worst of the others."""
    said = [SYSTEM, {"role": "user", "content": "Book Bombay House at 6:30 pm."}, REPLY]
    topic = Topic("Which restaurant?", [["Bombay House"]])
    heard = []

    def picky(history: list[Message], query: str, _budget: int) -> list[Message]:
        heard.append(query)
        return history if query in (ENGLISH[0], topic.query) else history[-1:]

    sessions = [SlotSession(f"s{number}", said, [topic]) for number in range(4)]
    row = rows_of(measure_slots("made up", sessions, {"picky": picky}, (4000,), 4, halves=("dev",)))["picky", 4000]
    asked = [query for query in heard if query != topic.query]
    assert len(asked) == 5 * row["n"]
    assert row["session_worst"] == 0 < row["session_slots"] == 1 / len(asked)
    assert len(set(ENGLISH)) == len(set(CHINESE)) == 20


def test_gists_are_held_against_the_best_summary() -> None:
    """Equal words give recall and precision 1; a gist keeps to its size."""
    assert rouge("the cat sat", "the cat sat", 2) == (1, 1)
    assert rouge("the cat", "a dog", 1) == (0, 0)
    dialogues = [Dialogue("d", "A: the cat sat\nB: yes\nA: a long line about the weather", ["nothing", "the cat sat"])]
    for row in measure_gists("made up", dialogues, GISTS, (8,), 5):
        assert row["over"] == 0
        assert row["n"] == 1
    lead = rows_of(measure_gists("made up", dialogues, GISTS, (8,), 5))["lead", 8]
    assert lead["rouge1_recall"] == 1


def test_a_compaction_is_judged_by_what_the_agent_used_afterwards() -> None:
    """Values seen only before count, once; the full history has them all."""
    keys = [f"KEY_47{number}" for number in range(10, 15)]
    before = [USER, call("1"), tool("1", " ".join(keys)), *FILLER[:30]]
    after = [
        USER,
        call("2", json.dumps(keys[:2])),
        tool("2", "fine"),
        call("3", json.dumps(keys[:3])),
        tool("3", "fine"),
    ]
    event = Compaction("e", "s", before, f"It was about {keys[0]}.", after)
    assert carried(event) == keys[:3]
    rows = rows_of(measure_compactions("made up", [event], {"full": full, "sliding": sliding}, (500,), 5))
    assert rows["full", None]["carried"] == 1
    assert rows[SUMMARY, "same"]["carried"] == pytest.approx(1 / 3)
    assert rows["sliding", "same"]["carried"] == 0
    assert rows["sliding", "same"]["tokens"] <= rows[SUMMARY, "same"]["tokens"]


def test_rare_words_decide_a_search() -> None:
    """The text with the rarer of two words is the better match; a text without any has no score."""
    scores = bm25_scores(["the cat", "the dog", "the the", "nothing"], "the cat")
    assert scores[0] > scores[1] > scores[3] == 0


# ------------------------------------------------------------------ the halves


@given(st.sets(st.text(max_size=5), min_size=1, max_size=50))
def test_the_rule_does_not_depend_on_the_order(ids: set[str]) -> None:
    """Every id is in one half, the first of which is as large as the second or larger by one."""
    half = ranked("x", ids)
    assert half == ranked("x", sorted(ids, reverse=True)) == halves("x", ids)
    counts = [list(half.values()).count(name) for name in HALVES]
    assert counts[0] - counts[1] in (0, 1)


def test_known_halves_do_not_depend_on_the_other_half() -> None:
    """An id of a known dataset stays where it is, whichever others are there."""
    ids = [str(number) for number in range(40)]
    together = halves("tau_bench", ids)
    assert set(together.values()) == set(HALVES)
    assert all(halves("tau_bench", [each])[each] == half for each, half in together.items())
    assert halves("claude_code", ["no such session"]) == {"no such session": None}


def test_wanted_halves_alone_are_given() -> None:
    """Asked for one half, one gets that; a half without records is left out."""
    ids = [str(number) for number in range(9)]
    (only,) = divided("x", ids, str, ("heldout",))
    assert only[0] == "heldout"
    assert len(only[1]) == 4
    assert divided("x", ids[:1], str, ("heldout",)) == []


def test_dialogues_are_put_in_sequence_by_their_digests() -> None:
    """Sessions of equal size, in a fixed order; what is left over makes none."""
    dialogues = [(str(number), number) for number in range(7)]
    sessions = list(chained("x", dialogues, 3))
    assert [offset for offset, _ in sessions] == [0, 3]
    names = [name for _, part in sessions for name, _ in part]
    assert names == sorted((name for name, _ in dialogues), key=digest)[:6]
