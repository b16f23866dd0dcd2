"""What a call does."""

from typing import Any

import pytest

from sightline.shorten import Purpose, purpose_of
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
    ("bash", {"command": "cat a.py | grep x"}, Purpose.COMMAND),
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
    ("bash", {"command": "cat > a.py <<'EOF'\nx\nEOF"}, Purpose.COMMAND),
    ("write_stdin", {"session": 3, "chars": ""}, Purpose.COMMAND),
    ("Task", {"prompt": "look at a.py"}, Purpose.REPORT),
    ("spawn_agent", {"prompt": "look"}, Purpose.REPORT),
    ("get_order", {"order_id": "W1"}, Purpose.OTHER),
    ("task_update", {"status": "done"}, Purpose.OTHER),
    ("anything", "no object", Purpose.OTHER),
])  # fmt: skip
def test_the_purpose_of_a_call(tool: str, arguments: Any, purpose: Purpose) -> None:
    assert purpose_of(Call("1", tool, arguments)) is purpose
