"""The host: opening, acting, failing, closing, and finding windows again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from sightline.apps import App, Element, Event, Lod, Options, Outcome, Page, Refused, action
from sightline.apps.window import AppWindow
from sightline.errors import BadInput, InvalidSourceData, UnknownApp
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.settings import Settings

ROOMY = Budget(window=50_000)


class Shelf(App):
    """Keep things on a shelf."""

    name = "shelf"
    zh = "架子"
    things: list[str]
    _lost: list[str]

    def __init__(self) -> None:
        self.things = []
        self._lost = []

    @action(label="Put a thing on it")
    def put(self, thing: str, times: int = 1) -> str:
        self.things += [thing] * times
        return f"{len(self.things)} things"

    @action(label="Take a thing off")
    def take(self, place: int) -> str:
        if not 1 <= place <= len(self.things):
            raise Refused(f"nothing at {place}")
        return self.things.pop(place - 1)

    @action(label="Call it something else")
    def rename(self, place: int, to: str) -> str:
        self.things[place - 1] = to
        return to

    @action(label="Break half-way")
    def spill(self, how: Literal["raise", "refuse", "outcome", "unsaved"]) -> Outcome:
        self.things.append("spilt")
        self.mess = ["new"]  # an attribute that was not there
        self._lost = ["all"]
        if how == "unsaved":
            self.mess = [object()]  # type: ignore[list-item]
            return Outcome(True)
        if how == "outcome":
            return Outcome(False, "it fell", ways=("put",))
        raise Refused("too full") if how == "refuse" else ZeroDivisionError("shelf")

    @action(label="Sell it")
    def sell(self) -> Outcome:
        return Outcome(True, "sold", summary="sold with all on it", closes=True)

    def view(self, lod: Lod) -> Page:
        if lod is Lod.GIST:
            return Page("Shelf", (Element(text=f"{len(self.things)} things"),))
        actions = ("take", "rename") if lod is Lod.FULL else ()
        things = tuple(Element(id=str(n), text=t, actions=actions) for n, t in enumerate(self.things, 1))
        return Page("Shelf", (Element(tag="board", text="board", children=things),))


class Pinboard(Shelf):
    """Cannot be closed, and there is one of it."""

    name = "pinboard"
    single = True
    options = Options(closable=False)


class Mirror(App):
    """Shows a file as it is."""

    name = "mirror"
    text: str

    def __init__(self) -> None:
        self.text = ""
        self.looked = 0

    def refresh(self) -> bool:
        self.looked += 1
        now = Path(self.target).read_text(encoding="utf-8")
        fresh, self.text = now != self.text, now
        return fresh

    @action()
    def fail(self) -> None:
        raise Refused("no")

    @action()
    def write(self, text: str) -> None:
        Path(self.target).write_text(text, encoding="utf-8")

    def view(self, lod: Lod) -> list[Element]:
        return [Element(text=self.text)]


def started(*apps: type[App], **options: Any) -> Session:
    made: dict[str, Any] = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter()}
    return Session(MemoryStore("host"), apps=apps or [Shelf, Pinboard], **{**made, **options})


def filled(*things: str) -> Session:
    session = started()
    session.windows.open("shelf")
    for thing in things:
        assert session.windows.act("shelf_1", "put", thing=thing).success
    return session


def window(session: Session, window_id: str) -> AppWindow:
    found = session.windows.window(window_id)
    assert found is not None
    return found


def sent(session: Session, budget: Budget = ROOMY) -> str:
    return json.dumps(session.compose(budget).openai(), ensure_ascii=False)


# ------------------------------------------------------------------ opening


def test_each_opening_is_a_window_of_its_own() -> None:
    """Ids count up and are never given twice, not even after one was closed."""
    session = started()
    assert [session.windows.open("shelf") for _ in range(3)] == ["shelf_1", "shelf_2", "shelf_3"]
    session.windows.close("shelf_3")
    assert session.windows.open("shelf") == "shelf_4"
    session.windows.act("shelf_1", "put", thing="cup")
    assert [len(each.app.things) for each in session.windows.all()] == [1, 0, 0]  # type: ignore[attr-defined]


def test_an_app_of_one_window_is_shown_where_it_is() -> None:
    """Opened twice it is the same window, with what it holds; closed by its host, it can be opened again."""
    session = started()
    assert session.windows.open("pinboard") == session.windows.open("pinboard") == "pinboard"
    session.windows.act("pinboard", "put", thing="note")
    session.windows.open("pinboard")
    assert "note" in window(session, "pinboard").render()
    session.windows.close("pinboard")
    assert session.windows.window("pinboard") is None
    session.windows.open("pinboard")
    assert "note" not in window(session, "pinboard").render()


def test_what_cannot_be_opened_is_said() -> None:
    """An unknown app by the ones there are, an unknown option by the ones windows have."""
    session = started()
    with pytest.raises(UnknownApp, match="shelf, pinboard"):
        session.windows.open("cupboard")
    with pytest.raises(BadInput, match="closable, compact, append"):
        session.windows.open("shelf", colour="red")
    assert session.windows.all() == []


class Stubborn(Shelf):
    """Opens for nobody."""

    name = "stubborn"

    def opened(self) -> None:
        raise Refused(f"not for {self.target!r}")


class Unsaved(Shelf):
    """Holds what cannot be kept."""

    name = "unsaved"

    def __init__(self) -> None:
        super().__init__()
        self.secret = object()


class Forgetful(Shelf):
    """Cannot be saved once it holds something."""

    name = "forgetful"

    def save(self) -> Any:
        if self.things:
            raise KeyError("memory")
        return super().save()


def test_an_app_that_does_not_open_leaves_nothing() -> None:
    """Refused, or with data that cannot be saved: no window, no word of one in the log; a model is told why."""
    from sightline.values.items import Call

    session = started(Stubborn, Unsaved)
    with pytest.raises(Refused, match="not for 'me'"):
        session.windows.open("stubborn", "me")
    with pytest.raises(InvalidSourceData, match="begin the name of what is not to be kept with '_'"):
        session.windows.open("unsaved")
    outcome = session.windows.call(Call("", "create", {"name": "stubborn", "target": "me"}))
    assert (outcome.success, outcome.reason, outcome.message) == (
        False,
        "failed",
        "could not open the app: not for 'me'",
    )
    assert session.windows.live() == []


# ------------------------------------------------------------------ acting, and what cannot be done


@pytest.mark.parametrize(
    ("said", "things"),
    [
        (("take", {"place": 2}), ["a"]),
        (("take-2", {}), ["a"]),
        (("[button:take-2]", {}), ["a"]),
        (("[form:take place=2]", {}), ["a"]),
        (("take-2", {"place": 1}), ["a"]),  # what is pressed says what is meant
        (("rename-2", {"to": "c"}), ["a", "c"]),
        (('[form:rename-2 to="c d"]', {}), ["a", "c d"]),
        (("put", {"thing": "c", "times": "2"}), ["a", "b", "c", "c"]),
        (('[form:put thing="c d" times=1]', {}), ["a", "b", "c d"]),
        (("[form:put thing= times=]", {"thing": "c", "times": 1}), ["a", "b", "c"]),
    ],
)
def test_an_action_is_named_by_id_by_anchor_or_as_it_is_written(
    said: tuple[str, dict[str, Any]], things: list[str]
) -> None:
    """All are the same door: what an anchor stands on is the action's first parameter."""
    session = filled("a", "b")
    outcome = session.windows.act("shelf_1", said[0], **said[1])
    assert outcome.success, outcome
    assert window(session, "shelf_1").app.things == things  # type: ignore[attr-defined]


def stale(session: Session) -> Outcome:
    window(session, "shelf_1").render()
    session.windows.act("shelf_1", "take", place=2)
    return session.windows.act("shelf_1", "take-2")


def out_of_view(session: Session) -> Outcome:
    session.windows.lod("shelf_1", Lod.SUMMARY)
    return session.windows.act("shelf_1", "take-1")


def hidden_thing(session: Session) -> Outcome:
    session.windows.lod("shelf_1", Lod.GIST)
    return session.windows.act("shelf_1", "2")


def fixed(session: Session) -> Outcome:
    session.windows.open("pinboard")
    return session.windows.act("pinboard", "close")


@pytest.mark.parametrize(
    ("attempt", "reason", "way"),
    [
        (lambda session: session.windows.act("shelf_9", "put"), "unknown window", "shelf_1"),
        (lambda session: session.windows.act("shelf_1", "putt"), "unknown action", "put(thing:string, times:int?)"),
        (lambda session: session.windows.act("shelf_1", "dance"), "unknown action", "take(place:int)"),
        (lambda session: session.windows.act("shelf_1", "[button:take-9]"), "unknown action", "take(place:int)"),
        (
            lambda session: session.windows.act("shelf_1", "put", think="x"),
            "bad parameters",
            "put(thing:string, times:int?)",
        ),
        (lambda session: session.windows.act("shelf_1", "put"), "bad parameters", "put(thing:string, times:int?)"),
        (lambda session: session.windows.act("shelf_1", "take", place="first"), "bad parameters", "take(place:int)"),
        (lambda session: session.windows.act("shelf_1", "1"), "reference", "take(place:int)"),
        (stale, "stale", "take(place:int)"),
        (out_of_view, "out of view", "take(place:int)"),
        (hidden_thing, "out of view", "put(thing:string, times:int?)"),
        (fixed, "not closable", "take(place:int)"),
    ],
)
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_what_cannot_be_done_is_told_with_what_can(
    attempt: Callable[[Session], Outcome], reason: str, way: str, locale: str
) -> None:
    """Nothing is raised and nothing is done; the outcome says why, and names a way on, which its text shows too."""
    session = filled("a", "b")
    session.configure(locale=locale)
    outcome = attempt(session)
    assert (outcome.success, outcome.reason) == (False, reason)
    assert way in outcome.ways
    assert str(outcome) == f"{outcome.message}\n→ {', '.join(outcome.ways)}"
    assert "a" in window(session, "shelf_1").app.things  # type: ignore[attr-defined]


def test_where_no_window_is_open_the_way_on_is_to_open_one() -> None:
    """An unknown window names the open ones, or the apps."""
    session = started()
    assert session.windows.act("shelf_1", "put").ways == ("create(shelf)", "create(pinboard)")


class Timid(Shelf):
    """Shows what is on it only from afar."""

    name = "timid"

    def view(self, lod: Lod) -> Page:
        if lod is Lod.FULL:
            raise RuntimeError("too close")
        return super().view(lod)


def test_a_view_that_fails_at_another_level_does_not_keep_from_acting() -> None:
    """Looking for an anchor at higher levels raises nothing; shown there, the window says what is wrong."""
    session = started(Timid)
    session.windows.open("timid", lod=Lod.SUMMARY)
    assert session.windows.act("timid_1", "take-1").reason == "unknown action"
    assert session.windows.act("timid_1", "put", thing="cup").success
    session.windows.lod("timid_1", Lod.FULL)
    assert "RuntimeError: too close" in sent(session)


@pytest.mark.parametrize("how", ["raise", "refuse", "outcome", "unsaved"])
def test_a_failing_action_leaves_the_data_as_they_were(how: str) -> None:
    """What it had changed, added or lost half-way is as before, also after a restart; it is told, not raised."""
    session = filled("cup")
    app = window(session, "shelf_1").app
    before, shown = {**vars(app), "things": ["cup"]}, window(session, "shelf_1").render()
    outcome = session.windows.act("shelf_1", "spill", how=how)
    assert (outcome.success, outcome.reason) == (False, "failed")
    assert outcome.message
    assert vars(app) == before
    assert window(session, "shelf_1").render() == shown
    assert session.windows.act("shelf_1", "put", thing="jug").success
    kept = window(session, "shelf_1").logged_data
    assert json.loads(kept) == {"things": ["cup", "jug"]}
    again = Session(session.log.reopened(), apps=[Shelf], clock=Ticking())
    assert window(again, "shelf_1").app.things == ["cup", "jug"]  # type: ignore[attr-defined]


def test_what_was_done_is_in_the_history_and_after_a_restart_too() -> None:
    """Each action with what came of it, the failed ones as well."""
    session = filled("cup")
    session.windows.act("shelf_1", "take", place=9)
    session.windows.act("shelf_1", "take-1")
    done = [("put", "1 things"), ("take", "nothing at 9"), ("take", "cup")]
    again = Session(session.log.reopened(), apps=[Shelf], clock=Ticking())
    for each in (session, again):
        assert [(r.action, r.result) for r in window(each, "shelf_1").context().history or ()] == done


def test_an_app_that_cannot_be_saved_goes_on_as_it_was() -> None:
    """An action whose data cannot be kept fails and is undone; the window stays open."""
    session = started(Forgetful)
    session.windows.open("forgetful")
    outcome = session.windows.act("forgetful_1", "put", thing="cup")
    assert (outcome.success, outcome.reason) == (False, "failed")
    assert "forgetful cannot be saved" in outcome.message
    assert window(session, "forgetful_1").app.things == []  # type: ignore[attr-defined]
    assert "forgetful_1" in sent(session)


def test_an_action_may_close_its_window() -> None:
    """Its summary is what is remembered, and it is shown no longer."""
    session = filled("cup")
    told: list[Event] = []
    session.windows.events.subscribe(told.append)
    assert session.windows.act("shelf_1", "sell").message == "sold"
    assert [(event.kind, event.summary) for event in told] == [
        ("acted", "sold with all on it"),
        ("closed", "sold with all on it"),
    ]
    assert '<Window id="shelf_1"' not in sent(session).replace("\\", "")
    assert "[window shelf_1 closed; last state #2] sold with all on it" in sent(session)


def test_an_app_is_told_when_its_window_is_closed() -> None:
    """By the model, by its host, or after a restart; an app that fails then closes all the same."""
    told: list[str] = []

    class Parting(Shelf):
        """Says goodbye."""

        name = "parting"

        def closed(self) -> None:
            told.append(self.target)
            raise RuntimeError("no goodbyes")

    session = started(Parting)
    for target in ("one", "two", "three"):
        session.windows.open("parting", target)
    assert session.windows.act("parting_1", "close", summary="bye").success
    session.windows.close("parting_2")
    reopened(session, Parting).windows.close("parting_3")
    assert told == ["one", "two", "three"]
    session.refresh()
    assert session.windows.all() == []


def test_events_tell_what_happened_in_order() -> None:
    """Opened, acted, refreshed, closed, each with where the log has it; a subscriber that fails harms nobody."""
    session = started()
    told: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError

    session.windows.events.subscribe(broken)
    stop = session.windows.events.subscribe(told.append)
    session.windows.open("shelf", "cups")
    session.windows.act("shelf_1", "put", thing="cup")
    session.windows.act("shelf_1", "take", place=5)
    session.windows.act("shelf_1", "dance")  # reached nothing
    window(session, "shelf_1").document.change()
    session.compose(ROOMY)
    session.windows.close("shelf_1", "enough")
    stop()
    session.windows.open("shelf")
    assert [(e.kind, e.window, e.app, e.success, e.action, e.target, e.summary) for e in told] == [
        ("opened", "shelf_1", "shelf", True, "", "cups", ""),
        ("acted", "shelf_1", "shelf", True, "put", "", "1 things"),
        ("acted", "shelf_1", "shelf", False, "take", "", "nothing at 5"),
        ("refreshed", "shelf_1", "shelf", True, "", "", ""),
        ("closed", "shelf_1", "shelf", True, "", "", "enough"),
    ]
    assert [e.seq for e in told] == sorted({e.seq for e in told})


# ------------------------------------------------------------------ what changes outside


def test_what_changed_outside_is_shown_at_the_next_call(tmp_path: Path) -> None:
    """The app is asked before each call; nothing else has to be done."""
    file = tmp_path / "note.txt"
    file.write_text("first")
    session = started(Mirror)
    session.windows.open("mirror", str(file))
    assert "first" in sent(session)
    file.write_text("second")
    assert "second" in sent(session)
    assert session.windows.act("mirror_1", "write", text="third").success
    assert "third" in window(session, "mirror_1").render()
    assert json.loads(window(session, "mirror_1").logged_data)["text"] == "third"


def test_a_failing_action_does_not_forget_what_was_taken_in(tmp_path: Path) -> None:
    """What the app had refreshed since the log last heard of it stays, though the action is undone."""
    file = tmp_path / "note.txt"
    file.write_text("first")
    session = started(Mirror)
    session.windows.open("mirror", str(file))
    file.write_text("second")
    session.windows.refresh()
    assert not session.windows.act("mirror_1", "fail").success
    assert "second" in window(session, "mirror_1").render()


def test_a_refresh_that_raises_leaves_the_window_as_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The call goes on with what is known; the log of the program says what failed."""
    file = tmp_path / "note.txt"
    file.write_text("first")
    session = started(Mirror)
    session.windows.open("mirror", str(file))
    sent(session)
    file.unlink()
    assert "first" in sent(session)
    assert "mirror_1 cannot refresh" in caplog.text
    file.write_text("back")
    assert "back" in sent(session)


class Drifting(Shelf):
    """Takes in something that cannot be saved."""

    name = "drifting"

    def refresh(self) -> bool:
        self.things = [object()]  # type: ignore[list-item]
        return True

    def view(self, lod: Lod) -> Page:
        return Page("Drift", (Element(text=f"{len(self.things)} adrift"),))


def test_what_was_taken_in_and_cannot_be_saved_keeps_nothing_from_going_on() -> None:
    """It is shown; the log keeps what it last could."""
    session = started(Drifting)
    session.windows.open("drifting")
    assert "1 adrift" in sent(session)
    assert json.loads(window(session, "drifting_1").logged_data) == {"things": []}


# ------------------------------------------------------------------ after a restart


def reopened(session: Session, *apps: type[App]) -> Session:
    return Session(session.log.reopened(), apps=apps, clock=Ticking())


def test_a_window_whose_app_is_gone_is_shown_as_such() -> None:
    """It says so, keeps what it held, can be closed by the model, and works again once its app is there."""
    session = filled("cup")
    session.user("hello")
    gone = reopened(session, Pinboard)
    told = sent(gone)
    assert "the app 'shelf' of this window is not available; what it held is kept" in told
    assert "cup" not in told
    assert gone.windows.all() == []
    assert gone.windows.act("shelf_1", "put", thing="jug").reason == "unknown window"
    assert '<item id="1"' in sent(reopened(session, Shelf)).replace("\\", "")
    assert gone.windows.act("shelf_1", "close").success
    assert "is not available" not in sent(gone)


class OtherShelf(Shelf):
    """Another version of the app, which cannot read what it saved."""

    things: dict[str, int]  # type: ignore[assignment]


def test_a_window_whose_data_cannot_be_read_is_shown_as_such() -> None:
    """Nothing of it is lost: the version of the app that can read it finds everything."""
    session = filled("cup")
    other = reopened(session, OtherShelf)
    assert "could not read what it had saved" in sent(other)
    assert other.windows.act("shelf_1", "put", thing="jug").reason == "unknown window"
    assert window(reopened(session, Shelf), "shelf_1").app.things == ["cup"]  # type: ignore[attr-defined]


def test_everything_of_a_window_is_as_it_was() -> None:
    """Data, level, version, options and target, also where somebody referred to the window again."""
    session = started()
    session.windows.open("shelf", "cups", important=False, closable=False)
    session.windows.act("shelf_1", "put", thing="cup")
    session.windows.lod("shelf_1", Lod.SUMMARY)
    session.windows.show("shelf_1")
    before = window(session, "shelf_1")
    after = window(reopened(session, Shelf), "shelf_1")
    assert after.render() == before.render()
    assert (after.options, after.app.target) == (before.options, "cups")
    assert after.options == Options(important=False, closable=False, lod=Lod.SUMMARY, held=True)
    assert (after.document.version, after.document.lod) == (before.document.version, Lod.SUMMARY)


# ------------------------------------------------------------------ options


def test_a_compact_window_is_one_line_without_actions() -> None:
    """Nothing can be done in it, and it says so."""
    session = started()
    session.windows.open("shelf", compact=True)
    assert window(session, "shelf_1").render() == '<Window id="shelf_1" compact="true">board</Window>'
    assert session.windows.act("shelf_1", "put", thing="cup").reason == "unknown action"
    assert session.windows.act("shelf_1", "close").reason == "not closable"


def test_windows_are_written_as_the_session_says() -> None:
    """Markdown with anchors, or XML, in the session's language, from the next call on."""
    session = started(settings=Settings(locale="zh", windows="markdown"))
    session.windows.open("shelf")
    session.windows.act("shelf_1", "put", thing="杯子")
    told = window(session, "shelf_1").render()
    assert told.startswith("[窗口 shelf_1]\n# Shelf")
    assert "[button:take]" in told
    session.configure(windows="xml", locale="en")
    assert window(session, "shelf_1").render().startswith('<Window id="shelf_1">')


@pytest.mark.parametrize("append", [False, True])
def test_a_change_moves_a_window_to_the_end_where_that_is_chosen(append: bool) -> None:
    """In the documents' layout, where windows stand in their place: there it was, or after what was said since."""
    session = started(settings=Settings(layout="contextui"))
    session.user("before")
    session.windows.open("shelf", "cups", append=append)
    session.user("after")
    session.windows.act("shelf_1", "put", thing="cup")
    session.windows.act("shelf_1", "put", thing="jug")
    told = sent(session)
    assert told.count("<Window") == 1
    assert (told.index("<Window") > told.index("after")) is append
    again = reopened(session, Shelf)
    assert sent(again) == told
    found = window(again, "shelf_1")
    assert (found.app.target, found.options.append) == ("cups", append)
    assert [each.action for each in found.document.rounds] == ["put", "put"]


# ------------------------------------------------------------------ several writers, several branches


def test_another_writers_change_is_seen_and_not_undone(tmp_path: Path) -> None:
    """Two sessions on one file: after a refresh or a call each shows what the other did, and acts on that."""
    options: dict[str, Any] = {"root": tmp_path / "root", "apps": [Shelf]}
    one = Session.new(tmp_path, **options)
    one.user("hello")
    one.windows.open("shelf")
    one.windows.act("shelf_1", "put", thing="cup")
    one.flush()
    two = Session.resume(one.id, tmp_path, **options)
    two.windows.act("shelf_1", "put", thing="jug")
    assert "jug" not in window(one, "shelf_1").render()
    one.refresh()
    assert "jug" in window(one, "shelf_1").render()
    two.windows.act("shelf_1", "put", thing="pot")
    assert "pot" in sent(one)
    two.windows.act("shelf_1", "put", thing="pan")
    one.windows.act("shelf_1", "put", thing="lid")  # without looking first
    assert window(one, "shelf_1").app.things == ["cup", "jug", "pot", "pan", "lid"]  # type: ignore[attr-defined]
    assert two.windows.open("shelf") == "shelf_2"
    assert one.windows.open("shelf") == "shelf_3"
    two.windows.close("shelf_1")
    assert one.windows.act("shelf_1", "put", thing="cap").reason == "unknown window"
    assert "cup" not in sent(one)
    one.close()
    two.close()


def test_each_branch_has_its_own_window_state() -> None:
    """What is done on one branch after they part is not seen on the other, nor after a restart."""
    session = filled("cup")
    at = session.user("which way")
    branch = session.fork(at)
    session.user("left")
    branch.user("right")
    session.windows.act("shelf_1", "put", thing="lemon")
    branch.windows.act("shelf_1", "take", place=1)
    branch.windows.act("shelf_1", "put", thing="rose")
    session.windows.open("pinboard")
    for mine, other in ((session, branch), (branch, session)):
        mine.refresh()
        again = Session(mine.log.reopened(), apps=[Shelf, Pinboard], clock=Ticking())
        again.log.switch(mine.branch)
        assert window(again, "shelf_1").render() == window(mine, "shelf_1").render()
        assert window(mine, "shelf_1").render() != window(other, "shelf_1").render()
    assert window(session, "shelf_1").app.things == ["cup", "lemon"]  # type: ignore[attr-defined]
    assert window(branch, "shelf_1").app.things == ["rose"]  # type: ignore[attr-defined]
    assert (len(session.windows.all()), len(branch.windows.all())) == (2, 1)
    branch.windows.close("shelf_1")
    session.refresh()
    assert "lemon" in sent(session)


# ------------------------------------------------------------------ tools


class ShelfList(Shelf):
    """A name that begins like another app's."""

    name = "shelf_list"


def test_a_typed_tool_acts_on_windows_of_its_own_app() -> None:
    """The tool's name says the app and the action, also where names begin alike; another app's window is refused."""
    from sightline.values.items import Call

    session = started(Shelf, ShelfList)
    session.windows.open("shelf")
    session.windows.open("shelf_list")
    host = session.windows
    assert host.call(Call("", "shelf_list_put", {"window_id": "shelf_list_1", "thing": "a"})).success
    assert host.call(Call("", "shelf_put", {"window_id": "shelf_1", "thing": "b", "times": "2"})).success
    wrong = host.call(Call("", "shelf_put", {"window_id": "shelf_list_1", "thing": "c"}))
    assert (wrong.reason, wrong.ways) == ("unknown window", ("shelf_1",))
    assert host.call(Call("", "shelf_put", {"thing": "c"})).reason == "bad parameters"
    assert host.call(Call("", "shelf_close", {"window_id": "shelf_1"})).closes
    assert window(session, "shelf_list_1").app.things == ["a"]  # type: ignore[attr-defined]
    assert host.call(Call("", "fly", {})).ways == ("create", "action")
    names = [tool.name for tool in host.tools(typed=True)]
    assert len(names) == len(set(names)) == 2 + 2 * 6
    assert [tool.name for tool in host.tools()] == ["create", "action"]


@pytest.mark.parametrize(
    "said", [{}, {"window_id": "shelf_1"}, {"action_id": "put"}, {"window_id": 3, "action_id": "put"}]
)
def test_a_call_without_its_ids_names_the_open_windows(said: dict[str, Any]) -> None:
    """It is told what it lacks."""
    from sightline.values.items import Call

    outcome = filled().windows.call(Call("", "action", said))
    assert (outcome.reason, outcome.ways) == ("bad parameters", ("shelf_1",))
    assert outcome.message == "the call needs window_id and action_id"


def test_what_it_is_for_is_redacted_too() -> None:
    """A redaction that fails shows nothing, and the window is shown all the same."""

    class Secret(Shelf):
        """The password is swordfish."""

        name = "secret"

        def redact(self, text: str) -> str:
            if "password" in text:
                raise ValueError
            return text

    session = started(Secret)
    session.windows.open("secret")
    told = sent(session)
    assert "secret_1" in told
    assert "swordfish" not in told
