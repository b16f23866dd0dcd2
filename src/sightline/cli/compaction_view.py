"""What a log says of its compactions, and how what they hide is shown."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from sightline.cli.phrases import Words
from sightline.cli.render import Column, Rows, first_words
from sightline.cli.wrap import prose
from sightline.compaction.loss import Loss
from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.branches import Compaction
from sightline.log.columns import BY_RULE
from sightline.log.entries import CompactMetadata
from sightline.log.journal import Journal
from sightline.plan.view import body_unit, messages_of
from sightline.shorten import rules
from sightline.values.items import Kind, plain_text
from sightline.wire.payload import Payload

_GRAVE = frozenset({"rules", "tasks"})  # kinds of loss that a user would not forgive


class Covered(NamedTuple):
    """One compaction of a branch: what its summary stands for."""

    boundary: int  # its seq
    first: str  # ids of the first and last item
    last: str
    messages: int
    tokens: int  # of them, in full
    summaries: tuple[str, ...]  # ids
    state: str  # holds; undone; replaced by a later one that covers more


class Made(NamedTuple):
    """A compaction as it was written down."""

    covered: Covered
    timestamp: str
    by_rule: bool
    metadata: CompactMetadata
    loss: Loss | None  # None: another program wrote it, and no report


class Kept(NamedTuple):
    """A rule that the user set, or a task, that can still be read word for word."""

    id: str
    kind: str  # rule or task
    text: str


# ---------------------------------------------------------------------- reading


def compactions(journal: Journal) -> list[Covered]:
    """The compactions of the journal's branch, those that no longer hold included, oldest first."""
    timeline, path = journal.timeline, journal.path
    known = [each for each in timeline.compactions if path.knows(each) and each.summaries]
    states = dict.fromkeys((each.seq for each in known), "replaced")
    states |= {each.seq: "undone" for each in known if any(map(path.knows, each.undone))}
    states |= {each.seq: "holds" for each in timeline.compacted(path)}
    return [_covered(journal, each, states[each.seq]) for each in known]


def _covered(journal: Journal, compaction: Compaction, state: str) -> Covered:
    timeline = journal.timeline
    rows = timeline.unit_row[compaction.first], timeline.unit_row[compaction.last]
    units = [
        unit
        for unit in timeline.units_between(journal.path, rows[0], rows[1] + 1)
        if body_unit(timeline, unit) and timeline.kind[timeline.unit_row[unit]] != Kind.SUMMARY
    ]
    return Covered(
        boundary=compaction.seq,
        first=timeline.id(rows[0]),
        last=timeline.id(rows[1]),
        messages=sum(messages_of(timeline, unit) for unit in units),
        tokens=sum(timeline.unit_full[unit] for unit in units),
        summaries=tuple(timeline.id(timeline.unit_row[unit]) for unit in compaction.summaries),
        state=state,
    )


def made(journal: Journal) -> list[Made]:
    """The same with what was written down when they were made."""
    found = compactions(journal)
    losses = dict(_losses(journal, [each.boundary for each in found]))
    return [_made(journal, each, losses.get(each.boundary)) for each in found]


def _made(journal: Journal, covered: Covered, loss: Loss | None) -> Made:
    row = journal.timeline.row(covered.summaries[0])
    assert row is not None
    entry = journal.reader.entry(row)
    by_rule = bool(journal.timeline.state[row] & BY_RULE)
    return Made(covered, entry.timestamp, by_rule, entry.compact_metadata or CompactMetadata("", 0), loss)


def _losses(journal: Journal, boundaries: list[int]) -> Iterator[tuple[int, Loss]]:
    """The loss reports in the log, each with the boundary it follows."""
    if not boundaries:
        return
    for line in journal.store.scan():
        if b'"loss"' not in line.data:  # decoding every line of a long log takes its time
            continue
        with suppress(*entries.UNREADABLE, BadInput):
            entry = entries.decode(line.data)
            before = [boundary for boundary in boundaries if boundary < entry.seq]
            if entry.subtype == entries.LOSS and before:
                yield before[-1], entries.decode_data(entry, Loss)


def summary_text(journal: Journal, covered: Covered) -> str:
    """What stands in the place of what a compaction covers."""
    rows = [journal.timeline.row(item_id) for item_id in covered.summaries]
    return "\n\n".join(journal.reader.text(row) for row in rows if row is not None)


def kept(journal: Journal, covered: Covered, after: Payload) -> list[Kept]:
    """The rules and tasks in what a compaction covers that a payload still shows word for word, each once, in order."""
    timeline, path = journal.timeline, journal.path
    first, last = timeline.row(covered.first), timeline.row(covered.last)
    assert first is not None
    assert last is not None
    shown = "\n".join(plain_text(message.parts) for message in after.body)
    found: dict[str, Kept] = {}
    for row in timeline.constraints:
        if first <= row <= last and path.holds(timeline.branch[row], row):
            for kind, text in _laid_down(journal.reader.text(row)):
                if text in shown:
                    found.setdefault(text, Kept(timeline.id(row), kind, text))
    return list(found.values())


def _laid_down(text: str) -> list[tuple[str, str]]:
    said = [("rule", each) for each in rules.rules(text)] + [("task", each) for each in rules.tasks(text)]
    return sorted(said, key=lambda each: text.find(each[1]))


# ---------------------------------------------------------------------- showing


def loss_facts(loss: Loss) -> dict[str, Any]:
    """A loss report for programs: every kind, also those of which nothing is hidden."""
    return {kind: {"count": lost.count, "named": list(lost.named)} for kind, lost in loss.kinds().items()}


def print_loss(out: Console, words: Words, loss: Loss, *, full: bool = False) -> None:
    """A loss report for people: a row for each kind, or a line that says that nothing is hidden."""
    if not loss:
        prose(out, words("nothing lost"), "green")
        return
    prose(out, words("lost"))
    rows = Rows(out, [Column(words("kind"), 12), Column(words("how many"), 8, right=True), Column(words("the first"))])
    rows.print_titles()
    for kind, lost in loss.kinds().items():
        if not lost.count:
            continue
        style, named = "red" if kind in _GRAVE else "", [first_words(name) for name in lost.named]
        rows.print(words("lost " + kind), f"{lost.count:,}", "" if full else "  ".join(named), style=style)
        for name in named if full else ():
            out.print(Text(f"  {name}", style="dim"), soft_wrap=True)
