"""The rows of the list of sessions: what each says, which are wanted, and in which order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from sightline.log import branch_label
from sightline.values.items import Usage
from sightline.view.catalog.listed_logs import ListedLog, source_named
from sightline.view.catalog.log_count import Counted
from sightline.view.catalog.offered_files import SOURCES, FirstLook, Offered
from sightline.view.catalog.places import Place
from sightline.view.catalog.savings import Saved, money_saved, total
from sightline.view.costs import PriceOf, cost_of


class SessionFacts(Struct, frozen=True):
    """What a session is, in short; or a file that could become one. What is counted is counted on all branches."""

    id: str  # as paths have it; empty: a file that is not imported
    state: Literal["session", "file", "grown"] = (
        "session"  # "file": not imported; "grown": its file has grown since it was imported
    )
    name: str = ""
    title: str = ""  # the beginning of the first question
    project: str = ""  # the folder that it is about; empty: not known
    source: str = "sightline"
    created: int | None = None  # seconds since 1970
    updated: int | None = None  # where the store tells it
    bytes: int | None = None
    ready: bool = True  # false: what follows is not known, or not whole yet
    turns: int = 0  # questions of the user
    calls: int = 0  # of a model
    composed: int = 0  # payloads that Sightline composed for them
    items: int = 0
    entries: int = 0
    tokens: int = 0  # of all items in full
    model: str = ""  # that answered last
    usage: Usage | None = None
    cost: float | None = None  # dollars; null: no price is known, or nothing was reported
    saved: Saved | None = None  # the calls that Sightline composed, compared with sending everything
    saved_money: float | None = None  # dollars, by forecast; null: no call was composed, or no price is known
    compactions: int = 0
    faults: int = 0  # results that were fetched again because they had been shortened
    rereads: int = 0  # readings of files that showed nothing new
    pins: int = 0
    branch: str = ""
    branches: list[str] = []
    live: bool = False  # written to within the last minute
    open: bool = False  # in this server, now
    file: str | None = None  # that it comes from
    error: str = ""  # why it cannot be read


_COUNTED = (
    "title", "project", "created", "turns", "calls", "composed", "items", "entries", "tokens", "model", "usage",
    "compactions", "faults", "rereads", "pins", "error",
)  # fields that a row takes from the count as they are  # fmt: skip


class Listed(NamedTuple):
    """A row of the list, and when it was written to, in seconds since 1970 with their fractions."""

    facts: SessionFacts
    updated: float | None = None


class Page(NamedTuple):
    """Some of the list. `total`: how many match; `pending`: how many have not been counted yet."""

    rows: list[SessionFacts]
    total: int
    files: int  # of those that match: files of which something was not imported
    pending: int
    sources: dict[str, int]  # how many there are of each, whether they match or not
    projects: dict[str, int]


class Wanted(Struct, frozen=True):
    """Which part of the list, in which order."""

    words: str = ""  # in title, project or id
    source: str = ""
    project: str = ""
    sort: str = "updated"
    ascending: bool = False
    start: int = 0
    limit: int = 50


class SessionSource(NamedTuple):
    """Where a session is stored, or a file that could become one."""

    id: str  # as paths have it, or that of the file
    file: Path
    size: int
    changed: int  # when, in nanoseconds since 1970
    log: ListedLog | None = None  # None: a file that was not imported
    grown: Offered | None = None  # the file that it was imported from, if that has grown since


def session_row(
    place: Place,
    session_id: str,
    counted: Counted,
    price_of: PriceOf,
    *,
    ready: bool,
    size: int | None = None,
    updated: float | None = None,
) -> Listed:
    """Return the row of a session by what was counted of it."""
    counts = {name: getattr(counted, name) for name in _COUNTED}
    facts = SessionFacts(
        **counts,
        id=place.full_id(session_id),
        name=session_id,
        source=SOURCES.get(counted.kind) or source_named(session_id),  # a log says its kind only after its first lines
        updated=None if updated is None else int(updated),
        bytes=size,
        ready=ready,
        cost=cost_of(counted.usages, price_of),
        saved=total(counted.saved) if counted.saved else None,
        saved_money=money_saved(counted.saved, price_of),
        branch=branch_label(counted.branch),
        branches=[branch_label(""), *map(branch_label, counted.branches)],
    )
    return Listed(facts, updated)


def file_row(file: Offered, look: FirstLook, updated: float) -> Listed:
    """Return the row of a file that was not imported."""
    facts = SessionFacts(
        id="",
        state="file",
        name=file.path.name,
        title=look.title,
        project=look.project,
        source=look.source,
        created=look.created,
        updated=int(updated),
        bytes=file.size,
        ready=False,
        model=look.model,
        branch=branch_label(""),
        branches=[branch_label("")],
        file=str(file.path),
    )
    return Listed(facts, updated)


def is_live(row: Listed, imported: Place, since: float) -> bool:
    """Whether somebody has written to a session since this time.

    What was written before a list was begun may be a file that was just copied, or a sample. Of an imported session its
    file counts, because its own log was written by the import.
    """
    facts, changed = row.facts, row.updated
    if facts.file is not None:
        changed = _changed(facts.file)
    elif facts.id != facts.name and facts.id == imported.full_id(facts.name):
        changed = None
    return changed is not None and changed > since


def _changed(file: str) -> float | None:
    """Return when a file was written to, in seconds since 1970; None if it is gone."""
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return None


def row_filter(wanted: Wanted) -> Callable[[Listed], bool]:
    """Return what tells whether a row is wanted."""
    words = wanted.words.casefold().split()

    def matches(row: Listed) -> bool:
        facts = row.facts
        if (wanted.source and facts.source != wanted.source) or (wanted.project and facts.project != wanted.project):
            return False
        text = f"{facts.id}\n{facts.name}\n{facts.title}\n{facts.project}".casefold()
        return all(word in text for word in words)

    return matches


def row_order(sort: str) -> Callable[[Listed], Any]:
    """Return what to sort by: a field of the row. What is not known is the least."""

    def key(row: Listed) -> tuple[bool, float | str, float]:
        own = row.updated if sort == "updated" else getattr(row.facts, sort)
        if isinstance(own, str):
            return own != "", own.casefold(), row.updated or 0
        return own is not None and (row.facts.ready or sort in ("updated", "created")), own or 0, row.updated or 0

    return key
