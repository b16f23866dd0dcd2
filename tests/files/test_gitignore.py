"""What git ignores is left out of listings and searches, and can be read by whoever names it."""

import sys
from pathlib import Path

import pytest
from tool_project import called

from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.errors import ToolFailed
from sightline.files import gitignore


def make(root: Path, files: dict[str, str]) -> None:
    """Write these files."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def listed(folders: Folders, path: str = "") -> list[str]:
    """The paths of all files that are listed."""
    return [found.path for found in folders.walk(path) if found.kind == "file"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with patterns in three places."""
    root = tmp_path / "shop"
    make(
        root,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/info/exclude": "private.txt\n",
            ".gitignore": "# made\r\nbuild/\n*.log\n!keep.log\n/only_here.txt\n\n",
            "app.py": "tea\n",
            "a.log": "tea\n",
            "keep.log": "tea\n",
            "private.txt": "tea\n",
            "only_here.txt": "tea\n",
            "build/out.js": "tea\n",
            "src/only_here.txt": "tea\n",
            "src/b.log": "tea\n",
            "src/.gitignore": "!b.log\n*.tmp\ngenerated\n",
            "src/x.tmp": "tea\n",
            "src/generated/api.py": "tea\n",
            "x.tmp": "tea\n",
        },
    )
    return root


SHOWN = [".gitignore", "app.py", "keep.log", "src/.gitignore", "src/b.log", "src/only_here.txt", "x.tmp"]


def test_ignored_files_are_neither_listed_nor_searched(repository: Path) -> None:
    """Nested files, negations, anchors, folders and `.git/info/exclude` count; the deepest pattern wins."""
    folders = Folders([repository])
    assert listed(folders) == SHOWN
    found = called(search_files(folders), query="tea").splitlines()
    assert [line.partition(":")[0] for line in found] == [path for path in SHOWN if not path.endswith(".gitignore")]
    assert called(list_files(folders), pattern="*.js") == "[no files]"


def test_what_is_named_exactly_is_read(repository: Path) -> None:
    """An ignored file can be read, and an ignored folder listed and searched, by its name."""
    folders = Folders([repository])
    assert "tea" in called(file_reader(folders), path="build/out.js")
    assert "tea" in called(file_reader(folders), path="a.log")
    assert listed(folders, "build") == ["build/out.js"]
    assert called(search_files(folders), query="tea", path="src/generated") == "src/generated/api.py:1: tea"


def test_the_folders_above_count_up_to_the_repository(repository: Path) -> None:
    """A folder of a repository has the patterns of those above it, and not of those above the repository."""
    (repository.parent / ".gitignore").write_text("*\n")
    assert listed(Folders([repository / "src"])) == [".gitignore", "b.log", "only_here.txt"]
    assert listed(Folders([repository]), "src") == ["src/.gitignore", "src/b.log", "src/only_here.txt"]
    assert listed(Folders([repository])) == SHOWN


def test_a_repository_in_another_has_its_own_rules(repository: Path) -> None:
    """As git has it; a worktree, whose `.git` is a file, uses the file that all worktrees share."""
    make(repository, {"inner/.git/HEAD": "", "inner/c.log": "tea\n", "inner/d.tmp": "", "inner/.gitignore": "*.tmp\n"})
    assert listed(Folders([repository]), "inner") == ["inner/.gitignore", "inner/c.log"]
    tree = repository.parent / "tree"
    shared = repository / ".git" / "worktrees" / "tree"
    make(tree, {".git": f"gitdir: {shared}\n", "private.txt": "", "open.txt": ""})
    make(shared, {"HEAD": "", "commondir": "../..\n"})
    assert listed(Folders([tree])) == ["open.txt"]


def test_patterns_count_without_a_repository(tmp_path: Path) -> None:
    """A folder that is no repository, such as an unpacked archive, has its patterns too."""
    make(tmp_path, {".gitignore": "out\n", "out/a.txt": "", "b.txt": ""})
    assert listed(Folders([tmp_path])) == [".gitignore", "b.txt"]


def test_secrets_stay_hidden(tmp_path: Path) -> None:
    """No negation makes a file of secrets readable."""
    make(tmp_path, {".gitignore": "!.env\n", ".env": "KEY=1\n"})
    assert listed(Folders([tmp_path])) == [".gitignore"]
    with pytest.raises(ToolFailed, match=r"\.env is refused: .* \[tools\] readable"):
        called(file_reader(Folders([tmp_path])), path=".env")


def test_without_the_library_the_fixed_list_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core alone lists and searches, without what tools make."""
    gitignore._compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "pathspec", None)
    make(repository, {"node_modules/a.js": "tea\n"})
    names = listed(Folders([repository]))
    gitignore._compiled.cache_clear()
    assert "a.log" in names
    assert "build/out.js" in names
    assert not [name for name in names if name.startswith(("node_modules", ".git/"))]


def test_patterns_are_read_once_for_each_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are."""
    make(repository, {f"src/f{number}.txt": "" for number in range(100)})
    read: list[Path] = []
    real = gitignore.read_beginning

    def counted(path: Path, most_bytes: int, *, flags: int = 0) -> bytes:
        read.append(path)
        return real(path, most_bytes, flags=flags)

    monkeypatch.setattr(gitignore, "read_beginning", counted)
    listed(Folders([repository]))
    files = [repository / ".git/info/exclude", repository / ".gitignore", repository / "src/.gitignore"]
    assert read == files


def test_hostile_patterns_do_no_harm(tmp_path: Path) -> None:
    """One that would take for ever is not used; broken ones, a link, a pipe's worth of bytes change nothing else."""
    root = tmp_path / "shop"
    hostile = "*a" * 30 + "b\n" + "[z-\n" + "!\n" + "**/" * 50 + "x\n" + "\\\n"
    make(root, {".gitignore": hostile + "*.log\n", "a" * 200: "", "x.log": "", "sub/kept.txt": ""})
    (tmp_path / "outside").write_text("kept.txt\n")
    (root / "sub" / ".gitignore").symlink_to(tmp_path / "outside")
    assert listed(Folders([root])) == [".gitignore", "a" * 200, "sub/kept.txt"]
