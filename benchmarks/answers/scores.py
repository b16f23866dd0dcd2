"""How good answers are: token F1, as the paper of the first dataset scores them, and whether the answer is held."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import mean, stdev
from typing import Any, NamedTuple

from benchmarks.quality.tables import Lines, ratio, whole

Answer = dict[str, Any]
"""A prompt without its messages, and what the model said."""

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")  # a Chinese character is a word
_LITTLE = frozenset(("a", "an", "the", "and"))  # articles and what joins a list count nothing
_Row = tuple[str, str, int | None]  # form, composer, budget


class Score(NamedTuple):
    """Of one answer."""

    f1: float
    holds: bool


def words(text: str) -> list[str]:
    """Return the words that count."""
    return [word for word in _WORD.findall(text.lower()) if word not in _LITTLE]


def score(said: str, answers: Iterable[str]) -> Score:
    """Compare what was said with the best of the recorded answers. It holds one if all its words are in it."""
    given = Counter(words(said))
    best, holds = 0.0, False
    for answer in answers:
        wanted = Counter(words(answer))
        common = (given & wanted).total()
        best = max(best, 2 * common / (given.total() + wanted.total()) if common else 0.0)
        holds = holds or (bool(wanted) and wanted.keys() <= given.keys())
    return Score(best, holds)


def answers_table(answers: Sequence[Answer]) -> Lines:
    """Return one row for each form, composer and budget. Cost is relative to the full history: nothing is cached."""
    scored = _scored(answers)
    kinds = sorted({answer["kind"] for answer in answers})
    full = {key[0]: _mean_tokens(own) for key, own in scored.items() if key[1] == "full"}
    several = len({form for form, *_ in scored}) > 1
    cells = []
    for (form, name, budget), own in sorted(scored.items(), key=lambda each: (each[0][0], -_mean_f1(each[1]))):
        tokens = _mean_tokens(own)
        figures = [100 * each.f1 for _, each in own]
        by = [[each.f1 for answer, each in own if answer["kind"] == kind] for kind in kinds]
        cells.append(
            [
                f"{name} ({form})" if several else name,
                str(budget or "none"),
                str(len(own)),
                whole(tokens),
                ratio(tokens / full[form] if full.get(form) else None),
                f"{mean(figures):.1f} ± {_error(figures):.1f}",
                f"{100 * mean(each.holds for _, each in own):.1f}",
                *(f"{100 * mean(each):.1f}" if each else "-" for each in by),
            ]
        )
    headings = ["composer", "budget", "questions", "tokens", "cost", "F1", "holds %", *(f"F1 {kind}" for kind in kinds)]
    models = list(dict.fromkeys(answer["model"] for answer in answers if answer.get("model")))
    return Lines(f"Answers of {', '.join(models) or 'a model'}", headings, cells, " ".join(differences(answers)))


def differences(answers: Sequence[Answer]) -> list[str]:
    """For each pair of budgets: what F1 gains from the smallest to the largest of a composer, question by question."""
    scored = {key: {answer["id"]: each.f1 for answer, each in own} for key, own in _scored(answers).items()}
    out: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for form, name in dict.fromkeys((form, name) for form, name, budget in scored if budget):
        budgets = sorted(budget for a, b, budget in scored if (a, b) == (form, name) and budget)
        low, high = scored[form, name, budgets[0]], scored[form, name, budgets[-1]]
        pairs = [100 * (high[each] - low[each]) for each in low if each in high]
        if len(budgets) > 1 and pairs:
            out[form, budgets[0], budgets[-1]].append(f"{name} {mean(pairs):+.1f} ± {_error(pairs):.1f}")
    return [
        f"F1 ({form}) at {high} minus at {low}, question by question: {'; '.join(said)}."
        for (form, low, high), said in out.items()
    ]


def _scored(answers: Sequence[Answer]) -> dict[_Row, list[tuple[Answer, Score]]]:
    out: dict[_Row, list[tuple[Answer, Score]]] = defaultdict(list)
    for answer in answers:
        if answer.get("said") is not None and answer["answers"]:
            key = (answer.get("form", "sent"), answer["composer"], answer["budget"])
            out[key].append((answer, score(answer["said"], answer["answers"])))
    return dict(out)


def _mean_f1(own: Sequence[tuple[Answer, Score]]) -> float:
    return mean(each.f1 for _, each in own)


def _mean_tokens(own: Sequence[tuple[Answer, Score]]) -> float:
    return mean(answer["tokens"] for answer, _ in own)


def _error(values: Sequence[float]) -> float:
    """The standard error of a mean."""
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
