"""`session.items.tokens()`: what everything would take in full."""

from sightline import Budget, MemoryStore, Session


def test_the_tokens_of_everything_are_those_of_a_payload_that_shows_everything() -> None:
    """Also after more was said, after the system prompt was replaced, and on a branch."""
    session = Session(MemoryStore("s"))
    session.system("Be brief.")
    session.tools([{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}])
    first = session.user("What is in a.py, and why?")
    budget = Budget(1_000_000)
    assert session.items.tokens() == session.preview(budget).tokens
    session.reply("It says hello.")
    session.system("Be long and friendly.", replace=True)
    session.user("Thanks.")
    assert session.items.tokens() == session.preview(budget).tokens
    branch = session.fork(first)
    assert branch.items.tokens() == branch.preview(budget).tokens < session.items.tokens()
