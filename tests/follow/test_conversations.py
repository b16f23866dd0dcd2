"""Conversations find their sessions by name: each its own, opened when needed."""

from pathlib import Path
from typing import Any

import pytest

from sightline.errors import BadInput
from sightline.follow.conversations import Conversations, id_of
from sightline.log.stores.memory import MemoryStores
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import plain_text
from sightline.values.settings import Settings

HELLO = [{"role": "user", "content": "hello"}]


def texts(session: Session) -> list[str]:
    return [plain_text(item.parts) for item in session.items]


def test_a_name_that_no_session_may_have_is_a_digest() -> None:
    """Others are the id themselves; two names never share one."""
    assert id_of("thread-1") == "thread-1"
    assert id_of("a/b").startswith("conversation-")
    assert len({id_of(name) for name in ("a/b", "a b", "..", "", "x" * 500, "\ud800")}) == 6


def test_those_not_used_for_long_are_closed_and_opened_again(tmp_path: Path) -> None:
    """However many there are, only so many files are open, and each goes on where it was."""
    conversations = Conversations(tmp_path, settings=Settings(locale="zh"), most_open=2)
    sessions = []
    for name in ("a", "b", "c", "a"):
        with conversations.use(name) as history:
            sessions.append(history.follow(HELLO))
    assert sessions[0] is not sessions[3]
    assert texts(sessions[3]) == ["hello"]
    assert sessions[3].settings.locale == "zh"
    assert [session._closed for session in sessions] == [True, True, False, False]
    conversations.close()
    assert all(session._closed for session in sessions)


def test_one_that_is_in_use_is_not_closed() -> None:
    """Not even if too many are."""
    conversations = Conversations(MemoryStores(), most_open=1)
    with conversations.use("a") as one, conversations.use("b") as other:
        assert one.follow(HELLO) is not other.follow(HELLO)
        assert not one.session._closed


@pytest.mark.parametrize("is_async", [False, True])
def test_one_session_stays_open_and_belongs_to_one_conversation(is_async: bool) -> None:
    """It is the program's to close."""
    session = Session(MemoryStore("s"))
    conversations = Conversations(AsyncSession(session) if is_async else session)
    for name in ("", "a", "", "a"):
        with conversations.use(name) as history:
            assert history.follow(HELLO) is session
    with pytest.raises(BadInput, match="belongs to conversation 'a'"), conversations.use("b"):
        pass
    conversations.close()
    assert not session._closed


@pytest.mark.parametrize(
    ("sessions", "settings", "why"),
    [
        (7, None, "a project's folder"),
        (lambda _: None, Settings(), "give them to Session.new"),
        (lambda _: "no session", None, "which is no Session"),
    ],
)
def test_what_sessions_cannot_come_from_is_refused(sessions: Any, settings: Any, why: str) -> None:
    """With what to pass instead."""
    with pytest.raises(BadInput, match=why), Conversations(sessions, settings=settings).use("a"):
        pass


class _Shared(MemoryStores):
    """Stores in which another process begins each session just before this one does."""

    def create(self, session_id: str) -> MemoryStore:
        with Session(super().create(session_id)) as other:
            other.user("from elsewhere")
        return super().create(session_id)


def test_a_session_that_another_process_begins_meanwhile_is_opened() -> None:
    """Both have looked and found none. The slower one goes on with what the other has begun."""
    with Conversations(_Shared()).use("talk") as history:
        assert texts(history.session) == ["from elsewhere"]
