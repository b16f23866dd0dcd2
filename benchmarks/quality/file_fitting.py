"""`python -m benchmarks.quality.file_fitting`: how the weights of `sightline.recall.files_in_work` were found.

At every sweep of a recorded run, the lines of the files in work stand in blocks. Those that an edit soon replaces are
the targets of a softmax over all blocks of that sweep; five folds, with no run in both parts. The figures say how many
of these edits find all their blocks among the best ones that fit into the room.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log1p
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from rich.console import Console

from benchmarks.quality import datasets
from benchmarks.quality.__main__ import HERE, MISSING
from benchmarks.quality.edits import path_of, replaced_lines
from benchmarks.quality.engine import Engine
from benchmarks.quality.fitting import FOLDS, HALF, Case, Weights, fitted, judged
from benchmarks.quality.messages import Message
from benchmarks.quality.needed_values import run_texts, steps
from benchmarks.quality.records import Run
from benchmarks.quality.splits import digest, divided
from benchmarks.quality.tables import Lines, show
from sightline.compose import turn
from sightline.log.annotations import RecallNote
from sightline.recall.files_in_work import LENGTH, WEIGHTS, Block, Features, FilesInWork

WINDOWS = {"claude_code": (8_000, 16_000), "entire_claude": (16_000, 32_000), "entire_codex": (16_000, 32_000)}
SOON = 60  # messages, in which an edit is one that the sweep should have thought of
CHARS = 3.2  # of a token of code, about
LONGER_THAN = 8  # characters: shorter lines are in many blocks
MOST_BLOCKS = 4  # of one edit: a line that is in more of them says nothing
END = 25  # characters of a path that two spellings of it share


class Sweep(NamedTuple):
    """The blocks of one sweep, the tokens there were for them, and for each edit that came soon its blocks."""

    dataset: str
    run: str
    room: int
    blocks: Sequence[Block]
    edits: Sequence[Sequence[int]]

    @property
    def case(self) -> Case:
        """The features of the blocks, and which of them were edited."""
        columns = zip(*(block.features for block in self.blocks), strict=True)
        return Case([*map(list, columns)], frozenset(at for edit in self.edits for at in edit))

    @property
    def fold(self) -> int:
        """The fold of its run."""
        return int(digest(self.run), 16) % FOLDS


def sweeps(dataset: str, run: Run, window: int) -> Iterator[Sweep]:
    """Compose a run before each call, and yield the sweeps after which a known line was soon edited."""
    seen: list[tuple[int, list[Block]]] = []

    class Recording(FilesInWork):
        def choose(
            self, tokens: int, is_shown: Callable[[int], bool], *, only_named: bool = False
        ) -> RecallNote | None:
            if not only_named:
                seen.append((tokens, [*self.blocks(is_shown)]))
            return super().choose(tokens, is_shown, only_named=only_named)

    engine = Engine()
    with patch.object(turn, "FilesInWork", Recording):
        engine.start(run.id)
        for step in steps(run.messages, run_texts(run.messages)):
            engine.compose(run.messages[: step.at], step.query, window)
            for room, blocks in seen:
                edits = [*_edited(blocks, run.messages[step.at : step.at + SOON])]
                if any(edits):
                    yield Sweep(dataset, run.id, room, blocks, edits)
            seen.clear()


def _edited(blocks: Sequence[Block], messages: Iterable[Message]) -> Iterator[list[int]]:
    """Yield for each edit of these messages the blocks that have lines of it."""
    texts = [{line.text.strip() for line in block.lines} for block in blocks]
    for call in (call for message in messages for call in message.get("tool_calls") or ()):
        path = path_of(call)[-END:]
        for lines in replaced_lines(call):
            telling = [line for line in lines if len(line) > LONGER_THAN]
            near = [at for at, block in enumerate(blocks) if not path or block.text.path[-END:] == path]
            if edited := [at for at in near if not texts[at].isdisjoint(telling)][:MOST_BLOCKS]:
                yield edited


def covered(some: Iterable[tuple[Sweep, Weights]]) -> float:
    """Return the share of edits all of whose blocks are among the best that fit."""
    hits = [_hits(sweep, weights) for sweep, weights in some]
    return sum(map(sum, hits)) / max(1, sum(map(len, hits)))


def _hits(sweep: Sweep, weights: Weights) -> list[bool]:
    sizes = [block.chars for block in sweep.blocks]
    scores = [
        score + LENGTH * log1p(size) for score, size in zip(judged(sweep.case.columns, weights), sizes, strict=True)
    ]
    left, shown = sweep.room * CHARS, set[int]()
    for at in sorted(range(len(sizes)), key=lambda at: -scores[at]):
        if sizes[at] <= left:
            left -= sizes[at]
            shown.add(at)
    return [shown.issuperset(edit) for edit in sweep.edits]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and print: some minutes on one core."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.quality.file_fitting", description=__doc__.partition(": ")[2]
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data folder; else SIGHTLINE_DATA")
    root = parser.parse_args(arguments).data or Path(os.environ.get("SIGHTLINE_DATA") or HERE)
    console, progress = Console(), Console(stderr=True)
    recorded: list[Sweep] = []
    for dataset in (name for name in WINDOWS if datasets.folder(root, name).is_dir()):
        runs = datasets.RUNS[dataset](root)
        for _, some in divided(dataset, runs, lambda run: run.group, (HALF,)):
            progress.print(f"[dim]{dataset}: {len(some)} runs …[/]")
            recorded += [sweep for run in some for size in WINDOWS[dataset] for sweep in sweeps(dataset, run, size)]
    if not recorded:
        console.print(MISSING.format(folder=root), highlight=False)
        return
    progress.print(f"[dim]fitting {FOLDS + 1} times …[/]")
    folds = [fitted([sweep.case for sweep in recorded if sweep.fold != fold]) for fold in range(FOLDS)]
    show(_weights(recorded, folds), console)
    show(_figures(recorded, folds), console)


def _weights(recorded: Sequence[Sweep], folds: Sequence[Weights]) -> Lines:
    rows = zip(Features._fields, WEIGHTS, fitted([sweep.case for sweep in recorded]), *folds, strict=True)
    cells = [[name, f"{shipped:g}", *(f"{weight:.2f}" for weight in weights)] for name, shipped, *weights in rows]
    title = f"Weights, from {len(recorded)} sweeps of {len({sweep.run for sweep in recorded})} runs"
    return Lines(title, ["feature", "shipped", "fitted", *(f"fold {at + 1}" for at in range(FOLDS))], cells)


def _figures(recorded: Sequence[Sweep], folds: Sequence[Weights]) -> Lines:
    cells = []
    for dataset in dict.fromkeys(sweep.dataset for sweep in recorded):
        some = [sweep for sweep in recorded if sweep.dataset == dataset]
        ours, newest = (
            covered((sweep, WEIGHTS) for sweep in some),
            covered((sweep, (-1, *[0] * (len(WEIGHTS) - 1))) for sweep in some),
        )
        cross = covered((sweep, folds[sweep.fold]) for sweep in some)
        edits = sum(len(sweep.edits) for sweep in some)
        cells.append([dataset, str(edits), *(f"{100 * share:.1f}" for share in (newest, ours, cross))])
    headings = ["dataset", "edits", "last used %", "shipped weights %", "cross-validated %"]
    return Lines("Edits whose hidden lines are shown", headings, cells, "The shipped weights have seen these runs.")


if __name__ == "__main__":
    main()
