"""The rows of the list of sessions: what each says, which are wanted, and in which order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from sightline.view.catalog.listed_logs import ListedLog, source_named
from sightline.view.catalog.log_count import Counted
from sightline.view.catalog.offered_files import SOURCES, Offered
from sightline.view.catalog.places import Place


class Listed(Struct, frozen=True):
    """A session, or a file that could become one. What `counted` says is whole if it is `ready`."""

    id: str  # as paths have it; empty: it is a file that was not imported
    name: str
    state: str  # "session"; "file": not imported; "grown": its file has grown since it was imported
    source: str
    title: str = ""
    project: str = ""
    created: int | None = None
    updated: float | None = None  # seconds since 1970
    size: int | None = None
    ready: bool = False
    counted: Counted = field(default_factory=Counted)
    cost: float | None = None  # dollars; None: no price is known, or nothing was reported
    file: str | None = None  # that it comes from
    error: str = ""


class Page(NamedTuple):
    """Some of the list. `total`: how many match; `pending`: how many have not been counted yet."""

    rows: list[Listed]
    total: int
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


def session_row(place: Place, session_id: str, counted: Counted, error: str = "") -> Listed:
    """Return the row of a session by what was counted of it."""
    source = SOURCES.get(counted.kind) or source_named(session_id)  # a log says its kind only after its first lines
    return Listed(
        place.full_id(session_id), session_id, "session", source, counted.title, counted.project, counted.created,
        ready=True, counted=counted, error=error,
    )  # fmt: skip


def row_filter(wanted: Wanted) -> Callable[[Listed], bool]:
    """Return what tells whether a row is wanted."""
    words = wanted.words.casefold().split()

    def matches(row: Listed) -> bool:
        if (wanted.source and row.source != wanted.source) or (wanted.project and row.project != wanted.project):
            return False
        text = f"{row.id}\n{row.name}\n{row.title}\n{row.project}".casefold()
        return all(word in text for word in words)

    return matches


def row_order(sort: str) -> Callable[[Listed], Any]:
    """Return what to sort by: a field of the row, or of what was counted. What is not known is the least."""

    def key(row: Listed) -> tuple[bool, float | str, float]:
        own = getattr(row, sort) if sort in Listed.__struct_fields__ else getattr(row.counted, sort)
        if isinstance(own, str):
            return own != "", own.casefold(), row.updated or 0
        return own is not None and (row.ready or sort in ("updated", "created")), own or 0, row.updated or 0

    return key
