"""What is settled before composing: limits, what is new, what is marked, and plans as notes that read back."""

import pytest

from sightline.compose import inputs, receipts
from sightline.compose.receipts import TokenFactor
from sightline.compose.render import ComposeInputs
from sightline.plan.notices import EngineNotices
from sightline.plan.view import Budget, LeftOut, complete_units, said_units
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Lod
from sightline.values.profiles import profile


@pytest.fixture
def session() -> Session:
    return Session(MemoryStore("d"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{n}" for n in range(count))


def test_until_usage_is_known_a_margin_is_kept_where_the_vocabulary_is_not_public() -> None:
    """Five per cent for a provider that publishes none, nothing for one that does, nothing once usage was reported."""
    budget = Budget(1_050)
    assert TokenFactor().limit(budget, profile("anthropic")) == 1_000
    assert TokenFactor().limit(budget, profile("openai")) == 1_050
    assert TokenFactor(1.0, known=True).limit(budget, profile("anthropic")) == 1_050
    assert TokenFactor(1.05, known=True).limit(budget, profile("anthropic")) == 1_000


def test_fixed_tokens_are_head_tools_windows_and_request(session: Session) -> None:
    """What stands in every payload whatever the plan."""
    session.system("be kind to everybody")
    journal = session.log
    around = ComposeInputs(system=(0,))
    assert inputs.fixed_tokens(journal, around, 100, session.count) == 3 + (4 + 4) + 100


def test_new_units_are_those_of_the_body_since_a_row(session: Session) -> None:
    """Not the head, not windows, not what was known before; a unit whose calls wait is not complete."""
    session.system("be kind")
    session.user("hello")
    session.windows.show("w")
    session.assistant([Call("a", "read", {})])
    journal = session.log
    assert said_units(journal.timeline, journal.path, 0) == [1, 3]
    assert complete_units(journal.timeline, journal.path) == [1]
    session.tool_result("a", "x")
    assert complete_units(journal.timeline, journal.path) == [1, 3]
    assert said_units(journal.timeline, journal.path, 2) == [3]
    assert said_units(journal.timeline, journal.path, 0, 2) == [1]


def test_a_window_stands_at_its_last_reference_or_at_each(session: Session) -> None:
    """At the tail once, in place wherever it was referred to."""
    session.windows.show("w")
    session.user("hello")
    session.windows.show("w")
    journal = session.log
    assert inputs.window_rows(journal, {"w"}, "tail", 3) == (2,)
    assert inputs.window_rows(journal, {"w"}, "place", 3) == (0, 2)
    assert inputs.window_rows(journal, {"w"}, "place", 2) == (0,)


def test_the_last_mark_of_an_item_counts(session: Session) -> None:
    """A pin that was taken back is none; what is collapsed is wanted as its gist."""
    ids = [session.user(f"message {n}") for n in range(4)]
    session.items.pin(ids[0])
    session.items.pin(ids[1])
    session.items.unpin(ids[1])
    session.items.collapse(ids[2])
    session.items.expand(ids[3], now=True)
    marks = inputs.read_marks(session.log.timeline, session.log.path)
    assert marks.pinned == {0}
    assert marks.wanted == {0: Lod.FULL, 2: Lod.GIST, 3: Lod.FULL}


def test_the_line_for_what_is_left_out_names_handles(session: Session) -> None:
    """If the model has a tool for them. Its tokens count with framing."""
    for n in range(3):
        session.user(f"message {n}")
    bare, _ = EngineNotices(session.log, 1000).marker(LeftOut(2, 1_234, 0, 1))
    assert bare == "[left out here: 2 earlier messages, 1,234 tokens; kept in the log]"
    session.tools([])
    text, tokens = EngineNotices(session.log, 1000).marker(LeftOut(2, 1_234, 0, 1))
    assert text.startswith("[left out here: 2 earlier messages, #2 to #3, 1,234 tokens;")
    assert tokens == len(text.split()) + 4


def test_the_newest_user_message_and_the_newest_one_searched_for(session: Session) -> None:
    """A message is searched for once: known to a payload, or followed by what was recalled for it."""
    journal = session.log
    session.user("one")
    session.compose(Budget(1_000))
    session.assistant("yes")
    session.user("two")
    receipt = session.receipt
    rows = len(journal.timeline)
    assert journal.timeline.last_user(journal.path, rows) == 2
    assert inputs.last_searched_question(journal.timeline, journal.path, receipt) == 0
    session.items.recall("one")
    assert inputs.last_searched_question(journal.timeline, journal.path, receipt) == 2
    assert inputs.last_searched_question(journal.timeline, journal.path, None) == 2


def test_what_a_reply_reported_is_found_again(session: Session) -> None:
    """Only a reply to the payload itself says how it was counted."""
    session.user("one " * 2_000)
    payload = session.compose(Budget(10_000))
    sent = receipts.last_sent(session.log)
    assert sent is not None
    assert receipts.reported(session.log, sent) is None
    usage = {"prompt_tokens": 3 * payload.tokens, "completion_tokens": 1}
    session.reply({"choices": [{"message": {"role": "assistant", "content": "yes"}}], "usage": usage})
    reported = receipts.reported(session.log, sent)
    assert reported is not None
    assert receipts.reported_factor(reported.input_tokens, payload.tokens, session.log.reader.profile) == 3.0


@pytest.mark.slow
def test_a_plan_reads_back_from_its_receipts(session: Session) -> None:
    """From the last whole plan and what was added since: the same units, levels, tokens and line."""
    session.user("look")
    for n in range(30):
        session.assistant([Call(f"c{n}", "read", {"path": f"f{n}"})])
        session.tool_result(f"c{n}", words(400, f"r{n}x"))
        payload = session.compose(Budget(3_000, recall=0.0))
        again = Session(session.log.store, token_counter=WordCounter(), clock=Ticking())
        again._composer._restore(Budget(3_000, recall=0.0))
        restored = again._composer.payload
        assert restored is not None
        assert list(restored.plan) == list(payload.plan)
        assert restored.plan.body == payload.plan.body
        assert restored.plan.marker == payload.plan.marker
        assert restored.plan.left_out == payload.plan.left_out
        assert restored.hash == payload.hash


def test_receipts_grow_with_what_changed_not_with_the_history(session: Session) -> None:
    """Between sweeps a receipt holds no plan; a whole one is written at a sweep, as runs of what is out."""
    whole = []
    for n in range(40):
        session.user("go on")
        session.assistant([Call(f"c{n}", "read", {"path": f"f{n}"})])
        session.tool_result(f"c{n}", words(150, f"r{n}x"))
        session.compose(Budget(2_000, recall=0.0))
        receipt = session.receipt
        assert receipt is not None
        whole.append(receipt.plan is not None)
        assert (receipt.plan is not None) == (receipt.reason != "" or n == 0)
    assert 1 < sum(whole) <= len(whole) / 3


def test_a_shortened_text_is_logged_when_it_is_first_sent(session: Session) -> None:
    """Once; from then on it is read back."""
    session.user("look")
    session.assistant([Call("a", "run", {"command": "make"})])
    session.tool_result("a", words(3_000))
    reader = session.log.reader
    assert reader.logged(3, Lod.SUMMARY) is None
    session.compose(Budget(5_000))
    assert reader.logged(3, Lod.SUMMARY) is not None
    lines = [line.data for line in session.log.store.scan()]
    session.user("more")
    session.compose(Budget(5_000))
    fresh = [line.data for line in session.log.store.scan()][len(lines) :]
    assert not any(b'"rendition"' in line for line in fresh)
