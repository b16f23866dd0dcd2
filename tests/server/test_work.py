"""Background work in one process: done once, tried again when it fails, told when it is given up, ended gracefully."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from long_talk import SUMMARY as TEXT
from long_talk import begin_long, summaries_of

from sightline import Session
from sightline.errors import BadInput
from sightline.fleet.tasks import Tasks
from sightline.follow.turns import INDEX, SUMMARY
from sightline.plan.view import Budget
from sightline.server.metrics import Metrics
from sightline.server.work import RETENTION, Job, LocalWork


class Recorder:
    """Does the jobs of sessions by noting them. Those named fail so often. `gate` holds all of them up.

    Once an hour there is also a job of no session, whatever a test does.
    """

    def __init__(self, **fails: int) -> None:
        self.seen: list[str] = []
        self.gate, self.begun = threading.Event(), threading.Event()
        self._fails = fails

    def __call__(self, job: Job, stop: threading.Event) -> None:
        if job.kind == RETENTION:
            return
        self.seen.append(job.session)
        self.begun.set()
        assert self.gate.wait(60)
        if self._fails.get(job.session, 0) > 0:
            self._fails[job.session] -= 1
            raise BadInput("not today")


def wait_for(holds: Callable[[], object]) -> None:
    """Return when something holds. It fails after a minute."""
    pause, tries = threading.Event(), 0
    while not holds():
        assert (tries := tries + 1) < 6_000, "it did not happen within a minute"
        pause.wait(0.01)


def test_a_job_that_waits_is_done_once() -> None:
    """Whoever wants a job that waits wants the same one."""
    run = Recorder()
    work = LocalWork(run)
    for session in ("a", "b", "a", "b"):
        work.want(Job(INDEX, session))
    assert work.waiting == 2
    work.start()
    run.gate.set()
    wait_for(lambda: work.counts[INDEX, "done"] == 2)
    work.close()
    assert run.seen == ["a", "b"]


def test_a_job_that_fails_is_tried_again_and_then_told(caplog: pytest.LogCaptureFixture) -> None:
    """So often and no more. One that works at last is not told as failed."""
    run = Recorder(bad=9, late=1)
    work = LocalWork(run, pauses=(0.05, 0.05))
    run.gate.set()
    with caplog.at_level(logging.WARNING, "sightline.server"):
        for session in ("bad", "late", "good"):
            work.want(Job(INDEX, session))
        work.start()
        wait_for(lambda: work.counts[INDEX, "failed"] == 1 and work.counts[INDEX, "done"] == 2)
        work.close()
    assert (run.seen.count("bad"), run.seen.count("late")) == (3, 2)
    [given_up] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (given_up.session, given_up.reason) == ("bad", "not today")  # type: ignore[attr-defined]


def test_an_end_waits_for_the_job_that_is_being_done() -> None:
    """It is finished; what waits behind it is not begun."""
    run = Recorder()
    work = LocalWork(run)
    work.start()
    work.want(Job(INDEX, "a"))
    assert run.begun.wait(60)
    work.want(Job(INDEX, "b"))
    threading.Timer(0.05, run.gate.set).start()
    work.close()
    assert run.seen == ["a"]
    assert work.counts[INDEX, "done"] == 1


def test_a_job_that_takes_too_long_at_the_end_writes_nothing(tmp_path: Path) -> None:
    """The model answers after the server has stopped: its summary is not written."""
    begin_long("talk", root=tmp_path)
    asked, answer = threading.Event(), threading.Event()

    def model(_payload: object) -> str:
        asked.set()
        assert answer.wait(60)
        return TEXT

    work = LocalWork(Tasks(Path(), root=tmp_path, model=model), grace=0.01)
    work.start()
    work.want(Job(SUMMARY, "talk"))
    assert asked.wait(60)
    work.close()
    answer.set()
    work._thread.join(60)
    assert summaries_of("talk", root=tmp_path) == []


def test_an_index_is_built_before_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the job a session that is opened anew measures and indexes no item of its history again."""
    begin_long("talk", root=tmp_path)
    Tasks(Path(), root=tmp_path)(Job(INDEX, "talk"), threading.Event())
    shortened = 0

    def count(*_: object) -> None:
        nonlocal shortened
        shortened += 1
        raise AssertionError("it was indexed before")

    monkeypatch.setattr("sightline.log.levels.Reader._make_levels", count)
    monkeypatch.setattr("sightline.recall.finder.Finder._text_to_index", count)
    with Session.resume("talk", root=tmp_path) as session:
        assert session.items.index() == 0
        session.items.search("question 7")
        session.preview(Budget(2_000))
    assert shortened == 0


def test_an_open_session_takes_over_an_index(tmp_path: Path) -> None:
    """What another process has measured since is not measured again."""
    begin_long("talk", root=tmp_path)
    with Session.resume("talk", root=tmp_path) as session:
        Tasks(Path(), root=tmp_path)(Job(INDEX, "talk"), threading.Event())
        session.items.adopt_index()
        assert session.items.index() == 0


def test_a_job_for_a_session_that_is_gone_is_done(tmp_path: Path) -> None:
    """There is nothing to do for it."""
    tasks = Tasks(tmp_path, stores=None, root=tmp_path, model=lambda _: TEXT)
    for kind in (INDEX, SUMMARY):
        tasks(Job(kind, "gone"), threading.Event())


def test_two_workers_make_one_summary(tmp_path: Path) -> None:
    """Both have asked their models before either writes: the slower one writes nothing, and has not failed."""
    begin_long("talk", root=tmp_path)
    together = threading.Barrier(2, timeout=60)

    def model(_payload: object) -> str:
        together.wait()
        return TEXT

    tasks = Tasks(Path(), root=tmp_path, model=model)
    threads = [threading.Thread(target=tasks, args=(Job(SUMMARY, "talk"), threading.Event())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert summaries_of("talk", root=tmp_path) == [TEXT]


def test_the_metrics_have_the_work() -> None:
    """What was done, what failed, what waits."""
    run = Recorder()
    work, metrics = LocalWork(run), Metrics()
    metrics.watch(work)
    work.counts[INDEX, "done"], work.counts[SUMMARY, "failed"] = 3, 1
    work.want(Job(INDEX, "a"))
    told = metrics.text().decode()
    assert 'sightline_jobs_total{kind="index",outcome="done"} 3.0' in told
    assert 'sightline_jobs_total{kind="summary",outcome="failed"} 1.0' in told
    assert "sightline_jobs_waiting 1.0" in told
