"""What is kept of each kind of text."""

import json
import re

import pytest

from sightline.shorten import Shorter, identifiers, shorten
from sightline.values.items import Call, Item, Kind, Result, Text
from sightline.values.tokens import counter

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
    """Ids of like objects stand behind their key in the gist, after what is said once, and as rows in the summary."""
    rows = [{"item_id": f"98765432{n:02}", "price": n * 1.5, "note": "some plain words here"} for n in range(12)]
    text = json.dumps({"order_id": "#W4597054", "status": "delivered", "cancel_reason": None, "items": rows})
    summary, gist = both(text)
    assert "\norder_id: #W4597054\n" in gist
    assert "\nitems[].item_id: 9876543200, 9876543201" in gist
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
    """Definitions of a whole file are shown with line numbers, and the gist names what the line about it does not."""
    body = [f"def compute_{n}(first_{n}_arg):\n    total = first_{n}_arg\n    return total\n" for n in range(60)]
    summary, gist = both("import os\n\n" + "\n".join(body), "src/app.py", "read_file")
    number, n = re.findall(r"\n(\d+): def compute_(\d+)\(", summary)[-1]
    assert int(number) == 3 + 4 * int(n)
    assert gist.startswith("[file read] app.py (python, ")
    assert gist.count("compute_0") == 1
    assert "first_0_arg" in gist


def test_numbered_source_keeps_its_own_numbers() -> None:
    """Text that carries line numbers is not numbered again, and the numbers are no values."""
    lines = [f"{n:6}→{f'def run_{n}(self):' if n % 9 == 0 else '    x = 1'}" for n in range(500, 800)]
    summary, gist = both("\n".join(lines), "src/app.py", "read_file")
    assert "   504→def run_504(self):" in summary
    assert "functions: run_504, run_513" in gist
    assert " 504" not in gist


def test_methods_of_one_name_stand_behind_their_class() -> None:
    """In the gap of a summary a name that is defined twice is told with its type, so that values do not mix."""
    plain = "        # words that say nothing of note\n" * 40
    text = "".join(
        f"class Holder{n}:\n    def refresh(self):\n{plain}        use(self.first_{n}_value, self.second_{n}_value)\n"
        for n in range(30)
    )
    summary, _ = both(text, "src/app.py", "Read")
    assert re.search(r"Holder(\d+)\.refresh: self\.first_\1_value self\.second_\1_value", summary)


def test_values_of_a_gap_stand_behind_the_section_that_begins_in_it() -> None:
    """In a summary, too, values left out with their definition are told with its name."""
    plain = "    # words that say nothing of note\n" * 30
    body = [f"def step_{n}(value):\n{plain}    first_{n} = later_{n}(value)\n" for n in range(30)]
    summary, _ = both("".join(body), "src/app.py", "read_file")
    assert re.search(r"… \d+ lines: .*step_(\d+): first_\1 later_\1[ ;]", summary)


def test_diff_names_files_and_counts() -> None:
    """The gist of a diff has each file with its added and removed lines; the summary its hunk headers."""
    hunk = "\n".join(f"+    new_value_{n} = {n}\n-    old_value_{n} = {n}\n     context line" for n in range(60))
    head = "diff --git a/src/m.py b/src/m.py\nindex 1234567..89abcde 100644\n--- a/src/m.py\n+++ b/src/m.py\n"
    text = f"{head}@@ -1,60 +1,60 @@ class M\n{hunk}"
    summary, gist = both(text, "git diff")
    assert gist.split("\n")[1] == "src/m.py +60 -60"
    assert "diff --git a/src/m.py b/src/m.py" in summary
    assert "@@ -1,60 +1,60 @@ class M" in summary


def test_search_hits_stand_under_their_path() -> None:
    """A path found many times is written once, its hits below it. The gist has the paths, not what was searched."""
    text = "\n".join(f"src/app/views_{n // 10}.py:{n}: result = lookup_table[{n}]" for n in range(100))
    summary, gist = both(text, "grep -rn lookup_table")
    assert summary.count("src/app/views_5.py") == 1
    assert "lookup_table" not in gist
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
    assert "(599 alike)" in summary


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
    summary, gist = both(f"id,customer,amount,state\n{rows}", "data.csv")
    assert "id,customer,amount,state" in summary
    assert "id,customer,amount,state" in gist
    assert "\ncustomer: customer_0, customer_1" in gist


def test_settings_stand_behind_their_keys() -> None:
    """In a text of keys and values the gist says which is which."""
    text = "\n".join(f"option_{chr(97 + n % 26)}{chr(97 + n // 26)}: path/to/place_{n}" for n in range(80))
    _, gist = both(text, "settings")
    assert "\noption_aa: path/to/place_0\noption_ba: path/to/place_1" in gist


def test_settings_without_specific_values_share_a_row() -> None:
    """Keys by themselves are not written one below the other."""
    text = "\n".join(f"option_{chr(97 + n % 26)}{chr(97 + n // 26)}: on" for n in range(80))
    _, gist = both(text, "settings")
    assert "\noption_aa option_ba option_ca" in gist


def test_listing_of_folders_puts_names_behind_the_folder() -> None:
    """Names that `ls -R` prints below a folder are told behind it."""
    text = "\n\n".join(f"src/part_{n}:\n" + "\n".join(f"module_{k}.py" for k in range(30)) for n in range(4))
    _, gist = both(text, "ls -R src")
    assert "src/part_0/: module_0.py" in gist


BEGINNINGS = {
    "json": json.dumps({"orders": [{"id": f"98765{n:04}", "note": "plain words"} for n in range(60)]}),
    "printed json": json.dumps({"orders": [{"id": f"98765{n:04}"} for n in range(60)]}, indent=2),
    "wrapped": json.dumps({"output": "\n".join(f"value_{n} = {n}" for n in range(200)), "code": 0}),
    "table": "id,customer,amount\n" + "\n".join(f"{n},customer_{n},{n}.50" for n in range(200)),
    "listing": "\n".join(f"src/package/module_{n}/part.py" for n in range(120)),
    "hits": "\n".join(f"src/app/views_{n // 10}.py:{n}: result = lookup_table[{n}]" for n in range(100)),
    "code": "\n".join(f"def handler_{n}(request):   \n    return reply_{n}" for n in range(100)),
    "numbered": "\n".join(f"{n:6}→value_{n} = {n}" for n in range(300)),
    "log": "\n".join(f"2024-05-16 10:00:{n % 60:02} INFO request {n} served" for n in range(300)),
    "colours": "\x1b[31mred\x1b[0m and plain\n" * 200,
    "one line": "word and name_{} in one long line, " * 200,
    "tests": "tests/test_a.py::test_case PASSED\n" * 200 + "=== 1 failed, 100 passed in 2.31s ===\n",
}


@pytest.mark.parametrize("text", BEGINNINGS.values(), ids=BEGINNINGS.keys())
def test_a_summary_begins_as_the_result_does(text: str) -> None:
    """The first 120 characters are the original's own, whatever kind of text it is; then the label stands in a gap."""
    summary, gist = both(text)
    assert summary[:120] == text[:120]
    assert re.search(r"\n\[#8 bash: .* tokens; shortened, expand #8 for all\](?:\n|$)", summary)
    assert gist.startswith("[#8: ")


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
    return shorten(Item("8", kind, (Text(text),)), count=counter().count)


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


def test_names_of_sentences_left_out_are_told() -> None:
    """Where a sentence has no room, the path and the name in it still stand in the gap."""
    filler = "This sentence carries nothing of any weight at all, and it goes on for quite a while. " * 20
    long = "words and more words " * 30
    text = f"Please port the parser. {filler}{long} src/app/models.py {long} order_total {long}. {filler}Thanks."
    for level in message(text):
        assert level is not None
        assert re.search(r"… (?:src/app/models.py order_total|order_total src/app/models.py) …", level)


def test_trouble_is_quoted_whatever_the_text_is() -> None:
    """A line that tells of an error is in the gist; one that only has a word of the phrase is not."""
    lines = [f"plain words about nothing, line {chr(97 + n % 26)}" for n in range(120)]
    lines[40], lines[80] = "found three of them in the end", "the volume was not found on any host"
    for trouble in ("access denied for the nightly job", "备份失败，请检查磁盘"):
        lines[60] = trouble
        _, gist = both("\n".join(lines))
        assert trouble in gist
        assert lines[80] in gist
        assert lines[40] not in gist


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


def test_short_arguments_survive_in_the_smallest_gist() -> None:
    """A call just large enough to be shortened keeps its keys in order and every short value at both levels."""
    old, new = "\n".join(f"total += line_{n}" for n in range(22)), "\n".join(f"total -= row_{n}" for n in range(22))
    given = {"path": "harbor/store.py", "old": old, "new": new, "count": 3, "force": False, "id": "gift_card_3491931"}
    for level in shorten(Item("42.1", Kind.CALL, (Call("c", "edit", given),)), count=count):
        assert level is not None
        short = json.loads(level)
        assert list(short) == list(given)
        assert {**short, "old": old, "new": new} == given
        assert "#42.1: " in level


def test_of_too_many_arguments_the_subject_stays() -> None:
    """Where even the short values are too much, what the call is about is the last to go."""
    given = {**{f"option_{n}": f"some plain words, number {n}" for n in range(60)}, "file_path": "src/app.py"}
    for level in shorten(Item("42.1", Kind.CALL, (Call("c", "edit", given),)), count=count):
        assert level is not None
        assert json.loads(level)["file_path"] == "src/app.py"
        assert "#42.1: " in level


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


@pytest.mark.parametrize(
    "noise",
    [
        "2025-06-03T07:12:39.877Z",
        "17ms",
        "1.5s",
        "87.25%",
        "100%",
        "0x7f3a9c2b1d40",
        "#ffcc00",
        "12px",
        "collections.abc",
        "logging.getLogger",
        "fmt.Errorf",
        "ValueError",
        "__init__",
        "and/or",
        "text/html",
        "</output>",
        "GitHub",
    ],
)
def test_noise_is_no_value(noise: str) -> None:
    """Parts of times, lengths of time, shares, addresses in memory and what every language has are not kept."""
    assert identifiers(f"we saw {noise} there") == []


def test_the_numbering_of_an_output_is_no_value() -> None:
    """Numbers that only number the lines of an output are told by no level's list of values."""
    for form in ("{:6}\t{}", "{:5}→{}", "{:4} | {}"):
        lines = [form.format(n, f"total_{n % 7} = compute(value)") for n in range(51230, 51530)]
        _, gist = both("\n".join(lines), "src/app.py", "read_file")
        assert "51231" not in gist
        assert "total_0" in gist


def test_identifiers_are_distinct_in_order_and_limited() -> None:
    """Values come in order of first appearance, each once, up to the limit; plain words never."""
    assert identifiers("the cat saw b_two then a_one then b_two") == ["b_two", "a_one"]
    assert len(identifiers(" ".join(f"name_{n}" for n in range(500)), 10)) == 10
    assert identifiers("nothing special to see here 12") == []
