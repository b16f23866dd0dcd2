"""The project's tree: what is there, folded and expanded, and nothing beyond it."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from app_laws import LOOKS, TEXTS, Act, done
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.apps import Element, Refused
from sightline.apps.builtin.files import Files
from sightline.apps.elements import walk
from sightline.testing import MemoryStore


class Tree:
    """The files app in a session."""

    def __init__(self, project: Path, *, apps: tuple[str, ...] = ("files", "editor"), **settings: Any) -> None:
        self.session = sl.Session(
            MemoryStore(), apps=apps, project=project, settings=sl.Settings(**settings) if settings else None
        )
        self.id = self.session.windows.open("files")

    def __getattr__(self, action: str) -> Any:
        """An action, done as the model does it."""
        return lambda **params: self.session.windows.act(self.id, action, **params)

    @property
    def window(self) -> Any:
        return self.session.windows.window(self.id)

    @property
    def app(self) -> Files:
        app = self.window.app
        assert isinstance(app, Files)
        return app

    def elements(self, lod: sl.Lod = sl.Lod.FULL) -> list[Element]:
        """What it shows after looking again, without the line that counts."""
        self.app.refresh()
        return list(walk(self.app.page(lod).elements))[1:]

    def texts(self, lod: sl.Lod = sl.Lod.FULL) -> list[str]:
        return [element.text for element in self.elements(lod)]

    def shown(self, lod: sl.Lod = sl.Lod.FULL) -> str:
        self.session.windows.lod(self.id, lod)
        return str(self.session.windows.shown(10**9, lambda _, text: len(text))[self.id])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with what is not to be shown in it, and a folder beside it."""
    folder = tmp_path / "project"
    for path in ("src/deep", "docs", ".git", "node_modules/x", "src/__pycache__"):
        (folder / path).mkdir(parents=True)
    for path in ("src/a.py", "src/b.txt", "src/deep/c.py", "README.md", ".hidden", ".git/config"):
        (folder / path).write_text(f"{path}\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret\n")
    return folder


@pytest.fixture
def tree(project: Path) -> Tree:
    """The app on that project."""
    return Tree(project)


def test_it_opens_folded_and_without_what_machines_made(tree: Tree) -> None:
    """Folders first, then files; nothing hidden, no node_modules, no __pycache__."""
    assert tree.texts() == ["docs/", "src/", "README.md"]
    assert tree.expand(path="src").success
    assert tree.texts() == ["docs/", "src/", "deep/", "a.py", "b.txt", "README.md"]


def test_what_git_ignores_is_not_shown(project: Path, tree: Tree) -> None:
    """By the patterns in the folder and above it, as the file tools have it; a change of them is seen at once."""
    (project / "src" / "deep" / "c.log").write_text("")
    assert tree.expand(path="src/deep").success
    assert {"c.log", "b.txt", "docs/"} <= set(tree.texts())
    (project / ".gitignore").write_text("*.log\ndocs/\n")
    (project / "src" / ".gitignore").write_text("b.txt\n")
    assert tree.texts() == ["src/", "deep/", "c.py", "a.py", "README.md"]
    (project / ".gitignore").unlink()
    assert {"c.log", "docs/"} <= set(tree.texts())


def test_a_folder_that_git_ignores_is_expanded_by_its_exact_name(project: Path, tree: Tree) -> None:
    """As the file tools read what is named exactly; hidden folders and what is no folder stay refused."""
    (project / ".gitignore").write_text("docs/\n")
    (project / "docs" / "guide.md").write_text("")
    assert "docs/" not in tree.texts()
    assert tree.expand(path="docs").success
    assert {"docs/", "guide.md"} <= set(tree.texts())
    assert tree.fold(path="docs").success
    assert "docs/" not in tree.texts()
    assert tree.expand(path="node_modules").success
    for path in (".git", "doc", "nowhere"):
        (project / ".git").mkdir(exist_ok=True)
        assert not tree.expand(path=path).success


def test_folders_are_expanded_with_those_above_and_folded(tree: Tree) -> None:
    """Expanding a deep folder shows the way to it; what was expanded inside a folded one is so again."""
    assert tree.expand(path="src/deep/").success
    assert "c.py" in tree.texts()
    assert tree.fold(path="src").success
    assert tree.texts() == ["docs/", "src/", "README.md"]
    assert "not expanded" in tree.fold(path="src").message
    assert tree.expand(path="src").success
    assert "c.py" in tree.texts()


def test_buttons_on_the_entries_do_the_same(tree: Tree) -> None:
    """An entry's id stands for its path."""
    for anchor in ("expand-src", "[expand:src:deep]", "open-src:deep:c.py", "[fold:src]"):
        outcome = tree.session.windows.act(tree.id, anchor)
        assert outcome.success, outcome
    assert tree.app.expanded == ["src/deep"]
    assert [window.id for window in tree.session.windows.all()] == ["files_1", "editor_1"]


def test_a_window_can_be_opened_for_a_folder(project: Path, tree: Tree) -> None:
    """What it is for is expanded; what is no folder of the project is refused."""
    window = tree.session.windows.window(tree.session.windows.open("files", "src/deep"))
    assert window is not None
    assert "c.py" in window.render()
    with pytest.raises(Refused, match="no folder"):
        tree.session.windows.open("files", "../elsewhere")


def test_nothing_but_a_folder_of_the_tree_is_expanded(project: Path, tree: Tree) -> None:
    """Neither what leads out, nor a link, nor what is not shown."""
    (project / "out").symlink_to(project.parent / "elsewhere")
    (project / "in").symlink_to("src")
    (project / "loop").symlink_to(".")
    os.mkfifo(project / "pipe")
    refused = [
        "..", "../elsewhere", "src/../../elsewhere", "src/..", str(project), str(project.parent / "elsewhere"), "/",
        "out", "in", "loop", "loop/src", "pipe", "README.md", ".git", "", ".", "nothing", "a\0b", "~",
        "x" * 5000, "\ud800",
    ]  # fmt: skip
    for path in refused:
        assert "no folder" in tree.expand(path=path).message, path
    assert tree.app.expanded == []
    assert tree.texts() == ["docs/", "src/", "in → src", "loop → .", f"out → {project.parent / 'elsewhere'}", "pipe",
                            "README.md"]  # fmt: skip
    assert [element.actions for element in tree.elements() if element.tag in ("link", "other")] == [()] * 4


def test_an_expanded_folder_that_became_a_link_is_not_followed(project: Path, tree: Tree) -> None:
    """It is shown as the link that it is now."""
    tree.expand(path="src/deep")
    shutil.rmtree(project / "src")
    (project / "src").symlink_to(project.parent / "elsewhere")
    assert tree.texts() == ["docs/", "README.md", f"src → {project.parent / 'elsewhere'}"]
    assert "secret" not in tree.shown()


def test_keys_and_secrets_are_not_shown(project: Path, tree: Tree) -> None:
    """Neither by name nor behind a name; what only resembles one is shown."""
    (project / "keys.pem").mkdir()
    for path in ("id_rsa", "server.key", "sightline.toml", "keys.pem/a.txt", "keyboard.txt"):
        (project / path).write_text("")
    assert tree.texts() == ["docs/", "src/", "keyboard.txt", "README.md"]
    assert "no folder" in tree.expand(path="keys.pem").message
    assert not tree.open(path="id_rsa").success


def test_a_tree_can_be_held_to_folders(project: Path) -> None:
    """By its session: they are shown, with the way to them; a folder above the project is all of it."""
    (project / "src" / "deeper").mkdir()
    session = sl.Session(MemoryStore(), apps=[Files], project=project, folders=("src/deep", "../elsewhere", "gone"))
    window = session.windows.window(session.windows.open("files", "src/deep"))
    assert window is not None
    shown = [element.text for element in walk(window.app.page(sl.Lod.FULL).elements)]
    assert shown == ["1 folder, 0 files", "src/", "deep/", "c.py"]
    for path in ("docs", "src/deeper", "../elsewhere"):
        assert "no folder" in session.windows.act(window.id, "expand", path=path).message, path
    session = sl.Session(MemoryStore(), apps=[Files], project=project, folders=("..",))
    window = session.windows.window(session.windows.open("files"))
    assert window is not None
    assert [element.text for element in window.app.page(sl.Lod.FULL).elements][1:] == ["docs/", "src/", "README.md"]


def test_folders_that_become_links_are_shown_no_more(project: Path) -> None:
    """Neither in the tree nor in an editor; one that was a link from the beginning is followed."""
    (project / "linked").symlink_to("src")
    session = sl.Session(MemoryStore(), apps=[Files, "editor"], project=project, folders=("docs", "linked"))
    window = session.windows.open("files", "src")
    assert session.windows.act(window, "open", path="src/a.py").success
    (project / "docs").rename(project.parent / "away")
    (project / "docs").symlink_to("../elsewhere")
    (project / "src").rename(project / "sources")
    (project / "src").symlink_to("sources")
    for path in ("docs", "src", "sources"):
        assert "no folder" in session.windows.act(window, "expand", path=path).message, path
    assert "outside the folders" in session.windows.act(window, "open", path="sources/a.py").message


def test_files_open_in_the_editor_once(tree: Tree) -> None:
    """A file that is open already is not opened again; one outside is refused by the editor."""
    assert tree.open(path="src/a.py").message == "src/a.py is open in editor_1"
    assert tree.open(path="src:a.py").message == "src/a.py is open in editor_1"
    assert tree.open(path="README.md").message == "README.md is open in editor_2"
    for path in ("../elsewhere/secret.txt", "/etc/passwd", "src", "nothing"):
        assert not tree.open(path=path).success
    assert len(tree.session.windows.all()) == 3


def test_without_an_editor_nothing_is_opened(project: Path) -> None:
    """The message says what is missing."""
    assert "'editor'" in Tree(project, apps=("files",)).open(path="src/a.py").message


def test_a_pattern_filters_files_and_keeps_folders(tree: Tree) -> None:
    """No pattern shows all again."""
    tree.expand(path="src")
    assert tree.filter(pattern="*.py").success
    assert tree.texts() == ["docs/", "src/", "deep/", "a.py"]
    assert "*.py" in tree.shown(sl.Lod.GIST)
    assert tree.filter().success
    assert "b.txt" in tree.texts()


def test_a_large_folder_shows_how_much_more_there_is(project: Path, tree: Tree) -> None:
    """Fifty entries, folders first, at every level."""
    for number in range(70):
        (project / "docs" / f"{number:03}.md").write_text("")
    (project / "docs" / "zzz").mkdir()
    tree.expand(path="docs")
    texts = tree.texts()
    assert texts[1] == "zzz/"
    assert texts[50:52] == ["048.md", "… 21 more"]


def test_what_changes_in_a_shown_folder_is_seen(project: Path, tree: Tree) -> None:
    """New, renamed and deleted files; a change that shows nothing new makes no new version."""
    tree.expand(path="src")
    tree.shown()
    (project / "src" / "new.py").write_text("")
    assert "new.py" in tree.shown()
    (project / "src" / "new.py").rename(project / "src" / "newer.py")
    assert "newer.py" in tree.shown()
    version = tree.window.document.version
    (project / "src" / ".hidden").write_text("")
    (project / "docs" / "unseen.md").write_text("")
    tree.shown()
    assert tree.window.document.version == version
    shutil.rmtree(project / "src")
    assert "src" not in tree.shown()


def test_an_unchanged_folder_is_not_read_again(project: Path, tree: Tree) -> None:
    """Where the folder's time is the same and some while ago, what was read holds."""
    os.utime(project, (1_000_000, 1_000_000))
    tree.shown()
    (project / "late.md").write_text("")
    os.utime(project, (1_000_000, 1_000_000))  # as no writer would leave it
    assert "late.md" not in tree.shown()
    os.utime(project, (1_000_001, 1_000_001))
    assert "late.md" in tree.shown()


def test_a_folder_that_changed_just_now_is_read_again(project: Path, tree: Tree) -> None:
    """Two changes within one tick of the disk's clock leave the same time: a young one is not trusted."""
    tree.shown()
    young = project.stat()
    (project / "late.md").write_text("")
    os.utime(project, ns=(young.st_atime_ns, young.st_mtime_ns))
    assert "late.md" in tree.shown()


def test_a_link_in_place_of_a_folder_is_not_followed_even_where_the_folder_above_looks_unchanged(
    project: Path, tree: Tree
) -> None:
    """What is read is asked itself whether it is a folder."""
    tree.expand(path="src")
    os.utime(project, (1_000_000, 1_000_000))
    tree.shown()
    shutil.rmtree(project / "src")
    (project / "src").symlink_to(project.parent / "elsewhere")
    os.utime(project, (1_000_000, 1_000_000))  # as no writer would leave it
    assert "no folder any more" in tree.shown()
    assert "secret" not in tree.shown()


def test_names_of_every_kind_are_shown(project: Path, tree: Tree) -> None:
    """A name that cannot be an id has no button, and opens by its path; one that is no text is shown as it can be."""
    (project / "two words.md").write_text("")
    (project / "a:b.md").write_text("")
    (project / "文件.md").write_text("")
    (project / "<b> & [button:open]\n.md").write_text("")
    (Path(os.fsdecode(os.fsencode(project) + b"/caf\xe9.md"))).write_text("")
    named = {element.text: (element.id, element.actions) for element in tree.elements()}
    assert named["two words.md"] == named["a:b.md"] == ("", ())
    assert named["文件.md"] == ("文件.md", ("open",))
    assert "caf?.md" in named
    assert tree.open(path="two words.md").success
    assert tree.open(path="a:b.md").success
    assert tree.open(path="文件.md").success
    assert not tree.open(path="caf?.md").success
    ElementTree.fromstring(tree.shown())


@pytest.mark.parametrize("form", ["xml", "markdown"])
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_levels_in_both_languages_and_forms(project: Path, locale: str, form: str) -> None:
    """GIST counts, SUMMARY shows folders, FULL files; a higher level has every action that a lower one has."""
    tree = Tree(project, locale=locale, windows=form)
    tree.expand(path="src")
    shown = {lod: tree.shown(lod) for lod in sl.Lod}
    counts = "2 个文件夹，1 个文件" if locale == "zh" else "2 folders, 1 file"
    assert all(counts in text for text in shown.values())
    assert ["deep/" in text for text in shown.values()] == [False, True, True]
    assert ["a.py" in text for text in shown.values()] == [False, False, True]
    anchors = []
    for lod in sl.Lod:
        tree.session.windows.lod(tree.id, lod)
        anchors.append(set(tree.window.context().anchors))
        assert tree.shown(lod) == shown[lod]
        if form == "xml":
            ElementTree.fromstring(shown[lod])
    assert anchors[0] < anchors[1] < anchors[2]


PATHS = st.one_of(TEXTS, st.sampled_from(["a", "a/b", "a:b", "a/b/c.py", "link", "..", "c d", "."]))
ACTS = st.one_of(
    st.builds(lambda name, path: (name, {"path": path}), st.sampled_from(["expand", "fold", "open"]), PATHS),
    st.builds(lambda pattern: ("filter", {"pattern": pattern}), st.one_of(TEXTS, st.just("*.py"))),
)


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=6))
def test_whatever_is_done_the_laws_hold(look: sl.Settings, acts: list[Act]) -> None:
    """Any acts with any texts keep views equal, levels nested, XML well-formed and saved data whole."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a" / "b").mkdir(parents=True)
        (Path(folder) / "a" / "b" / "c.py").write_text("")
        (Path(folder) / "c d").mkdir()
        (Path(folder) / "link").symlink_to("a")
        session = sl.Session(MemoryStore("apps"), apps=["files", "editor"], project=folder, settings=look)
        done(session, session.windows.open("files"), acts)


@pytest.mark.accepts(364)
def test_a_resumed_tree_shows_the_files_there_are_now(tmp_path: Path, project: Path) -> None:
    """What is expanded and the pattern are kept; the files are read anew."""
    session = sl.Session.new(project, root=tmp_path / "logs", session_id="one", apps=["files"])
    window = session.windows.open("files")
    session.windows.act(window, "expand", path="src/deep")
    session.windows.act(window, "filter", pattern="*.py")
    session.close()
    assert "c.py" not in "".join(each.read_text() for each in (tmp_path / "logs").rglob("*.jsonl"))
    (project / "src" / "deep" / "c.py").rename(project / "src" / "deep" / "d.py")
    resumed = sl.Session.resume("one", project, root=tmp_path / "logs", apps=["files"])
    found = resumed.windows.window(window)
    assert found is not None
    texts = [element.text for element in walk(found.app.page(sl.Lod.FULL).elements)]
    assert texts[1:] == ["docs/", "src/", "deep/", "d.py", "a.py"]
    resumed.close()
