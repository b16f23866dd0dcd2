"""What is kept of each kind of text."""

import json
import re

import pytest

from sightline.items import Call, Item, Kind, Result, Text
from sightline.renditions import Shorter, identifiers, shorten

TOKENS = re.compile(r"[A-Za-z]{1,5}|[0-9]{1,3}|\s+|.", re.DOTALL)


def count(text: str) -> int:
    """A stand-in vocabulary: five letters, three digits, a run of blanks or one other character make a token."""
    return sum(1 for _ in TOKENS.finditer(text))


def both(text: str, subject: str = "", name: str = "bash") -> tuple[str, str]:
    shorter = shorten(Item("8", Kind.RESULT, (Result("c", (Text(text),)),)), count=count, name=name, subject=subject)
    assert shorter.summary is not None
    assert shorter.gist is not None
    return shorter.summary, shorter.gist


def test_json_keeps_ids_under_their_keys() -> None:
    """Ids of like objects stand behind their key in the gist, and as rows under one header in the summary."""
    rows = [{"item_id": f"98765432{n:02}", "price": n * 1.5, "note": "some plain words here"} for n in range(12)]
    text = json.dumps({"order_id": "#W4597054", "status": "delivered", "cancel_reason": None, "items": rows})
    summary, gist = both(text)
    assert "order_id: #W4597054" in gist
    assert "items[].item_id: 9876543200, 9876543201" in gist
    assert "items[12] (item_id, price, note):" in summary
    assert " 9876543200, 0.0, some plain words here" in summary


def test_json_table_keyed_by_id() -> None:
    """The keys of an object of like objects are values."""
    text = json.dumps({"variants": {f"16153797{n:02}": {"color": "red", "available": True} for n in range(30)}})
    _, gist = both(text)
    assert "variants[30]: 1615379700, 1615379701" in gist


def test_json_that_wraps_an_output_is_read_as_that_output() -> None:
    """A document that is mostly one string is shortened like the string."""
    code = "\n".join(f"def handler_{n}(request):\n    return reply_{n}" for n in range(60))
    summary, gist = both(json.dumps({"exit_code": 0, "output": code}))
    assert "exit_code: 0" in summary
    assert "\ndef handler_0(request):" in summary
    assert "handler_0" in gist


def test_source_keeps_definitions_with_their_numbers() -> None:
    """Definitions of a whole file are shown with line numbers, and the gist names them by the section they stand in."""
    body = [f"def compute_{n}(first_arg, second_arg):\n    total = first_arg\n    return total\n" for n in range(60)]
    summary, gist = both("import os\n\n" + "\n".join(body), "src/app.py", "read_file")
    assert "3: def compute_0(first_arg, second_arg):" in summary
    assert "L1: " in gist
    assert "compute_0" in gist


def test_numbered_source_keeps_its_own_numbers() -> None:
    """Text that carries line numbers is not numbered again, and the numbers are no values."""
    lines = [f"{n:6}→{f'def run_{n}(self):' if n % 9 == 0 else '    x = 1'}" for n in range(500, 800)]
    summary, gist = both("\n".join(lines), "src/app.py", "read_file")
    assert "   504→def run_504(self):" in summary
    assert "L504: run_504" in gist or "L500: run_504" in gist


def test_diff_names_files_and_counts() -> None:
    """The gist of a diff has each file with its added and removed lines; the summary its hunk headers."""
    hunk = "\n".join(f"+    new_value_{n} = {n}\n-    old_value_{n} = {n}\n     context line" for n in range(60))
    head = "diff --git a/src/m.py b/src/m.py\nindex 1234567..89abcde 100644\n--- a/src/m.py\n+++ b/src/m.py\n"
    text = f"{head}@@ -1,60 +1,60 @@ class M\n{hunk}"
    summary, gist = both(text, "git diff")
    assert "src/m.py +60 -60: " in gist
    assert "diff --git a/src/m.py b/src/m.py" in summary
    assert "@@ -1,60 +1,60 @@ class M" in summary


def test_search_hits_stand_under_their_path() -> None:
    """A path found many times is written once, its hits below it."""
    text = "\n".join(f"src/app/views_{n // 10}.py:{n}: result = lookup_table[{n}]" for n in range(100))
    summary, gist = both(text, "grep -rn lookup_table")
    assert summary.count("src/app/views_0.py") == 1
    assert "lookup_table" in gist
    assert "src/app/views_0.py" in gist


def test_listing_keeps_whole_paths_and_groups_them_in_the_gist() -> None:
    """Whole paths in the summary, names behind their directory in the gist."""
    text = "\n".join(f"src/package/module_{n}/part_{k}.py" for n in range(8) for k in range(12))
    summary, gist = both(text, "find src")
    assert "src/package/module_0/part_0.py" in summary
    assert "src/package/module_0/: part_0.py part_1.py" in gist


def test_log_keeps_distinct_errors_and_counts_repetition() -> None:
    """An error among thousands of like lines is kept; lines that differ in numbers are told once with their count."""
    lines = [f"2024-05-16 10:{n // 60:02}:{n % 60:02} INFO request {n} served" for n in range(600)]
    lines[300] = "2024-05-16 10:05:00 ERROR disk_full on volume_b7"
    summary, gist = both("\n".join(lines), "cat app.out")
    assert "ERROR disk_full on volume_b7" in summary
    assert "ERROR disk_full on volume_b7" in gist
    assert "(×599)" in summary


def test_traceback_keeps_exception_and_last_frame() -> None:
    """The exception line is quoted even in the gist; the frames are in the summary."""
    frames = "\n".join(f'  File "/srv/pkg/mod_{n}.py", line {n}, in step_{n}\n    call_{n}(arg)' for n in range(40))
    text = f"starting\nTraceback (most recent call last):\n{frames}\nKeyError: 'customer_9731'\n"
    summary, gist = both(text, "python run.py")
    assert "KeyError: 'customer_9731'" in gist
    assert 'File "/srv/pkg/mod_39.py", line 39, in step_39' in summary


def test_test_run_keeps_failures_and_tally() -> None:
    """Failed tests and the closing tally are in both levels."""
    passed = "\n".join(f"tests/test_a.py::test_case_{n} PASSED" for n in range(100))
    text = f"{passed}\nFAILED tests/test_b.py::test_total - assert 3 == 4\n=== 1 failed, 100 passed in 2.31s ===\n"
    for level in both(text, "pytest"):
        assert "FAILED tests/test_b.py::test_total" in level
        assert "1 failed, 100 passed" in level


def test_table_keeps_its_columns() -> None:
    """The header row of a table is kept at both levels."""
    rows = "\n".join(f"{n},customer_{n},{n * 3}.50,open" for n in range(200))
    for level in both(f"id,customer,amount,state\n{rows}", "data.csv"):
        assert "id,customer,amount,state" in level


def test_markdown_keeps_headings() -> None:
    """Headings are kept before plain lines."""
    parts = [f"## Part {n}\n\nSome plain words follow here.\nAnd more of them in a second line.\n" for n in range(40)]
    summary, _ = both("\n".join(parts), "NOTES.md")
    assert summary.count("## Part") >= 10


def test_gaps_say_how_much_is_missing_and_what_it_names() -> None:
    """Between kept lines stand the number of lines left out and the values in them."""
    lines = [f"plain line without anything of note number {chr(97 + n % 26)}" for n in range(200)]
    lines[100] = "words " * 30 + "hidden_value_42"
    summary, _ = both("\n".join(lines))
    assert "lines" in summary
    assert "hidden_value_42" in summary


def message(text: str, kind: Kind = Kind.USER) -> Shorter:
    return shorten(Item("8", kind, (Text(text),)), count=count)


def test_dialogue_keeps_constraints_questions_and_edges_verbatim() -> None:
    """First and last sentence, the rule and the question of a long message are quoted as they stand."""
    filler = "This sentence carries nothing of any weight at all. " * 60
    rule, question = "Never touch the legacy folder. ", "Can it be done by Friday? "
    text = f"Please port the parser. {filler}{rule}{filler}{question}{filler}Thanks a lot."
    for level in message(text):
        assert level is not None
        for sentence in ("Please port the parser.", "Never touch the legacy folder.", "Can it be done by Friday?"):
            assert sentence in level
        assert "…" in level


def test_chinese_sentences_are_split_and_rules_kept() -> None:
    """A Chinese message is cut at its own sentence ends; what is forbidden is kept."""
    filler = "这句话没有什么特别的内容只是用来占位置而已。" * 40
    text = f"请帮我整理订单。{filler}绝对不要删除编号为20240516001的订单！{filler}可以吗？"
    for level in message(text):
        assert level is not None
        assert "绝对不要删除编号为20240516001的订单！" in level


def test_long_arguments_keep_keys_short_values_and_names() -> None:
    """Of a call only long strings are cut, with their length and the handle; paths, numbers and flags stay."""
    body = "\n".join(f"def helper_{n}(value):\n    return convert_{n}(value)" for n in range(200))
    path = "/srv/project/source/package/module.py"
    call = Call("c", "write", {"file_path": path, "content": body, "mode": 420, "force": True})
    shorter = shorten(Item("412.2", Kind.CALL, (call,)), count=count)
    for level in shorter:
        assert level is not None
        short = json.loads(level)
        assert (short["file_path"], short["mode"], short["force"]) == (path, 420, True)
        assert f"…[#412.2: {len(body):,} chars] …" in short["content"]
        assert short["content"].startswith("def helper_0")


@pytest.mark.parametrize(
    "value",
    [
        "src/app/models.py",
        "total_price",
        "OrderLine",
        "getUser",
        "app.models.User",
        "v1.2.3",
        "E1205",
        "20240516001",
        "#W4597054",
        "https://example.org/a/b",
        "gift_card_3491931",
        "MAX_SIZE",
        "C:\\work\\app.py",
    ],
)
def test_identifiers_finds(value: str) -> None:
    """A specific value is found in the middle of plain words, English or Chinese."""
    assert identifiers(f"please look at {value}, then go on") == [value]
    assert identifiers(f"请看{value}，然后继续") == [value]


def test_identifiers_are_distinct_in_order_and_limited() -> None:
    """Values come in order of first appearance, each once, up to the limit; plain words never."""
    assert identifiers("the cat saw b_two then a_one then b_two") == ["b_two", "a_one"]
    assert len(identifiers(" ".join(f"name_{n}" for n in range(500)), 10)) == 10
    assert identifiers("nothing special to see here 12") == []
