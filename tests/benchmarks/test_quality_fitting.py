"""The regression behind the search's weights: what it finds on made-up turns, and what a turn is judged by."""

import json
from pathlib import Path
from random import Random

import pytest
from benchmarks.quality.file_fitting import covered, sweeps
from benchmarks.quality.fitting import FEATURES, Case, Chat, columns, distances, fitted, judged, main
from benchmarks.quality.records import Conversation, Run
from hypothesis import given
from hypothesis import strategies as st
from quality_talk import SYSTEM

from sightline.recall.files_in_work import Features

TURNS = 12
PLACES = st.lists(st.integers(0, 1000), min_size=1, max_size=20).map(sorted)


def cases(count: int) -> list[Case]:
    """Questions whose gold turn has most of the first feature; the second is noise, the third always the same."""
    random = Random(7)
    found = []
    for _ in range(count):
        telling, noise = ([random.random() for _ in range(TURNS)] for _ in range(2))
        found.append(Case([telling, noise, [1.0] * TURNS], frozenset([telling.index(max(telling))])))
    return found


@pytest.mark.slow
def test_the_informative_feature_is_found() -> None:
    """It gets nearly all the weight, and with it the gold turns of other questions come first."""
    seen, unseen = cases(80)[:60], cases(80)[60:]
    weights = fitted(seen)
    assert weights[0] > 5 * abs(weights[1])
    assert weights[2] == pytest.approx(0, abs=1e-6)
    for found, gold in unseen:
        scores = judged(found, [weights[0], 0.0, 0.0])
        assert scores.index(max(scores)) in gold
    assert fitted(seen) == weights


def test_a_turn_is_judged_by_what_stands_in_and_around_it() -> None:
    """Own words, nearness, matches around it, its length, the speaker whom the question names, and a time."""
    texts = [
        "Ann: I bought a lamp in May.",
        "Bob: Good.",
        "Ann: Yes.",
        *["Bob: Something else entirely." for _ in range(9)],
    ]
    said = [SYSTEM, *({"role": "user", "content": text} for text in texts)]
    found = dict(zip(FEATURES, columns(Chat(Conversation("c", said, [])), "When did Ann buy the lamp?"), strict=True))
    assert all(len(column) == len(texts) for column in found.values())
    assert found["own"][0] == 1.0
    assert found["near, 100"][0] > found["near, 100"][1] > found["near, 100"][-1] > 0
    assert found["near, 800"][-1] > found["near, 100"][-1]
    assert found["around"][0] == 1.0
    assert 1 > found["around"][1] > found["around"][-1] > 0
    assert found["short"][0] == 0 > found["short"][-1] > found["short"][1]
    assert found["speaker"][:4] == [1, 0, 1, 0]
    assert found["both"][0] == 1.0
    assert found["time"][:3] == [1, 0, 0]


@given(PLACES, PLACES)
def test_distances_are_to_the_nearest(centres: list[int], held: list[int]) -> None:
    """One pass finds what comparing all with all would."""
    assert distances(centres, held) == [min(abs(each - centre) for each in held) for centre in centres]


def test_without_data_it_says_where_they_are_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That is no failure."""
    main(["--data", str(tmp_path)])
    assert "SIGHTLINE_DATA" in capsys.readouterr().out


def edited_run() -> Run:
    """An agent reads a file, runs its tests until the window is full, and then changes one function."""
    text = "\n".join(f"def function_{n}():\n" + f"    return calculate({n})\n" * 9 for n in range(30))
    calls = [("read_file", {"path": "shop.py"}, text)]
    calls += [("bash", {"command": f"pytest {n}"}, "the tests say nothing of interest here\n" * 30) for n in range(24)]
    edit = {"path": "shop.py", "old_string": "def function_7():", "new_string": "def total():"}
    messages = [{"role": "user", "content": "Mend function_7."}]
    for n, (tool, arguments, result) in enumerate([*calls, ("edit", edit, "changed")]):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": result})
    return Run("r", "r", messages)


@pytest.mark.slow
def test_a_sweep_knows_which_of_its_blocks_was_edited_soon() -> None:
    recorded = [*sweeps("made", edited_run(), 6_000)]
    edited = [sweep.blocks[at] for sweep in recorded for edit in sweep.edits for at in edit]
    assert edited
    assert all("def function_7():" in [line.text for line in block.lines] for block in edited)
    assert all(len(sweep.case.columns) == len(Features._fields) for sweep in recorded)
    assert covered((sweep, (0, 0, 1, 0, 0, 0)) for sweep in recorded) == 1
