"""Which lines of a command's output are which lines of a file."""

import json
from random import Random

import pytest

from sightline import MemoryStore, Session
from sightline.recall.file_text import known_text
from sightline.recall.shown_lines import shown_lines
from sightline.values.items import Call

FILE = [f"line {number} = {number * number}" for number in range(1, 61)]
OTHER = [f"other {number}" for number in range(1, 31)]


def text(first: int, last: int, lines: list[str] = FILE) -> str:
    return "".join(f"{line}\n" for line in lines[first - 1 : last])


def numbered(first: int, last: int, mark: str = "\t", shift: int = 0) -> str:
    return "".join(f"{number - shift:6}{mark}{FILE[number - 1]}\n" for number in range(first, last + 1))


def placed(line: str, output: str, known: dict[int, str] | None = None) -> dict[int, str]:
    return {one.number: one.text for run in shown_lines(line, "", "a.py", output, known or {}) for one in run}


def lines(first: int, last: int) -> dict[int, str]:
    return {number: FILE[number - 1] for number in range(first, last + 1)}


FORMS = [
    ("head -n 20 a.py | tail -n +11", text(11, 20)),
    ("tail -n +11 a.py | head -10", text(11, 20)),
    ("awk 'NR>=11 && NR<=20' a.py", text(11, 20)),
    ("awk 'NR==11,NR==20 {print NR\": \"$0}' a.py", numbered(11, 20, ": ")),
    ("bash -lc \"sed -n '11,20p' a.py\"", text(11, 20)),
    ("sed -n '11,15p' a.py && sed -n '16,20p' a.py", text(11, 20)),
    ("sed -n '11,15p;16,20p' a.py", text(11, 20)),
    ("sed -n '11,20p' a.py && sed -n '1,30p' b.py", text(11, 20) + text(1, 30, OTHER)),
    ("sed -n '1,30p' b.py; sed -n '11,20p' a.py", text(1, 30, OTHER) + text(11, 20)),
    ("pwd && sed -n '11,20p' a.py", "/r\n" + text(11, 20)),
    ("ls; echo '== a'; sed -n '11,20p' a.py; echo '== b'; cat b.py", f"b.py\n== a\n{text(11, 20)}== b\nx\n"),
    ("cat b.py && printf '\\n--- a ---\\n' && sed -n '11,20p' a.py", f"x\n\n--- a ---\n{text(11, 20)}"),
    ("nl -ba b.py && nl -ba a.py | sed -n '11,20p'", "     1\tx\n     2\ty\n" + numbered(11, 20)),
    ("sed -n '11,20p' a.py | cat -n", numbered(11, 20, shift=10)),
    ("rg -n -C 5 'line 15' a.py", text(0, 0) + "".join(f"{n}{'-:'[n == 15]}{FILE[n - 1]}\n" for n in range(11, 21))),
]  # fmt: skip


@pytest.mark.parametrize(("line", "output"), FORMS)
def test_lines_are_placed_by_what_the_commands_say(line: str, output: str) -> None:
    known = {60: FILE[59]} if "tail -n 10" in line else {}
    if line.startswith("nl -ba b.py"):  # its end is seen by the numbers
        assert set(placed(line, output, known)) == set(range(11, 21))
    else:
        assert placed(line, output, known) == lines(11, 20)


NOTHING = [
    ("head -n 20 a.py | tail -n 10", text(11, 20)),  # of a shorter file these are other lines
    ("ls && sed -n '11,30p' a.py", "b.py\n" + text(11, 20)),
    ("sed -n '11,30p' a.py && sed -n '1,30p' b.py", text(11, 12) + text(1, 20, OTHER)),
    ("git show HEAD~3:a.py | sed -n '11,20p'", text(11, 20)),  # as it was once
    ("nl a.py", numbered(1, 4)),  # it does not count empty lines
    ("sed -n '11,20p' a.py | sort", text(11, 20)),
    ("sed -n '11,12p' a.py", "sed: can't read a.py: No such file or directory\n"),
    ("sed -n '11,20p' a.py", "(no output)"),
    ("sed -n '11,20p' a.py", text(12, 20).rstrip()),  # a tool may have left out empty lines before and after
    ("sed -n '11,12p' a.py", text(11, 12) + "[exit code 0]\n"),  # more than it can be
    ("for f in a.py b.py; do sed -n 1,2p $f; done", text(1, 2) + text(1, 2, OTHER)),
    ("echo $(cat a.py)", text(1, 1)),
    ("(cat b.py; cat a.py) | head -2", text(1, 2)),
    ("diff <(sed -n 1,2p b.py) <(sed -n 1,2p a.py)", text(1, 4)),
    ("grep -q x b.py && echo ---; sed -n '1,9p' b.py && sed -n '11,20p' a.py", "a\n---\n" + text(11, 20)),
    ("make && sed -n '11,12p' a.py", "Error 1\nError 2\n"),
    ("head -n 20 b.py | tail -n 2; cat a.py", text(1, 3).rstrip()),
    ("echo && cat a.py", text(1, 3).rstrip()),  # a tool left out the empty line
    ("rg -n x a.py b.py", "11:x\n12:y\n"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "output"), NOTHING)
def test_what_may_be_other_lines_is_not_placed(line: str, output: str) -> None:
    assert placed(line, output) == {}


def test_lines_that_are_known_prove_where_others_are() -> None:
    assert placed("head -n 20 a.py | tail -n 10", text(11, 20), {25: FILE[24]}) == lines(11, 20)
    assert placed("ls && sed -n '11,30p' a.py", "b.py\n" + text(11, 20), lines(12, 15)) == lines(11, 20)
    changed = {number: FILE[number] for number in range(12, 16)}
    assert placed("ls && sed -n '11,30p' a.py", "b.py\n" + text(11, 20), {**changed, 16: FILE[15]}) != lines(11, 20)


def test_after_the_place_where_a_tool_left_out_lines_nothing_is_placed() -> None:
    output = f"{text(11, 14)}... [6 lines truncated] ...\n{text(21, 30)}"
    assert placed("sed -n '11,30p' a.py", output) == lines(11, 14)


def test_a_file_that_does_not_end_its_last_line_joins_the_next_one() -> None:
    line = "sed -n '51,70p' a.py && sed -n '1,30p' b.py"
    output = text(51, 60)[:-1] + text(1, 30, OTHER)
    assert placed(line, output, {60: FILE[59]}) == lines(51, 59)
    assert (
        placed("cat a.py; cat nofile", f"{text(1, 60)[:-1]}cat: nofile: No such file\n", lines(1, 60)).get(60) is None
    )


@pytest.mark.parametrize("command", [["bash", "-lc", "sed -n '11,20p' a.py"], '["bash","-lc","sed -n 11,20p a.py"]'])
@pytest.mark.parametrize("is_json", [True, False])
def test_calls_and_results_may_be_wrapped(command: object, is_json: bool) -> None:
    session = Session(MemoryStore("a"))
    session.user("Please mend it.")
    session.assistant([Call("a", "shell", {"command": command})])
    wrapped = json.dumps({"output": text(11, 20), "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    session.tool_result("a", wrapped if is_json else f"Output:\nTotal output lines: 10\n\n{text(11, 20)}")
    log = session.log
    known = known_text(log.reader, log.timeline.subjects.index("a.py"), log.path)
    assert {line.number: line.text for line in known.lines} == lines(11, 20)
    pieces = [*known.pieces(known.lines, log.timeline.id)]
    assert all(piece.text for piece in pieces) if is_json else pieces[0].first == 4


def test_whatever_commands_print_what_is_placed_is_true() -> None:
    """Outputs are put together as a shell would: files may be shorter than a command thinks, and commands may fail."""
    random = Random(5)
    for _ in range(150):
        end, first, other = random.randint(1, 60), random.randint(1, 40), random.randint(0, 9)
        last = first + random.randint(0, 30)
        shown = text(first, min(last, end))
        forms = {
            f"sed -n '{first},{last}p' a.py": shown, f"head -n {last} a.py": text(1, min(last, end)),
            f"nl -ba a.py | sed -n '{first},{last}p'": numbered(first, min(last, end)), "cat a.py": text(1, end),
            "ls": "x\n" * other, f"sed -n 1,{other + 1}p b.py": text(1, other, OTHER), "echo --": "--\n", "true": "",
        }  # fmt: skip
        some = random.choices([*forms], k=random.randint(1, 4))
        known = {number: FILE[number - 1] for number in range(1, end + 1) if random.random() < 0.3}
        output = "".join(forms[one] for one in some)
        found = placed("; ".join(some), output.rstrip() if random.random() < 0.3 else output, known)
        assert all(number <= end and line == FILE[number - 1] for number, line in found.items()), some
