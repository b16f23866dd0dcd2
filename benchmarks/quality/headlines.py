"""Where Sightline stands: compared with the best of all others at each budget."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.quality.compactions import SUMMARY
from benchmarks.quality.composer_calls import Row
from benchmarks.quality.evidence import ORACLE
from benchmarks.quality.tables import OURS, Figure, Lines, percent, ratio

_DISTRUST = 0.05  # of a composer's requests may be illegal before it is no alternative


class Headline(NamedTuple):
    """The most important figure of a part."""

    part: str
    key: str
    title: str
    write: Figure
    less: bool = False  # is better


HEADLINES = (
    Headline("a", "all_evidence", "all evidence %", percent),
    Headline("a", "dated", "evidence + dates %", percent),
    Headline("b", "edits", "edits %", percent),
    Headline("b", "rel_cost_real", "real cost", ratio, less=True),
    Headline("b", "needed", "needed %", percent),
    Headline("b", "needed_far", "far %", percent),
    Headline("c", "session_slots", "slots of whole session %", percent),
    Headline("c", "topic_slots", "slots of asked topic %", percent),
    Headline("d", "rouge1_recall", "ROUGE-1 recall %", percent),
    Headline("e", "carried", "carried values %", percent),
    Headline("f", "readable", "constraints readable %", percent),
    Headline("g", "per_hundred", "found in 100 messages", ratio, less=True),
    Headline("g", "precision", "precision %", percent),
    Headline("g", "recall", "recall %", percent),
)


def is_legal(row: Row) -> bool:
    """Return whether so few requests of a composer are invalid that it is an alternative."""
    return float(row.get("invalid") or 0) <= _DISTRUST


def headline_table(rows: Sequence[Row]) -> Lines | None:
    """Return a table of all headlines. It compares with the composers whose requests are valid, except `full`."""
    cells = [cell for headline in HEADLINES for cell in _compared(rows, headline)]
    headings = ["dataset", "budget", "figure", "sightline", "best other", "who", ""]
    better = sum(cell[-1] == "better" for cell in cells)
    worse = sum(cell[-1] == "worse" for cell in cells)
    note = f"{better} figures better than every other, {len(cells) - better - worse} equal, {worse} worse."
    return Lines("Sightline and the best of all others", headings, cells, note) if cells else None


def _compared(rows: Sequence[Row], headline: Headline) -> Iterator[list[str]]:
    known = [row for row in rows if row["part"] == headline.part and row.get(headline.key) is not None]
    for row in known:
        if row["composer"] not in OURS:
            continue
        place = [row[key] for key in ("dataset", "half", "budget")]
        others = [
            other
            for other in known
            if other["composer"] not in (*OURS, ORACLE, "full")
            and (is_legal(other) or other["composer"] == SUMMARY)
            and [other[key] for key in ("dataset", "half", "budget")] == place
        ]
        if others:
            best = (min if headline.less else max)(others, key=lambda other: other[headline.key])
            ours, theirs = headline.write(row[headline.key]), headline.write(best[headline.key])
            halves = {row["half"] for row in known}
            dataset = row["dataset"] if len(halves) == 1 else f"{row['dataset']} {row['half']}"
            names = [dataset, str(row["budget"]), headline.title + OURS[row["composer"]]]
            shown = ours if is_legal(row) else f"{ours} ({percent(row['invalid'])} % invalid)"
            yield [*names, shown, theirs, _who(best, headline), _verdict(ours, theirs, less=headline.less)]


def _who(best: Row, headline: Headline) -> str:
    """Name the best composer; for agent runs with its cost, or with what it shows if cost is the headline."""
    if headline.part != "b":
        return str(best["composer"])
    if headline.less:
        edits = "" if best.get("edits") is None else f"edits {percent(best['edits'])} %, "
        return f"{best['composer']} ({edits}needed {percent(best['needed'])} %)"
    return f"{best['composer']} (real cost {ratio(best.get('rel_cost_real'))})"


def _verdict(ours: str, theirs: str, *, less: bool) -> str:
    """Compare two figures as they are printed."""
    if ours == theirs:
        return "equal"
    return "better" if (float(ours) < float(theirs)) == less else "worse"
