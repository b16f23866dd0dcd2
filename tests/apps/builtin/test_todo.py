"""The to-do list."""

from pathlib import Path

import pytest
from app_laws import LOOKS, TEXTS, Act, app, content, done, rendered, started
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import Lod
from sightline.session.session import Session
from sightline.values.settings import Settings

MARKDOWN = Settings(windows="markdown")
NUMBERS = st.integers(-1, 5)
ACTS = st.one_of(
    st.builds(lambda text: ("add", {"text": text}), TEXTS),
    st.builds(lambda name, index: (name, {"index": index}), st.sampled_from(["toggle", "delete"]), NUMBERS),
    st.just(("clear", {})),
)


def _list(*texts: str, settings: Settings = MARKDOWN) -> Session:
    session = started("todo", settings=settings)
    for text in texts:
        assert session.windows.act("todo_1", "add", text=text).success
    return session


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=6))
def test_whatever_is_done_the_laws_hold(look: Settings, acts: list[Act]) -> None:
    """Any acts with any texts keep views equal, levels nested, XML well-formed and saved data whole."""
    done(started("todo", settings=look), "todo_1", acts)


def test_items_are_added_marked_and_deleted() -> None:
    """Each item has its number, its text, whether it is done, and its two buttons."""
    session = _list("milk", "bread", "tea")
    assert session.windows.act("todo_1", "toggle", index=2).message == "item 2 is done"
    assert session.windows.act("todo_1", "delete", index="1").message == "deleted: milk"
    assert content(session, "todo_1") == [
        "- **[2]** bread `done` [button:toggle] [button:delete]",
        "- **[3]** tea [button:toggle] [button:delete]",
    ]
    assert session.windows.act("todo_1", "toggle-2").message == "item 2 is open"


def test_a_number_means_one_item_for_good() -> None:
    """Two deletions in one breath, by the numbers that were seen, delete these two; a number is not given again."""
    session = _list("a", "b", "c", "d")
    for said in ("delete-1", "delete-2"):
        assert session.windows.act("todo_1", said).success
    assert [task.text for task in app(session, "todo_1").tasks] == ["c", "d"]
    session.windows.act("todo_1", "delete", index=4)
    assert session.windows.act("todo_1", "add", text="e").message == "added item 5"


def test_of_items_that_read_the_same_the_one_that_is_meant_is_deleted() -> None:
    """An item is deleted by its number, whatever another one says."""
    session = _list("milk", "tea", "milk")
    assert session.windows.act("todo_1", "delete", index=3).success
    assert [task.text for task in app(session, "todo_1").tasks] == ["milk", "tea"]


def test_what_is_done_is_cleared() -> None:
    """Only what is done goes."""
    session = _list("milk", "tea")
    session.windows.act("todo_1", "toggle", index=1)
    assert session.windows.act("todo_1", "clear").message == "deleted 1 items"
    assert [task.text for task in app(session, "todo_1").tasks] == ["tea"]


@pytest.mark.parametrize(
    ("action", "params", "why"),
    [
        ("add", {"text": "  "}, "an item needs a text"),
        ("delete", {"index": 3}, "no item 3; there are 2"),
        ("toggle", {"index": 0}, "no item 0; there are 2"),
        ("toggle", {"index": "two"}, "parameter index must be int, not 'two'"),
        ("add", {}, "missing required parameter: text"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(action: str, params: dict[str, object], why: str) -> None:
    """A failed action says why, and data and view stay as they were."""
    session = _list("milk", "tea")
    before, shown = app(session, "todo_1").save(), rendered(session, "todo_1")
    outcome = session.windows.act("todo_1", action, **params)
    assert (outcome.success, outcome.message) == (False, why)
    assert (app(session, "todo_1").save(), rendered(session, "todo_1")) == (before, shown)


def test_each_level_shows_less() -> None:
    """SUMMARY has a count and what is open, GIST the count alone."""
    session = _list("milk", "tea")
    session.windows.act("todo_1", "toggle", index=1)
    assert content(session, "todo_1", Lod.SUMMARY) == ["- 1 open of 2", "- **[2]** tea"]
    assert content(session, "todo_1", Lod.GIST) == ["- 1 open of 2"]


@pytest.mark.accepts(38, 39)
def test_it_speaks_chinese() -> None:
    """In Chinese, the description, the labels, the answers and the counts are Chinese."""
    session = _list("买菜", "写代码", settings=Settings(locale="zh"))
    text = rendered(session, "todo_1")
    assert "<Description>待办事项管理应用</Description>" in text
    assert '<item id="1" actions="toggle, delete">买菜</item>' in text
    assert '<action id="add" params="text:string">添加条目</action>' in text
    assert session.windows.act("todo_1", "delete", index=9).message == "没有条目 9；共 2 项"
    assert "2 项中 2 项未完成" in rendered(session, "todo_1", Lod.GIST)


def test_it_is_as_it_was_when_the_session_is_resumed(tmp_path: Path) -> None:
    """From the file alone, the same window comes back, and goes on."""
    with Session.new(tmp_path, root=tmp_path, apps=["todo"]) as session:
        session.windows.open("todo", target="shopping")
        session.windows.act("todo_1", "add", text="milk <b>")
        session.windows.act("todo_1", "toggle", index=1)
        session.windows.act("todo_1", "delete", index=7)
        before = rendered(session, "todo_1")
    with Session.resume(session.id, tmp_path, root=tmp_path, apps=["todo"]) as resumed:
        assert rendered(resumed, "todo_1") == before
        assert app(resumed, "todo_1").target == "shopping"
        assert resumed.windows.act("todo_1", "toggle", index=1).message == "item 1 is open"
