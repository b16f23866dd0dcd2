"""What is known of a file: what was read of it, with the changes since, line by line."""

import json
from typing import Any

import pytest

from sightline import MemoryStore, Session
from sightline.log.recall_frame import frame_files
from sightline.recall.file_text import FileText, known_text
from sightline.recall.files_in_work import FilesInWork
from sightline.values.items import Call

TEXT = "alpha\nbeta\ngamma\ndelta"


def numbered(text: str, first: int = 1, mark: str = "→") -> str:
    return "\n".join(f"{number:6}{mark}{line}" for number, line in enumerate(text.split("\n"), first))


class Log:
    """A log to which calls with their results are added."""

    def __init__(self) -> None:
        self.session = Session(MemoryStore("a"))
        self.session.user("Please mend it.")

    def call(self, tool: str, result: str, *, error: bool = False, **arguments: Any) -> "Log":
        call = Call(f"c{len(self.session.items)}", tool, arguments)
        self.session.assistant([call])
        self.session.tool_result(call.id, result, error=error)
        return self

    def text(self, path: str = "a.py") -> FileText:
        log = self.session.log
        return known_text(log.reader, log.timeline.subjects.index(path), log.path)

    def lines(self, path: str = "a.py") -> dict[int, str]:
        return {line.number: line.text for line in self.text(path).lines}


def read(text: str = TEXT, first: int = 1) -> Log:
    return Log().call("Read", numbered(text, first), path="a.py")


@pytest.mark.parametrize("mark", ["→", "\t", "| ", ": ", ":"])
def test_lines_are_known_without_the_numbers_that_a_tool_puts_before_them(mark: str) -> None:
    log = Log().call("Read", numbered("  if x:\n\ty = 1", 41, mark), path="a.py")
    assert log.lines() == {41: "  if x:", 42: "\ty = 1"}


def test_what_a_tool_adds_around_numbered_lines_is_not_of_the_file() -> None:
    result = f"Here is the file:\n{numbered(TEXT)}\n\n<system-reminder>\nBe careful.\n</system-reminder>"
    assert [*Log().call("Read", result, path="a.py").lines().values()] == TEXT.split("\n")


TOLD = {
    "Qwen Code": "The file: /p/a.py has been updated. Showing lines 3-4 of 4 from it:\n\n---\n\ngamma\nDELTA\n",
    "Continue": "Successfully edited /p/a.py with 1 edit\nDiff:\n--- /p/a.py\n@@ -4 +4 @@\n-delta\n+DELTA\n",
    "Cline": json.dumps({"query": "edit:/p/a.py", "result": "Edited /p/a.py\n```diff\n-4: d\n```", "success": True}),
    "Claude Code": "The file /p/a.py has been updated successfully.",
}  # fmt: skip
SHOWN = {
    "Qwen Code": TEXT,
    "Continue": f"Content of /p/a.py:\n{TEXT}",
    "Cline": json.dumps([{"query": "/p/a.py", "result": numbered(TEXT, mark=" | "), "success": True}]),
    "Claude Code": numbered(TEXT, mark="\t"),
}
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen Code": ("read_file", {"file_path": "/p/a.py"}), "Continue": ("Read", {"filepath": "/p/a.py"}),
    "Cline": ("read_files", {"files": [{"path": "/p/a.py"}]}), "Claude Code": ("Read", {"file_path": "/p/a.py"}),
}  # fmt: skip
EDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen Code": ("edit", {"file_path": "/p/a.py", "old_string": "delta", "new_string": "DELTA"}),
    "Continue": ("MultiEdit", {"file_path": "/p/a.py", "edits": [{"old_string": "delta", "new_string": "DELTA"}]}),
    "Cline": ("editor", {"path": "/p/a.py", "old_text": "delta", "new_text": "DELTA"}),
    "Claude Code": ("Edit", {"file_path": "/p/a.py", "old_string": "delta", "new_string": "DELTA"}),
}


@pytest.mark.parametrize("agent", EDITS)
def test_what_an_editing_tool_says_is_no_text_of_the_file(agent: str) -> None:
    """The file is known as it was read, with the change; also where only the edit is there."""
    (reader, named), (editor, change) = READS[agent], EDITS[agent]
    log = Log().call(reader, SHOWN[agent], **named).call(editor, TOLD[agent], **change)
    assert log.lines("/p/a.py") == {1: "alpha", 2: "beta", 3: "gamma", 4: "DELTA"}
    alone = Log().call(editor, TOLD[agent], **change).lines("/p/a.py")
    assert alone == ({3: "gamma", 4: "DELTA"} if agent == "Qwen Code" else {})


def test_the_pieces_of_a_wrapped_file_are_its_text() -> None:
    """No line of the result's own text is one of the file's, so that the log has the lines beside it."""
    log = Log().call("read_files", SHOWN["Cline"], files=[{"path": "/p/a.py"}])
    text = log.text("/p/a.py")
    [piece] = text.pieces(text.lines, lambda row: str(row))
    assert (piece.text, piece.number, piece.first) == (TEXT, 1, 0)


def test_of_several_files_in_one_result_nothing_is_known() -> None:
    result = json.dumps([{"query": name, "result": numbered(TEXT), "success": True} for name in ("a.py", "b.py")])
    assert Log().call("read_files", result, files=[{"path": "a.py"}, {"path": "b.py"}]).lines() == {}


def test_a_part_that_is_shown_says_its_numbers() -> None:
    """Qwen Code counts its offset from 0."""
    result = f"Showing lines 31-34 of 90 total lines.\n\n---\n\n{TEXT}"
    assert Log().call("read_file", result, path="a.py", offset=30, limit=4).lines()[31] == "alpha"


@pytest.mark.parametrize(
    ("arguments", "first"),
    [({}, 1), ({"offset": 30}, 30), ({"view_range": [12, 14]}, 12), ({"start_line": 7, "limit": 3}, 7)],
)
def test_without_numbers_the_call_says_where_the_lines_begin(arguments: dict[str, Any], first: int) -> None:
    assert min(Log().call("read_file", TEXT, path="a.py", **arguments).lines()) == first


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("sed -n '20,23p' a.py", {20: "alpha", 21: "beta", 22: "gamma", 23: "delta"}),
        ("cat a.py", {1: "alpha", 2: "beta", 3: "gamma", 4: "delta"}),
        ("cat a.py && make", {}),  # nobody knows where the file ends
        ("cat a.py b.py", {}),
        ("sed -n '20,23p' a.py | sort", {}),
    ],
)
def test_of_a_command_only_what_it_plainly_shows_is_known(command: str, lines: dict[int, str]) -> None:
    assert Log().call("Bash", TEXT, command=command).lines() == lines


def test_the_heading_of_a_commands_output_is_not_of_the_file() -> None:
    result = f"Chunk ID: 1\nProcess exited with code 0\nOutput:\n{TEXT}"
    assert Log().call("exec_command", result, cmd="sed -n '5,8p' a.py").lines()[5] == "alpha"


def test_reads_are_merged_and_the_newer_one_counts() -> None:
    log = read(TEXT, 1).call("Read", numbered("GAMMA\nDELTA\nepsilon", 3), path="a.py")
    assert log.lines() == {1: "alpha", 2: "beta", 3: "GAMMA", 4: "DELTA", 5: "epsilon"}


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("beta", "BETA", "alpha\nBETA\ngamma\ndelta"),
        ("et", "o\no", "alpha\nbo\noa\ngamma\ndelta"),
        ("beta\ngamma\n", "", "alpha\ndelta"),
        ("beta\ngamma", "one\ntwo\nthree", "alpha\none\ntwo\nthree\ndelta"),
        ("delta", "", "alpha\nbeta\ngamma\n"),
        ("not there", "x", TEXT),
    ],
)
def test_a_change_is_applied_and_moves_the_lines_after_it(old: str, new: str, lines: str) -> None:
    log = read().call("Edit", "The file has been updated.", path="a.py", old_string=old, new_string=new)
    assert log.lines() == dict(enumerate(lines.split("\n"), 1))


def test_a_change_everywhere_is_applied_everywhere() -> None:
    arguments = {"old_string": "a", "new_string": "aa", "replace_all": True}
    log = read("a\nb a\nc").call("Edit", "ok", path="a.py", **arguments)
    assert [*log.lines().values()] == ["aa", "b aa", "c"]


def test_several_changes_of_one_call_follow_each_other() -> None:
    edits = [{"old_string": "alpha", "new_string": "one"}, {"old_string": "one\nbeta", "new_string": "two"}]
    assert [*read().call("MultiEdit", "ok", path="a.py", edits=edits).lines().values()] == ["two", "gamma", "delta"]


def test_a_change_over_lines_that_do_not_follow_each_other_is_not_applied() -> None:
    log = read("alpha\nbeta").call("Read", numbered("gamma\ndelta", 30), path="a.py")
    log.call("Edit", "ok", path="a.py", old_string="beta\ngamma", new_string="x")
    assert [*log.lines().values()] == ["alpha", "beta", "gamma", "delta"]


@pytest.mark.parametrize(
    ("result", "error"), [("no", True), ("<tool_use_error>String not found</tool_use_error>", False)]
)
def test_a_change_that_failed_is_none(result: str, error: bool) -> None:
    log = read().call("Edit", result, error=error, path="a.py", old_string="beta", new_string="x")
    assert [*log.lines().values()] == TEXT.split("\n")


def test_a_file_that_was_written_whole_is_known_whole() -> None:
    assert read().call("Write", "ok", path="a.py", content="one\ntwo").lines() == {1: "one", 2: "two"}


DOCUMENT = "cat > a.py <<'EOF'\none $x\n\ntwo\nEOF"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": f"mkdir -p b && {DOCUMENT}\npython a.py"}),
        ("exec_command", {"cmd": "cat > b.py <<'END'\nx\nEND\n" + DOCUMENT}),
        ("shell", {"command": ["bash", "-lc", DOCUMENT.replace("cat >", "tee")]}),
    ],
)
def test_a_file_that_a_command_has_written_is_known_whole(tool: str, arguments: dict[str, Any]) -> None:
    log = read().call(tool, "", **arguments)
    assert log.lines() == {1: "one $x", 2: "", 3: "two"}
    text, reader = log.text(), log.session.log.reader
    pieces = [*text.pieces(text.lines, log.session.log.timeline.id)]
    assert "\n@@ 1-3\none $x\n\ntwo\n```" in frame_files(reader, pieces, "en", leads=False)


@pytest.mark.parametrize(
    "command",
    [
        "cat > a.py <<EOF\n$x\nEOF",
        "test -f a.py || cat > a.py <<'EOF'\nx\nEOF",
        "if true; then\ncat > a.py <<'EOF'\nx\nEOF\nfi",
        "cat > a.py <<'EOF' && sed -i s/x/y/ a.py\nx\nEOF",
        "cat b.py - > a.py <<'EOF'\nx\nEOF",
    ],
)
def test_of_a_file_that_a_command_may_have_written_otherwise_nothing_is_known(command: str) -> None:
    assert read().call("Bash", "", command=command).lines() == {}


def test_what_is_appended_and_what_is_written_elsewhere_changes_no_line() -> None:
    log = (
        read()
        .call("Bash", "", command="cat >> a.py <<'EOF'\nx\nEOF")
        .call("Bash", TEXT, command="cat > b.py <<'EOF'\nx\nEOF\nsed -n '21,24p' a.py")
    )
    assert [*log.lines()] == [1, 2, 3, 4, 21, 22, 23, 24]


def test_a_patch_changes_each_file_that_it_names() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n alpha\n-beta\n+BETA\n+more\n gamma\n"
        "*** Add File: b.py\n+new\n+file\n*** End Patch"
    )
    log = read().call("apply_patch", "Success.", input=patch)
    assert [*log.lines().values()] == ["alpha", "BETA", "more", "gamma", "delta"]
    assert log.lines("b.py") == {1: "new", 2: "file"}


def test_after_a_change_that_nothing_describes_nothing_is_known() -> None:
    assert read().call("Bash", "", command="sed -i s/beta/x/ a.py").lines() == {}


def test_another_branch_knows_nothing_of_a_change() -> None:
    log = read()
    before = log.session.user("Go on.")
    log.call("Edit", "ok", path="a.py", old_string="beta", new_string="x")
    log.session = log.session.fork(before)
    assert [*log.lines().values()] == TEXT.split("\n")


def test_lines_that_were_read_in_two_parts_stand_in_one_block() -> None:
    parts = "sed -n '1,2p' a.py", "sed -n '3,4p' a.py"
    log = Log().call("Bash", "alpha\nbeta\n", command=parts[0]).call("Bash", "gamma\ndelta\n", command=parts[1])
    blocks = FilesInWork(log.session.log).blocks(lambda row: False)
    assert [[line.text for line in block.lines] for block in blocks] == [TEXT.split("\n")]


@pytest.mark.parametrize(("others", "is_held"), [(0, True), (20, False)])
def test_a_result_is_held_if_most_of_its_lines_are_known(others: int, is_held: bool) -> None:
    """Else what it shows beside them would be lost when it is shortened."""
    result = f"{TEXT}\n--\n" + "other\n" * others
    log = read().call("Bash", result, command="sed -n '1,4p' a.py; echo --; git diff")
    assert log.lines() == dict(enumerate(TEXT.split("\n"), 1))
    assert FilesInWork(log.session.log).holds(len(log.session.log.timeline) - 1) is is_held
