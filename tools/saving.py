"""What it saves to show earlier file reads as gists: the BA-Agent document's two sessions, played and counted.

Each session is played twice through the real agent with the document's own kind of files, made on the fly: once with
the strategy `rounds`, once with everything in full. Counted is the prompt of the last model call: the conversation
itself, and all of it with system prompt and tools. Run by `python tools/saving.py`; docs/origins/ba-agent.md shows
the table.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sightline.agent.agent import Agent
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.documents.json_protocol import prompt
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking, numbered_ids
from sightline.values.settings import Settings
from sightline.values.tokens import counter

BUDGET = Budget(window=128_000, output=8_000)  # nothing is shortened for want of room: what is saved is by cleaning
REGIONS = ("north", "south", "east", "west")
PRODUCTS = ("green tea", "black tea", "oolong", "white tea", "coffee")


class Scene(NamedTuple):
    """A session of the document's table, and what the document says of it."""

    rounds: int
    files: int
    without: int
    cleaned: int
    saved: float


SCENES = (Scene(5, 3, 6000, 1500, 0.75), Scene(10, 5, 12000, 2000, 0.83))


class Counted(NamedTuple):
    """Tokens of the last prompt of a session."""

    conversation: int
    whole: int


class Row(NamedTuple):
    """One line of the table."""

    scene: Scene
    without: Counted
    cleaned: Counted

    @property
    def saved(self) -> float:
        """Of the conversation."""
        return 1 - self.cleaned.conversation / self.without.conversation

    @property
    def saved_of_all(self) -> float:
        """Of the whole prompt."""
        return 1 - self.cleaned.whole / self.without.whole


def rows(locale: str = "zh") -> list[Row]:
    """Play the sessions and return the table."""
    return [Row(scene, _played(scene, "sliding", locale), _played(scene, "rounds", locale)) for scene in SCENES]


def table(made: list[Row]) -> str:
    """The rows as Markdown."""
    columns = ["session", "the document says", "conversation in full", "cleaned", "saved"]
    columns += ["whole prompt in full", "cleaned", "saved"]
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *map(_line, made)])


def _line(row: Row) -> str:
    scene, without, cleaned = row
    return (
        f"| {scene.rounds} rounds, {scene.files} files "
        f"| ~{scene.without:,} → ~{scene.cleaned:,}, {scene.saved:.0%} "
        f"| {without.conversation:,} | {cleaned.conversation:,} | {row.saved:.1%} "
        f"| {without.whole:,} | {cleaned.whole:,} | {row.saved_of_all:.1%} |"
    )


def _played(scene: Scene, strategy: str, locale: str) -> Counted:
    with tempfile.TemporaryDirectory() as folder:
        names = list(_made(Path(folder), scene.files))
        model = ScriptedModel(_answers(scene, names))
        session = Session(
            MemoryStore("saving"),
            settings=Settings(locale=locale, strategy=strategy, layout="ba-agent"),
            clock=Ticking(),
            ids=numbered_ids(),
        )
        tools = [file_reader(Folders([folder]), locale=locale)]
        agent = Agent(
            session,
            model,
            tools=tools,
            budget=BUDGET,
            protocol="json",
            instructions=prompt(locale),
            ids=numbered_ids("call"),
        )
        asyncio.run(_all_rounds(agent, scene, names))
        return _counted(model.asked[-1]["messages"])


async def _all_rounds(agent: Agent, scene: Scene, names: list[str]) -> None:
    for number in range(scene.rounds):
        name = names[number] if number < len(names) else ""
        answer = await agent.query(
            f"第 {number + 1} 轮：请读取 {name} 并说明要点。" if name else f"第 {number + 1} 轮：继续分析。"
        )
        if not answer.success:
            raise RuntimeError(answer.error)


def _answers(scene: Scene, names: list[str]) -> Iterator[str]:
    """What the model says: in the first rounds it reads a file and reports, in the others it reports."""
    for number in range(scene.rounds):
        if number < len(names):
            call = {"tool_name": "file_reader", "tool_call_id": f"call_{number}", "arguments": {"path": names[number]}}
            yield _response("tool_call", [call], number)
        yield _response("complete", f"要点 {number + 1}：销售额按地区和产品汇总，北区最高。", number)


def _response(kind: str, content: object, number: int) -> str:
    said = {
        "task_analysis": "用户想了解销售数据的要点。",
        "execution_plan": "R1: 读取文件; R2: 给出报告",
        "current_round": number + 1,
        "action": {"type": kind, "content": content},
    }
    return json.dumps(said, ensure_ascii=False)


def _counted(messages: list[dict[str, object]]) -> Counted:
    count = counter("o200k_base").count
    sizes = [(message["role"], count(_text(message["content"]))) for message in messages]
    return Counted(sum(size for role, size in sizes if role != "system"), sum(size for _, size in sizes))


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content)
    return str(content or "")


# ---------------------------------------------------------------------- the files


def _made(folder: Path, count: int) -> Iterator[str]:
    """So many files of the document's kinds: code, CSV, JSON, and so on again."""
    makers = (("sales_analysis.py", _code), ("data.csv", _csv), ("chart_result.json", _json))
    for number in range(count):
        name, make = makers[number % len(makers)]
        name = name if number < len(makers) else f"{number}_{name}"
        (folder / name).write_text(make(number), encoding="utf-8")
        yield name


def _code(seed: int) -> str:
    """A program of 150 lines with three functions."""
    lines = ["import csv", "", "", "def load_data(path):"]
    lines += [f"    check_{n} = validate(path, rule={seed + n}, limit={n * 37 % 101})" for n in range(45)]
    lines += ["    return list(csv.DictReader(open(path)))", "", "", "def clean_data(rows):"]
    lines += [f"    rows = [row for row in rows if row['{REGIONS[n % 4]}'] != '{n * 53 % 97}']" for n in range(45)]
    lines += ["    return rows", "", "", "def visualize(rows):"]
    lines += [f"    plot(rows, column='{PRODUCTS[n % 5]}', color={n * 71 % 255})" for n in range(46)]
    return "\n".join(lines) + "\n"


def _csv(seed: int) -> str:
    """A table of a hundred and twenty sales."""
    days = [f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(120)]
    amounts = [f"{(n * 7919 + seed) % 100_000 / 100:.2f}" for n in range(120)]
    sales = [f"{days[n]},{PRODUCTS[n % 5]},{amounts[n]},{REGIONS[n % 4]}" for n in range(120)]
    return "\n".join(["date,product,amount,region", *sales]) + "\n"


def _json(seed: int) -> str:
    """The settings and the points of a chart."""
    points = [{"month": n % 12 + 1, "region": REGIONS[n % 4], "amount": (n * 7919 + seed) % 10_000} for n in range(100)]
    return json.dumps({"config": {"type": "line"}, "data": points, "options": {"legend": True}}, ensure_ascii=False)


if __name__ == "__main__":
    print(table(rows(*sys.argv[1:2])))
