"""Sessions that are long enough to be compacted, and models of several characters to ask for a summary."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sightline.log.stores import Store
from sightline.log.stores.session_folder import Folder
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod, plain_text
from sightline.wire.payload import Payload

ROOM = Budget(2_000)
SUMMARY = "The quay was measured; order A-7 is open."


def new_session(store: Store | None = None, **options: Any) -> Session:
    """A session in memory that counts words."""
    given = {"token_counter": WordCounter(), "clock": Ticking(), "ids": numbered_ids(), **options}
    return Session(MemoryStore("talk") if store is None else store, **given)


class Disk:
    """A session in a file, which can be closed and opened again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.options: dict[str, Any] = {"token_counter": WordCounter(), "clock": Ticking(), "ids": numbered_ids()}

    def new(self) -> Session:
        """The session, new."""
        return Session.new("/talk", root=self.root, session_id="talk", fsync="never", **self.options)

    def opened(self, branch: str | None = None) -> Session:
        """The session again, from the file alone."""
        return Session.resume("talk", "/talk", root=self.root, branch=branch, fsync="never", **self.options)

    @property
    def path(self) -> Path:
        """The log."""
        return Folder("/talk", self.root).file("talk")


def words(count: int, about: str = "w") -> str:
    """So many words, no two alike."""
    return " ".join(f"{about}{number}" for number in range(count))


def talk(session: Session, turns: int, size: int = 30, first: int = 0) -> list[str]:
    """So many questions and answers. The ids of all of them."""
    ids = []
    for number in range(first, first + turns):
        ids.append(session.user(f"question {number}: {words(size, f'q{number}x')}"))
        ids.append(session.assistant(f"answer {number}: {words(size, f'a{number}x')}"))
    return ids


def use(session: Session, name: str, result: str, **arguments: Any) -> str:
    """The model calls a tool and gets this result. The result's id."""
    number = sum(1 for item in session.items if item.kind is Kind.CALL)
    session.assistant([Call(f"call{number}", name, arguments)])
    return session.tool_result(f"call{number}", result)


def texts(payload: Payload) -> list[str]:
    """What each message of the body says."""
    return [plain_text(message.parts) for message in payload.body]


def shown(payload: Payload) -> str:
    """Everything the body says."""
    return "\n".join(texts(payload))


def shown_ids(payload: Payload) -> list[str]:
    """The items in the body, in order; "" for the engine's own words."""
    return [message.id for message in payload.body]


def level(session: Session, payload: Payload, item_id: str) -> Lod | None:
    """The level an item is shown at; None: it is left out."""
    timeline = session.log.timeline
    row = timeline.row(item_id)
    assert row is not None
    return payload.plan.lod(row) if timeline.unit[row] in payload.plan else None


def says(answer: Any) -> Callable[[Payload], Any]:
    """A model that always gives this answer; an exception is raised."""

    def model(_: Payload) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return model


class Slow:
    """A model that answers when it is told to, and knows what it was asked."""

    def __init__(self, answer: Any = SUMMARY) -> None:
        self.answer = answer
        self.asked: list[Payload] = []
        self.begun, self.free = threading.Event(), threading.Event()
        self.at_once = 0

    def __call__(self, request: Payload) -> Any:
        self.asked.append(request)
        self.begun.set()
        assert self.free.wait(30)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def fallback(messages: int, error: str) -> str:
    """The document's text for a compaction that found no summary."""
    return (
        "[Automatic compaction failed; using fallback]\n\n"
        f"An error occurred during compaction. Retained the latest {messages} messages (~30%).\n\n"
        f"Error: {error}\n\n"
        "The conversation can continue, but consider retrying with /compact."
    )
