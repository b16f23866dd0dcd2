"""The editor: real files of the project, and nothing else."""

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from app_laws import LOOKS, TEXTS, Act, done
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.apps import Refused
from sightline.apps.builtin.editor import Editor
from sightline.testing import MemoryStore


class Desk:
    """An editor in a session, and the project it works in."""

    def __init__(self, project: Path, target: str = "", **settings: Any) -> None:
        self.project = project
        self.session = sl.Session(
            MemoryStore(), apps=["editor"], project=project, settings=sl.Settings(**settings) if settings else None
        )
        self.id = self.session.windows.open("editor", target)

    def __getattr__(self, action: str) -> Any:
        """An action, done as the model does it."""
        return lambda **params: self.session.windows.act(self.id, action, **params)

    @property
    def window(self) -> Any:
        return self.session.windows.window(self.id)

    @property
    def app(self) -> Editor:
        app = self.window.app
        assert isinstance(app, Editor)
        return app

    def shown(self, lod: sl.Lod = sl.Lod.FULL) -> str:
        """What a model would be shown now."""
        self.session.windows.lod(self.id, lod)
        return str(self.session.windows.shown(10**9, lambda _, text: len(text))[self.id])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file, and a secret beside it."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("import os\n\n\ndef a():\n    return 1\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    return folder


@pytest.fixture
def desk(project: Path) -> Desk:
    """An editor that has the file open."""
    return Desk(project, "src/a.py")


def text_of(desk: Desk) -> str:
    with (desk.project / "src" / "a.py").open(newline="") as file:
        return file.read()


# ---------------------------------------------------------------------- never outside


def outside(project: Path) -> dict[str, str]:
    """Paths of every kind that lead out of the project, and what is no text in it."""
    secret = project.parent / "secret.txt"
    (project / "link.txt").symlink_to(secret)
    (project / "up").symlink_to(project.parent)
    (project / "loop").symlink_to("loop")
    (project / "null").symlink_to(os.devnull)
    (project / "binary").write_bytes(b"a\0b")
    (project / "latin").write_bytes(b"caf\xe9")
    (project / "large").write_bytes(b"x" * 4_000_001)
    os.mkfifo(project / "pipe")
    return {
        "../secret.txt": "outside",
        "src/../../secret.txt": "outside",
        str(secret): "outside",
        os.devnull: "outside",
        "link.txt": "outside",
        "up/secret.txt": "outside",
        "null": "outside",
        "../nothing": "outside",
        "..": "outside",
        "loop": "reached",
        "a\0b": "reached",
        "x" * 5000: "reached",
        "\ud800": "reached",
        "pipe": "regular",
        "src": "regular",
        ".": "regular",
        "nothing": "no such file",
        "src/a.py/b": "no such file",
        "~/x": "no such file",
        "binary": "UTF-8",
        "latin": "UTF-8",
        "large": "larger",
    }


def test_what_leads_out_or_is_no_text_is_refused_with_a_reason(project: Path, desk: Desk) -> None:
    """No path, however it is written, opens anything but a text file of the project."""
    for path, why in outside(project).items():
        outcome = desk.open(path=path)
        assert not outcome.success, path
        assert why in outcome.message, (path, outcome.message)
        with pytest.raises(Refused, match=why if path != "\ud800" else "no such file"):  # a target is made valid first
            Desk(project, path)
    assert desk.app.path == "src/a.py"
    assert "def a" in desk.shown()


def test_an_absolute_path_and_a_link_inside_the_project_open(project: Path, desk: Desk) -> None:
    """A file has one name, however it is reached."""
    (project / "inner").symlink_to("src")
    for path in (str(project / "src" / "a.py"), "inner/a.py", "./src/../src/a.py"):
        assert desk.open(path=path).success
        assert desk.app.path == "src/a.py"


def test_a_project_that_is_itself_a_link_is_no_way_out(project: Path) -> None:
    """The project's folder may be reached through a link."""
    (project.parent / "alias").symlink_to(project)
    desk = Desk(project.parent / "alias", "src/a.py")
    assert desk.edit(first=1, last=1, text="import re").success
    assert text_of(desk).startswith("import re\n")
    assert not desk.open(path="../secret.txt").success


def test_a_file_that_became_a_link_out_is_neither_read_nor_written(project: Path, desk: Desk) -> None:
    """Where a path leads is asked before every write, not only when it was opened."""
    (project / "src" / "a.py").unlink()
    (project / "src" / "a.py").symlink_to(project.parent / "secret.txt")
    assert "outside" in desk.edit(first=1, last=1, text="mine").message
    assert (project.parent / "secret.txt").read_text() == "secret\n"
    assert "secret\n" not in desk.shown()
    assert "outside the project" in desk.shown()


def test_a_folder_that_became_a_link_out_is_not_followed(project: Path, desk: Desk) -> None:
    """Neither does a folder on the way lead out, even to a file of the same text."""
    shutil.move(project / "src", project.parent / "elsewhere")
    (project / "src").symlink_to(project.parent / "elsewhere")
    before = (project.parent / "elsewhere" / "a.py").read_bytes()
    assert "outside" in desk.edit(first=1, last=1, text="mine").message
    assert "outside" in desk.undo().message + desk.replace(old="import", new="x").message
    assert (project.parent / "elsewhere" / "a.py").read_bytes() == before


def test_keys_and_secrets_are_not_opened(project: Path, desk: Desk) -> None:
    """What is called like one, stands in a folder called so, or is reached through a link that is or leads to one."""
    for path in (".env", "id_rsa", "certs/Server.PEM", ".ssh/config", "src/.aws/x", "sub/sightline.toml"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("hunter2\n")
        for said in (path, str(project / path), f"src/../{path}"):
            message = desk.open(path=said).message
            assert "keys or secrets" in message, said
            assert ("[tools] readable" in message) == (path != "sub/sightline.toml")  # no setting allows that one
    (project / "notes.txt").symlink_to(".env")
    (project / "keys").symlink_to(".ssh")
    (project / "shown.key").symlink_to("src/a.py")
    for path in ("notes.txt", "keys/config", "shown.key", "no.such.key"):
        assert "keys or secrets" in desk.open(path=path).message, path
    assert desk.app.path == "src/a.py"
    assert "hunter2" not in desk.shown()


def test_the_configuration_is_not_opened_under_any_name(project: Path, desk: Desk) -> None:
    """Neither the file that sightline.toml is a link to, nor one that is the same file."""
    (project / "settings").write_text('[model]\nkey = "hunter2"\n')
    assert desk.open(path="settings").success
    (project / "sightline.toml").symlink_to("settings")
    os.link(project / "settings", project / "also.txt")
    for path in ("settings", "sightline.toml", "also.txt"):
        assert "keys or secrets" in desk.open(path=path).message, path
    assert not desk.edit(first=1, last=1, text="").success
    assert "hunter2" not in desk.shown()
    assert "hunter2" in (project / "settings").read_text()


def test_a_file_that_became_a_link_to_a_secret_is_neither_read_nor_written(project: Path, desk: Desk) -> None:
    """It is asked anew, every time, where the path leads."""
    (project / ".env").write_text((project / "src" / "a.py").read_text())
    (project / "src" / "a.py").unlink()
    (project / "src" / "a.py").symlink_to("../.env")
    assert "keys or secrets" in desk.edit(first=1, last=1, text="mine").message
    assert "mine" not in (project / ".env").read_text()
    assert "keys or secrets" in desk.shown()


def test_an_editor_can_be_held_to_folders(project: Path) -> None:
    """By its session: links count by where they lead, and outside the project nothing opens at all."""
    (project / "docs" / "deep").mkdir(parents=True)
    (project / "linked").symlink_to("docs/deep")
    for path in ("docs/deep/b.md", "docs/c.md", "srcs.md"):
        (project / path).write_text("text\n")
    (project / "src" / "out.md").symlink_to("../docs/c.md")
    session = sl.Session(MemoryStore(), apps=[Editor], project=project, folders=("src", "linked"))
    window = session.windows.open("editor")
    for path in ("src/a.py", "docs/deep/b.md", "linked/b.md"):
        assert session.windows.act(window, "open", path=path).success, path
    for path in ("docs/c.md", "srcs.md", "src/out.md", "src/../docs/c.md"):
        assert "outside the folders" in session.windows.act(window, "open", path=path).message, path


def test_a_resumed_window_asks_again_where_its_path_leads(project: Path, desk: Desk) -> None:
    """What a log says of a path is not believed."""
    state = json.loads(json.dumps(desk.app.save())) | {"path": "../secret.txt"}
    desk.app.restore(state)
    assert "outside the project" in str(desk.app.page(sl.Lod.FULL))
    assert "secret\n" not in str(desk.app.page(sl.Lod.FULL))


# ---------------------------------------------------------------------- editing


@pytest.mark.parametrize(
    ("before", "first", "last", "text", "after"),
    [
        ("a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"),
        ("a\nb\nc\n", 2, 2, "x\ny\n", "a\nx\ny\nc\n"),
        ("a\nb\nc\n", 2, 3, "", "a\n"),
        ("a\nb\n", 2, 1, "x", "a\nx\nb\n"),
        ("a\nb\n", 3, 2, "x", "a\nb\nx\n"),
        ("a\nb\n", 1, 1, "\n", "\nb\n"),
        ("a\nb", 2, 2, "x", "a\nx"),
        ("a\nb", 3, 2, "x", "a\nb\nx"),
        ("a\nb", 2, 2, "", "a"),
        ("a\r\nb\r\n", 2, 2, "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\r\nb", 3, 2, "x\r\ny\r\n", "a\r\nb\r\nx\r\ny"),
        ("a\nb\r\nc\n", 1, 1, "x", "x\nb\r\nc\n"),
        ("", 1, 0, "x", "x\n"),
        ("a\u2028b\x0cc\n", 1, 1, "x", "x\n"),
        ("\ufeffa\n", 2, 1, "b", "\ufeffa\nb\n"),
    ],
)  # fmt: skip
def test_lines_are_replaced_inserted_and_deleted(
    project: Path, before: str, first: int, last: int, text: str, after: str
) -> None:
    """Line ends stay what they are, and a missing last one stays missing; undo brings every byte back."""
    (project / "src" / "a.py").write_bytes(before.encode())
    desk = Desk(project, "src/a.py")
    assert desk.edit(first=first, last=last, text=text).success
    assert text_of(desk) == after
    assert desk.undo().success
    assert text_of(desk) == before


@pytest.mark.parametrize(("first", "last"), [(0, 0), (1, 6), (7, 6), (4, 2), (-1, 2), (7, 7)])
def test_lines_that_there_are_not_are_refused(desk: Desk, first: int, last: int) -> None:
    """The message says how many there are, and the file stays as it is."""
    before = text_of(desk)
    for outcome in (desk.edit(first=first, last=last, text="x"), desk.select(first=first, last=last)):
        assert "there are 5" in outcome.message
    assert text_of(desk) == before
    assert not desk.goto(line=6).success
    assert not desk.goto(line=0).success


def test_a_text_that_occurs_once_is_replaced(desk: Desk) -> None:
    """It may span lines; one that occurs never, or twice even overlapping, is refused with the number."""
    assert desk.replace(old="a():\n    return 1", new="b():\n    return 2").success
    assert text_of(desk) == "import os\n\n\ndef b():\n    return 2\n"
    assert desk.replace(old="return 2", new="aaa").success
    assert "more than once" in desk.replace(old="aa", new="").message
    assert "does not occur" in desk.replace(old="nowhere", new="").message
    assert "does not occur" in desk.replace(old="", new="x").message


def test_replacing_knows_the_line_ends_that_it_does_not_show(project: Path) -> None:
    """A file with CRLF is edited as it is shown, and stays one with CRLF."""
    (project / "src" / "a.py").write_bytes(b"a\r\nb\r\nc")
    desk = Desk(project, "src/a.py")
    assert desk.replace(old="a\nb", new="x\ny\nz").success
    assert text_of(desk) == "x\r\ny\r\nz\r\nc"


def test_writing_keeps_permissions_and_leaves_nothing_behind(project: Path, desk: Desk) -> None:
    """The bits stay, and no temporary file remains, also where writing is refused."""
    place = project / "src" / "a.py"
    place.chmod(0o754)
    assert desk.edit(first=1, last=1, text="import re").success
    assert stat.S_IMODE(place.stat().st_mode) == 0o754
    place.chmod(0o444)
    assert "read-only" in desk.edit(first=1, last=1, text="import os").message
    assert [each.name for each in (project / "src").iterdir()] == ["a.py"]


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 4_000_001])
def test_what_could_not_be_opened_again_is_not_written(desk: Desk, text: str) -> None:
    """An edit does not make a text file something else."""
    before = text_of(desk)
    assert not desk.edit(first=1, last=1, text=text).success
    assert not desk.replace(old="import", new=text).success
    assert text_of(desk) == before
    assert desk.app.steps == []


def test_an_edit_that_changes_nothing_says_so(desk: Desk) -> None:
    """It is no step that undo would take back."""
    assert "already" in desk.edit(first=1, last=1, text="import os").message
    assert "nothing to undo" in desk.undo().message


def test_nothing_can_be_edited_before_a_file_is_open(project: Path) -> None:
    """An editor opens without a file and says how to open one."""
    desk = Desk(project)
    assert "no file is open" in desk.shown()
    for outcome in (desk.edit(first=1, last=0, text="x"), desk.undo(), desk.find(text="x"), desk.goto(line=1)):
        assert "open(path)" in outcome.message
    assert desk.open(path="src/a.py").success
    assert "def a" in desk.shown()


def test_find_goes_round(desk: Desk) -> None:
    """It goes to the next line that holds the text, after the last to the first, and names all of them."""
    assert "it is in 1, 5" in desk.find(text="r").message
    assert desk.app.cursor == 5
    desk.find(text="r")
    assert desk.app.cursor == 1
    assert not desk.find(text="nowhere").success
    assert not desk.find(text="").success


# ---------------------------------------------------------------------- undo, and others who write


def test_several_edits_are_undone_one_by_one(desk: Desk) -> None:
    """The last one first, until there is none left."""
    texts = [text_of(desk)]
    for number in range(5):
        desk.edit(first=1, last=0, text=f"# {number}")
        texts.append(text_of(desk))
    while len(texts) > 1:
        assert text_of(desk) == texts.pop()
        assert desk.undo().success
    assert text_of(desk) == texts[0]
    assert not desk.undo().success


@pytest.mark.slow
def test_undo_keeps_a_bounded_number_of_steps_and_bytes(desk: Desk) -> None:
    """Twenty edits, and 64 KB of what they replaced: the log is no copy of the file."""
    for number in range(25):
        desk.edit(first=1, last=1, text=f"# {number}")
    assert len(desk.app.steps) == 20
    for number in range(4):
        desk.edit(first=1, last=1, text=str(number) * 30_000)
    assert [len(step.old) for step in desk.app.steps] == [30_001, 30_001]
    desk.edit(first=1, last=1, text="y" * 70_000)
    desk.edit(first=1, last=1, text="z")
    assert desk.app.steps == []


def test_undo_is_refused_after_somebody_else_wrote(project: Path, desk: Desk) -> None:
    """It says so, before and after the editor has seen the change, and what the other wrote stays."""
    desk.edit(first=1, last=1, text="import re")
    (project / "src" / "a.py").write_text("theirs\n")
    assert "somebody else" in desk.undo().message
    assert "theirs" in desk.shown()
    assert "somebody else" in desk.undo().message
    assert text_of(desk) == "theirs\n"
    assert desk.edit(first=1, last=1, text="ours").success
    assert desk.undo().success
    assert "somebody else" in desk.undo().message
    assert text_of(desk) == "theirs\n"


def test_an_edit_of_a_text_that_is_no_longer_there_is_refused(project: Path, desk: Desk) -> None:
    """Line numbers of what somebody else has changed mean nothing: the model is told to look again, and sees it."""
    place = project / "src" / "a.py"
    old = place.stat()
    place.write_text("import os\n\n\ndef a():\n    return 2\n")  # as long, and of the same time: only the text tells
    os.utime(place, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert "look again" in desk.edit(first=5, last=5, text="    return 3").message
    assert "return 2" in desk.shown()
    assert desk.edit(first=5, last=5, text="    return 3").success


def test_a_change_outside_is_taken_in_and_an_unchanged_file_is_not_built_again(project: Path, desk: Desk) -> None:
    """The window shows the file as it is; the cursor stays inside it."""
    desk.goto(line=5)
    version = desk.window.document.version
    assert "return 1" in desk.shown()
    (project / "src" / "a.py").touch()
    desk.shown()
    assert desk.window.document.version == version
    (project / "src" / "a.py").write_text("short\n")
    assert "short" in desk.shown()
    assert desk.app.cursor == 1
    assert desk.window.document.version.major > version.major


def test_a_file_that_is_gone_is_shown_as_such_and_comes_back(project: Path, desk: Desk) -> None:
    """A missing file is no crash; when it is there again, so is its text, and the cursor."""
    desk.goto(line=4)
    text = (project / "src" / "a.py").read_text()
    (project / "src" / "a.py").unlink()
    assert "there is no such file" in desk.shown()
    assert "there is no such file" in desk.edit(first=1, last=1, text="x").message
    (project / "src" / "a.py").write_text(text)
    assert "█ 4 | def a():" in desk.shown()


edits = st.lists(
    st.tuples(
        st.integers(0, 12), st.integers(0, 6), st.text(st.sampled_from("ab\n\r é\u2028\t"), max_size=12), st.booleans()
    ),
    max_size=18,
)


@pytest.mark.slow
@given(st.text(st.sampled_from("ab\n\r é\u2028"), max_size=40), edits)
def test_random_edits_and_undos_bring_the_file_back(text: str, edits: list[tuple[int, int, str, bool]]) -> None:
    """Whatever is edited and undone in between, undoing all the rest gives the first file, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "file"
        place.write_bytes(text.encode())
        desk, stack = Desk(Path(folder), "file"), [text.encode()]
        for first, count, new, undo in edits:
            if undo and len(stack) > 1:
                assert desk.undo().success
                stack.pop()
            elif desk.edit(first=first, last=first + count - 1, text=new).success:
                stack.append(place.read_bytes())
            assert place.read_bytes() == stack[-1]
        for before in reversed(stack[:-1]):
            assert desk.undo().success
            assert place.read_bytes() == before


# ---------------------------------------------------------------------- what is shown


@pytest.mark.accepts(140)
def test_the_levels_show_a_line_a_part_and_a_large_part(project: Path) -> None:
    """GIST: one line; SUMMARY: twenty lines and an outline; FULL: two hundred, and what is above and below."""
    body = "".join(f"def f{number}():\n    return {number}\n" for number in range(500))
    (project / "src" / "a.py").write_text(body)
    desk = Desk(project, "src/a.py")
    desk.goto(line=501)
    gist, summary, full = (desk.window.app.page(lod).elements for lod in sl.Lod)
    assert [element.text for element in gist] == ["src/a.py | 1000 lines | Ln 501"]
    assert len(summary[1].body.split("\n")) == 20
    assert summary[2].body.startswith("  1 | def f0():\n")
    assert summary[2].body.endswith("… 460 more")
    lines = full[1].body.split("\n")
    assert len(lines) == 200
    assert lines[0] == "  402 |     return 200"
    assert "█ 501 | def f250():" in lines
    assert full[1].text == "█ cursor | 401 lines above, 399 below"
    assert desk.window.app.page(sl.Lod.FULL).title == "TextEditor: src/a.py"


def test_line_numbers_stand_right_aligned_and_the_selection_is_marked(desk: Desk) -> None:
    """`N | `, the cursor's line with a block, the selected ones with an arrow."""
    (desk.project / "src" / "a.py").write_text("x\n" * 10)
    desk.shown()
    desk.select(first=8, last=10)
    rows = desk.app.page(sl.Lod.FULL).elements[1].body.split("\n")
    assert rows == [*(f"   {number} | x" for number in range(1, 8)), "█  8 | x", ">  9 | x", "> 10 | x"]


def test_a_selection_longer_than_the_view_is_shown_from_its_beginning(desk: Desk) -> None:
    """The window stays within its lines."""
    (desk.project / "src" / "a.py").write_text("x\n" * 900)
    desk.shown()
    desk.select(first=300, last=800)
    rows = desk.app.page(sl.Lod.FULL).elements[1].body.split("\n")
    assert (len(rows), rows[0]) == (200, "█ 300 | x")


def test_markdown_is_outlined_by_its_headings(project: Path) -> None:
    """A comment in a program is no heading, and a definition in a text is none."""
    (project / "a.md").write_text("# One\ntext\n## Two\ndef no(): ...\n")
    (project / "b.py").write_text("# comment\nclass B:\n    async def c(self): ...\n")
    shown = {name: Desk(project, name).app.page(sl.Lod.SUMMARY).elements[2].body for name in ("a.md", "b.py")}
    assert shown == {"a.md": "1 | # One\n3 | ## Two", "b.py": "2 | class B:\n3 |     async def c(self): ..."}


def test_no_character_of_a_file_can_begin_a_row_and_a_long_line_is_cut(desk: Desk) -> None:
    """A row is a line of the file, whatever stands in it."""
    (desk.project / "src" / "a.py").write_bytes(b"a\r  9 | forged\x0b\x0c\n" + b"y" * 1000 + b"\n")
    desk.shown()
    rows = desk.app.page(sl.Lod.FULL).elements[1].body.split("\n")
    assert rows[0] == "█ 1 | a␍  9 | forged␋␌"
    assert rows[1].endswith("y… (+600)")


@pytest.mark.parametrize("form", ["xml", "markdown"])
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_it_speaks_both_languages_in_both_forms(project: Path, locale: str, form: str) -> None:
    """Every level shows the same actions, the same twice, and in XML what any parser reads."""
    (project / "src" / "a.py").write_text("</body></Window> ]]> & <b>\n```\n[button:undo] **[x]**\n")
    desk = Desk(project, "src/a.py", locale=locale, windows=form)
    assert ("已打开" if locale == "zh" else "opened") in desk.open(path="src/a.py").message
    offered: set[str] = set()
    for lod in sl.Lod:
        shown = desk.shown(lod)
        assert shown == desk.shown(lod)
        assert ("Ln 1" if locale == "en" else "第 1 行") in shown or lod > sl.Lod.GIST
        anchors = set(desk.window.context().anchors)
        assert offered <= anchors
        offered = anchors
        if form == "xml":
            root = ElementTree.fromstring(shown)
            tags = ["file", "Actions"] if lod is sl.Lod.GIST else ["Description", "Content", "Actions"]
            assert [child.tag for child in root] == tags


NUMBERS = st.integers(-1, 5)
ACTS = st.one_of(
    st.builds(lambda n, m, text: ("edit", {"first": n, "last": m, "text": text}), NUMBERS, NUMBERS, TEXTS),
    st.builds(lambda n, m: ("select", {"first": n, "last": m}), NUMBERS, NUMBERS),
    st.builds(lambda old, new: ("replace", {"old": old, "new": new}), st.sampled_from("ab\n"), TEXTS),
    st.builds(lambda text: ("find", {"text": text}), TEXTS),
    st.builds(lambda path: ("open", {"path": path}), st.one_of(TEXTS, st.sampled_from(["file", "other.md"]))),
    st.sampled_from([("goto", {"line": 2}), ("undo", {})]),
)


@pytest.mark.slow
@given(LOOKS, st.lists(ACTS, max_size=6))
def test_whatever_is_done_the_laws_hold(look: sl.Settings, acts: list[Act]) -> None:
    """Any acts with any texts keep views equal, levels nested, XML well-formed and saved data whole."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_text("a\nb\n")
        (Path(folder) / "other.md").write_text("# a\n")
        session = sl.Session(MemoryStore("apps"), apps=["editor"], project=folder, settings=look)
        done(session, session.windows.open("editor", "file"), acts)


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8")))
def test_whatever_a_file_holds_the_window_is_well_formed(text: str) -> None:
    """No text can break the XML, or stand for a marker in Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(text.replace("\0", "").encode())
        desk = Desk(Path(folder), "file")
        root = ElementTree.fromstring(desk.shown())
        assert len(root.findall("./Content/*")) == 1 + bool(text.replace("\0", ""))


# ---------------------------------------------------------------------- resuming


@pytest.mark.accepts(364)
def test_a_resumed_editor_shows_the_file_as_it_is_now_and_can_still_undo(tmp_path: Path, project: Path) -> None:
    """The log holds path, cursor and steps but not the text; the text comes from the file."""
    place = project / "src" / "a.py"
    before = place.read_bytes()
    session = sl.Session.new(project, root=tmp_path / "logs", session_id="one", apps=["editor"])
    window = session.windows.open("editor", "src/a.py")
    session.windows.act(window, "edit", first=2, last=1, text="# marvellous")
    session.windows.act(window, "select", first=4, last=5)
    session.close()
    logs = "".join(each.read_text() for each in (tmp_path / "logs").rglob("*.jsonl"))
    assert "marvellous" not in logs

    resumed = sl.Session.resume("one", project, root=tmp_path / "logs", apps=["editor"])
    found = resumed.windows.window(window)
    assert found is not None
    assert isinstance(found.app, Editor)
    assert (found.app.path, found.app.cursor, found.app.selection) == ("src/a.py", 4, (4, 5))
    assert "marvellous" in found.render()
    assert resumed.windows.act(window, "undo").success
    assert place.read_bytes() == before
    resumed.close()


def test_a_resumed_editor_whose_file_was_changed_or_is_gone_says_so(tmp_path: Path, project: Path) -> None:
    """Between two runs anything may happen to a file."""
    session = sl.Session.new(project, root=tmp_path / "logs", session_id="one", apps=["editor"])
    window = session.windows.open("editor", "src/a.py")
    session.windows.act(window, "edit", first=5, last=5, text="    return 2")
    session.close()
    (project / "src" / "a.py").write_text("theirs\n")
    resumed = sl.Session.resume("one", project, root=tmp_path / "logs", apps=["editor"])
    assert "somebody else" in resumed.windows.act(window, "undo").message
    resumed.close()
    (project / "src" / "a.py").unlink()
    again = sl.Session.resume("one", project, root=tmp_path / "logs", apps=["editor"])
    found = again.windows.window(window)
    assert found is not None
    assert "there is no such file" in found.render()
    again.close()
