"""Which request a digest calls the current one: the user's last, and no other."""

import pytest
from compaction_talk import ROOM, new_session, talk

LABELS = ("Current request:", "当前请求：", "当前请求:")


def is_called_current(summary: str) -> bool:
    """Whether a digest calls any request the current one."""
    return any(label in summary for label in LABELS)


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_a_request_before_the_last_is_not_the_current_one(locale: str) -> None:
    """The user's last questions are still shown in full after the digest: those are current, not what it quotes."""
    session = new_session()
    session.configure(locale=locale)
    talk(session, 10)
    assert not is_called_current(session.summaries.compact(ROOM).summary)
    talk(session, 6, first=10)
    assert not is_called_current(session.summaries.compact(ROOM).summary)  # nor one that the digest before quoted


@pytest.mark.parametrize("later", ["", "Thanks!"])
def test_the_last_request_is_the_current_one(later: str) -> None:
    """It stays so while the assistant works, and if the user only says thanks."""
    session = new_session()
    ids = talk(session, 10)
    for number in range(6):
        session.assistant(f"part {number} of the answer is done")
    if later:
        session.user(later)
    summary = session.summaries.cover(ids[0], ids[-1], budget=ROOM).summary
    assert "- Current request: question 9:" in summary


def test_what_a_program_says_later_is_no_request() -> None:
    """Only the user's own words are."""
    session = new_session()
    ids = talk(session, 10)
    session.note("The build has finished.")
    assert "- Current request: question 9:" in session.summaries.cover(ids[0], ids[-1], budget=ROOM).summary
