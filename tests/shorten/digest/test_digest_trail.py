"""The artifact trail: what was done to which file, whichever agent's tools did it."""

from typing import Any

import pytest
from conversations import Conversation

from sightline.shorten.digest import Touched, trail
from sightline.values.items import Kind

Counts = dict[str, str]


def done(talk: Conversation) -> Counts:
    """For every path what was done, one letter each time: c(reated), m (changed), r(ead), d(eleted)."""
    return {
        file.path: "c" * file.created + "m" * file.changed + "r" * file.read + "d" * file.deleted
        for file in trail(talk.items)
    }


@pytest.mark.parametrize(
    ("name", "given", "result", "expected"),
    [
        ("Read", {"file_path": "/a/b.py"}, "1→x", "r"),
        ("Edit", {"file_path": "/a/b.py", "old_string": "x", "new_string": "y"}, "updated", "m"),
        ("MultiEdit", {"file_path": "/a/b.py", "edits": [{"old_string": "x", "new_string": "y"}]}, "ok", "m"),
        ("Write", {"file_path": "/a/b.py", "content": "x"}, "File created successfully at: /a/b.py", "c"),
        ("Write", {"file_path": "/a/b.py", "content": "x"}, "The file /a/b.py has been updated.", "m"),
        ("NotebookEdit", {"notebook_path": "/a/b.py", "new_source": "x"}, "ok", "m"),
        ("read_file", {"path": "/a/b.py"}, "x", "r"),
        ("write_file", {"path": "/a/b.py", "content": "x"}, "ok", "c"),
        ("create_file", {"filePath": "/a/b.py", "content": "x"}, "ok", "c"),
        ("edit_file", {"target_file": "/a/b.py"}, "ok", "m"),
        ("delete_file", {"path": "/a/b.py"}, "ok", "d"),
        ("mcp__files__read_file", {"path": "/a/b.py"}, "x", "r"),
        ("str_replace_editor", {"command": "view", "path": "/a/b.py"}, "x", "r"),
        ("str_replace_editor", {"command": "create", "path": "/a/b.py", "file_text": "x"}, "ok", "c"),
        ("str_replace_editor", {"command": "str_replace", "path": "/a/b.py"}, "ok", "m"),
        ("str_replace_editor", {"path": "/a/b.py", "start": 1}, "x", "r"),
        ("editor", {"path": "/a/b.py", "old_text": "x", "new_text": "y"}, "ok", "m"),
        ("read_files", {"files": [{"path": "/a/b.py"}]}, "x", "r"),
        ("run_commands", {"commands": ["cat /a/b.py"]}, "x", "r"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: /a/b.py\n-x\n+y\n*** End Patch"}, "Success", "m"),
        ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Add File: /a/b.py\n+x\n*** End Patch"]}, "ok", "c"),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,20p' /a/b.py"]}, "x", "r"),
        ("exec_command", {"cmd": "cat /a/b.py", "workdir": "/a"}, "Process exited with code 0\nOutput: x", "r"),
    ],
)  # fmt: skip
def test_tools_of_many_agents_are_understood(name: str, given: dict[str, Any], result: str, expected: str) -> None:
    """A call of any of them leaves its mark on the file it names."""
    assert done(Conversation().call(name, given, result)) == {"/a/b.py": expected}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py b.py", {"a.py": "r", "b.py": "r"}),
        ("cd /srv && head -n 20 a.py | tail -5", {"a.py": "r"}),
        ("sed -n '1,5p;9p' 'my file.py'", {"my file.py": "r"}),
        ("sed -i 's/a/b/' a.py && git diff", {"a.py": "m"}),
        ("sed -i '' -e 's/a > b/c/' a.py", {"a.py": "m"}),
        ("cat > new.py <<'EOF'\nopen('other.py', 'w')\nrm x\nEOF", {"new.py": "c"}),
        ("cat <<EOF > new.py && python new.py\nopen('data.txt', 'w')\nEOF", {"new.py": "c", "data.txt": "c"}),
        ("echo hi >> log.txt 2>/dev/null", {"log.txt": "m"}),
        ("make 2>&1 | tee build.log", {"build.log": "c"}),
        ("make > /dev/null 2> err.txt", {}),
        ("rm -rf a.py b.py", {"a.py": "d", "b.py": "d"}),
        ("mv a.py lib/b.py", {"a.py": "d", "lib/b.py": "c"}),
        ("git mv a.py lib/", {"a.py": "d", "lib/a.py": "c"}),
        ("cp a.py b.py", {"a.py": "r", "b.py": "c"}),
        ("git checkout -- a.py", {"a.py": "m"}),
        ("git checkout main", {}),
        ("touch a.py; cat ./a.py", {"a.py": "cr"}),
        ("python3 - <<'PY'\np = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nPY", {"a.py": "m"}),
        ("python -c \"from pathlib import Path; Path('a.py').write_text('x')\"", {"a.py": "c"}),
        ("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF", {"a.py": "d"}),
        ("git apply <<'EOF'\n--- a/a.py\n+++ b/a.py\nEOF", {"a.py": "m"}),
        ("for f in *.py; do cat $f; done; grep -n 'a -> b' src", {}),
        ("echo \"unbalanced", {}),
        ("git commit -m 'use a => b instead of c > d'", {}),
    ],
)  # fmt: skip
def test_plain_shell_commands_are_understood(command: str, expected: Counts) -> None:
    """What a command line says plainly about files is known; what it leaves open is not guessed."""
    assert done(Conversation().bash(command)) == expected


def test_a_script_written_earlier_does_what_it_says_when_it_is_run() -> None:
    """An agent with a shell only changes files by scripts it writes first."""
    talk = Conversation().bash(
        "cat <<'EOF' > fix.py\npath = 'lib/core.py'\ntext = open(path).read()\nopen(path, 'w').write(text)\nEOF"
    )
    assert done(talk) == {"fix.py": "c"}
    assert done(talk.bash("python3 fix.py && rm fix.py")) == {"fix.py": "cd", "lib/core.py": "m"}


def test_a_failed_call_touched_nothing() -> None:
    """Neither an edit that found no match nor a file that was not there is in the trail."""
    talk = Conversation().call("Edit", {"file_path": "/a.py"}, "String not found", error="failed")
    talk.call("Read", {"file_path": "/b.py"}, "<tool_use_error>File does not exist.</tool_use_error>")
    assert done(talk.bash("cat c.py", "cat: c.py: No such file or directory\nExit code 1")) == {}


def test_writing_to_a_known_file_changes_it() -> None:
    """Created is what was not there: not what was read, written or made before, unless it was deleted since."""
    talk = Conversation().bash("cat a.py").bash("echo 1 > a.py").bash("echo 2 > b.py").bash("echo 3 > b.py")
    assert done(talk) == {"a.py": "mr", "b.py": "cm"}


def test_a_relative_path_is_the_absolute_one_that_ends_with_it() -> None:
    """One file under two names is one file; where two could be meant they stay apart."""
    talk = Conversation().call("Read", {"file_path": "/srv/app/src/core.py"}, "x").bash("sed -i s/a/b/ src/core.py")
    assert done(talk) == {"/srv/app/src/core.py": "mr"}
    talk.call("Read", {"file_path": "/srv/old/src/core.py"}, "x")
    assert done(talk)["src/core.py"] == "m"


def test_an_answer_is_no_reason_for_the_next_call() -> None:
    """Also where the question between them is not among the items, because a summary has it already."""
    talk = Conversation().call("Read", {"file_path": "/a.py"}, "x").says("I changed the lock in /a.py.")
    talk.user("And the next?").call("Read", {"file_path": "/b.py"}, "x")
    for items in (talk.items, [item for item in talk.items if item.kind is not Kind.USER]):
        assert [file.why for file in trail(items)] == ["", ""]


def test_the_reason_is_what_was_said_just_before() -> None:
    """The assistant's words say why; where it said nothing, the first new line of the edit does."""
    talk = Conversation().call("Read", {"file_path": "/a.py"}, "x", says="Let me check how the cache is filled.")
    talk.user("Go on.").call(
        "Edit", {"file_path": "/a.py", "old_string": "one\ntwo", "new_string": "one\nthree = lock()"}
    )
    (file,) = trail(talk.items)
    assert file == Touched("/a.py", changed=1, read=1, why="three = lock()", last="4.1", place=5)
    (read,) = trail(talk.items[:3])
    assert read.why == "check how the cache is filled"
