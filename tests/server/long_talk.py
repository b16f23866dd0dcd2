"""Sessions that want a summary, and what their logs have of it."""

from typing import Any

from sightline.plan.view import Budget
from sightline.session.session import Session

SUMMARY = "The user asked twenty questions about quays, and each was answered with numbers that are in the log."


def begin_long(name: str, **where: Any) -> None:
    """Begin a session that is just long enough that its strategy wants a summary of its oldest part."""
    with Session.new(session_id=name, **where) as session:
        for number in range(20):
            session.user(f"question {number}: " + " ".join(f"q{number}x{each}" for each in range(30)))
            session.assistant(f"answer {number}: " + " ".join(f"a{number}x{each}" for each in range(30)))
        session.user("And now?")
        tokens = session.compose(Budget(1_000_000)).tokens
        session.compose(Budget(int(tokens / 0.75), output=0, recall=0.0))
        assert session.summaries.wanted


def summaries_of(name: str, **where: Any) -> list[str]:
    """The summaries in a log, in the order in which they were written."""
    with Session.inspect(name, **where) as session:
        return [session.items.text(str(seq)) for each in session.summaries for seq in each.summaries]
