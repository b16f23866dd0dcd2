"""What comes first: sending or logging. An agent does not wait for the log where its bytes go up anyway."""

import threading
from pathlib import Path
from typing import Any

import pytest
from through_proxy import LISTS, Talk, Through, page
from upstream_script import answer

from sightline.follow.turns import Prepared, Turns

WIRES = ("anthropic", "chat", "responses")


class Watched:
    """Notes, at each time a request is logged, how many requests the model has got."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.got: list[int] = []
        prepare = Turns.prepare
        self.sent, self.count = threading.Event(), 0  # requests that came to the model, and that one more did

        def watched(turns: Turns, *given: Any, **told: Any) -> Prepared:
            if told.get("passed"):
                self.sent.wait(10)
            self.got.append(self.count)
            return prepare(turns, *given, **told)

        patch.setattr(Turns, "prepare", watched)


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_fits_is_sent_before_it_is_logged(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first and the next ones go up at once, byte for byte, and the log has them before the answer ends."""
    watched: list[Watched] = []

    def script(asked: Any) -> Any:
        watched[0].count += 1
        watched[0].sent.set()
        return answer(f"Answer {len(asked.body[LISTS[wire]])}.")

    with Through(tmp_path, script) as through:
        watched.append(Watched(monkeypatch))
        talk = Talk(through, wire)
        for number, said in enumerate(["One", "Two", "Three"], 1):
            watched[0].sent.clear()
            talk.say(said)
            assert len(through.texts()) == 2 * number
        assert watched[0].got == [1, 2, 3]
        assert through.texts() == ["One", "Answer 1.", "Two", "Answer 3.", "Three", "Answer 5."]


def test_a_request_that_may_not_fit_is_logged_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a window that the user has set, nothing goes up before it is counted, unless it fits by its bytes alone."""
    with Through(tmp_path, lambda _: answer("Yes."), window=4000) as through:
        watched = Watched(monkeypatch)
        watched.sent.set()
        talk = Talk(through, "anthropic")
        talk.say(page("a", 100))
        talk.say("More")
        assert watched.got[0] == 0
        assert through.upstream.invalid == []
