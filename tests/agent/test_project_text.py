"""Which files of a project and of the folders above it instruct agents."""

from pathlib import Path

from sightline.agent.project_text import folders_of, present, read_texts


def words(text: str) -> int:
    return len(text.split())


def test_folders_go_up_to_the_root_of_the_repository_and_no_further(tmp_path: Path) -> None:
    """Without a repository there is only the project; a file `.git` of a worktree is a root too."""
    project = tmp_path / "a" / "b"
    project.mkdir(parents=True)
    assert folders_of(project) == [project]
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")
    assert folders_of(project) == [tmp_path / "a", project]
    (project / ".git").mkdir()
    assert folders_of(project) == [project]


def test_the_nearest_file_comes_last_and_is_cut_last(tmp_path: Path) -> None:
    """Where there is room for one of them only, it is that of the project."""
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("above " * 20)
    (project / "AGENTS.md").write_text("near " * 20)
    folders = folders_of(project)
    assert present(project, folders) == ["../AGENTS.md", "AGENTS.md"]
    assert present(project, folders[:1]) == ["../AGENTS.md"]
    whole = read_texts(project, folders, words, 8 * 1000).texts
    assert [each[2:] for each in whole] == [(20, False), (20, False)]
    assert [each.name for each in whole] == ["../AGENTS.md", "AGENTS.md"]
    cut = read_texts(project, folders, words, 8 * 25).texts
    assert [(each.name, each.cut) for each in cut] == [("../AGENTS.md", True), ("AGENTS.md", False)]
    assert cut[0].tokens <= 5


def test_a_link_may_not_lead_out_of_the_folder_that_has_it(tmp_path: Path) -> None:
    """A file above the project is held to the same rules as one of the project."""
    project = tmp_path / "repository" / "shop"
    project.mkdir(parents=True)
    (project.parent / ".git").mkdir()
    (tmp_path / "elsewhere.md").write_text("Use a typewriter.")
    (project.parent / "AGENTS.md").symlink_to(tmp_path / "elsewhere.md")
    found = read_texts(project, folders_of(project), words, 100_000)
    assert (found.texts, found.unread) == ((), ("../AGENTS.md",))
