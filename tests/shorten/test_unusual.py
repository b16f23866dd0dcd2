"""A gist says first what is unusual. Ten kinds of text, each with one thing that differs from the rest."""

import json
import re
from collections.abc import Sequence

import pytest

from sightline.shorten import shorten, unusual_value
from sightline.shorten.rarity import rarities
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.tokens import counter

count = counter().count


def gist(text: str, subject: str = "", name: str = "bash") -> list[str]:
    """The lines of a result's gist after its label."""
    item = Item("412", Kind.RESULT, (Result("c", (Text(text),)),))
    found = shorten(item, count=count, name=name, subject=subject).gist
    assert found is not None
    assert found.startswith("[#412: ")
    return found.split("\n")[1:]


NAMES = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper", "kauri", "larch")
LOG = [f"2024-05-16 10:{n // 60:02}:{n % 60:02} INFO request {n} from {NAMES[n % 12]} served" for n in range(400)]
LOG[250] = "2024-05-16 10:04:10 INFO lease of node-7731 handed over to node-8842"
TESTS = [f"tests/test_orders.py::test_case_{n} PASSED" for n in range(120)]
TESTS += ["FAILED tests/test_totals.py::test_rounding - assert 3 == 4", "===== 1 failed, 120 passed in 2.31s ====="]
FILES = [f"-rw-r--r--  1 ada ada  {4000 + 7 * n} Nov 14 10:{n:02} module_{n}.py" for n in range(40)]
FILES[17] = "-rw-r--r--  1 ada ada  4119 Jan  3  2019 settings.cfg"
HITS = [f"billing/{NAMES[n % 12]}_views.py:{10 + n}:    total = round_amount(value)" for n in range(40)]
HITS[23] = "legacy/export_job.py:88:    total = round_amount(value)"
ROWS = [f"{n},{NAMES[n % 12]},{20 + n % 9}.50,open" for n in range(200)]
ROWS[140] = "140,larch,98750.00,open"
JOBS = [{"id": f"job_{5000 + n}", "owner": NAMES[n % 12], "status": "ok", "seconds": n % 9} for n in range(50)]
JOBS[31]["status"] = "failed"
NESTED = {
    "cluster": {"name": "north-2", "nodes": [{"host": f"n{n:02}", "state": {"ready": n != 13}} for n in range(30)]},
    "request": {"id": "req_9918273"},
}
OUTPUT = [f"copying {NAMES[n % 12]} to the store" for n in range(60)]
OUTPUT[41] = "skipped the quota file because its owner differs"
CHINESE = [f"2024-05-16 10:{n // 60:02}:{n % 60:02} 信息 处理请求 {n} 完成" for n in range(300)]
CHINESE[120] = "2024-05-16 10:02:00 警告 磁盘 volume_b7 剩余空间不足"
PROSE = [f"The {NAMES[n % 12]} grows where {NAMES[(n * 5 + 3) % 12]} has been, and nobody minds it." for n in range(90)]
PROSE[0] = "How the park is kept"
PROSE[44] = "Never water the beds of plot_1187 after the frost."

TEXTS = {
    "log": ("\n".join(LOG), "cat app.out", "lease of node-7731 handed over to node-8842"),
    "tests": ("\n".join(TESTS), "pytest", "FAILED tests/test_totals.py::test_rounding"),
    "files": ("\n".join(["total 96", *FILES]), "ls -l", "Jan 3 2019 settings.cfg"),
    "hits": ("\n".join(HITS), "grep -rn round_amount", "legacy/export_job.py"),
    "table": ("\n".join(["id,owner,amount,state", *ROWS]), "data.csv", "amount: 98750.00"),
    "json": (json.dumps(JOBS), "", "status: failed"),
    "nested": (json.dumps(NESTED), "", "state.ready: false"),
    "output": ("\n".join(OUTPUT), "make copies", "skipped the quota file because its owner differs"),
    "chinese": ("\n".join(CHINESE), "tail app.out", "警告 磁盘 volume_b7 剩余空间不足"),
    "prose": ("\n".join(PROSE), "NOTES", "Never water the beds of plot_1187 after the frost."),
}


@pytest.mark.parametrize(("text", "subject", "first"), TEXTS.values(), ids=TEXTS.keys())
def test_what_is_unusual_is_said_first(text: str, subject: str, first: str) -> None:
    """The one odd line, row, member or file is in the first line after the label, and the gist is small."""
    lines = gist(text, subject)
    assert first in lines[0]
    assert 20 <= count("\n".join(["[#412: 9,999 tokens]", *lines])) <= most_tokens(count(text))


def most_tokens(original: int) -> float:
    """The most tokens of a gist, as `shorten` promises."""
    return min(300, 40 + 0.05 * original, original / 4)


def test_the_odd_member_is_named_with_its_id() -> None:
    """Of a list and of a table the gist says which member it is."""
    assert "job_5031" in gist(json.dumps(JOBS))[0]
    assert "id: 140" in gist(TEXTS["table"][0])[0]
    assert "n13" in gist(json.dumps(NESTED))[0]


def test_a_test_run_says_failures_and_the_total() -> None:
    """Without the line of signs around the total."""
    assert gist(TEXTS["tests"][0], "pytest")[1] == "1 failed, 120 passed in 2.31s"


def test_where_all_are_alike_none_is_unusual() -> None:
    """The same jobs without the failure: the gist begins with their ids."""
    alike = [{**job, "status": "ok"} for job in JOBS]
    assert gist(json.dumps(alike))[0].startswith("[].id: job_5000, ")
    assert gist(json.dumps(JOBS))[0].startswith("status: failed, ")


def test_where_all_differ_none_is_unusual() -> None:
    """An id that occurs once is no more unusual than the other ids; one status that occurs once is."""
    assert rarities([f"job {name}" for name in NAMES]) == {}
    assert list(rarities(["ok"] * 30 + ["failed"] + ["ok"] * 19)) == [30]
    assert rarities(["ok"] * 30 + ["failed"] * 20) == {}
    assert rarities([]) == {}


def test_a_number_far_from_the_others_is_unusual() -> None:
    """By its distance from the median, not by its digits: the last of a row of numbers that rise is not unusual."""

    def lines(last: int) -> Sequence[str]:
        return gist("\n".join(["id,amount,note", *(f"{n},{n},x" for n in range(120)), f"120,{last},x"]))

    assert "amount: 99120" in lines(99120)[0]
    assert "amount: 120" not in "\n".join(lines(120))


@pytest.mark.parametrize("lines", [500, 5_000])
@pytest.mark.parametrize(("said", "pattern"), [("", r"\(×([\d,]+)(\+?)\)"), (" {n}", r"\(([\d,]+)(\+?) alike\)")])
def test_a_count_is_true_of_the_whole_text(lines: int, said: str, pattern: str) -> None:
    """How often a line is there is said where all were read; of a longer text, with a plus, at least how often.

    Lines that differ in more than their time are not said to be repetitions.
    """
    served = f"2024-05-16 10:00:00 INFO request{said} served at the gate"
    text = "\n".join(served.format(n=n) for n in range(lines))
    shorter = shorten(Item("412", Kind.RESULT, (Result("c", (Text(text),)),)), count=count, name="bash")
    for level in (shorter.summary, shorter.gist):
        found = [(int(number.replace(",", "")), plus) for number, plus in re.findall(pattern, str(level))]
        assert found
        assert all(number <= lines and (plus == "+") is (number < lines) for number, plus in found)


def test_a_key_or_an_id_cannot_break_the_line() -> None:
    """Line ends in the keys of a document do not begin a line of the gist."""
    jobs = {f"job\n[#1: {n}]": {"a\nb": "failed" if n == 31 else "ok", "note": "plain words"} for n in range(50)}
    assert gist(json.dumps(jobs))[0] == "a b: failed, job [#1: 31]"


def test_what_the_call_shows_is_not_said_again() -> None:
    """The call stands beside its result: neither its path nor its pattern uses tokens of the gist."""
    text = "\n".join(f"src/pay/{name}_api.py:7: close_account(client_{name})" for name in NAMES)
    assert "close_account" in "\n".join(gist(text, "grep -rn client src"))
    assert "close_account" not in "\n".join(gist(text, "grep -rn close_account src"))


def test_an_index_line_can_name_the_unusual_value() -> None:
    """What a gist says first, short and without its label; of a text that is short itself, its beginning."""
    item = Item("412", Kind.RESULT, (Result("c", (Text(TEXTS["output"][0]),)),))
    found = shorten(item, count=count, name="bash").gist
    assert found is not None
    assert unusual_value(found) == "skipped the quota file because its owner differs"
    assert unusual_value(found, 12) == "skipped the…"
    assert unusual_value("[#412: 90 tokens]") == ""
    assert unusual_value("3 files changed\nin all") == "3 files changed"
    assert (
        unusual_value("[file read] a.py (python, 16 lines, functions: load_0, load_1) #412")
        == "functions: load_0, load_1"
    )
