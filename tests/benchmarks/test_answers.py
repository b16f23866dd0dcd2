"""`python -m benchmarks.answers`: what is asked, how answers are scored, and what is printed."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.answers import __main__ as command
from benchmarks.answers.models import ask_model, gguf_model
from benchmarks.answers.prompts import FORMS, TASK, Asked, Prompt, write_prompts
from benchmarks.answers.scores import answers_table, differences, score
from benchmarks.quality.records import Conversation, Question
from quality_talk import SYSTEM, Json

from sightline import ContextOverflow
from sightline.agent.models.retry import RetryingModel
from sightline.testing import ScriptedModel

GOLD = "I adopted a small grey cat named Oscar."
QUERY = "What is the cat's name?"


def said(number: int, text: str) -> Json:
    """What one of two people says, on one of three days."""
    return {"role": ("user", "assistant")[number % 2], "content": text, "ts": f"{1 + number // 20} May"}


@pytest.fixture
def chat() -> Conversation:
    """A chat of three days, on the first of which somebody tells of a cat."""
    talk = [said(number, f"It rained for {number} hours.") for number in range(60)]
    talk[3] = said(3, GOLD)
    asked = [Question("q1", QUERY, [GOLD], ["Oscar"], "one", []), Question("q2", "And?", [GOLD], [], "one", [])]
    return Conversation("c", [SYSTEM, *talk], asked)


def newest(history: list[Json], query: str, budget: int) -> list[Json]:
    """A composer that shows what came last."""
    return [SYSTEM, *history[-3:]]


def written(chat: Conversation, **options: Any) -> dict[tuple[str, Any, str], Prompt]:
    """The prompts about it, by composer, budget and form."""
    asked = Asked("made up", 5, (300, 600), ("dev", "heldout"), **options)
    prompts = write_prompts(asked, [chat], {"it": newest})
    return {(each["composer"], each["budget"], each["form"]): each for each in prompts}


def test_prompts_are_what_composers_send(chat: Conversation) -> None:
    """Role by role, the question last; the task before the system text; a question without an answer is not asked."""
    found = written(chat)
    assert {name for name, *_ in found} == {"full", "oracle", "sliding", "bm25+recent", "it"}
    assert {prompt["id"] for prompt in found.values()} == {"q1"}
    it = found["it", 300, "sent"]
    assert it["messages"] == [
        {"role": "system", "content": f"{TASK}\nBe brief."},
        {"role": "user", "content": "It rained for 58 hours."},
        {"role": "assistant", "content": "It rained for 59 hours."},
        {"role": "user", "content": QUERY},
    ]
    assert (it["answers"], it["kind"]) == (["Oscar"], "one")
    assert it["tokens"] < found["full", None, "sent"]["tokens"]
    assert all(prompt["messages"][-1]["content"] == QUERY for prompt in found.values())


def test_baselines_get_the_dates_that_they_do_not_write(chat: Conversation) -> None:
    """Where the day changes; the oracle shows the gold turn and its day."""
    found = written(chat)
    full = [message["content"] for message in found["full", None, "sent"]["messages"]]
    assert [text for text in full if text.startswith("[")] == [
        "[1 May] It rained for 0 hours.",
        "[2 May] It rained for 20 hours.",
        "[3 May] It rained for 40 hours.",
    ]
    assert [each["content"] for each in found["oracle", None, "sent"]["messages"][1:]] == [f"[1 May] {GOLD}", QUERY]


def joined(history: list[Json], query: str, budget: int) -> list[Json]:
    """A composer that shows what came last in one message with the question."""
    parts = [{"type": "text", "text": str(each["content"])} for each in history[-3:]]
    return [SYSTEM, {"role": "user", "content": parts}]


@pytest.mark.parametrize("composer", [newest, joined])
def test_a_flat_prompt_is_one_transcript_with_the_question_at_its_end(chat: Conversation, composer: Any) -> None:
    """The question stands in it once, also if the composer has it in one message with what it shows."""
    asked = Asked("made up", 5, (600,), ("dev", "heldout"), forms=FORMS, baselines=False)
    prompts = write_prompts(asked, [chat], {"it": composer})
    flat = next(each["messages"] for each in prompts if each["composer"] == "it" and each["form"] == "flat")
    assert [each["role"] for each in flat] == ["system", "user"]
    assert flat[1]["content"].count(QUERY) == 1
    assert "It rained for 59 hours." in flat[1]["content"]
    assert flat[1]["content"].endswith(f"\nQuestion: {QUERY}\nShort answer:")


@pytest.mark.parametrize(
    ("given", "answers", "f1", "holds"),
    [
        ("Oscar", ["Oscar"], 1, True),
        ("The cat, Oscar!", ["oscar"], 2 / 3, True),
        ("It is grey", ["Oscar"], 0, False),
        ("a grey cat", ["grey cat and dog"], 0.8, False),
        ("7 May 2023", ["5 June", "7 May"], 0.8, True),
        ("奥斯卡吧", ["奥斯卡"], 6 / 7, True),
        ("", ["Oscar"], 0, False),
    ],
)
def test_answers_are_compared_word_by_word(given: str, answers: list[str], f1: float, holds: bool) -> None:
    """Case, punctuation and articles do not matter; the best of several answers counts."""
    assert score(given, answers) == (pytest.approx(f1), holds)


def answer(composer: str, budget: int | None, number: int, text: str | None, tokens: int = 100) -> Json:
    """An answer to a question of two kinds."""
    about = {"id": str(number), "composer": composer, "budget": budget, "form": "sent", "kind": "ab"[number % 2]}
    return {**about, "question": "?", "answers": ["Oscar"], "tokens": tokens, "said": text}


def test_the_table_has_scores_tokens_and_cost_and_the_paired_difference() -> None:
    """The best first; cost is relative to the full history; an answer that is missing is not counted as wrong."""
    answers = [answer("full", None, number, "no", 400) for number in range(4)]
    answers += [answer("it", 2000, number, "Oscar") for number in range(4)]
    answers += [answer("it", 8000, number, "Oscar" if number else "no", 300) for number in range(4)]
    answers += [answer("it", 8000, 9, None, 300)]
    table = answers_table(answers)
    assert table.headings[-2:] == ["F1 a", "F1 b"]
    assert table.cells == [
        ["it", "2000", "4", "100", "0.25", "100.0 ± 0.0", "100.0", "100.0", "100.0"],
        ["it", "8000", "4", "300", "0.75", "75.0 ± 25.0", "75.0", "50.0", "100.0"],
        ["full", "none", "4", "400", "1.00", "0.0 ± 0.0", "0.0", "0.0", "0.0"],
    ]
    (line,) = differences(answers)
    assert line == "F1 (sent) at 8000 minus at 2000, question by question: it -25.0 ± 25.0."
    assert table.note == line


@pytest.mark.parametrize("retried", [False, True])
def test_a_model_is_asked_as_it_is_written_the_shortest_first(chat: Conversation, retried: bool) -> None:
    """What there is, is kept after each answer. What is too long for the model has none, and the rest goes on."""
    prompts = list(written(chat).values())
    model = ScriptedModel([" Oscar \n", ContextOverflow("too long"), *["no"] * (len(prompts) - 2)])
    kept: list[int] = []
    answers = ask_model(RetryingModel([model]) if retried else model, prompts, lambda some: kept.append(len(some)))
    assert kept == list(range(1, len(prompts) + 1))
    assert [each["said"] for each in answers[:3]] == ["Oscar", None, "no"]
    assert [each["tokens"] for each in answers] == sorted(each["tokens"] for each in prompts)
    shortest = min(prompts, key=lambda each: each["tokens"])
    assert model.asked[0] == {"messages": shortest["messages"]}
    assert not any("messages" in each for each in answers)
    assert answers_table(answers).title == "Answers of scripted"


def test_a_file_gets_a_window_for_the_longest_prompt(chat: Conversation) -> None:
    """With room for a model that counts otherwise, and for the answer."""
    prompts = list(written(chat).values())
    longest = max(each["tokens"] for each in prompts)
    assert gguf_model("no.gguf", prompts).info.window > longest + 32


def test_prompts_and_answers_go_through_files(
    chat: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written here, answered elsewhere, read and scored here."""
    monkeypatch.setitem(command.datasets.EVIDENCE, "locomo", lambda root: [chat])
    (tmp_path / "locomo").mkdir()
    prompts, answers = tmp_path / "prompts.json.gz", tmp_path / "answers.json"
    common = ["--data", str(tmp_path), "--half", "both", "--budgets", "300", "--composer", f"it={__name__}:newest"]
    monkeypatch.setattr("benchmarks.quality.splits._KNOWN", {})
    command.main([*common, "--write", str(prompts)])
    found = command._json(prompts)
    assert {each["composer"] for each in found} == {"full", "oracle", "sliding", "bm25+recent", "it"}
    answers.write_text(json.dumps([{**each, "said": "Oscar"} for each in found]))
    command.main(["--read", str(answers), "--md", str(tmp_path / "table.md")])
    assert "F1" in capsys.readouterr().out
    assert "| it | 300 | 1 |" in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], "say where the answers come from"),
        (["--url", "http://x/v1"], "--url needs --model"),
        (["--read", "no/such.json"], "no file no/such.json"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    given: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is composed."""
    with pytest.raises(SystemExit):
        command.main(given)
    assert expected in capsys.readouterr().err.splitlines()[-1]
