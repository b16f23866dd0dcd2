"""The launcher."""

from pathlib import Path

import pytest
from app_laws import LOOKS, TEXTS, Act, app, content, done, rendered, started
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import App, Element, Lod, Refused
from sightline.session.session import Session
from sightline.values.settings import Settings

MARKDOWN = Settings(windows="markdown")
NAMES = st.one_of(st.sampled_from(["todo", "launcher", "picky", "none"]), TEXTS)
ACTS = st.builds(
    lambda name, target: ("open", {"app": name, **({"target": target} if target is not None else {})}),
    NAMES,
    st.none() | TEXTS,
)


class Picky(App):
    """Open for nothing."""

    name = "picky"

    def opened(self) -> None:
        """Never."""
        raise Refused("not today")

    def view(self, lod: Lod) -> list[Element]:
        """Nothing."""
        return []


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=4))
def test_whatever_is_opened_the_laws_hold(look: Settings, acts: list[Act]) -> None:
    """Any names and targets keep views equal, levels nested, XML well-formed and saved data whole."""
    session = started("launcher", settings=look)
    session.windows.register("todo", Picky)
    done(session, "launcher", acts)


def test_it_lists_the_other_apps_by_number() -> None:
    """Number, name and what it is for, with a button that opens it; one line less at each lower level."""
    session = started("launcher", "todo", settings=MARKDOWN)
    session.windows.register(Picky)
    session.windows.shown(10_000, lambda _, text: len(text))
    assert content(session, "launcher") == [
        "- **[todo]** 1. todo - Keep a to-do list: what is to be done, and what is done. [button:open]",
        "- **[picky]** 2. picky - Open for nothing. [button:open]",
    ]
    assert content(session, "launcher", Lod.SUMMARY) == ["- **[todo]** 1. todo", "- **[picky]** 2. picky"]
    assert content(session, "launcher", Lod.GIST) == ["- 2 apps: todo, picky"]


def test_it_opens_an_app_by_name_or_by_its_button() -> None:
    """The answer names the new window, which was opened for the target."""
    session = started("launcher", settings=MARKDOWN)
    session.windows.register("todo")
    outcome = session.windows.act("launcher", "open", app="todo", target="shopping")
    assert outcome.message == "opened app todo in window todo_1"
    assert app(session, "todo_1").target == "shopping"
    session.windows.shown(10_000, lambda _, text: len(text))
    assert session.windows.act("launcher", "open-todo").message == "opened app todo in window todo_2"


def test_what_cannot_be_opened_is_said_and_opens_nothing() -> None:
    """An unknown app is answered with those there are; one that refuses, with why."""
    session = started("launcher", "todo")
    session.windows.register(Picky)
    outcome = session.windows.act("launcher", "open", app="tudo")
    assert (outcome.success, outcome.reason, outcome.ways) == (False, "unknown app", ("todo",))
    outcome = session.windows.act("launcher", "open", app="picky")
    assert (outcome.success, outcome.message) == (False, "could not open the app: not today")
    assert [window.id for window in session.windows.all()] == ["launcher", "todo_1"]


def test_there_is_one_and_it_stays() -> None:
    """Opening it again shows the same window; it cannot be closed, and gives way to no other."""
    session = started("launcher")
    assert session.windows.open("launcher") == "launcher"
    assert session.windows.act("launcher", "open", app="launcher").success
    assert session.windows.act("launcher", "close").reason == "not closable"
    assert [window.id for window in session.windows.all()] == ["launcher"]
    assert rendered(session, "launcher") in session.windows.shown(0, lambda _, text: len(text)).values()


def test_it_speaks_chinese() -> None:
    """In Chinese, what the apps are for is said in Chinese where they can say it."""
    session = started("launcher", settings=Settings(locale="zh", windows="markdown"))
    session.windows.register("todo", Picky)
    session.windows.shown(10_000, lambda _, text: len(text))
    assert content(session, "launcher") == [
        "- **[todo]** 1. todo - 待办事项管理应用 [button:open]",
        "- **[picky]** 2. picky - Open for nothing. [button:open]",
    ]
    assert session.windows.act("launcher", "open", app="x").message == "应用 'x' 未注册"
    assert session.windows.act("launcher", "open", app="todo").message == "已打开应用: todo（窗口 todo_1）"
    session.configure(locale="en")
    assert content(session, "launcher", Lod.GIST) == ["- 2 apps: todo, picky"]


def test_a_resumed_session_lists_the_apps_that_it_has_now(tmp_path: Path) -> None:
    """What was listed comes back from the file; what is registered now is listed from the next call on."""
    with Session.new(tmp_path, root=tmp_path, apps=["launcher", "todo"]) as session:
        session.windows.open("launcher")
        before = rendered(session, "launcher")
    with Session.resume(session.id, tmp_path, root=tmp_path, apps=["launcher", "notebook"]) as resumed:
        assert rendered(resumed, "launcher") == before
        resumed.windows.shown(10_000, lambda _, text: len(text))
        assert '<app id="notebook" actions="open">1. notebook - ' in rendered(resumed, "launcher")
        assert "todo" not in rendered(resumed, "launcher")
