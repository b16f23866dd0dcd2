"""The activity log."""

from pathlib import Path

import msgspec
import pytest
from app_laws import LOOKS, TEXTS, Act, app, check, content, rendered, started
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import App, Element, Event, Lod, Outcome, action
from sightline.apps.builtin.activity_log import ActivityLog
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import Ticking
from sightline.values.items import Role
from sightline.values.settings import Settings

MARKDOWN = Settings(windows="markdown")


class Door(App):
    """Say something and go."""

    name = "door"

    @action()
    def knock(self, said: str) -> Outcome:
        """Knock."""
        return Outcome(bool(said), "who is there?", summary=said)

    def view(self, lod: Lod) -> list[Element]:
        """Nothing."""
        return []


ACTS = st.one_of(
    st.builds(lambda said: ("act", {"said": said}), TEXTS),
    st.builds(lambda target: ("open", {"target": target}), TEXTS),
    st.builds(lambda summary: ("close", {"summary": summary}), TEXTS),
    st.sampled_from([("clear", {}), ("compose", {}), ("reopen", {})]),
)


def _watched(settings: Settings = MARKDOWN) -> Session:
    session = started("activity_log", settings=settings)
    session.windows.register(Door)
    return session


def _happens(session: Session, what: str, params: dict[str, str]) -> None:
    doors = [window.id for window in session.windows.all() if window.app.name == "door"]
    match what:
        case "open":
            session.windows.open("door", params["target"])
        case "act" if doors:
            session.windows.act(doors[-1], "knock", **params)
        case "close" if doors:
            session.windows.close(doors[0], **params)
        case "clear":
            session.windows.act("activity_log", "clear")
        case "compose":
            session.compose(Budget(100_000))
        case "reopen":
            session.windows.close("activity_log")
            session.windows.open("activity_log")


def _listeners(session: Session) -> int:
    return len(session.windows.events._subscribers)


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=8))
def test_whatever_happens_the_laws_hold(look: Settings, acts: list[Act]) -> None:
    """Any events with any texts keep views equal, levels nested, XML well-formed and saved data whole."""
    session = _watched(look)
    session.user("hello")
    for what, params in acts:
        _happens(session, what, dict(params))
        check(session, "activity_log")
        kept = session.windows._log.saved("activity_log")
        assert kept is not None
        assert kept.state == app(session, "activity_log").save()
    session.windows.open("door")
    assert _listeners(session) == 1


def test_it_shows_what_was_done_with_other_windows() -> None:
    """Each line has the log's number, what was done to which window, and what came of it."""
    session = _watched()
    session.windows.open("door")
    session.windows.open("door", "the garden")
    session.windows.act("door_1", "knock", said="me")
    session.windows.act("door_1", "knock", said="")
    session.windows.act("door_2", "close", summary="nobody in")
    numbers = [event.seq for event in app(session, "activity_log").events]
    assert numbers == sorted(set(numbers))
    assert content(session, "activity_log") == [
        f"- [{numbers[0]}] opened app door",
        f"- [{numbers[1]}] opened app door, target: the garden",
        f"- [{numbers[2]}] action door_1.knock -> succeeded (me)",
        f"- [{numbers[3]}] action door_1.knock -> failed (who is there?)",
        f"- [{numbers[4]}] closed window door_2 (nobody in)",
    ]


def test_it_speaks_chinese() -> None:
    """The same events, in Chinese, as soon as the session is."""
    session = _watched()
    session.windows.open("door", "花园")
    session.windows.act("door_1", "knock", said="我")
    session.windows.act("door_1", "knock", said="")
    session.configure(locale="zh")
    first, second, third = (event.seq for event in app(session, "activity_log").events)
    assert content(session, "activity_log") == [
        f"- [{first}] 打开应用 door，目标: 花园",
        f"- [{second}] 操作 door_1.knock -> 成功 (我)",
        f"- [{third}] 操作 door_1.knock -> 失败 (who is there?)",
    ]
    assert content(session, "activity_log", Lod.GIST) == [
        f"- 3 条，最近：[{third}] 操作 door_1.knock -> 失败 (who is there?)"
    ]
    assert session.windows.act("activity_log", "clear").message == "已清空 3 条记录"
    assert content(session, "activity_log") == ["- 暂无记录"]


def test_the_newest_are_kept_and_each_level_shows_fewer() -> None:
    """Fifty at FULL, ten at SUMMARY, how many and the last one at GIST."""
    session = _watched()
    session.windows.open("door")
    for number in range(60):
        session.windows.act("door_1", "knock", said=str(number))
    lines = content(session, "activity_log")
    assert [line[line.index("(") :] for line in lines] == [f"({number})" for number in range(10, 60)]
    assert content(session, "activity_log", Lod.SUMMARY) == ["- 40 earlier", *lines[-10:]]
    assert content(session, "activity_log", Lod.GIST) == [f"- 50 events, the last: {lines[-1][2:]}"]


def test_its_own_events_are_no_news() -> None:
    """Opening, clearing and composing leave an empty log empty, however often; a window that refreshes is no event."""
    session = _watched()
    session.user("hello")
    session.windows.act("activity_log", "clear")
    version = session.windows.window("activity_log").document.version  # type: ignore[union-attr]
    for _ in range(3):
        session.compose(Budget(100_000))
    session.windows.events.publish(Event("refreshed", 1, "door_1", "door"))
    assert content(session, "activity_log") == ["- nothing yet"]
    assert session.windows.window("activity_log").document.version.major == version.major  # type: ignore[union-attr]


def test_an_act_elsewhere_is_shown_by_the_next_call() -> None:
    """The window changes with the event, not with the next act on it."""
    session = _watched(Settings())
    session.user("hello")
    session.windows.open("door")
    session.compose(Budget(100_000))
    session.windows.act("door_1", "knock", said="me")
    payload = session.compose(Budget(100_000))
    [shown] = [text for window, text in payload.shown_windows.items() if window == "activity_log"]
    assert "action door_1.knock -&gt; succeeded (me)" in shown
    assert payload.tail[-1].role is Role.USER


def test_the_events_survive_the_session(tmp_path: Path) -> None:
    """Without any call in between, a resumed session shows the same lines, and goes on hearing."""
    with Session.new(tmp_path, root=tmp_path, apps=["activity_log", Door]) as session:
        session.windows.open("activity_log")
        session.windows.open("door")
        session.windows.act("door_1", "knock", said="me <b>")
        before = rendered(session, "activity_log")
    with Session.resume(session.id, tmp_path, root=tmp_path, apps=["activity_log", Door]) as resumed:
        assert rendered(resumed, "activity_log") == before
        resumed.windows.act("door_1", "knock", said="again")
        assert [event.summary for event in app(resumed, "activity_log").events] == ["", "me <b>", "again"]
        assert _listeners(resumed) == 1


def test_a_branch_hears_its_own_events() -> None:
    """A fork begins with the events so far; what then happens on one branch is no news on the other."""
    session = _watched()
    session.windows.open("door")
    fork = session.fork(session.user("hello"))
    kinds = {branch: [event.kind for event in app(branch, "activity_log").events] for branch in (session, fork)}
    assert list(kinds.values()) == [["opened"], ["opened"]]
    fork.windows.act("door_1", "knock", said="there")
    assert len(app(session, "activity_log").events) == 1
    assert [event.summary for event in app(fork, "activity_log").events] == ["", "there"]


def test_a_window_that_was_closed_listens_no_longer() -> None:
    """Closing ends the subscription; opening again begins an empty log with one."""
    session = _watched()
    session.windows.open("door")
    session.windows.act("activity_log", "close")
    assert _listeners(session) == 0
    session.windows.act("door_1", "knock", said="unheard")
    assert session.windows.open("activity_log") == "activity_log"
    assert content(session, "activity_log") == ["- nothing yet"]
    assert _listeners(session) == 1


def test_another_writers_change_leaves_one_listener(tmp_path: Path) -> None:
    """A window that was restored anew, because another program cleared it, is the only one that hears."""
    apps = ["activity_log", Door]
    with Session.new(tmp_path, root=tmp_path, apps=apps, clock=Ticking()) as session:
        session.windows.open("activity_log")
        session.windows.open("door")
        old = app(session, "activity_log")
        with Session.resume(session.id, tmp_path, root=tmp_path, apps=apps, clock=Ticking()) as other:
            other.windows.act("activity_log", "clear")
        session.refresh()
        new = app(session, "activity_log")
        assert new is not old
        session.windows.act("door_1", "knock", said="once")
        assert [event.summary for event in new.events] == ["once"]
        assert len(old.events) == 1
        assert _listeners(session) == 1


def test_a_log_that_cannot_be_read_back_does_not_listen() -> None:
    """Data of another version of the app are refused before anything is subscribed."""
    session = _watched()
    log = ActivityLog()
    log.host = session.windows
    with pytest.raises(msgspec.ValidationError):
        log.restore({"events": [{"kind": "exploded"}]})
    assert _listeners(session) == 1
