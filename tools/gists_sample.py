"""Write docs/gists.md: fifty gists of generated histories, drawn at random. With --recorded, print gists of real data.

python tools/gists_sample.py                          write the page
python tools/gists_sample.py --recorded claude_code   print fifty gists of a dataset in SIGHTLINE_DATA; writes nothing
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of the package

from benchmarks.histories import agent_run, chat_turns  # noqa: E402
from benchmarks.quality import datasets  # noqa: E402

from sightline import Kind, Lod, MemoryStore, Session, samples  # noqa: E402

TARGET = ROOT / "docs" / "gists.md"
COUNT, SEED = 50, 7
LARGEST = 0.25  # share of the original; a larger text is not used as a gist
RUNS = 12  # recorded runs that gists are drawn from


class Gist(NamedTuple):
    """An item at its lowest level of detail."""

    source: str
    kind: str
    original: int  # tokens
    tokens: int
    text: str

    @property
    def share(self) -> float:
        """The size as a share of the original."""
        return self.tokens / self.original


def main() -> None:
    """Write the page, or print the gists of a recorded dataset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", choices=datasets.RUNS, help="a dataset of agent runs in SIGHTLINE_DATA")
    dataset = parser.parse_args().recorded
    if dataset is None:
        TARGET.write_text(page(drawn(generated())), encoding="utf-8")
        return
    folder = os.environ.get("SIGHTLINE_DATA")
    if not folder or not datasets.folder(Path(folder), dataset).is_dir():
        raise SystemExit(f"SIGHTLINE_DATA names no folder with {datasets.folder(Path(), dataset)} in it")
    print(listed(drawn(recorded(Path(folder), dataset))))


def generated() -> Iterator[Gist]:
    """Return gists of invented histories: an agent's run, a chat, and the samples shipped with the package."""
    yield from gists("agent run", agent_run(1200))
    yield from gists("chat", chat_turns(60))
    for name in samples.names():
        yield from gists(f"sample {name}", samples.load(name).messages)


def recorded(root: Path, dataset: str) -> Iterator[Gist]:
    """Return gists of recorded runs."""
    for run in datasets.RUNS[dataset](root)[:RUNS]:
        yield from gists(dataset, [{k: v for k, v in message.items() if k != "ts"} for message in run.messages])


def gists(source: str, messages: Sequence[Any]) -> Iterator[Gist]:
    """Return every gist of a session of these messages."""
    session = Session(MemoryStore("gists"), clock=lambda: 0)
    session.extend(messages)
    timeline, reader = session.log.timeline, session.log.reader
    for row in range(len(timeline)):
        if timeline.level(row, Lod.GIST) is Lod.GIST:
            text = reader.rendition(row, Lod.GIST)
            kind = Kind(timeline.kind[row]).name.lower()
            yield Gist(source, kind, timeline.full[row], session.count(text), text)


def drawn(among: Iterable[Gist]) -> list[Gist]:
    """Pick fifty gists, the same each time, in their order."""
    every = list(among)
    chosen = Random(SEED).sample(range(len(every)), min(COUNT, len(every)))
    return [every[at] for at in sorted(chosen)]


def page(chosen: Sequence[Gist]) -> str:
    """Return the page of documentation."""
    return "\n".join([
        "---\nsearch:\n  exclude: true\n---",
        "# Fifty gists", "",
        "A gist is an item at its lowest level of detail. It is made by fixed rules, without a model.",
        f"These {len(chosen)} were drawn at random (seed {SEED}) from histories generated for benchmarks and",
        "from the samples in the package. No recorded data is on this page. `python tools/gists_sample.py` writes it.",
        "With `--recorded NAME`, and `SIGHTLINE_DATA` set, the tool prints gists of a recorded dataset instead.",
        "Sizes are in o200k_base tokens.", "",
        summary(chosen), "",
        listed(chosen),
    ])  # fmt: skip


def summary(chosen: Sequence[Gist]) -> str:
    """Return one sentence on how small the gists are."""
    shares = [gist.share for gist in chosen]
    above = sum(share > LARGEST for share in shares)
    return (
        f"Median size {median(gist.tokens for gist in chosen):.0f} tokens, {100 * median(shares):.1f} % of the "
        f"original (largest {100 * max(shares):.1f} %); {above} above a quarter of the original."
    )


def listed(chosen: Sequence[Gist]) -> str:
    """Return each gist with its sizes and its text."""
    out = []
    for number, gist in enumerate(chosen, 1):
        fence = "`" * (3 + ("```" in gist.text) * 2)
        sizes = f"{gist.original:,} → {gist.tokens:,} tokens, {100 * gist.share:.1f} %"
        out += [f"## {number}. {gist.kind}, {gist.source}: {sizes}", "", f"{fence}text", gist.text, fence, ""]
    return "\n".join(out)


if __name__ == "__main__":
    main()
