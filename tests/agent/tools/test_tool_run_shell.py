"""Shell scripts that a model wrote: they work, and are confined exactly as its Python programs are."""

import os
import sys
from pathlib import Path

import pytest
from tool_project import SECRET, Project, called

from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.program import run_shell
from sightline.agent.tools.sandbox.run import Limits, protection
from sightline.errors import ToolFailed


@pytest.fixture
def shell(here: Project) -> Tool:
    """The tool, with time enough on a busy machine."""
    return run_shell(here.folders, limits=Limits(seconds=60), keep=here.root / "runs")


def test_a_script_reads_copies_and_what_it_writes_is_kept(here: Project, shell: Tool) -> None:
    """Pipes and the system's programs work on the named files; the project itself stays as it was."""
    script = "sort -r notes.txt | head -n 2 | tee sorted.txt\necho changed > notes.txt; echo oops >&2; exit 3"
    lines = called(shell, command=script, files=["notes.txt"]).splitlines()
    assert lines[:5] == ["[exit status 3]", "third", "second", "[errors]", "oops"]
    assert lines[5].startswith("[files written, kept in ")
    assert "sorted.txt" in lines[5]
    assert "notes.txt" in lines[5]  # the changed copy is kept too
    assert (here.root / "notes.txt").read_text() == "first\nsecond\nthird\n"


def test_two_files_of_one_name_are_refused(here: Project, tmp_path: Path) -> None:
    """From two folders outside the project, one would take the place of the other; a file named twice is one file."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.csv").write_text(name)
    shell = run_shell(Folders([here.root, tmp_path / "one", tmp_path / "two"]), limits=Limits(seconds=60))
    both = [str(tmp_path / name / "data.csv") for name in ("one", "two")]
    with pytest.raises(ToolFailed, match=r"two of the files would be data\.csv"):
        called(shell, command="cat data.csv", files=both)
    assert "one" in called(shell, command="cat data.csv", files=[both[0], both[0]])


def test_a_script_sees_no_other_file_and_nothing_of_ours(
    here: Project, shell: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files that were not named, nor those outside, nor the environment; it cannot write there either."""
    monkeypatch.setenv("OPENAI_API_KEY", "do not tell")
    target = here.root / "new.txt"
    script = f"cat {here.outside}/secret.txt {here.root}/notes.txt; env; echo x > {target}; ls"
    answer = called(shell, command=script)
    assert SECRET not in answer
    assert "first" not in answer
    assert "do not tell" not in answer
    assert not target.exists()
    with pytest.raises(ToolFailed, match="outside"):
        called(shell, command="true", files=[str(here.outside / "secret.txt")])


def test_a_script_has_no_network(shell: Tool) -> None:
    """Whatever program of the system it starts."""
    code = "import socket; socket.create_connection(('127.0.0.1', 9), 5)"
    answer = called(shell, command=f'"{os.path.realpath(sys.executable)}" -I -c "{code}"; exec 3<>/dev/tcp/127.0.0.1/9')
    assert not answer.startswith("[exit status 0]")
    assert "refused" not in answer.lower()  # it does not even reach a port that nobody listens on
    assert "PermissionError" in answer or "Network is unreachable" in answer


@pytest.mark.slow
def test_the_limits_of_a_program_hold_for_all_that_a_script_starts(here: Project) -> None:
    """Time, processes and disk."""
    limits = Limits(seconds=60, processes=20, disk=1 << 20, file_bytes=1 << 19)
    many = called(run_shell(here.folders, limits=limits), command="for i in $(seq 60); do sleep 50 & done; wait")
    assert many.startswith("[stopped: it had more than 20") or "fork" in many  # the kernel stops all but root
    large = "for i in 1 2 3 4 5 6; do head -c 400000 /dev/zero > f$i; done; sleep 50"
    assert called(run_shell(here.folders, limits=limits), command=large).startswith("[stopped: it wrote too much]")
    short = called(run_shell(here.folders, limits=Limits(seconds=1)), command="sleep 50 & sleep 50")
    assert short.startswith("[stopped after 1 s]")


def test_without_protection_the_shell_is_not_to_be_had(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the tool."""
    monkeypatch.setattr(sys, "platform", "darwin")
    protection.cache_clear()
    try:
        with pytest.raises(ToolFailed, match="run_shell is not available"):
            run_shell(here.folders)
    finally:
        protection.cache_clear()


def test_the_description_names_the_shell(here: Project) -> None:
    """In both languages."""
    name = "bash" if Path("/bin/bash").is_file() else "sh"
    for locale in ("en", "zh"):
        assert f"{name} " in run_shell(here.folders, locale=locale).definition.description
