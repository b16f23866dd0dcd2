"""Edits and real cost of part (b), on a made-up run of a coding agent."""

import json
from typing import Any

import pytest
from benchmarks.quality.baselines import full, sliding
from benchmarks.quality.composer_calls import Row
from benchmarks.quality.edits import Edit, edits_of, replaced_lines
from benchmarks.quality.messages import count_message, count_messages
from benchmarks.quality.records import Run
from benchmarks.quality.replay import ASKING, READ, WRITE, measure_replay
from quality_talk import REPLY, SYSTEM, USER, Json, call, measured, tool

OLD = "def total(rows):\n    found = sum(rows)\n    return found\n"
OTHER = "def mean(rows):\n    return total(rows) / len(rows)\n"
FILE = f"# src/totals.py\nimport sys\n\n\n{OLD}\n\n{OTHER}\n\n{'# more of it ' * 1200}\n"
READ_AT = 3  # the message with the file
FILLER = "nothing of note " * 40


def edit(name: str, old: str, **more: Any) -> Json:
    """A message that replaces a text."""
    return call(name, json.dumps({"file_path": "src/totals.py", "old_string": old, "new_string": "x", **more}))


def coding(*between: int) -> Run:
    """A run that reads a file and edits two parts of it, with so many other calls before each edit."""
    messages = [SYSTEM, USER, call("read", '{"path":"src/totals.py"}'), tool("read", FILE)]
    for at, count in enumerate(between):
        for number in range(count):
            name = f"{at}.{number}"
            messages += [call(name), tool(name, FILLER)]
        messages += [edit(f"edit{at}", (OLD, OTHER)[at]), tool(f"edit{at}", "done")]
    return Run("one", "one", [dict(message) for message in (*messages, REPLY)])


def test_the_lines_that_an_edit_replaces() -> None:
    """Whatever the tool calls them, also several edits in one call; short lines and what is no edit count nothing."""
    several = [{"old_text": "alpha\n}\nbeta"}, {"old_string": "beta"}, "nonsense"]
    made = edit("1", "first line\n  )\n", edits=several)
    assert replaced_lines(made["tool_calls"][0]) == [["first line", "alpha", "beta"]]
    for given in ('{"path":"a"}', "no json", '["old_string"]', '{"old_string":7,"edits":8}'):
        assert replaced_lines(call("1", given)["tool_calls"][0]) == []


PATCH = """*** Begin Patch
*** Add File: src/new.py
+entirely new
*** Update File: src/totals.py
@@ def total(rows):
 def total(rows):
-    found = sum(rows)
+    found = fsum(rows)
     return found
@@
+only added
*** Update File: src/means.py
@@
-    return total(rows) / len(rows)
+    return mean(rows)
*** End Patch"""


def patching(name: str, arguments: Any) -> Json:
    """A call of this tool."""
    return {"id": "1", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", json.dumps({"input": PATCH})),
        ("apply_patch", PATCH),
        ("shell", json.dumps({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]})),
        ("exec_command", json.dumps({"cmd": f"cd src && apply_patch '{PATCH}'", "workdir": "/"})),
    ],
)
def test_each_hunk_of_a_patch_is_an_edit(name: str, arguments: str) -> None:
    """What it removes and what it shows as context must be readable; what it adds need not."""
    found = [["def total(rows):", "found = sum(rows)", "return found"], ["return total(rows) / len(rows)"]]
    assert replaced_lines(patching(name, arguments)) == found


def test_a_patch_that_is_only_written_down_is_no_edit() -> None:
    """A file that tells of patches, and a patch that breaks off."""
    assert replaced_lines(patching("write", json.dumps({"content": PATCH}))) == []
    assert replaced_lines(patching("apply_patch", json.dumps({"input": PATCH[:-15]}))) == []


def test_an_edits_lines_stand_in_order_in_one_message_or_anywhere() -> None:
    """Shown together once, they must be again; never shown together, line by line is enough; else left out."""
    (together,) = edits_of(edit("1", OLD), ["system", "no", FILE, "return found"], 1)
    assert together == Edit(["def total(rows):", "found = sum(rows)", "return found"], [2], together=True)
    assert together.readable(["x", FILE])
    assert not together.readable(["return found\nfound = sum(rows)\ndef total(rows):"])
    assert not together.readable(["def total(rows):", "found = sum(rows)\nreturn found"])
    (apart,) = edits_of(edit("1", "alpha beta\ngamma\nnever shown"), ["alpha beta", "gamma", "alpha beta", "gamma"], 1)
    assert apart == Edit(["alpha beta", "gamma"], [2, 3], together=False)
    assert apart.readable(["gamma", "alpha beta"])
    assert edits_of(edit("1", "only in the system"), ["only in the system", "no"], 1) == []


def replayed(run: Run, composer: Any = sliding, budget: int = 3000) -> tuple[Row, Row]:
    """The rows of the full history and of a composer."""
    rows = measured(composer, run, budget)
    return rows["full"], rows["it"]


def test_an_edit_whose_text_is_gone_costs_a_request_a_call_and_the_file() -> None:
    """Everything else is equal: the value of the path is gone with the file, and read again with it, once."""
    whole, it = replayed(coding(8))
    assert (whole["edits"], whole["edits_n"], whole["rel_cost_real"], whole["real_faults"]) == (1, 1, 1, 0)
    assert (it["edits"], it["edits_n"], it["real_faults"]) == (0, 1, 1)
    messages = coding(8).messages
    at = next(at for at, message in enumerate(messages) if "old_string" in str(message.get("tool_calls")))
    tokens = count_messages(sliding(messages[:at], "do it", 3000))
    paid = READ * tokens + ASKING + WRITE * count_message(messages[READ_AT])
    assert it["rel_cost_real"] == pytest.approx((it["cost"] + paid) / whole["cost"])
    assert it["rel_cost_faults"] < it["rel_cost_real"]


@pytest.mark.parametrize(("calls", "faults"), [(18, 1), (19, 2)])
def test_what_was_read_again_stays_readable_for_twenty_calls(calls: int, faults: int) -> None:
    """A second edit within them reads nothing again; later it does. Both edits could not be made from the request."""

    def blind(history: list[Json], query: str, budget: int) -> list[Json]:
        return [message for message in history if FILE not in str(message["content"])]

    run = coding(1, calls)
    rows = measure_replay("made up", [run], {"full": full, "it": blind}, (10**6,), 5)
    it = next(row for row in rows if row["composer"] == "it")
    assert (it["edits"], it["edits_n"]) == (0, 2)
    assert it["real_faults"] == faults


def test_a_run_without_edits_has_no_share_of_them() -> None:
    """No figure is better than one that means nothing."""
    assert measured(sliding)["it"]["edits"] is None
