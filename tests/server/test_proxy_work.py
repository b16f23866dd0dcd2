"""The proxy and background work: what it wants done, and what happens when a worker writes while an agent goes on."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from long_talk import SUMMARY as TEXT
from test_work import wait_for
from through_proxy import PATHS, Talk, Through
from upstream import Asked
from upstream_script import Answer, answer

from sightline.fleet.tasks import Tasks
from sightline.follow.turns import INDEX, SUMMARY
from sightline.server.work import Counts, Job, LocalWork

pytestmark = pytest.mark.slow

WINDOW = 3000


class Wanted:
    """Notes what is wanted, and does nothing."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.counts: Counts = Counter()
        self.waiting, self.refused = 0, ""

    def want(self, job: Job) -> None:
        self.jobs.append(job)

    def start(self) -> None: ...

    def close(self) -> None: ...


class WithWork(Through):
    """A proxy whose sessions are worked on in the background."""

    def __init__(self, folder: Path, script: Any, work: Any) -> None:
        super().__init__(folder, script, window=WINDOW)
        self._work = work

    def start(self, **changed: Any) -> None:
        super().start(work=self._work, summaries=True, **changed)


def question(number: int) -> str:
    """Some hundred tokens, no two alike."""
    return f"Question {number}. " + " ".join(f"word{number}x{at}" for at in range(40))


def tasks(folder: Path) -> Tasks:
    """What a worker does, with a model that always says the same."""
    return Tasks(folder, root=folder / "logs", model=lambda _: TEXT)


@pytest.mark.parametrize("wire", list(PATHS))
def test_a_summary_that_a_worker_writes_meanwhile_takes_no_place_of_an_answer(wire: str, tmp_path: Path) -> None:
    """It is written while the model answers: the answer follows it on the same branch, and later calls show it."""

    def script(asked: Asked) -> Answer:
        for name in through.names:
            work(Job(SUMMARY, name), threading.Event())
        return answer(f"Answer to call {len(through.upstream.calls)}.")

    work = tasks(tmp_path)
    with Through(tmp_path, script, window=WINDOW) as through:
        talk = Talk(through, wire)
        for number in range(30):
            talk.say(question(number))
        assert through.upstream.invalid == []
        with through.session() as session:
            assert session.branches == [""]
            assert len([each for each in session.summaries if each.state == "holds"]) == 1
            said = [text for text in through.texts() if text.startswith(("Question", "Answer"))]
        assert TEXT in str(through.bodies[-1])
    assert said == [text for number in range(30) for text in (question(number), f"Answer to call {number}.")]


def test_a_proxy_has_summaries_made(tmp_path: Path) -> None:
    """Over files it does so itself: once most of the window is used, the oldest part is summarised meanwhile."""
    work = LocalWork(tasks(tmp_path))
    work.start()
    with WithWork(tmp_path, lambda _: answer("Yes."), work) as through:
        talk = Talk(through, "chat")
        for number in range(40):
            talk.say(question(number))
            wait_for(lambda: not work.waiting)
        assert TEXT in str(through.bodies[-1])
        assert through.upstream.invalid == []
        with through.session() as session:
            assert session.branches == [""]
    work.close()
    assert work.counts[SUMMARY, "failed"] == 0


def test_a_history_is_indexed_before_it_must_be_shortened(tmp_path: Path) -> None:
    """It is wanted while requests still go up as they came, and not at every one of them."""
    work = Wanted()
    with WithWork(tmp_path, lambda _: answer("Yes."), work) as through:
        talk = Talk(through, "chat")
        wants = []
        for number in range(30):
            talk.say(question(number))
            wants.append([job.kind for job in work.jobs].count(INDEX))
        [name] = through.names
        with through.session() as session:
            composed = session.receipt is not None
    assert composed
    assert wants[0] == 0
    assert 1 <= wants[-1] <= 6
    assert {job for job in work.jobs if job.kind == INDEX} == {Job(INDEX, name)}
