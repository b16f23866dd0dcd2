"""The notebook."""

from pathlib import Path
from typing import Any

import pytest
from app_laws import LOOKS, TEXTS, Act, app, content, done, rendered, started
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import Lod
from sightline.session.session import Session
from sightline.values.settings import Settings

MARKDOWN = Settings(windows="markdown")
IDS = st.one_of(st.sampled_from(["e1", "e2", "fold-e1", "add", "条目"]), TEXTS)
OPTIONAL = st.fixed_dictionaries({}, optional=dict.fromkeys(("content", "tags", "summary", "gist"), TEXTS))
ACTS = st.one_of(
    st.builds(lambda entry, title, more: ("add", {"entry_id": entry, "title": title, **more}), IDS, TEXTS, OPTIONAL),
    st.builds(lambda entry, more: ("edit", {"entry_id": entry, **more}), IDS, OPTIONAL),
    st.builds(
        lambda name, entry: (name, {"entry_id": entry}), st.sampled_from(["fold", "unfold", "summary", "remove"]), IDS
    ),
    st.builds(lambda name: (name, {}), st.sampled_from(["fold_all", "unfold_all", "filter"])),
    st.builds(lambda ids: ("focus", {"ids": ",".join(ids)}), st.lists(IDS, max_size=3)),
    st.builds(lambda tag: ("filter", {"tag": tag}), st.one_of(st.just("a"), TEXTS)),
)


def _notebook(settings: Settings = MARKDOWN) -> Session:
    session = started("notebook", settings=settings)
    _did(session, "add", entry_id="e1", title="PipeMux overview", content="A broker\nand its apps", tags="ipc, rpc")
    _did(session, "add", entry_id="e2", title="Levels", content="x" * 201, gist="gist, summary, full", tags="ipc")
    _did(session, "add", entry_id="e3", title="Only a title")
    return session


def _did(session: Session, action: str, **params: Any) -> str:
    outcome = session.windows.act("notebook_1", action, **params)
    assert outcome.success, outcome
    return outcome.message


def _levels(session: Session) -> dict[str, str]:
    return {each.id: each.lod.name for each in app(session, "notebook_1").entries}


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=6))
def test_whatever_is_done_the_laws_hold(look: Settings, acts: list[Act]) -> None:
    """Any acts with any texts keep views equal, levels nested, XML well-formed and saved data whole."""
    done(started("notebook", settings=look), "notebook_1", [("add", {"entry_id": "e1", "title": "x"}), *acts])


def test_entries_are_shown_at_their_own_levels() -> None:
    """Label, id, title, tags and buttons in one line; below it what the level holds."""
    session = _notebook()
    _did(session, "fold", entry_id="e1")
    _did(session, "unfold", entry_id="e3")
    assert content(session, "notebook_1") == [
        "- 3 entries",
        "- LOD distribution: 1 gist, 1 summary, 1 full",
        "[GIST] **[e1]** PipeMux overview `ipc` `rpc` — _A broker and its apps_ [button:summary] [button:unfold]",
        "[SUMMARY] **[e2]** Levels `ipc` [button:fold] [button:unfold]",
        "> " + "x" * 200 + "...",
        "[FULL] **[e3]** Only a title [button:fold] [button:summary]",
    ]
    assert rendered(session, "notebook_1").startswith("[window notebook_1]\n# 📓 Memory Notebook\n")


def test_a_level_that_was_written_is_shown_and_one_that_was_not_is_made() -> None:
    """A given summary and gist are shown as they are; without content, the summary is all there is."""
    session = started("notebook", settings=MARKDOWN)
    _did(session, "add", entry_id="a", title="A", content="c " * 200, summary="short", gist="g" * 80)
    _did(session, "add", entry_id="b", title="B", summary="all there is")
    assert content(session, "notebook_1")[3] == "> short"
    _did(session, "unfold_all")
    assert content(session, "notebook_1")[5] == "> all there is"
    _did(session, "fold_all")
    [gist] = [line for line in content(session, "notebook_1") if "**[a]**" in line]
    assert gist.startswith(f"[GIST] **[a]** A — _{'g' * 59}…_")


def test_one_entry_changes_its_level_and_the_others_keep_theirs() -> None:
    """Fold, summary and unfold, by name or by the button on the entry."""
    session = _notebook()
    assert _did(session, "fold", entry_id="e1") == "e1: GIST"
    assert _levels(session) == {"e1": "GIST", "e2": "SUMMARY", "e3": "SUMMARY"}
    assert _did(session, "unfold-e1") == "e1: FULL"
    assert _did(session, "summary-e1") == "e1: SUMMARY"
    _did(session, "fold_all")
    assert set(_levels(session).values()) == {"GIST"}
    _did(session, "unfold_all")
    assert set(_levels(session).values()) == {"FULL"}


def test_focus_unfolds_what_is_listed_and_folds_the_rest() -> None:
    """The first one listed is the page's focus, for as long as it is shown."""
    session = _notebook()
    _did(session, "focus", ids="e3, e1")
    assert _levels(session) == {"e1": "FULL", "e2": "GIST", "e3": "FULL"}
    window = session.windows.window("notebook_1")
    assert window is not None
    assert window.context().state.focus_id == "e3"
    _did(session, "remove", entry_id="e3")
    assert window.context().state.focus_id is None
    _did(session, "add", entry_id="e3", title="Another")
    assert window.context().state.focus_id is None


def test_a_filter_shows_the_entries_with_a_tag() -> None:
    """The state says which filter is on; without a tag, everything is shown again."""
    session = _notebook()
    assert _did(session, "filter", tag="rpc") == "showing 1/3 entries"
    window = session.windows.window("notebook_1")
    assert window is not None
    assert window.context().state.custom == {"filter": "rpc"}
    shown = content(session, "notebook_1")
    assert shown[0] == "- 3 entries | 1 with tag rpc"
    assert [line for line in shown if "**[" in line] == [shown[2]]
    assert _did(session, "filter") == "showing 3/3 entries"
    assert window.context().state.custom is None


def test_an_edit_changes_what_is_given() -> None:
    """What is not given stays, except a summary and a gist of content that is no longer there."""
    session = _notebook()
    _did(session, "edit", entry_id="e2", title="Three\n levels", tags="")
    entry = app(session, "notebook_1").entries[1]
    assert (entry.title, entry.tags, entry.gist, entry.content) == (
        "Three levels", (), "gist, summary, full", "x" * 201,
    )  # fmt: skip
    _did(session, "edit", entry_id="e2", content="new", summary="n")
    entry = app(session, "notebook_1").entries[1]
    assert (entry.content, entry.summary, entry.gist) == ("new", "n", "")


@pytest.mark.parametrize(
    ("action", "params", "why"),
    [
        ("add", {"entry_id": "e1", "title": "Again"}, "there is an entry e1 already"),
        ("add", {"entry_id": "e 4", "title": "x"}, "an id has letters, digits and _ - . : only"),
        ("add", {"entry_id": "", "title": "x"}, "an id has letters, digits and _ - . : only"),
        ("add", {"entry_id": "e4", "title": " \n"}, "an entry needs a title"),
        ("edit", {"entry_id": "e1"}, "say what to change"),
        ("edit", {"entry_id": "e1", "content": "x", "title": ""}, "an entry needs a title"),
        ("unfold", {"entry_id": "e9"}, "no entry 'e9'; there are: e1, e2, e3"),
        ("focus", {"ids": "e1, e9"}, "no entry 'e9'; there are: e1, e2, e3"),
        ("focus", {"ids": " , "}, "say which entries"),
        ("filter", {"tag": "x"}, "no entry has the tag 'x'; tags: ipc, rpc"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(action: str, params: dict[str, str], why: str) -> None:
    """A failed action says why, and data and view stay as they were."""
    session = _notebook()
    before, shown = app(session, "notebook_1").save(), rendered(session, "notebook_1")
    outcome = session.windows.act("notebook_1", action, **params)
    assert (outcome.success, outcome.message) == (False, why)
    assert (app(session, "notebook_1").save(), rendered(session, "notebook_1")) == (before, shown)


def test_each_level_of_the_page_shows_less() -> None:
    """SUMMARY has one line for each entry, GIST the counts alone."""
    session = _notebook()
    _did(session, "unfold_all")
    summary = content(session, "notebook_1", Lod.SUMMARY)
    assert [line[:13] for line in summary[2:]] == ["[GIST] **[e1]", "[GIST] **[e2]", "[GIST] **[e3]"]
    gist = content(session, "notebook_1", Lod.GIST)
    assert gist == ["- 3 entries", "- LOD distribution: 0 gist, 0 summary, 3 full"]


def test_entries_are_elements_in_xml() -> None:
    """Level, tags and actions are attributes; title and body are elements."""
    text = rendered(_notebook(Settings()), "notebook_1")
    assert '<entry id="e1" lod="summary" tags="ipc, rpc" actions="fold, unfold">' in text
    assert "<title>PipeMux overview</title>" in text
    assert "<body>A broker\nand its apps</body>" in text


def test_it_speaks_chinese() -> None:
    """In Chinese, heading, counts, labels and answers are Chinese."""
    session = started("notebook", settings=Settings(locale="zh", windows="markdown"))
    assert _did(session, "add", entry_id="条目-1", title="PipeMux 概览", tags="架构，通信") == "已添加条目 条目-1"
    text = rendered(session, "notebook_1")
    assert "# 📓 记忆笔记本\n\n- 1 个条目\n- 级别分布：0 gist, 1 summary, 0 full\n" in text
    assert "[SUMMARY] **[条目-1]** PipeMux 概览 `架构` `通信` [button:fold] [button:unfold]" in text
    assert "- 聚焦条目 [form:focus ids=]" in text
    assert session.windows.act("notebook_1", "fold", entry_id="x").message == "没有条目 'x'；现有：条目-1"


def test_it_is_as_it_was_when_the_session_is_resumed(tmp_path: Path) -> None:
    """From the file alone, entries, levels, filter and focus come back, and go on."""
    with Session.new(tmp_path, root=tmp_path, apps=["notebook"]) as session:
        session.windows.open("notebook")
        _did(session, "add", entry_id="e1", title="One <b>", content="[button:fold]\n" * 30, tags="t")
        _did(session, "add", entry_id="e2", title="Two", tags="t")
        _did(session, "focus", ids="e2")
        _did(session, "filter", tag="t")
        before = rendered(session, "notebook_1")
    with Session.resume(session.id, tmp_path, root=tmp_path, apps=["notebook"]) as resumed:
        window = resumed.windows.window("notebook_1")
        assert window is not None
        assert window.render() == before
        assert (window.context().state.focus_id, window.context().state.custom) == ("e2", {"filter": "t"})
        assert _levels(resumed) == {"e1": "GIST", "e2": "FULL"}
        assert _did(resumed, "remove", entry_id="e1") == "removed entry e1"
