"""What a call does, and what it is about."""

import time
from typing import Any

import pytest

from sightline.shorten import Purpose, effect_of, purpose_of
from sightline.values.items import Call


@pytest.mark.parametrize(("tool", "arguments", "purpose"), [
    ("Read", {"file_path": "a.py", "offset": 3}, Purpose.READ),
    ("view", {"path": "a.py"}, Purpose.READ),
    ("bash", {"command": "cat a.py"}, Purpose.SHOW),
    ("bash", {"command": "cd src && sed -n '1,20p' a.py"}, Purpose.SHOW),
    ("shell", {"command": ["bash", "-lc", "nl -ba a.py | head -5"]}, Purpose.SHOW),
    ("shell", {"command": "sed -n '1,5p;9p' a.py; echo ---; cat b.py 2>/dev/null"}, Purpose.SHOW),
    ("bash", {"command": "cat -n a.py | head"}, Purpose.SHOW),
    ("bash", {"command": "cat a.py | nl | sed -n '1,5p' | cut -c1-80"}, Purpose.SHOW),
    ("bash", {"command": "cat a.py | grep x"}, Purpose.SHOW),
    ("bash", {"command": "cat a.py | wc -l"}, Purpose.COMMAND),
    ("bash", {"command": "cat a.py | headers"}, Purpose.COMMAND),
    ("bash", {"command": "cat a.log; make test"}, Purpose.COMMAND),
    ("bash", {"command": "cat a.log\nmake test"}, Purpose.COMMAND),
    ("bash", {"command": "cat a.log | sort"}, Purpose.COMMAND),
    ("bash", {"command": "cat a.py " + "b.py " * 500}, Purpose.COMMAND),
    ("editor", {"path": "a.py", "command": "view"}, Purpose.READ),
    ("edit_tool", {"path": "a.py", "command": "view"}, Purpose.READ),
    ("edit_tool", {"path": "a.py", "command": "undo_edit"}, Purpose.CHANGE),
    ("write_file", {"path": "a.py", "text": "x"}, Purpose.WRITE),
    ("saveFile", {"path": "a.py", "body": "x"}, Purpose.WRITE),
    ("delete_file", {"path": "a.py"}, Purpose.CHANGE),
    ("dispatch", {"path": "a.py"}, Purpose.READ),
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, Purpose.CHANGE),
    ("edit", {"path": "a.py", "edits": []}, Purpose.CHANGE),
    ("Write", {"file_path": "a.py", "content": "x"}, Purpose.WRITE),
    ("create", {"path": "a.py", "file_text": "x"}, Purpose.WRITE),
    ("grep", {"path": "src", "pattern": "x"}, Purpose.SEARCH),
    ("list_files", {"path": "src"}, Purpose.SEARCH),
    ("search", {"query": "x"}, Purpose.SEARCH),
    ("bash", {"command": "make test"}, Purpose.COMMAND),
    ("Read", {"filepath": "a.py"}, Purpose.READ),  # Continue's
    ("Write", {"filepath": "a.py", "content": "x"}, Purpose.WRITE),
    ("List", {"dirpath": "src"}, Purpose.SEARCH),
    ("read_files", {"files": [{"path": "a.py", "start_line": 3}]}, Purpose.READ),  # Cline's
    ("commit", {"files": ["a.py"]}, Purpose.OTHER),
    ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"}, Purpose.CHANGE),
    ("run_commands", {"commands": ["cat a.py", "ls"]}, Purpose.SHOW),
    ("run_commands", {"commands": ["make test"]}, Purpose.COMMAND),
    ("bash", {"command": "cat > a.py <<'EOF'\nx\nEOF"}, Purpose.WRITE),
    ("write_stdin", {"session": 3, "chars": ""}, Purpose.COMMAND),
    ("Task", {"prompt": "look at a.py"}, Purpose.REPORT),
    ("spawn_agent", {"prompt": "look"}, Purpose.REPORT),
    ("get_order", {"order_id": "W1"}, Purpose.OTHER),
    ("task_update", {"status": "done"}, Purpose.OTHER),
    ("anything", "no object", Purpose.OTHER),
])  # fmt: skip
def test_the_purpose_of_a_call(tool: str, arguments: Any, purpose: Purpose) -> None:
    assert purpose_of(Call("1", tool, arguments)) is purpose


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(("command", "paths"), [
    ("sed -n '1,200p' a.py", ["a.py"]),
    ("nl -ba ./src//a.py | sed -n '5,9p'", ["src/a.py"]),
    ("awk 'NR>=3 && NR<=9' a.py", ["a.py"]),
    ("head -n 20 a.py; tail -5 b.py", ["a.py", "b.py"]),
    ("sed -ne '3p' a.py", ["a.py"]),
    ("sed -n --expression='3p' a.py", ["a.py"]),
    ("grep -ne 'def x' a.py", ["a.py"]),
    ("git show HEAD~1:src/a.py | sed -n '1,20p'", ["src/a.py"]),
    ("git -C repo --no-pager show main:a.py", ["a.py"]),
    ("git blame -L 3,9 src/a.py", ["src/a.py"]),
    ("grep -n 'def x' a.py b.py", ["a.py", "b.py"]),
    ("rg -n -C 3 'x|y' src/a.py", ["src/a.py"]),
    ("grep -nA 20 x a.py | head -5", ["a.py"]),
    ("cd src && sed -n '1,20p' a.py && sed -n '1,5p' b.py; echo ---", ["src/a.py", "src/b.py"]),
    ("(cd src && cat a.py); cat b.py", ["src/a.py", "b.py"]),
    ("x=$(cd /srv; (cd deep; pwd)); cd src; cat a.py", ["src/a.py"]),
    ("bash -c 'cd src && cat a.py'; cat b.py", ["src/a.py", "b.py"]),
    ("cd /w/src\n# the middle\nsed -n '1,20p' ../a.py", ["/w/a.py"]),
    ("pwd && ls && git status --short && cat a.py", ["a.py"]),
    ("rg -n x src | head && cat a.py", ["a.py"]),
    ("wc -l a.py; sed -n \\\n '1,5p' a.py 2>&1", ["a.py"]),
    ("for f in a.py b.py; do echo \"== $f\"; sed -n '1,5p' \"src/$f\"; done", ["src/a.py", "src/b.py"]),
    ("F=src/a.py; if [ -f $F ]; then cat ${F}; fi || true", ["src/a.py"]),
    ("timeout 10 cat a.py", ["a.py"]),
    ("bash -lc \"sed -n '1,5p' a.py\"", ["a.py"]),
    ("cat *.py", ["cat *.py"]),
    ("rg -A3 x src", ["rg -A3 x src"]),
    ("find . -name '*.py' -exec sed -n '1,9p' {} +", ["find . -name '*.py' -exec sed -n '1,9p' {} +"]),
    ("rg -l x | xargs cat", ["rg -l x | xargs cat"]),
])  # fmt: skip
def test_a_command_shows_these_files(command: str, paths: list[str]) -> None:
    """In the words of several agents. Where nothing names the files, the command is the subject."""
    assert effect_of(Call("1", "bash", {"command": command})) == (Purpose.SHOW, Purpose.SHOW, tuple(paths))


@pytest.mark.parametrize("command", [
    "rg -n x src", "grep -rn x .", "grep -c x a.py", "rg -l x a.py", "ls -la", "git show HEAD", "git diff a.py",
    "sed -n 1p a.py && pytest", "cat a.py | python -c 'print(1)'", "cat <<EOF\nx\nEOF", "x=$(make) && cat a.py",
    "pytest > out.txt; tail -50 out.txt", "cat a.py >/dev/null && make", "echo cat a.py", "", "'", "|",
    't=$(mktemp -d); make > "$t/out"; head "$t/out"', "F=out.txt; make > $F; cat $F",
    "rg x > hits; cat hits", "make 2> err >/dev/null; cat err",
    "make | tee out.txt >/dev/null; cat out.txt", "for f in a b; do make $f > $f.log; cat $f.log; done",
])  # fmt: skip
def test_a_command_does_not_show_files(command: str) -> None:
    """It prints something else too, only names and lines out of files, or what another command of it has written."""
    assert effect_of(Call("1", "bash", {"command": command})).result is Purpose.COMMAND


@pytest.mark.parametrize("arguments", [
    {"cmd": "cat a.py", "workdir": "/w"},
    {"command": ["bash", "-lc", "cat a.py"], "workdir": "/w/"},
    {"command": ["/bin/zsh", "-c", "cd /w && cat a.py"], "workdir": "/elsewhere"},
    {"command": '["bash","-lc","cat a.py"]', "cwd": "/w"},
    '{"cmd": "cat a.py", "workdir": "/w"}',
])  # fmt: skip
def test_a_command_in_any_form_of_arguments(arguments: Any) -> None:
    """Text, words, JSON; the folder that it runs in is a part of the path."""
    assert effect_of(Call("1", "exec_command", arguments)) == (Purpose.SHOW, Purpose.SHOW, ("/w/a.py",))


@pytest.mark.parametrize(("tool", "arguments", "effect"), [
    ("apply_patch", {"input": PATCH}, (Purpose.CHANGE, Purpose.CHANGE, ("src/a.py", "b.py"))),
    ("apply_patch", {"patch": PATCH}, (Purpose.CHANGE, Purpose.CHANGE, ("src/a.py", "b.py"))),
    ("apply_patch", PATCH, (Purpose.CHANGE, Purpose.CHANGE, ("src/a.py", "b.py"))),
    ("shell", {"command": ["apply_patch", PATCH]}, (Purpose.CHANGE, Purpose.COMMAND, ("src/a.py", "b.py"))),
    ("bash", {"command": f"cd w && apply_patch <<'EOF'\n{PATCH}\nEOF"},
     (Purpose.CHANGE, Purpose.COMMAND, ("w/src/a.py", "w/b.py"))),
    ("bash", {"command": "cat > a.py <<'EOF'\nx\nEOF\npython a.py"}, (Purpose.WRITE, Purpose.COMMAND, ("a.py",))),
    ("bash", {"command": "tee a.py <<'EOF'\nx\nEOF"}, (Purpose.WRITE, Purpose.COMMAND, ("a.py",))),
    ("bash", {"command": "cat >> a.py <<'EOF'\nx\nEOF"}, (Purpose.CHANGE, Purpose.COMMAND, ("a.py",))),
    ("bash", {"command": "sed -i 's/x/y/' a.py && cat b.py"}, (Purpose.CHANGE, Purpose.SHOW, ("a.py", "b.py"))),
    ("bash", {"command": "perl -0pi -e 's/x/y/' a.py"}, (Purpose.CHANGE, Purpose.COMMAND, ("a.py",))),
    ("bash", {"command": "python - <<'EOF'\ns = open('a.py').read()\nopen('a.py', 'w').write(s)\nEOF"},
     (Purpose.CHANGE, Purpose.COMMAND, ("a.py",))),
    ("bash", {"command": "rm a.py && make"}, (Purpose.COMMAND, Purpose.COMMAND, ("rm a.py && make", "a.py"))),
    ("ExitPlanMode", {"plan": "1. look\n2. leap"}, (Purpose.WRITE, Purpose.WRITE, ("plan",))),
    ("Read", {"file_path": "./src/a.py"}, (Purpose.READ, Purpose.READ, ("src/a.py",))),
])  # fmt: skip
def test_what_a_call_writes_and_changes(tool: str, arguments: Any, effect: tuple[Any, ...]) -> None:
    """The text stands in the call. What the result shows is another question."""
    assert effect_of(Call("1", tool, arguments)) == effect


@pytest.mark.parametrize("text", [
    "'" * 1_000_000, '"\\' * 500_000, "cat <<A\n" * 100_000, "cat a|" * 150_000, ";" * 1_000_000,
    "cat" + " " * 1_000_000, "\\\n" * 500_000, "grep -n x " + "a.py " * 200_000, "cat " + "a/" * 500_000,
    "python - <<'EOF'\n" + "a=open('x','w');" * 60_000, "A=$A$A;" * 140_000, "bash -lc '" * 100_000,
    "apply_patch <<'EOF'\n*** Begin Patch\n" + "*** Update File: a.py\n" * 40_000, "<< " * 300_000,
    "<<A " * 250_000, "(" * 1_000_000,
])  # fmt: skip
def test_a_command_of_a_million_characters_takes_no_time(text: str) -> None:
    """However it is written."""
    began = time.process_time()
    purpose_of(Call("1", "bash", {"command": text}))
    assert time.process_time() - began < 1  # a quadratic one takes minutes
